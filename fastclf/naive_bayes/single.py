"""Naive Bayes with one distribution for all columns: scikit-learn's estimators, and PoissonNB."""

from itertools import pairwise

import numpy as np

from .._csr import Csr
from .._folds import is_leave_one_out, keeps_classes
from .._state_table import Array, List, Value, declare
from .._threads import rows_at
from .._validation import as_array, require_number
from ..sums.blocks import added, by_length
from ..sums.class_sums import category_count_spans, class_count_spans, count_categories, divide, require_finite
from ..sums.layout import by_column
from ..sums.moments import class_moments, merge_moments, pool
from .base import DiscreteBayes, NaiveBayesBase, as_priors, begin_joint, document, log_of
from .counted_cells import Bernoulli, Categorical
from .distributions import Gaussian, Multinomial, Poisson, log_share
from .gaussian_leave_one_out import left_out_codes
from .joints import (
    Linear,
    add_gaussian,
    add_table,
    few_codes,
    is_few,
    joined_tables,
    kernels,
    of_known_columns,
    require_positive,
)

# The largest number of counts: the number of classes times the number of categories of all columns together. A count
# takes 8 bytes.
_MOST_CATEGORIES = 1 << 28


@document
class GaussianNB(NaiveBayesBase, shortcuts=True):
    """Naive Bayes with a normal distribution for each class and column: scikit-learn's GaussianNB.

    Parameters
    ----------
    priors : array-like of shape (n_classes,), default=None
        Probabilities of the classes; None: their shares of the rows.
    var_smoothing : float >= 0, default=1e-9
        This number times the largest variance of a column is added to all variances.
    {n_jobs}

    Attributes
    ----------
    {shared}
    class_count_, class_prior_ : ndarray of shape (n_classes,)
    theta_, var_ : ndarray of shape (n_classes, n_features)
        Means, and variances with `epsilon_` added.
    epsilon_ : float

    Notes
    -----
    X is read once. Its moments are computed about a row of each class, so that an offset of 1e9 costs no digits. A fit
    takes O(n d) time, predictions O(n d k); memory beyond X is O(k d), and n k numbers for predictions. A variance of 0
    is replaced by a very small one. After `partial_fit` all attributes equal those of one fit to all rows; in
    scikit-learn `epsilon_` is that of the last batch, and a part of the earlier ones stays in `var_`.

    References
    ----------
    Chan, Golub, LeVeque (1979), Updating formulae and a pairwise algorithm for computing sample variances.

    Examples
    --------
    >>> from fastclf import GaussianNB
    >>> model = GaussianNB().fit([[-1.0], [-2.0], [1.0], [2.0]], ["low", "low", "high", "high"])
    >>> model.predict([[0.3]])
    array(['high'], dtype='<U4')
    """

    _state_table = declare(
        class_count_=Array("float64", "n_classes"),
        class_prior_=Array("float64", "n_classes"),
        theta_=Array("float64", "n_classes", "n_features"),
        var_=Array("float64", "n_classes", "n_features"),
        _squares=Array("float64", "n_classes", "n_features"),
        _whole=Array("float64", 3, "n_features"),
    )

    def __init__(self, *, priors=None, var_smoothing=1e-9, n_jobs=None):
        self._take(locals())

    def _check_parameters(self, d, n_classes):
        require_number("var_smoothing", self.var_smoothing, 0)
        if self.priors is not None:
            as_priors("priors", self.priors, n_classes)

    def _sums(self, X, codes, weight, n_classes):
        count, mean, squares = class_moments(X, codes, weight, n_classes, self.n_jobs)
        if not np.isfinite(squares).all():
            require_finite(X, type(self).__name__)
        # epsilon, which is added to all variances, ignores the sample weights, as in scikit-learn
        if weight is None:
            whole = pool(count, mean, squares)
        else:
            whole = pool(*class_moments(X, np.zeros(len(X), np.int32), None, 1, self.n_jobs))
        return self._of_moments(count, mean, squares, whole)

    @staticmethod
    def _of_moments(count, mean, squares, whole):
        """The sufficient statistics, from the moments of the rows of each class and those of all rows (`whole`)."""
        return {"class_count_": count[:, 0], "theta_": mean, "_squares": squares, "_whole": np.stack(whole)}

    def _together(self, sums, more):
        moments = [[part["class_count_"][:, None], part["theta_"], part["_squares"]] for part in (sums, more)]
        count, mean, squares = merge_moments(*moments[0], *moments[1])
        whole = merge_moments(*sums["_whole"], *more["_whole"])
        return {"class_count_": count[:, 0], "theta_": mean, "_squares": squares, "_whole": np.stack(whole)}

    def _conclude(self, sums):
        count, squares = sums["class_count_"], sums["_squares"]
        n, _, spread = sums["_whole"]
        Gaussian.require_finite(spread)
        epsilon = self.var_smoothing * float((spread / n).max())
        return sums | {
            "class_prior_": count / count.sum() if self.priors is None else np.array(self.priors, np.float64),
            "epsilon_": epsilon,
            "var_": divide(squares, count[:, None]) + epsilon,
        }

    def _joint(self, X):
        joint = begin_joint(len(X), log_of(self.class_prior_))
        add_gaussian(joint, X, self.theta_, self.var_, self.n_jobs)
        if not np.isfinite(joint.sum()):
            require_finite(X, type(self).__name__)
        return joint

    def _decided(self, X):
        codes = None
        if len(X) == 1 or is_few(X, len(self.theta_)):
            codes = few_codes(X, log_of(self.class_prior_), self.theta_, self.var_)
        return super()._decided(X) if codes is None else codes

    def _answers_without(self, name, values, X, y, fold):
        if is_leave_one_out(fold) and keeps_classes(fold, y):
            return [self.leave_one_out(X, y)]
        return super()._answers_without(name, values, X, y, fold)

    def leave_one_out(self, X, y):
        """The label of each row by a fit to all other rows; the estimator does not change.

        A row near another class is subtracted from one fit, in O(d k). If subtraction leaves less than half of the
        digits, all other rows are fitted. Memory beyond X is a few numbers per row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), with at least two rows
        y : array-like of shape (n_samples,)

        Returns
        -------
        labels : ndarray of shape (n_samples,)
        """
        X, codes, _, classes = self._checked(X, y, None)
        if len(X) < 2:
            raise ValueError("X has 1 row; at least two are wanted, of which one is left out")
        learned = self._conclude(self._sums(X, codes, None, len(classes)))
        count = learned["class_count_"]
        priors = [count, np.maximum(count - 1, 0)] if self.priors is None else [learned["class_prior_"]] * 2
        found, lost = left_out_codes(X, codes, learned, priors, self.var_smoothing, self.n_jobs)
        for row in np.flatnonzero(lost):
            rest = np.arange(len(X)) != row
            state = self._conclude(self._sums(X[rest], codes[rest], None, len(classes)))
            other = type(self)(n_jobs=1)._become(classes_=classes, n_features_in_=X.shape[1], **state)
            found[row] = other._joint(X[row : row + 1]).argmax()
        return rows_at(classes, found)


