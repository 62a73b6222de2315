"""The tests of estimators on Dask, on Ray: bits, ties, masks, weights, sparse rows, refusals, and nodes that die."""

import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("ray.cluster_utils", reason="Ray has no wheels for every Python version and platform")
sys.path.append(str(Path(__file__).resolve().parents[1] / "dask"))  # for what the tests of both clusters share

import test_dask_lazy as lazy
import test_dask_linear as linear
import test_dask_logistic as logistic
import test_dask_model_selection as model_selection
import test_dask_naive_bayes as naive_bayes
import test_dask_neighbors as neighbors
import test_dask_perceptron as perceptron
import test_dask_svm as svm
import test_dask_tree as tree
from every_estimator import FITTED, MIXED, asked
from nodes import cluster
from test_dask_cluster import (
    test_a_worker_that_differs_is_named_with_what_to_set,
    test_two_fits_at_once_end_with_the_same_bits,
)

import fastclf

pytestmark = pytest.mark.once

__all__ = [
    "by_levels",
    "cluster",
    "test_a_worker_that_differs_is_named_with_what_to_set",
    "test_two_fits_at_once_end_with_the_same_bits",
]

by_levels = tree.by_levels

_NOT_ON_RAY = {
    # Rows do not know their number before a fit counts them
    "test_lazy_answers_know_their_shape",
    # a node's death takes Ray some seconds to see, and the tests of least squares, trees, neighbours and
    # cross-validation have one in the first, a middle and the last round
    "test_a_killed_worker_changes_no_bit",
    "test_a_killed_worker_changes_no_bit_of_the_perceptron",
}

for module in (linear, logistic, model_selection, naive_bayes, neighbors, perceptron, svm, tree):
    for name, test in vars(module).items():
        is_of_svm = module is svm and "worker_that_dies" in name
        if name.startswith("test_") and name not in _NOT_ON_RAY and not is_of_svm:
            vars()[name.replace("test_", f"test_{module.__name__.removeprefix('test_dask_')}_", 1)] = test


@pytest.mark.parametrize("name", FITTED)
def test_every_estimator_answers_rows_with_its_bits(cluster, name):
    model = FITTED[name]()
    if isinstance(model, fastclf.TableClassifier):
        rows = pd.DataFrame(dict(zip(MIXED.names, MIXED.columns)))
        collection = cluster.table(rows, 3)
    else:
        rows = np.asarray(asked(model))
        collection = cluster.cut(rows, [5, 0, 1, len(rows) - 6])
    lazy.require_the_same_lazily(name, model, rows, cluster.module.Lazy(model), collection, lambda part: part.compute())
