"""Ids of rows stay with their rows while rows are added and removed: no caller keeps a map from numbers to ids."""

import copy
import pickle

import numpy as np
import pytest
from sklearn.base import clone

import fastclf
from fastclf import KNeighborsClassifier, KNeighborsDensity, KNeighborsRegressor, NearestNeighbors
from fastclf.neighbors import RadiusNeighborsClassifier, RadiusNeighborsRegressor
from fastclf.neighbors.row_ids import RowIds

pytestmark = pytest.mark.once

RNG = np.random.default_rng(0)
X = RNG.standard_normal((60, 3))
Y = RNG.integers(0, 3, 60)
INTS = RNG.permutation(10_000)[:60] - 5000
TEXTS = np.array([f"id-{i}" + "x" * (i % 5) for i in INTS])

MODELS = [
    NearestNeighbors(n_neighbors=4, radius=1.5),
    KNeighborsClassifier(4),
    KNeighborsRegressor(4),
    RadiusNeighborsClassifier(1.5, outlier_label=0),
    RadiusNeighborsRegressor(1.5),
]


def named(model):
    return type(model).__name__


def fit(model, rows, ids=None, how="fit"):
    y = () if isinstance(model, NearestNeighbors) else (Y[rows],)
    return getattr(model, how)(X[rows], *y, ids=None if ids is None else ids[rows])


@pytest.mark.parametrize("ids", [INTS, TEXTS], ids=["ints", "texts"])
@pytest.mark.parametrize("model", MODELS, ids=named)
def test_every_history_of_rows_answers_with_the_ids_of_a_map(model, ids):
    rng = np.random.default_rng(1)
    model = clone(model)
    there = list(range(20))
    fit(model, there, ids)
    waiting = list(range(20, 60))
    for step in range(60):
        if step % 3 == 0 or len(there) < 8:
            rows = [waiting.pop() for _ in range(min(len(waiting), int(rng.integers(1, 5))))]
            if rows:
                fit(model, rows, ids, "partial_fit")
                there += rows
        else:
            gone = rng.permutation(there)[: rng.integers(1, 3)].tolist()
            if step % 2:
                model.remove(ids=ids[gone])
            else:
                model.remove([there.index(row) for row in gone])
            there = [row for row in there if row not in gone]
            waiting += gone
        assert model.ids_.tolist() == ids[there].tolist()
        some = rng.permutation(there)[:3]
        assert model.rows_of(ids[some]).tolist() == [there.index(row) for row in some]
        queries = X[rng.integers(0, 60, 5)] + 0.1
        if hasattr(model, "kneighbors"):
            distances, numbers = model.kneighbors(queries)
            again, found = model.kneighbors(queries, return_ids=True)
            assert np.array_equal(distances, again)
            assert np.array_equal(found, ids[np.array(there)[numbers]])
            assert np.array_equal(model.kneighbors(queries, return_distance=False, return_ids=True), found)
        if hasattr(model, "radius_neighbors"):
            distances, numbers = model.radius_neighbors(queries, sort_results=True)
            again, found = model.radius_neighbors(queries, sort_results=True, return_ids=True)
            for given, number, answer, other in zip(distances, numbers, found, again):
                assert np.array_equal(given, other)
                assert np.array_equal(answer, ids[np.array(there)[number]])


@pytest.mark.parametrize("model", MODELS, ids=named)
def test_ids_change_no_answer(model):
    plain, other = (fit(clone(model), slice(0, 40), ids) for ids in (None, TEXTS))
    plain.remove([3, 5])
    other.remove(ids=TEXTS[[5, 3]])
    if hasattr(model, "predict"):
        assert np.array_equal(plain.predict(X), other.predict(X))
    else:
        assert np.array_equal(plain.kneighbors(X)[1], other.kneighbors(X)[1])


