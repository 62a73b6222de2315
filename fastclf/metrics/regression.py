"""Metrics of predicted numbers: errors, quantile losses, deviances, and the shares of the variation they explain."""

from typing import NamedTuple

import numpy as np

from .._document import document
from .._exceptions import warn
from .._validation import as_float64, as_sample_weight, described, require_choice, require_number, require_truth
from .targets import require_same_length, stoppable

_described = document(
    targets="""\
y_true : array-like of shape (n_samples,) or (n_samples, n_outputs)
    The right numbers.
y_pred : array-like of shape (n_samples,) or (n_samples, n_outputs)
    The predicted numbers.""",
    one_target="""\
y_true : array-like of shape (n_samples,)
    The right numbers.
y_pred : array-like of shape (n_samples,)
    The predicted numbers.""",
    sample_weight="""\
sample_weight : array-like of shape (n_samples,), default=None
    The weight of each row; None means 1.""",
    multioutput="""\
multioutput : {"raw_values", "uniform_average"} or array-like of shape (n_outputs,), default="uniform_average"
    One value for each output, their mean, or their mean with these weights.""",
    multioutput_or_variance="""\
multioutput : {"raw_values", "uniform_average", "variance_weighted"} or array-like of shape (n_outputs,), \
default="uniform_average"
    One value for each output, their mean, their mean weighted by the variances of `y_true`, or their mean with these
    weights.""",
    force_finite="""\
force_finite : bool, default=True
    Whether an output that is constant in `y_true` has the score 1, if it is predicted exactly, or 0; otherwise NaN or
    -inf.""",
)


def _documented(metric):
    return stoppable(_described(metric))


class _Targets(NamedTuple):
    """The checked targets and predictions of a metric of regression, with the weights of the rows."""

    true: np.ndarray  # (n_samples, n_outputs) float64: the true numbers, y_true
    predicted: np.ndarray  # (n_samples, n_outputs) float64: the predicted numbers
    weight: np.ndarray | None  # (n_samples,) float64: the weight of each row; None: all weights are 1

    def mean(self, values):
        """The mean of an array over its rows."""
        return np.average(values, axis=0, weights=self.weight)


def _as_outputs(y, name):
    y = as_float64(y, name)
    if y.ndim not in (1, 2) or y.size == 0:
        raise ValueError(f"{name} has shape {y.shape}; (n_samples,) or (n_samples, n_outputs), not empty, is wanted")
    if not np.isfinite(y).all():
        raise ValueError(f"Input {name} contains NaN or infinity; finite numbers are wanted")
    return y.reshape(len(y), -1)


def _read(y_true, y_pred, sample_weight, single=None):
    """The checked arguments as _Targets; single: the name of the metric if it takes only one output, else None."""
    y_true, y_pred = _as_outputs(y_true, "y_true"), _as_outputs(y_pred, "y_pred")
    require_same_length(y_true=y_true, y_pred=y_pred)
    if y_true.shape[1] != y_pred.shape[1]:
        raise ValueError(
            f"y_true and y_pred have different number of output ({y_true.shape[1]}!={y_pred.shape[1]}); the same"
            " number is wanted"
        )
    if single is not None and y_true.shape[1] > 1:
        raise ValueError(f"Multioutput not supported in {single}: y_true has {y_true.shape[1]} columns; one is wanted")
    return _Targets(y_true, y_pred, as_sample_weight(sample_weight, len(y_true)))


def _over_outputs(values, multioutput, by_variance=None):
    """The values of all outputs, or their mean by `multioutput`; by_variance: the weights for "variance_weighted"."""
    weights = None
    if isinstance(multioutput, str) or multioutput is None:
        known = ("raw_values", "uniform_average", *(() if by_variance is None else ("variance_weighted",)))
        if multioutput is not None and require_choice("multioutput", multioutput, known) == "raw_values":
            return values
        if multioutput == "variance_weighted" and by_variance.any():
            weights = by_variance
    else:
        weights = as_float64(multioutput, "multioutput")
        if len(values) == 1:
            raise ValueError("Custom weights are useful only in multi-output cases; multioutput is a list of weights")
        if weights.shape != values.shape:
            raise ValueError(
                f"There must be equally many custom weights ({weights.size}) as outputs ({len(values)}) in multioutput"
            )
        if not np.isfinite(weights).all() or weights.sum() == 0:
            raise ValueError(
                f"multioutput is {described(multioutput)}; finite weights with a sum other than 0 are wanted"
            )
    return float(np.average(values, weights=weights))


