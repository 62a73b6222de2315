"""The perceptron: exactly the textbook's sequence of steps, and the proof that it ends."""

import threading
import time
import warnings

import numpy as np
import pytest
import reference_perceptron as reference
import scipy.sparse
from conftest import pairwise_grid
from hypothesis import given
from hypothesis import strategies as st
from sklearn import linear_model as peer

from fastclf import Perceptron, _simd, load, save
from fastclf.linear_model import epochs

pytestmark = pytest.mark.levels

AND = [0, 0, 0, 1]
XOR = [0, 1, 1, 0]
CORNERS = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])


def integers(rng, n, d, dtype=np.float64, noise=0.1):
    """Rows of small integers, and labels that mostly follow a separating hyperplane."""
    X = rng.integers(-3, 4, (n, d)).astype(dtype)
    y = X @ rng.integers(-3, 4, d) > 0
    y ^= rng.random(n) < noise
    y[:2] = [False, True]
    return X, y.astype(int)


def signs(y):
    return np.where(y > 0, 1, -1)


def fit(X, y, weight=None, **parameters):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return Perceptron(**{"shuffle": False, "tol": None} | parameters).fit(X, y, sample_weight=weight)


def assert_same(model, w, b):
    np.testing.assert_array_equal(model.coef_.ravel(), np.ravel(w))
    np.testing.assert_array_equal(model.intercept_, np.ravel(b))


def as_kind(X, kind):
    return X if kind == "dense" else scipy.sparse.csr_matrix(X)


@pairwise_grid(
    kind=["dense", "sparse", "ones"],
    dtype=[np.float32, np.float64],
    d=[1, 3, 15, 16, 17, 32, 50],
    intercept=[True, False],
)
def test_integer_rows_give_the_weights_of_the_textbook_loop(rng, kind, dtype, d, intercept):
    X, y = integers(rng, 60, d, dtype)
    X = (X > 0).astype(dtype) if kind == "ones" else X
    share = intercept * (1 if kind == "dense" else 0.01)
    steps, mistakes = reference.perceptron(X, signs(y), list(range(60)) * 4, intercept=share)
    model = fit(as_kind(X, kind), y, max_iter=4, fit_intercept=intercept)
    assert_same(model, *steps[-1])
    assert model.n_mistakes_ == len(mistakes)


@given(st.integers(2, 30), st.integers(1, 20), st.integers(1, 5), st.sampled_from([0.25, 1.0, 3.0]), st.integers(0, 99))
def test_any_integers_give_the_weights_of_the_textbook_loop(n, d, sweeps, eta, seed):
    rng = np.random.default_rng(seed)
    X, y = integers(rng, n, d, noise=0.3)
    cost = rng.integers(1, 4, n).astype(float)
    steps, mistakes = reference.perceptron(X, signs(y), list(range(n)) * sweeps, eta, cost=cost)
    model = fit(X, y, cost, max_iter=sweeps, eta0=eta)
    assert_same(model, *steps[-1])
    assert model.n_mistakes_ == len(mistakes)


@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_ranges_threads_and_levels_change_no_bit(rng, monkeypatch, kind, dtype):
    X = rng.standard_normal((500, 37)).astype(dtype)
    y = rng.integers(0, 5, 500)
    models = [("averaged", "ovr"), ("pocket", "joint"), ("voted", "ovr"), ("none", "joint")]

    def answers(n_jobs):
        fits = [fit(as_kind(X, kind), y, max_iter=6, average=a, multi_class=m, n_jobs=n_jobs) for a, m in models]
        return [array for model in fits for array in (model.coef_, model.intercept_, model.decision_function(X[:9]))]

    expected = answers(1)
    monkeypatch.setattr(epochs, "_THREAD_WORK", 0)
    for level in _simd.available():
        monkeypatch.setattr(epochs, "kernels", _simd.load("linear_model._perceptron", level))
        for n_jobs in (1, 3):
            for first in (1, 999):
                monkeypatch.setattr(epochs, "_FIRST_PRODUCTS", first)
                for got, want in zip(answers(n_jobs), expected):
                    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("d", [1, 7, 16, 33])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_frequent_mistakes_change_nothing_but_the_time(rng, d, dtype):
    X = rng.integers(-3, 4, (1000, d)).astype(dtype)
    y = rng.integers(0, 2, 1000)
    cost = rng.integers(1, 3, 1000).astype(float)
    for weight, intercept in ((None, True), (cost, False)):
        steps, mistakes = reference.perceptron(
            X, signs(y), list(range(1000)) * 3, 0.5, intercept=intercept, cost=weight
        )
        model = fit(X, y, weight, max_iter=3, eta0=0.5, fit_intercept=intercept)
        assert_same(model, *steps[-1])
        assert model.n_mistakes_ == len(mistakes) > 900


