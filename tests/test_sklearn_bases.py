"""Functions that scikit-learn adds to its own estimators work for ours, too, once scikit-learn is loaded."""

import subprocess
import sys

import pytest
import sklearn
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, TransformerMixin, clone
from sklearn.pipeline import make_pipeline
from sklearn.utils.metadata_routing import get_routing_for_object

from fastclf import SVC, KNeighborsRegressor, LogisticRegression, PolynomialFeatures
from fastclf._estimator import Classifier

pytestmark = pytest.mark.once


@pytest.mark.parametrize(
    ("model", "mixin"),
    [(SVC(), ClassifierMixin), (KNeighborsRegressor(), RegressorMixin), (PolynomialFeatures(), TransformerMixin)],
)
def test_an_estimator_is_one_of_scikit_learns_classes(model, mixin):
    assert isinstance(model, BaseEstimator)
    assert isinstance(model, mixin)
    assert type(model).__mro__.index(mixin) < type(model).__mro__.index(BaseEstimator)


def test_scikit_learn_is_not_loaded_and_may_come_later():
    code = (
        "import sys, fastclf; model = fastclf.SVC(); print('sklearn' in sys.modules);"
        "from sklearn.base import BaseEstimator, is_classifier; fastclf.SVC();"
        "print(isinstance(model, BaseEstimator), is_classifier(model))"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert told.split() == ["False", "True", "True"]


def test_what_our_classes_define_stays():
    assert Classifier.score.__module__ == "fastclf._estimator"
    assert repr(SVC(C=2.0)) == "SVC(C=2.0)"
    assert SVC().__getstate__() == SVC().get_params()


def test_a_notebook_draws_an_estimator_as_scikit_learn_does():
    html = make_pipeline(PolynomialFeatures(), SVC(C=3.0))._repr_html_()
    assert "PolynomialFeatures" in html
    assert "SVC" in html
    assert "sk-estimator" in SVC()._repr_html_()


def test_metadata_is_routed_and_kept_by_a_clone():
    with sklearn.config_context(enable_metadata_routing=True):
        model = LogisticRegression().set_fit_request(sample_weight=True)
        for each in (model, clone(model)):
            assert get_routing_for_object(each).fit.requests == {"sample_weight": True}
        X, y = [[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1]
        fitted = make_pipeline(PolynomialFeatures(), model).fit(X, y, sample_weight=[1, 1, 1, 5])
        assert fitted.score(X, y) == 1.0