@_documented
def mean_squared_error(y_true, y_pred, *, sample_weight=None, multioutput="uniform_average"):
    """The mean of (y_true - y_pred)^2.

    Parameters
    ----------
    {targets}
    {sample_weight}
    {multioutput}

    Returns
    -------
    float, or ndarray of shape (n_outputs,) if `multioutput` is "raw_values"

    Examples
    --------
    >>> from fastclf import mean_squared_error
    >>> mean_squared_error([3, -0.5, 2, 7], [2.5, 0.0, 2, 8])
    0.375
    """
    rows = _read(y_true, y_pred, sample_weight)
    return _over_outputs(rows.mean((rows.true - rows.predicted) ** 2), multioutput)


@_documented
def root_mean_squared_error(y_true, y_pred, *, sample_weight=None, multioutput="uniform_average"):
    """The square root of the mean of (y_true - y_pred)^2.

    Parameters
    ----------
    {targets}
    {sample_weight}
    {multioutput}

    Returns
    -------
    float, or ndarray of shape (n_outputs,) if `multioutput` is "raw_values"

    Examples
    --------
    >>> from fastclf import root_mean_squared_error
    >>> root_mean_squared_error([3.0, -0.5], [2.0, 0.5])
    1.0
    """
    rows = _read(y_true, y_pred, sample_weight)
    return _over_outputs(np.sqrt(rows.mean((rows.true - rows.predicted) ** 2)), multioutput)


@_documented
def mean_absolute_error(y_true, y_pred, *, sample_weight=None, multioutput="uniform_average"):
    """The mean of abs(y_true - y_pred).

    Parameters
    ----------
    {targets}
    {sample_weight}
    {multioutput}

    Returns
    -------
    float, or ndarray of shape (n_outputs,) if `multioutput` is "raw_values"

    Examples
    --------
    >>> from fastclf import mean_absolute_error
    >>> mean_absolute_error([3, -0.5, 2, 7], [2.5, 0.0, 2, 8])
    0.5
    """
    rows = _read(y_true, y_pred, sample_weight)
    return _over_outputs(rows.mean(np.abs(rows.predicted - rows.true)), multioutput)


@_documented
def mean_absolute_percentage_error(y_true, y_pred, *, sample_weight=None, multioutput="uniform_average"):
    """The mean of abs(y_true - y_pred) / abs(y_true), which is huge where `y_true` is near 0.

    Parameters
    ----------
    {targets}
    {sample_weight}
    {multioutput}

    Returns
    -------
    float, or ndarray of shape (n_outputs,) if `multioutput` is "raw_values"
        A share, not a percentage. An `y_true` below 2.2e-16 counts as 2.2e-16.

    Examples
    --------
    >>> from fastclf import mean_absolute_percentage_error
    >>> mean_absolute_percentage_error([2.0, 4.0], [1.0, 5.0])
    0.375
    """
    rows = _read(y_true, y_pred, sample_weight)
    size = np.maximum(np.abs(rows.true), np.finfo(float).eps)
    return _over_outputs(rows.mean(np.abs(rows.predicted - rows.true) / size), multioutput)


def _logarithms(rows, name):
    """A copy of the _Targets in which log(1 + y) replaces each number y."""
    if (rows.true <= -1).any() or (rows.predicted <= -1).any():
        raise ValueError(
            f"{name} Logarithmic Error cannot be used when targets contain values less than or equal to -1; y_true and"
            " y_pred above -1 are wanted"
        )
    return rows._replace(true=np.log1p(rows.true), predicted=np.log1p(rows.predicted))


@_documented
def mean_squared_log_error(y_true, y_pred, *, sample_weight=None, multioutput="uniform_average"):
    """The mean of (log(1 + y_true) - log(1 + y_pred))^2.

    Parameters
    ----------
    {targets}
    {sample_weight}
    {multioutput}

    Returns
    -------
    float, or ndarray of shape (n_outputs,) if `multioutput` is "raw_values"

    Examples
    --------
    >>> from fastclf import mean_squared_log_error
    >>> round(mean_squared_log_error([3, 5, 2.5, 7], [2.5, 5, 4, 8]), 5)
    0.03973
    """
    rows = _logarithms(_read(y_true, y_pred, sample_weight), "Mean Squared")
    return _over_outputs(rows.mean((rows.true - rows.predicted) ** 2), multioutput)


