"""Newton's method on the free alphas of a dual, and the factor that it stands on."""

import numpy as np
import pytest

from fastclf import SVC
from fastclf.kernels.values import Kernel, Rows
from fastclf.svm import dual_newton, pairs, small_pairs, smo
from fastclf.svm.dual import Dual
from fastclf.svm.gram import Gram

pytestmark = pytest.mark.levels


def factor(K, threads=1):
    A = K.copy()
    for _ in dual_newton.factorise(A, threads):
        pass
    return A


def positive(rng, m):
    B = rng.standard_normal((m, m + 3))
    return B @ B.T


@pytest.mark.parametrize("m", [1, 2, 11, 63, 64, 65, 77, 130, 301])
def test_the_factor_times_itself_is_the_matrix(rng, m):
    K = positive(rng, m)
    A = factor(K)
    U = np.triu(A)
    np.testing.assert_allclose(U.T @ U, K, atol=1e-12 * K.max())
    np.testing.assert_array_equal(np.tril(A, -1), np.tril(K, -1))
    x = rng.standard_normal((2, m))
    product = np.zeros(m)
    dual_newton.compiled.multiply(A, K.diagonal().copy(), x[1], product)
    np.testing.assert_allclose(product, K @ x[1], rtol=1e-9, atol=1e-9 * K.max())
    expected = np.linalg.solve(K, x.T).T
    dual_newton.compiled.solve(A, x)
    np.testing.assert_allclose(x, expected, rtol=1e-6, atol=1e-8 * np.abs(expected).max())


def test_threads_change_no_bit_of_the_factor(rng):
    K = positive(rng, 400)
    np.testing.assert_array_equal(factor(K, 1), factor(K, 3))


def test_what_rounding_hides_is_not_moved(rng):
    K = positive(rng, 70)
    K[66], K[:, 66] = K[3], K[:, 3]  # rows 66 and 3 of the kernel matrix are equal
    K[66, 66] = K[3, 3]
    x = rng.standard_normal((1, 70))
    dual_newton.compiled.solve(factor(K), x)
    assert x[0, 66] == pytest.approx(0, abs=1e-100)
    assert np.isfinite(x).all()


@pytest.mark.parametrize("C", [1e6, 0.3])
def test_no_step_is_left_where_newton_ends(rng, C):
    X = rng.standard_normal((60, 5))
    y = np.where(rng.random(60) < 0.5, 1.0, -1.0)
    dual = Dual(Gram(Kernel("rbf", 0.3), Rows(X), np.float64), np.arange(60), y, np.full(60, C), 0.1 * y)
    K = Kernel("rbf", 0.3)(X, X)
    dual.f[:] = K @ dual.coef - y
    before, start = dual.coef.copy(), dual.objective()
    steps = dual_newton.steps(dual, dual.gram, np.arange(60), np.empty(dual_newton.numbers_for(60)), 1)
    while True:
        try:
            next(steps)
        except StopIteration as ended:
            free, change, done = ended.value
            break
    assert done
    moved = np.zeros(60)
    moved[free] = change
    np.testing.assert_allclose(dual.coef - before, moved, atol=1e-9)
    assert abs(dual.coef.sum()) < 1e-9
    assert ((y * dual.coef >= 0) & (y * dual.coef <= C)).all()
    dual.f[:] = K @ dual.coef - y
    assert np.ptp(dual.f[dual.is_free()]) < 1e-8
    assert dual.objective() > start


@pytest.mark.parametrize(("kernel", "C"), [("rbf", 1e7), ("poly", 1e7), ("linear", 1e3)])
def test_a_price_that_steps_of_two_rows_never_settle_ends_soon(rng, kernel, C):
    X = rng.standard_normal((200, 4)) * [1, 10, 100, 1000]
    y = (X[:, 0] + 0.5 * rng.standard_normal(200) > 0).astype(int)
    model = SVC(C=C, kernel=kernel).fit(X, y)
    assert model.violation_ <= 1e-3
    assert model.n_iter_[0] < 2_000_000


def test_a_fit_ends_the_same_with_newton_and_without(rng, monkeypatch):
    X = rng.standard_normal((400, 3))
    y = (np.sin(3 * X[:, 0]) + 0.3 * rng.standard_normal(400) > 0).astype(int)
    monkeypatch.setattr(small_pairs, "_LOOKS", 1)  # this leaves all pairs of classes to the methods of `smo.py`
    monkeypatch.setattr(small_pairs, "PATIENCE", 0)
    one, three = (SVC(C=1e4, tol=1e-6, n_jobs=n).fit(X, y) for n in (1, 3))
    np.testing.assert_array_equal(one.dual_coef_, three.dual_coef_)
    used = []
    newton = smo.Help._newton
    monkeypatch.setattr(smo.Help, "_newton", lambda self: used.append(1) or newton(self))
    assert SVC(C=1e4, tol=1e-6).fit(X, y).dual_objective_ == one.dual_objective_
    assert used
    monkeypatch.setattr(smo.Help, "_newton_pays", lambda self, gap: False)
    other = SVC(C=1e4, tol=1e-4).fit(X, y)
    assert other.dual_objective_[0] == pytest.approx(one.dual_objective_[0], rel=1e-6)


def test_each_of_many_pairs_has_memory_for_newtons_method_on_a_thousand_rows():
    options = {"cache_bytes": 2e8, "tol": 1e-3, "max_iter": 9, "shrinking": True, "threads": 1}
    limits = {pairs.limits_of(options, np.dtype("f4"), 21, threads).newton_bytes for threads in (1, 2, 16)}
    assert len(limits) == 1
    assert dual_newton.most_rows(limits.pop() / 8) >= 1000
