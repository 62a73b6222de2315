"""Least squares on indicators: the answer of numpy.linalg.lstsq, and the textbook's leave-one-out."""

import numpy as np
import pytest
import reference_least_squares as reference
from conftest import pairwise_grid
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array
from sklearn.linear_model import RidgeClassifier

import fastclf
from fastclf import LeastSquaresClassifier, load, save
from fastclf._csr import Csr
from fastclf.linear_model.exclusive import exclusive_columns
from fastclf.sums import blocks, moments

pytestmark = pytest.mark.levels


def data(rng, n=200, d=6, n_classes=3, dtype=np.float64, offset=0.0):
    y = np.arange(n) % n_classes
    X = rng.standard_normal((n, d)) + rng.standard_normal((n_classes, d))[y] + offset
    return X.astype(dtype), y


def assert_is_least_squares(model, X, y, weight=None, rtol=1e-8):
    coef, intercept = reference.fit(X, reference.targets(y), model.alpha, model.fit_intercept, weight)
    size = np.abs(coef).max() + 1e-300
    np.testing.assert_allclose(model.coef_, coef, rtol=0, atol=rtol * size)
    np.testing.assert_allclose(model.intercept_, intercept, rtol=0, atol=rtol * (1 + size * np.abs(X).max()))


@pairwise_grid(
    dtype=["float32", "float64"],
    alpha=[0.0, 3.0],
    fit_intercept=[True, False],
    make=[np.asarray, csr_array],
    shape=[(7, 2, 2), (200, 6, 3), (5000, 33, 4), (12, 30, 3), (20, 20, 2), (300, 70, 2)],
)
def test_weights_are_those_of_lstsq(rng, dtype, alpha, fit_intercept, make, shape):
    X, y = data(rng, *shape, dtype)
    X[np.abs(X) < 0.3] = 0
    model = LeastSquaresClassifier(alpha, fit_intercept=fit_intercept).fit(make(X), y)
    assert_is_least_squares(model, X, y)
    np.testing.assert_allclose(
        model.decision_function(make(X)).reshape(len(X), -1), X @ model.coef_.T + model.intercept_, rtol=1e-5, atol=1e-5
    )


@pytest.mark.parametrize("n_classes", [2, 4])
def test_the_model_is_scikit_learns_ridge_classifier(rng, n_classes):
    X, y = data(rng, n_classes=n_classes)
    weight = rng.random(len(X))
    ours = LeastSquaresClassifier(2.5).fit(X, y, weight)
    theirs = RidgeClassifier(2.5, solver="svd").fit(X, y, weight)
    np.testing.assert_allclose(ours.coef_.ravel(), theirs.coef_.ravel(), rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, rtol=1e-9, atol=1e-11)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))


@pytest.mark.parametrize("kind", ["twice", "sum", "constant", "one-hot"])
@pytest.mark.parametrize("shape", [(300, 8), (6, 8)])
def test_of_many_solutions_the_least_is_taken(rng, kind, shape):
    X, y = data(rng, *shape, n_classes=2)
    if kind == "twice":
        X[:, 3] = X[:, 1]
    elif kind == "sum":
        X[:, 3] = X[:, 1] + X[:, 2]
    elif kind == "constant":
        X[:, 3] = 0.1
    else:
        X[:, :4] = np.eye(4)[rng.integers(0, 4, len(X))]
    model = LeastSquaresClassifier().fit(X, y)
    assert model.rank_ == np.linalg.matrix_rank(X - X.mean(axis=0))
    assert model.rank_ < 8
    assert model.condition_ == np.inf
    assert_is_least_squares(model, X, y)


@pytest.mark.parametrize("noise", [1e-3, 1e-5, 1e-7])
def test_nearly_collinear_columns_lose_no_more_digits_than_their_condition(rng, noise):
    X, y = data(rng, 500, 6, 2)
    X[:, 0] = X[:, 1] + noise * rng.standard_normal(500)
    model = LeastSquaresClassifier().fit(X, y)
    assert model.rank_ == 6
    assert_is_least_squares(model, X, y, rtol=1e-14 / noise * 100)