@pairwise_grid(
    n_classes=[3, 8, 9, 20],
    dtype=[np.float32, np.float64],
    ones=[False, True],
    weights=[None, "samples", "classes"],
    parameters=[
        {"max_iter": 7},
        {"order": "shuffled", "tol": 1e-2, "n_iter_no_change": 1},
        {"order": "random", "max_iter": 30, "fit_intercept": False},
        {"order": "shuffled", "early_stopping": True, "tol": 1e-3},
    ],
)
def test_classes_that_learn_side_by_side_from_sparse_rows_learn_as_each_alone(
    rng, monkeypatch, n_classes, dtype, ones, weights, parameters
):
    X = rng.standard_normal((40 * n_classes, 60)) * (rng.random((40 * n_classes, 60)) < 0.2)
    y = (X @ rng.standard_normal((60, n_classes))).argmax(axis=1)
    y[:n_classes] = np.arange(n_classes)  # every class occurs
    X = scipy.sparse.csr_matrix(X != 0 if ones else X, dtype=dtype)
    weight = rng.random(len(y)) + 0.5 if weights == "samples" else None
    parameters = parameters | {"class_weight": {0: 2.5, 2: 0.3} if weights == "classes" else None}
    together = fit(X, y, weight, **parameters)
    monkeypatch.setattr(epochs, "_FEWEST_INTERLEAVED", np.inf)
    alone = fit(X, y, weight, **parameters)
    assert_same(together, alone.coef_, alone.intercept_)
    for name in ("n_mistakes_", "n_iter_", "loss_", "margin_"):
        np.testing.assert_array_equal(getattr(together, name), getattr(alone, name))
    if not together.early_stopping:
        alone.partial_fit(X, y, sample_weight=weight)
        monkeypatch.undo()
        together.partial_fit(X, y, sample_weight=weight)
        assert_same(together, alone.coef_, alone.intercept_)


@pytest.mark.parametrize("name", ["breast_cancer", "iris", "digits"])
@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"tol": None, "max_iter": 7},
        {"eta0": 0.3, "class_weight": "balanced"},
        {"class_weight": {0: 2, 1: 0.5}, "fit_intercept": False},
        {"tol": 1e-1, "n_iter_no_change": 2},
        {"penalty": "l2", "alpha": 1e-3, "max_iter": 20},
        {"penalty": "l2", "alpha": 2.0, "max_iter": 3},
        {"penalty": "elasticnet", "max_iter": 20, "fit_intercept": False},
    ],
    ids=str,
)
@pytest.mark.filterwarnings("ignore:.*convergence.*", "ignore:.*not known to separate.*")
def test_weights_and_sweeps_are_scikit_learns(name, parameters):
    from sklearn import datasets
    from sklearn.linear_model import Perceptron as Theirs

    X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    weight = np.random.default_rng(0).integers(1, 3, len(y)).astype(float)
    for sample_weight in (None, weight):
        theirs = Theirs(shuffle=False, **parameters).fit(X, y, sample_weight=sample_weight)
        ours = Perceptron(shuffle=False, **parameters).fit(X, y, sample_weight=sample_weight)
        np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-9, atol=1e-9 * np.abs(theirs.coef_).max())
        np.testing.assert_allclose(ours.intercept_, theirs.intercept_, rtol=1e-9, atol=1e-9)
        assert (ours.n_iter_, ours.t_) == (theirs.n_iter_, theirs.t_)
        np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))


@pytest.mark.filterwarnings("ignore:.*convergence.*", "ignore:.*not known to separate.*")
def test_an_l1_penalty_is_scikit_learns():
    from sklearn.datasets import load_breast_cancer
    from sklearn.linear_model import Perceptron as Theirs

    X, y = load_breast_cancer(return_X_y=True)
    for X_ in (X, scipy.sparse.csr_matrix(X)):
        parameters = {"penalty": "l1", "alpha": 1e-2, "max_iter": 9, "shuffle": False, "fit_intercept": False}
        ours, theirs = Perceptron(**parameters).fit(X_, y), Theirs(**parameters).fit(X_, y)
        np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-9, atol=1e-9)


def test_partial_fit_goes_on_where_it_ended(rng):
    from sklearn.linear_model import Perceptron as Theirs

    X, y = integers(rng, 300, 8)
    y = y + (X[:, 0] > 1)
    ours, theirs = Perceptron(shuffle=False), Theirs(shuffle=False)
    whole = fit(X, y, max_iter=1)
    for start in range(0, 300, 100):
        part = slice(start, start + 100)
        ours.partial_fit(X[part], y[part], classes=[0, 1, 2])
        theirs.partial_fit(X[part], y[part], classes=[0, 1, 2])
        np.testing.assert_array_equal(ours.coef_, theirs.coef_)
    assert_same(ours, whole.coef_, whole.intercept_)
    np.testing.assert_array_equal(ours.n_mistakes_, whole.n_mistakes_)
    np.testing.assert_array_equal(ours.radius_, whole.radius_)
    assert ours.t_ == theirs.t_ == 301
    assert np.isnan(ours.margin_).all()


