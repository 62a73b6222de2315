"""Base classes of linear classifiers: scores and labels of dense or sparse rows."""

from numbers import Real

import numpy as np

from .. import _simd
from .._csr import Csr, as_rows, as_summands, is_sparse
from .._estimator import Classifier
from .._state_table import Array, SizeOf, check_each, declare, require_shape, table_of
from .._threads import map_rows, ranges, rows_at, with_pages
from .._validation import as_array, require_finite
from ..sums.blocks import over_rows
from ..sums.layout import by_column, transposed_copy
from ..sums.screens import screen_for

kernels = _simd.load("linear_model._scores")
columns = _simd.load("linear_model._elastic_net")

# Scores that overflow are computed again from rows and weights that are both multiplied by this small factor.
_SCALE = 2.0**-600

# The largest number of values in the rows, or in the results, of a part that is processed at a time.
_PART_NUMBERS = 1 << 16

# The number of sparse entries in the first call of the compiled code that transposes rows.
_FIRST_ENTRIES = 1 << 18

# Coefficients are laid out in blocks of classes for at least _LEAST_ROWS dense rows with at most _FEW_COLUMNS columns,
# and for at least _MANY_ROWS rows and many classes.
_LEAST_ROWS, _FEW_COLUMNS, _MANY_ROWS = 8, 64, 32


def counted(rows, labels, owner):
    """(rows, weights or None) of the rows with weight above 0; the other rows are checked for NaN and infinity, too."""
    if labels.rows is None:
        return rows, labels.weight
    if not isinstance(rows, Csr):
        require_finite(rows, "X", owner)
    return rows_at(rows, labels.rows), labels.weight[labels.rows]


def _arrays(X):
    """The arrays of dense or sparse rows; empty arrays of a Csr get an entry, so that they have an address."""
    if not isinstance(X, Csr):
        return (X,)
    if len(X.indices) == 0:
        return X.indptr, np.zeros(1, np.int32), np.zeros(1, X.dtype)
    return X.indptr, X.indices, X.data


def _rows(X):
    """The rows X as the first arguments of compiled functions: an array, or a Csr and its values."""
    return (X, X.data) if isinstance(X, Csr) else (X,)


def _prepared(coef, intercept):
    return np.atleast_2d(coef.toarray() if is_sparse(coef) else coef), np.ascontiguousarray(intercept, np.float64)


def as_dense(coef, dtype=None):
    """Coefficients, dense or sparse, as a contiguous dense array."""
    return np.ascontiguousarray(coef.toarray() if is_sparse(coef) else coef, dtype)


def arranged_for(X, coef):
    """Coefficients (K, d) of the dtype, and in the order, that the kernel for X reads.

    Dense rows take float64 in C order. Sparse rows take the order that coefficients have; if they have many entries,
    a copy in Fortran order pays.
    """
    if not isinstance(X, Csr):
        return np.ascontiguousarray(coef if coef.flags.c_contiguous else transposed_copy(coef.T), np.float64)
    if coef.flags.f_contiguous:
        return coef
    return np.ascontiguousarray(coef) if len(coef) == 1 or X.size < coef.shape[1] // 4 else by_column(coef)


def _goes_by_blocks(X, coef):
    """Whether scores of the rows X are faster by blocks of classes than class by class."""
    if isinstance(X, Csr) or len(coef) < kernels.LANES:
        return False
    if X.shape[1] <= _FEW_COLUMNS:
        return len(X) >= _LEAST_ROWS
    return len(X) >= _MANY_ROWS and len(coef) >= kernels.MANY_CLASSES


