"""patch_sklearn replaces scikit-learn's names where they are imported, and nowhere else."""

import pickle
import subprocess
import sys

import pytest
import sklearn.linear_model
import sklearn.neighbors
import sklearn.svm
import sklearn.tree
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.utils.validation import has_fit_parameter

import fastclf
import fastclf.sklearn

pytestmark = pytest.mark.once


@pytest.fixture(autouse=True)
def unpatched():
    yield
    fastclf.unpatch_sklearn()


def test_a_name_is_ours_until_it_is_given_back():
    theirs = sklearn.svm.SVC
    assert fastclf.patch_sklearn(["SVC"]) == ["SVC"]
    assert sklearn.svm.SVC is fastclf.SVC
    assert sklearn.svm._classes.SVC is theirs
    assert sklearn.svm.LinearSVC is not fastclf.LinearSVC
    fastclf.unpatch_sklearn()
    assert sklearn.svm.SVC is sklearn.svm._classes.SVC is theirs


def test_patching_twice_and_giving_back_once_leaves_nothing_of_ours():
    theirs = sklearn.svm.SVC
    fastclf.patch_sklearn(["SVC"])
    fastclf.patch_sklearn(["SVC"])
    fastclf.unpatch_sklearn()
    assert sklearn.svm.SVC is theirs


def test_what_scikit_learn_uses_inside_stays():
    fastclf.patch_sklearn("all")
    assert sklearn.tree.DecisionTreeClassifier is fastclf.DecisionTreeClassifier
    forest = RandomForestClassifier(n_estimators=2).fit([[0.0], [1.0]], [0, 1])
    assert type(forest.estimators_[0]).__module__ == "sklearn.tree._classes"
    assert pickle.loads(pickle.dumps(forest)).predict([[1.0]]) == forest.predict([[1.0]])


def test_models_that_scikit_learn_has_saved_are_loaded_as_they_are():
    saved = pickle.dumps(sklearn.svm.SVC().fit([[0.0], [1.0]], [0, 1]))
    fastclf.patch_sklearn()
    assert type(pickle.loads(saved)).__module__ == "sklearn.svm._classes"


def test_names_whose_answers_differ_stay_unless_they_are_named(capsys):
    replaced = fastclf.patch_sklearn(verbose=True)
    stay = {"DecisionBoundaryDisplay", "DecisionTreeClassifier", "DecisionTreeRegressor", "Perceptron"}
    assert not stay & set(replaced)
    assert "DecisionTreeClassifier stays: fastclf's takes the first of equally good splits" in capsys.readouterr().err
    assert set(fastclf.patch_sklearn("all")) == stay | set(replaced)
    fastclf.unpatch_sklearn()
    assert fastclf.patch_sklearn(["Perceptron"]) == ["Perceptron"]
    assert sklearn.linear_model.Perceptron is fastclf.Perceptron


@pytest.mark.parametrize("name", fastclf.sklearn._UNWEIGHTED)
def test_weights_that_scikit_learn_does_not_take_are_not_taken(name, tmp_path):
    X, y = [[0.0], [1.0], [3.0], [4.0]], [0, 0, 1, 1]
    assert not has_fit_parameter(getattr(sklearn.neighbors, name)(), "sample_weight")
    fastclf.patch_sklearn()
    cls = getattr(sklearn.neighbors, name)
    assert not has_fit_parameter(cls(), "sample_weight")
    with pytest.raises(TypeError, match="sample_weight"):
        cls().fit(X, y, sample_weight=[1, 1, 1, 1])
    assert issubclass(cls, getattr(fastclf, name))
    model = clone(cls().set_params(**({"n_neighbors": 1} if "KN" in name else {}))).fit(X, y)
    fastclf.save(model, tmp_path / "model.fclf")
    for twin in pickle.loads(pickle.dumps(model)), fastclf.load(tmp_path / "model.fclf"):
        assert twin.predict(X).tolist() == model.predict(X).tolist()


def test_isinstance_in_scikit_learn_takes_ours_for_its_own():
    theirs = sklearn.neighbors.KNeighborsClassifier
    fastclf.patch_sklearn()
    assert isinstance(sklearn.neighbors.KNeighborsClassifier(), theirs)
    assert isinstance(fastclf.DecisionTreeClassifier(), sklearn.tree.BaseDecisionTree)


def test_packages_that_ask_for_the_private_tree_learn_that_there_is_none():
    model = fastclf.NearestNeighbors().fit([[float(row)] for row in range(8)])
    assert model._tree is None


def test_a_module_that_imported_a_name_before_gets_ours():
    from sklearn.svm import SVC

    module = sys.modules[__name__]
    module.SVC = SVC
    try:
        fastclf.patch_sklearn(["SVC"])
        assert module.SVC is fastclf.SVC
        fastclf.unpatch_sklearn()
        assert module.SVC is SVC
    finally:
        del module.SVC


def test_a_name_whose_parameters_ours_lacks_stays_and_is_told(capsys, monkeypatch):
    def lacking(X):
        """An estimator without any of scikit-learn's parameters."""

    monkeypatch.setattr(fastclf.svm, "LinearSVC", lacking)
    replaced = fastclf.patch_sklearn(verbose=True)
    assert "LinearSVC" not in replaced
    assert "SVC" in replaced
    told = capsys.readouterr().err
    assert "sklearn.svm._classes.LinearSVC stays: fastclf's has no penalty" in told
    assert "sklearn.svm._classes.SVC -> fastclf.svm.svc.SVC" in told


def test_an_unknown_name_is_refused():
    with pytest.raises(ValueError, match="names is 'RandomForestClassifier'; one of"):
        fastclf.patch_sklearn(["RandomForestClassifier"])


def run(folder, *args):
    command = [sys.executable, "-m", "fastclf.sklearn", *args]
    result = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120)
    return result.returncode, result.stdout, result.stderr


def test_a_script_and_what_it_imports_run_on_fastclf(tmp_path):
    (tmp_path / "package.py").write_text("from sklearn.neighbors import KNeighborsClassifier as Model\n")
    (tmp_path / "script.py").write_text(
        "import sys\nfrom sklearn.naive_bayes import GaussianNB\nimport package\n"
        "print(__name__, sys.argv[1:], GaussianNB.__module__, package.Model.__module__)\n"
    )
    status, out, _ = run(tmp_path, "script.py", "--depth", "3")
    assert status == 0
    assert out.split() == [
        "__main__",
        "['--depth',",
        "'3']",
        "fastclf.naive_bayes.single",
        "fastclf.sklearn",
    ]
    status, out, told = run(tmp_path, "--verbose", "--names", "GaussianNB", "-m", "package")
    assert status == 0
    assert told.count("->") == 1


@pytest.mark.parametrize("names", [3, 1.5, True, b"SVC", {"SVC": 1}, object(), [["SVC"]], [None], "SVC", ["Nothing"]])
def test_names_of_other_types_are_refused_and_nothing_is_replaced(names):
    with pytest.raises((TypeError, ValueError), match=r"names is .*wanted"):
        fastclf.patch_sklearn(names)
    assert sklearn.svm.SVC is sklearn.svm._classes.SVC