def test_partial_fit_keeps_averages_and_votes(rng):
    X, y = integers(rng, 300, 8)
    y = y + (X[:, 0] > 1)
    for average, multi_class in (("averaged", "ovr"), ("averaged", "joint"), ("voted", "ovr")):
        parts = Perceptron(shuffle=False, average=average, multi_class=multi_class)
        for start in range(0, 300, 100):
            parts.partial_fit(X[start : start + 100], y[start : start + 100], classes=[0, 1, 2])
        whole = fit(X, y, max_iter=1, average=average, multi_class=multi_class)
        assert_same(parts, whole.coef_, whole.intercept_)
        np.testing.assert_array_equal(parts.decision_function(X), whole.decision_function(X))


def test_a_warm_start_goes_on_from_the_weights(rng):
    X, y = integers(rng, 100, 5, noise=0.3)
    model = fit(X, y, max_iter=3, warm_start=True)
    model.fit(X, y)
    assert_same(model, *reference.perceptron(X, signs(y), list(range(100)) * 6)[0][-1])
    started = Perceptron(shuffle=False, tol=None, max_iter=3).fit(X, y, model.coef_, model.intercept_)
    steps, _ = reference.perceptron(X, signs(y), list(range(100)) * 9)
    assert_same(started, *steps[-1])
    assert np.isnan(started.mistake_bound_)


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_averaged_weights_are_the_mean_of_all(rng, kind):
    X, y = integers(rng, 64, 6)
    steps, _ = reference.perceptron(X, signs(y), list(range(64)) * 2)
    model = fit(as_kind(X, kind), y, max_iter=2, average="averaged", order="cyclic")
    assert_same(model, *reference.averaged(steps))


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_voted_planes_are_all_of_the_sequence(rng, kind):
    X, y = integers(rng, 64, 6)
    Q = integers(rng, 40, 6)[0]
    steps, mistakes = reference.perceptron(X, signs(y), list(range(64)) * 2)
    model = fit(as_kind(X, kind), y, max_iter=2, average="voted", order="cyclic")
    assert len(model.votes_) == len(mistakes) + 1
    assert model.votes_.sum() == 128
    np.testing.assert_allclose(model.decision_function(as_kind(Q, kind)), reference.voted(steps, Q), atol=1e-12)


@pytest.mark.parametrize("weighted", [False, True])
def test_the_pocket_keeps_the_best_of_the_candidates(rng, weighted):
    X, y = integers(rng, 80, 4, noise=0.25)
    cost = rng.integers(1, 4, 80).astype(float) if weighted else None
    model = fit(X, y, cost, max_iter=5, average="pocket")
    assert_same(model, *reference.pocket(X, signs(y), 5, cost))
    assert model.score(X, y, cost) >= fit(X, y, cost, max_iter=5).score(X, y, cost)


def test_the_joint_perceptron_is_the_textbooks(rng):
    X = rng.integers(-3, 4, (90, 5))
    codes = (X @ rng.integers(-3, 4, (5, 4))).argmax(axis=1)
    model = fit(X, codes, max_iter=3, multi_class="joint")
    W, b, mistakes = reference.joint(X, codes, list(range(90)) * 3, 4)
    assert_same(model, W, b)
    assert model.n_mistakes_ == mistakes


def test_a_batch_adds_up_all_mistakes(rng):
    X, y = integers(rng, 90, 5)
    model = fit(X, y, order="batch", max_iter=7, eta0=0.5)
    assert_same(model, *reference.batch(X, signs(y), 7, 0.5))


def test_shuffled_and_random_orders_are_drawn_by_the_seed(rng):
    X, y = integers(rng, 200, 5, noise=0.2)
    for order in ("shuffled", "random"):
        first, same, other = (fit(X, y, order=order, max_iter=3, random_state=seed) for seed in (1, 1, 2))
        assert_same(first, same.coef_, same.intercept_)
        assert (first.coef_ != other.coef_).any()
    # an epoch over a permutation is the textbook loop in some order: each row's step is taken at most once
    shuffled = fit(X, y, order="shuffled", max_iter=1)
    assert shuffled.n_mistakes_ <= 200