@pytest.mark.parametrize("ids", [INTS, TEXTS], ids=["ints", "texts"])
def test_ids_are_saved_loaded_copied_and_pickled(ids, tmp_path):
    model = fit(KNeighborsClassifier(3), slice(0, 30), ids).remove(ids=ids[7])
    fit(model, slice(30, 33), ids, "partial_fit")
    fastclf.save(model, tmp_path / "model")
    for other in (fastclf.load(tmp_path / "model"), pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        assert np.array_equal(other.ids_, model.ids_)
        fit(other, slice(40, 45), ids, "partial_fit").remove(ids=ids[[0, 42]])
        assert other.rows_of(ids[[1, 40, 44]]).tolist() == [0, 31, 34]
        expected = other.ids_[other.kneighbors(X)[1]]
        assert np.array_equal(other.kneighbors(X, return_ids=True)[1], expected)
    assert len(model.ids_) == 32


def test_a_copy_keeps_its_ids_when_the_original_changes():
    model = fit(NearestNeighbors(n_neighbors=1), slice(0, 20), INTS)
    taken = copy.copy(model)
    fit(model, slice(20, 22), INTS, "partial_fit").remove(ids=INTS[0])
    fit(taken, slice(22, 25), INTS, "partial_fit")
    assert np.array_equal(taken.ids_, INTS[[*range(20), 22, 23, 24]])
    assert np.array_equal(model.ids_, INTS[1:22])
    model.ids_[:] = 0
    assert np.array_equal(model.ids_, INTS[1:22])


def test_ids_of_the_caller_may_change_later():
    ids = np.arange(20)
    model = NearestNeighbors().fit(X[:20], ids=ids)
    ids[:] = 7
    assert np.array_equal(model.ids_, np.arange(20))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda m: m.partial_fit(X[:2], ids=["a", "new"]), ValueError, "'a', which a fitted row has"),
        (lambda m: m.partial_fit(X[:2], ids=["e", "e"]), ValueError, "'e'.* more than once"),
        (lambda m: m.partial_fit(X[:2]), ValueError, "the fitted rows have ids"),
        (lambda m: m.partial_fit(X[:2], ids=["e"]), ValueError, "1 entries; 2"),
        (lambda m: m.partial_fit(X[:2], ids=[1, 2]), TypeError, "whole numbers; strings"),
        (lambda m: m.remove(ids=["a", "z"]), ValueError, "'z'.*, which no fitted row has"),
        (lambda m: m.remove(ids=["a", "b", "c", "d"]), ValueError, "all 4 rows"),
        (lambda m: m.remove(ids=1), TypeError, "whole numbers; strings"),
        (lambda m: m.remove(), TypeError, "not given"),
        (lambda m: m.remove([0], ids=["a"]), TypeError, "both given"),
        (lambda m: m.rows_of("z"), ValueError, "which no fitted row has"),
        (lambda m: m.fit(X[:2], ids=["a", "a"]), ValueError, "'a'.* more than once"),
        (lambda m: m.fit(X[:2], ids=[0.5, 1.0]), TypeError, "whole numbers or strings"),
        (lambda m: m.fit(X[:2], ids=[True, False]), TypeError, "whole numbers or strings"),
        (lambda m: m.fit(X[:2], ids=[[1], [2]]), TypeError, "a vector"),
        (lambda m: m.fit(X[:2], ids=[1, "a", 3][::2] + [None]), TypeError, "whole numbers or strings"),
        (lambda m: m.fit(X[:2], ids=np.array([1, 2**64 - 1], np.uint64)), ValueError, "beyond 64 bits"),
        (lambda m: m.fit(X[:2], ids=[1, 2**70]), ValueError, "beyond 64 bits"),
        (lambda m: m.fit(X[:2], ids=7), TypeError, "a vector"),
    ],
)
def test_wrong_ids_are_refused_in_one_sentence_and_change_nothing(call, error, message):
    model = NearestNeighbors(n_neighbors=2).fit(X[:4], ids=["a", "b", "c", "d"])
    with pytest.raises(error, match=message):
        call(model)
    assert model.ids_.tolist() == ["a", "b", "c", "d"]
    assert model.n_samples_fit_ == 4


def test_rows_without_ids_say_so():
    model = NearestNeighbors(n_neighbors=1).fit(X[:4])
    assert not hasattr(model, "ids_")
    for call in (lambda: model.kneighbors(X, return_ids=True), lambda: model.rows_of(1), lambda: model.remove(ids=[1])):
        with pytest.raises(ValueError, match="the fitted rows have no ids; fit"):
            call()
    with pytest.raises(ValueError, match="the fitted rows have no ids"):
        model.partial_fit(X[:1], ids=[1])
    assert NearestNeighbors().partial_fit(X[:3], ids=[5, 6, 7]).ids_.tolist() == [5, 6, 7]
    assert not hasattr(model.fit(X[:3], ids=[1, 2, 3]).fit(X[:3]), "ids_")


def test_a_later_id_may_be_longer_and_removed_ids_may_return():
    model = NearestNeighbors(n_neighbors=1).fit(X[:3], ids=np.array(["a", "b", "c"]))
    for i in range(200):
        model.partial_fit(X[:1] + i, ids=[f"a much longer id {i}"])
    assert model.rows_of(["a much longer id 199", "a", "c"]).tolist() == [202, 0, 2]
    model.remove(ids="a").partial_fit(X[:1], ids=["a"])
    assert model.rows_of("a").tolist() == [202]


@pytest.mark.parametrize("values", [[3, 3, 1], np.array([1.5, 2.0]), "abc"], ids=str)
def test_altered_files_with_wrong_ids_are_refused(values, tmp_path):
    model = NearestNeighbors(n_neighbors=1).fit(X[:3], ids=[3, 2, 1])
    broken = RowIds(values if isinstance(values, str) else np.array(values))
    vars(model)["_ids"] = broken
    with pytest.raises((TypeError, ValueError), match=r"ids|values"):
        fastclf.save(model, tmp_path / "model")


def test_ids_are_found_in_a_large_index_that_grows_row_by_row():
    rng = np.random.default_rng(2)
    names = rng.permutation(200_000) * 7
    ids = RowIds.of(names[:100_000], 100_000)
    for start in range(100_000, 103_000, 3):
        ids = ids.add(names[start : start + 3], 3)
    gone = rng.permutation(103_000)[:5000]
    ids = ids.without(np.sort(gone))
    left = np.delete(names[:103_000], gone)
    assert np.array_equal(ids.values, left)
    assert np.array_equal(ids.find(left), np.arange(len(left)))
    assert (ids.find(names[gone]) == -1).all()
    assert (ids.find(names[103_000:]) == -1).all()


def test_rows_of_a_density_are_removed_by_their_ids():
    model = KNeighborsDensity(4).fit(X[:40], ids=TEXTS[:40]).partial_fit(X[40:], ids=TEXTS[40:])
    assert model.ids_.tolist() == TEXTS.tolist()
    model.remove(ids=TEXTS[5:30])
    kept = np.r_[0:5, 30:60]
    assert model.rows_of(TEXTS[kept]).tolist() == list(range(len(kept)))
    np.testing.assert_array_equal(model.score_samples(X), KNeighborsDensity(4).fit(X[kept]).score_samples(X))
    with pytest.raises(ValueError, match="ids is None, but the fitted rows have ids"):
        model.partial_fit(X[:1])
    with pytest.raises(ValueError, match="ids"):
        KNeighborsDensity(4).fit(X, ids=TEXTS[:3])
