"""LogisticRegressionCV: what a loop over folds, Cs and shares would find, in scikit-learn's attributes."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegressionCV as Theirs
from sklearn.metrics import log_loss
from sklearn.model_selection import KFold, StratifiedKFold

from fastclf import LogisticRegression, LogisticRegressionCV, load, save


def problem(rng, n=120, d=4, n_classes=3):
    X = rng.standard_normal((n, d))
    y = (X @ rng.standard_normal((d, n_classes)) + rng.gumbel(size=(n, n_classes))).argmax(axis=1)
    return X, y


NEW = {"use_legacy_attributes": False, "tol": 1e-8}


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("sparse", [False, True])
def test_scores_and_coefficients_are_those_of_a_loop(rng, n_classes, sparse):
    X, y = problem(rng, n_classes=n_classes)
    rows = sp.csr_matrix(X) if sparse else X
    model = LogisticRegressionCV(Cs=[1.0, 0.01, 30.0], l1_ratios=(0, 0.7), cv=3, scoring="neg_log_loss", **NEW)
    model.fit(rows, y)
    folds = list(StratifiedKFold(3).split(X, y))
    for i, (train, test) in enumerate(folds):
        for j, share in enumerate((0, 0.7)):
            for k, C in enumerate((1.0, 0.01, 30.0)):
                alone = LogisticRegression(C=C, l1_ratio=share, tol=1e-8).fit(rows[train], y[train])
                path = model.coefs_paths_[i, j, k]
                np.testing.assert_allclose(path[:, :-1], alone.coef_, atol=1e-5)
                np.testing.assert_allclose(path[:, -1], alone.intercept_, atol=1e-5)
                assert model.scores_[i, j, k] == pytest.approx(-log_loss(y[test], alone.predict_proba(rows[test])))
    share, best = np.unravel_index(model.scores_.mean(axis=0).argmax(), (2, 3))
    assert (model.C_, model.l1_ratio_) == ([1.0, 0.01, 30.0][best], [0, 0.7][share])
    again = LogisticRegression(C=model.C_, l1_ratio=model.l1_ratio_, tol=1e-8).fit(rows, y)
    np.testing.assert_allclose(model.coef_, again.coef_, atol=1e-6)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("legacy", [True, False])
@pytest.mark.parametrize("l1_ratios", [None, (0.0,), (0.0, 1.0)])
@pytest.mark.parametrize("refit", [True, False])
@pytest.mark.filterwarnings("ignore")
def test_attributes_have_scikit_learns_shapes_and_values(rng, n_classes, legacy, l1_ratios, refit):
    X, y = problem(rng, n_classes=n_classes)
    params = {"Cs": [0.2, 1.0], "l1_ratios": l1_ratios, "cv": 3, "refit": refit, "use_legacy_attributes": legacy}
    ours = LogisticRegressionCV(**params, scoring="neg_log_loss", tol=1e-8).fit(X, y)
    solver = "lbfgs" if l1_ratios in (None, (0.0,)) else "saga"
    if refit is False and l1_ratios == (0.0, 1.0):
        params["l1_ratios"] = np.array(l1_ratios)  # scikit-learn takes no tuple of l1_ratios here
    theirs = Theirs(**params, scoring="neg_log_loss", solver=solver, tol=1e-8, max_iter=5000).fit(X, y)
    for name in ("scores_", "coefs_paths_"):
        one, other = getattr(ours, name), getattr(theirs, name)
        if legacy:
            assert list(one) == list(other)
            one, other = (np.array(list(values.values())) for values in (one, other))
        np.testing.assert_allclose(one, other, atol=1e-3)
    for name in ("C_", "coef_", "intercept_", "Cs_"):
        np.testing.assert_allclose(getattr(ours, name), getattr(theirs, name), atol=1e-3)
    for name in ("n_iter_", "l1_ratio_", "l1_ratios_"):
        assert np.shape(getattr(ours, name)) == np.shape(getattr(theirs, name))


def test_weights_count_in_fits_and_in_scores(rng):
    X, y = problem(rng, n_classes=2)
    weight = rng.integers(1, 4, len(y))
    repeat = np.repeat(np.arange(len(y)), weight)
    fold = np.arange(len(y)) % 3
    folds = [(np.flatnonzero(fold != i), np.flatnonzero(fold == i)) for i in range(3)]
    repeated = [(np.flatnonzero(fold[repeat] != i), np.flatnonzero(fold[repeat] == i)) for i in range(3)]
    for scoring in (None, "neg_log_loss", "balanced_accuracy"):
        one = LogisticRegressionCV(Cs=3, cv=folds, scoring=scoring, **NEW).fit(X, y, weight)
        other = LogisticRegressionCV(Cs=3, cv=repeated, scoring=scoring, **NEW).fit(X[repeat], y[repeat])
        np.testing.assert_allclose(one.scores_, other.scores_, rtol=1e-6)
        np.testing.assert_allclose(one.coef_, other.coef_, atol=1e-6)
        assert one.score(X, y, sample_weight=weight) == pytest.approx(other.score(X[repeat], y[repeat]))


def test_a_class_that_a_fold_lacks_stays_in_the_scores():
    X, y = np.arange(9.0)[:, None], np.repeat(["a", "b", "c"], 3)
    model = LogisticRegressionCV(Cs=[0.01, 1.0], cv=KFold(3), scoring="neg_log_loss", use_legacy_attributes=False)
    model.fit(X, y)
    assert model.coefs_paths_.shape == (3, 1, 2, 3, 2)
    assert np.isfinite(model.scores_).all()
    assert (LogisticRegressionCV(cv=KFold(3), use_legacy_attributes=False).fit(X, y).scores_ == 0).all()


def test_a_function_that_scores_gets_a_fitted_model_and_the_rows(rng):
    X, y = problem(rng)
    seen = []

    def score(model, X, y):
        seen.append(X.shape)
        return model.get_params().get("C", 0.5)

    model = LogisticRegressionCV(Cs=[1.0, 2.0], cv=4, scoring=score, **NEW).fit(X, y)
    assert seen == [(30, 4)] * 8
    np.testing.assert_array_equal(model.scores_, [[[1.0, 2.0]]] * 4)
    assert (model.C_, model.score(X, y)) == (2.0, 0.5)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"Cs": [0.0, 1.0]}, "Cs is"),
        ({"Cs": 0}, "Cs is 0; "),
        ({"l1_ratios": [2.0]}, "l1_ratios must be an array-like of numbers between 0 and 1"),
        ({"penalty": "elasticnet"}, "l1_ratios must be"),
        ({"penalty": "lasso"}, "penalty is 'lasso'"),
        ({"solver": "lbfgs", "l1_ratios": [1]}, "Solver lbfgs supports only 'l2'"),
        ({"solver": "liblinear"}, "does not support multiclass"),
        ({"scoring": "beauty"}, "scoring is 'beauty'"),
        ({"use_legacy_attributes": "maybe"}, "use_legacy_attributes is 'maybe'"),
    ],
)
def test_wrong_parameters_are_refused_in_one_sentence(rng, params, message):
    with pytest.raises(ValueError, match=message):
        LogisticRegressionCV(**params).fit(*problem(rng))


def test_further_arguments_are_refused_without_metadata_routing(rng):
    X, y = problem(rng)
    with pytest.raises(ValueError, match="only supported if enable_metadata_routing=True"):
        LogisticRegressionCV().fit(X, y, groups=y)


@pytest.mark.parametrize("legacy", [True, False])
def test_files_keep_all_attributes(rng, tmp_path, legacy):
    X, y = problem(rng)
    model = LogisticRegressionCV(Cs=2, use_legacy_attributes=legacy).fit(X, y)
    save(model, tmp_path / "model")
    again = load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    if legacy:
        assert list(again.scores_) == [0, 1, 2]
        np.testing.assert_array_equal(again.coefs_paths_[1], model.coefs_paths_[1])
    else:
        np.testing.assert_array_equal(again.scores_, model.scores_)


def test_threads_change_no_bit(rng):
    X, y = problem(rng, n=2000)
    one, two = (LogisticRegressionCV(Cs=3, l1_ratios=(0, 1), n_jobs=jobs, **NEW).fit(X, y) for jobs in (1, 3))
    np.testing.assert_array_equal(one.coefs_paths_, two.coefs_paths_)