def test_weight_0_is_a_missing_row_and_the_weight_multiplies_the_step(rng):
    X, y = integers(rng, 120, 5)
    weight = rng.integers(0, 3, 120).astype(float)
    there = weight > 0
    for parameters in ({"tol": 1e-3}, {"order": "shuffled"}, {"average": "averaged"}, {"start": "centroids"}):
        parameters = {"max_iter": 9, **parameters}
        assert_same(
            fit(X, y, weight, **parameters),
            *(getattr(fit(X[there], y[there], weight[there], **parameters), name) for name in ("coef_", "intercept_")),
        )


@pytest.mark.parametrize("order", ["cyclic", "shuffled"])
@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("intercept", [True, False])
def test_mistakes_on_separable_rows_are_within_novikoffs_bound(rng, order, kind, intercept):
    for eta in (0.2, 0.5, 1):
        planted, offset = rng.standard_normal(6), 0.3 * intercept
        X = rng.standard_normal((400, 6))
        f = X @ planted + offset
        X, f = X[np.abs(f) > 0.2], f[np.abs(f) > 0.2]
        model = fit(as_kind(X, kind), f > 0, order=order, eta0=eta, fit_intercept=intercept)
        rows = np.column_stack([X, np.ones(len(X))]) if intercept else X
        plane = np.append(planted, offset) if intercept else planted
        radius = np.linalg.norm(rows, axis=1).max()
        gamma = np.abs(f).min() / np.linalg.norm(plane)
        assert model.converged_
        assert model.score(X, f > 0) == 1
        assert model.n_mistakes_ <= (radius / gamma) ** 2
        assert model.n_mistakes_ <= model.mistake_bound_ == pytest.approx((radius / model.margin_) ** 2)
        assert model.radius_ == pytest.approx(radius)
        learned = np.append(model.coef_, model.intercept_) if intercept else model.coef_.ravel()
        assert model.margin_ == pytest.approx((signs(f) * (rows @ learned)).min() / np.linalg.norm(learned))


@pytest.mark.parametrize("average", ["averaged", "pocket", "none"])
@pytest.mark.parametrize("multi_class", ["ovr", "joint"])
def test_the_margin_is_that_of_the_learned_planes(rng, average, multi_class):
    X = np.concatenate([rng.standard_normal((50, 2)) + centre for centre in ([0, 9], [9, -9], [-9, -9])])
    y = np.repeat([0, 1, 2], 50)
    model = fit(X, y, order="cyclic", average=average, multi_class=multi_class)
    f = X @ model.coef_.T + model.intercept_
    planes = np.column_stack([model.coef_, model.intercept_])
    if multi_class == "joint":
        own = f[np.arange(150), y]
        f[np.arange(150), y] = -np.inf
        margin = (own - f.max(axis=1)).min() / np.linalg.norm(planes)
    else:
        margin = (np.where(y[:, None] == np.arange(3), 1, -1) * f).min(axis=0) / np.linalg.norm(planes, axis=1)
    np.testing.assert_allclose(model.margin_, np.where(margin > 0, margin, np.nan))
    assert model.converged_ == (margin > 0).all()
    bound = np.asarray(model.mistake_bound_)
    assert (np.isnan(bound) | (model.n_mistakes_ <= bound)).all()


def test_and_is_learned_and_xor_is_not():
    model = Perceptron(order="cyclic").fit(CORNERS, AND)
    assert model.converged_
    assert model.predict(CORNERS).tolist() == AND
    with pytest.warns(UserWarning, match="not known to separate the rows: max_iter=50 epochs were made, the last with"):
        model = Perceptron(order="cyclic", max_iter=50).fit(CORNERS, XOR)
    assert not model.converged_
    assert np.isnan(model.margin_)
    assert np.isnan(model.mistake_bound_)
    assert model.stop_reason_.startswith("max_iter=50 epochs were made, the last with ")


@pytest.mark.once
@pytest.mark.parametrize("order", ["cyclic", "shuffled", "random", "batch"])
def test_a_hundred_separable_sets_are_separated(rng, order):
    for seed in range(100):
        X, y = reference.separable(rng)
        model = Perceptron(order=order, max_iter=100_000, random_state=seed).fit(X, y)
        assert model.converged_
        assert (y * (X @ model.coef_[0] + model.intercept_) > 0).all()
        assert model.n_mistakes_ <= model.mistake_bound_ or order == "batch"
        assert model.stop_reason_.startswith("epoch ")
        assert model.loss_ == 0


@pytest.mark.once
def test_a_fit_that_ends_by_tol_either_separates_the_rows_or_warns(rng):
    ended_early = 0
    for _ in range(100):
        X, y = reference.separable(rng)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model = Perceptron().fit(X, y)
        separated = (y * (X @ model.coef_[0] + model.intercept_) > 0).all()
        assert model.converged_ == separated == (not caught)
        assert model.score(X, y) == 1 or not separated
        if not separated:
            ended_early += 1
            assert model.stop_reason_ == "its loss has not fallen by tol for 5 epochs"
            assert "not known to separate the rows: its loss has not fallen by tol" in str(caught[0].message)
            assert 'order="cyclic"' in str(caught[0].message)
    assert ended_early > 0


