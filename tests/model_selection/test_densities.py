"""Densities are evaluated by the log likelihood of the rows that are left out, without labels."""

import numpy as np
import pytest

from fastclf import DensityTree, GridSearchCV, KFold, KNeighborsDensity, cross_val_score, cross_validate, tune


@pytest.fixture
def X(rng):
    return np.r_[rng.standard_normal((120, 2)), 3 + 0.5 * rng.standard_normal((90, 2))]


def left_out(model, X, cv):
    """The log likelihood of each fold's test rows, by separate fits."""
    return [model.fit(X[train]).score_samples(X[test]).sum() for train, test in KFold(cv).split(X)]


@pytest.mark.parametrize("model", [KNeighborsDensity(7), DensityTree(bounds=[[-9, -9], [9, 9]])], ids=str)
def test_the_score_of_a_fold_is_the_log_likelihood_of_its_rows(X, model):
    wanted = left_out(model, X, 4)
    np.testing.assert_allclose(cross_validate(model, X, cv=4)["test_score"], wanted, rtol=1e-12)
    np.testing.assert_allclose(cross_val_score(model, X, None, cv=4), wanted, rtol=1e-12)


def test_the_most_likely_setting_is_chosen(X):
    ks = [1, 3, 10, 30, 100]
    means = [np.mean(left_out(KNeighborsDensity(k), X, 5)) for k in ks]
    for search in (tune(KNeighborsDensity(), {"n_neighbors": ks}, X, cv=5).chosen_params,
                   GridSearchCV(KNeighborsDensity(), {"n_neighbors": ks}, cv=5).fit(X).best_params_):  # fmt: skip
        assert search == {"n_neighbors": ks[int(np.argmax(means))]}


@pytest.mark.filterwarnings("error")
def test_a_density_of_0_is_a_row_of_the_table(X):
    # some rows lie outside of the bounds of the other rows
    result = tune(DensityTree(), {"min_samples_leaf": [5, 60]}, X, cv=3)
    assert result["mean_test_score"].tolist() == [-np.inf, -np.inf]
    assert np.isnan(result["std_test_score"]).all()
