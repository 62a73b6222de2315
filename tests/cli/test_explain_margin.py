"""`fastclf explain` of linear support vector machines."""

import numpy as np
import pytest

from fastclf import SVC, LinearSVC
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
