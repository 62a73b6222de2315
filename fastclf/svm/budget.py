"""The price C at which the losses of a support vector machine use up a budget."""

import numpy as np

from .._exceptions import warn
from .._validation import require_number
from .dual import PROOF
from .pairs import Solutions
from .small_pairs import SOLVED, STOPPED

# _MOST_PRICE: the largest C that the search tries. _LARGE_PRICE, _LEAST_FALL: from C = _LARGE_PRICE on, the search ends
# with an error if a tenfold C lowers the sum of losses by less than the share _LEAST_FALL of its excess over the
# budget.
_MOST_PRICE, _LARGE_PRICE, _LEAST_FALL = 1e8, 1e3, 1e-3

# _LEAST_TOL: the least tolerance of a single fit.
# _LEAST_WIDTH: the least distance of two values of log C that the search distinguishes.
# _MOST_FITS: the most fits of a search, about ten times the usual number.
_LEAST_TOL, _LEAST_WIDTH, _MOST_FITS = 1e-13, 1e-13, 200

# A fit may be too inexact for the search, and is repeated with a lower tolerance, if two conditions hold: its duality
# gap exceeds the share _GAP_SHARE of the tolerated error of the penalty; and the difference between the losses and the
# budget, times C, is at most four times the gap, or the bracket of log C is narrower than _NARROW.
_GAP_SHARE, _NARROW = 0.25, 1e-3


def price_of(C, lam, budget):
    """C, or 1 / (2 lam), or None if there is a budget; the checked parameters of those names."""
    require_number("C", C, 0, open_low=True)
    for name, value in (("lam", lam), ("budget", budget)):
        if value is not None:
            require_number(name, value, 0, open_low=True, finite=True)
    if lam is not None and budget is not None:
        raise ValueError(f"lam is {lam!r} and budget {budget!r}; one of them is wanted, or none")
    if budget is not None:
        return None
    return float(C) if lam is None else 0.5 / float(lam)


class BudgetSearch:
    """The search for the least penalty R whose sum of losses L is at most a budget B.

    The caller solves min R + C L for C = `price` and passes the result to `tell`, until `over`. For every C the minimum
    of R + C L, less C B, is a lower bound of the least R, so that the search ends with a proof: the best R within the
    budget exceeds the largest of these bounds by the share `tol` of R at most.

    Attributes
    ----------
    price : float
        The next C.
    fit_tol : float
        The tolerance for the next fit.
    over : bool
    """

    def __init__(self, budget, tol):
        self.budget, self.share = float(budget), min(tol, 0.5)
        self.price, self.fit_tol, self.over = 1.0, tol, False
        self._best, self._bound = np.inf, -np.inf
        # pairs [log C, sum of losses minus the sum that the search aims at] for the largest C whose sum of losses is
        # too large, and for the least C whose sum is not; None: there is no such C yet
        self._low = self._high = None
        self._side, self._spent, self._fits = 0, np.inf, 0

    def tell(self, penalty, spent, gap):
        """Take R, L and the duality gap of the fit at `price`; returns whether this is the best fit so far."""
        price, excess, self._fits = self.price, spent - self.budget, self._fits + 1
        self._bound = max(self._bound, penalty + price * excess - gap)
        best = excess <= 0 and penalty < self._best
        if best:
            self._best = penalty
        if self._is_proved() or self._fits >= _MOST_FITS:
            self.over = True
        elif self.fit_tol > _LEAST_TOL and self._misleads(penalty, price * excess, gap):
            # the fit does not tell if C is too small: it is repeated with a smaller tolerance, and the search for a
            # bracket of C begins again
            self.fit_tol *= 0.1
            self._low = self._high = None
        else:
            # the search aims at losses slightly below the budget, as only a fit within the budget is a solution
            self._narrow(np.log(price), excess + min(self.budget, 0.5 * self.share * penalty / price), spent)
        return best

    def _is_proved(self):
        return self._best - self._bound <= self.share * self._best < np.inf

    def _width(self):
        """The width of the bracket: the difference of log C between its ends."""
        return np.inf if self._low is None or self._high is None else self._high[0] - self._low[0]

    def _misleads(self, penalty, excess, gap):
        """Whether the fit is too inexact to tell if C is too small; excess: C times (sum of losses minus budget)."""
        large = gap > _GAP_SHARE * self.share * penalty and (abs(excess) <= 4 * gap or self._width() < _NARROW)
        return large or self._width() < _LEAST_WIDTH

    def warn_of_excess(self, called_off=False):
        """Warn if the search has ended without its proof, unless the user's callback has ended it."""
        if not self._is_proved() and not called_off:
            share = (self._best - self._bound) / self._best
            warn(
                f"The penalty of w may exceed the least one with budget={self.budget:g} by the share {share:.2g}, which"
                f" is above tol={self.share:g}; rounding allows no better C, so that a larger tol is wanted",
                "ConvergenceWarning",
            )

    def _narrow(self, at, excess, spent):
        """Replace an end of the bracket of log C by a new point, and choose the next C, `price`."""
        side = 1 if excess > 0 else -1
        if side > 0:
            self._require_fall(spent)
            self._low = [at, excess]
        else:
            self._high = [at, excess]
        if self._low is None or self._high is None:
            self.price *= 10 if self._high is None else 0.1
            return
        # the Illinois rule of regula falsi halves the excess at the end of the bracket that does not move
        if side == self._side:
            (self._high if side > 0 else self._low)[1] *= 0.5
        self._side = side
        (low, above), (high, below) = self._low, self._high
        self.over = self._width() < _LEAST_WIDTH and self.fit_tol <= _LEAST_TOL
        share = above / (above - below) if above > below else 0.5
        self.price = float(np.exp(low + min(max(share, 0.001), 0.999) * (high - low)))

    def _require_fall(self, spent):
        idle = self.price >= _LARGE_PRICE and self._spent - spent < _LEAST_FALL * (spent - self.budget)
        if self._high is None and (self.price >= _MOST_PRICE or idle):
            raise ValueError(
                f"budget is {self.budget:g}; no hyperplane was found whose losses add up to less than {spent:.3g};"
                " a larger budget is wanted"
            )
        self._spent = spent


