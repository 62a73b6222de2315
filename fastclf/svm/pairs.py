"""The binary classifiers of all pairs of classes: fitted in threads, and turned into attributes."""

import sys
import threading
import time

import numpy as np

from .._described import described
from .._threads import require_verbose, run
from . import few_rows, nu, small_pairs, smo
from .dual import HARD, PROOF, Dual, add
from .pair_scores import fit_sigmoid, pair_scores, pairs_of
from .small_pairs import DOUBTFUL, SLOW, SOLVED, STOPPED, UNSOLVED, SmallPairs

# The number of folds of the cross-validation from which Platt's sigmoids are fitted.
_FOLDS = 5

# _LEAST_SET, _LARGEST_SET: the least and the largest limit on the number of rows of a working set; the cache size
# determines the limit.
_LEAST_SET, _LARGEST_SET = 64, 2048

# _NEWTON_THREADS: the most threads that solve pairs of classes at a time, as each may need the memory of a Newton step.
# _NEWTON_SHARE: where there are several pairs, the share of `cache_size` that the matrix of a Newton step may take.
_NEWTON_THREADS, _NEWTON_SHARE = 16, 1 / 8

# The largest cache size, in bytes; a larger one that the user gives is reduced to this.
_MOST_CACHE = 1e18

# The number of values in a block of support vectors that is converted to float64 at a time.
_BLOCK_NUMBERS = 1 << 20

# The number of seconds between two lines of progress.
_SHOW_SECONDS = 1.0


class Problem:
    """The pairs of classes of a fit, with the bounds of their alphas.

    Parameters
    ----------
    gram : Gram or GivenKernel
    codes : ndarray of shape (n,)
        The class of each row of the gram; -1 for a row that is left out.
    Cs : list of ndarray of shape (n,)
        The upper bounds of alpha: an array for each C.
    n_classes : int
    nu : float
        The parameter of nu-SVC, whose bounds of alpha are the weights of the rows; 0 for SVC.

    Attributes
    ----------
    rows : ndarray of shape (m,), int64
        The rows that are not left out, sorted by class.
    starts : ndarray of shape (n_classes + 1,), int64
        Where each class begins in `rows`, and where the last one ends.
    pairs : list of (a, b)
    """

    def __init__(self, gram, codes, Cs, n_classes, nu=0.0):
        self.gram, self.codes, self.Cs, self.n_classes, self.nu = gram, codes, Cs, n_classes, nu
        self.pairs = pairs_of(n_classes)
        order = np.argsort(codes, kind="stable")
        self.starts = np.searchsorted(codes[order], np.arange(n_classes + 1))
        self.rows = order[self.starts[0] :].astype(np.int64)
        self.starts -= self.starts[0]

    @property
    def n_rows(self):
        """The number of rows of all classes."""
        return len(self.rows)

    def mean_diagonal(self, gram):
        """The mean of k(x, x) over the rows x of all classes."""
        return float(gram.diagonal(self.rows).mean())

    def largest_bound(self):
        """The largest bound of any alpha."""
        return max(float(C[self.rows].max()) for C in self.Cs)

    def class_rows(self, c):
        return self.rows[self.starts[c] : self.starts[c + 1]]

    def without(self, rows, C):
        """The problem without the listed rows, with the bounds C."""
        codes = self.codes.copy()
        codes[rows] = -1
        return type(self)(self.gram, codes, [C], self.n_classes, self.nu)

    def rows_of(self, pair):
        """The rows of a pair (a, b) and their labels: y = 1 for a; if there are only two classes, y = 1 for b."""
        first, second = map(self.class_rows, pair)
        y = np.repeat([1.0, -1.0] if self.n_classes > 2 else [-1.0, 1.0], [len(first), len(second)])
        return np.concatenate([first, second]), y

    def dual(self, pair, C, coef=None):
        """The `Dual` of a pair; coef: its start, or None."""
        rows, y = self.rows_of(pair)
        return Dual(self.gram, rows, y, C[rows], coef)

    def coef_of(self, pair, coef):
        """The coefficients of the `rows_of` a pair; coef: (n_classes - 1, rows sorted by class), as in `Solutions`."""
        a, b = pair
        first, second = (slice(self.starts[k], self.starts[k + 1]) for k in pair)
        return np.concatenate([coef[b - 1, first], coef[a, second]])

    def lost_without_weights(self, y, weight):
        """(the least sum of weighted losses max(0, 1 - y b) with w = 0, the intercept b)."""
        up, down = weight[y > 0].sum(), weight[y < 0].sum()
        return 2 * float(min(up, down)), float(np.sign(up - down))

    def solve(self, options, found, watch):
        """Solve each pair for each C; each C starts from the solution for the C before."""
        solve_all(self, options, found, watch)

    def violation(self, pair, coef):
        """The violation of a pair, with f computed anew in float64; coef: (n_classes - 1, rows sorted by class)."""
        dual = self.dual(pair, self.Cs[0], self.coef_of(pair, coef))
        for _ in dual.refresh(1):
            pass
        return float(dual.prove()[PROOF["violation"]])


