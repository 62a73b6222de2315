"""Precomputed distances: a matrix or a sparse graph is searched as the rows themselves are."""

import numpy as np
import pytest
import reference
from scipy import sparse

from fastclf import (
    KNeighborsClassifier,
    KNeighborsRegressor,
    NearestNeighbors,
    RadiusNeighborsClassifier,
    cross_val_score,
    load,
    save,
)


@pytest.fixture
def data(rng):
    X, Q = rng.integers(0, 4, (60, 3)).astype(float), rng.integers(0, 4, (11, 3)).astype(float)
    return X, Q, reference.distances(X, X), reference.distances(X, Q)


def graph_of(D, reach, container=sparse.csr_array):
    """The distances up to `reach` as a graph, with explicit zeros."""
    row, column = np.nonzero(reach >= D)
    return container(sparse.coo_array((D[row, column], (row, column)), shape=D.shape))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("options", [{}, {"algorithm": "brute", "n_jobs": 2}, {"working_memory": 0.01}])
def test_a_matrix_has_the_answers_of_the_rows(data, dtype, options):
    _, _, D, DQ = data
    D, DQ = D.astype(dtype), DQ.astype(dtype)
    model = NearestNeighbors(metric="precomputed", **options).fit(D)
    assert model.effective_metric_ == "precomputed"
    assert model.n_features_in_ == 60
    for queries, own in ((DQ, None), (None, np.arange(60))):
        rows = D if queries is None else queries
        distances, indices = model.kneighbors(queries)
        expected = reference.nearest(rows.astype(float), 5, own)
        np.testing.assert_array_equal(indices, expected[1])
        np.testing.assert_array_equal(distances, expected[0])
        found = model.radius_neighbors(queries, 1.5, sort_results=False)[1]
        for i, row in enumerate(found):
            near = [j for j in np.flatnonzero(rows[i] <= 1.5) if own is None or j != i]
            np.testing.assert_array_equal(row, near)


@pytest.mark.parametrize("container", ["csr_array", "csc_matrix", "coo_array", "lil_matrix"])
def test_a_graph_has_the_answers_of_its_entries(data, container):
    _, _, D, DQ = data
    reach = 2.5
    fitted, queries = (graph_of(each, reach, getattr(sparse, container)) for each in (D, DQ))
    model = NearestNeighbors(metric="precomputed", n_neighbors=3).fit(fitted)
    for asked, rows, own in ((queries, DQ, None), (None, D, np.arange(60))):
        rows = np.where(rows <= reach, rows, np.inf)
        expected = reference.nearest(rows, 3, own)
        if np.isinf(expected[0]).any():
            with pytest.raises(ValueError, match="3 neighbors per samples are required, but some samples have only"):
                model.kneighbors(asked)
        else:
            distances, indices = model.kneighbors(asked)
            np.testing.assert_array_equal(indices, expected[1])
            np.testing.assert_array_equal(distances, expected[0])
        for i, row in enumerate(model.radius_neighbors(asked, 2)[1]):
            near = [j for j in np.flatnonzero(rows[i] <= 2) if own is None or j != i]
            np.testing.assert_array_equal(row, near)


def test_too_few_entries_are_told(data):
    graph = graph_of(data[2], 0.5)
    with pytest.raises(ValueError, match="Decrease number of neighbors used or recompute the graph"):
        NearestNeighbors(metric="precomputed", n_neighbors=30).fit(graph).kneighbors(graph)


def test_unsorted_entries_and_duplicates_of_them_change_nothing(data, rng):
    D = data[2]
    graph = graph_of(D, 9)
    for start, stop in zip(graph.indptr[:-1], graph.indptr[1:]):
        order = start + rng.permutation(stop - start)
        graph.indices[start:stop], graph.data[start:stop] = graph.indices[order], graph.data[order]
    model = NearestNeighbors(metric="precomputed").fit(graph)
    expected = NearestNeighbors(metric="precomputed").fit(D).kneighbors(D)
    for got, wanted in zip(model.kneighbors(graph), expected):
        np.testing.assert_array_equal(got, wanted)
    for got, wanted in zip(model.kneighbors(D), expected):  # a model of a graph takes a dense matrix of distances, too
        np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize("estimator", [KNeighborsClassifier(3), KNeighborsRegressor(3), RadiusNeighborsClassifier(2.5)])
