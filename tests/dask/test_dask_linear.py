"""Linear classifiers on Dask have the bits of the plain fit, for any partitions, and whatever worker dies."""

import numpy as np
import pytest
from clusters import client, cluster, cuts, same_bits, same_state
from scipy import sparse

import fastclf

N = 20_011
RNG = np.random.default_rng(5)
Y = np.array(["ant", "bee", "cicada"])[RNG.integers(0, 3, N)]
X = RNG.standard_normal((N, 6)) + 3 + (Y == "bee")[:, None]
WEIGHT = RNG.random(N) * (RNG.random(N) < 0.9)
SIZES = cuts(N)
SQUARES = ["LeastSquaresClassifier", "RidgeClassifier"]
NEARLY_SINGULAR = np.column_stack([X, X[:, 0] + 1e-5 * X[:, 1]])


def fitted(cluster, name, rows, y, sizes, weight=None, weight_sizes=None, **parameters):
    """The plain estimator and `to_local` of the one on Dask, both fitted to the same rows."""
    own = getattr(fastclf, name)(**parameters).fit(rows, y, sample_weight=weight)
    more = None if weight is None else cluster.cut(weight, weight_sizes or sizes)
    model = getattr(cluster.module, name)(**parameters).fit(
        cluster.cut(rows, sizes), cluster.cut(y, sizes), sample_weight=more
    )
    return model.to_local(), own


@pytest.mark.parametrize("kind", SIZES)
@pytest.mark.parametrize("name", SQUARES)
def test_least_squares_have_the_bits_of_the_plain_fit_for_any_partitions(cluster, name, kind):
    local, own = fitted(cluster, name, X, Y, SIZES[kind])
    same_state(local, own)
    same_bits(local.predict(X), own.predict(X))


@pytest.mark.parametrize("name", SQUARES)
@pytest.mark.parametrize(
    ("rows", "y", "parameters"),
    [
        (X.astype(np.float32), Y, {}),
        (X, Y == "bee", {"fit_intercept": False}),
        (X[:, :1], RNG.integers(0, 12, N), {}),
        (np.asfortranarray(X), Y, {"alpha": 0.0}),
        (NEARLY_SINGULAR, Y, {"alpha": 0.0}),
        (NEARLY_SINGULAR.astype(np.float32), Y, {"alpha": 1e-9}),
        (sparse.csr_array(X * (X > 3.5)), Y, {}),
        (sparse.csr_array(X * (X > 3.5)), Y == "ant", {"alpha": 2.0}),
    ],
)
def test_kinds_of_rows_and_weights_keep_the_bits_of_least_squares(cluster, name, rows, y, parameters):
    for weight in (None, WEIGHT):
        local, own = fitted(cluster, name, rows, y, SIZES["uneven"], weight, [N // 2, N - N // 2], **parameters)
        same_state(local, own)


def test_class_weights_keep_the_bits_of_ridge(cluster):
    for class_weight in ("balanced", {"ant": 3.0}):
        for weight in (None, WEIGHT):
            parameters = {"class_weight": class_weight}
            same_state(*fitted(cluster, "RidgeClassifier", X, Y, SIZES["7 partitions"], weight, **parameters))


@pytest.mark.parametrize("name", SQUARES)
def test_fewer_rows_than_columns_and_wide_sparse_rows_keep_the_bits(cluster, name):
    wide = RNG.standard_normal((30, 50))
    same_state(*fitted(cluster, name, wide, Y[:30], [7, 0, 1, 22]))
    same_state(*fitted(cluster, name, sparse.csr_array(wide * (wide > 1)), Y[:30], [7, 0, 1, 22], alpha=1.0))


def test_rows_of_an_ill_conditioned_fit_pass_through_the_client_block_by_block(cluster, monkeypatch):
    monkeypatch.setattr("fastclf.linear_model.least_squares._BLOCK_NUMBERS", 20_000)
    same_state(*fitted(cluster, "LeastSquaresClassifier", NEARLY_SINGULAR, Y, SIZES["7 partitions"]))


@pytest.mark.parametrize("number", [0, 1, 2])
def test_a_killed_worker_changes_no_bit_of_least_squares(cluster, monkeypatch, number):
    rows, y = cluster.cut(X, SIZES["7 partitions"]), cluster.cut(Y, SIZES["7 partitions"])
    with cluster.killing(monkeypatch, number):
        model = cluster.module.LeastSquaresClassifier().fit(rows, y)
    same_state(model.to_local(), fastclf.LeastSquaresClassifier().fit(X, Y))


@pytest.mark.parametrize("name", SQUARES)
def test_bad_data_are_refused_as_by_the_plain_classes(cluster, name):
    cls, bad = getattr(cluster.module, name), X.copy()
    bad[15_000, 3] = np.inf
    with pytest.raises(ValueError, match=r"in partition 1 .*: Input X contains infinity"):
        cls().fit(cluster.cut(bad, [10_000, N - 10_000]), cluster.cut(Y, [N]))
    with pytest.raises(ValueError, match="y has one class, 'ant'"):
        cls().fit(cluster.cut(X, [N]), cluster.cut(np.full(N, "ant"), [N]))
    with pytest.raises(ValueError, match="alpha is -1"):
        cls(alpha=-1).fit(cluster.cut(X, [N]), cluster.cut(Y, [N]))
