"""Support vector machines on Dask are those of the plain fit, bit for bit, for any partitions and dying workers."""

import numpy as np
import pytest
from clusters import client, cut, cuts, killing, same_bits, same_state, two_workers  # noqa: F401 (a fixture)
from scipy import sparse

import fastclf
import fastclf.dask
from fastclf.dask.places import DaskPlaces
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


def require_same(name, rows, y, sizes, weight=None, **parameters):
    plain = getattr(fastclf, name)(**parameters).fit(rows, y, weight)
    ours = getattr(fastclf.dask, name)(**parameters)
    columns = None if weight is None else cut(weight, [N // 2, N - N // 2])
    same_state(ours.fit(cut(rows, sizes), cut(y, sizes), columns).to_local(), plain)
    return ours


@pytest.mark.parametrize("kind", cuts(N))
def test_machines_are_those_of_the_plain_fit_for_any_partitions(client, kind):  # noqa: F811
    require_same("SVC", X, Y, cuts(N)[kind])
    require_same("LinearSVC", X, Y, cuts(N)[kind])


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
def test_kernels_and_other_parameters_are_the_same(client, parameters):  # noqa: F811
    require_same("SVC", X, Y, UNEVEN, **parameters)
    require_same("SVC", X.astype(np.float32), TWO, UNEVEN, WEIGHT, **parameters)


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
def test_linear_machines_with_other_parameters_are_the_same(client, parameters):  # noqa: F811
    require_same("LinearSVC", X, Y, UNEVEN, **parameters)
    ours = require_same("LinearSVC", X.astype(np.float32), TWO, UNEVEN, WEIGHT, **parameters)
    assert ours.violation_ <= ours.tol


def test_sparse_partitions_and_weights_are_the_same(client):  # noqa: F811
    for name in ("SVC", "LinearSVC"):
        require_same(name, SPARSE, Y, UNEVEN, WEIGHT)


def test_pairs_that_are_too_large_for_one_matrix_are_the_same(client):  # noqa: F811
    # with a cache of 0.1 MB, the kernel matrix of a working set has 64 rows at most
    require_same("SVC", X, Y, UNEVEN, cache_size=0.1, C=10)
    require_same("SVC", X, TWO, UNEVEN, cache_size=0.1, C=10, kernel="linear")


def test_the_sum_for_gamma_is_cut_at_the_blocks_of_the_plain_fit(client, monkeypatch):  # noqa: F811
    wide = RNG.standard_normal((40, 40_000)).astype(np.float32)
    ours = fastclf.dask.SVC().fit(cut(wide, [9, 31]), cut(Y[:40], [9, 31]))
    same_state(ours.to_local(), fastclf.SVC().fit(wide, Y[:40]))


def test_the_proof_is_that_of_all_rows(client):  # noqa: F811
    ours = fastclf.dask.SVC(tol=1e-4).fit(cut(X, UNEVEN), cut(Y, UNEVEN))
    assert ours.to_local().kkt_violation(X, Y) <= 1.01e-4
    assert ours.violation_ <= 1e-4


def test_answers_for_collections_are_lazy(client):  # noqa: F811
    rows = cut(X, UNEVEN)
    ours, plain = fastclf.dask.SVC().fit(rows, cut(Y, UNEVEN)), fastclf.SVC().fit(X, Y)
    lazy = ours.predict(rows)
    assert hasattr(lazy, "dask")
    same_bits(lazy.compute(), plain.predict(X))
    assert ours.score(rows, cut(Y, UNEVEN)) == plain.score(X, Y)


def test_a_pair_that_is_left_goes_on_from_where_the_methods_for_few_rows_ended(client):  # noqa: F811
    """A hard problem, whose steps are slow, with more rows than a working set may have."""
    assert pairs.limits_of({"cache_bytes": 1e5, "tol": 1e-3, "max_iter": 9, "shrinking": True, "threads": 1}, np.dtype(
        np.float64
    ), 3, 1).largest_set < N // 2  # fmt: skip
    hard = X * [1, 10, 1, 0.1, 1]
    require_same("SVC", hard, Y, UNEVEN, kernel="linear", C=1000, cache_size=0.1)


def test_wrong_data_and_what_is_not_offered_are_refused_in_one_sentence(client):  # noqa: F811
    rows, y = cut(X, [N // 2, N - N // 2]), cut(Y, [N // 2, N - N // 2])
    for parameters, told in (
        ({"kernel": "precomputed"}, "the name of a kernel"),
        ({"budget": 3.0}, "budget is 3.0"),
        ({"probability": True}, "probability is True"),
        ({"warm_start": True}, "warm_start is True"),
        ({"C": -1}, "C"),
    ):
        with pytest.raises(ValueError, match=told):
            fastclf.dask.SVC(**parameters).fit(rows, y)
    for name in ("SVC", "LinearSVC"):
        with pytest.raises(ValueError, match="one class"):
            getattr(fastclf.dask, name)().fit(rows, cut(np.repeat("ant", N), [N]))
        with pytest.raises(ValueError, match="sample_weight is zero for every row"):
            getattr(fastclf.dask, name)().fit(rows, y, rows[:, 2] * 0)


@pytest.mark.parametrize("name", ["SVC", "LinearSVC"])
def test_a_worker_that_dies_in_the_first_a_middle_or_the_last_round_changes_no_bit(monkeypatch, name):
    plain, model = getattr(fastclf, name)().fit(X, Y), getattr(fastclf.dask, name)()
    plain_get, seen = DaskPlaces.get, []
    with two_workers() as own:
        rows, y = cut(X, cuts(N)["7 partitions"]), cut(Y, cuts(N)["7 partitions"])
        with monkeypatch.context() as patch:
            patch.setattr(DaskPlaces, "get", lambda self, refs: seen.append(1) or plain_get(self, refs))
            model.fit(rows, y)
        for number in (0, len(seen) // 2, len(seen) - 1):
            with killing(monkeypatch, own, number):
                model.fit(rows, y)
            same_state(model.to_local(), plain)
