"""Least squares on sparse rows: the dense path's answer, without dense rows."""

from itertools import pairwise

import numpy as np
import pytest
from scipy import sparse

from fastclf import LeastSquaresClassifier
from fastclf._csr import Csr, as_csr
from fastclf._threads import Progress
from fastclf.linear_model import block_gradients, least_squares, row_gram, scores

SHAPES = [(60, 300), (300, 60), (40, 41), (30, 30)]


def text(rng, n, d, n_classes=3, rare=0.1):
    """Rows of counts, of which no two are the same."""
    X = rng.poisson(rare + 2.0 / (1 + np.arange(d)), size=(n, d)).astype(float)
    X[np.arange(n), rng.integers(d, size=n)] += rng.random(n)
    return sparse.csr_array(X), rng.permutation(np.arange(n) % n_classes)


@pytest.mark.parametrize("shape", SHAPES)
def test_products_are_those_of_dense_rows(rng, shape, monkeypatch):
    monkeypatch.setattr(row_gram, "_NUMBERS", 500)
    X = text(rng, *shape)[0]
    rows = as_csr(X, "test")
    np.testing.assert_allclose(row_gram.products_of(rows, row_gram.transposed(rows)), (X @ X.T).toarray(), rtol=1e-13)
    root = rng.random(shape[0])
    mean = root**2 @ X.toarray() / np.sum(root**2)
    A = root[:, None] * (X.toarray() - mean)
    centred = row_gram.Centred(rows, mean, root, 1)
    products = A @ A.T if shape[0] <= shape[1] else A.T @ A
    np.testing.assert_allclose(centred.products(), products, atol=1e-10 * np.abs(products).max())
    np.testing.assert_allclose(centred.square_lengths, (A**2).sum(axis=0), rtol=1e-10)
    for n_vectors in 1, 3:
        V = rng.random((shape[0], n_vectors))
        np.testing.assert_allclose(centred.square_times(V), A @ (A.T @ V), atol=1e-10 * np.abs(products).max())
        W = rng.random((shape[1], n_vectors))
        np.testing.assert_allclose(centred.times(W), A @ W, rtol=1e-10)
        np.testing.assert_allclose(centred.back(A @ W), A.T @ (A @ W), atol=1e-10 * np.abs(A.T @ (A @ W)).max())


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("is_centred", [True, False])
def test_a_compiled_step_of_conjugate_gradients_is_the_step_of_arrays(rng, dtype, is_centred):
    X = text(rng, 50, 200)[0].astype(dtype)
    root = rng.random(50) + 0.5
    mean = root**2 @ X.toarray() / np.sum(root**2) if is_centred else np.zeros(200)
    A = row_gram.Centred(as_csr(X, "test"), mean, root, 1)
    weight, W = rng.random((200, 1)), rng.standard_normal((200, 1))
    rest = rng.standard_normal((50, 1)) - A.times(W)
    slope = A.back(rest) - 0.7 * W
    state = weight, W, rest, slope, slope * weight
    size = (slope * slope * weight).sum()
    compiled = [array.copy().ravel() for array in state]
    for _ in range(3):
        wanted = block_gradients._step(A, 0.7, size, state)
        found = A.step(0.7, size, [*compiled, np.empty(50)])
        np.testing.assert_allclose(found, np.ravel(wanted), rtol=1e-11)
        for one, other in zip(compiled, state):
            np.testing.assert_allclose(one, other.ravel(), rtol=1e-9, atol=1e-12)
        size = found[0]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("is_centred", [True, False])
