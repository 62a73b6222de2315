"""nu-SVC: its optimum is that of SVC at another C, and all its alphas add up to the share that nu says."""

import subprocess
import sys
import warnings

import numpy as np
import pytest
import reference_svm as reference
from conftest import seconds_to_obey_ctrl_c
from scipy.sparse import csr_array
from sklearn import svm as peer
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, make_blobs, make_classification
from sklearn.preprocessing import StandardScaler

import fastclf
from fastclf import SVC, NuSVC
from fastclf.svm import pairs
from fastclf.svm.pair_scores import pairs_of

pytestmark = pytest.mark.levels

KERNELS = {"linear": {}, "poly": {"gamma": 0.3, "degree": 3, "coef0": 1.0}, "rbf": {"gamma": 0.2}}


def overlapping(rng, n=120, d=4):
    X = rng.standard_normal((n, d))
    return X, (X[:, 0] + 0.7 * rng.standard_normal(n) > 0).astype(int)


def three_classes(rng, n):
    X = rng.standard_normal((n, 4))
    return X, np.digitize(X[:, 0] + 0.7 * rng.standard_normal(n), [-0.5, 0.5])


def most_violated(model, K, codes, weight):
    """The largest violation of the optimality conditions by any pair; K is the kernel matrix of the fitted rows."""
    worst, n_classes = 0.0, len(model.classes_)
    starts = np.concatenate([[0], np.cumsum(model.n_support_)])
    dual_coef = np.asarray(model.dual_coef_)
    for p, (a, b) in enumerate(pairs_of(n_classes)):
        coef = np.zeros(len(codes))
        for own, other in ((a, b - 1), (b, a)):
            part = slice(starts[own], starts[own + 1])
            coef[model.support_[part]] = dual_coef[other, part]
        rows = (codes == a) | (codes == b)
        y = np.where(codes == (a if n_classes > 2 else b), 1.0, -1.0)
        alpha, bound = (y * coef)[rows] / model.C_[p], weight[rows]
        margin = (y * (K @ coef + model.intercept_[p]))[rows]
        share = 0.5 * model.nu * bound.sum()
        for sign in (1, -1):
            worst = max(worst, abs(alpha[y[rows] == sign].sum() - share) / share)
        assert alpha.min() >= 0
        assert (alpha <= bound * (1 + 1e-12)).all()
        worst = max(worst, (1 - margin)[alpha < bound * (1 - 1e-12)].max(initial=0))
        worst = max(worst, (margin - 1)[alpha > 0].max(initial=0))
    return worst


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("nu", [0.5, 0.8])
def test_the_optimality_conditions_hold(rng, name, nu):
    X, y = overlapping(rng)
    K = reference.kernel_matrix(name, X, X, **KERNELS[name])
    for weight in (None, rng.integers(0, 3, len(y)).astype(float)):
        model = NuSVC(nu=nu, kernel=name, tol=1e-7, **KERNELS[name]).fit(X, y, weight)
        assert most_violated(model, K, y, np.ones(len(y)) if weight is None else weight) <= 2e-7
        assert model.violation_ <= 1e-7
        assert 0 <= model.duality_gap_ <= 1e-5


def test_the_optimality_conditions_hold_for_each_pair():
    X, y = load_iris(return_X_y=True)
    model = NuSVC(nu=0.4, kernel="linear", tol=1e-8).fit(X, y)
    assert most_violated(model, X @ X.T, y, np.ones(len(y))) <= 1e-7


@pytest.mark.parametrize("nu", [0.2, 0.5, 0.9])
def test_the_machine_is_that_of_svc_at_its_c(rng, nu):
    X, y = overlapping(rng)
    model = NuSVC(nu=nu, tol=1e-8).fit(X, y)
    other = SVC(C=model.C_[0], tol=1e-8).fit(X, y)
    np.testing.assert_allclose(model.decision_function(X), other.decision_function(X), atol=1e-6)
    np.testing.assert_allclose(model.dual_objective_, other.dual_objective_, rtol=1e-9)


def test_nu_bounds_the_shares_of_support_vectors_and_of_slacks(rng):
    X, y = overlapping(rng, 400)
    for nu in (0.45, 0.6, 0.8):
        model = NuSVC(nu=nu, tol=1e-6).fit(X, y)
        margins = (2 * y - 1) * model.decision_function(X)
        assert len(model.support_) >= nu * len(y) - 1e-9
        assert (margins < 1 - 1e-5).sum() <= nu * len(y) + 1e-9


