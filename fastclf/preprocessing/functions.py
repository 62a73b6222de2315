"""Features that are given functions of a row."""

import numpy as np

from .._threads import copy_rows
from .._validation import as_float64, as_list, described
from .base import FeatureMap


class FunctionFeatures(FeatureMap):
    """The features phi_1(x), ..., phi_k(x) that given functions have for a row x.

    Parameters
    ----------
    functions : list of callables or None, default=None
        phi_1, ..., phi_k. Each takes a row, a read-only array of shape (n_features,), and returns a finite number; or
        it indexes columns of all rows, as in X[:, 0], and returns an array of shape (n_samples,). None stands for the
        coordinates themselves.
    vectorized : bool, default=False
        Whether each function takes all rows at once, as a read-only array of shape (n_features, n_samples), and returns
        an array of shape (n_samples,). In `lambda x: x[0] * x[1]` x may be either, and the call for all rows is many
        times faster.

    Attributes
    ----------
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only when X was a table with string column names.

    Notes
    -----
    Cost: a call of Python for each function and row; with `vectorized` one for each function. Memory: the output. A map
    with functions can be pickled if they can; `save`, whose files hold no code, refuses it.

    Examples
    --------
    >>> from fastclf import FunctionFeatures
    >>> FunctionFeatures([lambda x: x[0] * x[1], max]).fit_transform([[2.0, 3.0], [5.0, 1.0]])
    array([[6., 3.],
           [5., 5.]])
    """

    def __init__(self, functions=None, *, vectorized=False):
        self._take(locals())

    def _phi(self):
        """The list of the user's functions; None: the features are the columns of X."""
        if self.functions is None:
            return None
        functions = as_list(self.functions, "functions")
        for i, function in enumerate(functions):
            if not callable(function):
                raise TypeError(f"functions[{i}] is {described(function)}; a function of a row is wanted")
        if not functions:
            raise ValueError("functions is empty; at least one function of a row is wanted")
        return functions

    def fit(self, X, y=None):
        """Check the functions; of X only the number of columns and their names are kept.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : ignored

        Returns
        -------
        self
        """
        self._phi()
        return self._become(**self._fitted_columns(X, self._as_rows(X, type(self).__name__)))

    def transform(self, X):
        """The value of each function for each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Finite real numbers.

        Returns
        -------
        ndarray of shape (n_samples, number of functions), float64
        """
        self._require_fitted()
        functions, rows = self._phi(), self._new_samples(X)
        if functions is None:
            return copy_rows(rows, np.empty(rows.shape))
        rows = rows.view()
        rows.flags.writeable = False
        features = np.empty((len(rows), len(functions)))
        for i, function in enumerate(functions):
            values = as_float64(self._values(i, function, rows), f"the result of functions[{i}]")
            if values.shape != (len(rows),):
                raise ValueError(
                    f"functions[{i}] gives values of shape {values.shape} for {len(rows)} rows; one number per row is"
                    " wanted" + ("" if self.vectorized else ", or vectorized=True if it takes all rows at once")
                )
            if not np.isfinite(values).all():
                row = int(np.argmin(np.isfinite(values)))
                raise ValueError(f"functions[{i}] gives {values[row]} for row {row}; finite numbers are wanted")
            features[:, i] = values
        return features

    def _values(self, i, function, rows):
        """The values of functions[i] for rows (n_samples, n_features); refuses a feature that X does not have."""
        try:
            return function(rows.T) if self.vectorized else [function(row) for row in rows]
        except IndexError as error:
            what = f"functions[{i}] asks for what {rows.shape[1]} features do not have ({error})"
            if self.vectorized:
                raise ValueError(f"{what}; x[0] to x[{rows.shape[1] - 1}] is wanted") from error
            try:
                # functions[i] may be a function of a matrix of rows, which fails for one row: X[:, 0], X.sum(axis=1)
                return function(rows)
            except IndexError:
                raise ValueError(f"{what}; x[0] to x[{rows.shape[1] - 1}], or columns X[:, 0], is wanted") from error

    def get_feature_names_out(self, input_features=None):
        """The names of the columns: those of the functions, phi1, phi2, ... for functions without a name.

        Parameters
        ----------
        input_features : list of str, default=None
            Names of the columns of X; only used where `functions` is None.

        Returns
        -------
        ndarray of str, dtype object
        """
        functions, names = self._phi(), self._names_in(input_features)
        if functions is not None:
            given = [getattr(function, "__name__", "<unnamed>") for function in functions]
            unique = [name.isidentifier() and given.count(name) == 1 for name in given]
            names = [name if good else f"phi{i}" for i, (name, good) in enumerate(zip(given, unique), 1)]
        return np.array(names, dtype=object)
