"""Fitted rows with labels: labels become codes, and rows and classes are added and removed together."""

import numpy as np

from .._state_table import Array, Instance, List, declare, or_none, require_positions
from .._validation import encode_labels
from .base import Neighbors
from .labels import as_label_lists, join, leave


class LabelledRows(Neighbors):
    """The base of classifiers by nearest neighbours: `fit`, `partial_fit` and `remove` of rows with labels."""

    _state_table = declare(
        outputs_2d_=Instance(bool),
        _classes=List("n_outputs", Array("any", None)),
        # for each row and output, the index of the row's label in the sorted classes of the output
        _codes=Array("intp", "n_rows", "n_outputs"),
        # for each output, the labels that `partial_fit` was given as its argument `classes`; None if it was never given
        _declared=or_none(List("n_outputs", Array("any", None))),
    )

    _columns = (*Neighbors._columns, "_codes")

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.classifier_tags.multi_label = True
        return tags

    def fit(self, X, y, sample_weight=None, *, ids=None):
        """Keep the rows, by reference, and their labels.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Finite real numbers: array, memory map, pandas, polars or pyarrow table, or SciPy sparse matrix.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Labels that can be sorted: ints, strings, bools.
        sample_weight : array-like of shape (n_samples,), default=None
            The multiplicity of each row, from 0 up: a row with weight 0 is ignored, and weight 2 means two equal rows.
            The `n_neighbors` neighbours of a query are taken in order of distance until their weights add up to
            `n_neighbors`; the last one counts in part.
        ids : array-like of int or str of shape (n_samples,), default=None
            An id for each row, all different, which stays with the row when rows are added or removed: `kneighbors`
            returns ids on request, and `remove` takes them. None: rows have numbers only.

        Returns
        -------
        self
        """
        return self._become(**self._fitted_attributes(X, y, sample_weight, ids))

    def _fitted_attributes(self, X, y, sample_weight, ids):
        """Check the arguments of `fit` and return the new attributes. The estimator is not changed."""
        attributes, targets = self._fit_rows(X, sample_weight, y, labels=True, ids=ids)
        return attributes | targets

    def _read_targets(self, y):
        """A dict of the fitted attributes that are computed from the labels y: `classes_` and the labels' codes."""
        classes, codes = zip(*map(encode_labels, y.reshape(len(y), -1).T))
        return {
            "classes_": list(classes) if y.ndim == 2 else classes[0],
            "outputs_2d_": y.ndim == 2,
            "_codes": np.stack(codes, axis=1),
            "_declared": None,
        }

    def _check_rest(self, sizes, entries):
        for classes, codes in zip(self._classes, self._codes.T if entries else ()):
            require_positions("_codes", codes, len(classes))

    def partial_fit(self, X, y, classes=None, sample_weight=None, *, ids=None):
        """Append rows (a copy of them) to the fitted rows; the first call is a fit.

        Parameters
        ----------
        X, y, sample_weight
            As for `fit`. New labels are added to `classes_`. Without `sample_weight` each row counts once.
        classes : array-like of labels, or a list of such arrays for several outputs, default=None
            Labels that are kept in `classes_` even if no row has them. Never necessary.
        ids : array-like of int or str of shape (n_samples,), default=None
            New ids, if the fitted rows have ids.

        Returns
        -------
        self
            The same as if all rows had been fitted at once. O(d) per row, amortised; a new class costs O(n).
        """
        if self._is_fitted():
            n, attributes = self._add_rows(X, sample_weight)
            attributes |= self._more_ids(ids, n)
            y = self._more_targets(y, n, (self._codes.shape[1],) if self.outputs_2d_ else ())
            codes, known, new = join(self._codes, self._classes, y.reshape(n, -1).T)
            self._extend(attributes, "_codes", codes, np.stack(new, axis=1))
            declared, several, update = self._declared, self.outputs_2d_, vars(self).update
        else:
            attributes = self._fitted_attributes(X, y, sample_weight, ids)
            declared, several, update = None, attributes["outputs_2d_"], self._become
            known = attributes["classes_"] if several else [attributes["classes_"]]
        if classes is not None:
            labels = as_label_lists(classes, len(known), several)
            attributes["_codes"], known, _ = join(attributes["_codes"], known, labels)
            attributes["_declared"] = labels if declared is None else join(None, declared, labels)[1]
        update(**attributes | {"classes_": known if several else known[0]})
        return self

    def _without(self, rows):
        attributes = super()._without(rows)
        if attributes:
            codes, classes = leave(attributes["_codes"], self._classes, self._declared)
            attributes |= {"_codes": codes, "classes_": classes if self.outputs_2d_ else classes[0]}
        return attributes

    @property
    def _classes(self):
        return self.classes_ if self.outputs_2d_ else [self.classes_]
