"""Logistic regression on Dask has the bits of the plain fit, for any partitions, and whatever worker dies."""

import warnings

import numpy as np
import pytest
from clusters import client, cluster, cuts, same_bits, same_state
from scipy import sparse

import fastclf
import fastclf.dask.logistic
from fastclf.linear_model import likelihood, minimisers, sparse_row_space

N = 20_011
RNG = np.random.default_rng(7)
X = RNG.standard_normal((N, 6)) * [1, 10, 1, 0.1, 1, 1] + 3
NOISE = RNG.gumbel(size=(N, 3))
Y = np.array(["ant", "bee", "cicada"])[((X - 3) @ RNG.standard_normal((6, 3)) + NOISE).argmax(axis=1)]
WEIGHT = RNG.random(N) * (RNG.random(N) < 0.9)
SIZES = cuts(N)


def fitted(cluster, rows, y, sizes, weight=None, **parameters):
    """The plain estimator and `to_local` of the one on Dask, both fitted to the same rows."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        own = fastclf.LogisticRegression(**parameters).fit(rows, y, sample_weight=weight)
        more = None if weight is None else cluster.cut(weight, [len(weight) // 2, len(weight) - len(weight) // 2])
        model = cluster.module.LogisticRegression(**parameters).fit(
            cluster.cut(rows, sizes), cluster.cut(y, sizes), sample_weight=more
        )
    return model.to_local(), own


@pytest.mark.parametrize("kind", SIZES)
def test_fits_have_the_bits_of_the_plain_fit_for_any_partitions(cluster, kind):
    local, own = fitted(cluster, X, Y, SIZES[kind])
    same_state(local, own)
    same_bits(local.predict_proba(X), own.predict_proba(X))


@pytest.mark.parametrize(
    "parameters",
    [
        {"solver": "lbfgs", "class_weight": "balanced"},
        {"solver": "gradient", "max_iter": 5},
        {"C": np.inf, "fit_intercept": False},
        {"l1_ratio": 1, "solver": "saga", "C": 0.01},
    ],
    ids=str,
)
@pytest.mark.parametrize("classes", [2, 3])
def test_parameters_and_weights_keep_the_bits(cluster, parameters, classes):
    y = Y if classes == 3 else Y == "bee"
    for weight in (None, WEIGHT):
        same_state(*fitted(cluster, X, y, SIZES["uneven"], weight, **parameters))


def test_float32_keeps_the_bits(cluster):
    local, own = fitted(cluster, X.astype(np.float32), Y, SIZES["empty and of one row"])
    assert own.coef_.dtype == np.float32
    same_state(local, own)


def test_a_label_whose_rows_have_weight_0_is_no_class(cluster):
    local, own = fitted(cluster, X, Y, SIZES["7 partitions"], WEIGHT * (Y != "ant"))
    assert own.classes_.tolist() == ["bee", "cicada"]
    same_state(local, own)


def test_sparse_rows_keep_the_bits_of_two_classes_and_the_optimum_of_more(cluster):
    rows, sizes = sparse.csr_array(X * (X > 3.5)), SIZES["7 partitions"]
    for weight in (None, WEIGHT):
        same_state(*fitted(cluster, rows, Y == "bee", sizes, weight))
    same_state(*fitted(cluster, rows, Y == "bee", sizes, l1_ratio=1, solver="saga", C=0.01))
    local, own = fitted(cluster, rows, Y, sizes, tol=1e-8)
    assert local.gradient_norm_ <= 1e-8
    np.testing.assert_allclose(local.coef_, own.coef_, rtol=1e-5, atol=1e-7)
    assert abs(local.log_likelihood_ - own.log_likelihood_) <= 1e-9 * abs(own.log_likelihood_)


@pytest.mark.parametrize("y", [Y == "bee", Y], ids=["two classes", "three"])
def test_few_sparse_rows_are_collected_and_keep_the_bits(cluster, monkeypatch, y):
    monkeypatch.setattr(sparse_row_space, "_COLUMNS", 1)
    monkeypatch.setattr(sparse_row_space, "_TIMES", 0)
    for weight in (None, WEIGHT):
        same_state(*fitted(cluster, sparse.csr_array(X * (X > 3.5)), y, SIZES["7 partitions"], weight))


@pytest.mark.parametrize("convert", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_a_sample_of_the_rows_is_collected_once_and_keeps_the_bits(cluster, monkeypatch, convert):
    rows, calls = convert(X * (X > 3)), []
    call = fastclf.dask.logistic.ShardRows.call

    def noted(self, f, *arguments):
        calls.append(f.__name__)
        return call(self, f, *arguments)

    monkeypatch.setattr(minimisers, "_LEAST_ROWS", 1 << 10)
    monkeypatch.setattr(fastclf.dask.logistic.ShardRows, "call", noted)
    for weight in (None, WEIGHT):
        calls.clear()
        same_state(*fitted(cluster, rows, Y == "bee", SIZES["uneven"], weight))
        assert calls.count("sampled_rows") == 1


def test_many_columns_samples_and_rows_in_doubt_keep_the_bits(cluster, monkeypatch):
    rows, sizes = RNG.standard_normal((6_011, 30)), [1_000, 0, 4_011, 1_000]
    y = (rows[:, :3] + 0.1 * RNG.gumbel(size=(6_011, 3))).argmax(axis=1)
    used = []
    plain_init = likelihood.RowsInDoubt.__init__
    for name, value in (("_LEAST_ROWS", 1 << 10), ("_ROWS_PER_PARAMETER", 8), ("_FEW_STEPS", 0)):
        monkeypatch.setattr(minimisers, name, value)

    def noted(self, *given):
        used.append(len(given))
        plain_init(self, *given)

    monkeypatch.setattr(likelihood.RowsInDoubt, "__init__", noted)
    same_state(*fitted(cluster, rows, y, sizes, RNG.random(6_011), solver="lbfgs", C=100.0, tol=1e-9))
    assert used


def test_an_l1_penalty_on_many_columns_keeps_the_bits(cluster):
    rows = RNG.standard_normal((2_000, 90))
    y = rows[:, :2].sum(axis=1) > RNG.standard_normal(2_000)
    for C in (0.01, 1.0):
        same_state(*fitted(cluster, rows, y, [700, 1_300], l1_ratio=1, solver="saga", C=C))


def test_fewer_rows_than_columns_keep_the_bits(cluster):
    same_state(*fitted(cluster, RNG.standard_normal((30, 50)), Y[:30], [7, 0, 1, 22]))


def test_a_warm_start_keeps_the_bits(cluster):
    own = fastclf.LogisticRegression(warm_start=True)
    model = cluster.module.LogisticRegression(warm_start=True)
    for C in (1.0, 0.1):
        own.set_params(C=C).fit(X, Y)
        model.set_params(C=C).fit(cluster.cut(X, SIZES["uneven"]), cluster.cut(Y, SIZES["uneven"]))
        same_state(model.to_local(), own)


def test_a_killed_worker_changes_no_bit(cluster, monkeypatch):
    rows, y, own = (
        cluster.cut(X, SIZES["7 partitions"]),
        cluster.cut(Y, SIZES["7 partitions"]),
        fastclf.LogisticRegression(solver="newton-cholesky").fit(X, Y),
    )
    for number in (1, 4):
        with cluster.killing(monkeypatch, number):
            model = cluster.module.LogisticRegression(solver="newton-cholesky").fit(rows, y)
        same_state(model.to_local(), own)


def test_bad_data_and_parameters_are_refused_as_by_the_plain_class(cluster):
    bad = X.copy()
    bad[15_000, 3] = np.nan
    with pytest.raises(ValueError, match="Input X contains NaN"):
        cluster.module.LogisticRegression().fit(cluster.cut(bad, [10_000, N - 10_000]), cluster.cut(Y, [N]))
    with pytest.raises(ValueError, match="y has one class"):
        cluster.module.LogisticRegression().fit(cluster.cut(X, [N]), cluster.cut(np.zeros(N), [N]))
    with pytest.raises(ValueError, match="'liblinear' solver does not support multiclass"):
        cluster.module.LogisticRegression(solver="liblinear").fit(cluster.cut(X, [N]), cluster.cut(Y, [N]))
    with pytest.raises(ValueError, match="C is 0"):
        cluster.module.LogisticRegression(C=0).fit(cluster.cut(X, [N]), cluster.cut(Y, [N]))
