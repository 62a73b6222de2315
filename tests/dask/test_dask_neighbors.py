"""Nearest neighbours on Dask are those of one machine, with ties across workers, masks, and rows as queries."""

import numpy as np
import pytest
from clusters import client, cluster, cuts, same_bits

import fastclf

N = 1500
RNG = np.random.default_rng(0)
X = RNG.integers(0, 4, (N, 4)).astype(np.float32)  # each point occurs about 6 times, so that most neighbours are tied
Y = np.array(["ant", "bee", "cicada"])[RNG.integers(0, 3, N)]
NUMBERS = RNG.standard_normal((N, 2))
QUERIES = RNG.integers(0, 4, (200, 4)) + RNG.integers(0, 2, (200, 4)) / 2
MASK = RNG.random(N) < 0.4


@pytest.mark.parametrize("kind", cuts(N))
def test_neighbours_are_those_of_one_machine_for_any_partitions(cluster, kind):
    plain = fastclf.NearestNeighbors(n_neighbors=13).fit(X)
    model = cluster.module.NearestNeighbors(n_neighbors=13).fit(cluster.cut(X, cuts(N)[kind]))
    same_bits(model.kneighbors(QUERIES), plain.kneighbors(QUERIES))
    if "7" in kind or "empty" in kind:
        same_bits(model.kneighbors(QUERIES, mask=MASK), plain.kneighbors(QUERIES, mask=MASK))
        same_bits(model.kneighbors(QUERIES, 1200), plain.kneighbors(QUERIES, 1200))
        same_bits(model.kneighbors(), plain.kneighbors())
        same_bits(model.kneighbors(n_neighbors=N - 1), plain.kneighbors(n_neighbors=N - 1))
        same_bits(model.radius_neighbors(QUERIES, 1.5), plain.radius_neighbors(QUERIES, 1.5))
        by_distance = model.radius_neighbors(None, 1.0, sort_results=True, mask=MASK)
        same_bits(by_distance, plain.radius_neighbors(None, 1.0, sort_results=True, mask=MASK))
        assert (model.kneighbors_graph(QUERIES) != plain.kneighbors_graph(QUERIES)).nnz == 0


def test_answers_for_collections_are_lazy_and_the_same(cluster):
    plain = fastclf.KNeighborsClassifier().fit(X, Y)
    model = cluster.module.KNeighborsClassifier().fit(cluster.cut(X, [700, 800]), cluster.cut(Y, [700, 800]))
    queries = cluster.cut(QUERIES, [50, 0, 149, 1], 2)
    labels = model.predict(queries)
    assert cluster.is_lazy(labels)
    assert labels.dtype == Y.dtype
    same_bits(labels.compute(), plain.predict(QUERIES))
    same_bits(model.predict_proba(queries).compute(), plain.predict_proba(QUERIES))
    same_bits([part.compute() for part in model.kneighbors(queries)], list(plain.kneighbors(QUERIES)))


def test_lazy_answers_know_their_shape(cluster):
    labels = cluster.module.KNeighborsClassifier().fit(cluster.cut(X, [N]), cluster.cut(Y, [N]))
    labels = labels.predict(cluster.cut(QUERIES, [50, 0, 149, 1], 2))
    assert (labels.shape, labels.chunks) == ((200,), ((50, 149, 1),))


