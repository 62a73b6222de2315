"""Nystroem with every kernel that scikit-learn names, with functions, and with matrices of kernel values."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.kernel_approximation import Nystroem as Peer
from sklearn.metrics.pairwise import pairwise_kernels

from fastclf import Nystroem, load, save

NAMES = ["laplacian", "chi2", "additive_chi2", "rbf", "polynomial", "cosine"]


@pytest.mark.parametrize("kernel", NAMES)
def test_features_are_scikit_learns(rng, kernel):
    X = rng.random((60, 5))
    ours, theirs = (kind(kernel, n_components=12, random_state=0).fit(X) for kind in (Nystroem, Peer))
    np.testing.assert_allclose(ours.transform(X), theirs.transform(X), atol=1e-6)
    np.testing.assert_allclose(ours.fit(csr_array(X)).transform(csr_array(X)), theirs.transform(X), atol=1e-6)


def test_kernel_params_are_those_of_the_kernel(rng):
    X = rng.random((30, 4))
    one = Nystroem("laplacian", kernel_params={"gamma": 0.3}, n_components=30, random_state=0).fit_transform(X)
    np.testing.assert_allclose(one @ one.T, pairwise_kernels(X, metric="laplacian", gamma=0.3), atol=1e-9)
    both = Nystroem("rbf", gamma=0.1, kernel_params={"gamma": 9}, n_components=30, random_state=0).fit_transform(X)
    np.testing.assert_allclose(both @ both.T, pairwise_kernels(X, metric="rbf", gamma=0.1), atol=1e-9)


def overlap(a, b, power=1):
    return np.minimum(a, b).sum() ** power


def test_a_function_is_asked_once_for_each_pair_of_the_sample(rng, tmp_path):
    X, asked = rng.random((20, 4)), []

    def kernel(a, b, power):
        asked.append(1)
        return overlap(a, b, power)

    model = Nystroem(kernel, kernel_params={"power": 2}, n_components=9, random_state=0).fit(X)
    assert len(asked) == 45
    values = np.array([[overlap(a, b, 2) for b in X] for a in X])
    own = model.component_indices_
    Z = model.transform(X)
    np.testing.assert_allclose((Z @ Z.T)[np.ix_(own, own)], values[np.ix_(own, own)], atol=1e-9)


@pytest.mark.parametrize("n_components", [10, 40])
def test_a_matrix_of_values_gives_the_features_of_its_kernel(rng, n_components, tmp_path):
    X = rng.random((40, 4))
    K = pairwise_kernels(X, metric="rbf")
    model = Nystroem("precomputed", n_components=n_components, random_state=0).fit(K)
    plain = Nystroem("rbf", n_components=n_components, random_state=0).fit(X)
    Z, other = model.transform(K), plain.transform(X)
    np.testing.assert_allclose(Z @ Z.T, other @ other.T, atol=1e-8)
    save(model, tmp_path / "model")
    np.testing.assert_array_equal(load(tmp_path / "model").transform(K), Z)


BAD = {
    "function": ({"kernel": overlap, "gamma": 1}, "Don't pass gamma, coef0 or degree to Nystroem"),
    "matrix": ({"kernel": "precomputed", "degree": 2}, "Don't pass gamma, coef0 or degree to Nystroem"),
    "square": ({"kernel": "precomputed"}, "a square matrix is wanted of a precomputed kernel"),
    "negative": ({"kernel": "chi2"}, "X contains negative values"),
    "word": ({"kernel": lambda a, b: "x"}, "kernel's result"),
    "nan": ({"kernel": lambda a, b: np.nan}, "kernel gave something that is not a finite number"),
    "params": ({"kernel_params": 3}, "kernel_params is 3; a dict or None is wanted"),
    "value": ({"kernel_params": {"gamma": "x"}}, r"kernel_params\['gamma'\] is 'x'; a number is wanted"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_arguments_get_one_sentence(rng, name):
    parameters, sentence = BAD[name]
    with pytest.raises((ValueError, TypeError), match=sentence):
        Nystroem(**parameters, n_components=3).fit(rng.standard_normal((20, 4)))


@pytest.mark.parametrize("scale", [1e160, 1e200, 1e308])
def test_rows_whose_distances_float64_cannot_hold_are_refused_and_far_queries_are_zeros(rng, scale):
    X = rng.uniform(-1, 1, (30, 4))
    with pytest.raises(ValueError, match="beyond float64"), np.errstate(all="ignore"):
        Nystroem(n_components=5, random_state=0).fit(X * scale)
    with np.errstate(over="ignore"):
        far = Nystroem(n_components=5, random_state=0).fit(X).transform(np.full((2, 4), scale))
    np.testing.assert_array_equal(far, 0)


def test_a_negative_gamma_is_refused_among_kernel_params_too(rng):
    X = rng.uniform(-1, 1, (30, 4))
    for given in ({"gamma": -1.0}, {"kernel_params": {"gamma": -1.0}}):
        with pytest.raises(ValueError, match=r"gamma.* is -1\.0"):
            Nystroem(kernel="rbf", n_components=5, **given).fit(X)
