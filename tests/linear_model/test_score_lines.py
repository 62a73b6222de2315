"""The lengths of steps of logistic regression: derivatives on a line are the reference's, and few steps are enough."""

import numpy as np
import pytest
import reference_logistic as reference

from fastclf import LogisticRegression
from fastclf.linear_model import inverses, likelihood
from fastclf.linear_model.likelihood import Likelihood
from fastclf.linear_model.score_lines import ScoreLine, best_length

pytestmark = pytest.mark.levels


def problem(rng, n, d, n_classes, weighted, intercept=True):
    X = rng.standard_normal((n, d)) + 3
    y = rng.integers(0, n_classes, n).astype(np.int32)
    weights = rng.integers(0, 3, n).astype(float) if weighted else None
    return Likelihood(X, y, n_classes, weights, 0.01, intercept, 1)


def downhill(rng, point):
    direction = rng.standard_normal(point.theta.shape)
    return direction if np.sum(direction * point.gradient) < 0 else -direction


@pytest.mark.parametrize("n_classes", [2, 3, 7])
@pytest.mark.parametrize("n", [2, 16, 203])
@pytest.mark.parametrize("weighted", [False, True])
def test_shares_and_lengths_are_those_of_the_reference(rng, n, n_classes, weighted):
    ours = problem(rng, n, 4, n_classes, weighted)
    theta = rng.standard_normal(ours.shape)
    line = ScoreLine(ours, theta)
    expected = reference.probabilities(ours.X, *ours.coefficients(theta))
    weights = ours.weights if weighted else np.ones(n)
    doubt, p = line.shares()
    p = p.T
    if n_classes == 2:
        np.testing.assert_allclose(p[:, 0], expected[:, 0] * expected[:, 1], rtol=1e-9)
        np.testing.assert_allclose(doubt, weights * p[:, 0], rtol=1e-9)
    else:
        np.testing.assert_allclose(p, expected, rtol=1e-9)
        np.testing.assert_allclose(doubt, weights * (1 - (expected**2).sum(axis=1)), atol=1e-12)
    point = ours.evaluate(theta)
    direction = downhill(rng, point)
    length = line.length(point, direction)
    found = ours.evaluate(theta + length * direction)
    slopes = [float(np.sum(at.gradient * direction)) for at in (point, found)]
    assert length > 0
    assert abs(slopes[1]) <= 0.1001 * abs(slopes[0])
    line.follow(point, found, direction)
    np.testing.assert_allclose(line.scores, ScoreLine(ours, found.theta).scores, atol=1e-9)


@pytest.mark.parametrize("least", [1e-6, 0.3, 1.0, 40.0, 1e5])
@pytest.mark.parametrize("power", [1, 3])
def test_a_length_near_the_minimum_is_found_from_far_away(least, power):
    def slope(length):
        return (length / least) ** power - 1

    assert abs(slope(best_length(slope, slope(0)))) <= 0.1


def test_a_length_is_found_where_scores_overflow_or_the_minimum_is_infinitely_far():
    assert 0 < best_length(lambda length: np.nan if length > 0.01 else 200 * length - 1, -1) <= 0.01
    assert 1 < best_length(lambda length: -0.5, -1) < np.inf


@pytest.mark.parametrize("n_classes", [2, 4])
def test_rows_far_from_each_other_take_few_steps(rng, n_classes):
    # the loss falls like an exponential, of which each step of length 1 leaves a third
    X = rng.standard_normal((600, 6)) + 8 * rng.standard_normal((n_classes, 6))[np.arange(600) % n_classes]
    y = np.arange(600) % n_classes
    model = LogisticRegression(C=1e4, tol=1e-8, solver="newton-cholesky").fit(X, y)
    assert model.n_iter_[0] <= 12
    weights, found = np.ones(600), (model.coef_, model.intercept_)
    assert reference.gradient_norm(X, y, *found, weights, 1e4) == pytest.approx(model.gradient_norm_, abs=1e-9)


@pytest.mark.parametrize("D", [1, 64, 65, 145, 176, 200, 331])
def test_inverses_are_symmetric(rng, D):
    A = rng.standard_normal((2, 2 * D, D))
    matrices = A.swapaxes(1, 2) @ A
    found = inverses.inverted(matrices)
    np.testing.assert_allclose(found @ matrices, np.broadcast_to(np.eye(D), found.shape), atol=1e-6)
    np.testing.assert_allclose(found, found.swapaxes(1, 2), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("n_classes", [2, 3, 7])
@pytest.mark.parametrize("kept", [False, True])
def test_scores_of_a_line_are_those_of_the_point_evaluated_last(rng, monkeypatch, n_classes, kept):
    monkeypatch.setattr(likelihood, "_KEPT_NUMBERS", 1 << 22 if kept else 0)
    ours = problem(rng, 203, 4, n_classes, False)
    line = ScoreLine(ours, rng.standard_normal(ours.shape))
    theta = rng.standard_normal(ours.shape)
    found = line.evaluate(theta)
    assert found.objective == ours.evaluate(theta).objective
    np.testing.assert_allclose(line.scores, ScoreLine(ours, theta).scores, atol=1e-9)


@pytest.mark.parametrize("n_classes", [2, 3, 7])
def test_a_length_by_all_rows_is_that_of_the_whole_line(rng, n_classes):
    ours = problem(rng, 203, 4, n_classes, True)
    line = ScoreLine(ours, rng.standard_normal(ours.shape))
    point = line.evaluate(rng.standard_normal(ours.shape))
    direction = downhill(rng, point)
    rows = ours.rows_in_doubt(line, 0.0, 203)
    assert len(rows.rows) == 203
    np.testing.assert_allclose(line.length_in_doubt(point, direction, rows), line.length(point, direction), rtol=1e-4)
