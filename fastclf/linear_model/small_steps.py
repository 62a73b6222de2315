"""L-BFGS for dense rows so few that a pass takes less time than the Python code around it: each step is compiled."""

import numpy as np

from .. import _simd
from .inverses import inverted
from .likelihood import Pass, Point, least_norm

kernels = _simd.load("linear_model._likelihood")

# The number of steps in the history of L-BFGS.
_MEMORY = 10

_NONE = np.empty(0)


class Search:
    """The point of a search, and its history, for `lbfgs_step`; `search_t` in `_likelihood.pyx` describes the fields.

    Parameters
    ----------
    problem : Likelihood
        With `takes_small_steps`.
    point : Point
    """

    def __init__(self, problem, point):
        K, D, ld = problem.K, problem.d + 1, problem.ld
        self._problem = problem
        shift, factor, plain = problem.mean, problem.factor, problem.is_plain
        self.mean, self.factor, self.bias = shift if plain else _NONE, factor if plain else _NONE, problem.bias
        if plain:
            shift, factor = np.zeros(problem.d), np.ones(problem.d)
        self._pass = Pass(problem, shift, factor, np.zeros((K, ld)), problem.bias)
        self.total, self.pull = problem.total, np.zeros(ld)
        self.pull[:D] = problem.pull
        self.theta, self.trial, self.grad, self.direction, self.spare = np.zeros((5, K, ld))
        self.theta[:, :D], self.grad[:, :D] = point.theta, point.gradient
        self.steps, self.changes = np.zeros((2, _MEMORY, K, ld))
        self.products, self.shares = np.zeros((2, _MEMORY))
        self.values, self.n_steps = np.array([point.objective, point.loss, 1]), np.zeros(2, np.int64)
        self.inverse = None

    def points(self, point, tol, curvature):
        """The points of L-BFGS after `point`, that of the search, preconditioned by the inverse of second derivatives.

        `curvature` is of a kind of `Likelihood.evaluate`, or a diagonal (D,).
        """
        problem, D = self._problem, self._problem.d + 1
        self.inverse = self._padded(curvature)
        while not point.is_optimal(tol) and kernels.lbfgs_step(problem.X, self._pass, self):
            theta, gradient, objective = self.theta[:, :D].copy(), self.grad[:, :D].copy(), float(self.values[0])
            norm = problem.norm(gradient, theta, least_norm(objective, problem.K, tol))
            point = Point(theta, objective, float(self.values[1]), gradient, norm, -np.inf, None)
            yield point

    def _padded(self, curvature):
        """The inverse of second derivatives, with zeros for the numbers by which rows of theta are filled up."""
        (K, ld), D = self.theta.shape, self._problem.d + 1
        if curvature.ndim == 1:
            return np.append(1 / curvature, np.zeros(ld - D))
        inverse = inverted(curvature)
        if curvature.ndim == 3 or K == 1:
            padded = np.zeros((inverse.size // D**2, D, ld))
            padded[:, :, :D] = inverse
            return padded
        padded = np.zeros((K, ld, K, ld))
        padded[:, :D, :, :D] = inverse.reshape(K, D, K, D)
        return padded.reshape(K * ld, K * ld)