@_documented
def root_mean_squared_log_error(y_true, y_pred, *, sample_weight=None, multioutput="uniform_average"):
    """The square root of the mean of (log(1 + y_true) - log(1 + y_pred))^2.

    Parameters
    ----------
    {targets}
    {sample_weight}
    {multioutput}

    Returns
    -------
    float, or ndarray of shape (n_outputs,) if `multioutput` is "raw_values"

    Examples
    --------
    >>> from fastclf import root_mean_squared_log_error
    >>> round(root_mean_squared_log_error([3, 5, 2.5, 7], [2.5, 5, 4, 8]), 4)
    0.1993
    """
    rows = _logarithms(_read(y_true, y_pred, sample_weight), "Root Mean Squared")
    return _over_outputs(np.sqrt(rows.mean((rows.true - rows.predicted) ** 2)), multioutput)


def _quantile(values, share, weight):
    """The weighted quantile; if exactly `share` of the weight belongs to lower values, the mean of two neighbours."""
    weight = np.ones(len(values)) if weight is None else weight
    order = np.argsort(values, kind="stable")
    order = order[weight[order] > 0]
    values, sums = values[order], np.cumsum(weight[order])
    wanted = share * sums[-1]
    at = min(np.searchsorted(sums, wanted), len(values) - 1)
    # a sum of weights that exceeds `wanted` only by rounding counts as equal to `wanted`
    beside = at if wanted == 0 or sums[at] - wanted > np.finfo(float).eps else min(at + 1, len(values) - 1)
    return (values[at] + values[beside]) / 2


@_documented
def median_absolute_error(y_true, y_pred, *, multioutput="uniform_average", sample_weight=None):
    """The median of abs(y_true - y_pred), which outliers do not change.

    Parameters
    ----------
    {targets}
    {multioutput}
    {sample_weight}

    Returns
    -------
    float, or ndarray of shape (n_outputs,) if `multioutput` is "raw_values"

    Examples
    --------
    >>> from fastclf import median_absolute_error
    >>> median_absolute_error([3, -0.5, 2, 7], [2.5, 0.0, 2, 8])
    0.5
    """
    rows = _read(y_true, y_pred, sample_weight)
    errors = np.abs(rows.predicted - rows.true)
    if rows.weight is None:
        return _over_outputs(np.median(errors, axis=0), multioutput)
    return _over_outputs(np.array([_quantile(column, 0.5, rows.weight) for column in errors.T]), multioutput)


@_documented
def max_error(y_true, y_pred):
    """The largest abs(y_true - y_pred).

    Parameters
    ----------
    {one_target}

    Returns
    -------
    float

    Examples
    --------
    >>> from fastclf import max_error
    >>> max_error([3, 2, 7, 1], [4, 2, 7, 1])
    1.0
    """
    rows = _read(y_true, y_pred, None, "max_error")
    return float(np.max(np.abs(rows.true - rows.predicted)))


def _pinball(rows, alpha):
    """The mean pinball loss of each output of _Targets."""
    alpha = require_number("alpha", alpha, 0)
    if alpha > 1:
        raise ValueError(f"alpha is {alpha}; a number from 0 to 1 is wanted")
    above = rows.true - rows.predicted
    return rows.mean(np.where(above >= 0, alpha * above, (alpha - 1) * above))


@_documented
def mean_pinball_loss(y_true, y_pred, *, sample_weight=None, alpha=0.5, multioutput="uniform_average"):
    """The loss whose least mean a quantile has: alpha times the error where `y_pred` is too small, else 1 - alpha.

    Parameters
    ----------
    {targets}
    {sample_weight}
    alpha : float in [0, 1], default=0.5
        The quantile; with 0.5 the loss is half of the absolute error.
    {multioutput}

    Returns
    -------
    float, or ndarray of shape (n_outputs,) if `multioutput` is "raw_values"

    Examples
    --------
    >>> from fastclf import mean_pinball_loss
    >>> round(mean_pinball_loss([1, 2, 3], [0, 2, 3], alpha=0.9), 4)
    0.3
    """
    rows = _read(y_true, y_pred, sample_weight)
    return _over_outputs(_pinball(rows, alpha), multioutput)


def _explained(part, total, multioutput, force_finite=True):
    """1 - part / total, the explained share, of each output, or the mean; force_finite: 1 or 0 where total is 0."""
    if require_truth("force_finite", force_finite):
        known = total != 0
        scores = np.where(known, 1 - part / np.where(known, total, 1), part == 0)
    else:
        with np.errstate(divide="ignore", invalid="ignore"):
            scores = 1 - part / total
    return _over_outputs(scores, multioutput, total)


