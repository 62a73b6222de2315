"""The machines of all pairs of classes, fitted in threads, and what is learned of them."""

import sys
import threading
import time

import numpy as np

from .._threads import run
from .cache import OwnClasses
from .gram import Gram
from .pair_scores import fit_sigmoid, pairs_of
from .smo import Dual, Inseparable

# Folds of Platt's sigmoid.
_FOLDS = 5

# Rows of a working set, however small or large the cache is.
_LEAST_SET, _LARGEST_SET = 64, 2048

# The share of the cache that values between the rows of the same class may take, which pairs of classes share.
_SHARED = 0.5

# Seconds between two lines of what is shown.
_SHOW_SECONDS = 1.0


class Problem:
    """A gram, the class of each of its rows (-1: none), bounds C of all rows, one or more, the number of classes."""

    def __init__(self, gram, codes, Cs, n_classes):
        self.gram, self.codes, self.Cs, self.n_classes = gram, codes, Cs, n_classes
        self.pairs, self.own = pairs_of(n_classes), None

    def share(self, options):
        """Compute what the pairs are to share; returns the bytes of the cache that are left."""
        if len(self.pairs) > 1 and isinstance(self.gram, Gram):
            self.gram.threads = 1  # the pairs are on threads
            if self.own is None:
                n_bytes = _SHARED * options["cache_bytes"]
                self.own = OwnClasses(self.gram, self.codes, self.n_classes, n_bytes, options["threads"])
        return options["cache_bytes"] - (0 if self.own is None else self.own.n_bytes)

    def without(self, rows, C):
        """The problem of the other rows, which shares what they do."""
        codes = self.codes.copy()
        codes[rows] = -1
        part = Problem(self.gram, codes, [C], self.n_classes)
        part.own = self.own
        return part

    def dual(self, pair, alpha, goes_on=False):
        own = () if self.own is None else (self.own.place, *(self.own.of_class[c] for c in pair))
        return Dual(self.gram, self.signs(pair), self.Cs[0], alpha, goes_on, *own)

    def signs(self, pair):
        """y of each row for a pair (a, b): +1 for a, but with two classes for b."""
        y = np.zeros(len(self.codes), np.int8)
        a, b = pair if self.n_classes > 2 else pair[::-1]
        y[self.codes == a] = 1
        y[self.codes == b] = -1
        return y


class Watch:
    """Shows how a fit goes on, and tells a callback."""

    def __init__(self, verbose, callback):
        if callback is not None and not callable(callback):
            raise TypeError(f"callback is {callback!r}; a function of (step, total, value) or None is wanted")
        self.verbose, self.callback = verbose, callback
        self.stopped, self.steps = False, 0
        self._lock = threading.Lock()
        self._told = time.monotonic()

    def report(self, dual, name):
        """What `Dual.solve` calls after each of its steps; True ends it."""
        seen = 0

        def tell(dual, gap):
            nonlocal seen
            if not self.verbose and self.callback is None:
                return False
            with self._lock:
                self.steps += dual.n_steps - seen
                seen = dual.n_steps
                if self.verbose and time.monotonic() - self._told > _SHOW_SECONDS:
                    self._told = time.monotonic()
                    self.show(dual, gap, name)
                if self.callback is not None and self.callback(self.steps, None, gap):
                    self.stopped = True
                return self.stopped

        return tell

    def show(self, dual, gap, name):
        hits = 100 * sum(side.hits for side in dual.sides) / max(1, sum(side.asked for side in dual.sides))
        print(
            f"SVC {name}: {dual.n_steps} steps, violation {gap:.2e}, {len(dual.active)} rows, cache hits {hits:.0f} %",
            file=sys.stderr,
        )


def fit_pairs(problem, options, start, watch):
    """The attributes of a fit for each C. `start`: for each pair an alpha to begin with, or None."""
    solved = [[] for _ in problem.pairs]
    solve_all(problem, options, start, watch, lambda p, dual: solved[p].append(outcome(dual)))
    return [assembled(problem, list(own)) for own in zip(*solved)]