@pytest.mark.parametrize(("load", "nu"), [(load_iris, 0.25), (load_breast_cancer, 0.2), (load_digits, 0.1)])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_machines_are_libsvms(load, nu, kernel):
    X, y = load(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    ours, theirs = (
        kind(nu=nu, kernel=kernel, gamma=0.02, tol=1e-8, decision_function_shape="ovo").fit(X, y)
        for kind in (NuSVC, peer.NuSVC)
    )
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), rtol=1e-4, atol=1e-4)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-4)
    assert ours.dual_coef_.shape[0] == theirs.dual_coef_.shape[0]


@pytest.mark.parametrize("limit", ["whole", "sets"])
def test_working_sets_find_the_same_optimum(rng, limit, monkeypatch):
    X, y = three_classes(rng, 400)
    whole = NuSVC(nu=0.55, tol=1e-7).fit(X, y)
    monkeypatch.setattr(pairs, "_LARGEST_SET", 64 if limit == "sets" else 2048)
    monkeypatch.setattr(pairs.small_pairs, "grams", lambda problem, found: ())
    for dtype in ("float32", "float64"):
        tol = 1e-7 if dtype == "float64" else 1e-3
        model = NuSVC(nu=0.55, tol=tol, kernel_dtype=dtype, cache_size=0.3).fit(X, y)
        assert model.violation_ <= tol
        np.testing.assert_allclose(model.decision_function(X), whole.decision_function(X), atol=20 * tol)


def test_more_rows_than_a_matrix_has_room_for_end_within_tol(rng):
    X, y = overlapping(rng, 2500)
    model = NuSVC(nu=0.6).fit(X, y)
    K = reference.kernel_matrix("rbf", X, X, gamma=model._gamma_)
    assert most_violated(model, K, y, np.ones(len(y))) <= 2e-3
    assert model.fit_status_ == 0


def test_threads_change_no_bit(rng):
    for X, y in (three_classes(rng, 300), overlapping(rng, 2400)):
        one, three = (NuSVC(nu=0.55, n_jobs=n_jobs).fit(X, y) for n_jobs in (1, 3))
        np.testing.assert_array_equal(one.dual_coef_, three.dual_coef_)
        np.testing.assert_array_equal(one.intercept_, three.intercept_)


def test_a_weight_of_2_is_a_row_twice(rng):
    X, y = overlapping(rng)
    weight = rng.integers(0, 3, len(y))
    one = NuSVC(nu=0.4, gamma=0.2, tol=1e-9).fit(X, y, weight)
    other = NuSVC(nu=0.4, gamma=0.2, tol=1e-9).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    np.testing.assert_allclose(one.decision_function(X), other.decision_function(X), atol=1e-7)


def test_class_weights_are_weights_of_rows(rng):
    X, y = overlapping(rng)
    one = NuSVC(nu=0.4, gamma=0.2, tol=1e-9, class_weight={1: 0.5}).fit(X, y)
    other = NuSVC(nu=0.4, gamma=0.2, tol=1e-9).fit(X, y, np.where(y == 1, 0.5, 1))
    np.testing.assert_array_equal(one.dual_coef_, other.dual_coef_)
    rare = np.flatnonzero((y == 1) & (np.arange(len(y)) % 5 > 0))
    with pytest.raises(ValueError, match="specified nu is infeasible"):
        NuSVC(nu=0.9).fit(np.delete(X, rare, axis=0), np.delete(y, rare))
    assert NuSVC(nu=0.9, class_weight="balanced").fit(np.delete(X, rare, axis=0), np.delete(y, rare)).fit_status_ == 0


def test_a_nu_that_is_infeasible_is_refused_as_by_scikit_learn():
    X = np.arange(10.0)[:, None]
    for n_first, nu in ((5, 1.0), (3, 0.6), (3, 0.61), (1, 0.2), (1, 0.21), (4, 0.8), (4, 0.81)):
        y = np.arange(10) >= n_first
        for model in (NuSVC(nu=nu), peer.NuSVC(nu=nu)):
            if nu * 5 > n_first:
                with pytest.raises(ValueError, match="specified nu is infeasible"):
                    model.fit(X, y)
        if nu * 5 <= n_first:
            assert NuSVC(nu=nu).fit(X, y).fit_status_ == 0