class _Blocks:
    """Coefficients in blocks of classes, for dense rows X: scores of a row and a block need no sum over SIMD lanes."""

    def __init__(self, X, coef, intercept):
        n_classes, d = coef.shape
        lanes = kernels.LANES
        width = -(-n_classes // lanes) * lanes
        self.X, self.n_classes = X, n_classes
        self.coef = np.zeros((width // lanes, d, lanes))
        for start in range(0, n_classes, lanes):
            part = coef[start : start + lanes]
            self.coef[start // lanes, :, : len(part)] = part.T
        self.intercept = np.zeros(width)
        self.intercept[:n_classes] = intercept

    def score(self, start, stop, scores):
        """Write the scores of rows [start, stop)."""
        return self._run(start, stop, scores, np.empty(0, np.intp))

    def choose(self, start, stop, codes):
        """Write the classes with the largest scores of rows [start, stop)."""
        return self._run(start, stop, np.empty((0, self.n_classes)), codes)

    def _run(self, start, stop, scores, codes):
        scratch = np.empty(kernels.ROWS_OF_BLOCK * (self.X.shape[1] + len(self.intercept)))
        arrays = self.X, self.coef.ravel(), self.intercept
        return kernels.score_by_blocks(*arrays, start, stop, scores, codes, scratch)


def combined(X, R, n_jobs=None):
    """R' X of shape (k, d), for dense rows X and R of shape (n, k); each number is summed in the order of the rows."""
    R, out = np.ascontiguousarray(R, np.float64), np.empty((R.shape[1], X.shape[1]))
    over_rows(lambda start, stop: kernels.combine(X, R, out, start, stop), X.T, R.shape[1], n_jobs)
    return out


def in_order_for(X, coef):
    """Coefficients (K, d) in the order that predictions for rows such as X read: by column if X is sparse."""
    return by_column(coef) if is_sparse(X) and coef.ndim == 2 and len(coef) > 1 else coef


def products_with(X, W, intercept, n_jobs=None):
    """X @ W + intercept, of shape (n, K), for a Csr X and a W of shape (d, K). A sum that overflows is not finite."""
    products = np.empty((len(X), W.shape[1]))
    if W.dtype != np.float64 or W.strides[1] != W.itemsize:
        W = np.ascontiguousarray(W, np.float64)
    over_rows(
        lambda start, stop: kernels.score_sparse(X, X.data, W.T, intercept, start, stop, products),
        X,
        W.shape[1],
        n_jobs,
    )
    return products


def transposed(X, factor=None):
    """The transpose of a Csr, with values in float64, times the factor of their column of X if there is one."""
    starts = np.concatenate([[0], np.cumsum(X.column_lengths())])
    ends, rows, entries = starts[:-1].copy(), with_pages(np.empty(X.size, np.int32)), with_pages(np.empty(X.size))
    factor = np.ones(X.n_columns) if factor is None else factor
    for start, stop in ranges(0, len(X), max(1, _FIRST_ENTRIES * len(X) // (X.size + 1))):
        columns.by_column(X, X.data, factor, ends, rows, entries, start, stop)
    return Csr(starts, rows, entries, len(X))


def _sums(X, coef, intercept, n_jobs=None):
    """The pair (scores of the rows, number of scores that are not finite)."""
    scores = np.empty((len(X), len(coef)))
    if _goes_by_blocks(X, coef):
        blocks = _Blocks(X, coef, intercept)
        odd = over_rows(lambda start, stop: blocks.score(start, stop, scores), X, len(coef), n_jobs)
        return scores, sum(odd)
    rows, kernel = _rows(X), kernels.score_sparse if isinstance(X, Csr) else kernels.score
    laid_out = arranged_for(X, coef)
    odd = over_rows(lambda start, stop: kernel(*rows, laid_out, intercept, start, stop, scores), X, len(coef), n_jobs)
    return scores, sum(odd)


def _small_sums(X, coef, intercept):
    """The scores of rows times _SCALE^2, a factor so small that they cannot overflow."""
    if isinstance(X, Csr):
        X = Csr(X.indptr, X.indices, X.data * np.float64(_SCALE), X.n_columns)
    else:
        X = X * np.float64(_SCALE)
    return _sums(X, coef.astype(np.float64) * _SCALE, intercept * _SCALE * _SCALE)[0]


def linear_scores(X, coef, intercept, n_jobs=None, owner=None):
    """X @ coef.T + intercept of shape (n_samples, len(coef)), summed in float64; X is dense or Csr.

    owner: the name of an estimator, or None; with a name, NaN or infinity in X is refused in its name. A sum that
    overflows on the way is computed again at another scale: a score is infinite only if float64 cannot represent it,
    and never NaN.
    """
    coef, intercept = _prepared(coef, intercept)
    scores, odd = _sums(X, coef, intercept, n_jobs)
    if odd:
        if owner is not None and not isinstance(X, Csr):
            require_finite(X, "X", owner)
        rows = _infinite_rows(scores)
        with np.errstate(over="ignore"):
            scores[rows] = _small_sums(X[rows], coef, intercept) / _SCALE / _SCALE
    return scores


def over_parts(write, X, out, work, n_jobs=None):
    """Call write(rows, their part of out) for parts of the rows X that fit a cache, on threads if this is faster.

    Rows take about `work` multiplications for each entry. A part's bounds may depend on time.
    """
    size = max(_MANY_ROWS, _PART_NUMBERS // max(out.shape[1], 0 if isinstance(X, Csr) else X.shape[1]))

    def write_range(start, stop):
        for first in range(start, stop, size):
            last = min(first + size, stop)
            write(X[first:last], out[first:last])

    over_rows(write_range, X, work, n_jobs)


def shares_of(scores, log=False, n_jobs=None):
    """exp(scores), divided by its sum over the classes, of shape (n, K), or the logarithm; `scores` may be overwritten.

    A single column of scores gets one of zeros before it. If all scores of a row are -infinity, its shares are equal.
    """
    if scores.shape[1] == 1:
        scores = map_rows(lambda part: np.hstack([np.zeros_like(part), part]), scores)
    scores = np.ascontiguousarray(scores)
    # an exponential takes about as long as 8 multiplications
    over_rows(lambda start, stop: kernels.shares(scores, start, stop, log), scores, 8, n_jobs)
    return scores


def linear_codes(X, coef, intercept, n_jobs=None, owner=None):
    """The same class codes as chosen(linear_scores(...)), without an array of all scores."""
    coef, intercept = _prepared(coef, intercept)
    codes = np.empty(len(X), np.intp)

    def exact(rows):
        found = np.empty(len(rows), np.intp)
        return found, _exact_choice(rows, coef, intercept)(0, len(rows), found)

    screen = screen_for(X, coef, intercept, exact)
    choose = screen.choose if screen else _exact_choice(X, coef, intercept)
    if any(over_rows(lambda start, stop: choose(start, stop, codes), X, len(coef), n_jobs)):
        scores = linear_scores(X, coef, intercept, n_jobs, owner)
        # rows whose scores overflow are compared by scores that are multiplied by a small factor
        rows = _infinite_rows(scores)
        if len(rows):
            scores[rows] = _small_sums(X[rows], coef, intercept)
        codes = chosen(scores)
    return codes


def _exact_choice(X, coef, intercept):
    """A function of (start, stop, codes) that writes the classes of rows [start, stop) by scores in float64.

    It returns the number of scores that are not finite.
    """
    if _goes_by_blocks(X, coef):
        return _Blocks(X, coef, intercept).choose
    rows, kernel = _rows(X), kernels.choose_sparse if isinstance(X, Csr) else kernels.choose
    laid_out = arranged_for(X, coef)

    def choose(start, stop, codes):
        return kernel(*rows, laid_out, intercept, start, stop, codes, np.empty((kernels.TILE_ROWS, len(coef))))

    return choose


def _infinite_rows(scores):
    """The numbers of the rows with a score that is not finite."""
    return np.flatnonzero(~map_rows(lambda rows: np.isfinite(rows).all(axis=1), scores))


def chosen(scores):
    """The class code of each row: the first class with the largest score; with one column, whether it is above 0."""
    return map_rows(_chosen, scores)


def _chosen(scores):
    return (scores[:, 0] > 0).astype(np.intp) if scores.shape[1] == 1 else scores.argmax(axis=1)


def n_planes(classes):
    """The number of separating hyperplanes: one for two classes, else one for each class."""
    return 1 if len(classes) == 2 else len(classes)


class ScoreClassifier(Classifier):
    """A classifier by scores; subclasses define `_scores(X)`, of shape (n_samples, 1 or n_classes).

    With two classes a positive score means `classes_[1]`; otherwise the first class with the largest score wins.
    """

    def decision_function(self, X):
        """Signed scores: shape (n_samples,) with two classes, else (n_samples, n_classes)."""
        scores = self._scores(X)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict(self, X):
        """Labels of shape (n_samples,); a tie, or a score of 0 between two classes, goes to the first class."""
        codes = chosen(self._asked_scores(X)) if "decision_function" in self._own_methods else self._chosen(X)
        return rows_at(self.classes_, codes)

    def _asked_scores(self, X):
        """The scores of rows, by `decision_function` where a user's subclass defines it, as in scikit-learn."""
        if "decision_function" not in self._own_methods:
            return self._scores(X)
        scores = np.array(self.decision_function(X), np.float64)
        if scores.ndim not in (1, 2) or (scores.ndim == 2 and not scores.shape[1]):
            raise ValueError(
                f"decision_function gave an array of shape {scores.shape}; (n_samples,) or (n_samples, n_classes) is"
                " wanted"
            )
        return scores[:, None] if scores.ndim == 1 else scores

    def _chosen(self, X):
        return chosen(self._scores(X))


class Coefficients(Array):
    """In a table of state: coefficients, as an array of any strides or as the sparse matrix from `sparsify`."""

    def require(self, name, value, sizes, entries):
        if is_sparse(value) or isinstance(value, np.ndarray):
            require_shape(name, value.shape, self.shape, sizes)
            value = as_dense(value)
        super().require(name, value, sizes, entries)


def _is_real(numbers):
    """Whether `numbers` are an array of at least one dimension, of float32 or float64."""
    return type(numbers) is np.ndarray and numbers.dtype.char in "fd" and numbers.ndim > 0


def _as_real(numbers):
    """A real number, or an array of real numbers, as an array of float32 or float64; all else as it is."""
    if not isinstance(numbers, (Real, np.ndarray)):
        return numbers
    found = np.asarray(numbers)
    return found.astype(np.float64) if found.dtype.kind in "biuf" and found.dtype.char not in "fd" else found


class LinearClassifier(ScoreClassifier):
    """A classifier by `coef_` of shape (1 or n_classes, n_features) and `intercept_` of shape (1 or n_classes,).

    Scores are summed in float64. A parameter `n_jobs`, if the classifier has it, sets the number of threads. A user may
    assign `coef_`, `intercept_` and `classes_` in place of a fit, or change those of a fit.
    """

    # whether `_adapt` has completed the attributes of a classifier that was never fitted
    _made_by_hand = False

    _as_rows = staticmethod(as_rows)

    _state_table = declare(
        classes_=Array("any", "n_classes", least=2),
        n_planes=SizeOf(lambda model: n_planes(model.classes_)),
        coef_=Coefficients("float32 or float64", "n_planes", "n_features"),
        intercept_=Coefficients("float32 or float64", "n_planes"),
    )

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _adapt(self, attributes):
        coef, intercept = attributes.get("coef_"), attributes.get("intercept_")
        fitted = self._mark_of_fit in attributes
        if coef is None or intercept is None or (fitted and _is_real(coef) and _is_real(intercept)):
            return
        classes = attributes.get("classes_")
        if classes is None:
            return
        attributes["classes_"] = classes = as_array(classes, "classes_")
        attributes["coef_"] = coef = _as_real(coef)
        attributes["intercept_"] = intercept = _as_real(intercept)
        if isinstance(intercept, np.ndarray) and intercept.size == 1 and classes.ndim == 1:
            attributes["intercept_"] = np.full(n_planes(classes), intercept.ravel()[0])
        if not fitted and len(getattr(coef, "shape", ())) == 2:
            attributes[self._mark_of_fit], attributes["_made_by_hand"] = coef.shape[1], True

    def _check_state(self, entries=True):
        if self._made_by_hand:
            check_each(self, table_of(LinearClassifier), {}, entries)
        else:
            super()._check_state(entries)

    def _linear(self, function, X):
        """The result of `function`, which is `linear_scores` or `linear_codes`, for new rows X and the coefficients."""
        self._require_fitted()
        X = self._new_samples(X, as_summands)
        return function(X, self.coef_, self.intercept_, getattr(self, "n_jobs", None), type(self).__name__)

    def _predict_proba_lr(self, X):
        """Logistic functions of the scores, divided by their sum: a private method of scikit-learn that users call."""
        scores = self._asked_scores(X)
        shares = 1 / (1 + np.exp(-np.clip(scores, -700, None)))
        return np.hstack([1 - shares, shares]) if shares.shape[1] == 1 else shares / shares.sum(axis=1, keepdims=True)

    def _scores(self, X):
        return self._linear(linear_scores, X)

    def _chosen(self, X):
        return self._linear(linear_codes, X)


class SparsifiableClassifier(LinearClassifier):
    """A linear classifier whose `coef_` may become sparse, as SciPy's CSR matrix, and dense again."""

    _changing = LinearClassifier._changing | {"sparsify", "densify"}

    def sparsify(self):
        """Make `coef_` a SciPy CSR matrix, which many zeros, as of an L1 penalty, make smaller.

        Predictions stay the same, and cost a dense copy of `coef_` each.

        Returns
        -------
        self
        """
        self._require_fitted()
        if is_sparse(self.coef_):
            return self
        from scipy.sparse import csr_matrix

        return self._become(**vars(self) | {"coef_": csr_matrix(self.coef_)})

    def densify(self):
        """Make `coef_` an array, as `fit` leaves it.

        Returns
        -------
        self
        """
        self._require_fitted()
        return self._become(**vars(self) | {"coef_": as_dense(self.coef_)})