def solve_all(problem, options, start, watch, keep):
    """Solve each pair for each C, which begins where the one before ends, and call keep(pair number, dual)."""
    sizes = np.bincount(problem.codes[problem.codes >= 0], minlength=problem.n_classes)
    threads = min(options["threads"], len(problem.pairs))
    # no more than the kernel's values for all pairs of rows and pairs of classes take, and large working sets
    most = 16.0 * len(problem.pairs) * (len(problem.codes) + 4 * _LARGEST_SET) ** 2
    options = options | {"cache_bytes": min(options["cache_bytes"], most)}
    left = problem.share(options)
    order = sorted(range(len(problem.pairs)), key=lambda p: -sum(sizes[list(problem.pairs[p])]))

    def work(p):
        alpha = np.zeros(len(problem.codes)) if start is None else start[p]
        dual = problem.dual(problem.pairs[p], alpha, goes_on=len(problem.Cs) > 1)
        name = "" if len(problem.pairs) == 1 else "{} against {}".format(*problem.pairs[p])
        for C in problem.Cs:
            if C is not dual.C:
                dual.move(C)
            yield from solved(dual, options, left / threads, len(problem.pairs), watch.report(dual, name))
            if watch.verbose and len(problem.pairs) == 1:
                watch.show(dual, dual.violation, name)
            keep(p, dual)
            yield

    run(work, order, threads)


def solved(dual, options, kept, n_pairs, report=None):
    """Solve it with `kept` bytes of the cache."""
    cache_bytes, number = options["cache_bytes"], dual.gram.dtype.itemsize
    # the matrix of a working set is a twelfth of the cache at most, whatever the number of threads
    largest = min(_LARGEST_SET, max(_LEAST_SET, int(np.sqrt(cache_bytes / 12 / number))))
    # what is kept depends on the threads, and may; which method is taken must not
    newton = cache_bytes if n_pairs == 1 else (1 - _SHARED) * cache_bytes / n_pairs
    kept, newton = (max(0.0, part - number * largest**2) for part in (kept, newton))
    try:
        yield from dual.solve(options["tol"], options["max_iter"], options["shrinking"], kept, newton, largest, report)
    except Inseparable as found:
        raise ValueError(
            f"C is infinite, but no hyperplane separates the classes{found.reason}; a finite C is wanted"
        ) from None


class outcome:
    """What is kept of a solved problem."""

    def __init__(self, dual):
        rows = dual.rows
        y, a, f, C = dual.y[rows], dual.alpha[rows], dual.f[rows], dual.C[rows]
        used = a > 0
        self.rows, self.coef = rows[used], (y * a)[used]
        free = used & (a < C)
        self.intercept = -float(f[free].mean()) if free.any() else -0.5 * (dual.up + dual.low)
        self.n_steps, self.violation, self.converged, self.reason = (
            dual.n_steps,
            dual.violation,
            dual.converged,
            dual.reason,
        )
        square = float((a * y) @ (f + y))  # |w|^2
        self.dual_objective = float(a.sum()) - 0.5 * square
        functional = y * (f + y + self.intercept)
        norm = np.sqrt(max(square, 0.0))
        hard = bool(np.isinf(C).any())
        with np.errstate(divide="ignore", invalid="ignore"):
            least = float(functional.min()) if hard else 1.0
            self.margin = float(np.divide(least, norm)) if norm > 0 else np.inf
        if hard:
            primal = 0.5 * square / least**2 if least > 0 else np.inf
        else:
            primal = 0.5 * square + float(C @ np.maximum(0, 1 - functional))
        self.gap = primal - self.dual_objective


