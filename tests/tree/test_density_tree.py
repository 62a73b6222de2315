"""Density trees: each cut is the best of all, the density integrates to one, and folds choose like separate fits."""

import itertools

import numpy as np
import pytest

from fastclf import DensityTree, load, save
from fastclf.tree.pruning import fold_of_rows


def risk(n, total, volume):
    """The integral of the squared density, minus twice the mean of the leave-one-out density at the rows."""
    return (n**2 / total**2 - 2 * n * (n - 1) / (total * (total - 1))) / volume


def best_cut(X, rows, box, total, min_leaf):
    """(risk of both sides, feature, threshold) of the best cut of a box, by trying all cuts."""
    found = []
    volume = np.prod(box[1] - box[0])
    for feature in range(X.shape[1]):
        values = np.unique(X[rows, feature])
        for threshold in (values[:-1] + values[1:]) / 2:
            n = np.count_nonzero(X[rows, feature] <= threshold)
            share = (threshold - box[0, feature]) / (box[1, feature] - box[0, feature])
            if min(n, len(rows) - n) >= min_leaf:
                parts = risk(n, total, volume * share) + risk(len(rows) - n, total, volume * (1 - share))
                found.append((parts, feature, threshold))
    return min(found) if found else None


def boxes(model):
    """The box of each node."""
    tree = model.tree_
    found = [None] * tree.node_count
    found[0] = model.bounds_.copy()
    for node in range(tree.node_count):
        if tree.children_left[node] >= 0:
            for child, end in ((tree.children_left[node], 1), (tree.children_right[node], 0)):
                found[child] = found[node].copy()
                found[child][end, tree.feature[node]] = tree.threshold[node]
    return found


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_every_cut_is_the_best_and_the_density_is_the_share_by_the_volume(rng, dtype):
    X = np.concatenate([rng.standard_normal((60, 2)), 4 + rng.standard_normal((30, 2))]).round(2).astype(dtype)
    model = DensityTree(min_samples_leaf=3, min_samples_split=8, ccp_alpha=0.0).fit(X)
    tree, total = model.tree_, 0.0
    below = X.astype(np.float64)
    for node, box in enumerate(boxes(model)):
        inside = ((below > box[0]) | (box[0] == model.bounds_[0])) & (below <= box[1])
        rows = np.flatnonzero(inside.all(axis=1))
        assert len(rows) == tree.n_node_samples[node]
        volume = np.prod(box[1] - box[0])
        assert tree.value[node, 0, 0] == pytest.approx(np.log(len(rows) / 90 / volume))
        if tree.children_left[node] < 0:
            total += np.exp(tree.value[node, 0, 0]) * volume
        else:
            found = best_cut(below, rows, box, 90, 3)
            child = boxes(model)[node + 1], boxes(model)[tree.children_right[node]]
            sizes = tree.n_node_samples[[node + 1, tree.children_right[node]]]
            parts = sum(risk(n, 90, np.prod(b[1] - b[0])) for n, b in zip(sizes, child))
            assert parts == pytest.approx(found[0])
    assert total == pytest.approx(1)


def test_folds_give_the_errors_of_the_naive_loop(rng):
    X = np.concatenate([rng.standard_normal((50, 2)), 3 + rng.standard_normal((40, 2))])
    model = DensityTree(cv=4).fit(X)
    alphas = model.cv_results_["ccp_alphas"]
    between = np.append(np.sqrt(alphas[:-1] * alphas[1:]), 1e300)
    volume = np.prod(model.bounds_[1] - model.bounds_[0])
    fold = fold_of_rows(90, 4, None, 0)
    errors = np.empty((4, len(alphas)))
    for number, k in itertools.product(range(4), range(len(alphas))):
        part = DensityTree(ccp_alpha=between[k], bounds=model.bounds_).fit(X[fold != number])
        leaf = part.tree_.children_left < 0
        density = np.exp(part.tree_.value[leaf, 0, 0]) * volume
        share = part.tree_.n_node_samples[leaf] / (fold != number).sum()
        mean = np.exp(part.score_samples(X[fold == number])).mean() * volume
        errors[number, k] = density @ share - 2 * mean
    np.testing.assert_allclose(model.cv_results_["errors"], errors.mean(axis=0), rtol=1e-9)
    spread = errors.std(axis=0, ddof=1) / 2
    np.testing.assert_allclose(model.cv_results_["standard_errors"], spread, rtol=1e-6, atol=1e-12)
    assert model.ccp_alpha_ == alphas[np.flatnonzero(np.isclose(errors.mean(axis=0), errors.mean(axis=0).min()))[-1]]


def test_two_heaps_are_told_apart_and_beyond_the_bounds_is_nothing(rng, tmp_path):
    X = np.concatenate([rng.random(500), 9 + rng.random(500)])[:, None]
    model = DensityTree().fit(X)
    density = np.exp(model.score_samples([[0.5], [5.0], [9.5], [20.0], [-1.0]]))
    assert (density[[0, 2]] > 0.3).all()
    assert density[1] < 0.01
    assert (density[3:] == 0).all()
    save(model, tmp_path / "tree")
    np.testing.assert_array_equal(load(tmp_path / "tree").score_samples(X), model.score_samples(X))
    for threads in (1, 3):
        other = DensityTree(n_jobs=threads).fit(X)
        np.testing.assert_array_equal(other._nodes["steps"], model._nodes["steps"])


def test_a_tree_of_many_nodes_is_whole(rng):
    X = rng.standard_normal((15000, 1))
    model = DensityTree(min_samples_leaf=1, min_samples_split=2, ccp_alpha=0.0).fit(X)
    leaf = model.tree_.children_left < 0
    assert model.tree_.n_node_samples[leaf].sum() == 15000
    np.testing.assert_array_equal(np.bincount(model.apply(X), minlength=len(leaf)), model.tree_.n_node_samples * leaf)


def test_wrong_data_and_parameters_are_refused(rng):
    X = rng.random((30, 2))
    for parameters, rows, message in [
        ({}, np.column_stack([X[:, 0], np.ones(30)]), "feature 1 lies between 1.0 and 1.0"),
        ({"bounds": [[0, 0], [0.1, 1]]}, X, "beyond bounds"),
        ({"bounds": [0, 1]}, X, "bounds has shape"),
        ({"cv": 1}, X, "cv is 1; at least 2"),
        ({"ccp_alpha": "best"}, X, "ccp_alpha is 'best'"),
        ({"callback": lambda *step: True}, X, "stopped by callback"),
    ]:
        with pytest.raises((ValueError, RuntimeError), match=message):
            DensityTree(**parameters).fit(rows)