@pytest.mark.parametrize("offset", [0, 1e5])
def test_products_with_dense_rows_are_those_of_centred_ones(rng, dtype, is_centred, offset):
    X = (rng.standard_normal((23, 70)) + offset).astype(dtype)
    root = rng.random(23) + 0.5
    mean = root**2 @ X.astype(float) / np.sum(root**2) if is_centred else np.zeros(70)
    A = root[:, None] * (X - mean)
    dense = row_gram.DenseCentred(X, mean, root, 1, n_targets=9)
    assert (dense.rows is X) == (dtype == np.float32 and not (offset and is_centred))
    for n_vectors in 1, 2, 9:
        W, R = rng.standard_normal((70, n_vectors)), rng.standard_normal((23, n_vectors))
        # what is subtracted is as large as the rows' own products
        np.testing.assert_allclose(dense.times(W), A @ W, rtol=0, atol=1e-13 * (1 + offset) * np.abs(W).sum())
        np.testing.assert_allclose(dense.back(R), A.T @ R, rtol=0, atol=1e-13 * (1 + offset) * np.abs(R).sum())
    np.testing.assert_allclose(dense.products(), A @ A.T, rtol=0, atol=1e-12 * np.abs(A @ A.T).max())
    rounded = dense.rounded_products()
    assert (rounded is None) == (dtype == np.float64)
    if rounded is not None:
        np.testing.assert_allclose(rounded, A @ A.T, rtol=0, atol=1e-5 * np.abs(A @ A.T).max())


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(1, 1), (3, 8), (4, 16), (5, 17), (9, 2100), (40, 33)])
def test_combinations_of_rows_have_the_same_bits_for_any_ranges_of_columns(rng, dtype, shape):
    n, d = shape
    X = rng.standard_normal(shape).astype(dtype)
    for n_vectors in 1, 2, 5, 40:
        R = rng.standard_normal((n, n_vectors))
        found = scores.combined(X, R)
        np.testing.assert_allclose(found, R.T @ X.astype(float), rtol=0, atol=1e-13 * np.abs(R).sum())
        parts = np.empty_like(found)
        for start, stop in pairwise([0, d // 3, d // 2, d]):
            scores.kernels.combine(X, R, parts, start, stop)
        np.testing.assert_array_equal(parts, found)


def test_a_step_whose_length_is_not_a_number_ends_the_steps():
    # the squares of the direction underflow, those of the slope do not
    A = row_gram.Centred(as_csr(sparse.csr_array(np.full((2, 3), 1e-170)), "test"), np.zeros(3), np.ones(2), 1)
    assert block_gradients.scaled_gradients(A, np.ones((2, 1)), 1e-175) is None


@pytest.mark.parametrize("offset", [0, 1e3, 1e6])
def test_few_rows_of_float32_have_the_exact_weights_at_any_offset(rng, offset):
    X = (rng.standard_normal((60, 200)) * 10.0 ** rng.uniform(-2, 2, 200) + offset).astype(np.float32)
    y = np.arange(60) % 3
    found, expected = (LeastSquaresClassifier(1.0).fit(rows, y).coef_ for rows in (X, X.astype(np.float64)))
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9 * np.abs(expected).max())


def test_a_penalty_keeps_directions_that_the_largest_one_hides(rng):
    # the largest eigenvalue, of the offset, is 1e13 times the others, which are far above the penalty
    X, y = rng.standard_normal((56, 109)) + 1e6, np.arange(56) % 2
    coef = LeastSquaresClassifier(1000.0, fit_intercept=False).fit(X, y).coef_[0]
    target = np.where(y == 1, 1.0, -1.0)
    expected = np.linalg.lstsq(np.vstack([X, np.sqrt(1000.0) * np.eye(109)]), np.r_[target, np.zeros(109)])[0]
    np.testing.assert_allclose(coef, expected, rtol=0, atol=1e-6 * np.abs(expected).max())


@pytest.mark.parametrize(
    ("starts_near", "digits"), [(False, 1e-2), (False, 1e-4), (False, 1e-10), (True, 1e-7), (True, 1e-10)]
)
def test_the_largest_eigenvalue_is_as_exact_as_wanted(rng, starts_near, digits):
    V = np.linalg.qr(rng.standard_normal((200, 200)))[0]
    others = np.linspace(0, 0.5, 198)
    for values in (
        np.r_[9, 1, others],
        np.r_[1, 0.999, others],
        np.r_[1, 0.9, others],
        1 / np.arange(1, 201),
        np.ones(200),
        np.r_[1, np.zeros(199)],
    ):
        matrix = (V * values) @ V.T
        start = matrix @ rng.standard_normal(200) if starts_near else None
        found = row_gram.largest_eigenvalue(lambda x, M=matrix: M @ x, 200, digits, start)
        assert abs(found - values.max()) <= digits * values.max()


@pytest.mark.parametrize("way", ["eigenvectors", "factor", "gradients"])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("alpha", [0.0, 0.5])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_sparse_rows_have_the_weights_of_dense_ones(rng, monkeypatch, way, shape, alpha, fit_intercept):
    monkeypatch.setattr(least_squares, "_MANY_COLUMNS", 10)
    if way != "eigenvectors":
        monkeypatch.setattr(row_gram, "_FEW", 0)
    if way == "gradients":
        monkeypatch.setattr(row_gram, "MOST", 0)
    X, y = text(rng, *shape)
    weight = rng.random(shape[0]) + 0.5
    found = LeastSquaresClassifier(alpha, fit_intercept=fit_intercept).fit(X, y, weight)
    expected = LeastSquaresClassifier(alpha, fit_intercept=fit_intercept).fit(X.toarray(), y, weight)
    size = np.abs(expected.coef_).max()
    np.testing.assert_allclose(found.coef_, expected.coef_, rtol=0, atol=1e-8 * size)
    np.testing.assert_allclose(found.intercept_, expected.intercept_, rtol=0, atol=1e-8 * (1 + size))
    if way != "gradients":
        assert found.rank_ == expected.rank_
    if way != "gradients" and shape[0] < shape[1]:
        np.testing.assert_allclose(found.condition_, expected.condition_, rtol=1e-6)


@pytest.mark.parametrize("few", [0, 512])
def test_rows_that_occur_twice_take_nothing_from_the_answer(rng, monkeypatch, few):
    monkeypatch.setattr(row_gram, "_FEW", few)
    X, y = text(rng, 50, 200)
    X, y = sparse.vstack([X, X[:10]]).tocsr(), np.concatenate([y, (y[:10] + 1) % 3])
    found, expected = LeastSquaresClassifier().fit(X, y), LeastSquaresClassifier().fit(X.toarray(), y)
    assert found.rank_ == expected.rank_ == 49
    np.testing.assert_allclose(found.coef_, expected.coef_, rtol=0, atol=1e-9 * np.abs(expected.coef_).max())


def test_many_columns_are_never_made_dense(rng, monkeypatch):
    X, y = text(rng, 600, 5000, rare=0.003)
    made = []
    dense = Csr.__array__
    monkeypatch.setattr(Csr, "__array__", lambda self, *args, **options: made.append(len(self)) or dense(self, *args))
    model = LeastSquaresClassifier().fit(X, y)
    assert sum(made) < 600  # only columns with an entry in most rows are made dense
    assert model.rank_ == 599
    assert np.abs(model.decision_function(X) - np.where(y[:, None] == np.arange(3), 1, -1)).max() < 1e-9


def test_sparse_rows_without_an_entry_have_weights_of_zero():
    X = sparse.csr_array((4, 9))
    model = LeastSquaresClassifier().fit(X, [0, 0, 1, 1])
    assert not model.coef_.any()
    assert model.rank_ == 0


@pytest.mark.parametrize("one_thread", [0, 1 << 21])
@pytest.mark.parametrize(
    ("n_classes", "fit_intercept", "way"),
    [
        (2, True, "scaled_gradients"),
        (2, False, "scaled_gradients"),
        # the three targets, less their means, add up to 0, so that two solutions give the third
        (3, True, "scaled_gradients"),
        (4, False, "scaled_gradients"),
        (6, True, "conjugate_block"),
        (9, True, "conjugate_block"),
        (9, False, "conjugate_block"),
    ],
)
def test_conjugate_gradients_have_the_weights_of_dense_rows(
    rng, monkeypatch, n_classes, way, fit_intercept, one_thread
):
    monkeypatch.setattr(row_gram, "_FEW", 0)
    monkeypatch.setattr(row_gram, "_ONE_THREAD", one_thread)
    monkeypatch.setattr(row_gram, "_FEW_TARGETS", 4)
    monkeypatch.setattr(row_gram.Centred, "gradients_limit", lambda self, n_targets: 1000)
    X, y = text(rng, 80, 300, n_classes)
    used = []
    real = getattr(row_gram, way)
    monkeypatch.setattr(row_gram, way, lambda *arguments: used.append(1) or real(*arguments))
    weight = rng.random(80) + 0.5
    found = LeastSquaresClassifier(0.1, fit_intercept=fit_intercept).fit(X, y, weight)
    assert used
    expected = LeastSquaresClassifier(0.1, fit_intercept=fit_intercept).fit(X.toarray(), y, weight)
    np.testing.assert_allclose(found.coef_, expected.coef_, rtol=0, atol=1e-9 * np.abs(expected.coef_).max())
    np.testing.assert_allclose(found.condition_, expected.condition_, rtol=1e-6)


def test_conjugate_gradients_with_too_few_steps_leave_the_problem_to_a_factor(rng):
    X = sparse.diags_array(np.geomspace(1, 1e4, 600)).tocsr()
    A = row_gram.Centred(as_csr(X, "test"), np.zeros(600), np.ones(600), 1)
    split, target = block_gradients.Split(A, 1e-2), rng.standard_normal((600, 2))
    assert block_gradients.conjugate_block(split, target, lambda Z: np.linalg.norm(Z, axis=0), 10) is None
    A = row_gram.Centred(as_csr(text(rng, 80, 300)[0], "test"), np.zeros(300), np.ones(80), 1)
    assert block_gradients.scaled_gradients(A, rng.standard_normal((80, 1)), 1e-6) is None


@pytest.mark.parametrize("most", [0, 12_000])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_small_penalty_changes_no_digit_of_the_answer(rng, monkeypatch, most, n_classes):
    monkeypatch.setattr(row_gram, "_FEW", 0)
    monkeypatch.setattr(row_gram, "MOST", most)
    X, y = text(rng, 80, 300, n_classes)
    for alpha in (1e-12, 1e-8, 1e-4):
        found = LeastSquaresClassifier(alpha).fit(X, y)
        expected = LeastSquaresClassifier(alpha).fit(X.toarray(), y)
        size = np.abs(expected.coef_).max()
        np.testing.assert_allclose(found.coef_, expected.coef_, rtol=0, atol=1e-9 * size)


@pytest.mark.parametrize(
    ("scale", "weight", "alpha"),
    [(1e-130, 1.0, 1.0), (1e-160, 1.0, 1e-300), (1e150, 1.0, 1e300), (1.0, 1e-300, 1.0), (1.0, 1e-300, 1e-300)],
)
def test_squares_that_float64_cannot_hold_change_no_digit_of_the_answer(rng, monkeypatch, scale, weight, alpha):
    monkeypatch.setattr(row_gram, "_FEW", 0)
    X, y = text(rng, 80, 300, 2)
    found = LeastSquaresClassifier(alpha).fit(X * scale, y, np.full(80, weight))
    # the same problem in other units
    expected = LeastSquaresClassifier(alpha / weight / scale / scale).fit(X.toarray(), y)
    np.testing.assert_allclose(found.coef_ * scale, expected.coef_, rtol=0, atol=1e-8 * np.abs(expected.coef_).max())
    assert found.condition_ >= 1


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_columns_that_hardly_vary_do_not_slow_conjugate_gradients_down(rng, monkeypatch, fit_intercept):
    monkeypatch.setattr(row_gram, "_FEW", 0)
    X, y = text(rng, 80, 300, 2)
    X = sparse.hstack([X, np.full((80, 1), 1e3), 1e3 + 1e-4 * rng.random((80, 1))]).tocsr()
    found = LeastSquaresClassifier(0.1, fit_intercept=fit_intercept).fit(X, y)
    expected = LeastSquaresClassifier(0.1, fit_intercept=fit_intercept).fit(X.toarray(), y)
    size = np.abs(expected.coef_).max()
    np.testing.assert_allclose(found.coef_, expected.coef_, rtol=0, atol=1e-9 * size)


@pytest.mark.parametrize("way", ["scaled_gradients", "_by_gradients"])
def test_float32_rows_have_weights_to_more_digits_than_they_have_themselves(rng, monkeypatch, way):
    monkeypatch.setattr(row_gram, "_FEW", 0)
    if way == "_by_gradients":
        monkeypatch.setattr(row_gram, "MOST", 0)
    X, y = text(rng, 200, 900, 2)
    X = X.astype(np.float32)
    found = LeastSquaresClassifier(1.0).fit(X, y)
    expected = LeastSquaresClassifier(1.0).fit(X.toarray().astype(np.float64), y)
    np.testing.assert_allclose(found.coef_, expected.coef_, rtol=0, atol=1e-8 * np.linalg.norm(expected.coef_))


@pytest.mark.parametrize("alpha", [1e-2, 1.0, 1e9])
@pytest.mark.parametrize("scale", [1.0, 1e2])
def test_the_preconditioner_and_the_rest_are_the_matrix(rng, monkeypatch, alpha, scale):
    """The product of AA' + alpha I from the two parts, for any number of columns in the preconditioner."""
    X = text(rng, 60, 300)[0] * scale
    rows, root = as_csr(X, "test"), rng.random(60) + 0.5
    mean = root**2 @ X.toarray() / np.sum(root**2)
    dense = root[:, None] * (X.toarray() - mean)
    M, R = dense @ dense.T + alpha * np.eye(60), rng.standard_normal((60, 4))
    A = row_gram.Centred(rows, mean, root, 1)
    for columns in (1, 20, 299, 300):
        monkeypatch.setattr(block_gradients, "_COLUMNS", columns)
        monkeypatch.setattr(block_gradients, "_SHARE", 1000)
        split = block_gradients.Split(A, alpha)
        assert split.C is None or np.linalg.norm(M, 2) < 2 * block_gradients._STEEP * alpha
        P = split.solve(R)
        found = split.times(P, R)
        tolerance = 1e-10 + (1e-15 * (np.linalg.norm(M, 2) / alpha) ** 2 if split.C is not None else 0)
        np.testing.assert_allclose(found, M @ P, rtol=0, atol=tolerance * np.abs(M @ P).max())


@pytest.mark.parametrize("n_classes", [2, 3, 40])
def test_weights_by_conjugate_gradients_have_the_digits_that_their_bound_promises(rng, monkeypatch, n_classes):
    monkeypatch.setattr(row_gram, "_FEW", 0)
    monkeypatch.setattr(row_gram.Centred, "gradients_limit", lambda self, n_targets: 1000)
    X, y = text(rng, 200, 900, n_classes)
    X = X * np.geomspace(1e-2, 1e2, 900)[rng.permutation(900)]  # columns of other scales
    X = sparse.csr_array(X)
    for alpha in (1e-2, 1.0, 100.0):
        found = LeastSquaresClassifier(alpha).fit(X, y).coef_
        dense = X.toarray() - X.toarray().mean(axis=0)
        target = least_squares.target_columns(y, n_classes)
        z = np.linalg.solve(dense @ dense.T + alpha * np.eye(200), target - target.mean(axis=0))
        expected = (dense.T @ z).T
        error = np.linalg.norm(found - expected, axis=1) / np.linalg.norm(expected, axis=1)
        assert error.max() < 1e-9


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("alpha", [1e-8, 1e-3, 1.0, 1e3])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_wide_dense_rows_have_the_weights_of_their_decomposition(rng, dtype, alpha, fit_intercept):
    X = (rng.standard_normal((60, 200)) * np.geomspace(0.1, 10, 200) + 1).astype(dtype)
    X[59] = X[0]
    y, weight = np.arange(60) % 3, rng.random(60) + 0.5
    model = LeastSquaresClassifier(alpha, fit_intercept=fit_intercept)
    found = model.fit(X, y, weight).coef_
    with Progress(60, "test") as progress:
        expected, *_ = model._in_row_space(X, y, 3, weight, progress)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9 * np.abs(expected).max() * max(1, 1e-3 / alpha))