class Solutions:
    """The solution of each pair for each C, and the limits of the solvers; compiled code reads it as `pairs_t`.

    Attributes
    ----------
    starts : ndarray of shape (n_classes + 1,), int64
        That of the `Problem`.
    C : ndarray of shape (n_Cs, n), float64
        The upper bound of alpha for each row, with rows sorted by class.
    coef : ndarray of shape (n_Cs, n_classes - 1, n), float64
        coef[c, b - 1, rows of a] and coef[c, a, rows of b] are y alpha of the pair (a, b); the solvers write it.
    proof : ndarray of shape (n_Cs, n_pairs, numbers of `dual.PROOF`), float64
    n_steps : ndarray of shape (n_Cs, n_pairs), int64
    status : ndarray of shape (n_Cs, n_pairs), int8
        One of the numbers in `_small_pairs.STATUS`.
    reason : str
        The reason why a pair was stopped, for the warning.
    tol, max_iter
        Those of the estimator; if the user's callback ends the fit, max_iter is set to 0.
    rounding, patience
        The rounding error of a kernel value, and the number of visits of rows after which a pair is slow; set by
        `SmallPairs`.
    """

    __slots__ = (
        "C",
        "coef",
        "max_iter",
        "n_steps",
        "nu",
        "patience",
        "proof",
        "reason",
        "rounding",
        "starts",
        "status",
        "tol",
    )

    def __init__(self, problem, options, coef=None):
        n_Cs, n_pairs, n = len(problem.Cs), len(problem.pairs), len(problem.rows)
        self.starts, self.C = problem.starts, np.array([C[problem.rows] for C in problem.Cs])
        self.coef = np.zeros((n_Cs, problem.n_classes - 1, n))
        if coef is not None:
            self.coef[0] = coef
        self.proof = np.zeros((n_Cs, n_pairs, len(PROOF)))
        self.n_steps, self.status = np.zeros((n_Cs, n_pairs), np.int64), np.full((n_Cs, n_pairs), UNSOLVED, np.int8)
        self.reason = ""
        self.tol, self.max_iter, self.nu = options["tol"], options["max_iter"], problem.nu
        self.rounding, self.patience = 0.0, 0

    def n_solved(self):
        """For each pair the number of C that are solved; they are solved in order, from the first one."""
        return ((self.status == SOLVED) | (self.status == STOPPED)).sum(axis=0)

    def of_pair(self, c, pair):
        """Views of the coefficients of a pair (a, b): those of the rows of a, and those of the rows of b."""
        a, b = pair
        rows = [slice(self.starts[k], self.starts[k + 1]) for k in pair]
        return self.coef[c, b - 1, rows[0]], self.coef[c, a, rows[1]]

    def keep(self, c, p, pair, dual):
        """Store the solution of pair number p for C number c."""
        first, second = self.of_pair(c, pair)
        first[:], second[:] = np.split(dual.coef, [len(first)])
        self.proof[c, p], self.n_steps[c, p] = dual.prove(), dual.n_steps
        self.status[c, p] = SOLVED if dual.converged else STOPPED
        self.reason = self.reason or dual.reason

    def attributes(self, problem, c):
        """The fitted attributes for C number c, in scikit-learn's names."""
        proof = {name: self.proof[c, :, column] for name, column in PROOF.items()}
        support = np.flatnonzero(self.coef[c].any(axis=0))
        return {
            "support_": problem.rows[support].astype(np.int32),
            "n_support_": np.diff(np.searchsorted(support, self.starts)).astype(np.int32),
            "_dual_coef_": self.coef[c].take(support, axis=1),
            "intercept_": proof["intercept"].copy(),
            "n_iter_": np.minimum(self.n_steps[c], 2**31 - 1).astype(np.int32),
            "violations_": proof["violation"].copy(),
            "violation_": float(proof["violation"].max()),
            "dual_objective_": proof["objective"].copy(),
            "duality_gap_": float(proof["gap"].max()),
            "margin_": proof["margin"].copy(),
            "_converged": bool((self.status[c] == SOLVED).all()),
            "_reason": self.reason,
        }