def _too_few(rows, score):
    """Whether there are fewer than two rows, for which a score is NaN; if so, give a warning."""
    if len(rows.true) < 2:
        warn(f"{score} score is not well-defined with less than two samples.", "UndefinedMetricWarning")
    return len(rows.true) < 2


@_documented
def r2_score(y_true, y_pred, *, sample_weight=None, multioutput="uniform_average", force_finite=True):
    """R^2: 1 - sum (y_true - y_pred)^2 / sum (y_true - mean)^2.

    Parameters
    ----------
    {targets}
    {sample_weight}
    {multioutput_or_variance}
    {force_finite}

    Returns
    -------
    float, or ndarray of shape (n_outputs,) if `multioutput` is "raw_values"
        1 for exact predictions, 0 for the mean of `y_true`, negative for worse ones.

    Examples
    --------
    >>> from fastclf import r2_score
    >>> round(r2_score([3, -0.5, 2, 7], [2.5, 0.0, 2, 8]), 4)
    0.9486
    """
    rows = _read(y_true, y_pred, sample_weight)
    if _too_few(rows, "R^2"):
        return float("nan")
    weight = 1.0 if rows.weight is None else rows.weight[:, None]
    part = np.sum(weight * (rows.true - rows.predicted) ** 2, axis=0)
    total = np.sum(weight * (rows.true - rows.mean(rows.true)) ** 2, axis=0)
    return _explained(part, total, multioutput, force_finite)


@_documented
def explained_variance_score(y_true, y_pred, *, sample_weight=None, multioutput="uniform_average", force_finite=True):
    """1 - variance of (y_true - y_pred) / variance of y_true: R^2 of predictions whose mean error is ignored.

    Parameters
    ----------
    {targets}
    {sample_weight}
    {multioutput_or_variance}
    {force_finite}

    Returns
    -------
    float, or ndarray of shape (n_outputs,) if `multioutput` is "raw_values"

    Examples
    --------
    >>> from fastclf import explained_variance_score
    >>> explained_variance_score([1.0, 2.0, 3.0], [2.0, 3.0, 4.0])
    1.0
    """
    rows = _read(y_true, y_pred, sample_weight)
    error = rows.true - rows.predicted
    part, total = (rows.mean((values - rows.mean(values)) ** 2) for values in (error, rows.true))
    return _explained(part, total, multioutput, force_finite)


def _require_power(power):
    power = require_number("power", power, -np.inf, finite=True)
    if 0 < power < 1:
        raise ValueError(f"power is {power}; a number up to 0 or from 1 up is wanted, as no distribution has others")
    return power


def _tweedie(rows, power):
    """The mean Tweedie deviance of _Targets with one output."""
    true, mean = rows.true, rows.predicted
    if power == 0:
        each = (true - mean) ** 2
    elif power == 1:
        ratio = np.where(true > 0, true / mean, 1)
        each = 2 * (true * np.log(ratio) - true + mean)
    elif power == 2:
        each = 2 * (np.log(mean / true) + true / mean - 1)
    else:
        base = np.maximum(true, 0) if power < 0 else true
        each = 2 * (
            base ** (2 - power) / ((1 - power) * (2 - power))
            - true * mean ** (1 - power) / (1 - power)
            + mean ** (2 - power) / (2 - power)
        )
    return float(rows.mean(each)[0])


def _require_range(rows, power):
    """Refuse targets or predictions outside the range of a Tweedie distribution of this power."""
    if power == 0:
        return
    low = "strictly positive y_pred" if power < 0 else "non-negative y and strictly positive y_pred"
    wanted = "strictly positive y and y_pred" if power >= 2 else low
    wrong = (rows.predicted <= 0).any() or (power >= 1 and (rows.true < 0).any())
    if wrong or (power >= 2 and (rows.true <= 0).any()):
        raise ValueError(f"Mean Tweedie deviance error with power={power:g} can only be used on {wanted}.")


@_documented
def mean_tweedie_deviance(y_true, y_pred, *, sample_weight=None, power=0):
    """The mean deviance of a Tweedie distribution, whose variance is proportional to mean^power.

    Parameters
    ----------
    {one_target}
    {sample_weight}
    power : float, default=0
        0: squared error; 1: Poisson; 2: Gamma; 3: inverse Gaussian; others up to 0 and from 1 up.

    Returns
    -------
    float

    Examples
    --------
    >>> from fastclf import mean_tweedie_deviance
    >>> round(mean_tweedie_deviance([2, 0, 1, 4], [0.5, 0.5, 2.0, 2.0], power=1), 4)
    1.426
    """
    rows, power = _read(y_true, y_pred, sample_weight, "mean_tweedie_deviance"), _require_power(power)
    _require_range(rows, power)
    return _tweedie(rows, power)


