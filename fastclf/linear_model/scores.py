"""What linear classifiers share: dense or sparse rows come in, scores and labels go out."""

from itertools import pairwise

import numpy as np

from .. import _simd
from .._csr import Csr, as_csr, is_sparse
from .._estimator import Classifier
from .._threads import n_threads, ranges, run
from .._validation import (
    as_matrix,
    as_sample_weight,
    as_targets,
    as_unchecked_matrix,
    require_array,
    require_finite,
)

kernels = _simd.load("linear_model._scores")

# Below this many products (1 ms) the calling thread does all, in one range.
_THREAD_WORK = 1 << 21

# Products that a first range has.
_RANGE_WORK = 1 << 24

# Scores that overflow are computed anew at this scale of rows and weights.
_SCALE = 2.0**-600


def as_rows(X, owner):
    """X as an array (`as_matrix`) or, if it is one of SciPy's sparse matrices, as Csr."""
    return as_csr(X, owner) if is_sparse(X) else as_matrix(X, owner)


def as_unchecked_rows(X, owner):
    """As `as_rows`; whether an array is finite is seen by its scores."""
    if type(X) is not np.ndarray and is_sparse(X):
        return as_csr(X, owner)
    return as_unchecked_matrix(X, owner)


def rows_that_count(rows, y, sample_weight, owner):
    """(rows, y, weights or None, the numbers of those rows or None for all): the rows of a weight above 0, checked."""
    weight = as_sample_weight(sample_weight, len(rows))
    y = as_targets(y, len(rows), owner, labels=True)
    if y.ndim != 1:
        raise ValueError(f"y has shape {y.shape}; ({len(rows)},), one label a row, is wanted")
    if weight is None or weight.all():
        return rows, y, weight, None
    kept = np.flatnonzero(weight)
    if len(kept) == 0:
        raise ValueError("every sample_weight is zero; a row that counts is wanted")
    if not isinstance(rows, Csr):
        require_finite(rows, "X", owner)
    return rows[kept], y[kept], weight[kept], kept