class Watch:
    """The progress of a fit: printed if `verbose`, and passed to the user's callback."""

    def __init__(self, verbose, callback):
        if callback is not None and not callable(callback):
            raise TypeError(f"callback is {described(callback)}; a function of (step, total, value) or None is wanted")
        self.verbose, self.callback = require_verbose(verbose), callback
        self.is_asked = bool(verbose) or callback is not None
        self.stopped, self.steps, self._seen = False, 0, {}
        self._lock = threading.Lock()
        self._told = time.monotonic()

    def tell(self, what, n_steps, violation, shown=""):
        """Report the steps and the violation of the part named `what`; returns whether the callback ends the fit."""
        if not self.is_asked:
            return False
        with self._lock:
            self.steps += n_steps - self._seen.get(what, 0)
            self._seen[what] = n_steps
            if self.verbose and time.monotonic() - self._told > _SHOW_SECONDS:
                self._told = time.monotonic()
                self.show(what, n_steps, violation, shown)
            if self.callback is not None and not self.stopped and self.callback(self.steps, None, violation):
                self.stopped = True
            return self.stopped

    def show(self, what, n_steps, violation, shown=""):
        print(f"SVC {what}: {n_steps} steps, violation {violation:.2e}{shown}", file=sys.stderr)


def fit_pairs(problem, options, start, watch):
    """A dict of fitted attributes for each C; start: the coefficients from which the first C starts, or None."""
    found = Solutions(problem, options, start)
    problem.solve(options, found, watch)
    if watch.verbose:
        watch.show("in all", found.n_steps.sum(), found.proof[..., PROOF["violation"]].max())
    return [found.attributes(problem, c) for c in range(len(problem.Cs))]


def limits_of(options, dtype, n_pairs, threads):
    """The `smo.Limits` for one pair, if n_pairs are solved on this number of threads."""
    cache_bytes = min(options["cache_bytes"], _MOST_CACHE)
    # the kernel matrix of a working set takes at most a twelfth of `cache_size` for any number of threads, so that the
    # steps, and the solution, do not depend on that number
    largest = min(_LARGEST_SET, max(_LEAST_SET, int(np.sqrt(cache_bytes / 12 / dtype.itemsize))))
    own = dtype.itemsize * largest**2
    kept = max(0.0, cache_bytes / threads - own)
    # only the size of the cache may depend on the number of threads, not the choice of a method
    newton = max(0.0, cache_bytes - own) if n_pairs == 1 else cache_bytes * _NEWTON_SHARE
    inner = options["threads"] if n_pairs == 1 else 1
    return smo.Limits(options["tol"], options["max_iter"], options["shrinking"], inner, kept, newton, largest)


def solve_all(problem, options, found, watch):
    """`Problem.solve`."""
    for number, gram in enumerate(small_pairs.grams(problem, found)):
        largest = limits_of(options, gram.dtype, 1, 1).largest_set
        small = SmallPairs(problem, gram, found, options["threads"], watch)
        few_rows.solve(small, options["cache_bytes"], UNSOLVED if number == 0 else DOUBTFUL)
        small.solve(largest, options["cache_bytes"])
    n_Cs, solved = len(problem.Cs), found.n_solved()
    sizes = np.diff(problem.starts)[np.array(problem.pairs)].sum(axis=1)
    left = [p for p in np.argsort(-sizes, kind="stable") if solved[p] < n_Cs]
    threads = max(1, min(options["threads"], len(left), _NEWTON_THREADS))
    limits = limits_of(options, problem.gram.dtype, len(left), threads)
    run(lambda p: solve_large(problem, found, p, limits, watch), left, threads)


