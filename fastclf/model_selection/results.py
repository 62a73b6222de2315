"""Results of cross-validation: scores of the folds, errors, and tests whether one estimator is better than another."""

from typing import NamedTuple

import numpy as np

from .._validation import described, encode_groups, require_number
from . import student_t
from .folds import as_folds
from .rows import as_y


def deviation(values, axis=-1, ddof=0):
    """The standard deviation of scores; NaN where one of them is infinite, as that of a density of 0 is."""
    with np.errstate(invalid="ignore"):
        return np.std(values, axis=axis, ddof=ddof)


class CrossValidation(dict):
    """The result of :func:`cross_validate` for one estimator: scikit-learn's dict, with more attributes.

    Keys
    ----
    fit_time, score_time : ndarray of float, seconds
        Of each fold.
    test_score : ndarray of float
        ``estimator.score`` on the test rows (for a classifier the share of correct predictions), or the figure of
        `scoring`; several figures are called ``test_<name>``.
    train_score, estimator, indices
        Only if requested, in scikit-learn's form.

    Attributes
    ----------
    error, standard_error : float
        Mean over the folds of 1 - score, and its standard error.
    n_train, n_test : ndarray of int
        The numbers of train and test rows of each fold.
    table : ContingencyTable or None
        For a classifier: the predictions for the test rows of all folds together.
    shortcut : bool
        Whether the estimator's faster algorithm for leaving rows out was used.
    interrupted : bool
        Whether folds are missing because of Ctrl-C or the callback.
    folds : list of int
        The numbers of the finished folds.
    """

    table = n_train = n_test = folds = None
    shortcut = interrupted = False

    @property
    def scores(self):
        """The figure of each fold, of shape (n_folds,); if there are several figures, the first."""
        return self["test_score"] if "test_score" in self else next(self[k] for k in self if k.startswith("test_"))

    @property
    def error(self):
        """Mean over the folds of 1 - score (NaN without a finished fold)."""
        return float(1 - np.mean(self.scores)) if len(self.scores) else float("nan")

    @property
    def standard_error(self):
        """Standard deviation of the fold errors (ddof=1) over sqrt(n_folds); NaN below two folds.

        The training sets overlap, so that this is a guide to the spread, not an unbiased estimate of it.
        """
        n_folds = len(self.scores)
        return float(deviation(self.scores, ddof=1) / np.sqrt(n_folds)) if n_folds > 1 else float("nan")

    @property
    def microseconds_per_query(self):
        """Time spent in ``score`` per test row, over all folds."""
        n_queries = np.sum(self.n_test)
        return float(1e6 * np.sum(self["score_time"]) / n_queries) if n_queries else float("nan")


class CrossValidations(dict):
    """The CrossValidation of each of several estimators, by name, on the same folds."""

    @property
    def winner(self):
        """The name of the estimator with the smallest error; ties go to the first."""
        return min(self, key=lambda name: self[name].error)

    def compare(self, one, other, level=0.95):
        """:func:`paired_comparison` of two estimators, by name."""
        return paired_comparison(self[one], self[other], level)


class PairedComparison(NamedTuple):
    """The difference between the errors of two estimators; see :func:`paired_comparison`."""

    difference: float
    standard_error: float
    low: float
    high: float
    p_value: float
    level: float

    def __str__(self):
        return (
            f"difference {self.difference:+.4f}, {self.level:.0%} interval {self.low:+.4f} to {self.high:+.4f},"
            f" p = {self.p_value:.3g}"
        )


def paired_comparison(one, other, level=0.95):
    """The difference between the errors of two estimators on the same folds, with a confidence interval.

    The corrected resampled t test: since folds share train rows, the variance of the mean difference is taken to be (1
    / J + n_test / n_train) s^2 instead of s^2 / J, for J folds whose differences have the variance s^2.

    Parameters
    ----------
    one : CrossValidation
    other : CrossValidation
        A result for the same folds, at least two.
    level : float in (0, 1), default=0.95
        Level of the interval.

    Returns
    -------
    PairedComparison
        `difference` is the mean of `one`'s error minus `other`'s, `low` to `high` its interval, `p_value` that of the
        two-sided test for no difference.

    References
    ----------
    Nadeau, Bengio (2003), Inference for the generalization error; Bouckaert, Frank (2004), Evaluating the
    replicability of significance tests for comparing learning algorithms.

    Examples
    --------
    >>> import numpy as np
    >>> from fastclf import GaussianNB, NearestCentroid, cross_validate
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.normal(size=(200, 2)) * [[1, 9]], np.arange(200) % 2
    >>> X[:, 0] += 3 * y
    >>> results = cross_validate({"Bayes": GaussianNB(), "centroid": NearestCentroid()}, X, y, cv=10)
    >>> found = results.compare("Bayes", "centroid")
    >>> found.difference < 0, found.p_value < 0.05
    (True, True)
    """
    level = require_number("level", level, 0, open_low=True)
    if level >= 1:
        raise ValueError(f"level is {level}; a number between 0 and 1 is wanted")
    for name, given in (("one", one), ("other", other)):
        if not hasattr(given, "folds"):
            raise TypeError(f"{name} is {described(given)}; a result of cross_validate is wanted")
    same = one.folds == other.folds and all(
        np.array_equal(getattr(one, name), getattr(other, name)) for name in ("n_train", "n_test")
    )
    if not same or len(one.scores) < 2:
        raise ValueError(
            "one and other are results on different folds, or on one fold; the same folds, at least two, are wanted"
        )
    gaps = other.scores - one.scores
    n, mean = len(gaps), float(np.mean(gaps))
    spread = float(np.sqrt((1 / n + np.mean(one.n_test / one.n_train)) * np.var(gaps, ddof=1)))
    reach = student_t.quantile((1 + level) / 2, n - 1) * spread
    p_value = (2 * student_t.cdf(-abs(mean) / spread, n - 1)) if spread > 0 else float(mean == 0)
    return PairedComparison(mean, spread, mean - reach, mean + reach, p_value, level)


def majority_error(y, folds=None):
    """Error of always predicting the most frequent class: a baseline for classifiers.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        Labels. Of equally frequent classes the first in sorted order is predicted.
    folds : iterable of (train, test), optional
        If given, the most frequent class is found on the train rows and the error on the test rows, averaged over the
        folds, as in :func:`cross_validate`. By default both are computed from all of y.

    Returns
    -------
    float

    Examples
    --------
    >>> from fastclf import majority_error
    >>> majority_error(["ham", "ham", "ham", "spam"])
    0.25
    """
    _, codes = encode_groups(as_y(y), "y")
    if folds is None:
        folds = [(slice(None), slice(None))]
    folds = as_folds(folds, None, y, len(codes))
    return float(np.mean([np.mean(codes[test] != np.bincount(codes[train]).argmax()) for train, test in folds]))