def test_all_rows_are_at_their_bounds_where_nu_is_as_large_as_can_be():
    X, y = np.array([[0.0], [1.0], [3.0], [5.0]]), [0, 0, 1, 1]
    model = NuSVC(nu=1.0, kernel="linear").fit(X, y)
    assert len(model.support_) == 4
    assert np.isfinite(model.dual_coef_).all()
    assert model.violation_ <= 1e-3
    assert model.predict(X).tolist() == y


def test_a_nu_that_leaves_no_margin_is_told_of(rng):
    X = rng.standard_normal((300, 2))
    y = rng.integers(0, 2, 300)
    with pytest.warns(UserWarning, match="at so small a nu the classes leave no margin"):
        model = NuSVC(nu=0.3, kernel="linear", tol=1e-6).fit(X, y)
    assert np.isfinite(model.decision_function(X)).all()
    assert model.fit_status_ == 1
    same = np.ones((6, 2))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert np.isfinite(NuSVC(nu=0.5).fit(same, [0, 1] * 3).decision_function(same)).all()


@pytest.mark.parametrize("n", [2000, 5000])
def test_classes_that_leave_no_margin_are_given_up_when_the_violation_is_as_small_as_no_margin(n):
    X, y = make_classification(n, 8, n_informative=4, flip_y=0.1, class_sep=0.7, random_state=0)
    with pytest.warns(UserWarning, match="at so small a nu the classes leave no margin"):
        model = NuSVC(nu=0.05).fit(X, y)
    assert model.fit_status_ == 1
    assert 1e-2 < model.violation_ < 5
    assert model.score(X, y) > 0.6


def test_a_hundred_classes_with_words_for_labels():
    X, codes = make_blobs(600, 5, centers=100, random_state=0)
    y = np.array([f"class {code:02}" for code in codes])
    model = NuSVC(nu=0.5).fit(X, y)
    theirs = peer.NuSVC(nu=0.5).fit(X, y)
    assert model.C_.shape == model.intercept_.shape == (4950,)
    assert model.dual_coef_.shape[0] == 99
    assert (model.predict(X) == theirs.predict(X)).mean() > 0.99
    assert model.violation_ <= 1e-3


def test_rows_of_any_kind_give_the_same_machine(rng, tmp_path):
    X, y = overlapping(rng)
    model = NuSVC(kernel="linear", tol=1e-9).fit(X, y)
    np.save(tmp_path / "X.npy", X)
    kept = np.load(tmp_path / "X.npy", mmap_mode="r")
    precomputed = NuSVC(kernel="precomputed", tol=1e-9).fit(X @ X.T, y)
    for other, rows in (
        (NuSVC(kernel="linear", tol=1e-9).fit(kept, y), kept),
        (NuSVC(kernel="linear", tol=1e-9).fit(np.asfortranarray(X), y), X),
        (NuSVC(kernel=lambda A, B: A @ B.T, tol=1e-9).fit(X, y), X),
        (precomputed, X @ X.T),
    ):
        np.testing.assert_allclose(other.decision_function(rows), model.decision_function(X), atol=1e-6)
    sparse = NuSVC(kernel="linear", tol=1e-9).fit(csr_array(X), y)
    np.testing.assert_array_equal(sparse.dual_coef_.toarray(), model.dual_coef_)
    np.testing.assert_allclose(sparse.coef_.toarray(), model.coef_, rtol=1e-12)
    np.testing.assert_array_equal(sparse.support_vectors_.toarray(), model.support_vectors_)
    for coef in (sparse.coef_.data, model.coef_):
        with pytest.raises(ValueError, match="read-only"):
            coef[0] = 0


def test_probabilities_are_near_libsvms():
    X, y = load_iris(return_X_y=True)
    ours = NuSVC(probability=True, random_state=0).fit(X, y).predict_proba(X)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        theirs = peer.NuSVC(probability=True, random_state=0).fit(X, y).predict_proba(X)
    np.testing.assert_allclose(ours.sum(axis=1), 1)
    assert np.abs(ours - theirs).mean() < 0.02
    assert not hasattr(NuSVC(probability="deprecated"), "predict_proba")