def test_the_hyperplane_that_does_not_separate_is_named_among_several(rng):
    X, y = CORNERS[[0, 1, 2, 3, 0]] + np.array([[0, 0], [0, 0], [0, 0], [0, 0], [50, 50]]), np.array([0, 1, 1, 0, 2])
    with pytest.warns(UserWarning, match="not known to separate the rows: its loss has not fallen by tol"):
        model = Perceptron(shuffle=False).fit(X, y)
    assert not model.converged_
    assert model.stop_reason_.startswith("its loss")
    assert model.loss_.shape == (3,)


@pytest.mark.filterwarnings("error")
def test_fits_for_classes_that_overlap_end_by_tol_without_a_warning(rng):
    X, y = integers(rng, 200, 5, noise=0.2)
    for average in ("averaged", "voted", "pocket"):
        assert Perceptron(average=average).fit(X, y).stop_reason_.startswith("its loss has not fallen by tol")
    Perceptron(early_stopping=True).fit(X, y)
    Perceptron(penalty="l2").fit(X, y)


@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"order": "random"},
        {"average": "averaged"},
        {"average": "pocket"},
        {"penalty": "l2"},
        {"fit_intercept": False},
    ],
)
def test_the_loss_is_that_of_the_final_weights(rng, kind, parameters):
    X, y = integers(rng, 150, 4, noise=0.2)
    cost = rng.integers(0, 3, 150).astype(float)
    for weight in (None, cost):
        model = fit(as_kind(X, kind), y, weight, max_iter=7, **parameters)
        expected = reference.loss(X, signs(y), model.coef_[0], model.intercept_[0], weight)
        assert model.loss_ == pytest.approx(expected)
        assert model.loss_ > 0


def test_the_loss_of_several_classes_is_that_of_each_or_of_all(rng, monkeypatch):
    monkeypatch.setattr(epochs, "_JUDGED_NUMBERS", 0)  # the rows are judged in several blocks
    X, y = rng.integers(-3, 4, (700, 3)), rng.integers(0, 3, 700)
    weight = {0: 2.0, 1: 1.0, 2: 0.5}
    model = fit(X, y, max_iter=3, class_weight=weight)
    for k in range(3):
        cost = np.where(y == k, weight[k], 1.0)
        expected = reference.loss(X, signs(y == k), model.coef_[k], model.intercept_[k], cost)
        assert model.loss_[k] == pytest.approx(expected)
    model = fit(X, y, max_iter=3, multi_class="joint")
    f = X @ model.coef_.T + model.intercept_
    own = f[np.arange(700), y].copy()
    f[np.arange(700), y] = -np.inf
    assert model.loss_ == pytest.approx(np.maximum(0, f.max(axis=1) - own).mean())
    assert not hasattr(fit(X, y, max_iter=3).partial_fit(X, y), "loss_")


def test_the_four_emails_of_the_texts_are_separated():
    # the outcomes of two tests of SpamAssassin on four e-mails, the first of which is spam (Flach 2012, table 1)
    X, y = np.array([[1.0, 1], [0, 0], [1, 0], [0, 1]]), np.array([1, 0, 0, 0])
    texts = Perceptron(order="cyclic").fit(X, y, coef_init=[[4.0, 4]], intercept_init=[-5.0])
    assert (texts.n_mistakes_, texts.coef_.tolist(), texts.intercept_.tolist()) == (0, [[4, 4]], [-5])
    assert texts.converged_
    for parameters in ({}, {"average": "averaged", "max_iter": 1000}, {"order": "batch"}, {"start": "centroids"}):
        model = Perceptron(**{"order": "cyclic"} | parameters).fit(X, y)
        assert model.converged_
        assert model.predict(X).tolist() == y.tolist()


@pytest.mark.parametrize(
    "options",
    [*({"order": order} for order in (None, "cyclic", "shuffled", "batch")), {"penalty": "l1"}, {"penalty": "l2"}],
)
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_row_that_is_not_finite_is_refused_wherever_it_is(rng, options, bad):
    X, y = integers(rng, 300, 5)
    model = fit(X, y)
    coef = model.coef_
    for row in (0, 299):
        rows = X.astype(float)
        rows[row, 2] = bad
        for method in ("fit", "partial_fit"):
            with pytest.raises(ValueError, match=rf"X contains (NaN|infinity) \(row {row}, column 2\)"):
                getattr(model.set_params(**options), method)(rows, y)
    assert model.coef_ is coef


