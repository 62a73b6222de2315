"""The classifier by the nearest centroid, which is the mean or the median of a class."""

import numpy as np

from .._csr import Csr, as_rows, is_sparse
from .._estimator import only_if
from .._exceptions import warn
from .._labels import as_labels
from .._state_table import Array, Value, declare
from .._threads import Progress, aside_if_many, map_rows
from .._validation import (
    as_array,
    as_unchecked_matrix,
    described,
    require_choice,
    require_finite,
    require_number,
)
from ..linear_model.scores import LinearClassifier, counted, in_order_for, shares_of
from ..sums.blocks import added
from ..sums.class_sums import class_count_spans
from ..sums.moments import class_moments, moment_bounds
from .nearest import NearestNeighbors

# The largest number of entries of X that are copied into a temporary array, to limit memory.
_BLOCK_NUMBERS = 1 << 20


def _is_euclidean(model):
    return model.metric == "euclidean"


class NearestCentroid(LinearClassifier):
    """Classify by the nearest centroid.

    With two classes with means n and p it is a linear separator, which some textbooks call the basic linear classifier:
    a row x is of the second class if

        w x > t,    w = p - n,    t = (|p|^2 - |n|^2) / 2,

    as stored in `coef_`, `intercept_` = -t and `threshold_` = t.

    Parameters
    ----------
    metric : {'euclidean', 'manhattan'}, default='euclidean'
        A centroid is the mean of its class ('euclidean'), which minimises the sum of squared distances, or the median
        in each coordinate ('manhattan'), which minimises the sum of distances.
    shrink_threshold : float > 0 or None, default=None
        Nearest shrunken centroids: each centroid moves towards the mean of all rows, in each coordinate by this number
        of standard errors, but not beyond it.
    priors : {'uniform', 'empirical'} or array-like of shape (n_classes,), default='uniform'
        Prior probabilities; 'empirical' means the shares of the classes. Unless they are uniform, distances are
        measured in within-class standard deviations, and `predict` follows `decision_function`.
    n_jobs : int or None, default=None
        The number of threads; None means every CPU that the process may use. It changes no result.
    verbose : int, default=0
        1 shows the progress of `fit`.
    callback : callable, default=None
        Called as `callback(step, total, value)` after each piece of `fit`, in rows; value is None. If it returns True,
        `fit` raises RuntimeError and the estimator stays as it was.

    Attributes
    ----------
    centroids_ : ndarray of shape (n_classes, n_features)
    classes_ : ndarray of shape (n_classes,)
    class_prior_ : ndarray of shape (n_classes,)
    within_class_std_dev_ : ndarray of shape (n_features,)
        Pooled standard deviation of the rows about the centroids of their classes, before any shrinking.
    deviations_ : ndarray of shape (n_classes, n_features)
        The distance of each centroid from the mean of all rows, in standard errors: (18.4) of the book, after shrinking
        (18.5).
    coef_ : ndarray of shape (1 or n_classes, n_features)
        The coefficients of the linear scores that `predict` compares for metric='euclidean'. With two classes p - n.
    intercept_ : ndarray of shape (1 or n_classes,)
    threshold_ : float
        With two classes: t, minus the logarithm of the ratio of the priors.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only when X was a table with string column names.

    Notes
    -----
    `fit` reads X once (the median sorts it), `predict` once. Memory beyond X: sums over spans of rows, at most 64 MB;
    the median copies one column of one class at a time. A sparse X is not made dense, except in blocks of 8 MB: of
    columns for the median, and of rows for distances.

    References
    ----------
    Tibshirani, Hastie, Narasimhan, Chu (2002), Diagnosis of multiple cancer types by shrunken centroids of gene
    expression. Hastie, Tibshirani, Friedman (2009), The Elements of Statistical Learning, 18.2.

    Examples
    --------
    >>> from fastclf import NearestCentroid
    >>> model = NearestCentroid().fit([[0, 0], [2, 0], [4, 4], [6, 4]], [0, 0, 1, 1])
    >>> model.coef_, model.threshold_
    (array([[4., 4.]]), 20.0)
    >>> model.predict([[2, 2], [4, 2]])
    array([0, 1])
    """

    _state_table = declare(
        metric=Value(require_choice, ("euclidean", "manhattan")),
        centroids_=Array("float64", "n_classes", "n_features"),
        class_prior_=Array("float64", "n_classes"),
        within_class_std_dev_=Array("float64", "n_features"),
    )

    def __init__(
        self, metric="euclidean", *, shrink_threshold=None, priors="uniform", n_jobs=None, verbose=0, callback=None
    ):
        self._take(locals())

    def _require_parameters(self):
        super()._require_parameters()
        require_choice("metric", self.metric, ["euclidean", "manhattan"])

    def fit(self, X, y, sample_weight=None):
        """Find the centroids.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Finite real numbers, float32 and float64 as they are.
        y : array-like of shape (n_samples,)
            Labels: numbers, strings or bools, of two classes at least.
        sample_weight : array-like of shape (n_samples,), default=None
            The multiplicity of each row, from 0 up; a row with weight 0 is ignored.

        Returns
        -------
        self
        """
        name = type(self).__name__
        self._check_shrinking()
        # a dense X is not checked before its rows are summed: if it has NaN or infinity, the sums are not finite
        rows = as_rows(X, name) if is_sparse(X) or self.metric == "manhattan" else as_unchecked_matrix(X, name)
        columns = self._fitted_columns(X, rows)
        labels = as_labels(y, sample_weight, len(rows), name)
        rows, weight = counted(rows, labels, name)
        classes, codes = labels.classes, labels.codes
        bounds = moment_bounds(len(rows), rows.size, len(classes), rows.shape[1])
        size = added(class_count_spans(codes, weight, len(classes), bounds))
        prior = self._prior(size)
        with Progress(len(rows), f"{name}.fit", self.verbose, self.callback) as progress:
            means, squares = _moments(rows, codes, weight, size, self.n_jobs, progress)
            if self.metric == "euclidean":
                centroids = means
            else:
                centroids = aside_if_many(rows.size, class_medians, rows, codes, weight, len(classes))
                squares = squares + size @ (means - centroids) ** 2
        if not np.isfinite(squares).all():
            require_finite(rows, "X", name)
        found = self._of_moments(size, prior, means, centroids, squares)
        found["coef_"] = in_order_for(rows, found["coef_"])
        return self._become(**columns, classes_=classes, **found)

    def _of_moments(self, size, prior, means, centroids, squares):
        """The fitted attributes, from the weights, means and centroids of the classes.

        `squares` has, for each column, the sum of squared distances of the rows from the centroids of their classes.
        """
        n = size.sum()
        if not np.isfinite(squares).all():
            raise ValueError("X has values whose squares are beyond float64; values below 1e150 are wanted")
        mean = means[0] + size @ (means - means[0]) / n
        if not squares.any() and (means == means[0]).all():
            raise ValueError("All features have zero variance. Division by zero.")
        spread = np.sqrt(squares / (n - len(size))) if n > len(size) else np.zeros_like(squares)
        if (spread == 0).any():
            warn(
                "self.within_class_std_dev_ has at least 1 zero standard deviation. Inputs within the same classes for"
                " at least 1 feature are identical."
            )
        error = np.sqrt(np.maximum(1 / size - 1 / n, 0))[:, None] * (spread + np.median(spread))
        off = centroids - mean
        if self.shrink_threshold is not None:
            off = np.sign(off) * np.maximum(np.abs(off) - error * self.shrink_threshold, 0)
            centroids = mean + off
        with np.errstate(divide="ignore", invalid="ignore"):
            deviations = np.where(off == 0, 0, off / error)
        fitted = {
            "centroids_": centroids,
            "class_prior_": prior,
            "within_class_std_dev_": spread,
            "deviations_": deviations,
        }
        return fitted | _separator(centroids, prior, spread)

    def _check_shrinking(self):
        if self.shrink_threshold is not None:
            require_number("shrink_threshold", self.shrink_threshold, 0, open_low=True)

    def _prior(self, size):
        if isinstance(self.priors, str):
            require_choice("priors", self.priors, ["uniform", "empirical"])
            return size / size.sum() if self.priors == "empirical" else np.full(len(size), 1 / len(size))
        try:
            prior = np.array(as_array(self.priors, "priors"), np.float64)
        except (TypeError, ValueError) as error:
            raise type(error)(
                f"priors is {described(self.priors)}; 'uniform', 'empirical' or numbers are wanted"
            ) from None
        if prior.shape != size.shape:
            raise ValueError(f"priors has shape {prior.shape}; ({len(size)},), one number per class, is wanted")
        if not (prior >= 0).all() or not 0 < prior.sum() < np.inf:
            raise ValueError("priors must be non-negative, finite, and not all 0")
        if not np.isclose(prior.sum(), 1):
            warn("The priors do not sum to 1. Normalizing such that it sums to one.")
            prior /= prior.sum()
        return prior

    def _chosen(self, X):
        if self.metric == "euclidean":
            return super()._chosen(X)
        self._require_fitted()
        X = self._new_samples(X)
        codes = np.empty(len(X), np.intp)
        search = NearestNeighbors(n_neighbors=1, metric="manhattan", n_jobs=self.n_jobs).fit(self.centroids_)
        for start, stop, rows in _dense_blocks(X):
            if _is_uniform(self.class_prior_):
                codes[start:stop] = search.kneighbors(rows, return_distance=False)[:, 0]
            else:
                codes[start:stop] = self._discriminants(rows).argmax(axis=1)
        return codes

    def _discriminants(self, X):
        """Scores of classes, 2 log(prior) - distance^2, in within-class standard deviations (Hastie et al., 18.2)."""
        scale = np.where(self.within_class_std_dev_ > 0, self.within_class_std_dev_, 1)
        scores, off = np.empty((len(X), len(self.classes_))), np.empty(X.shape)
        with np.errstate(divide="ignore"):
            prior = 2 * np.log(self.class_prior_)
        for k, centroid in enumerate(self.centroids_):
            np.subtract(X, centroid, out=off)
            off /= scale
            if self.metric == "euclidean":
                scores[:, k] = prior[k] - np.einsum("ij,ij->i", off, off)
            else:
                scores[:, k] = prior[k] - np.abs(off, out=off).sum(axis=1) ** 2
        return scores

    def _scores(self, X):
        self._require_fitted()
        X = self._new_samples(X)
        scores = np.empty((len(X), len(self.classes_)))
        for start, stop, rows in _dense_blocks(X):
            scores[start:stop] = self._discriminants(rows)
        return scores

    @only_if(_is_euclidean)
    def decision_function(self, X):
        """Discriminant scores: twice the log posteriors, up to a term that all classes share.

        The shape is (n_samples, n_classes). With two classes the result is the difference of the two scores, of shape
        (n_samples,).
        """
        scores = self._scores(X)
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    @only_if(_is_euclidean)
    def predict_proba(self, X):
        """Posterior probabilities of shape (n_samples, n_classes): the softmax of the scores, as in scikit-learn."""
        if "predict_log_proba" in self._own_methods:
            return map_rows(np.exp, self.predict_log_proba(X))
        return shares_of(self._scores(X), n_jobs=self.n_jobs)

    @only_if(_is_euclidean)
    def predict_log_proba(self, X):
        """Logarithms of `predict_proba`."""
        return shares_of(self._scores(X), log=True, n_jobs=self.n_jobs)