# The number of logarithms that are computed by one call, between which Ctrl-C is obeyed.
_CALL_NUMBERS = 1 << 22

# The declaration, for an estimator's table of fitted attributes, of an array with a number for each class and feature.
_EACH = Array("float64", "n_classes", "n_features")

_LOG_PROBABILITIES = declare(
    feature_count_=_EACH, feature_log_prob_=Array("float64", "n_classes", "n_features", any_order=True)
)


def _calls(d, n_classes):
    """Slices of d columns for the calls that compute a logarithm for each column and class."""
    return [slice(*bounds) for bounds in by_length(0, d, max(1, _CALL_NUMBERS // n_classes))]


def _log_shares(counts, alpha, total):
    """log((counts + alpha) / total), for a total of each class (n_classes, 1) or of each number, in Fortran order."""
    if total.shape[1] > 1:
        return log_share(counts + alpha, total)
    with np.errstate(divide="ignore"):
        log_total = np.log(total[:, 0])
    counts, alpha = np.ascontiguousarray(counts), np.atleast_1d(alpha).astype(np.float64)
    logs = np.empty(counts.shape[::-1])
    for columns in _calls(*logs.shape):
        kernels.log_shares(counts, alpha, log_total, columns.start, columns.stop, logs)
    return logs.T


def _log_shares_of_columns(counts, alpha):
    """The logarithms of the columns' shares in the counts of each class, to which alpha is added."""
    total = counts.sum(axis=1, keepdims=True) + np.broadcast_to(alpha, counts.shape[1]).sum()
    return _log_shares(counts, alpha, total)


@document
class MultinomialNB(DiscreteBayes, shortcuts=True):
    """Naive Bayes with one multinomial distribution over all columns for each class: scikit-learn's MultinomialNB.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    {shared}
    class_count_, class_log_prior_ : ndarray of shape (n_classes,)
    feature_count_, feature_log_prob_ : ndarray of shape (n_classes, n_features)

    Notes
    -----
    Sparse rows stay sparse. If `alpha` is 0, a count of 0 times log 0 is 0.

    Examples
    --------
    >>> from fastclf import MultinomialNB
    >>> MultinomialNB().fit([[3, 0], [2, 1], [0, 4]], [0, 0, 1]).predict([[0, 1]])
    array([1])
    """

    _state_table = _LOG_PROBABILITIES

    def _estimate(self, state, alpha):
        return {"feature_log_prob_": _log_shares_of_columns(state["feature_count_"], alpha)}

    def _linear(self):
        return Linear(self.feature_log_prob_)


def _sums_of_others(counts):
    """For each row of counts the sum of all other rows, added up, because subtraction from a total loses digits."""
    others = np.zeros_like(counts)
    if len(counts) > counts.shape[1]:
        np.cumsum(counts[:-1], axis=0, out=others[1:])
        others[:-1] += np.cumsum(counts[:0:-1], axis=0)[::-1]
        return others
    # few long rows: one operation for each row is faster than np.cumsum
    for i in range(1, len(counts)):
        np.add(others[i - 1], counts[i - 1], out=others[i])
    behind = np.zeros(counts.shape[1])
    for i in range(len(counts) - 1, 0, -1):
        behind += counts[i]
        others[i - 1] += behind
    return others


@document
class ComplementNB(DiscreteBayes, shortcuts=True):
    """Naive Bayes by the counts of all other classes: scikit-learn's ComplementNB.

    The score of a class is the sum of the row's counts times the class's weights, which are minus the logarithms of the
    columns' shares in the rows of all other classes. Prior probabilities are not used, except if there is only one
    class.

    Parameters
    ----------
    {parameters}
    norm : bool, default=False
        Whether the weights of a class are divided by their sum.

    Attributes
    ----------
    {shared}
    class_count_, class_log_prior_ : ndarray of shape (n_classes,)
    feature_count_, feature_log_prob_ : ndarray of shape (n_classes, n_features)
        `feature_log_prob_` has the weights.
    feature_all_ : ndarray of shape (n_features,)
        The counts of all classes together.

    Notes
    -----
    Sparse rows stay sparse. A share of 0, which is possible only with `alpha` = 0, is replaced by 2^-1022, the smallest
    normal number; in scikit-learn its weight is infinite, and the answers are NaN.

    References
    ----------
    Rennie, Shih, Teevan, Karger (2003), Tackling the poor assumptions of naive Bayes text classifiers.

    Examples
    --------
    >>> from fastclf import ComplementNB
    >>> ComplementNB().fit([[3, 0], [2, 1], [0, 4]], [0, 0, 1]).predict([[0, 1]])
    array([1])
    """

    _state_table = declare(**_LOG_PROBABILITIES, feature_all_=Array("float64", "n_features"))

    def __init__(self, *, alpha=1.0, force_alpha=True, fit_prior=True, class_prior=None, norm=False, n_jobs=None):
        self._take(locals())

    def _estimate(self, state, alpha):
        counts = state["feature_count_"]
        weights = _log_shares_of_columns(_sums_of_others(counts), alpha)
        np.maximum(weights, np.log(np.finfo(np.float64).tiny), out=weights)
        np.negative(weights, out=weights)
        if self.norm:
            weights = divide(weights, weights.sum(axis=1, keepdims=True))
        return {"feature_log_prob_": weights, "feature_all_": counts.sum(axis=0)}

    def _linear(self):
        return Linear(self.feature_log_prob_)

    def _begin(self):
        # as in scikit-learn, the prior does not count unless there is one class
        return self.class_log_prior_ if len(self.classes_) == 1 else np.zeros(len(self.classes_))


@document
class BernoulliNB(DiscreteBayes, shortcuts=True):
    """Naive Bayes with a Bernoulli distribution for each class and column: scikit-learn's BernoulliNB.

    Parameters
    ----------
    {parameters}
    binarize : float or None, default=0.0
        Entries above this count as 1, others as 0. None: all entries must be 0 or 1.

    Attributes
    ----------
    {shared}
    class_count_, class_log_prior_ : ndarray of shape (n_classes,)
    feature_count_, feature_log_prob_ : ndarray of shape (n_classes, n_features)

    Examples
    --------
    >>> from fastclf import BernoulliNB
    >>> BernoulliNB().fit([[1, 0], [1, 1], [0, 1]], [0, 0, 1]).predict([[0, 1]])
    array([1])
    """

    _positive_only = False

    _state_table = _LOG_PROBABILITIES

    def __init__(self, *, alpha=1.0, force_alpha=True, binarize=0.0, fit_prior=True, class_prior=None, n_jobs=None):
        self._take(locals())

    def _check_parameters(self, d, n_classes):
        super()._check_parameters(d, n_classes)
        self._threshold()

    def _threshold(self):
        return None if self.binarize is None else require_number("binarize", self.binarize, 0)

    def _estimate(self, state, alpha):
        total = state["class_count_"][:, None] + 2 * alpha
        return {"feature_log_prob_": _log_shares(state["feature_count_"], alpha, total)}

    def _linear(self):
        there = self.feature_log_prob_
        absent, constant = _logs_of_absence(there)
        if np.isfinite(constant).all():
            return Linear(np.subtract(there, absent, out=absent), constant)
        return Bernoulli.of_logs(there, absent)

    def _form(self, X):
        if not isinstance(X, Csr) or X.size >= X.n_columns:
            return super()._form(X)
        # the coefficients of few entries take less time than those of all features
        _, constant = _logs_of_absence(self.feature_log_prob_, only_sums=True)
        if not np.isfinite(constant).all():
            return super()._form(X)
        rows, columns = of_known_columns(X)
        there = self.feature_log_prob_[:, columns]
        return rows, Linear(there - _logs_of_absence(there)[0], constant)


def _logs_of_absence(there, only_sums=False):
    """(log(1 - p), its sums over the columns) for log p, (n_classes, d), of which rounding may make some positive."""
    there = by_column(np.asarray(there, np.float64)).T
    logs, sums = None if only_sums else np.empty_like(there), np.zeros(there.shape[1])
    for columns in _calls(*there.shape):
        sums += kernels.logs_of_absence(there[columns], None if only_sums else logs[columns])
    return None if only_sums else logs.T, sums


@document
class PoissonNB(DiscreteBayes, shortcuts=True):
    """Naive Bayes with a Poisson distribution for each class and column, which scikit-learn lacks.

    The rate is (count + alpha) / (rows + alpha): `alpha` rows of 1 are added to each class, so that no rate is 0.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    {shared}
    class_count_, class_log_prior_ : ndarray of shape (n_classes,)
    feature_count_, rate_ : ndarray of shape (n_classes, n_features)

    Notes
    -----
    Entries are counts: a negative entry is refused, and a fraction is used itself, as in MultinomialNB. The log joint
    leaves out log x!, which is the same for all classes.

    Examples
    --------
    >>> from fastclf import PoissonNB
    >>> PoissonNB(alpha=0).fit([[10], [9], [10], [13]], [1, 1, -1, -1]).rate_
    array([[11.5],
           [ 9.5]])
    """

    _state_table = declare(feature_count_=_EACH, rate_=_EACH)

    def _estimate(self, state, alpha):
        return {"rate_": Poisson.mean(state["class_count_"][:, None], state["feature_count_"], alpha)}

    def _linear(self):
        return Poisson.of_mean(self.rate_)

    def _joint(self, X):
        require_positive(X, type(self).__name__)
        return super()._joint(X)


# The most rows whose categories are looked up one by one.
_FEW_ROWS = 16


@document
class CategoricalNB(DiscreteBayes, shortcuts=True):
    """Naive Bayes with a categorical distribution for each class and column: scikit-learn's CategoricalNB.

    Parameters
    ----------
    {parameters}
    min_categories : int or array-like of shape (n_features,), default=None
        The smallest number of categories of each column.

    Attributes
    ----------
    {shared}
    class_count_, class_log_prior_ : ndarray of shape (n_classes,)
    category_count_, feature_log_prob_ : list of ndarray of shape (n_classes, n_categories_[j])
    n_categories_ : ndarray of shape (n_features,), int64

    Notes
    -----
    Categories are whole numbers 0, 1, ..., in any type; fractions are cut off, as in scikit-learn. A category that is
    at least `n_categories_`, which no row of the fit had, has the count 0: its probability is alpha / (rows + alpha
    n_categories). scikit-learn raises IndexError instead.

    Examples
    --------
    >>> from fastclf import CategoricalNB
    >>> CategoricalNB().fit([[0, 2], [1, 2], [1, 0]], ["a", "a", "b"]).predict([[1, 0], [0, 7]])
    array(['b', 'a'], dtype='<U1')
    """

    _state_table = declare(
        n_categories_=Array("int64", "n_features"),
        category_count_=List("n_features", Array("float64", "n_classes", None)),
        feature_log_prob_=List("n_features", Array("float64", "n_classes", None)),
        _alpha=Value(require_number, 0),
    )

    def __init__(
        self, *, alpha=1.0, force_alpha=True, fit_prior=True, class_prior=None, min_categories=None, n_jobs=None
    ):
        self._take(locals())

    _takes_sparse = False

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        return tags

    def _check_parameters(self, d, n_classes):
        super()._check_parameters(d, n_classes)
        if np.ndim(self.alpha):
            raise ValueError("alpha is an array; a number is wanted for categories")

    def _first_cells(self, X):
        return self._places_of(count_categories(X, self.n_jobs, type(self).__name__))

    def _places_of(self, sizes):
        """The index of each column's first count, and the number of counts, for columns of `sizes` categories."""
        if self.min_categories is not None:
            least = as_array(self.min_categories, "min_categories")
            if least.dtype.kind not in "iu":
                raise ValueError(f"'min_categories' should have integral type. Got {least.dtype} instead.")
            if least.ndim and least.shape != sizes.shape:
                raise ValueError(
                    f"'min_categories' should have shape ({len(sizes)},) when an array-like is provided. Got"
                    f" {least.shape} instead."
                )
            if least.max(initial=0) > _MOST_CATEGORIES:
                raise ValueError(f"min_categories has {least.max()}; at most {_MOST_CATEGORIES} is wanted")
            sizes = np.maximum(sizes, least.astype(np.int64))
        return np.concatenate([[0], np.cumsum(sizes)])

    def _n_cells(self, d, first):
        return int(first[-1])

    def _spans(self, X, codes, weight, n_classes, bounds, first):
        if first[-1] * n_classes > _MOST_CATEGORIES:
            raise ValueError(
                f"X has {first[-1]} categories, up to the largest of each column, for {n_classes} classes; categories"
                " numbered without gaps are wanted"
            )
        counts = category_count_spans(X, codes, weight, n_classes, self.n_jobs, bounds, first)
        return list(zip(class_count_spans(codes, weight, n_classes, bounds), counts))

    def _of_spans(self, spans, first):
        count, cells = map(added, zip(*spans))
        columns = [np.ascontiguousarray(cells[i:j].T) for i, j in pairwise(first)]
        return {"class_count_": count, "category_count_": columns, "n_categories_": np.diff(first)}

    def _together(self, sums, more):
        counts = [[_cells(column) for column in part["category_count_"]] for part in (sums, more)]
        return {
            "class_count_": sums["class_count_"] + more["class_count_"],
            "category_count_": [Categorical.merge(*columns)["counts"] for columns in zip(*counts)],
            "n_categories_": np.maximum(sums["n_categories_"], more["n_categories_"]),
        }

    def _estimate(self, state, alpha):
        return {"feature_log_prob_": [Multinomial.logs(c, alpha) for c in state["category_count_"]], "_alpha": alpha}

    def _tables(self):
        """For each column the log probabilities (n_classes, n_categories + 1); the last is for new categories."""
        new = self._new(self.category_count_)
        return [np.concatenate([known, new[:, j : j + 1]], axis=1) for j, known in enumerate(self.feature_log_prob_)]

    def _tables_of_first(self, sizes):
        """The same for the first sizes[j] categories of column j alone; the last entry is that of the last category."""
        if (sizes > self.n_categories_).any():
            return [table[:, :size] for table, size in zip(self._tables(), sizes)]
        return [known[:, :size] for known, size in zip(self.feature_log_prob_, sizes)]

    def _new(self, counts):
        """The log probabilities (n_classes, n) of categories that no row of the fit had, for n columns' counts."""
        sizes = np.array([count.shape[1] for count in counts])
        totals = np.add.reduceat(np.concatenate(counts, axis=1), np.cumsum(sizes) - sizes, axis=1)
        return Categorical.logs(0, totals, sizes.astype(np.float64), self._alpha)

    def _joint(self, X):
        sizes = count_categories(X, self.n_jobs, type(self).__name__)
        joint = begin_joint(len(X), self.class_log_prior_)
        if len(X) > _FEW_ROWS:
            add_table(joint, X, *joined_tables(self._tables_of_first(sizes)), self.n_jobs)
            return joint
        # the entries of few rows take less time than a table of all categories; they are added up one after another
        for scores, row in zip(joint, X.astype(np.int64).tolist()):
            scores += np.add.accumulate([self._logs(j, category) for j, category in enumerate(row)])[-1]
        return joint

    def _logs(self, j, category):
        """The log probabilities (n_classes,) of a category of column j."""
        known = self.feature_log_prob_[j]
        return known[:, category] if category < known.shape[1] else self._new([self.category_count_[j]])[:, 0]

    def _check_rest(self, sizes, entries):
        for name in ("category_count_", "feature_log_prob_"):
            if [column.shape[1] for column in getattr(self, name)] != self.n_categories_.tolist():
                raise ValueError(f"{name} does not have n_categories_[j] columns for each feature j")


def _cells(counts):
    """The statistics of a `Categorical`, from the counts of the categories 0, 1, ..."""
    return {"cells": np.arange(counts.shape[1]), "counts": counts}
