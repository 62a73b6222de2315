"""Feature maps: random Fourier features and the Nystroem map."""

import numpy as np

from .. import _simd
from .._csr import Csr, as_rows
from .._exceptions import warn
from .._shuffles import permutation
from .._state_table import Array, Value, declare, where
from .._threads import all_finite, aside_if_many, aside_if_slow
from .._validation import as_float64, as_random_state, described, require_choice, require_integer, require_number
from ..kernels.gamma import gamma_of
from ..linear_model.scores import arranged_for, linear_scores, over_parts
from ..preprocessing.base import FeatureMap

kernels = _simd.load("linear_model._scores")
screens = _simd.load("sums._screens")

_KERNELS = (
    *("rbf", "linear", "poly", "polynomial", "sigmoid", "cosine"),
    *("laplacian", "chi2", "additive_chi2", "precomputed"),
)
_PARAMETERS = ("gamma", "coef0", "degree")


class _RandomMap(FeatureMap):
    """A random feature map, whose output columns have no meaningful names."""

    _as_rows = staticmethod(as_rows)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def _transformed(self, X, dtype, work, write, n_jobs=None):
        """The features of the rows X: write(rows, out) writes those of some rows, on any thread.

        Each entry of X takes about `work` multiplications.
        """
        out = np.empty((len(X), self._n_out()), dtype)
        over_parts(write, X, out, work, n_jobs)
        return out

    def get_feature_names_out(self, input_features=None):
        """Names of the columns: the estimator's name in lower case, and a number."""
        self._names_in(input_features)
        return np.array([f"{type(self).__name__.lower()}{i}" for i in range(self._n_out())], dtype=object)


class RBFSampler(_RandomMap):
    """Random Fourier features: their inner products approximate the kernel exp(-gamma |x - y|^2).

        phi(x)_i = sqrt(2 / n_components) cos(w_i x + b_i),    w_i ~ N(0, 2 gamma I),  b_i ~ U(0, 2 pi)

    Parameters
    ----------
    gamma : float > 0 or 'scale', default=1.0
        'scale' is 1 / (n_features times the variance of X).
    n_components : int >= 1, default=100
        The number of features. The error of an inner product decreases as 1 / sqrt(n_components).
    random_state : int, RandomState or None, default=None
        An integer as seed gives the same numbers as in scikit-learn.

    Attributes
    ----------
    random_weights_ : ndarray of shape (n_features, n_components)
    random_offset_ : ndarray of shape (n_components,)
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only when X was a table with string column names.

    Notes
    -----
    Each output value costs n_features multiply-adds and a cosine. A sparse X stays sparse. The angles w_i x + b_i are
    summed in float64, but those of dense rows of float32 in float32, of rows that have no angle above 8192.

    References
    ----------
    Rahimi, Recht (2007), Random features for large-scale kernel machines.

    Examples
    --------
    >>> import numpy as np
    >>> from fastclf import RBFSampler
    >>> Z = RBFSampler(gamma=0.5, n_components=5000, random_state=0).fit_transform([[0.0], [1.0]])
    >>> bool(abs(Z[0] @ Z[1] - np.exp(-0.5)) < 0.03)
    True
    """

    _state_table = declare(
        random_offset_=Array("float32 or float64", "n_components"),
        random_weights_=Array("float32 or float64", "n_features", "n_components", any_order=True),
    )

    def __init__(self, *, gamma=1.0, n_components=100, random_state=None):
        self._take(locals())

    def fit(self, X, y=None):
        """Draw the weights; only the shape of X matters, and for gamma='scale' its variance.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : ignored

        Returns
        -------
        self
        """
        n_components = require_integer("n_components", self.n_components, 1)
        if isinstance(self.gamma, str):
            require_choice("gamma", self.gamma, ["scale"])
        else:
            require_number("gamma", self.gamma, 0, open_low=True, finite=True)
        rows = self._as_rows(X, type(self).__name__)
        columns = self._fitted_columns(X, rows)
        d = columns["n_features_in_"]
        random = as_random_state(self.random_state)
        weights = random.normal(size=(d, n_components))
        if rows.dtype == np.float32:
            laid = np.empty(weights.shape, np.float32)
        else:
            # `transform` reads those of a component one after the other for dense rows of float64
            laid = weights if isinstance(rows, Csr) else np.empty(weights.shape, order="F")
        np.multiply(weights, np.sqrt(2 * gamma_of(self.gamma, rows)), out=laid, casting="same_kind")
        offset = random.uniform(0, 2 * np.pi, size=n_components)
        return self._become(
            **columns,
            random_weights_=laid,
            random_offset_=offset.astype(rows.dtype, copy=False),
        )

    def transform(self, X):
        """The features of each row.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_components), float32 if both X and the fitted arrays are, else float64
        """
        self._require_fitted()
        X = self._new_samples(X)
        length, dtype = np.sqrt(2 / self._n_out()), np.result_type(X.dtype, self.random_weights_.dtype)
        if dtype == np.float32 and not isinstance(X, Csr):
            write = self._write_floats(np.ascontiguousarray(self.random_weights_), length)
        else:
            write = self._write_exact(arranged_for(X, self.random_weights_.T), length)
        return self._transformed(X, dtype, self._n_out(), write)

    def _write_exact(self, coef, length):
        """The function that `_transformed` takes, which sums angles in float64."""

        def write(rows, out):
            kernels.cosines(linear_scores(rows, coef, self.random_offset_, 1), length, out)

        return write

    def _write_floats(self, weights, length):
        """The same for dense rows of float32, whose angles are summed in float32 unless one of a row is large."""
        offset = np.ascontiguousarray(self.random_offset_, np.float32)

        def write(rows, out):
            far = np.empty(len(rows), np.uint8)
            screens.cosines(np.ascontiguousarray(rows), weights, offset, length, out, far)
            if far.any():
                some, exact = np.flatnonzero(far), np.empty((np.count_nonzero(far), out.shape[1]), np.float32)
                self._write_exact(arranged_for(rows, weights.T), length)(rows[some], exact)
                out[some] = exact

        return write

    def _n_out(self):
        return len(self.random_offset_)


