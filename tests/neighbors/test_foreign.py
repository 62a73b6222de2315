"""scikit-learn's metrics in place of names, its trees and estimators in place of rows, and its base classes."""

import numpy as np
import pytest
from scipy import sparse

from fastclf import KNeighborsClassifier, KNeighborsTransformer, NearestNeighbors, RadiusNeighborsRegressor, _simd


def same(a, b):
    for got, wanted in zip(a, b, strict=True):
        np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize(
    ("name", "params"),
    [
        ("euclidean", {}),
        ("manhattan", {}),
        ("chebyshev", {}),
        ("minkowski", {"p": 3}),
        ("minkowski", {"p": 1.5, "w": [1.0, 2.0, 0.5]}),
        ("seuclidean", {"V": [1.0, 2.0, 0.5]}),
        ("mahalanobis", {"VI": [[2.0, 1, 0], [1, 2, 0], [0, 0, 1]]}),
        ("canberra", {}),
        ("braycurtis", {}),
        ("hamming", {}),
        ("jaccard", {}),
        ("dice", {}),
        ("rogerstanimoto", {}),
        ("russellrao", {}),
        ("sokalmichener", {}),
        ("sokalsneath", {}),
    ],
)
def test_a_distance_metric_is_the_metric_of_its_name(rng, name, params):
    from sklearn.metrics import DistanceMetric

    X = rng.integers(0, 3, (50, 3)).astype(float)
    given = {key: np.asarray(value, float) if key != "p" else value for key, value in params.items()}
    metric = DistanceMetric.get_metric(name, **given)
    model = NearestNeighbors(metric=metric).fit(X)
    assert model.effective_metric_ is metric
    by_name = NearestNeighbors(metric=name, p=given.pop("p", 2), metric_params=given or None).fit(X)
    same(model.kneighbors(X), by_name.kneighbors(X))


def test_a_function_in_a_distance_metric_is_called(rng):
    from sklearn.metrics import DistanceMetric

    metric = DistanceMetric.get_metric("pyfunc", func=lambda a, b, scale: scale * abs(a - b).sum(), scale=2)
    X = rng.random((20, 2))
    distances, _ = NearestNeighbors(n_neighbors=3, metric=metric).fit(X).kneighbors(X)
    np.testing.assert_allclose(distances, 2 * NearestNeighbors(n_neighbors=3, p=1).fit(X).kneighbors(X)[0])


@pytest.mark.parametrize("metric", ["euclidean", "manhattan"])
def test_trees_and_fitted_estimators_are_rows_with_a_metric(rng, metric):
    from sklearn import neighbors

    X, y = rng.random((40, 3)), rng.integers(0, 2, 40)
    expected = NearestNeighbors(metric=metric).fit(X)
    foreign = neighbors.NearestNeighbors(metric=metric).fit(X)
    for rows in (neighbors.KDTree(X, metric=metric), neighbors.BallTree(X, metric=metric), foreign, expected):
        same(NearestNeighbors().fit(rows).kneighbors(X), expected.kneighbors(X))
        same(NearestNeighbors().fit(rows).kneighbors(), expected.kneighbors())
        model = KNeighborsClassifier().fit(rows, y)
        assert model.effective_metric_ == metric
        assert model.n_features_in_ == 3
        np.testing.assert_array_equal(model.predict(X), KNeighborsClassifier(metric=metric).fit(X, y).predict(X))
    model.partial_fit(X[:3], y[:3])
    assert expected.n_samples_fit_ == 40


def test_an_estimator_that_is_not_fitted_is_no_rows():
    with pytest.raises(ValueError, match="not fitted yet"):
        NearestNeighbors().fit(NearestNeighbors())


def test_estimators_are_instances_of_scikit_learns_mixins():
    from sklearn.neighbors._base import KNeighborsMixin, RadiusNeighborsMixin

    assert isinstance(NearestNeighbors(), KNeighborsMixin)
    assert isinstance(NearestNeighbors(), RadiusNeighborsMixin)
    assert isinstance(KNeighborsTransformer(), KNeighborsMixin)
    assert not isinstance(RadiusNeighborsRegressor(), KNeighborsMixin)
    assert NearestNeighbors.kneighbors.__module__.startswith("fastclf")


def test_isomap_and_others_that_read_the_rows_find_them(rng):
    X = rng.random((30, 3))
    np.testing.assert_array_equal(NearestNeighbors().fit(X)._fit_X, X)
    np.testing.assert_array_equal(NearestNeighbors().fit(X[:9]).partial_fit(X[9:])._fit_X, X)
    assert sparse.issparse(NearestNeighbors().fit(sparse.csr_array(X))._fit_X)
    assert NearestNeighbors(algorithm="tree").fit(X)._fit_method == "kd_tree"


def test_functions_are_called_with_sparse_rows_of_sparse_x(rng):
    X = rng.random((12, 4)) * (rng.random((12, 4)) < 0.5)

    def metric(x, q):
        assert sparse.issparse(x)
        assert sparse.issparse(q)
        return abs(x - q).sum()

    model = NearestNeighbors(n_neighbors=3, metric=metric).fit(sparse.csr_array(X))
    expected = NearestNeighbors(n_neighbors=3, metric="manhattan").fit(X)
    for queries in (sparse.csr_array(X[:5]), X[:5], None):
        dense = queries.toarray() if sparse.issparse(queries) else queries
        got, wanted = model.kneighbors(queries), expected.kneighbors(dense)
        np.testing.assert_allclose(got[0], wanted[0], rtol=1e-14)
        np.testing.assert_array_equal(got[1], wanted[1])


@pytest.mark.parametrize("algorithm", ["kd_tree", "ball_tree"])
def test_trees_refuse_what_scikit_learns_refuse(rng, algorithm):
    X = rng.random((2000, 2))
    with pytest.raises(ValueError, match="does not support 0 < p < 1"):
        NearestNeighbors(algorithm=algorithm, p=0.5).fit(X)
    same(
        NearestNeighbors(algorithm="tree", p=0.5).fit(X).kneighbors(X[:9]),
        NearestNeighbors(algorithm="brute", p=0.5).fit(X).kneighbors(X[:9]),
    )
    with pytest.warns(UserWarning, match="cannot use tree with sparse input"):
        NearestNeighbors(algorithm=algorithm).fit(sparse.csr_array(X))
    assert _simd.level()


def test_weights_are_not_for_a_kd_tree_but_for_the_tree(rng):
    X, params = rng.random((2000, 2)), {"w": [1.0, 2.0]}
    with pytest.raises(ValueError, match="weight parameter 'w'"):
        NearestNeighbors(algorithm="kd_tree", metric_params=params).fit(X)
    by_tree, by_scan = (
        NearestNeighbors(algorithm=algorithm, metric_params=params).fit(X).kneighbors(X[:9])
        for algorithm in ("tree", "brute")
    )
    same(by_tree, by_scan)