def test_a_large_offset_costs_no_more_than_its_digits(rng):
    X, y = data(rng, 3000, 5, 2)
    X = X.round(3)
    near, far = LeastSquaresClassifier().fit(X, y), LeastSquaresClassifier().fit(X + 2.0**30, y)
    np.testing.assert_allclose(far.coef_, near.coef_, rtol=1e-5)


def test_columns_of_any_scale_are_of_one_rank(rng):
    X, y = data(rng, 400, 4, 2)
    scale = np.array([1e-40, 1.0, 1e30, 1e-8])
    plain, scaled = LeastSquaresClassifier().fit(X, y), LeastSquaresClassifier().fit(X * scale, y)
    assert scaled.rank_ == 4
    np.testing.assert_allclose(scaled.coef_ * scale, plain.coef_, rtol=1e-9)


@pytest.mark.parametrize("make", [np.asarray, csr_array])
@pytest.mark.parametrize("shape", [(60, 5, 3), (8, 12, 2)])
def test_weight_zero_is_a_missing_row_and_two_a_duplicated_one(rng, make, shape):
    X, y = data(rng, *shape)
    weight = rng.integers(0, 4, len(X))
    y[0], weight[0] = 9, 0
    weighted = LeastSquaresClassifier(0.5).fit(make(X), y, weight)
    repeated = LeastSquaresClassifier(0.5).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    np.testing.assert_array_equal(weighted.classes_, repeated.classes_)
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(weighted.intercept_, repeated.intercept_, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("alpha", [0.0, 2.0])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("shape", [(40, 5, 2), (40, 5, 3), (9, 12, 2)])
def test_leave_one_out_is_that_of_a_fit_for_each_row(rng, alpha, fit_intercept, shape):
    X, y = data(rng, *shape)
    X[0, 0] = 50.0
    T = reference.targets(y)
    model = LeastSquaresClassifier(alpha, fit_intercept=fit_intercept)
    scores = model.leave_one_out(X, y)
    expected = reference.leave_one_out(X, T, alpha=alpha, fit_intercept=fit_intercept)
    np.testing.assert_allclose(scores.reshape(expected.shape), expected, rtol=1e-7, atol=1e-8)
    np.testing.assert_array_equal(model.coef_, model.fit(X, y).coef_)


def test_a_row_that_alone_has_a_feature_is_left_out_by_a_fit(rng):
    X, y = data(rng, 30, 4, 2)
    X[:, 3] = 0
    X[5, 3] = 1.0
    scores = LeastSquaresClassifier().leave_one_out(X, y)
    assert np.isfinite(scores).all()
    expected = reference.leave_one_out(X, reference.targets(y))[:, 0]
    np.testing.assert_allclose(scores, expected, rtol=1e-8, atol=1e-10)


def test_leave_one_out_takes_weights(rng):
    X, y = data(rng, 50, 4, 2)
    weight = rng.integers(0, 3, 50).astype(float)
    kept = weight > 0
    scores = LeastSquaresClassifier(0.1).leave_one_out(X, y, weight)
    T = reference.targets(y)
    expected = reference.leave_one_out(X[kept], T[kept], alpha=0.1, weight=weight[kept])[:, 0]
    np.testing.assert_allclose(scores[kept], expected, rtol=1e-8, atol=1e-10)
    model = LeastSquaresClassifier(0.1).fit(X, y, weight)
    np.testing.assert_allclose(scores[~kept], model.decision_function(X[~kept]))


def test_the_four_emails_of_the_texts_are_separated():
    # the outcomes of two tests of SpamAssassin on four e-mails, the first of which is spam (Flach 2012, table 1)
    X, y = np.array([[1.0, 1], [0, 0], [1, 0], [0, 1]]), np.array([1, 0, 0, 0])
    np.testing.assert_array_equal(X @ [4, 4] > 5, y)
    model = LeastSquaresClassifier().fit(X, y)
    np.testing.assert_array_equal(model.predict(X), y)
    # by symmetry both weights of the model are equal, as in the textbook
    np.testing.assert_allclose(model.coef_, [[1, 1]])
    np.testing.assert_allclose(model.intercept_, [-1.5])


def test_xor_is_not_learned():
    X = np.array([[0.0, 0], [0, 1], [1, 0], [1, 1]])
    np.testing.assert_allclose(LeastSquaresClassifier().fit(X, [0, 1, 1, 0]).coef_, 0, atol=1e-15)


def test_threads_and_ranges_change_no_bit(rng, monkeypatch):
    X, y = data(rng, 9000, 13)
    expected = LeastSquaresClassifier(n_jobs=1).fit(X, y)
    monkeypatch.setattr(moments, "_RANGE_NUMBERS", 1000)
    monkeypatch.setattr(blocks, "_THREAD_WORK", 0)
    monkeypatch.setattr(blocks, "_FIRST_WORK", 0)
    monkeypatch.setattr(blocks, "_THREAD_SECONDS", 1e-9)
    monkeypatch.setattr(blocks, "_RANGE_WORK", 1000)
    for n_jobs in (1, 3):
        model = LeastSquaresClassifier(n_jobs=n_jobs).fit(X, y)
        np.testing.assert_array_equal(model.coef_, expected.coef_)
        np.testing.assert_array_equal(model.decision_function(X), expected.decision_function(X))


@given(st.integers(2, 12), st.integers(1, 6), st.data())
def test_nasty_rows_give_finite_answers(n, d, data):
    values = st.sampled_from([0.0, -0.0, 1.0, -3.0, 1e-160, 1e100, 5e-324, 0.1])
    X = np.array(data.draw(st.lists(st.lists(values, min_size=d, max_size=d), min_size=n, max_size=n)))
    y = np.arange(n) % 2
    model = LeastSquaresClassifier()
    assert np.isfinite(model.leave_one_out(X, y)).all()
    assert np.isfinite(model.coef_).all()
    assert set(model.predict(X)) <= {0, 1}


def test_a_file_gives_back_what_was_saved(rng, tmp_path):
    X, y = data(rng)
    model = LeastSquaresClassifier(1.0).fit(X, y)
    save(model, tmp_path / "model.fclf")
    np.testing.assert_array_equal(load(tmp_path / "model.fclf").predict(X), model.predict(X))


def test_a_stopped_or_failed_fit_leaves_the_estimator_as_it_was(rng):
    X, y = data(rng)
    model = LeastSquaresClassifier().fit(X, y)
    before = model.coef_
    with pytest.raises(RuntimeError, match="stopped by callback"):
        model.set_params(callback=lambda step, total, value: True).fit(X + 1, y)
    with pytest.raises(ValueError, match="contains infinity"):
        model.set_params(callback=None).fit(np.where(X > 1, np.inf, X), y)
    assert model.coef_ is before


BAD = {
    "alpha": (lambda X, y: LeastSquaresClassifier(-1).fit(X, y), "alpha is -1; a number of at least 0"),
    "infinite alpha": (lambda X, y: LeastSquaresClassifier(np.inf).fit(X, y), "alpha is inf; a finite number"),
    "one class": (
        lambda X, y: LeastSquaresClassifier().fit(X, y * 0),
        "y has one class, .*; the number of classes has to",
    ),
    "weights": (
        lambda X, y: LeastSquaresClassifier().fit(X, y, y * 0),
        "sample_weight is zero for every row; a weight above 0",
    ),
    "nan": (lambda X, y: LeastSquaresClassifier().fit(np.where(X > 1, np.nan, X), y), r"contains NaN \(row \d+, col"),
    "nan, wide": (lambda X, y: LeastSquaresClassifier().fit(X[:4] * np.nan, y[:4]), r"contains NaN \(row 0, column 0"),
    "huge": (lambda X, y: LeastSquaresClassifier().fit(X * 1e200, y), "values below 1e150 are wanted"),
    "query": (lambda X, y: LeastSquaresClassifier().fit(X, y).predict(X * np.inf), "X contains infinity"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_arguments_get_one_sentence(rng, name):
    call, sentence = BAD[name]
    with pytest.raises((ValueError, TypeError), match=sentence) as caught:
        call(*data(rng))
    assert "\n" not in str(caught.value)


def as_csr(X):
    rows = csr_array(X)
    return Csr(rows.indptr.astype(np.int64), rows.indices.astype(np.int32), rows.data, rows.shape[1])


def with_levels(rng, n, n_levels, missing=0.0, unit=1.0, n_numbers=3):
    """Rows of numbers and of the zeros and ones of two categorical columns, and labels that depend on all of them."""
    levels, few = rng.integers(0, n_levels, n), rng.integers(0, 3, n)
    ones = np.where(rng.random(n) < missing, 0, 1)[:, None] * (levels[:, None] == np.arange(n_levels))
    numbers = unit * (3 + rng.standard_normal((n, n_numbers)))
    y = (numbers.sum(axis=1) / unit + levels % 3 + rng.standard_normal(n) > 3 * n_numbers + 1) + few // 2
    return np.column_stack([numbers, few[:, None] == np.arange(3), ones]).astype(float), y


@pairwise_grid(
    alpha=[0.0, 0.5],
    fit_intercept=[True, False],
    missing=[0.0, 0.2],
    unit=[1.0, 1e5],
    n_numbers=[0, 3],
    weighted=[False, True],
    shape=[(900, 300), (700, 160), (400, 900)],
)
def test_many_categories_are_eliminated_without_a_trace(
    rng, monkeypatch, alpha, fit_intercept, missing, unit, n_numbers, weighted, shape
):
    X, y = with_levels(rng, *shape, missing, unit, n_numbers)
    weight = rng.integers(0, 3, len(y)).astype(float) if weighted else None
    dense = LeastSquaresClassifier(alpha, fit_intercept=fit_intercept).fit(X, y, weight)
    if alpha == 0 or shape[0] > shape[1]:
        monkeypatch.setattr(
            LeastSquaresClassifier, "_by_products", lambda *given, **options: pytest.fail("not eliminated")
        )
        monkeypatch.setattr(LeastSquaresClassifier, "_in_row_space", None)
    model = LeastSquaresClassifier(alpha, fit_intercept=fit_intercept).fit(as_csr(X), y, weight)
    np.testing.assert_allclose(model.coef_, dense.coef_, rtol=0, atol=1e-9 * np.abs(dense.coef_).max())
    size = np.abs(dense.intercept_).max() + np.abs(dense.coef_).max() * unit
    np.testing.assert_allclose(model.intercept_, dense.intercept_, rtol=0, atol=1e-9 * size)
    assert model.rank_ == dense.rank_
    if shape[0] > shape[1]:
        np.testing.assert_allclose(model.condition_, dense.condition_, rtol=0.02)


@pytest.mark.parametrize("alpha", [0.0, 1e-8, 1e-3])
@pytest.mark.parametrize("spread", [1.0, 1e-3, 1e-4])
def test_a_number_far_from_0_counts_as_much_beside_many_categories_as_alone(rng, alpha, spread):
    n, n_levels = 400, 300
    z = rng.standard_normal(n)
    X = np.column_stack([1000 + spread * z, rng.integers(0, n_levels, n)[:, None] == np.arange(n_levels)])
    y = z > 0
    model = LeastSquaresClassifier(alpha).fit(as_csr(X), y)
    dense = LeastSquaresClassifier(alpha).fit(X - X.mean(axis=0), y)
    objectives = [
        ((each.decision_function(rows) - (2 * y - 1)) ** 2).sum() + alpha * (each.coef_**2).sum()
        for each, rows in ((model, X), (dense, X - X.mean(axis=0)))
    ]
    np.testing.assert_allclose(*objectives, rtol=1e-6)


def test_columns_beside_many_others_are_not_eliminated(rng):
    ones = rng.integers(0, 1000, (3000, 2))[:, :, None] == np.arange(1000)
    both = ones.reshape(3000, -1).astype(float)
    assert exclusive_columns(as_csr(both)) == slice(0, 1000)  # a factorisation of 2000 columns would take longer
    assert exclusive_columns(as_csr(both[:, 400:1400])) is None
    assert exclusive_columns(as_csr(np.concatenate([both] * 6))) is None  # 18 million values of the others


def test_columns_that_exclude_each_other_are_found_where_they_are_side_by_side(rng):
    X, _ = with_levels(rng, 500, 200)
    for columns, found in [
        (X, slice(6, 206)),
        (X[:, ::-1], slice(0, 200)),
        (X[:, 6:], slice(0, 200)),
        (rng.random((500, 200)) < 0.1, None),
        (X[:, :60], None),
    ]:
        assert exclusive_columns(as_csr(columns.astype(float))) == found


@pairwise_grid(
    d=[20, 100],
    spread=[2, 3, 3.5],
    make=[np.asarray, csr_array],
    weighted=[False, True],
    offset=[0.0, 10.0],
    cls=[LeastSquaresClassifier, fastclf.RidgeClassifier],
)
def test_nearly_collinear_columns_are_solved_without_a_factor_of_all_rows(
    rng, monkeypatch, d, spread, make, weighted, offset, cls
):
    X, y = data(rng, 500, d, offset=offset)
    weight = rng.random(500) if weighted else None
    # nearly collinear columns are well-conditioned ones times a matrix, whose inverse gives their solution
    coef, _ = reference.fit(X, reference.targets(y), 0.0, True, weight)
    change = np.eye(d)
    change[:, 0] = 0
    change[:3, 0] = 10.0**-spread, 1, 1
    coef = np.linalg.solve(change, coef.T).T
    monkeypatch.setattr(np.linalg, "qr", None)
    # RidgeClassifier takes an inverse only with a penalty; this one is too small to change the solution
    alpha = 1e-20 if cls is fastclf.RidgeClassifier else 0.0
    model = cls(alpha=alpha).fit(make(X @ change), y, weight)
    np.testing.assert_allclose(model.coef_, coef, rtol=0, atol=10.0 ** (spread - 13) * np.abs(coef).max())


@pytest.mark.parametrize("alpha", [0.0, 3.0])
@pytest.mark.parametrize("spread", [0.0, 2.0, 6.0])
@pytest.mark.parametrize("cls", [LeastSquaresClassifier, fastclf.RidgeClassifier])
def test_a_factor_gives_the_weights_of_eigenvectors(rng, monkeypatch, alpha, spread, cls):
    X, y = rng.standard_normal((300, 90)) @ np.diag(10 ** rng.uniform(-2, 2, 90)), rng.integers(0, 3, 300)
    X[:, 0] = X[:, 1] + X[:, 2] + 10**-spread * X[:, 0]  # a spread of 6 needs the QR factorisation of X itself
    X[:, 3] = 1
    monkeypatch.setattr("fastclf.linear_model.ridge._MOST_INVERTED", 0)
    models = []
    for many in (1, 10**6):
        monkeypatch.setattr("fastclf.linear_model.least_squares._MANY_USED", many)
        models.append(cls(alpha=alpha).fit(X, y))
    np.testing.assert_allclose(models[0].coef_, models[1].coef_, rtol=1e-7, atol=1e-9 * np.abs(models[1].coef_).max())
    if cls is LeastSquaresClassifier:
        assert models[0].rank_ == models[1].rank_
        np.testing.assert_allclose(models[0].condition_, models[1].condition_, rtol=1e-2)
