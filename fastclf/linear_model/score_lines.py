"""The minimum of a penalised likelihood on a line, found from the scores of the rows alone.

On a line of parameters the scores are s + t delta. The change delta costs half a pass over the rows; after that, the
derivative at any t takes one exponential for each row and class, however many columns X has. On data that are easy to
tell apart the loss falls like an exponential, so that a step of Newton's method is much too short.
"""

import numpy as np

from .. import _simd
from .._threads import columns_at, ranges

kernels = _simd.load("linear_model._likelihood")

# A length is accepted if the derivative there is at most this share of the derivative at length 0.
_FLAT = 0.1
# _TRIALS: the most lengths that are tried. _LONGER: the least and the largest factor by which the length grows while
# the derivative is still negative.
_TRIALS, _LONGER = 20, (2.0, 8.0)
# The number of scores that one call of compiled code reads.
_CALL_SCORES = 1 << 20


class ScoreLine:
    """The scores of all rows of a `Likelihood` at a point, and the best lengths of steps from there.

    Parameters
    ----------
    problem : Likelihood
    theta : ndarray
        The parameters of the point.

    Attributes
    ----------
    scores : ndarray of shape (K, m)
        The scores of each class, padded with columns of zeros; with two classes those of class 1.
    """

    def __init__(self, problem, theta):
        self.problem, self.n = problem, len(problem.codes)
        self.m = -(-self.n // kernels.LANES) * kernels.LANES
        self.codes, weights = problem.row_classes()
        self.weights = np.zeros(self.m)
        self.weights[: self.n] = weights if len(weights) else 1
        self.scores = np.zeros((problem.K, self.m))
        if theta.any():
            self._fill(self.scores, problem.row_scores(theta).T)

    def _fill(self, scores, found):
        for rows in self._parts(self.n):
            scores[:, rows] = found[:, rows]
        return scores

    def shares(self):
        """(the weight of each row in the curvature, (n,); the rows' probabilities, (K, n)).

        For two classes p (1 - p) stands in the place of the probabilities.
        """
        p, doubt = np.empty_like(self.scores), np.empty(self.m)
        kernels.shares(self.scores, p, doubt)
        doubt *= self.weights
        return doubt[: self.n], p[:, : self.n]

    def _parts(self, n):
        """Slices of 0, 1, ... n - 1, in which a part of the rows has few scores."""
        return [slice(*part) for part in ranges(0, n, max(1, _CALL_SCORES // self.problem.K))]

    def length(self, point, direction):
        """The length t > 0 of about the least objective at theta + t direction; `direction` must lead downhill."""
        change = np.zeros((self.problem.K, self.m))
        self.change = self._fill(change, self.problem.row_scores(direction).T)
        start = float(np.sum(point.gradient * direction))
        return best_length(self._slope(point, direction, self.scores, change, self.weights, self.codes), start)

    def length_in_doubt(self, point, direction, rows):
        """The same, as if the derivatives of all losses but those of some rows, a `RowsInDoubt`, were constant."""
        n = len(rows.numbers)
        m, K = -(-n // kernels.LANES) * kernels.LANES, self.problem.K
        scores, change, weights = np.zeros((K, m)), np.zeros((K, m)), np.zeros(m)
        scores[:, :n], change[:, :n] = columns_at(self.scores, rows.rows), rows.score_changes(direction)
        weights[:n] = self.weights[rows.rows]
        slope = self._slope(point, direction, scores, change, weights, self.codes[rows.rows])
        start = float(np.sum(point.gradient * direction))
        others = start - slope(0.0)
        return best_length(lambda length: slope(length) + others, start) if start < 0 else 1.0

    def _slope(self, point, direction, scores, change, weights, codes):
        """The function that maps a length to the derivative of the objective, for the losses of rows with these codes.

        The arrays have a column for each row, and columns of zeros.
        """
        problem, n = self.problem, len(codes)
        total = problem.total
        if problem.K == 1:
            sign = np.ones(change.shape[1])
            sign[:n] -= 2 * (codes == 0)
            scores, change, own = scores * sign, change * sign, 0.0
        else:
            own = float(weights[:n] @ change[codes, np.arange(n)])
        pulled = problem.pull * direction
        at_0, bend = float(np.sum(pulled * point.theta)), float(np.sum(pulled * direction))
        parts = self._parts(change.shape[1] // kernels.LANES)

        def slope(length):
            loss = sum(kernels.slope(scores, change, weights, length, at.start, at.stop) for at in parts)
            return (loss - own) / total + at_0 + length * bend

        return slope

    def evaluate(self, theta):
        """The Point of the problem at theta, which the line then starts from."""
        if self.problem.keeps_rows:
            return self.problem.evaluate(theta, scores=self.scores)
        self._fill(self.scores, self.problem.row_scores(theta).T)
        return self.problem.evaluate(theta)

    def follow(self, before, found, direction):
        """Go on to the point `found` on the line from the point `before`."""
        length = float(np.sum((found.theta - before.theta) * direction)) / float(np.sum(direction**2))
        self.scores += length * self.change


def best_length(slope, at_0):
    """A length at which the derivative slope(length) of a convex function is nearly 0; at_0 < 0 is that at length 0."""
    low, at_low, high, at_high = 0.0, at_0, None, None
    length = 1.0
    for _ in range(_TRIALS):
        found = slope(length)
        if abs(found) <= -_FLAT * at_0:
            return length
        if found < 0:
            before, at_before, low, at_low = low, at_low, length, found
        else:
            high, at_high = length, found
        if high is None:
            guess = low + (low - before) * at_low / (at_before - at_low) if at_before < at_low else np.inf
            length = min(max(guess, _LONGER[0] * low), _LONGER[1] * low)
        else:
            share = at_low / (at_low - at_high) if np.isfinite(at_high) else 0.1
            length = low + (high - low) * min(max(share, 0.1), 0.9)
    return low or length
