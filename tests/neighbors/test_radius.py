"""Votes of all rows within a radius: those of a loop over the neighbours."""

import warnings

import numpy as np
import pytest
import reference

from fastclf import NearestNeighbors, RadiusNeighborsClassifier, RadiusNeighborsRegressor


def votes_of(distance, weights, given=None):
    """The weights of the votes of a query's neighbours."""
    if weights == "distance":
        return (distance == 0).astype(float) if (distance == 0).any() else distance.min(initial=np.inf) / distance
    if callable(weights):
        votes = weights(distance)
        return np.isinf(votes).astype(float) if np.isinf(votes).any() else votes
    return np.ones(len(distance))


def shares(D, y, radius, weights, weight):
    """The share of the votes of each class, one neighbour after the other; None for a query without neighbours."""
    classes, rows = np.unique(y), []
    for row in D:
        near = np.flatnonzero((row <= radius) & (weight > 0))
        votes = votes_of(row[near], weights) * weight[near]
        count = [sum(vote for vote, label in zip(votes, y[near]) if label == each) for each in classes]
        rows.append(np.array(count) / np.sum(count) if len(near) else None)
    return classes, rows


def by_square(distance):
    with np.errstate(divide="ignore"):
        return 1 / np.asarray(distance) ** 2


def for_each(distances):
    """The argument of a function `weights`: an object array with an array of distances for each query."""
    assert distances.dtype == object
    found = np.empty(len(distances), object)
    found[:] = [by_square(each) for each in distances]
    return found


@pytest.mark.parametrize("weights", ["uniform", "distance", None, for_each])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("labels", [2, 100, "strings", "one"])
def test_shares_are_those_of_a_loop(rng, weights, weighted, labels):
    X, Q = rng.integers(0, 4, (150, 2)).astype(float), rng.integers(0, 4, (30, 2)) + rng.integers(0, 2, (30, 1)) / 4
    y = rng.integers(0, {"strings": 5, "one": 1}.get(labels, labels), 150)
    y = np.array([f"label {each}" for each in y]) if labels == "strings" else y
    weight = rng.integers(0, 3, 150).astype(float) if weighted else np.ones(150)
    model = RadiusNeighborsClassifier(1.0, weights=weights, n_jobs=2)
    model.fit(X, y, weight if weighted else None)
    classes, rows = shares(reference.distances(X, Q), y, 1.0, by_square if weights is for_each else weights, weight)
    assert all(row is not None for row in rows)
    np.testing.assert_array_equal(model.classes_, classes)
    np.testing.assert_allclose(model.predict_proba(Q), rows, rtol=1e-12)
    np.testing.assert_array_equal(model.predict(Q), classes[model.predict_proba(Q).argmax(axis=1)])


@pytest.mark.parametrize("weights", ["uniform", "distance", for_each])
def test_means_are_those_of_a_loop(rng, weights):
    X, Q = rng.random((90, 2)), rng.random((20, 2))
    Y = rng.standard_normal((90, 3))
    model = RadiusNeighborsRegressor(0.4, weights=weights).fit(X, Y)
    D = reference.distances(X, Q)
    for row, predicted in zip(D, model.predict(Q)):
        near = row <= 0.4
        votes = votes_of(row[near], by_square if weights is for_each else weights)
        np.testing.assert_allclose(predicted, votes @ Y[near] / votes.sum(), rtol=1e-12)
    one = RadiusNeighborsRegressor(0.4, weights=weights).fit(X, Y[:, 1])
    np.testing.assert_array_equal(one.predict(Q), model.predict(Q)[:, 1])


@pytest.mark.parametrize("options", [{"n_jobs": 1}, {"n_jobs": 3}, {"working_memory": 0.01}, {"algorithm": "brute"}])
def test_threads_and_memory_change_no_bit(rng, options):
    X, y = rng.random((2000, 3)), rng.integers(0, 9, 2000)
    plain = RadiusNeighborsClassifier(0.3, weights="distance").fit(X, y)
    other = RadiusNeighborsClassifier(0.3, weights="distance", **options).fit(X, y)
    np.testing.assert_array_equal(plain.predict_proba(X), other.predict_proba(X))


def test_a_query_without_neighbours_has_the_outlier_label_or_is_refused(rng):
    X, y, Q = np.array([[0.0], [1.0], [2.0]]), ["a", "b", "b"], [[0.1], [99.0]]
    with pytest.raises(ValueError, match=r"No neighbors found for test samples \[1\]"):
        RadiusNeighborsClassifier().fit(X, y).predict(Q)
    model = RadiusNeighborsClassifier(outlier_label="most_frequent").fit(X, y)
    assert model.outlier_label_ == ["b"]
    assert model.predict(Q).tolist() == ["a", "b"]
    np.testing.assert_array_equal(model.predict_proba(Q)[1], [0, 1])
    assert RadiusNeighborsClassifier(outlier_label="most_frequent").fit(X, y, [3, 1, 1]).outlier_label_ == ["a"]
    strange = RadiusNeighborsClassifier(outlier_label="a longer one").fit(X, y)
    with pytest.warns(UserWarning, match="not in training classes"):
        assert strange.predict(Q).tolist() == ["a", "a longer one"]
    with pytest.warns(UserWarning, match="not in training classes"):
        np.testing.assert_array_equal(strange.predict_proba(Q)[1], [0, 0])
    with pytest.warns(UserWarning, match="predicting NaN"):
        np.testing.assert_array_equal(RadiusNeighborsRegressor().fit(X, [1, 2, 3]).predict(Q), [1.5, np.nan])


