"""Whatever a parameter is, a method answers, or refuses in one sentence of ours."""

import types

import pytest
from every_estimator import ESTIMATORS, FITTED, asked
from fuzz import ALL_METHODS, JUNK, is_sentence, place

from fastclf import SVC, NearestNeighbors

pytestmark = [pytest.mark.once, pytest.mark.filterwarnings("ignore")]

# Parameters that are not tried: as many threads as somebody asks for are started, and lines are shown.
UNTRIED = ("n_jobs", "verbose")


def called(function, *args):
    try:
        function(*args)
    except Exception as error:
        if not is_sentence(error):
            raise AssertionError(f"{place(error)}: {type(error).__name__}: {error}") from error


def methods(model):
    return [method for method in ALL_METHODS if hasattr(model, method)]


@pytest.mark.parametrize("name", ESTIMATORS)
def test_junk_in_a_parameter_gets_a_sentence(name):
    make, *data = ESTIMATORS[name]
    fitted = make().fit(*data)
    for parameter, value in fitted.get_params(deep=False).items():
        for junk in [] if parameter in UNTRIED else JUNK:
            model = make().set_params(**{parameter: junk})
            if "random_state" in model.get_params() and parameter != "random_state":
                model.set_params(random_state=0)
            if not (name == "svc, sparse" and isinstance(junk, float) and junk == 1e300):  # takes seconds
                called(model.fit, *data)
                if hasattr(model, "partial_fit"):
                    called(model.partial_fit, *data[: 1 if name == "NearestNeighbors" else 2])
            fitted.set_params(**{parameter: junk})
            for each in (model, fitted):
                for method in methods(each):
                    called(getattr(each, method), asked(each))
            repr(fitted)
            fitted.set_params(**{parameter: value})


@pytest.mark.parametrize("name", FITTED)
def test_every_public_method_works_on_a_snapshot(name):
    cls = type(FITTED[name]())
    for attribute in dir(cls):
        member = next(vars(each)[attribute] for each in cls.__mro__ if attribute in vars(each))
        member = member.fget if isinstance(member, property) else member
        if isinstance(member, types.FunctionType) and not attribute.startswith("_"):
            assert hasattr(member, "__wrapped__") or attribute in ("get_params", "set_params"), attribute


def test_what_is_assigned_before_a_fit_is_not_read():
    model = NearestNeighbors()
    model._scan, model.n_samples_fit_ = 3, 10
    with pytest.raises(ValueError, match="not fitted yet"):
        model.kneighbors([[0.0]])
    assert model.fit([[0.0], [1.0]]).kneighbors([[0.9]], 1)[1].tolist() == [[1]]


def test_more_memory_than_there_is_is_told_by_the_method():
    with pytest.raises(MemoryError, match=r"RBFSampler\.fit needs more memory than there is"):
        FITTED["RBFSampler"]().set_params(n_components=2**40).fit([[0.0], [1.0]])


def test_a_cache_of_any_size_takes_no_more_than_the_kernel():
    X, y = [[0.0], [1.0], [2.0]], [0, 1, 0]
    for size in (1e300, float("inf"), 2**63):
        assert SVC(cache_size=size).fit(X, y).predict(X).tolist() == SVC().fit(X, y).predict(X).tolist()