BAD = {
    "nu": ({"nu": 0}, "nu is 0; a number above 0 is wanted"),
    "much": ({"nu": 1.5}, "nu is 1.5; a number above 0 and of at most 1 is wanted"),
    "word": ({"nu": "half"}, "nu is 'half'; a number is wanted"),
    "kernel": ({"kernel": "rbff"}, "kernel is 'rbff'"),
    "square": ({"kernel": "precomputed"}, "a square matrix is wanted"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_arguments_get_one_sentence(rng, name):
    parameters, sentence = BAD[name]
    with pytest.raises((ValueError, TypeError), match=sentence):
        NuSVC(**parameters).fit(*overlapping(rng))


def test_bad_rows_get_one_sentence(rng):
    X, y = overlapping(rng)
    with pytest.raises(ValueError, match="the number of classes has to be greater than one"):
        NuSVC().fit(X, np.zeros(len(y)))
    with pytest.raises(ValueError, match="specified nu is infeasible"):
        NuSVC().fit(X, y, np.where(y == 1, 1.0, -1.0))
    X[3, 1] = np.nan
    with pytest.raises(ValueError, match="Input X contains NaN"):
        NuSVC().fit(X, y)


def test_few_steps_and_a_callback_end_a_fit(rng):
    X, y = overlapping(rng)
    with pytest.warns(UserWarning, match=r"Solver terminated early \(max_iter=3\)"):
        model = NuSVC(max_iter=3).fit(X, y)
    assert model.n_iter_.tolist() == [3]
    X, y = overlapping(rng, 2500)
    seen = []
    with pytest.warns(UserWarning, match="the callback ended it"):
        NuSVC(nu=0.4, tol=1e-9, callback=lambda *told: seen.append(told) or len(seen) > 3).fit(X, y)
    assert len(seen) == 4


@pytest.mark.once
@pytest.mark.parametrize("n", [2000, 12_000])
def test_ctrl_c_is_obeyed(n):
    code = f"""
import time
import numpy as np
from fastclf import NuSVC
rng = np.random.default_rng(0)
X, y = rng.standard_normal(({n}, 60)), rng.permutation(np.arange({n}) % 2)
model = NuSVC(nu=0.9, kernel="poly", degree=2, tol=1e-12)
print("ready", flush=True)
try:
    while True:
        model.fit(X, y)
except KeyboardInterrupt:
    print(time.time())
"""
    assert seconds_to_obey_ctrl_c(code) < 1.0


def test_saved_machines_predict_the_same(tmp_path):
    X, y = load_iris(return_X_y=True)
    model = NuSVC(nu=0.3, probability=True, random_state=0).fit(X, y)
    fastclf.save(model, tmp_path / "model")
    code = f"import fastclf, numpy as np; m = fastclf.load({str(tmp_path / 'model')!r}); print(m.C_.tolist())"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert told == f"{model.C_.tolist()}\n"
    np.testing.assert_array_equal(fastclf.load(tmp_path / "model").predict_proba(X), model.predict_proba(X))
    assert fastclf.embed(model) is not None


@pytest.mark.parametrize(
    ("seed", "n", "parameters", "offset"),
    [
        (17, 46, {"gamma": 0.01602741486559011, "coef0": 15.860490060251879, "nu": 0.5854129231586416}, None),
        (37, 16, {"gamma": 0.00019068113744595598, "coef0": -10.875027459102597, "nu": 0.6014729812749945}, None),
        (80, 55, {"gamma": 0.005576941040341447, "coef0": -15.036463996858728, "nu": 0.6747177709586848}, None),
        (1779, 50, {"kernel": "linear", "nu": 0.7}, 6e7),
    ],
)
def test_a_fit_ends_where_kernel_values_differ_by_less_than_rounding(seed, n, parameters, offset):
    code = f"""
import numpy as np
from fastclf import NuSVC
rng = np.random.default_rng({seed})
if {offset} is None:
    rng.integers(8, 60)
    X = rng.normal(size=({n}, 3)) * 10 ** rng.uniform(-1, 2)
    y = np.arange({n}) % rng.integers(2, 4)
else:
    X, y = rng.normal(size=({n}, 3)) + {offset}, np.arange({n}) % 3
NuSVC(**{{"kernel": "sigmoid"}} | {parameters}).fit(X, y)
"""
    subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=True, timeout=60)
