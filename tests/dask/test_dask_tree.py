"""Trees on Dask are those of the plain fit, bit for bit, for any partitions, and whatever worker dies."""

import numpy as np
import pandas as pd
import pytest
from clusters import client, cluster, cuts, rounds, same_bits, same_state

import fastclf
import fastclf.dask.tree as grown_by_columns

N = 1003
RNG = np.random.default_rng(0)
X = RNG.standard_normal((N, 6))
X[:, 2] = 7  # a constant column
X[:, 3] = np.round(X[:, 3])  # a column in which half of the rows have one of two values
X[:, 5] = X[:, 0]  # the last column, which another worker sorts, ties with the first one
Y = np.array(["ant", "bee", "cicada"])[(X[:, 0] > 0.1).astype(int) + (X[:, 3] + X[:, 4] > 0) * (RNG.random(N) < 0.9)]
NUMBERS = X[:, 0] + X[:, 3] ** 2 + 0.3 * RNG.standard_normal(N)
WEIGHT = RNG.random(N) * (RNG.random(N) < 0.9)
UNEVEN = [400, 0, 1, N - 401]


def pair(cluster, name, **parameters):
    return getattr(fastclf, name)(**parameters), getattr(cluster.module, name)(**parameters)


def require_same(cluster, models, X, y, sizes, weight=None):
    plain, ours = models
    plain.fit(X, y, weight)
    columns = None if weight is None else cluster.cut(weight, [N // 2, N - N // 2])
    same_state(ours.fit(cluster.cut(X, sizes, 4), cluster.cut(y, sizes), columns).to_local(), plain)


@pytest.fixture
def by_levels(monkeypatch):
    """Nodes with more than a tenth of the rows are split by all workers."""
    monkeypatch.setattr(grown_by_columns, "_LEAST_CELLS", 0)
    monkeypatch.setattr(grown_by_columns, "_SHARE", 0.2)


@pytest.mark.parametrize("kind", cuts(N))
def test_trees_are_those_of_the_plain_fit_for_any_partitions(cluster, by_levels, kind):
    require_same(cluster, pair(cluster, "DecisionTreeClassifier"), X, Y, cuts(N)[kind])
    require_same(cluster, pair(cluster, "DecisionTreeRegressor"), X, NUMBERS, cuts(N)[kind])


@pytest.mark.parametrize(
    "parameters",
    [
        {"criterion": "entropy"},
        {"criterion": "misclassification", "max_depth": 8},
        {"max_features": 2, "random_state": 3},
        {"min_impurity_decrease": 0.01, "class_weight": "balanced"},
        {"max_leaf_nodes": 9, "min_samples_leaf": 0.01},
        {"ccp_alpha": 0.002, "min_weight_fraction_leaf": 0.002},
    ],
    ids=str,
)
def test_classifiers_with_other_parameters_are_the_same(cluster, by_levels, parameters):
    require_same(cluster, pair(cluster, "DecisionTreeClassifier", **parameters), X.astype(np.float32), Y, UNEVEN)
    require_same(cluster, pair(cluster, "DecisionTreeClassifier", **parameters), X, Y, UNEVEN, WEIGHT)


@pytest.mark.parametrize(
    "parameters",
    [
        {"criterion": "absolute_error", "max_depth": 5},
        {"criterion": "poisson", "min_samples_leaf": 3},
        {"monotonic_cst": [1, 0, 0, -1, 0, 0]},
    ],
    ids=str,
)
def test_regressors_with_other_parameters_are_the_same(cluster, by_levels, parameters):
    require_same(
        cluster, pair(cluster, "DecisionTreeRegressor", **parameters), X.astype(np.float32), abs(NUMBERS), UNEVEN
    )
    require_same(cluster, pair(cluster, "DecisionTreeRegressor", **parameters), X, abs(NUMBERS), UNEVEN, WEIGHT)


def test_several_outputs_are_the_same(cluster, by_levels):
    labels = np.column_stack([Y, np.where(X[:, 4] > 0, "up", "down")])
    require_same(cluster, pair(cluster, "DecisionTreeClassifier", max_depth=6), X, labels, UNEVEN)
    require_same(
        cluster, pair(cluster, "DecisionTreeRegressor"), X, np.column_stack([NUMBERS, X[:, 4]]), UNEVEN, WEIGHT
    )


def test_columns_with_a_common_value_are_the_same_although_only_one_worker_has_them(cluster, by_levels):
    some = X.copy()
    some[RNG.random(N) < 0.6, 1] = 0
    require_same(cluster, pair(cluster, "DecisionTreeRegressor"), some, NUMBERS, UNEVEN)
    require_same(cluster, pair(cluster, "DecisionTreeClassifier", criterion="entropy"), some[:, ::-1].copy(), Y, UNEVEN)


def test_missing_values_are_the_same(cluster, by_levels):
    some = X.copy()
    some[RNG.random(N) < 0.2, 0] = np.nan
    some[NUMBERS > 1, 4] = np.nan
    models = pair(cluster, "DecisionTreeRegressor")
    require_same(cluster, models, some, NUMBERS, UNEVEN)
    assert models[1].features_with_missing_.tolist() == [True, False, False, False, True, False]


def test_small_data_are_grown_by_one_worker(cluster):
    for n in (1, 2, 50, N):
        models = pair(cluster, "DecisionTreeRegressor")
        models[0].fit(X[:n, :1], NUMBERS[:n])
        same_state(models[1].fit(cluster.cut(X[:n, :1], [n]), cluster.cut(NUMBERS[:n], [n])).to_local(), models[0])


def test_ties_between_columns_of_different_workers_go_to_the_first_column(cluster, by_levels):
    model = cluster.module.DecisionTreeClassifier(max_depth=4).fit(
        cluster.cut(X[:, [5, 2, 0]], [N]), cluster.cut(Y, [N])
    )
    assert model.tree_.feature.max() == 0


def test_categories_of_dataframes_are_the_same(cluster, by_levels):
    table = pd.DataFrame(X[:, :3], columns=list("abc"))
    table["kind"] = pd.Categorical(np.array(["u", "v", "w", "x"])[RNG.integers(0, 4, N)])
    y = NUMBERS + (table["kind"] == "w") * 3
    frame = cluster.table(table, 3)
    table = frame.compute()  # Dask's dataframes have another type of strings
    models = pair(cluster, "DecisionTreeRegressor", min_samples_leaf=5)
    models[0].fit(table, y)
    models[1].fit(frame, cluster.table(y, 3))
    same_state(models[1].to_local(), models[0])
    same_bits(models[1].predict(frame).compute(), models[0].predict(table))


def test_answers_for_collections_are_lazy(cluster):
    plain, ours = pair(cluster, "DecisionTreeClassifier", max_depth=4)
    plain.fit(X, Y)
    rows = cluster.cut(X, UNEVEN)
    ours.fit(rows, cluster.cut(Y, UNEVEN))
    for method in ("predict", "predict_proba", "apply"):
        lazy = getattr(ours, method)(rows)
        assert cluster.is_lazy(lazy)
        same_bits(lazy.compute(), getattr(plain, method)(X))
    assert ours.score(rows, cluster.cut(Y, UNEVEN)) == plain.score(X, Y)


def test_a_worker_that_dies_in_the_first_a_middle_or_the_last_round_changes_no_bit(
    cluster,
    by_levels,
    monkeypatch,
):
    plain = fastclf.DecisionTreeRegressor(max_depth=5).fit(X, NUMBERS)
    rows, y = cluster.cut(X, cuts(N)["7 partitions"]), cluster.cut(NUMBERS, cuts(N)["7 partitions"])
    model = cluster.module.DecisionTreeRegressor(max_depth=5)
    n_rounds = rounds(cluster, monkeypatch, lambda: model.fit(rows, y))
    for number in (0, n_rounds // 2, n_rounds - 1):
        with cluster.killing(monkeypatch, number):
            model.fit(rows, y)
        same_state(model.to_local(), plain)


def test_a_round_has_few_tasks_and_no_rows_for_the_scheduler(cluster, by_levels, monkeypatch):
    calls, plain_call, plain_get, most = [], cluster.Places.call, cluster.Places.get, []

    def call(self, f, *args, near=None):
        calls.append(f.__name__)
        return plain_call(self, f, *args, near=near)

    def get(self, refs):
        most.append(calls.count("searched"))
        return plain_get(self, refs)

    monkeypatch.setattr(cluster.Places, "call", call)
    monkeypatch.setattr(cluster.Places, "get", get)
    cluster.module.DecisionTreeClassifier().fit(
        cluster.cut(X, cuts(N)["64 partitions"]), cluster.cut(Y, cuts(N)["64 partitions"])
    )
    levels = calls.count("searched") / 2
    assert levels >= 3
    assert calls.count("advanced") == 2 * levels
    assert calls.count("divided") <= 2 * levels
    assert len(calls) <= 2 * 4 * levels + 2 * 20


def test_wrong_data_and_what_is_not_offered_are_refused_in_one_sentence(cluster):
    rows, y = cluster.cut(X, [N // 2, N - N // 2]), cluster.cut(Y, [N // 2, N - N // 2])
    with pytest.raises(ValueError, match="ccp_alpha is 'cv'"):
        cluster.module.DecisionTreeClassifier(ccp_alpha="cv").fit(rows, y)
    with pytest.raises(ValueError, match="splitter is 'random'"):
        cluster.module.DecisionTreeClassifier(splitter="random").fit(rows, y)
    with pytest.raises(ValueError, match="max_depth"):
        cluster.module.DecisionTreeClassifier(max_depth=0).fit(rows, y)
    wrong = X.copy()
    wrong[N - 1, 0] = np.inf
    with pytest.raises(ValueError, match=r"in partition 1: .*infinity"):
        cluster.module.DecisionTreeClassifier().fit(cluster.cut(wrong, [N // 2, N - N // 2]), y)
    with pytest.raises(ValueError, match="sample_weight is zero for every row"):
        cluster.module.DecisionTreeClassifier().fit(rows, y, cluster.cut(np.zeros(N), [N]))