def assembled(problem, duals):
    """scikit-learn's attributes of all pairs."""
    n, K = len(problem.codes), problem.n_classes
    is_support = np.zeros(n, bool)
    for dual in duals:
        is_support[dual.rows] = True
    support = np.flatnonzero(is_support)
    support = support[np.argsort(problem.codes[support], kind="stable")]
    place = np.empty(n, np.intp)
    place[support] = np.arange(len(support))
    coef = np.zeros((K - 1, len(support)))
    for (a, b), dual in zip(problem.pairs, duals):
        of_a = problem.codes[dual.rows] == a
        coef[b - 1, place[dual.rows[of_a]]] = dual.coef[of_a]
        coef[a, place[dual.rows[~of_a]]] = dual.coef[~of_a]
    failed = next((dual for dual in duals if not dual.converged), None)
    return {
        "support_": support.astype(np.int32),
        "n_support_": np.bincount(problem.codes[support], minlength=K).astype(np.int32),
        "dual_coef_": coef,
        "intercept_": np.array([dual.intercept for dual in duals]),
        "n_iter_": np.array([min(dual.n_steps, 2**31 - 1) for dual in duals], np.int32),
        "violations_": np.array([dual.violation for dual in duals]),
        "violation_": max(dual.violation for dual in duals),
        "dual_objective_": np.array([dual.dual_objective for dual in duals]),
        "duality_gap_": max(dual.gap for dual in duals),
        "margin_": np.array([dual.margin for dual in duals]),
        "_converged": failed is None,
        "_reason": "" if failed is None else failed.reason,
    }


def warm_alpha(model, problem):
    """alpha of each pair as the model's last fit left it, or None where that was of other rows or classes."""
    if not hasattr(model, "support_") or model.shape_fit_[0] != len(problem.codes):
        return None
    if len(model.classes_) != problem.n_classes:
        return None
    return [pair_alpha(model, pair, len(problem.codes)) for pair in problem.pairs]


def pair_alpha(model, pair, n):
    """alpha of a pair of classes, of all rows of a fit."""
    a, b = pair
    ends = np.cumsum(model.n_support_)
    alpha = np.zeros(n)
    for c, row in ((a, b - 1), (b, a)):
        own = slice(ends[c] - model.n_support_[c], ends[c])
        alpha[model.support_[own]] = np.abs(model.dual_coef_[row, own])
    return alpha


def fit_sigmoids(problem, C, options, seed, watch):
    """probA_ and probB_: a sigmoid for each pair, on the scores of five folds, each scored by a fit of the others."""
    n = len(problem.codes)
    fold_of = np.empty(n, np.intp)
    fold_of[np.random.default_rng(seed).permutation(n)] = np.arange(n) % _FOLDS
    scores = np.zeros((len(problem.pairs), n))
    for fold in range(_FOLDS):
        held_out = fold_of == fold
        part = problem.without(held_out, C)

        def keep(p, dual, held_out=held_out):
            out = np.flatnonzero(held_out & (problem.signs(problem.pairs[p]) != 0))
            if len(out):
                scores[p, out] = held_out_scores(dual, out)

        solve_all(part, options, None, watch, keep)
    A, B = np.empty(len(problem.pairs)), np.empty(len(problem.pairs))
    for p, pair in enumerate(problem.pairs):
        y = problem.signs(pair)
        A[p], B[p] = fit_sigmoid(scores[p, y != 0], y[y != 0] > 0)
    return {"probA_": A, "probB_": B}


def held_out_scores(dual, rows):
    """Scores of rows that are not in the problem; where it has one class alone, its sign."""
    if not ((dual.y > 0).any() and (dual.y < 0).any()):
        return np.full(len(rows), float(np.sign(dual.y.sum(dtype=np.int64))))
    dual.f[rows] = outcome(dual).intercept
    support = np.flatnonzero(dual.alpha)
    dual.add_all(dual.gram, support, dual.y[support] * dual.alpha[support], rows)
    return dual.f[rows]


def hyperplanes(support, coef, n_support):
    """w of each pair (n_pairs, n_features), of the linear kernel."""
    X = np.asarray(support, np.float64)
    ends = np.concatenate([[0], np.cumsum(n_support)])
    own = [slice(*ends[c : c + 2]) for c in range(len(n_support))]
    return np.stack(
        [coef[b - 1, own[a]] @ X[own[a]] + coef[a, own[b]] @ X[own[b]] for a, b in pairs_of(len(n_support))]
    )


def violation_of(problem, pair, alpha):
    """The violation of a pair's alpha over all its rows, from nothing in float64."""
    dual = Dual(problem.gram.in_double(), problem.signs(pair), problem.Cs[0], alpha)
    return dual.violation_anew()