def over_rows(call, X, row_work, n_jobs):
    """call(start, stop) for ranges of all rows of X, on threads where it pays; the sum of what the calls return.

    A row costs `row_work` times its entries.
    """
    n = len(X)
    work = max(1, X.size * row_work)
    if work <= _THREAD_WORK:
        return call(0, n)
    threads = min(n_threads(n_jobs), n)
    results = []

    def piece(bounds):
        for start, stop in ranges(*bounds, 1 + n * _RANGE_WORK // work):
            results.append(call(start, stop))
            yield

    # several for each thread, as they are not equally fast
    pieces = 1 if threads == 1 else min(n, 4 * threads)
    bounds = [n * i // pieces for i in range(pieces + 1)]
    run(piece, pairwise(bounds), threads)
    return sum(results)


def _arrays(X):
    """The arrays of rows, as the kernels take them: a Csr has an entry at least."""
    if not isinstance(X, Csr):
        return (X,)
    if len(X.indices) == 0:
        return X.indptr, np.zeros(1, np.int32), np.zeros(1, X.dtype)
    return X.indptr, X.indices, X.data


def _parameters(coef, intercept):
    return np.ascontiguousarray(coef, np.float64), np.ascontiguousarray(intercept, np.float64)


def _sums(X, coef, intercept, n_jobs=None):
    """(scores, how many of them are not finite)."""
    arrays = _arrays(X)
    kernel = kernels.score if len(arrays) == 1 else kernels.score_sparse
    scores = np.empty((len(X), len(coef)))
    odd = over_rows(lambda start, stop: kernel(*arrays, coef, intercept, start, stop, scores), X, len(coef), n_jobs)
    return scores, odd


def _small_sums(X, coef, intercept):
    """Scores times _SCALE^2: finite."""
    if isinstance(X, Csr):
        X = Csr(X.indptr, X.indices, X.data * np.float64(_SCALE), X.n_columns)
    else:
        X = X * np.float64(_SCALE)
    return _sums(X, coef * _SCALE, intercept * _SCALE * _SCALE)[0]


def linear_scores(X, coef, intercept, n_jobs=None, owner=None):
    """X @ coef.T + intercept of shape (n_samples, len(coef)), summed in float64; X dense or Csr.

    Given an `owner`, a NaN or infinity in X is refused in its name. A sum that overflows on its way is computed at
    another scale: a score is infinite only if float64 cannot hold it, and never NaN.
    """
    coef, intercept = _parameters(coef, intercept)
    scores, odd = _sums(X, coef, intercept, n_jobs)
    if odd:
        if owner is not None and not isinstance(X, Csr):
            require_finite(X, "X", owner)
        rows = np.flatnonzero(~np.isfinite(scores).all(axis=1))
        with np.errstate(over="ignore"):
            scores[rows] = _small_sums(X[rows], coef, intercept) / _SCALE / _SCALE
    return scores


def linear_codes(X, coef, intercept, n_jobs=None, owner=None):
    """The column of the first largest score of each row; of one column, whether it is positive. No array of scores."""
    coef, intercept = _parameters(coef, intercept)
    arrays = _arrays(X)
    kernel = kernels.choose if len(arrays) == 1 else kernels.choose_sparse
    codes = np.empty(len(X), np.intp)

    def choose(start, stop):
        own = np.empty((kernels.TILE_ROWS, len(coef)))
        return kernel(*arrays, coef, intercept, start, stop, codes, own)

    if over_rows(choose, X, len(coef), n_jobs):
        scores = linear_scores(X, coef, intercept, n_jobs, owner)
        # at the scale at which an infinite score can be compared
        rows = np.flatnonzero(~np.isfinite(scores).all(axis=1))
        if len(rows):
            scores[rows] = _small_sums(X[rows], coef, intercept)
        codes = chosen(scores)
    return codes


def chosen(scores):
    """For each row the position of its class."""
    return (scores[:, 0] > 0).astype(np.intp) if scores.shape[1] == 1 else scores.argmax(axis=1)


class ScoreClassifier(Classifier):
    """A classifier by `_scores` of rows, of shape (n_samples, 1 or n_classes).

    With two classes the positive side is `classes_[1]`; else the largest score wins, the first of equal ones.
    """

    def decision_function(self, X):
        """Signed scores: shape (n_samples,) with two classes, else (n_samples, n_classes)."""
        scores = self._scores(X)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict(self, X):
        """Labels of shape (n_samples,); a score of 0 between two classes gives `classes_[0]`."""
        codes = self._chosen(X)
        return self.classes_[codes]

    def _chosen(self, X):
        return chosen(self._scores(X))


class LinearClassifier(ScoreClassifier):
    """A classifier by `coef_` of shape (1 or n_classes, n_features) and `intercept_` of shape (1 or n_classes,).

    Scores are summed in float64, on as many threads as the parameter `n_jobs` says, if there is one.
    """

    _as_rows = staticmethod(as_rows)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _linear(self, function, X):
        """function(X, coef, intercept, ...), one of the two above."""
        self._require_fitted()
        X = self._new_samples(X, as_unchecked_rows)
        return function(X, self.coef_, self.intercept_, getattr(self, "n_jobs", None), type(self).__name__)

    def _scores(self, X):
        return self._linear(linear_scores, X)

    def _chosen(self, X):
        return self._linear(linear_codes, X)

    def _check_state(self):
        super()._check_state()
        floats = [np.float32, np.float64]
        require_array("coef_", self.coef_, floats, (None, self.n_features_in_))
        require_array("intercept_", self.intercept_, floats, (len(self.coef_),))
        require_array("classes_", self.classes_, None, (None,))
        if len(self.classes_) < 2 or len(self.coef_) != (1 if len(self.classes_) == 2 else len(self.classes_)):
            raise ValueError(f"coef_ has {len(self.coef_)} rows for {len(self.classes_)} classes")
