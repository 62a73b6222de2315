"""The perceptron on Dask has the bits of the plain fit, for any partitions, and whatever worker dies."""

import warnings

import numpy as np
import pytest
from clusters import client, cluster, cuts, same_bits, same_state
from scipy import sparse

import fastclf

N = 6_011
RNG = np.random.default_rng(6)
X = RNG.standard_normal((N, 5)) + 0.3
Y = np.array(["ant", "bee", "cicada"])[np.abs(X @ RNG.standard_normal((5, 3))).argmax(axis=1)]
WEIGHT = RNG.random(N) * (RNG.random(N) < 0.9)
SIZES = cuts(N)
CYCLIC = {"order": "cyclic", "max_iter": 4}


def fitted(cluster, rows, y, sizes, weight=None, **parameters):
    """The plain perceptron and `to_local` of the one on Dask, both fitted to the same rows."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        own = fastclf.Perceptron(**parameters).fit(rows, y, sample_weight=weight)
        more = None if weight is None else cluster.cut(weight, [N // 2, N - N // 2])
        model = cluster.module.Perceptron(**parameters).fit(
            cluster.cut(rows, sizes), cluster.cut(y, sizes), sample_weight=more
        )
    return model.to_local(), own


@pytest.mark.parametrize("kind", SIZES)
def test_the_ring_has_the_bits_of_the_plain_fit_for_any_partitions(cluster, kind):
    local, own = fitted(cluster, X, Y, SIZES[kind], **CYCLIC | {"max_iter": 2 if "64" in kind else 4})
    same_state(local, own)
    same_bits(local.predict(X), own.predict(X))


@pytest.mark.parametrize(
    "parameters",
    [
        {"order": "batch", "max_iter": 3},
        {"order": "batch", "max_iter": 3, "multi_class": "joint"},
        {"shuffle": False, "max_iter": 3},
        CYCLIC | {"multi_class": "joint", "start": "random"},
        CYCLIC | {"average": "averaged", "eta0": 0.3, "class_weight": "balanced"},
        CYCLIC | {"average": "voted", "max_iter": 2},
        CYCLIC | {"fit_intercept": False, "n_jobs": 2},
        {"shuffle": False, "penalty": "elasticnet", "max_iter": 3},
    ],
    ids=str,
)
def test_parameters_and_weights_keep_the_bits(cluster, parameters):
    for weight in (None, WEIGHT):
        same_state(*fitted(cluster, X, Y, SIZES["uneven"], weight, **parameters))


@pytest.mark.parametrize("average", ["none", "voted"])
@pytest.mark.parametrize(
    "rows", [X.astype(np.float32), sparse.csr_array(X * (X > 0.5)), sparse.csr_array((X > 0.5) * 1.0)]
)
def test_kinds_of_rows_keep_the_bits(cluster, rows, average):
    for y in (Y, Y == "bee"):
        same_state(
            *fitted(cluster, rows, y, SIZES["empty and of one row"], average=average, **CYCLIC | {"max_iter": 2})
        )


def test_rows_that_are_separable_end_with_the_same_proof(cluster):
    y = X[:, 0] + X[:, 1] > 0.4
    far = np.abs(X[:, 0] + X[:, 1] - 0.4) > 0.2
    rows, y = X[far], y[far]
    sizes = [len(rows) // 3, len(rows) - len(rows) // 3]
    local, own = fitted(cluster, rows, y, sizes, order="cyclic", max_iter=200)
    assert own.converged_
    assert own.mistake_bound_ >= own.n_mistakes_
    same_state(local, own)


def test_first_weights_and_a_warm_start_keep_the_bits(cluster):
    rows, y, sizes = X[:999], Y[:999], [400, 599]
    given = RNG.standard_normal((3, 5))
    own = fastclf.Perceptron(warm_start=True, **CYCLIC)
    model = cluster.module.Perceptron(warm_start=True, **CYCLIC)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for first in (given, None):
            own.fit(rows, y, coef_init=first)
            model.fit(cluster.cut(rows, sizes), cluster.cut(y, sizes), coef_init=first)
            same_state(model.to_local(), own)


def test_a_killed_worker_changes_no_bit_of_the_perceptron(cluster, monkeypatch):
    rows, y = cluster.cut(X, SIZES["7 partitions"]), cluster.cut(Y, SIZES["7 partitions"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        own = fastclf.Perceptron(**CYCLIC).fit(X, Y)
        for number in (0, 2, 4):
            with cluster.killing(monkeypatch, number):
                model = cluster.module.Perceptron(**CYCLIC).fit(rows, y)
            same_state(model.to_local(), own)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({}, "order is None, but a cluster visits its rows in their order"),
        ({"order": "random"}, "'cyclic', 'batch' or shuffle=False is wanted"),
        (CYCLIC | {"average": "pocket"}, "average is 'pocket'"),
        (CYCLIC | {"start": "centroids"}, "start is 'centroids'"),
        (CYCLIC | {"early_stopping": True}, "early_stopping is True"),
        (CYCLIC | {"eta0": 0}, "eta0 is 0"),
    ],
)
def test_what_a_ring_cannot_do_is_refused(cluster, parameters, message):
    with pytest.raises(ValueError, match=message):
        cluster.module.Perceptron(**parameters).fit(cluster.cut(X, [N]), cluster.cut(Y, [N]))


def test_a_bad_entry_is_refused_with_its_partition(cluster):
    bad = X.copy()
    bad[5_000, 3] = np.nan
    with pytest.raises(ValueError, match=r"in partition 1.*Input X contains NaN"):
        cluster.module.Perceptron(**CYCLIC).fit(cluster.cut(bad, [3_000, N - 3_000]), cluster.cut(Y, [N]))
