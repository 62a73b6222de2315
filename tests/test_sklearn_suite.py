"""scikit-learn's own tests pass on the estimators of the same names, but for those that the ledger excuses."""

import pytest
import sklearn
import sklearn_suite

pytestmark = pytest.mark.once


@pytest.mark.skipif(
    sklearn.__version__.rpartition(".")[0] != sklearn_suite.VERSION,
    reason=f"the ledger is for the tests of scikit-learn {sklearn_suite.VERSION}",
)
def test_scikit_learns_tests_pass_but_for_the_ledger():
    outcomes = sklearn_suite.run(sklearn_suite.FILES)
    assert len(outcomes) > 3000
    unexcused, stale = sklearn_suite.judge(outcomes, sklearn_suite.FILES, sklearn_suite.ledger())
    assert unexcused == []
    assert stale == []


def test_a_failure_without_an_excuse_and_an_excuse_without_a_failure_are_told():
    outcomes = {"test_svm_svm.py::test_one[a]": ("failed", ""), "test_svm_svm.py::test_two": ("passed", "")}
    excused = {"test_svm_svm.py::test_two": "it fails", "test_tree_tree.py::test_three": "of a file that was not run"}
    assert sklearn_suite.judge(outcomes, ["svm/svm"], excused) == (
        ["test_svm_svm.py::test_one[a]"],
        ["test_svm_svm.py::test_two"],
    )
    assert sklearn_suite.judge(outcomes, ["svm/svm"], {"test_svm_svm.py::test_one": "it differs"}) == ([], [])
