"""`fastclf explain` of linear support vector machines."""

from itertools import combinations

import numpy as np
import pytest

from fastclf import SVC, LinearSVC, NuSVC
from fastclf.cli import explain


@pytest.mark.parametrize("model", [SVC(kernel="linear", lam=0.25), SVC(kernel="linear"), LinearSVC()])
def test_a_linear_machine_shows_its_weights_constant_and_margin(rng, model):
    X = rng.standard_normal((60, 2))
    model.fit(X, X[:, 0] > 0)
    show = next(show for is_kind, show in explain._KINDS if is_kind(model))
    content, lines = show(model, ["a", "b"], 10, None)
    shown = content["scores"]["True"]
    assert shown["weights"] == dict(zip(["a", "b"], model.coef_[0]))
    assert shown["constant"] == model.intercept_[0]
    assert shown["margin"] == pytest.approx(1 / np.linalg.norm(model.coef_))
    assert any(line.endswith("(the margin, 1 over the length of the weights)") for line in lines)
    assert not isinstance(model, SVC) or any(f"C = {model.C_[0]:g}" in line for line in lines)


@pytest.mark.parametrize("model", [
    SVC(kernel="linear", tol=1e-8), NuSVC(kernel="linear", nu=0.3, tol=1e-8),
    SVC(kernel="linear", class_weight={"a": 0.5, "b": 1, "c": 2}, tol=1e-8),
])  # fmt: skip
@pytest.mark.parametrize("labels", ["ab", "abc"])
def test_each_pair_of_classes_is_shown_with_its_weights_constant_and_margin(rng, model, labels):
    X = rng.standard_normal((90, 2))
    y = np.array(list("abc"))[(X[:, 0] > 0.3).astype(int) + (X[:, 0] > -0.3)]
    X, y = X[np.isin(y, list(labels))], y[np.isin(y, list(labels))]
    model.fit(X, y)
    content, lines = explain._support_vectors(model, ["u", "v"], 10, None)
    assert sum(line.endswith("(the margin, 1 over the length of the weights)") for line in lines) == len(model.margin_)
    for p, pair in enumerate(combinations(labels, 2)):
        shown = content["scores"][" against ".join(pair) if len(labels) > 2 else pair[1]]
        above, below = pair if len(labels) > 2 else pair[::-1]
        assert shown["margin"] == model.margin_[p] == pytest.approx(1 / np.linalg.norm(list(shown["weights"].values())))
        score = X @ list(shown["weights"].values()) + shown["constant"]
        outside = {label: score[y == label] for label in pair}
        assert outside[above].mean() > 0 > outside[below].mean()
        assert f"{above} where it is above 0, else {below}" in "\n".join(lines)
    # rows are at the bound where they are inside of the margin of a pair
    inside = np.zeros(len(X), bool)
    for p, (i, j) in enumerate(combinations(range(len(labels)), 2)):
        score = X @ model.coef_[p] + model.intercept_[p]
        limit = 1 - 1e-6
        inside |= (y == labels[i]) & ((score if len(labels) > 2 else -score) < limit)
        inside |= (y == labels[j]) & ((-score if len(labels) > 2 else score) < limit)
    if not isinstance(model, NuSVC):
        assert content["at_bound"] == inside.sum()
