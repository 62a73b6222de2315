"""Fitted rows with numbers as targets, which are added and removed together."""

import numpy as np

from .._state_table import Array
from .._validation import as_numbers
from .base import Neighbors


class TargetRows(Neighbors):
    """The base of regressors by nearest neighbours: `fit` and `partial_fit` of rows with targets."""

    _columns = (*Neighbors._columns, "_y")

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def _check_rest(self, sizes, entries):
        Array("float64", "n_rows", *[None] * (np.ndim(self._y) > 1)).check("_y", self._y, sizes, entries)

    _read_targets = staticmethod(as_numbers)

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
        attributes, y = self._fit_rows(X, sample_weight, y, labels=False, ids=ids)
        return self._become(_y=y, **attributes)

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
