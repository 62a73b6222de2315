"""The numbers that values of the parameter gamma, such as "scale", stand for."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from fastclf._csr import as_csr
from fastclf.kernels.gamma import gamma_of


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(7, 3), (3000, 120)])
def test_scale_is_by_the_variance_of_all_numbers(rng, sparse, dtype, shape):
    X = (rng.standard_normal(shape) + 0.5).astype(dtype)
    X[rng.random(shape) < 0.6] = 0
    rows = as_csr(csr_array(X), "X") if sparse else X
    wanted = 1 / (shape[1] * X.astype(np.float64).var())
    assert gamma_of("scale", rows) == pytest.approx(wanted, rel=1e-6 if dtype == np.float32 else 1e-12)
    assert gamma_of("scale", rows, np.ones(len(X))) == pytest.approx(wanted, rel=1e-12)
    often = rng.integers(0, 3, len(X))
    repeated = np.repeat(X, often, axis=0).astype(np.float64)
    assert gamma_of("scale", rows, often.astype(float)) == pytest.approx(1 / (shape[1] * repeated.var()), rel=1e-12)


def test_auto_is_by_the_number_of_features_and_a_number_itself():
    X = np.eye(4)
    assert gamma_of("auto", X) == 0.25
    assert gamma_of(3, X) == 3.0
    assert isinstance(gamma_of(3, X), float)


def test_rows_that_are_all_alike_have_gamma_one_and_such_as_overflow_are_refused():
    assert gamma_of("scale", np.ones((3, 2))) == gamma_of("scale", np.ones((3, 2)), np.ones(3)) == 1.0
    for weight in (None, np.ones(2)):
        with pytest.raises(ValueError, match="X has numbers so large that their variance overflows"):
            gamma_of("scale", np.array([[1e200], [-1e200]]), weight)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_variance_of_rows_far_from_zero_does_not_cancel(rng, sparse, weighted):
    X = rng.standard_normal((500, 3)) + 1e8
    weight = rng.integers(1, 4, len(X)).astype(float) if weighted else None
    repeated = np.repeat(X, weight.astype(int), axis=0) if weighted else X
    rows = as_csr(csr_array(X), "X") if sparse else X
    assert gamma_of("scale", rows, weight) == pytest.approx(1 / (3 * (repeated - 1e8).var()), rel=1e-7)
