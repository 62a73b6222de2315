"""The tests of estimators on Dask, on Ray: bits, ties, masks, weights, sparse rows, refusals, and nodes that die."""

import pytest

pytest.importorskip("ray.cluster_utils", reason="Ray has no wheels for every Python version and platform")

import test_dask_linear as linear
import test_dask_logistic as logistic
import test_dask_model_selection as model_selection
import test_dask_naive_bayes as naive_bayes
import test_dask_neighbors as neighbors
import test_dask_perceptron as perceptron
import test_dask_svm as svm
import test_dask_tree as tree

pytestmark = pytest.mark.once

by_levels = tree.by_levels

_ONLY_ON_DASK = {"test_lazy_answers_know_their_shape"}

for module in (linear, logistic, model_selection, naive_bayes, neighbors, perceptron, svm, tree):
    for name, test in vars(module).items():
        if name.startswith("test_") and name not in _ONLY_ON_DASK:
            vars()[name.replace("test_", f"test_{module.__name__.removeprefix('test_dask_')}_", 1)] = test
