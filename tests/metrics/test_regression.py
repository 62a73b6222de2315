"""Metrics of numbers and of rankings equal scikit-learn's, and refuse what they cannot measure with one sentence."""

import inspect
import re

import numpy as np
import pytest
import sklearn.metrics
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

import fastclf
from fastclf.metrics import ranking, regression

pytestmark = [pytest.mark.once, pytest.mark.filterwarnings("ignore::sklearn.exceptions.UndefinedMetricWarning")]

SEEDS = st.integers(0, 2**32 - 1)
SEVERAL = [
    "mean_squared_error",
    "root_mean_squared_error",
    "mean_absolute_error",
    "mean_absolute_percentage_error",
    "mean_squared_log_error",
    "root_mean_squared_log_error",
    "median_absolute_error",
    "mean_pinball_loss",
    "r2_score",
    "explained_variance_score",
    "d2_pinball_score",
    "d2_absolute_error_score",
]
SINGLE = ["max_error", "mean_tweedie_deviance", "mean_poisson_deviance", "mean_gamma_deviance", "d2_tweedie_score"]


def both(name, *arguments, **options):
    found = getattr(fastclf, name)(*arguments, **options)
    wanted = getattr(sklearn.metrics, name)(*arguments, **options)
    assert type(found) is type(wanted)
    np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-13, err_msg=f"{name} {options}")


def numbers(rng, shape):
    """Numbers above 0 with ties, of several sizes, as floats of 64 bits or whole numbers."""
    values = rng.integers(1, 5, shape) * 10.0 ** rng.integers(-2, 3)
    return values if rng.random() < 0.5 else np.ceil(values).astype(int)


@given(SEEDS)
def test_metrics_of_numbers_are_scikit_learns(seed):
    rng = np.random.default_rng(seed)
    n, n_outputs = rng.integers(2, 12), rng.integers(1, 4)
    true, predicted = (numbers(rng, (n, n_outputs)) for _ in range(2))
    if rng.random() < 0.2:
        true[:, 0] = true[0, 0]
    weight = rng.integers(0, 3, n) / 2 + (np.arange(n) == 0)
    for name in SEVERAL:
        for options in ({}, {"sample_weight": weight}):
            ways = ["raw_values", "uniform_average", *([] if n_outputs == 1 else [np.arange(1.0, n_outputs + 1)])]
            ways += ["variance_weighted"] if name in ("r2_score", "explained_variance_score") else []
            more = {"alpha": rng.choice([0.0, 0.1, 0.5, 1.0])} if "pinball" in name else {}
            for way in ways:
                both(name, true, predicted, multioutput=way, **options, **more)
    for name in ("r2_score", "explained_variance_score"):
        with np.errstate(all="ignore"):
            both(name, true, predicted, force_finite=False, multioutput="raw_values")
    for name in SINGLE:
        for options in [{}] if name == "max_error" else [{}, {"sample_weight": weight}]:
            for more in [{"power": power} for power in (-1, 0, 1, 1.5, 2, 3)] if "tweedie" in name else [{}]:
                if name != "d2_tweedie_score" or len(set(true[:, 0][weight > 0].tolist())) > 1:
                    both(name, true[:, 0], predicted[:, 0], **options, **more)


def test_metrics_have_scikit_learns_signatures():
    names = {name for module in (ranking, regression) for name in vars(module) if name in fastclf.__all__}
    assert len(names - {"as_float64"}) > 20
    for name in names:
        theirs = inspect.signature(getattr(sklearn.metrics, name)).parameters
        assert [str(p) for p in inspect.signature(getattr(fastclf, name)).parameters.values()] == [
            str(p) for p in theirs.values()
        ]


@given(SEEDS, st.booleans())
def test_metrics_of_rankings_are_scikit_learns(seed, weighted):
    rng = np.random.default_rng(seed)
    n, n_labels = rng.integers(1, 8), rng.integers(2, 7)
    true = rng.integers(0, 2, (n, n_labels))
    # both values occur, because scikit-learn takes indicators of a single value for another type of target
    true.flat[:2] = 0, 1
    score = rng.integers(0, 4, (n, n_labels)) / 3
    options = {"sample_weight": rng.random(n)} if weighted else {}
    for name in ("coverage_error", "label_ranking_average_precision_score", "label_ranking_loss"):
        both(name, true, score, **options)
        if name != "coverage_error":
            both(name, csr_array(true), score, **options)
    gains = rng.integers(0, 4, (n, n_labels))
    for name in ("dcg_score", "ndcg_score"):
        for k in (None, 1, 2, 50):
            both(name, gains, score, k=k, **options)
            both(name, gains, score + rng.random(score.shape), k=k, ignore_ties=True, **options)
    both("dcg_score", gains, score, log_base=10)


@given(SEEDS, st.booleans())
def test_metrics_at_thresholds_are_scikit_learns(seed, weighted):
    rng = np.random.default_rng(seed)
    true, score = rng.integers(0, 2, 20), rng.integers(0, 5, 20) / 4
    options = {"sample_weight": rng.integers(0, 3, 20)} if weighted else {}
    for metric, params in ((fastclf.accuracy_score, None), (fastclf.f1_score, {"zero_division": 0})):
        found = fastclf.metric_at_thresholds(true, score, metric, metric_params=params, **options)
        wanted = sklearn.metrics.metric_at_thresholds(true, score, metric, metric_params=params, **options)
        for mine, theirs in zip(found, wanted):
            np.testing.assert_allclose(mine, theirs)


@pytest.mark.parametrize(
    ("name", "arguments", "options", "told"),
    [
        ("mean_squared_error", ([1, 2], [1]), {}, "inconsistent numbers of samples"),
        ("mean_squared_error", ([[1, 2]], [1]), {}, "different number of output"),
        ("mean_squared_error", ([1.0, np.nan], [1, 2]), {}, "Input y_true contains NaN"),
        ("mean_squared_error", ([1, 2], [1, 2]), {"multioutput": "variance_weighted"}, "multioutput is"),
        ("r2_score", ([1, 2], [1, 2]), {"multioutput": [1.0]}, "useful only in multi-output"),
        ("r2_score", ([[1, 2], [3, 4]], [[1, 2], [3, 4]]), {"multioutput": [1, 2, 3]}, "equally many custom weights"),
        ("max_error", ([[1, 2]], [[1, 2]]), {}, "Multioutput not supported in max_error"),
        ("mean_tweedie_deviance", ([1, 2], [1, 2]), {"power": 0.5}, "power is 0.5"),
        ("mean_poisson_deviance", ([1, -2], [1, 2]), {}, "strictly positive y_pred"),
        ("mean_squared_log_error", ([1, -2], [1, 2]), {}, "y_true and y_pred above -1"),
        ("mean_pinball_loss", ([1, 2], [1, 2]), {"alpha": 2}, "alpha is 2"),
        ("dcg_score", ([[1, 2]], [[1, 2]]), {"k": 0}, "k is 0"),
        ("ndcg_score", ([[-1, 2]], [[1, 2]]), {}, "negative y_true"),
        ("coverage_error", ([0, 1], [0.5, 0.2]), {}, "Expected 2D array"),
        ("label_ranking_loss", ([[0, 1]], [[0.5]]), {}, "different shape"),
    ],
)
def test_junk_is_refused_with_one_sentence(name, arguments, options, told):
    with pytest.raises(ValueError, match=re.escape(told)):
        getattr(fastclf, name)(*arguments, **options)
