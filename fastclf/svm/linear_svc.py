"""The linear support vector machine."""

import copy
from typing import NamedTuple

import numpy as np

from .._csr import Csr, as_unchecked_rows
from .._exceptions import warn
from .._labels import as_labels, class_factors
from .._state_table import Array, Value, declare
from .._threads import Progress, aside_for_many, inner, n_threads, run
from .._validation import (
    as_seed,
    described,
    require_choice,
    require_integer,
    require_number,
)
from ..linear_model.scores import SparsifiableClassifier, in_order_for
from ..linear_model.warm_path import WarmPath
from . import small_planes
from .budget import BudgetSearch, price_of
from .coordinate_descent import LEARNERS, Descent
from .crammer_singer import Machine
from .crammer_singer import solve as joint_descent
from .l1_margin import L1Newton, columns_for
from .proximal_newton import ProximalNewton, gain_is_limited
from .soft_margin import Problem, Proof, square_norms

# _NEWTON_SIZE: the most columns for Newton's method, which factorises a matrix of that size. Data with more columns
# but at most this number of rows are reduced to as many columns as rows, with the same inner products.
# _DENSE_NEWTON_SIZE: the same for the squared hinge and dense rows, which are multiplied fast.
# _QR_NUMBERS: the most matrix entries for that reduction.
_NEWTON_SIZE, _DENSE_NEWTON_SIZE = 1024, 2048
_QR_NUMBERS = 1 << 24
# A Cholesky factor of the products of the rows is accepted only if each pivot is at least this share of the squared
# length of the longest row.
_LEAST_PIVOT = 1e-10

# Coordinate descent is tried for this number of epochs, if tol is at least _LEAST_DESCENT_TOL, and at most for the time
# of _TRIED_STEPS steps of Newton's method and its start, which takes _START ns. _NS: the number of ns that a
# multiplication takes in sums over rows, in matrices of second derivatives and their factors, and in visits of
# coordinate descent; the last two numbers are for a visit itself, of a row in a cache or, if all rows have more than
# _CACHED numbers, in memory.
_EPOCHS, _LEAST_DESCENT_TOL = 1000, 1e-6
_TRIED_STEPS, _START, _NS, _CACHED = (4, 12), 2e7, (0.75, 0.1, 1.5, 40, 400), 1 << 21

# With the hinge, the compiled solver of small problems follows this number of epochs of coordinate descent, which
# suffice where most rows have alpha at a bound.
_HINGE_EPOCHS = 12

# With the squared hinge and at least _TALL rows for each column, coordinate descent goes on after its first epoch only
# if at most the share _FEW_SUPPORTS of the rows have alpha > 0, and after its second one only if no more have it than
# after the first, or at most the share _FEW_GROWN. Alpha has no upper bound then, so that few rows leave the epochs
# where more are support vectors.
# With fewer than _TALL rows for each column, Newton's method alone may take hundreds of steps to find the rows with
# alpha > 0; where such steps are short, as for _SMALL_WORK, it is taken for the sake of its precision. Otherwise, of
# dense rows, the epochs end at the violation _ROUGH, from where a few of Newton's steps lead to the solution.
# Where rows are so long that the gain of these steps is limited, they are no substitute for epochs.
_FEW_SUPPORTS, _FEW_GROWN, _TALL, _ROUGH = 0.1, 0.025, 8, 2.0

# The most multiplications in a matrix of second derivatives for which the compiled solver of small problems, which has
# no start-up, is faster than coordinate descent.
_SMALL_WORK = 1 << 26

# Sums of squares from this number to its inverse have neither overflowed nor lost digits by underflow.
_SAFE = 1e-200

# Coordinate descent finds at least this number of hyperplanes side by side.
_FEWEST_TOGETHER = 3

# A fit to few rows that takes less than this number of multiplications is made in the calling thread alone.
_THREAD_WORK = 1 << 20

# The hyperplanes for dense rows of at most this number of numbers are found one after the other, as most of their steps
# are so short that threads would wait for the interpreter; twice as many gain a tenth.
_FEW_NUMBERS = 1 << 21