def test_the_bound_is_nan_where_the_theorem_does_not_apply(rng):
    X, y = integers(rng, 40, 3, noise=0)
    for parameters in ({"start": "random"}, {"order": "batch"}, {"class_weight": {1: 2}}, {"penalty": "l2"}):
        assert np.isnan(fit(X, y, **{"max_iter": 50} | parameters).mistake_bound_)
    assert np.isnan(fit(X, y, np.ones(40), order="cyclic").mistake_bound_)


def test_the_start_can_be_the_plane_between_the_centroids(rng):
    X, y = integers(rng, 50, 3)
    p, n = X[y == 1].mean(axis=0), X[y == 0].mean(axis=0)
    for kind in ("dense", "sparse"):
        for eta in (0.2, 0.5, 1):
            model = fit(as_kind(X, kind), y, start="centroids", max_iter=2, eta0=eta, order="cyclic")
            steps, _ = reference.perceptron(X, signs(y), list(range(50)) * 2, eta, p - n, (n @ n - p @ p) / 2)
            np.testing.assert_allclose(model.coef_.ravel(), steps[-1][0], atol=1e-12)
            np.testing.assert_allclose(model.intercept_, steps[-1][1], atol=1e-12)


def test_scores_of_0_are_mistakes_in_training_and_the_first_class_in_prediction():
    X = [[0.0], [0.0]]
    model = fit(X, ["a", "b"], fit_intercept=False, max_iter=3)
    assert model.n_mistakes_ == 6
    assert model.predict(X).tolist() == ["a", "a"]


def test_sweeps_that_would_change_nothing_are_counted_and_not_made():
    seen = []
    model = Perceptron(shuffle=False, tol=None, max_iter=10**6, callback=lambda *state: seen.append(state))
    model.fit(CORNERS, AND)
    assert model.n_iter_ == 10**6
    assert len(seen) < 100


def test_early_stopping_holds_out_a_share_of_each_class(rng):
    X, y = integers(rng, 400, 6)
    model = fit(X, y, early_stopping=True, tol=1e-3, max_iter=100)
    assert model.n_iter_ < 100
    assert "held-out" in model.stop_reason_
    train, held_out = epochs.hold_out(y.astype(np.intc), None, 0.1, 0)
    assert np.array_equal(np.sort(np.concatenate([train, held_out])), np.arange(400))
    for k in (0, 1):
        assert abs((y[held_out] == k).sum() - 0.1 * (y == k).sum()) <= 0.5


@pytest.mark.parametrize("stop_at", [1, 3])
def test_a_callback_ends_the_training(rng, stop_at):
    X, y = integers(rng, 50, 3, noise=0.4)
    seen = []

    def callback(step, total, value):
        seen.append((step, total))
        return len(seen) == stop_at

    model = fit(X, y, max_iter=100, callback=callback)
    assert seen == [(50 * (i + 1), 5000) for i in range(stop_at)]
    assert model.stop_reason_ == "the callback stopped it"
    assert_same(model, *reference.perceptron(X, signs(y), list(range(50)) * stop_at)[0][-1])


def test_a_failed_fit_leaves_the_estimator_as_it_was(rng):
    X, y = integers(rng, 50, 3, noise=0.4)

    def fail(*_):
        raise KeyboardInterrupt

    model = fit(X, y, max_iter=3)
    before = {name: np.copy(value) for name, value in vars(model).items() if name.endswith("_")}
    with pytest.raises(KeyboardInterrupt):
        model.set_params(callback=fail).fit(X[:, :2], y)
    with pytest.raises(ValueError, match="overflowed in epoch 1"):
        model.set_params(callback=None, eta0=1e300).fit(X * 1e300, y)
    for name, value in before.items():
        np.testing.assert_array_equal(getattr(model, name), value)


def test_it_is_interrupted_within_a_fifth_of_a_second(rng):
    import _thread

    X = rng.standard_normal((100_000, 40))
    y = rng.integers(0, 4, 100_000)
    for average in ("none", "pocket"):
        timer = threading.Timer(0.5, _thread.interrupt_main)
        began = time.monotonic()
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            fit(X, y, max_iter=10**6, average=average, n_jobs=2)
        assert time.monotonic() - began < 5


@pytest.mark.parametrize("average", ["none", "averaged", "voted", "pocket"])
def test_a_saved_model_answers_and_learns_as_before(rng, tmp_path, average):
    X, y = integers(rng, 90, 4)
    y = y + (X[:, 0] > 1)
    model = fit(X, y, average=average, max_iter=4)
    save(model, tmp_path / "model")
    other = load(tmp_path / "model")
    np.testing.assert_array_equal(other.decision_function(X), model.decision_function(X))
    np.testing.assert_array_equal(other.partial_fit(X, y).coef_, model.partial_fit(X, y).coef_)