@pytest.mark.parametrize("weights", ["uniform", "distance", lambda distances: 1 / (1 + distances)])
def test_votes_and_means_are_those_of_one_machine(cluster, weights):
    sizes = cuts(N)["empty and of one row"]
    rows = cluster.cut(X, sizes)
    for ties in ("first", "distance"):
        plain = fastclf.KNeighborsClassifier(8, weights=weights, ties=ties).fit(X, Y)
        model = cluster.module.KNeighborsClassifier(8, weights=weights, ties=ties).fit(
            rows, cluster.cut(Y, [N // 2, N // 2])
        )
        same_bits(model.predict(QUERIES), plain.predict(QUERIES))
        same_bits(model.predict_proba(None), plain.predict_proba(None))
        same_bits(model.predict(QUERIES, mask=MASK), plain.predict(QUERIES, mask=MASK))
        same_bits(model.classes_, plain.classes_)
    for y in (NUMBERS, NUMBERS[:, 0]):
        plain = fastclf.KNeighborsRegressor(8, weights=weights).fit(X, y)
        model = cluster.module.KNeighborsRegressor(8, weights=weights).fit(rows, cluster.cut(y, sizes))
        same_bits(model.predict(QUERIES), plain.predict(QUERIES))


WEIGHT = np.where(RNG.random(N) < 0.2, 0, RNG.integers(1, 4, N)).astype(float)


@pytest.mark.parametrize("weight", [WEIGHT, WEIGHT / 3 + RNG.random(N) * (WEIGHT > 0)])
def test_sample_weights_are_multiplicities_as_on_one_machine(cluster, weight, tmp_path):
    sizes = cuts(N)["empty and of one row"]
    rows, weights = cluster.cut(X, sizes), cluster.cut(weight, [N // 3, N - N // 3])
    for votes in ("uniform", "distance", lambda distances: 1 / (1 + distances)):
        plain = fastclf.KNeighborsClassifier(9, weights=votes).fit(X, Y, weight)
        model = cluster.module.KNeighborsClassifier(9, weights=votes).fit(rows, cluster.cut(Y, [N]), weights)
        same_bits(model.predict(QUERIES), plain.predict(QUERIES))
        same_bits(model.predict_proba(None), plain.predict_proba(None))
        same_bits(model.predict_proba(QUERIES, mask=MASK), plain.predict_proba(QUERIES, mask=MASK))
        same_bits(model.kneighbors(QUERIES, 30), plain.kneighbors(QUERIES, 30))
        plain = fastclf.KNeighborsRegressor(9, weights=votes).fit(X, NUMBERS, weight)
        model = cluster.module.KNeighborsRegressor(9, weights=votes).fit(rows, cluster.cut(NUMBERS, sizes), weights)
        same_bits(model.predict(cluster.cut(QUERIES, [99, 101])).compute(), plain.predict(QUERIES))
        same_bits(model.to_local().predict(QUERIES), plain.predict(QUERIES))
    model = cluster.module.KNeighborsRegressor(9).fit(rows, cluster.cut(NUMBERS, sizes), weights)
    model.save(tmp_path)
    wanted = fastclf.KNeighborsRegressor(9).fit(X, NUMBERS, weight).predict(QUERIES)
    same_bits(cluster.module.load(tmp_path).predict(QUERIES), wanted)


def test_weights_that_do_not_add_up_to_k_are_refused_as_on_one_machine(cluster):
    model = cluster.module.KNeighborsClassifier(5).fit(
        cluster.cut(X, [N]), cluster.cut(Y, [N]), cluster.cut(WEIGHT / 1000, [N])
    )
    plain = fastclf.KNeighborsClassifier(5).fit(X, Y, WEIGHT / 1000)
    for queries, k in ((QUERIES, N), (None, 3)):
        told = []
        for each in (plain, model):
            with pytest.raises(ValueError, match="but the sample weights add up to") as refused:
                each.set_params(n_neighbors=k).predict(queries)
            told.append(str(refused.value))
        assert told[0] == told[1]
    with pytest.raises(ValueError, match="sample_weight is zero for every row"):
        cluster.module.KNeighborsClassifier(5).fit(
            cluster.cut(X, [N]), cluster.cut(Y, [N]), cluster.cut(WEIGHT * 0, [N])
        )


@pytest.mark.parametrize("weights", ["uniform", "distance", lambda distances: [1 / (1 + each) for each in distances]])
def test_votes_within_a_radius_are_those_of_one_machine(cluster, weights, tmp_path):
    sizes = cuts(N)["empty and of one row"]
    rows, queries = cluster.cut(X, sizes), np.concatenate([QUERIES, [[99.0] * 4]])
    for weight, options in ((None, {"outlier_label": "most_frequent"}), (WEIGHT, {"outlier_label": "ant"})):
        weighted = None if weight is None else cluster.cut(weight, [N])
        votes = fastclf.RadiusNeighborsClassifier(0.9, weights=weights, **options).fit(X, Y, weight)
        model = cluster.module.RadiusNeighborsClassifier(0.9, weights=weights, **options)
        model.fit(rows, cluster.cut(Y, [N // 2, N // 2]), weighted)
        assert model.outlier_label_ == votes.outlier_label_
        same_bits(model.predict(queries), votes.predict(queries))
        same_bits(model.predict(cluster.cut(queries, [99, 0, 102])).compute(), votes.predict(queries))
        same_bits(model.predict_proba(None, mask=MASK), votes.predict_proba(None, mask=MASK))
        same_bits(model.radius_neighbors(queries), votes.radius_neighbors(queries))
        means = fastclf.RadiusNeighborsRegressor(0.9, weights=weights).fit(X, NUMBERS, weight)
        model = cluster.module.RadiusNeighborsRegressor(0.9, weights=weights).fit(
            rows, cluster.cut(NUMBERS, sizes), weighted
        )
        same_bits(model.predict(QUERIES), means.predict(QUERIES))
        with pytest.warns(match="predicting NaN"):
            same_bits(model.predict(queries), means.predict(queries))
        same_bits(model.to_local().predict(QUERIES), means.predict(QUERIES))
    if not callable(weights):
        model.save(tmp_path)
        same_bits(cluster.module.load(tmp_path).predict(QUERIES), means.predict(QUERIES))


def test_outliers_and_several_outputs_within_a_radius_are_as_on_one_machine(cluster):
    y, sizes = np.column_stack([Y, RNG.permutation(Y)]), cuts(N)["7 partitions"]
    plain = fastclf.RadiusNeighborsClassifier(0.9, outlier_label=["bee", "ant"]).fit(X, y)
    model = cluster.module.RadiusNeighborsClassifier(0.9, outlier_label=["bee", "ant"]).fit(
        cluster.cut(X, sizes), cluster.cut(y, sizes)
    )
    same_bits(model.predict(QUERIES), plain.predict(QUERIES))
    same_bits(model.predict_proba(QUERIES), plain.predict_proba(QUERIES))
    model = cluster.module.RadiusNeighborsClassifier(0.9).fit(cluster.cut(X, [N]), cluster.cut(Y, [N]))
    with pytest.raises(ValueError, match=r"No neighbors found for test samples \[1\]"):
        model.predict([[0.0] * 4, [99.0] * 4])


def test_several_outputs_and_densities_are_those_of_one_machine(cluster):
    sizes = cuts(N)["7 partitions"]
    y = np.column_stack([Y, RNG.permutation(Y)])
    plain = fastclf.KNeighborsClassifier().fit(X, y)
    model = cluster.module.KNeighborsClassifier().fit(cluster.cut(X, sizes), cluster.cut(y, sizes))
    same_bits(model.predict(QUERIES), plain.predict(QUERIES))
    same_bits(model.predict(cluster.cut(QUERIES, [99, 101])).compute(), plain.predict(QUERIES))
    same_bits(model.predict_proba(QUERIES), plain.predict_proba(QUERIES))
    plain, model = fastclf.KNeighborsDensity(9).fit(X), cluster.module.KNeighborsDensity(9).fit(cluster.cut(X, sizes))
    for queries, mask in ((QUERIES, None), (None, None), (QUERIES, MASK)):
        same_bits(model.score_samples(queries, mask=mask), plain.score_samples(queries, mask=mask))


def test_to_local_is_the_plain_estimator(cluster):
    model = cluster.module.KNeighborsClassifier().fit(
        cluster.cut(X, cuts(N)["uneven"]), cluster.cut(Y, cuts(N)["uneven"])
    )
    same_bits(model.to_local().kneighbors(QUERIES), fastclf.KNeighborsClassifier().fit(X, Y).kneighbors(QUERIES))
    same_bits(model.to_local().predict(QUERIES), fastclf.KNeighborsClassifier().fit(X, Y).predict(QUERIES))


@pytest.mark.parametrize("number", [0, 1])
def test_a_worker_killed_in_a_search_or_between_two_changes_no_answer(cluster, monkeypatch, number):
    rows = cluster.cut(X, cuts(N)["7 partitions"])
    model, wanted = cluster.module.NearestNeighbors().fit(rows), fastclf.NearestNeighbors().fit(X).kneighbors(QUERIES)
    with cluster.killing(monkeypatch, number):
        first, second = model.kneighbors(QUERIES), model.kneighbors(QUERIES)
    same_bits(first, wanted)
    same_bits(second, wanted)


def test_saved_shards_are_loaded_by_another_cluster(cluster, tmp_path):
    sizes = cuts(N)["7 partitions"]
    for name, y in (("KNeighborsClassifier", Y), ("KNeighborsRegressor", NUMBERS)):
        model = getattr(cluster.module, name)(7, weights="distance").fit(cluster.cut(X, sizes), cluster.cut(y, sizes))
        model.save(tmp_path / name)
        loaded = cluster.module.load(tmp_path / name)
        assert loaded.get_params() == model.get_params()
        same_bits(loaded.predict(QUERIES), getattr(fastclf, name)(7, weights="distance").fit(X, y).predict(QUERIES))


def test_wrong_arguments_are_refused_with_one_sentence(cluster):
    model = cluster.module.KNeighborsClassifier().fit(cluster.cut(X, [N]), cluster.cut(Y, [N]))
    with pytest.raises(ValueError, match="n_neighbors = 1501, n_samples_fit = 1500"):
        model.kneighbors(QUERIES, N + 1)
    with pytest.raises(ValueError, match="expecting 4 features"):
        model.predict(QUERIES[:, :3])
    with pytest.raises(ValueError, match="mask has dtype int64"):
        model.predict(QUERIES, mask=MASK.astype(int))
    with pytest.raises(ValueError, match="not fitted yet"):
        cluster.module.KNeighborsClassifier().predict(QUERIES)
    with pytest.raises(ValueError, match="in partition 1: Input X contains NaN"):
        cluster.module.NearestNeighbors().fit(cluster.cut(np.concatenate([X, X[:1] * np.nan]), [N, 1]))
