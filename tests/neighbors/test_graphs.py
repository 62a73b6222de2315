"""Graphs of neighbours: those of the searches, in scikit-learn's order, as a step of a pipeline."""

import numpy as np
import pytest
from scipy import sparse

from fastclf import (
    KNeighborsClassifier,
    KNeighborsRegressor,
    KNeighborsTransformer,
    NearestNeighbors,
    RadiusNeighborsRegressor,
    RadiusNeighborsTransformer,
    kneighbors_graph,
    radius_neighbors_graph,
    sort_graph_by_row_values,
)


@pytest.mark.parametrize("mode", ["connectivity", "distance"])
@pytest.mark.parametrize("include_self", [True, False, "auto"])
@pytest.mark.parametrize("params", [{}, {"metric": "manhattan"}, {"p": 3}, {"metric": "canberra"}])
def test_graphs_are_those_of_scikit_learn(rng, mode, include_self, params):
    from sklearn import neighbors

    X = rng.random((40, 3))
    for ours, argument in ((kneighbors_graph, 4), (radius_neighbors_graph, 0.4)):
        theirs = getattr(neighbors, ours.__name__)(X, argument, mode=mode, include_self=include_self, **params)
        got = ours(X, argument, mode=mode, include_self=include_self, **params)
        np.testing.assert_allclose(got.toarray(), theirs.toarray(), rtol=1e-14)
        fitted = NearestNeighbors(**params).fit(X)
        again = ours(fitted, argument, mode=mode, include_self=include_self, **params)
        np.testing.assert_array_equal(got.toarray(), again.toarray())


def test_an_estimator_of_another_metric_is_refused(rng):
    with pytest.raises(ValueError, match="Got euclidean for metric, while the estimator has manhattan"):
        kneighbors_graph(NearestNeighbors(metric="manhattan").fit(rng.random((9, 2))), 3, metric="euclidean")
    with pytest.raises(ValueError, match="Unsupported mode"):
        kneighbors_graph(rng.random((9, 2)), 3, mode="blah")


@pytest.mark.parametrize("container", [sparse.csr_array, sparse.csr_matrix])
def test_rows_of_a_graph_are_sorted_in_place_or_in_a_copy(rng, container):
    dense = rng.random((12, 12)) * (rng.random((12, 12)) < 0.6)
    dense[3] = 0
    graph = container(dense)
    expected = graph.copy()
    done = sort_graph_by_row_values(graph, copy=True, warn_when_not_sorted=False)
    assert done.data is not graph.data
    np.testing.assert_array_equal(graph.data, expected.data)
    assert sort_graph_by_row_values(graph, warn_when_not_sorted=False).data is graph.data
    for each in (done, graph):
        np.testing.assert_array_equal(each.toarray(), dense)
        for start, stop in zip(each.indptr[:-1], each.indptr[1:]):
            assert (np.diff(each.data[start:stop]) >= 0).all()
    assert sort_graph_by_row_values(graph) is graph  # the graph is sorted already: this call must not warn
    with pytest.warns(UserWarning, match="was not sorted by row values"):
        sort_graph_by_row_values(expected, copy=True)


def test_other_formats_are_copied_or_refused(rng):
    graph = sparse.csr_array(rng.random((5, 5)))
    assert sort_graph_by_row_values(graph.tocsc(), copy=True, warn_when_not_sorted=False).format == "csr"
    with pytest.raises(ValueError, match="Use copy=True to allow the conversion"):
        sort_graph_by_row_values(graph.tocsc(), warn_when_not_sorted=False)
    with pytest.raises(TypeError, match="format is not supported"):
        sort_graph_by_row_values(graph.todok(), warn_when_not_sorted=False)
    with pytest.raises(TypeError, match="one of SciPy's sparse matrices"):
        sort_graph_by_row_values(np.eye(3))


@pytest.mark.parametrize("mode", ["distance", "connectivity"])
def test_transformers_give_scikit_learns_graphs(rng, mode):
    from sklearn import neighbors

    X, Q = rng.random((50, 3)), rng.random((8, 3))
    for ours, params in ((KNeighborsTransformer, {"n_neighbors": 4}), (RadiusNeighborsTransformer, {"radius": 0.4})):
        theirs = getattr(neighbors, ours.__name__)(mode=mode, **params)
        model = ours(mode=mode, **params)
        np.testing.assert_allclose(model.fit_transform(X).toarray(), theirs.fit_transform(X).toarray(), rtol=1e-14)
        got = model.transform(Q)
        np.testing.assert_allclose(got.toarray(), theirs.transform(Q).toarray(), rtol=1e-14)
        assert model.get_feature_names_out().tolist() == theirs.get_feature_names_out().tolist()
        if mode == "distance":
            assert sort_graph_by_row_values(got) is got


@pytest.mark.parametrize("model", [KNeighborsTransformer(mode="x"), RadiusNeighborsTransformer(mode=None)])
def test_other_modes_are_refused(model):
    with pytest.raises(ValueError, match="Unsupported mode"):
        model.fit(np.eye(3))


@pytest.mark.parametrize(
    ("step", "model"),
    [
        (KNeighborsTransformer(n_neighbors=20), KNeighborsRegressor(5)),
        (KNeighborsTransformer(n_neighbors=20), KNeighborsClassifier(5, weights="distance")),
        (RadiusNeighborsTransformer(radius=0.9), RadiusNeighborsRegressor(0.5)),
    ],
)
def test_a_pipeline_through_a_graph_has_the_answers_of_the_rows(rng, step, model):
    from sklearn.pipeline import make_pipeline

    X, y, Q = rng.random((60, 2)), rng.integers(0, 3, 60), rng.random((15, 2))
    expected = model.fit(X, y).predict(Q)
    chain = make_pipeline(step, model.set_params(metric="precomputed"))
    np.testing.assert_array_equal(chain.fit(X, y).predict(Q), expected)