def test_damaged_state_is_refused(rng):
    X, y = integers(rng, 60, 4)
    for average, name, value in (
        ("voted", "voter_starts_", np.array([0, 10**6])),
        ("voted", "voters_", np.zeros((3, 4))),
        ("averaged", "_lag_coef_", np.zeros((1, 3))),
        ("averaged", "_samples_met_", np.zeros(3, np.int64)),
        ("none", "intercept_", np.zeros(2)),
    ):
        model = fit(X, y, average=average, max_iter=2)
        setattr(model, name, value)
        with pytest.raises(ValueError, match=name):
            model._check_state()


@pytest.mark.parametrize("scale", [2.0**-400, 2.0**-100, 2.0**100, 2.0**400])
def test_extreme_scales_change_nothing_but_the_scale(rng, scale):
    X, _ = integers(rng, 60, 4)
    X[X[:, 0] == 0, 0] = 1
    y = X[:, 0] > 0
    plain, scaled = (fit(X * factor, y, order="cyclic", fit_intercept=False) for factor in (1.0, scale))
    assert scaled.converged_
    np.testing.assert_array_equal(scaled.coef_, plain.coef_ * scale)
    assert scaled.mistake_bound_ == pytest.approx(plain.mistake_bound_)


def test_read_only_memory_maps_and_other_layouts_are_taken(rng, tmp_path):
    X, y = integers(rng, 70, 9, np.float32)
    parameters = {"max_iter": 3, "order": "cyclic"}
    want = fit(X, y, **parameters)
    np.save(tmp_path / "x.npy", X)
    for other in (np.load(tmp_path / "x.npy", mmap_mode="r"), np.asfortranarray(X), X.astype(int), X.tolist()):
        assert_same(fit(other, y, **parameters), want.coef_, want.intercept_)
    for other in (scipy.sparse.csc_matrix(X), scipy.sparse.coo_array(X)):
        assert_same(fit(other, y, **parameters), want.coef_, want.intercept_)


def test_an_empty_sparse_matrix_is_rows_of_zeros():
    model = fit(scipy.sparse.csr_matrix((4, 3)), [0, 1, 1, 1], max_iter=5)
    steps, _ = reference.perceptron(np.zeros((4, 3)), signs(np.array([0, 1, 1, 1])), list(range(4)) * 5, intercept=0.01)
    assert_same(model, *steps[-1])


@pytest.mark.parametrize("n_classes", [2, 3, 9])
@pytest.mark.parametrize("parameters", [{}, {"penalty": "l2"}, {"fit_intercept": False}, {"class_weight": "balanced"}])
def test_sparse_rows_give_scikit_learns_weights(rng, n_classes, parameters):
    y = np.arange(300) % n_classes
    X = scipy.sparse.csr_matrix(np.where(rng.random((300, 60)) < 0.1, rng.random((300, 60)), 0) + (y == 0)[:, None] / 2)
    parameters = {"shuffle": False, "tol": None, "max_iter": 6, **parameters}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ours, theirs = (cls(**parameters).fit(X, y) for cls in (Perceptron, peer.Perceptron))
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, rtol=1e-9, atol=1e-12)
    if "class_weight" not in parameters:
        ours.partial_fit(X, y)
        theirs.partial_fit(X, y)
        np.testing.assert_allclose(ours.intercept_, theirs.intercept_, rtol=1e-9, atol=1e-12)


def test_novikoffs_bound_holds_for_small_steps_of_the_intercept(rng):
    X = rng.integers(-3, 4, (200, 4)).astype(float)
    y = X @ [1.0, -2.0, 1.0, 1.0] > 1.5
    model = fit(scipy.sparse.csr_matrix(X), y, max_iter=10**5)
    assert model.converged_
    score = signs(y) * model.decision_function(X)
    assert model.margin_ == pytest.approx(score.min() / np.hypot(np.linalg.norm(model.coef_), 10 * model.intercept_[0]))
    assert model.radius_ == pytest.approx(np.sqrt((X * X).sum(axis=1).max() + 0.01))
    assert 0 < model.n_mistakes_ <= model.mistake_bound_ == pytest.approx((model.radius_ / model.margin_) ** 2)