class LinearSVC(WarmPath, SparsifiableClassifier, shortcuts=True):
    """Linear support vector machine: the plane of the widest margin that rows are allowed to violate at a price.

    Minimises |w|^2 / 2 + C sum_i s_i max(0, 1 - y_i (w x_i + b))^p, where y_i is +1 or -1, s_i the weight of row i and
    p 1 or 2; or with sum_j |w_j| in place of |w|^2 / 2, which makes weights 0. With more than two classes each has its
    own plane, against the rest, or all are learned at once.

    Parameters
    ----------
    penalty : {'l1', 'l2'}, default='l2'
        sum_j |w_j| or |w|^2 / 2; 'l1' wants the squared hinge.
    loss : {'hinge', 'squared_hinge'}, default='squared_hinge'
        p = 1 or p = 2.
    dual : 'auto' or bool, default='auto'
        For scikit-learn's signature. It changes nothing, but what LIBLINEAR cannot do is refused: True with 'l1', False
        with 'hinge'.
    tol : float > 0, default=1e-4
        `fit` stops where `violation_` is at most this; see also `budget`.
    C : float > 0, default=1.0
        The price of a violation; not used where `lam` or `budget` is given.
    multi_class : {'ovr', 'crammer_singer'}, default='ovr'
        'crammer_singer' learns the planes of all classes at once: |W|^2 / 2 + C sum_i s_i max_k (w_k x_i - w_y x_i +
        [k != y]); `penalty`, `loss` and `dual` are not used.
    fit_intercept : bool, default=True
        Whether there is a b.
    intercept_scaling : float > 0 or None, default=1
        The intercept is this times the weight of a column of this value, which is penalised as all others are
        (LIBLINEAR's way). None: the intercept is not penalised.
    class_weight : dict, 'balanced' or None, default=None
        Factor of C for the rows of each class, 1 for one that a dict does not name; 'balanced' is n_samples /
        (n_classes * rows of the class), by weight. Against the rest only the plane's own class has it, as in
        scikit-learn.
    verbose : int, default=0
        1 shows the steps and the violation on stderr.
    random_state : int, RandomState, Generator or None, default=None
        Draws samples and orders of the rows, which change the result within `tol`; None is a fixed seed.
    max_iter : int >= 1, default=1000
        Steps of Newton's method or sweeps of coordinate descent at most, for a plane at one C. Not to converge within
        is warned of. With 'crammer_singer', as many visits of rows as there are rows count as a sweep.
    lam : float > 0 or None, default=None
        The same objective as sum of losses + lam |w|^2: C is 1 / (2 lam).
    budget : float > 0 or None, default=None
        The same as the least |w|^2 at which the sum of s_i max(0, ...)^p (for the hinge, of the slacks) is within the
        budget: C is found, so that |w|^2 / 2 (or sum_j |w_j|) is above the least possible by the share `tol` of itself
        at most. Each plane has the budget for itself.
    n_jobs : int or None, default=None
        Threads; None is all CPUs that the process may use. It changes no bit of the result.
    callback : callable or None, default=None
        Called as callback(step, None, violation) after each step or sweep; returning True stops there. The violation
        is the least so far, a bound of that of the rows the step was for (at first a sample), or in coordinate descent
        what the sweep met.

    Attributes
    ----------
    coef_ : ndarray of shape (1 or n_classes, n_features), float64
    intercept_ : ndarray of shape (1 or n_classes,), float64
    classes_ : ndarray of shape (n_classes,)
    n_iter_ : int
        Steps or sweeps, the most of any plane.
    C_ : ndarray of shape (1 or n_classes,)
        C of each plane: the parameter, 1 / (2 lam) or what the budget led to (0: w = 0 is within it).
    margin_ : ndarray of shape (1 or n_classes,)
        1 / |w| of each plane, the distance of w x + b = 1 from w x + b = 0; infinite if w is 0.
    violation_ : float
        How far the dual variables alpha of the solution are from optimal, over all rows, in units of the margin; the
        largest of all planes. With g_i = y_i w x_i - 1 (for p = 2, + alpha_i / 2 C s_i) and w = sum_i alpha_i y_i x_i
        it is the largest less the smallest projected gradient, LIBLINEAR's measure; where the intercept is not
        penalised it is m(alpha) - M(alpha), LIBSVM's.
    primal_objective_, dual_objective_, duality_gap_ : float, or ndarray of shape (n_classes,)
        The objective at the solution, that of the dual problem, a lower bound of the minimum, and their difference.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only when X was a table with string column names.

    Notes
    -----
    Up to 1024 columns (2048 with the squared hinge and dense rows; or 1024 dense rows) it is Newton's method within a
    proximal method of multipliers: a sample of the rows leads near the solution, and the last steps are made with the
    rows near the margin alone, so that there are about ten passes over all rows: O(n d) each, and O(m d^2) a step for
    the second derivatives of m rows near the margin. With the hinge, if few rows are support vectors, or if there are
    fewer than 8 rows for each column, sweeps of coordinate descent come first, for the time of some steps. With more
    columns it is dual coordinate descent, O(n d) a sweep (CSR: of the entries); the planes of up to eight classes of
    sparse rows are found side by side, so that a sweep reads the rows once for all of them. Memory beyond X is O(n), a
    quarter of X where rows near the margin are copied, and d^2 numbers for each of 64 partial sums, 64 MB at most. Few
    rows of fewer than 384 columns are copied as float64, to 32 MB at most.

    X is not converted, sparse rows stay so, and all sums are float64.

    Of an L1 penalty `violation_` is the largest of the shortest subgradients by any weight. Steps are those of Newton's
    method, by coordinate descent: on the matrix of second derivatives of the columns that are in use or nearly so, or
    on all columns of X, O(n d) a sweep, where that takes less time. After half of the time that it would take, an
    interior point method gives the next point if n or d is at most 4096: some 20 steps of O(n d m + m^3) with the
    smaller m of n and d + 1. Memory beyond X: X as float64 columns, X again if it is dense, and 32 m^2 bytes.
    Of `crammer_singer` it is the largest difference, over the rows, of what the dual variables of two classes gain.

    References
    ----------
    Hsieh, Chang, Lin, Keerthi, Sundararajan (2008), A dual coordinate descent method for large-scale linear SVM.
    Rockafellar (1976), Augmented Lagrangians and applications of the proximal point algorithm in convex programming.
    Yuan, Chang, Hsieh, Lin (2010), A comparison of optimization methods and software for large-scale L1-regularized
    linear classification. Crammer, Singer (2001), On the algorithmic implementation of multiclass kernel-based vector
    machines.
    Mehrotra (1992), On the implementation of a primal-dual interior point method.
    Keerthi, DeCoste (2005), A modified finite Newton method for fast solution of large scale linear SVMs.

    Examples
    --------
    >>> from fastclf import LinearSVC
    >>> X, y = [[0.0, 0.0], [1.0, 0.0], [3.0, 1.0], [4.0, 0.0]], [0, 0, 1, 1]
    >>> model = LinearSVC(loss="hinge", C=100, intercept_scaling=None).fit(X, y)
    >>> model.coef_.round(3).tolist(), model.intercept_.round(3).tolist()
    ([[0.8, 0.4]], [-1.8])
    >>> model.predict([[1.5, 0.0], [2.5, 1.0]]).tolist()
    [0, 1]
    >>> model.violation_ <= 1e-4
    True
    """

    _state_table = declare(C_=Array("float64", "n_planes"), n_iter_=Value(require_integer, 0))

    # among equally good values of `budget`, a larger one is a simpler model, because it allows a smaller |w|
    _simpler = (("budget", "larger"),)

    def __init__(
        self,
        penalty="l2",
        loss="squared_hinge",
        *,
        dual="auto",
        tol=1e-4,
        C=1.0,
        multi_class="ovr",
        fit_intercept=True,
        intercept_scaling=1,
        class_weight=None,
        verbose=0,
        random_state=None,
        max_iter=1000,
        lam=None,
        budget=None,
        n_jobs=None,
        callback=None,
    ):
        self._take(locals())

    def fit(self, X, y, sample_weight=None):
        """Find the planes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Finite real numbers: array, memory map, pandas, polars or pyarrow table, or SciPy sparse matrix.
        y : array-like of shape (n_samples,)
            Labels, of at least two classes.
        sample_weight : array-like of shape (n_samples,), default=None
            Factor of C for each row. A row of weight 0 counts as missing, one of weight 2 as two rows.

        Returns
        -------
        self
        """
        return self._fit_each([self], X, y, sample_weight)[0]

    @property
    def _starts_warm(self):
        return self.loss == "squared_hinge" and self.lam is None and self.budget is None

    @staticmethod
    def _fit_each(models, X, y, sample_weight=None):
        """Fit models that differ in C alone; each fit starts from the solution of the one before."""
        self, Cs = models[0], [model._check_parameters() for model in models]
        name = type(self).__name__
        rows = as_unchecked_rows(X, name)
        labels = as_labels(y, sample_weight, len(rows), name)
        columns = self._fitted_columns(X, rows)
        if self.multi_class == "crammer_singer":
            codes, weights, factors = self._coded(labels, len(rows))
            squares, seed = square_norms(rows, name, n_threads(self.n_jobs)), as_seed(self.random_state, 0)
            cost = np.where(codes < 0, 0.0, weights * factors[codes])
            for model, C in zip(models, Cs):
                model._learn_jointly(rows, np.maximum(codes, 0), C * cost, squares, labels.classes, columns, seed)
            return models
        planes = self._planes(len(labels.classes))
        found = self._find_planes(Cs, rows, labels, planes)
        for i, model in enumerate(models):
            model._take_on([found[i, k] for k in planes], labels.classes, columns, rows)
        return models

    @staticmethod
    def _planes(n_classes):
        """The numbers of the classes that get a hyperplane against all others; of two classes only the second."""
        return [1] if n_classes == 2 else list(range(n_classes))

    def _coded(self, labels, n):
        """The class code of each row, -1 if its weight is 0; the sample weight of each row; the class weights."""
        weights = np.ones(n) if labels.weight is None else labels.weight
        counted = slice(None) if labels.rows is None else labels.rows
        heavy = np.bincount(labels.codes, weights[counted])
        return labels.spread(n, np.intp, missing=-1), weights, class_factors(self.class_weight, labels.classes, heavy)

    def _find_planes(self, Cs, rows, labels, planes):
        """{(number of C, class): the `Plane` of this class}, for the listed classes against the rest.

        Each C starts from the plane of the C before. Cs is [None] if there is a budget.
        """
        threads, name = n_threads(self.n_jobs), type(self).__name__
        codes, weights, factors = self._coded(labels, len(rows))
        squares = square_norms(rows, name, threads)
        seed, two = as_seed(self.random_state, 0), len(labels.classes) == 2
        side_by_side = threads if isinstance(rows, Csr) or rows.size > _FEW_NUMBERS else 1
        small = None
        if self.penalty == "l2" and self._intercept_is_penalised and small_planes.is_small(rows):
            small = small_planes.SmallRows(rows, squares, self.intercept_scaling if self.fit_intercept else 0.0)
            side_by_side = threads if small.work * len(planes) > _THREAD_WORK else 1
            if self._is_smooth and len(planes) > 1:
                small.sum_squares()
        found = {}
        with Progress(None, f"{name}.fit", self.verbose, self.callback, "violation") as progress:
            reduced = [reduced_rows(rows)] if small is None and has_few_rows(rows) and self.penalty == "l2" else []
            columns = columns_for(rows) if self.penalty == "l1" else None
            each = max(1, threads // min(side_by_side, len(planes)))
            shared = Shared(self, rows, squares, small, each, progress, seed, reduced, columns)

            def plane_of(k):
                positive = codes == k
                factor = np.where(positive, factors[k], factors[0] if two else 1.0)
                return Plane(shared, np.where(positive, 1.0, -1.0), weights * factor)

            def find(k):
                plane = plane_of(k)
                if Cs[0] is None:
                    found[0, k] = yield from plane.within(self.budget)
                    return
                for i, C in enumerate(Cs):
                    yield from plane.at(C)
                    found[i, k] = copy.copy(plane)

            def find_group(group):
                members = [plane_of(k) for k in group]
                for i, C in enumerate(Cs):
                    yield from at_each(members, C)
                    found.update(((i, k), copy.copy(plane)) for k, plane in zip(group, members))

            if self._descends_side_by_side(rows, planes, weights, factors) and small is None:
                run(find_group, groups_of(planes), side_by_side)
            else:
                run(find, planes, side_by_side)
        return found

    def _descends_side_by_side(self, rows, planes, weights, factors):
        """Whether coordinate descent finds the hyperplanes of several classes together."""
        return (
            isinstance(rows, Csr)
            and self._is_smooth
            and self.budget is None
            and len(planes) >= _FEWEST_TOGETHER
            and rows.shape[1] > _NEWTON_SIZE
            and not has_few_rows(rows)
            and bool(factors.all())
        )

    @property
    def _is_smooth(self):
        """Whether the objective is smooth: squared hinge, L2 penalty, and the intercept penalised or absent."""
        return self.loss == "squared_hinge" and self.penalty == "l2" and self._intercept_is_penalised

    @property
    def _intercept_is_penalised(self):
        return not self.fit_intercept or self.intercept_scaling is not None

    def _take_on(self, found, classes, columns, rows):
        self._tell_of_violations(found)
        one = (lambda values: values[0]) if len(found) == 1 else np.array
        coef = np.array([plane.coef for plane in found])
        primal, dual = (np.array([getattr(plane, each) for plane in found]) for each in ("primal", "dual"))
        self._become(
            classes_=classes,
            coef_=in_order_for(rows, coef),
            intercept_=np.array([plane.intercept for plane in found]),
            n_iter_=max(plane.n_iter for plane in found),
            C_=np.array([plane.C for plane in found]),
            margin_=margins(coef),
            violation_=max(plane.violation for plane in found),
            primal_objective_=one(primal.tolist()),
            dual_objective_=one(dual.tolist()),
            duality_gap_=one(np.maximum(primal - dual, 0).tolist()),
            **columns,
        )

    def _check_parameters(self):
        """Check the parameters; returns C, or None if there is a budget."""
        require_choice("penalty", self.penalty, ("l1", "l2"))
        require_choice("loss", self.loss, ("hinge", "squared_hinge"))
        if not isinstance(self.dual, (bool, np.bool_)) and self.dual != "auto":
            raise ValueError(f"dual is {described(self.dual)}; 'auto', True or False is wanted")
        require_choice("multi_class", self.multi_class, ("ovr", "crammer_singer"))
        if self.multi_class == "ovr":
            self._require_combination()
        elif self.budget is not None or (self.fit_intercept and self.intercept_scaling is None):
            name = "budget" if self.budget is not None else "intercept_scaling"
            raise ValueError(
                f"{name} is {getattr(self, name)}; {'None' if name == 'budget' else 'a number'} is wanted with"
                " multi_class='crammer_singer'"
            )
        for name in ("tol", "C", "intercept_scaling"):
            if name in ("tol", "C") or getattr(self, name) is not None:
                require_number(name, getattr(self, name), 0, open_low=True, finite=True)
        if self.intercept_scaling is not None and self.intercept_scaling > 1e150:
            raise ValueError(
                f"intercept_scaling is {self.intercept_scaling}, whose square overflows; up to 1e150 is wanted"
            )
        require_integer("max_iter", self.max_iter, 1)
        return price_of(self.C, self.lam, self.budget)

    def _require_combination(self):
        """Refuse combinations of parameters for which LIBLINEAR has no solver, with scikit-learn's message."""
        dual = self.dual if isinstance(self.dual, str) else bool(self.dual)
        if (self.loss == "hinge" and (self.penalty == "l1" or dual is False)) or (
            self.penalty == "l1" and dual is True
        ):
            what = f"penalty='{self.penalty}' and loss='{self.loss}'"
            if self.loss == "squared_hinge" or self.penalty == "l2":
                what += f" when dual={dual}"
            raise ValueError(
                f"Unsupported set of arguments: the combination of {what} is not supported, Parameters:"
                f" penalty='{self.penalty}', loss='{self.loss}', dual={dual}"
            )

    def _learn_jointly(self, rows, codes, cost, squares, classes, columns, seed):
        """Learn the hyperplanes of all classes at once (Crammer, Singer), and set the fitted attributes."""
        bias = float(self.intercept_scaling) if self.fit_intercept else 0.0
        machine = Machine(rows, codes, cost, squares + bias * bias, len(classes), bias)
        threads, rng, called_off = n_threads(self.n_jobs), np.random.default_rng(seed), []
        counts = []
        with Progress(None, f"{type(self).__name__}.fit", self.verbose, self.callback, "violation") as progress:

            def advance(violation):
                if progress.watched and progress.advance(1, violation()):
                    called_off.append(True)
                return bool(called_off)

            def find(_):
                counts.append((yield from joint_descent(machine, self.tol, self.max_iter, rng, advance)))

            run(find, [0], 1)
        violation, primal, dual = machine.proof(threads)
        coef, intercept = machine.planes()
        if len(classes) == 2:
            coef, intercept = coef[1:] - coef[:1], intercept[1:] - intercept[:1]
        if violation > self.tol and not called_off:
            self._tell_of_violation(violation, counts[0])
        self._become(
            classes_=classes,
            coef_=in_order_for(rows, coef),
            intercept_=intercept,
            n_iter_=counts[0],
            C_=np.full(len(coef), self._check_parameters()),
            margin_=margins(coef),
            violation_=violation,
            primal_objective_=primal,
            dual_objective_=dual,
            duality_gap_=max(primal - dual, 0.0),
            **columns,
        )

    def _tell_of_violations(self, planes):
        worst = max(planes, key=lambda plane: plane.violation)
        if worst.violation <= self.tol or any(plane.called_off for plane in planes):
            return
        # a violation that is NaN counts as not converged
        most = max(plane.n_iter for plane in planes if not plane.violation <= self.tol)
        self._tell_of_violation(worst.violation, most)

    def _tell_of_violation(self, violation, n_iter):
        why, advice = "rounding allows no further step", ""
        if n_iter >= self.max_iter:
            why = f"max_iter={self.max_iter} was reached"
            advice = "Liblinear failed to converge, increase the number of iterations. "
        warn(f"{advice}violation_ is {violation:.2g}, above tol={self.tol:g}, as {why}", "ConvergenceWarning")


def margins(coef):
    """1 / |w| of each row w of coef."""
    with np.errstate(divide="ignore", over="ignore", under="ignore"):
        squares = np.einsum("ij,ij->i", coef, coef)
        if ((squares > _SAFE) & (squares < 1 / _SAFE)).all():
            return 1 / np.sqrt(squares)
        largest = np.abs(coef).max(axis=1)
        length = largest * np.linalg.norm(coef / np.where(largest > 0, largest, 1)[:, None], axis=1)
        return 1 / length


class Shared(NamedTuple):
    """What the searches for all hyperplanes of a fit share; only read."""

    model: LinearSVC
    X: object  # the training rows, an ndarray or Csr of shape (n, d)
    squares: np.ndarray  # (n,), float64: the squared length of each row
    # the rows as a `SmallRows` if the compiled solver of small problems, in `small_planes`, is used; otherwise None
    small: object
    threads: int  # the number of threads that compute one hyperplane
    progress: Progress
    seed: int
    # if there are fewer rows (n) than columns, rows of n numbers with the same inner products as the training rows;
    # otherwise an empty list
    reduced: list
    columns: object  # of an L1 penalty what `columns_for` returns


def has_few_rows(X):
    """Whether the rows are so few that rows of n numbers with the same inner products replace them."""
    n, d = X.shape
    # coordinate descent on few sparse entries takes less time than Newton's method
    sparse = isinstance(X, Csr) and X.size < n * n
    return n <= _NEWTON_SIZE < d and n * d <= _QR_NUMBERS and not sparse


@aside_for_many
def reduced_rows(X):
    """Rows of n numbers with the same inner products as the n rows of X."""
    rows = np.asarray(X, np.float64)
    gram = rows @ rows.T
    try:
        found = np.linalg.cholesky(gram)
    except np.linalg.LinAlgError:
        found = None
    if found is None or not found.diagonal().min() ** 2 > _LEAST_PIVOT * gram.diagonal().max():
        found = np.linalg.qr(rows.T, "r").T
    return np.ascontiguousarray(found)


def groups_of(planes):
    """The planes in as few lists as there must be, of up to LEARNERS planes each, whose lengths differ by 1 at most."""
    n_groups = -(-len(planes) // LEARNERS)
    return [planes[i::n_groups] for i in range(n_groups)]


def at_each(planes, C):
    """A generator: find the hyperplanes of several classes at C side by side, each as by `Plane.at`."""
    first = planes[0]
    problems = [plane.problem(C) for plane in planes]
    rng, watched = np.random.default_rng(first.seed), first.progress.watched
    solver = Descent(first.tol, rng, first.model.max_iter, first.advance, watched)
    proofs = yield from solver.solve_each(problems, [plane.last for plane in planes])
    for plane, proof in zip(planes, proofs):
        plane.n_iter, plane.called_off, plane.last = solver.n_iter, first.called_off, proof
        plane.keep(proof, C)


class Plane:
    """The search for one separating hyperplane, and its result: coef, intercept, C, primal, dual, violation, n_iter.

    Parameters
    ----------
    shared : Shared
    signs, weights : ndarray of shape (n,), float64
        +1 or -1, and the factor of C, for each row.
    """

    def __init__(self, shared, signs, weights):
        self.model, X, self.squares, self.small, self.threads, self.progress, self.seed = shared[:7]
        self.X, self.signs, self.weights = X, signs, weights
        self.called_off, self.n_iter, self.last = False, 0, None
        self.tol = self.model.tol
        self.sparsifies = self.model.penalty == "l1"
        self.few_rows = has_few_rows(X) and not self.sparsifies
        wide = _NEWTON_SIZE if isinstance(X, Csr) or self.model.loss == "hinge" else _DENSE_NEWTON_SIZE
        self.newton = self.few_rows or X.shape[1] <= wide
        self.free = not self.model._intercept_is_penalised
        self.columns = shared.columns
        if self.few_rows and self.small is None:
            self.reduced = shared.reduced[0]

    def at(self, C):
        """A generator: find the hyperplane at C, starting from the hyperplane at the C before."""
        self.n_iter = 0
        self.last = yield from self._solve(C, self.last)
        self.keep(self.last, C)

    def within(self, budget):
        """A generator: find the hyperplane with the smallest |w| whose sum of losses is at most the budget."""
        nothing = self._nothing()
        if self._spent(nothing) <= budget:
            self.keep(nothing, 0.0)
            return self
        search, found, best = BudgetSearch(budget, self.tol), None, None
        while not search.over and not self.called_off:
            C, self.tol = search.price, search.fit_tol
            found = yield from self._solve(C, found)
            spent = self._spent(found)
            # `self.bias` is the constant of the column that stands for the intercept, and may depend on C
            last = found, C, self.bias
            best = last if search.tell(found.primal - C * spent, spent, found.primal - found.dual) else best
        search.warn_of_excess(self.called_off)
        found, C, self.bias = best or last
        self.keep(found, C)
        return self

    def _solve(self, C, start=None):
        """A generator that returns the `Proof` of the solution at C."""
        rng, found = np.random.default_rng(self.seed), None
        problem = solved = self.problem(C)
        if self.few_rows and self.small is None:
            solved, start = self.problem(C, self.reduced), None
        if start is None and self._descends_first(solved):
            found = yield from self._descend_first(solved, rng)
        if found is None or not (found.violation <= self.tol or self.called_off):
            found = yield from self._solve_by_steps(solved, start, found, rng)
        if solved is not problem:
            found = problem.proof(found.alpha, problem.combine(found.alpha * self.signs), found.b, self.tol)
        return found

    def _solve_by_steps(self, problem, start, rough, rng):
        """A generator that returns the `Proof` of the solution of a problem.

        `start` is the `Proof` for another C, `rough` that of a rough solution; at least one is None.
        """
        model, known = self.model, None
        if self.small is not None:
            limits = self.tol, model.max_iter
            search = small_planes.search(problem, *limits, start, rough, self.progress)
            known, n_steps = yield from search
            self.n_iter, self.called_off = max(self.n_iter, n_steps), self.progress.stopped
            if known is not None:
                if known.violation <= self.tol or self.called_off:
                    return known
                rough = known
        if self.sparsifies:
            solver = L1Newton(self.tol, model.max_iter, self.advance, self.columns)
            found = yield from solver.solve(problem, start)
        elif self.newton:
            solver = ProximalNewton(self.tol, rng, model.max_iter, self.advance)
            found = yield from solver.solve(problem, start, rough)
        else:
            solver = self._descent(self.tol, rng, model.max_iter)
            found = yield from solver.solve(problem, start)
        self.n_iter = max(self.n_iter, solver.n_iter)
        # where neither is optimal, the better one counts
        return known if known is not None and found.violation > self.tol and known.primal < found.primal else found

    def problem(self, C, X=None):
        """The problem at C, whose bias column becomes `self.bias`; for the training rows, or for the rows X."""
        cost, squared = C * self.weights, self.model.loss == "squared_hinge"
        self.bias = self._bias(cost)
        X = self.X if X is None else X
        parts = X, self.signs, cost, self.squares, squared, self.bias, self.free, self.threads
        return Problem(*parts) if self.small is None else small_planes.SmallProblem(self.small, *parts)

    def _descends_first(self, problem):
        """Whether coordinate descent is tried before Newton's method."""
        tried = self.small is None or not problem.squared or problem.n * problem.d**2 > _SMALL_WORK
        return tried and self.newton and not self.free and not self.sparsifies and self.tol >= _LEAST_DESCENT_TOL

    def _descend_first(self, problem, rng):
        """A generator that returns the `Proof` of a rough or precise solution, or None, after coordinate descent.

        Where epochs suffice, they are faster than the first steps of Newton's method, and a row with an alpha at a
        bound leaves them. They end when they have taken as long as some of its steps.
        """
        most, found = min(_EPOCHS, self.model.max_iter), None
        descent = self._descent(self.tol, rng, most, _visits(problem))
        if problem.squared and not self.few_rows:
            n, D = problem.n, problem.d + 1
            is_tall = n >= _TALL * D
            few, needs_descent = _FEW_SUPPORTS * n, gain_is_limited(problem)
            for epoch in (1, 2) if is_tall and most > 1 and not needs_descent else (1,):
                descent.max_iter, descent.stopped = epoch, self.called_off
                found = yield from descent.solve(problem, found)
                supports = np.count_nonzero(found.alpha)
                if found.violation > self.tol and supports > few and (is_tall or n * D**2 <= _SMALL_WORK):
                    self.n_iter = descent.n_iter
                    # the compiled solver of small problems needs no start
                    return found if self.small is None or self.called_off else None
                few = max(supports, _FEW_GROWN * n)
            descent.max_iter, descent.stopped = most, self.called_off
            if not (is_tall or needs_descent or isinstance(problem.X, Csr)):
                descent.tol = max(self.tol, _ROUGH)
        found = yield from descent.solve(problem, found)
        self.n_iter = descent.n_iter
        return found

    def _descent(self, tol, rng, max_iter, most_visits=None):
        return Descent(tol, rng, max_iter, self.advance, self.progress.watched, most_visits)

    def _bias(self, cost):
        """The value of the bias column; the intercept is this value times the column's weight."""
        if not self.model.fit_intercept:
            return 0.0
        if not self.free:
            return float(self.model.intercept_scaling)
        # A larger value of the bias column lets a step move the intercept farther, but slows coordinate descent down,
        # so that Newton's method gets a larger value than coordinate descent.
        by_rows, by_losses = (100, 1e4) if self.newton else (0.3, 4)
        return float(np.sqrt(by_rows * self.squares.mean() + by_losses / cost.sum()))

    def advance(self, violation, *arguments):
        """Report a step with violation(*arguments) if progress is watched; returns whether the callback ends it."""
        self.called_off |= self.progress.watched and self.progress.advance(1, violation(*arguments))
        return self.called_off

    def _spent(self, proof):
        """The sum of the losses of all rows, each times its weight, but without the factor C."""
        z = np.maximum(proof.z, 0)
        return inner(self.weights, z * z if self.model.loss == "squared_hinge" else z)

    def _nothing(self):
        """The hyperplane with w = 0 and the intercept that has the least loss."""
        b = 0.0
        if self.free:
            up, down = self.weights[self.signs > 0].sum(), self.weights[self.signs < 0].sum()
            b = (up - down) / (up + down) if self.model.loss == "squared_hinge" else float(np.sign(up - down))
        none = np.zeros(len(self.signs))
        self.bias = 0.0
        return Proof(np.zeros(self.X.shape[1] + 1), b, none, 1 - self.signs * b, 0.0, 0.0, 0.0)

    def keep(self, proof, C):
        self.coef, self.intercept, self.C = proof.w[:-1], self.bias * proof.w[-1] + proof.b, C
        self.primal, self.dual, self.violation = proof.primal, proof.dual, proof.violation


def _visits(problem):
    """The number of rows that coordinate descent may visit before Newton's method replaces it."""
    small = isinstance(problem, small_planes.SmallProblem)
    if small and not problem.squared:
        return _HINGE_EPOCHS * problem.n
    in_sums, in_matrices, in_visits, near, far = _NS
    D, products = problem.d + 1, problem.n * problem.work
    visit = near if products <= _CACHED else far
    tried = _TRIED_STEPS[problem.squared and problem.n < _TALL * D]
    step = in_sums * products + in_matrices * (products * D / 2 + D**3)
    return int((_START * (not small) + tried * step) / (visit + in_visits * problem.work))