@pytest.mark.parametrize("scale", [1e-30, 1e-12, 1.0, 1e12, 1e25])
@pytest.mark.parametrize("kind", ["far from 0", "nearly the same", "of a few columns", "of all sizes"])
def test_rounded_products_leave_no_trace_in_the_weights_of_float32_rows(rng, kind, scale):
    X = rng.standard_normal((60, 200))
    if kind == "far from 0":
        X += 300
    elif kind == "nearly the same":
        X[30:] = X[:30] + 1e-6 * rng.standard_normal((30, 200))
    elif kind == "of a few columns":
        X[:, 5:] *= 1e-5
    else:
        X *= np.geomspace(1e-4, 1e4, 60)[:, None]
    X, y = (X * scale).astype(np.float32), np.arange(60) % 3
    for alpha in (1e-7 * scale**2, scale**2, 1e4 * scale**2):
        found = LeastSquaresClassifier(alpha).fit(X, y)
        expected = LeastSquaresClassifier(alpha).fit(X.astype(np.float64), y)
        size = np.abs(expected.coef_).max()
        error = np.abs(found.coef_ - expected.coef_).max()
        assert error <= max(1e-9, 1e-15 * expected.condition_) * size
        assert found.condition_ == pytest.approx(expected.condition_, rel=1e-5)


@pytest.mark.parametrize("offset", [0.0, 0.2, 3.0])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("centred", [False, True])
def test_rounded_products_are_those_of_centred_rows(rng, offset, weighted, centred):
    X = (rng.normal(size=(40, 90)) + offset).astype(np.float32)
    root = np.sqrt(rng.random(40)) if weighted else np.ones(40)
    mean = np.average(X, axis=0, weights=root**2).astype(np.float64) if centred else np.zeros(90)
    found = row_gram.DenseCentred(X, mean, root, 1, 2).rounded_products()
    A = root[:, None] * (X - mean)
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, A @ A.T, atol=1e-6 * np.square(X).sum(axis=1).max())


def test_the_condition_number_of_tiny_rows_of_float32_is_that_of_float64(rng):
    X, y = (1e-22 * rng.normal(size=(200, 600))).astype(np.float32), rng.integers(3, size=200)
    weight = np.full(200, 1e31)
    single, double = (
        LeastSquaresClassifier(alpha=1e-13).fit(rows, y, sample_weight=weight) for rows in (X, X.astype(float))
    )
    assert single.condition_ == pytest.approx(double.condition_, rel=1e-5)