BAD = {
    "one class": ({}, {"y": [1] * 4}, "y has one class, .*the number of classes has to be greater than one"),
    "eta0": ({"eta0": 0}, {}, "eta0 is 0; a number above 0 is wanted"),
    "order": ({"order": "sorted"}, {}, "order is 'sorted'; one of 'cyclic'"),
    "start": ({"start": 0}, {}, "start is 0; one of"),
    "average": ({"average": True}, {}, "average is True; one of"),
    "penalty": ({"penalty": "l3"}, {}, "penalty is 'l3'; one of"),
    "penalty and average": ({"penalty": "l2", "average": "pocket"}, {}, "average is 'pocket' and penalty 'l2'; with a"),
    "l1_ratio": ({"l1_ratio": 2}, {}, "l1_ratio is 2; a number from 0 to 1 is wanted"),
    "batch": ({"order": "batch", "average": "voted"}, {}, "average is 'voted' and order 'batch'; 'none' is wanted"),
    "joint": ({"average": "voted", "multi_class": "joint"}, {}, "average is 'voted' and multi_class 'joint'"),
    "tol": ({"tol": -1}, {}, "tol is -1; a number of at least 0 is wanted"),
    "shuffle": ({"shuffle": "yes"}, {}, "shuffle is 'yes'; True or False is wanted"),
    "max_iter": ({"max_iter": 0}, {}, "max_iter is 0; at least 1 is wanted"),
    "class_weight": ({"class_weight": {7: 1}}, {}, "class_weight has 7, which is no class; the classes are"),
    "class_weight kind": ({"class_weight": "even"}, {}, "class_weight is 'even'; a dict, 'balanced' or None"),
    "validation_fraction": ({"validation_fraction": 1}, {}, "validation_fraction is 1; a number between 0 and 1"),
    "weights": ({}, {"sample_weight": [0] * 4}, "sample_weight is zero for every row"),
    "coef_init": ({}, {"coef_init": [[1, 2, 3]]}, r"coef_init has shape \(1, 3\); \(1, 2\) is wanted"),
    "coef_init nan": ({}, {"coef_init": [[1, np.nan]]}, "coef_init contains NaN or infinity"),
    "y": ({}, {"y": np.ones((4, 2))}, r"y has shape \(4, 2\); \(4,\), one label per row, is wanted"),
    "random_state": ({"random_state": "x"}, {}, "random_state is 'x'; a whole number is wanted"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_arguments_get_one_sentence(name):
    parameters, arguments, sentence = BAD[name]
    with pytest.raises((ValueError, TypeError), match=sentence) as caught:
        Perceptron(**parameters).fit(**{"X": CORNERS, "y": AND} | arguments)
    assert "\n" not in str(caught.value)


def test_bad_arguments_of_partial_fit_get_one_sentence():
    for parameters, arguments, sentence in (
        ({}, {}, "classes must be passed on the first call to partial_fit; classes is None, and a list of all labels"),
        ({"early_stopping": True}, {"classes": [0, 1]}, "early_stopping is True; partial_fit"),
        ({"class_weight": "balanced"}, {"classes": [0, 1]}, "class_weight is 'balanced', which needs all rows"),
        ({}, {"classes": [0, 2]}, r"target label\(s\) \[1\] in y do not exist in the initial classes \[0 2\]"),
        ({}, {"classes": [0]}, "classes has one class"),
    ):
        with pytest.raises(ValueError, match=sentence):
            Perceptron(**parameters).partial_fit(CORNERS, AND, **arguments)
    model = Perceptron().partial_fit(CORNERS, AND, classes=[0, 1])
    with pytest.raises(
        ValueError, match=r"`classes=\[0 1 2\]` is not the same as on last call to partial_fit, was: \[0 1\]"
    ):
        model.partial_fit(CORNERS, AND, classes=[0, 1, 2])


@pytest.mark.parametrize("scale", [2.0**-500, 2.0**400])
@pytest.mark.parametrize("multi_class", ["ovr", "joint"])
def test_margins_of_tiny_and_huge_rows_are_those_of_others_times_the_scale(rng, scale, multi_class):
    y = rng.integers(3, size=60)
    X = 0.1 * rng.standard_normal((60, 5)) + 3 * np.eye(5)[y]
    options = {"order": "cyclic", "fit_intercept": False, "multi_class": multi_class}
    expected = Perceptron(**options).fit(X, y)
    assert expected.converged_
    found = Perceptron(**options).fit(X * scale, y)
    np.testing.assert_allclose(found.margin_, expected.margin_ * scale, rtol=1e-13)


def test_classes_that_end_at_different_epochs_have_the_weights_of_their_own_training(rng):
    n_classes = 21
    y = rng.integers(n_classes, size=400)
    noise = (rng.random((400, 60)) < 0.2) * rng.random((400, 60))
    X = scipy.sparse.csr_array(noise + (y[:, None] % 7 == np.arange(60) % 7))
    model = Perceptron(shuffle=False, n_jobs=1).fit(X, y)
    alone = [Perceptron(shuffle=False, n_jobs=1).fit(X, y == k) for k in range(n_classes)]
    assert len({each.n_iter_ for each in alone}) > 3
    np.testing.assert_array_equal(model.coef_, np.concatenate([each.coef_ for each in alone]))
    np.testing.assert_allclose(model.margin_, [each.margin_ for each in alone], rtol=1e-13)
    np.testing.assert_allclose(model.loss_, [each.loss_ for each in alone], rtol=1e-13)