def solve_large(problem, found, p, limits, watch):
    """A generator: solve pair number p, which has too many rows or steps for `SmallPairs`, from where these ended."""
    if problem.nu > 0:
        yield from nu.solve_pair(problem, found, p, limits, watch)
        return
    n_Cs = len(problem.Cs)
    pair, first = problem.pairs[p], found.n_solved()[p]
    hard = (problem.Cs[first] > HARD).any()
    coef = None if hard else np.concatenate(found.of_pair(first, pair))
    dual = problem.dual(pair, problem.Cs[first], coef)
    dual.n_steps = int(found.n_steps[first, p])
    if dual.coef.any():
        yield from dual.refresh(limits.threads)
    steps = smo.steps_for(dual, limits, goes_on=n_Cs > 1)
    steps.looks = found.patience if found.status[first, p] == SLOW else 0
    name = "" if len(problem.pairs) == 1 else "{} against {}".format(*pair)

    def report(dual, steps, gap):
        return watch.tell(name, dual.n_steps, gap, steps.shown())

    for c in range(first, n_Cs):
        if c > first:
            dual.move(problem.Cs[c][dual.rows])
        yield from solved_dual(dual, steps, limits, report)
        found.keep(c, p, pair, dual)
        yield


def solved_dual(dual, steps, limits, report=None):
    """A generator: `smo.solve`; a hard margin that does not exist raises a ValueError for the user."""
    try:
        yield from smo.solve(dual, steps, limits, report)
    except smo.Inseparable as found:
        size = "infinite" if np.isinf(dual.upper - dual.lower).any() else "as good as infinite"
        raise ValueError(
            f"C is {size}, but no hyperplane separates the classes{found.reason}; a finite C is wanted"
        ) from None


def warm_coef(model, problem):
    """The coefficients of the model's last fit, or None if it had another number of rows or classes."""
    if not hasattr(model, "support_") or model.shape_fit_[0] != len(problem.codes):
        return None
    if len(model.classes_) != problem.n_classes:
        return None
    all_rows = np.zeros((problem.n_classes - 1, len(problem.codes)))
    all_rows[:, model.support_] = model._dual_coef_
    return all_rows[:, problem.rows]


def scores_of(problem, found, rows):
    """Scores (len(rows), n_pairs) of the listed rows of the gram, by the solutions for the first C."""
    S = np.zeros((problem.n_classes, problem.n_classes - 1, len(rows)))
    for c in range(problem.n_classes):
        support = np.arange(problem.starts[c], problem.starts[c + 1])
        support = support[found.coef[0][:, support].any(axis=0)]
        for _ in add(problem.gram, problem.rows[support], found.coef[0][:, support], rows, S[c], 1):
            pass
    return pair_scores(S.transpose(2, 0, 1), found.proof[0, :, PROOF["intercept"]])


def fit_sigmoids(problem, C, options, seed, watch):
    """probA_ and probB_: sigmoids fitted to the scores of five folds, each scored by a fit of the other folds.

    As in LIBSVM they give the probability of the first class of each pair, also of two classes, whose scores are those
    of the second.
    """
    n = len(problem.codes)
    fold_of = np.empty(n, np.intp)
    fold_of[np.random.default_rng(seed).permutation(n)] = np.arange(n) % _FOLDS
    scores = np.zeros((n, len(problem.pairs)))
    for fold in range(_FOLDS):
        held_out = fold_of == fold
        out = np.flatnonzero(held_out & (problem.codes >= 0))
        if len(out):
            part = problem.without(held_out, C)
            found = Solutions(part, options)
            part.solve(options, found, watch)
            scores[out] = scores_of(part, found, out)
    A, B = np.empty(len(problem.pairs)), np.empty(len(problem.pairs))
    for p, (a, b) in enumerate(problem.pairs):
        rows = np.concatenate([problem.class_rows(a), problem.class_rows(b)])
        toward_first = scores[rows, p] if problem.n_classes > 2 else -scores[rows, p]
        A[p], B[p] = fit_sigmoid(toward_first, problem.codes[rows] == a)
    return {"probA_": A, "probB_": B}


def hyperplanes(support, coef, n_support):
    """The weights w of each pair, (n_pairs, n_features), for the linear kernel."""
    n_classes, d = len(n_support), support.shape[1]
    ends = np.concatenate([[0], np.cumsum(n_support)])
    first, second = np.triu_indices(n_classes, 1)
    planes, size = np.zeros((len(first), d)), 1 + _BLOCK_NUMBERS // d
    for c in range(n_classes):
        # the rows of class c have one coefficient for each other class
        others = np.zeros((n_classes - 1, d))
        for start in range(ends[c], ends[c + 1], size):
            rows = slice(start, min(start + size, ends[c + 1]))
            others += coef[:, rows] @ np.asarray(support[rows], np.float64)
        planes[first == c] += others[second[first == c] - 1]
        planes[second == c] += others[first[second == c]]
    return planes