def test_votes_masks_weights_and_files_are_those_of_the_rows(data, rng, estimator, tmp_path):
    X, Q, D, DQ = data
    y, weight, mask = rng.integers(0, 3, 60), rng.integers(0, 3, 60), rng.random(60) < 0.8
    estimator.set_params(weights="distance")
    plain = estimator.fit(X, y, weight).predict(Q, mask=mask), estimator.predict(None)
    estimator.set_params(metric="precomputed").fit(D, y, weight)
    save(estimator, tmp_path / "model")
    for each in (estimator, load(tmp_path / "model")):
        np.testing.assert_array_equal(each.predict(DQ, mask=mask), plain[0])
        np.testing.assert_array_equal(each.predict(None), plain[1])
    graph = estimator.fit(graph_of(D, 99), y, weight)
    save(graph, tmp_path / "graph")
    for each in (graph, load(tmp_path / "graph")):
        np.testing.assert_array_equal(each.predict(graph_of(DQ, 99), mask=mask), plain[0])


def test_leave_one_out_and_folds_are_those_of_the_rows(data, rng):
    X, _, D, _ = data
    y = rng.integers(0, 3, 60)
    by_rows, by_distances = KNeighborsClassifier(), KNeighborsClassifier(metric="precomputed")
    np.testing.assert_array_equal(by_rows.fit(X, y).leave_one_out(9), by_distances.fit(D, y).leave_one_out(9))
    np.testing.assert_array_equal(cross_val_score(by_rows, X, y), cross_val_score(by_distances, D, y))


@pytest.mark.parametrize(
    ("X", "error", "match"),
    [
        (np.ones((3, 2)), ValueError, "Precomputed matrix must be square. Input is a 3x2 matrix"),
        (-np.ones((2, 2)), ValueError, "Negative values in data passed to X"),
        (
            sparse.csr_array(-np.ones((2, 2))),
            ValueError,
            "Negative values in data passed to precomputed distance matrix",
        ),
        (np.full((2, 2), np.nan), ValueError, "NaN"),
        (np.full((2, 2), np.inf), ValueError, "infinity"),
        (sparse.dok_array(np.ones((2, 2))), TypeError, "'dok' format is not supported"),
        (sparse.bsr_array(np.ones((2, 2))), TypeError, "'bsr' format is not supported"),
    ],
)
def test_what_is_no_distance_matrix_is_refused(X, error, match):
    with pytest.raises(error, match=match):
        NearestNeighbors(metric="precomputed").fit(X)


def test_queries_of_another_width_and_changes_of_rows_are_refused(data):
    model = KNeighborsClassifier(metric="precomputed").fit(data[2], np.arange(60) % 2)
    with pytest.raises(ValueError, match="expecting 60 features"):
        model.predict(np.ones((2, 59)))
    with pytest.raises(ValueError, match="a new fit is wanted"):
        model.remove([0])
    with pytest.raises(ValueError, match="a new fit is wanted"):
        model.partial_fit(data[2], np.arange(60) % 2)


def test_one_row_is_its_own_neighbour():
    model = NearestNeighbors(n_neighbors=1, metric="precomputed").fit([[0.0]])
    assert model.kneighbors([[3.0]])[0] == [[3.0]]


def test_tags_tell_scikit_learn_to_cut_rows_and_columns():
    tags = KNeighborsClassifier(metric="precomputed").__sklearn_tags__().input_tags
    assert tags.pairwise
    assert tags.positive_only
    assert tags.sparse
    assert not KNeighborsClassifier().__sklearn_tags__().input_tags.pairwise