@_documented
def mean_poisson_deviance(y_true, y_pred, *, sample_weight=None):
    """The mean deviance of the Poisson distribution: 2 (y log(y / y_pred) - y + y_pred).

    Parameters
    ----------
    {one_target}
    {sample_weight}

    Returns
    -------
    float

    Examples
    --------
    >>> from fastclf import mean_poisson_deviance
    >>> round(mean_poisson_deviance([2, 0, 1, 4], [0.5, 0.5, 2.0, 2.0]), 4)
    1.426
    """
    return mean_tweedie_deviance(y_true, y_pred, sample_weight=sample_weight, power=1)


@_documented
def mean_gamma_deviance(y_true, y_pred, *, sample_weight=None):
    """The mean deviance of the Gamma distribution: 2 (log(y_pred / y) + y / y_pred - 1).

    Parameters
    ----------
    {one_target}
    {sample_weight}

    Returns
    -------
    float

    Examples
    --------
    >>> from fastclf import mean_gamma_deviance
    >>> round(mean_gamma_deviance([2, 0.5, 1, 4], [0.5, 0.5, 2.0, 2.0]), 4)
    1.0569
    """
    return mean_tweedie_deviance(y_true, y_pred, sample_weight=sample_weight, power=2)


@_documented
def d2_tweedie_score(y_true, y_pred, *, sample_weight=None, power=0):
    """The share of the Tweedie deviance that is explained: 1 - deviance of `y_pred` / deviance of the mean of `y_true`.

    Parameters
    ----------
    {one_target}
    {sample_weight}
    power : float, default=0
        As in :func:`mean_tweedie_deviance`; 0 gives R^2.

    Returns
    -------
    float

    Examples
    --------
    >>> from fastclf import d2_tweedie_score
    >>> round(d2_tweedie_score([0.5, 1, 2.5, 7], [1, 1, 5, 3.5], power=1), 4)
    0.4879
    """
    rows, power = _read(y_true, y_pred, sample_weight, "d2_tweedie_score"), _require_power(power)
    if _too_few(rows, "D^2"):
        return float("nan")
    _require_range(rows, power)
    with np.errstate(divide="ignore", invalid="ignore"):
        part = np.float64(_tweedie(rows, power))
        return float(1 - part / _tweedie(rows._replace(predicted=rows.mean(rows.true)[None]), power))


@_documented
def d2_pinball_score(y_true, y_pred, *, sample_weight=None, alpha=0.5, multioutput="uniform_average"):
    """The share of the pinball loss that is explained: 1 - loss of `y_pred` / loss of the quantile of `y_true`.

    Parameters
    ----------
    {targets}
    {sample_weight}
    alpha : float in [0, 1], default=0.5
        The quantile.
    {multioutput}

    Returns
    -------
    float, or ndarray of shape (n_outputs,) if `multioutput` is "raw_values"

    Examples
    --------
    >>> from fastclf import d2_pinball_score
    >>> d2_pinball_score([1, 2, 3], [1, 3, 3], alpha=0.5)
    0.5
    """
    rows = _read(y_true, y_pred, sample_weight)
    if _too_few(rows, "D^2"):
        return float("nan")
    part = _pinball(rows, alpha)
    quantiles = np.array([_quantile(column, alpha, rows.weight) for column in rows.true.T])
    total = _pinball(rows._replace(predicted=np.broadcast_to(quantiles, rows.true.shape)), alpha)
    if isinstance(multioutput, str):
        require_choice("multioutput", multioutput, ("raw_values", "uniform_average"))
    return _explained(part, total, multioutput)


@_documented
def d2_absolute_error_score(y_true, y_pred, *, sample_weight=None, multioutput="uniform_average"):
    """The share of the absolute error that is explained: 1 - error of `y_pred` / error of the median of `y_true`.

    Parameters
    ----------
    {targets}
    {sample_weight}
    {multioutput}

    Returns
    -------
    float, or ndarray of shape (n_outputs,) if `multioutput` is "raw_values"

    Examples
    --------
    >>> from fastclf import d2_absolute_error_score
    >>> round(d2_absolute_error_score([3, -0.5, 2, 7], [2.5, 0.0, 2, 8]), 4)
    0.7647
    """
    return d2_pinball_score(y_true, y_pred, sample_weight=sample_weight, alpha=0.5, multioutput=multioutput)