class Nystroem(_RandomMap):
    """The Nystroem map: inner products of its features equal the kernel on a sample of the rows, and approximate it
    nearby.

        phi(x) = K_mm^(-1/2) k(x),    k(x)_i = K(x, c_i),   the c_i being n_components rows drawn at random

    Parameters
    ----------
    kernel : {'rbf', 'linear', 'poly', 'polynomial', 'sigmoid', 'cosine', 'laplacian', 'chi2', \
'additive_chi2', 'precomputed'} or callable, default='rbf'
        exp(-gamma |x - y|^2), x y, (gamma x y + coef0)^degree, tanh(gamma x y + coef0), x y / (|x| |y|), exp(-gamma
        sum_j |x_j - y_j|), exp(-gamma s) and -s with s = sum_j (x_j - y_j)^2 / (x_j + y_j), of numbers from 0 up;
        'precomputed': X has the kernel values of its rows with the rows of `fit`; or a function of two rows.
    gamma : float or None, default=None
        None is 1 / n_features, of chi2 1.
    coef0 : float or None, default=None
        None is 1.
    degree : float or None, default=None
        None is 3.
    kernel_params : dict or None, default=None
        Arguments of a function by name; of a named kernel gamma, coef0 and degree, where those are None.
    n_components : int >= 1, default=100
        The number of rows in the sample, at most all rows.
    random_state : int, RandomState or None, default=None
        An integer as seed gives the same rows as in scikit-learn.
    n_jobs : int or None, default=None
        Threads; None means every CPU that the process may use.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The rows of the sample.
    component_indices_ : ndarray of shape (n_components,)
        The numbers of these rows.
    normalization_ : ndarray of shape (n_components, n_components)
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only when X was a table with string column names.

    Notes
    -----
    `fit` costs n_components^3 multiply-adds, `transform` n_features + n_components for each output value. A sparse X
    stays sparse, except for the rows of the sample.

    References
    ----------
    Williams, Seeger (2001), Using the Nystroem method to speed up kernel machines.

    Examples
    --------
    >>> import numpy as np
    >>> from fastclf import Nystroem
    >>> Z = Nystroem(gamma=0.5, n_components=2, random_state=0).fit_transform([[0.0], [1.0]])
    >>> bool(np.isclose(Z[0] @ Z[1], np.exp(-0.5)))
    True
    """

    _state_table = declare(
        kernel=Value(lambda name, kernel: callable(kernel) or require_choice(name, kernel, _KERNELS)),
        components_=Array("float32 or float64", "n_components", "n_features"),
        **where(
            lambda model: model.kernel == "precomputed",
            component_indices_=Array("int64", "n_components", below="n_features"),
        ),
        normalization_=Array("float32 or float64", "n_components", "n_components"),
    )

    def __init__(
        self,
        kernel="rbf",
        *,
        gamma=None,
        coef0=None,
        degree=None,
        kernel_params=None,
        n_components=100,
        random_state=None,
        n_jobs=None,
    ):
        self._take(locals())

    def fit(self, X, y=None):
        """Draw the rows and factor their kernel matrix.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : ignored

        Returns
        -------
        self
        """
        n_components = require_integer("n_components", self.n_components, 1)
        rows = self._as_rows(X, type(self).__name__)
        columns = self._fitted_columns(X, rows)
        if n_components > len(rows):
            warn(
                f"n_components > n_samples: n_components is {n_components} and X has {len(rows)} rows, all of which"
                " are used"
            )
        if self.kernel == "precomputed" and rows.shape[0] != rows.shape[1]:
            raise ValueError(f"X has shape {rows.shape}; a square matrix is wanted of a precomputed kernel")
        drawn = permutation(as_random_state(self.random_state), len(rows))[:n_components]
        taken = aside_if_many(len(drawn) * rows.shape[1], rows.__getitem__, drawn)
        components = np.ascontiguousarray(np.asarray(taken))
        if self.kernel == "precomputed":
            inner = np.asarray(components[:, drawn], np.float64)
        elif callable(self.kernel):
            inner = self._called_on_pairs(components)
        else:
            inner = aside_if_many(max(len(drawn) ** 2, components.size), self._kernel_matrix, components, taken)
        if not all_finite(inner):
            raise ValueError("kernel has values beyond float64 between rows of X; rows of a smaller scale are wanted")
        normalization = aside_if_slow(20 * len(inner) ** 3, _inverse_root, inner, components.dtype)
        return self._become(
            **columns,
            components_=components,
            component_indices_=drawn,
            normalization_=normalization,
        )

    def _require_parameters(self):
        super()._require_parameters()
        if not callable(self.kernel):
            require_choice("kernel", self.kernel, _KERNELS)
        for name in _PARAMETERS:
            if getattr(self, name) is not None:
                require_number(name, getattr(self, name), -np.inf if name == "coef0" else 0, finite=True)
        if self.kernel_params is not None and not isinstance(self.kernel_params, dict):
            raise TypeError(f"kernel_params is {described(self.kernel_params)}; a dict or None is wanted")
        given = [name for name in _PARAMETERS if getattr(self, name) is not None]
        if given and (callable(self.kernel) or self.kernel == "precomputed"):
            raise ValueError(
                "Don't pass gamma, coef0 or degree to Nystroem if using a callable or precomputed kernel:"
                f" {given[0]} is {getattr(self, given[0])}"
            )

    def transform(self, X):
        """The features of each row.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_components), float32 if both X and the fitted arrays are, else float64
        """
        self._require_fitted()
        X = self._new_samples(X)
        values, zero = self._values(X), np.zeros(self._n_out())

        def write(rows, out):
            # a product of matrices by BLAS would have bits that depend on the number of rows; those of `linear_scores`
            # do not
            out[:] = linear_scores(values(rows), self.normalization_, zero, 1)

        dtype = np.result_type(X.dtype, self.components_.dtype)
        # products of whole matrices take a quarter of the time of other multiplications
        work = (self._n_out() + self.normalization_.size * len(X) // max(1, X.size)) // 4
        return self._transformed(X, dtype, work, write, 1 if callable(self.kernel) else self.n_jobs)

    def _values(self, X):
        """The function that gives the kernel values, float64, of rows of X with the rows that were sampled in `fit`."""
        if self.kernel == "precomputed":
            return lambda rows: np.ascontiguousarray(np.asarray(rows)[:, self.component_indices_], np.float64)
        if callable(self.kernel):
            return lambda rows: self._called(np.asarray(rows), self.components_)
        return aside_if_many(self.components_.size, self._kernel, self.components_, X)

    def _called(self, A, B):
        """The values of the user's kernel function for each row of A with each row of B, float64."""
        params = self.kernel_params or {}
        values = as_float64([[self.kernel(a, b, **params) for b in B] for a in A], "kernel's result")
        if values.shape != (len(A), len(B)) or not np.isfinite(values).all():
            raise ValueError("kernel gave something that is not a finite number; one number for two rows is wanted")
        return values

    def _called_on_pairs(self, rows):
        """The values of the user's kernel function for all pairs of rows; it is called once for each pair."""
        values = np.empty((len(rows), len(rows)))
        for i in range(len(rows)):
            values[i, i:] = values[i:, i] = self._called(rows[i : i + 1], rows[i:])[0]
        return values

    def _parameter(self, name, otherwise):
        """The value of the kernel parameter gamma, coef0 or degree: the attribute or an entry of `kernel_params`."""
        value = getattr(self, name)
        value = (self.kernel_params or {}).get(name) if value is None else value
        return otherwise if value is None else require_number(f"kernel_params[{name!r}]", value, -np.inf, finite=True)

    def _kernel_matrix(self, C, rows):
        """The kernel values of the rows of C with each other; `rows` are the same, dense or sparse."""
        return self._kernel(C, rows, self.n_jobs)(rows)

    def _kernel(self, C, X, n_jobs=1):
        """The function that gives the kernel values, float64, of rows of X, dense or sparse, with the rows of C."""
        C = C.astype(np.float64, copy=False)
        if self.kernel in _BY_DIFFERENCES:
            gamma = self._parameter("gamma", 1 / C.shape[1] if self.kernel == "laplacian" else 1.0)
            return lambda X: _by_differences(self.kernel, np.asarray(X, np.float64), C, gamma)
        gamma, coef0 = self._parameter("gamma", 1 / C.shape[1]), self._parameter("coef0", 1.0)
        if self.kernel == "rbf":
            return _gaussian(C, require_number("kernel_params['gamma']", gamma, 0), X, n_jobs)
        zero = np.zeros(len(C))
        if self.kernel == "cosine":
            C = arranged_for(X, C / _lengths(C)[:, None])
            return lambda X: linear_scores(X, C, zero, n_jobs) / _lengths(X)[:, None]
        C = arranged_for(X, C)
        if self.kernel == "linear":
            return lambda X: linear_scores(X, C, zero, n_jobs)
        if self.kernel == "sigmoid":
            return lambda X: np.tanh(gamma * linear_scores(X, C, zero, n_jobs) + coef0)
        degree = self._parameter("degree", 3)
        return lambda X: (gamma * linear_scores(X, C, zero, n_jobs) + coef0) ** degree

    def _n_out(self):
        return len(self.components_)


def _inverse_root(inner, dtype):
    """The inverse of the square root of a kernel matrix, as numbers of the given type."""
    U, values, Vt = np.linalg.svd(inner)
    return ((U / np.sqrt(np.maximum(values, 1e-12))) @ Vt).astype(dtype, copy=False)


def _gaussian(C, gamma, X, n_jobs):
    """The function that gives exp(-gamma |x - c|^2) for rows x of X, dense or sparse, and the rows c of C."""
    sparse = isinstance(X, Csr)
    # the mean is subtracted, so that |x - c|^2, computed as |x|^2 - 2 (x'c - |c|^2 / 2), loses fewer digits
    middle = None if sparse else C.mean(axis=0)
    C = C if sparse else C - middle
    half, C = -0.5 * _squares(C), arranged_for(X, C)
    half[np.isinf(half)] = np.nan  # the distance of such a row from itself is unknown, so that `fit` refuses it

    def values(rows):
        rows = rows if sparse else rows - middle
        found = linear_scores(rows, C, half, n_jobs)
        kernels.gaussians(found, _squares(rows), gamma)
        return found

    return values


def _lengths(X):
    """The Euclidean norm of each row, 1 for a row of zeros."""
    lengths = np.sqrt(_squares(X))
    return np.where(lengths > 0, lengths, 1)


_BY_DIFFERENCES = ("laplacian", "chi2", "additive_chi2")


def _by_differences(kernel, X, C, gamma):
    """The values, of shape (len(X), len(C)), of the Laplacian kernel, the chi-squared kernel or the additive one."""
    if kernel != "laplacian" and min(X.min(), C.min()) < 0:
        raise ValueError(f"X contains negative values; numbers from 0 up are wanted of kernel={kernel!r}")
    values = np.empty((len(X), len(C)))
    for i, c in enumerate(C):
        difference = X - c
        if kernel == "laplacian":
            values[:, i] = np.abs(difference, out=difference).sum(axis=1)
        else:
            sums = X + c
            values[:, i] = (difference**2 / np.where(sums > 0, sums, 1)).sum(axis=1)
    return -values if kernel == "additive_chi2" else np.exp(-gamma * values)


def _squares(X):
    """The sum of the squares of each row's values."""
    if isinstance(X, Csr):
        return np.bincount(X.row_numbers(), X.data[: X.size].astype(np.float64) ** 2, len(X))
    return np.einsum("ij,ij->i", X, X, dtype=np.float64)