@pytest.mark.parametrize(
    ("label", "error"),
    [([1, 2], ValueError), ("a", TypeError), (1.5, TypeError), ([[1]], TypeError), (object(), TypeError)],
)
def test_outlier_labels_that_no_label_can_be_are_refused(label, error):
    with pytest.raises(error):
        RadiusNeighborsClassifier(outlier_label=label).fit([[0.0], [1.0]], [0, 1])


def test_outputs_have_labels_of_their_own(rng):
    X, Y = rng.random((40, 2)), rng.integers(0, 3, (40, 2))
    model = RadiusNeighborsClassifier(0.3, outlier_label=[2, 0]).fit(X, Y)
    Q = np.concatenate([X[:5], [[9.0, 9.0]]])
    assert model.predict(Q)[-1].tolist() == [2, 0]
    for output in range(2):
        alone = RadiusNeighborsClassifier(0.3, outlier_label=[2, 0][output]).fit(X, Y[:, output])
        np.testing.assert_array_equal(model.predict(Q)[:, output], alone.predict(Q))
        np.testing.assert_array_equal(model.predict_proba(Q)[output], alone.predict_proba(Q))


@pytest.mark.parametrize(
    ("weights", "match"),
    [
        (lambda d: d * 0, "zero weights"),
        (lambda d: -d, "negative or NaN"),
        (lambda d: d * np.nan, "negative or NaN"),
        (lambda d: d[:1], "not the shapes of its argument"),
        (lambda d: ["x"] * len(d), "not an array"),
    ],
)
def test_functions_that_make_no_votes_are_refused(weights, match):
    model = RadiusNeighborsClassifier(weights=weights).fit([[0.0], [0.5], [1.0]], [0, 1, 1])
    with pytest.raises(ValueError, match=match):
        model.predict([[0.1], [0.2]])


def test_rows_come_and_go_as_if_the_others_alone_had_been_fitted(rng):
    X, y = rng.random((80, 2)), rng.integers(0, 4, 80)
    model = RadiusNeighborsClassifier(0.5).fit(X[:30], y[:30]).partial_fit(X[30:], y[30:]).remove(np.arange(10))
    expected = RadiusNeighborsClassifier(0.5).fit(X[10:], y[10:])
    np.testing.assert_array_equal(model.predict_proba(X), expected.predict_proba(X))
    np.testing.assert_array_equal(model.predict(None), expected.predict(None))
    mask = rng.random(70) < 0.9
    masked = RadiusNeighborsClassifier(0.5).fit(X[10:][mask], y[10:][mask])
    np.testing.assert_array_equal(model.predict_proba(X, mask=mask), masked.predict_proba(X))


def test_answers_are_those_of_scikit_learn(rng):
    from sklearn import neighbors

    X, y, Q = rng.random((200, 3)), rng.integers(0, 5, 200), rng.random((50, 3))
    for ours, name in ((RadiusNeighborsClassifier, "predict_proba"), (RadiusNeighborsRegressor, "predict")):
        theirs = getattr(neighbors, ours.__name__)
        for weights in ("uniform", "distance"):
            got, expected = (getattr(cls(0.5, weights=weights).fit(X, y), name)(Q) for cls in (ours, theirs))
            np.testing.assert_allclose(got, expected, rtol=1e-12)


@pytest.mark.parametrize("algorithm", ["brute", "tree"])
def test_each_query_may_have_a_radius(rng, algorithm):
    X = rng.random((3000, 3))
    radius = rng.random(40)
    model = NearestNeighbors(algorithm=algorithm, n_jobs=2).fit(X)
    added = NearestNeighbors(algorithm=algorithm).fit(X[:2000]).partial_fit(X[2000:])
    expected = [model.radius_neighbors(X[i : i + 1], each)[1][0] for i, each in enumerate(radius)]
    for each in (model, added):
        for got, wanted in zip(each.radius_neighbors(X[:40], radius)[1], expected, strict=True):
            np.testing.assert_array_equal(got, wanted)
    with pytest.raises(ValueError, match=r"radius has shape \(3,\)"):
        model.radius_neighbors(X[:40], [1, 2, 3])
    with pytest.raises(ValueError, match="NaN or below 0; numbers from 0 up"):
        model.radius_neighbors(X[:1], [np.nan])


def test_tables_and_read_only_rows_are_taken(rng):
    pandas = pytest.importorskip("pandas")
    X, y = rng.random((40, 2)), rng.integers(0, 2, 40)
    X.flags.writeable = False
    table = pandas.DataFrame(X, columns=["a", "b"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = RadiusNeighborsClassifier(0.5).fit(table, y)
        np.testing.assert_array_equal(model.predict(table), RadiusNeighborsClassifier(0.5).fit(X, y).predict(X))
    assert model.feature_names_in_.tolist() == ["a", "b"]


def test_more_queries_than_fit_a_block_are_all_answered(rng):
    X, y = rng.random((500, 1)), rng.integers(0, 2, 500)
    model = RadiusNeighborsClassifier(0.01, working_memory=0.05, outlier_label=0).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), [model.predict(row[None])[0] for row in X])