def _is_uniform(prior):
    return np.isclose(prior, 1 / len(prior)).all()


def _moments(X, codes, weight, size, n_jobs, progress):
    """A pair: the mean of each class, and for each column the sum of squared distances of rows from the class mean."""
    if isinstance(X, Csr):
        return aside_if_many(X.size, sparse_moments, X, codes, weight, size)
    _, means, squares = class_moments(X, codes, weight, len(size), n_jobs, progress)
    with np.errstate(over="ignore"):
        return means, squares.sum(axis=0)


def sparse_moments(X, codes, weight, size):
    n_classes, d = len(size), X.shape[1]
    row = X.row_numbers()
    place = codes[row] * d + X.indices[: X.size]
    data = X.data[: X.size].astype(np.float64)
    w = np.ones(X.size) if weight is None else weight[row]
    means = np.bincount(place, w * data, n_classes * d).reshape(n_classes, d) / size[:, None]
    absent = size[:, None] - np.bincount(place, w, n_classes * d).reshape(n_classes, d)
    with np.errstate(over="ignore"):
        squares = np.bincount(X.indices[: X.size], w * (data - means.ravel()[place]) ** 2, d)
        return means, squares + (np.maximum(absent, 0) * means**2).sum(axis=0)


def class_medians(X, codes, weight, n_classes):
    """The weighted medians of shape (n_classes, n_features): half of a class's weight is on either side."""
    medians = np.empty((n_classes, X.shape[1]))
    for k in range(n_classes):
        member = np.flatnonzero(codes == k)
        w = None if weight is None else weight[member]
        width = max(1, _BLOCK_NUMBERS // len(member))
        for start in range(0, X.shape[1], width):
            stop = min(start + width, X.shape[1])
            if isinstance(X, Csr):
                values = np.asarray(some_columns(X[member], start, stop))
            else:
                values = X[member, start:stop]
            values = values.astype(np.float64)
            medians[k, start:stop] = np.median(values, axis=0) if w is None else _weighted_median(values, w)
    return medians


def some_columns(X, start, stop):
    kept = (X.indices >= start) & (X.indices < stop)
    indptr = np.concatenate([[0], np.cumsum(kept)])[X.indptr]
    return Csr(indptr, X.indices[kept] - np.int32(start), X.data[kept], stop - start)


def _weighted_median(values, weight):
    order = np.argsort(values, axis=0, kind="stable")
    values = np.take_along_axis(values, order, axis=0)
    below = np.cumsum(weight[order], axis=0)
    half = below[-1] / 2
    low = (below < half).sum(axis=0)
    high = np.minimum((below <= half).sum(axis=0), len(values) - 1)
    column = np.arange(values.shape[1])
    return values[low, column] / 2 + values[high, column] / 2


def _separator(centroids, prior, spread):
    """`coef_`, `intercept_` and, for two classes, `threshold_`: the largest linear score is the nearest centroid's."""
    scale2 = np.ones_like(spread)
    shift = np.zeros(len(prior))
    if not _is_uniform(prior):
        scale2 = np.where(spread > 0, spread, 1) ** 2
        with np.errstate(divide="ignore"):
            shift = np.maximum(np.log(prior), -1e300)
    if len(centroids) == 2:
        negative, positive = centroids
        coef = ((positive - negative) / scale2)[None]
        threshold = float(coef[0] @ (positive / 2 + negative / 2) - (shift[1] - shift[0]))
        return {"coef_": coef, "intercept_": np.array([-threshold]), "threshold_": threshold}
    middle = centroids.mean(axis=0)
    coef = (centroids - middle) / scale2
    intercept = -(coef * (centroids + middle) / 2).sum(axis=1) + shift
    return {"coef_": coef, "intercept_": intercept}


def _dense_blocks(X):
    """Yield (start, stop, rows start to stop as a dense array) for blocks that cover all rows of X."""
    size = max(1, _BLOCK_NUMBERS // X.shape[1])
    for start in range(0, len(X), size):
        stop = min(start + size, len(X))
        yield start, stop, np.asarray(X[start:stop])
