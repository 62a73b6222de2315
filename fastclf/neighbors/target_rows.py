"""Fitted rows with targets, labels or numbers: rows and targets are fitted, added and removed together, and vote."""

import numpy as np

from .._state_table import Array, Instance, List, declare, or_none, require_positions
from .._validation import as_numbers, as_targets, encode_labels, require_choice
from .base import Neighbors
from .labels import as_label_lists, join, leave


class Weighted(Neighbors):
    """The base of estimators whose neighbours vote with the weights that the parameter `weights` gives."""

    _vote_choices = ()  # pairs (name, allowed values) of the parameters besides `weights` that determine the votes

    def _more_targets(self, y, n, shape, labels=True):
        """Check the targets y of n added rows; `shape` is the shape of a fitted row's target."""
        y = as_targets(y, n, type(self).__name__, labels)
        if y.shape[1:] != shape:
            raise ValueError(f"y has shape {y.shape}; shape {(n, *shape)} is wanted, as in the first fit")
        return y

    def _check_voting(self):
        if self.weights is not None and not callable(self.weights):
            require_choice("weights", self.weights, ("uniform", "distance"))
        for name, choices in self._vote_choices:
            require_choice(name, getattr(self, name), choices)
        if self.weights == "distance" and self.metric == "dot":
            raise ValueError("weights is 'distance', but metric='dot' gives no distances; weights='uniform' is wanted")


class LabelledRows(Weighted):
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
        given = self._given_rows(X, sample_weight, ids)
        y = as_targets(y, len(given.rows), type(self).__name__, labels=True)
        classes, codes = zip(*map(encode_labels, y.reshape(len(y), -1).T))
        return self._fitted_rows(given) | {
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

    @property
    def _y(self):
        """The class codes of the fitted rows, by scikit-learn's private name, which converters of models read."""
        return self._codes if self.outputs_2d_ else self._codes[:, 0]


class TargetRows(Weighted):
    """The base of regressors by nearest neighbours: `fit` and `partial_fit` of rows with targets."""

    _columns = (*Neighbors._columns, "_y")

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def _check_rest(self, sizes, entries):
        Array("float64", "n_rows", *[None] * (np.ndim(self._y) > 1)).check("_y", self._y, sizes, entries)

    def fit(self, X, y, sample_weight=None, *, ids=None):
        """Keep the rows, by reference, and their targets.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Finite real numbers: array, memory map, pandas, polars or pyarrow table, or SciPy sparse matrix.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Finite numbers.
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
        given = self._given_rows(X, sample_weight, ids)
        y = as_numbers(as_targets(y, len(given.rows), type(self).__name__, labels=False))
        return self._become(_y=y, **self._fitted_rows(given))

    def partial_fit(self, X, y, sample_weight=None, *, ids=None):
        """Append rows (a copy of them) to the fitted rows; the first call is a fit. The arguments are those of `fit`.

        Returns
        -------
        self
            The same as if all rows had been fitted at once. O(d) per row, amortised.
        """
        if not self._is_fitted():
            return self.fit(X, y, sample_weight, ids=ids)
        n, attributes = self._add_rows(X, sample_weight)
        y = as_numbers(self._more_targets(y, n, self._y.shape[1:], labels=False))
        self._extend(attributes, "_y", self._y, y)
        vars(self).update(attributes | self._more_ids(ids, n))
        return self

    def _targets(self):
        """The targets of the fitted rows as an array of shape (n_rows, n_outputs)."""
        return self._y.reshape(len(self._y), -1)