def fit_pairs(problem, options, budget, watch):
    """The fitted attributes of the machine with the least |w| for each pair whose slacks are within the budget.

    problem: a `Problem` with bounds of alpha for C = 1.
    """
    found, prices = Solutions(problem, options), np.zeros(len(problem.pairs))
    for p, pair in enumerate(problem.pairs):
        prices[p] = _fit_pair(problem, options, budget, watch, found, p, pair)
    return found.attributes(problem, 0) | {"C_": prices}


def _fit_pair(problem, options, budget, watch, found, p, pair):
    """Write the solution for a pair of classes into `found`, and return its C."""
    rows, y = problem.rows_of(pair)
    weight, proof = problem.Cs[0][rows], found.proof[0, p]
    lost, intercept = problem.lost_without_weights(y, weight)
    if lost <= budget:
        proof[PROOF["intercept"]], proof[PROOF["margin"]] = intercept, np.inf
        found.status[0, p] = SOLVED
        return 0.0
    codes = np.full(len(problem.codes), -1)
    codes[rows] = y > 0
    search, start, before, best = BudgetSearch(budget, options["tol"]), None, 1.0, None
    while not search.over and not watch.stopped:
        price, limits = search.price, options | {"tol": search.fit_tol}
        part = type(problem)(problem.gram, codes, [price * problem.Cs[0]], 2)
        solution = Solutions(part, limits, None if start is None else start * (price / before))
        part.solve(limits, solution, watch)
        start, before = solution.coef[0], price
        numbers = {name: solution.proof[0, 0, at] for name, at in PROOF.items()}
        penalty = 0.5 / numbers["margin"] ** 2
        gap = max(0.0, numbers["gap"])
        spent = max(0.0, (numbers["objective"] + numbers["gap"] - penalty) / price)
        found.n_steps[0, p] += solution.n_steps[0, 0]
        last = price, part, solution
        best = last if search.tell(penalty, spent, gap) else best
        if solution.status[0, 0] == STOPPED and solution.reason:
            break
    search.warn_of_excess(watch.stopped)
    price, part, solution = best or last
    coef = np.zeros(len(problem.codes))
    coef[part.rows] = solution.coef[0, 0]
    first, second = found.of_pair(0, pair)
    first[:], second[:] = np.split(coef[rows], [len(first)])
    proof[:], found.status[0, p] = solution.proof[0, 0], solution.status[0, 0]
    found.reason = found.reason or solution.reason
    return price
