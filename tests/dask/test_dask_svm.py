"""Support vector machines on Dask are those of the plain fit, bit for bit, for any partitions and dying workers."""

import numpy as np
import pytest
from clusters import OnDask, client, cluster, cuts, rounds, same_bits, same_state, two_workers
from scipy import sparse

import fastclf
from fastclf.svm import pairs

N = 407
RNG = np.random.default_rng(0)
X = RNG.standard_normal((N, 5))
X[:, 2] = 0
Y = np.array(["ant", "bee", "cicada"])[(X[:, 0] > 0).astype(int) + (X[:, 3] > 0) * (RNG.random(N) < 0.8)]
TWO = np.where(Y == "ant", "ant", "other")
WEIGHT = RNG.random(N) * (RNG.random(N) < 0.9)
UNEVEN = [200, 0, 1, N - 201]
SPARSE = sparse.csr_array(np.where(X > 0.5, X, 0))


def require_same(cluster, name, rows, y, sizes, weight=None, **parameters):
    plain = getattr(fastclf, name)(**parameters).fit(rows, y, weight)
    ours = getattr(cluster.module, name)(**parameters)
    columns = None if weight is None else cluster.cut(weight, [N // 2, N - N // 2])
    same_state(ours.fit(cluster.cut(rows, sizes), cluster.cut(y, sizes), columns).to_local(), plain)
    return ours


@pytest.mark.parametrize("kind", cuts(N))
def test_machines_are_those_of_the_plain_fit_for_any_partitions(cluster, kind):
    require_same(cluster, "SVC", X, Y, cuts(N)[kind])
    require_same(cluster, "LinearSVC", X, Y, cuts(N)[kind])


@pytest.mark.parametrize(
    "parameters",
    [
        {"kernel": "linear", "C": 100},
        {"kernel": "poly", "class_weight": "balanced"},
        {"kernel": "sigmoid", "gamma": 0.1},
        {"gamma": "auto", "kernel_dtype": "float32"},
        {"fit_intercept": False},
        {"lam": 0.01, "break_ties": True},
    ],
    ids=str,
)
def test_kernels_and_other_parameters_are_the_same(cluster, parameters):
    require_same(cluster, "SVC", X, Y, UNEVEN, **parameters)
    require_same(cluster, "SVC", X.astype(np.float32), TWO, UNEVEN, WEIGHT, **parameters)


@pytest.mark.parametrize(
    "parameters",
    [
        {"loss": "hinge"},
        {"penalty": "l1"},
        {"intercept_scaling": None, "class_weight": "balanced"},
        {"multi_class": "crammer_singer", "tol": 0.1},
        {"budget": 400.0},
    ],
    ids=str,
)
def test_linear_machines_with_other_parameters_are_the_same(cluster, parameters):
    require_same(cluster, "LinearSVC", X, Y, UNEVEN, **parameters)
    ours = require_same(cluster, "LinearSVC", X.astype(np.float32), TWO, UNEVEN, WEIGHT, **parameters)
    assert ours.violation_ <= ours.tol


def test_sparse_partitions_and_weights_are_the_same(cluster):
    for name in ("SVC", "LinearSVC"):
        require_same(cluster, name, SPARSE, Y, UNEVEN, WEIGHT)


def test_pairs_that_are_too_large_for_one_matrix_are_the_same(cluster):
    # with a cache of 0.1 MB, the kernel matrix of a working set has 64 rows at most
    require_same(cluster, "SVC", X, Y, UNEVEN, cache_size=0.1, C=10)
    require_same(cluster, "SVC", X, TWO, UNEVEN, cache_size=0.1, C=10, kernel="linear")


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_pairs_that_few_rows_of_the_kernel_matrix_are_enough_for_are_the_same(cluster, dtype):
    rng = np.random.default_rng(1)
    y = rng.permutation(np.repeat([0, 1, 2], [600, 500, 100]))
    rows = (9 * rng.standard_normal((3, 6))[y] + rng.standard_normal((len(y), 6))).astype(dtype)
    rows[y == 2] += rows[y == 0][:100] - rows[y == 2]  # one pair overlaps
    require_same(cluster, "SVC", rows, y, [700, 500])
    require_same(cluster, "SVC", rows, y, [700, 500], kernel="linear", C=0.1)
    require_same(cluster, "SVC", rows[::3], y[::3], [300, 100])


def test_the_sum_for_gamma_is_cut_at_the_blocks_of_the_plain_fit(cluster, monkeypatch):
    wide = RNG.standard_normal((40, 40_000)).astype(np.float32)
    ours = cluster.module.SVC().fit(cluster.cut(wide, [9, 31]), cluster.cut(Y[:40], [9, 31]))
    same_state(ours.to_local(), fastclf.SVC().fit(wide, Y[:40]))


def test_the_proof_is_that_of_all_rows(cluster):
    ours = cluster.module.SVC(tol=1e-4).fit(cluster.cut(X, UNEVEN), cluster.cut(Y, UNEVEN))
    assert ours.to_local().kkt_violation(X, Y) <= 1.01e-4
    assert ours.violation_ <= 1e-4


def test_answers_for_collections_are_lazy(cluster):
    rows = cluster.cut(X, UNEVEN)
    ours, plain = cluster.module.SVC().fit(rows, cluster.cut(Y, UNEVEN)), fastclf.SVC().fit(X, Y)
    lazy = ours.predict(rows)
    assert cluster.is_lazy(lazy)
    same_bits(lazy.compute(), plain.predict(X))
    assert ours.score(rows, cluster.cut(Y, UNEVEN)) == plain.score(X, Y)


def test_a_pair_that_is_left_goes_on_from_where_the_methods_for_few_rows_ended(cluster):
    """A hard problem, whose steps are slow, with more rows than a working set may have."""
    assert pairs.limits_of({"cache_bytes": 1e5, "tol": 1e-3, "max_iter": 9, "shrinking": True, "threads": 1}, np.dtype(
        np.float64
    ), 3, 1).largest_set < N // 2  # fmt: skip
    hard = X * [1, 10, 1, 0.1, 1]
    require_same(cluster, "SVC", hard, Y, UNEVEN, kernel="linear", C=1000, cache_size=0.1)


def test_wrong_data_and_what_is_not_offered_are_refused_in_one_sentence(cluster):
    rows, y = cluster.cut(X, [N // 2, N - N // 2]), cluster.cut(Y, [N // 2, N - N // 2])
    for parameters, told in (
        ({"kernel": "precomputed"}, "the name of a kernel"),
        ({"budget": 3.0}, "budget is 3.0"),
        ({"probability": True}, "probability is True"),
        ({"warm_start": True}, "warm_start is True"),
        ({"C": -1}, "C"),
    ):
        with pytest.raises(ValueError, match=told):
            cluster.module.SVC(**parameters).fit(rows, y)
    for name in ("SVC", "LinearSVC"):
        with pytest.raises(ValueError, match="one class"):
            getattr(cluster.module, name)().fit(rows, cluster.cut(np.repeat("ant", N), [N]))
        with pytest.raises(ValueError, match="sample_weight is zero for every row"):
            getattr(cluster.module, name)().fit(rows, y, cluster.cut(np.zeros(N), [N]))


@pytest.mark.parametrize("name", ["SVC", "LinearSVC"])
def test_a_worker_that_dies_in_the_first_a_middle_or_the_last_round_changes_no_bit(monkeypatch, name):
    with two_workers() as own:  # a new cluster, since Dask starts no worker anew that has died often
        cluster, plain = OnDask(own), getattr(fastclf, name)().fit(X, Y)
        rows, y = cluster.cut(X, cuts(N)["7 partitions"]), cluster.cut(Y, cuts(N)["7 partitions"])
        model = getattr(cluster.module, name)()
        n_rounds = rounds(cluster, monkeypatch, lambda: model.fit(rows, y))
        for number in (0, n_rounds // 2, n_rounds - 1):
            with cluster.killing(monkeypatch, number):
                model.fit(rows, y)
            same_state(model.to_local(), plain)
