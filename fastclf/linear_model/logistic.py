"""Logistic regression for two or more classes."""

from typing import NamedTuple

import numpy as np

from .._csr import as_rows
from .._exceptions import warn
from .._labels import as_labels, class_factors
from .._state_table import Array, declare
from .._threads import Progress, n_threads
from .._validation import (
    described,
    require_choice,
    require_integer,
    require_number,
)
from ..sums.class_sums import class_counts
from .elastic_net import proximal_points
from .likelihood import Likelihood, RowSpace
from .minimisers import (
    continued_points,
    ended_by_newton,
    gradient_points,
    newton_is_faster,
    newton_points,
    quasi_newton_points,
)
from .scores import SparsifiableClassifier, as_dense, in_order_for, shares_of
from .sparse_row_space import SparseRowSpace, fits_sparse_row_space, is_safe
from .warm_path import WarmPath

_FLOATS = (np.dtype(np.float32), np.dtype(np.float64))
_NEWTON = ("newton-cholesky", "newton-cg")
SOLVERS = ("auto", "lbfgs", *_NEWTON, "liblinear", "sag", "saga", "gradient")
_PENALTIES = ("l2", "l1", "elasticnet", None)

# The largest number of parameters for which Newton's method is used.
_NEWTON_PARAMETERS = 1024

# The beginning of scikit-learn's warning that max_iter was too small, for each solver.
_SLOW = {
    "lbfgs": "lbfgs failed to converge after {} iteration(s). Increase the number of iterations.",
    "newton-cg": "newton-cg failed to converge at the last step. Increase the number of iterations.",
    "newton-cholesky": "Newton solver did not converge after {} iterations.",
    "liblinear": "Liblinear failed to converge, increase the number of iterations.",
    "sag": "The max_iter was reached which means the coef_ did not converge.",
    "saga": "The max_iter was reached which means the coef_ did not converge.",
}


class LogisticRegression(WarmPath, SparsifiableClassifier, shortcuts=True):
    """Logistic regression by maximum likelihood, with an L2 penalty, an L1 penalty, both (elastic net) or none.

    Minimises C sum_i s_i loss_i + (1 - l1_ratio) |w|_2^2 / 2 + l1_ratio |w|_1, where loss_i is minus the log
    probability of the label of row i, s_i its weight, and the intercept is free. With two classes the log odds of
    `classes_[1]` are w x + b; with more the probabilities are a softmax of one score per class (multinomial).

    Parameters
    ----------
    penalty : {'l2', 'l1', 'elasticnet', None} or 'deprecated', default='deprecated'
        The older way to choose the penalty: 'l2' is l1_ratio=0, 'l1' is l1_ratio=1, 'elasticnet' takes `l1_ratio`, and
        None is the same as C=inf. 'deprecated', scikit-learn's word for its default, leaves the choice to `l1_ratio`.
    C : float > 0, default=1.0
        Inverse strength of the penalty; inf is none.
    l1_ratio : float in [0, 1] or None, default=0.0
        The share of the L1 penalty: 0 is L2 alone, 1 is L1 alone, between them is elastic net. None is 0.
    dual : bool, default=False
        For scikit-learn's signature, where it goes with solver='liblinear'; it changes nothing.
    tol : float >= 0, default=1e-4
        `fit` stops when `gradient_norm_` is at most this number times the ratio of the objective to its value at zero
        coefficients. The criterion does not depend on the units of the columns, nor on n. With the default the
        objective has a relative error of about 1e-6. 0 means: until rounding allows no further step.
    fit_intercept : bool, default=True
        Whether to fit an intercept b.
    intercept_scaling : float > 0, default=1
        For scikit-learn's signature; the intercept is never penalised, so that it changes nothing.
    class_weight : dict, 'balanced' or None, default=None
        Factor of the weights of each class's rows, 1 for a class that a dict does not name; 'balanced' makes all
        classes equally heavy.
    random_state : ignored
    solver : str, default='auto'
        'newton-cholesky' (up to 1024 parameters; else as 'lbfgs'), 'lbfgs', 'gradient' (plain gradient ascent on the
        log likelihood, as textbooks have it), or 'auto', which chooses between the first two by size, and with an L1
        penalty takes proximal Newton steps. scikit-learn's 'liblinear', 'sag' and 'saga' are taken as 'auto',
        'newton-cg' as 'newton-cholesky': all find the same optimum. As there, an L1 penalty goes with 'saga' or
        'liblinear', both penalties with 'saga', and more than two classes or no penalty not with 'liblinear'.
    max_iter : int >= 0, default=1000
        The largest number of steps over all rows; if it is reached before convergence, a warning is given. With
        solver='liblinear' the last 8 steps are Newton's, which scikit-learn's solver of this name counts.
    verbose : int, default=0
        1 shows progress.
    warm_start : bool, default=False
        Whether `fit` starts from the coefficients of the last fit, if their shape is right, instead of 0.
    n_jobs : int or None, default=None
        Threads; None is all CPUs that the process may use. The result does not depend on it.
    eta0 : float > 0 or None, default=None
        Step length of solver='gradient', for the mean log likelihood. None: 1 / L, where L is an upper bound of the
        second derivatives; then every step ascends.
    callback : callable or None, default=None
        Called as callback(step, None, value) after each step over all rows, where value is the mean of the objective;
        returning True stops the fit there.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        float32 for float32 X, if its range and solver='liblinear' do not forbid it; else float64. After `sparsify` it
        is a SciPy CSR matrix.
    intercept_ : ndarray of shape (1,) or (n_classes,)
    n_iter_ : ndarray of shape (1,), int32
        Number of steps over all rows.
    gradient_norm_ : float
        Euclidean norm of the gradient, with an L1 penalty of the shortest subgradient, at the solution of the objective
        divided by C sum_i s_i, with respect to t_j w_j, where t_j^2 is the (weighted) variance of column j plus
        (1 - l1_ratio) / (C sum_i s_i), and to the score of the mean row. (Without intercept the mean square replaces
        the variance.) It is that of the float64 solution, before coefficients are rounded to float32.
    log_likelihood_ : float
        sum_i s_i log p(y_i | x_i) at the solution, without the penalty.
    separated_ : bool
        Whether the rows are perfectly separated and there is no penalty, so that the likelihood has no maximum.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only when X was a table with string column names.

    Notes
    -----
    A pass over the rows takes O(n d K) time, or for CSR the number of entries times K. If second derivatives are cheap,
    a fit is a few passes by Newton's method. Otherwise it is some dozens of passes by L-BFGS, preconditioned by second
    derivatives on a sample of the rows: all of them if there are few parameters, otherwise the diagonal block of each
    class, or the mean of these blocks; with more than 1024 columns only their diagonal. If there are many rows, a
    sample is fitted first. If there are fewer dense rows than columns, X is first reduced to n columns. With at least
    4096 columns, and twice as many as sparse rows, L-BFGS goes by n numbers for each class, of which the weights are
    combinations of the rows, and needs no vectors of d numbers for its history. Memory beyond X is O(n K), the second
    derivatives and their sums on each thread, about 100 MB at most, and 20 vectors of K d numbers, or 40 of K n and a
    copy of X. X is not converted; sparse rows stay sparse. Where classes lie apart, second derivatives at the start say
    little about those at the optimum: after the first step the preconditioner is damped, and slow steps of L-BFGS give
    way to truncated Newton's method, whose lengths of steps are found from the scores of the rows alone.

    With an L1 penalty each step takes the columns that are in use, or would be by their gradient, and minimises the
    second-order model of the loss with the penalty by coordinate descent, on the matrix of second derivatives or, where
    that would be large, over the columns. Memory beyond the above is a copy of these columns. A coefficient that is 0
    at the optimum is exactly 0.

    Without a penalty, the likelihood has no maximum if a hyperplane separates the classes. `fit` then stops, with a
    warning, where `gradient_norm_` is at most `tol`: the probabilities are near 0 and 1, and smaller tolerances would
    bring them nearer. If only rows on the hyperplane prevent separation, there is no maximum either; the result is then
    a point whose gradient is as small as `tol` requires.

    References
    ----------
    Nocedal (1980), Updating quasi-Newton matrices with limited storage.
    Byrd, Chin, Neveitt, Nocedal (2011), On the use of stochastic Hessian information in optimization methods.
    Friedman, Hastie, Tibshirani (2010), Regularization paths for generalized linear models via coordinate descent.
    Yuan, Ho, Lin (2012), An improved GLMNET for L1-regularized logistic regression.

    Examples
    --------
    >>> from fastclf import LogisticRegression
    >>> hours, passed = [[0.5], [1.0], [1.5], [2.0], [2.5], [3.0]], [0, 0, 1, 0, 1, 1]
    >>> model = LogisticRegression(C=10).fit(hours, passed)
    >>> model.predict([[1.0], [2.5]]).tolist()
    [0, 1]
    >>> model.predict_proba([[1.75]]).round(3).tolist()
    [[0.5, 0.5]]
    >>> bool(model.gradient_norm_ <= 1e-4)
    True
    """

    _state_table = declare(n_iter_=Array("int32", 1))

    def __init__(
        self,
        penalty="deprecated",
        *,
        C=1.0,
        l1_ratio=0.0,
        dual=False,
        tol=1e-4,
        fit_intercept=True,
        intercept_scaling=1,
        class_weight=None,
        random_state=None,
        solver="auto",
        max_iter=1000,
        verbose=0,
        warm_start=False,
        n_jobs=None,
        eta0=None,
        callback=None,
    ):
        self._take(locals())

    def _check_parameters(self):
        """Check the parameters; returns the factors of |w|_2^2 / 2 and |w|_1, which are added to the sum of losses."""
        require_choice("solver", self.solver, SOLVERS)
        require_number("tol", self.tol, 0)
        require_integer("max_iter", self.max_iter, 0)
        require_number("intercept_scaling", self.intercept_scaling, 0, open_low=True)
        if self.eta0 is not None:
            require_number("eta0", self.eta0, 0, open_low=True)
        C = require_number("C", self.C, 0, open_low=True)
        if self.penalty is None and self.C != 1:
            warn("Setting penalty=None will ignore the C and l1_ratio parameters")
        penalty, l1_ratio = penalty_of(self.penalty, self.l1_ratio, np.isinf(C))
        check_solver(self.solver, penalty, self.dual)
        if penalty is None:
            return 0.0, 0.0
        return (1 - l1_ratio) / C, l1_ratio / C

    def fit(self, X, y, sample_weight=None):
        """Find the coefficients.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Finite real numbers: array, memory map, pandas, polars or pyarrow table, or SciPy sparse matrix.
        y : array-like of shape (n_samples,)
            Labels, of at least two classes.
        sample_weight : array-like of shape (n_samples,), default=None
            From 0 up. A row of weight 0 is ignored, a row of weight 2 counts as two rows.

        Returns
        -------
        self
        """
        return self._fit_each([self], X, y, sample_weight)[0]

    @staticmethod
    def _fit_each(models, X, y, sample_weight=None):
        """Fit models that differ only in C; each fit starts from the result of the one before."""
        first, strengths = models[0], [model._check_parameters() for model in models]
        name = type(first).__name__
        rows = X if is_native(X) else as_rows(X, name)
        labels = as_labels(y, sample_weight, len(rows), name)
        classes, codes, weights = labels.classes, labels.spread(len(rows), np.int32), labels.weight
        check_classes(first.solver, classes)
        if first.class_weight is not None:
            factor = class_factors(first.class_weight, classes, class_counts(codes, weights, len(classes)))
            weights = factor[codes] * (1.0 if weights is None else weights)
        dtype = first._coefficient_dtype(X, rows)
        columns = first._fitted_columns(X, rows)
        path = path_of(models, strengths, rows, codes, len(classes), weights)
        for model, fit in zip(models, path):
            coef, intercept = fit.rounded(dtype)
            coef = in_order_for(rows, coef)
            steps = np.array([fit.n_iter], np.int32)
            model._become(
                classes_=classes, coef_=coef, intercept_=intercept, n_iter_=steps, **fit.attributes(), **columns
            )
        return models

    def _coefficient_dtype(self, X, rows):
        """The dtype of coefficients: float32 if the X of the user is float32 (not if integers were converted to it)."""
        given = getattr(X, "dtype", rows.dtype)
        return np.float32 if rows.dtype == given == np.float32 and self.solver != "liblinear" else np.float64

    def _start(self, problem):
        coef = getattr(self, "coef_", None) if self.warm_start else None
        if coef is None or coef.shape != (problem.K, problem.n_columns):
            return np.zeros(problem.shape)
        theta = problem.parameters(as_dense(coef, np.float64), np.asarray(self.intercept_, np.float64))
        # coefficients are centred over the classes, because the same number added to those of all classes changes no
        # probability
        if problem.K > 1:
            held = slice(-1, None) if problem.l1 else slice(None)
            theta[:, held] -= theta[:, held].mean(axis=0)
        return theta

    def _maximise(self, problem, points, progress):
        """Run the solver; returns (last point, number of steps over all rows, whether a point separated the rows)."""
        point, n_iter, separated = next(points), 0, False
        while True:
            # the gradient of separated rows falls with their loss, so that it is never small relative to the loss
            separated = separated or point.margin > 0
            over = n_iter == self.max_iter or (separated and point.norm <= self.tol)
            found = None if over else next(points, None)
            if found is None:
                break
            point, n_iter = found, n_iter + 1
            if progress.advance(1, point.objective):
                return problem.certified(point), n_iter, separated
        point = problem.certified(point)
        if separated:
            warn(
                "The classes are perfectly separated, so that without a penalty the likelihood has no maximum; the last"
                f" coefficients, with a gradient_norm_ of {point.norm:.2g}, are kept (a penalty gives a maximum)",
                "ConvergenceWarning",
            )
        elif not point.is_optimal(self.tol):
            why, slow = "rounding allows no further step", ""
            if n_iter == self.max_iter:
                why, slow = f"max_iter={n_iter} was reached", _SLOW.get(self.solver, "").format(n_iter)
            warn(
                f"{slow} gradient_norm_ is {point.norm:.2g}, above the limit of {point.limit(self.tol):.2g} that tol="
                f"{self.tol:g} sets for this objective, as {why}".strip(),
                "ConvergenceWarning",
            )
        return point, n_iter, separated

    def _points(self, problem, theta):
        """A generator of the solver's points, beginning with the start, evaluated on all rows."""
        if problem.l1:
            return proximal_points(problem, theta, self.tol)
        if self.solver == "gradient":
            return gradient_points(problem, theta, self.tol, self.eta0)
        newton = problem.K * (problem.d + 1) <= _NEWTON_PARAMETERS and self.solver in _NEWTON
        if newton or (self.solver != "lbfgs" and newton_is_faster(problem)):
            return newton_points(problem, theta, self.tol)
        return quasi_newton_points(problem, theta, self.tol)

    def _goes_by_rows(self, shape, size, n_outputs, strength):
        """Whether a fit to sparse rows goes by a `SparseRowSpace`, which takes no start and has one solver.

        size: the number of entries; strength: the L2 and L1 penalties.
        """
        free = self.solver not in ("gradient", "liblinear") and not self.warm_start
        return free and strength[0] > 0 and strength[1] == 0 and fits_sparse_row_space(shape, size, n_outputs)

    def predict_proba(self, X):
        """Probability of each class, of shape (n_samples, n_classes), in the order of `classes_`."""
        return shares_of(self._asked_scores(X), n_jobs=self.n_jobs)

    def predict_log_proba(self, X):
        """Logarithm of `predict_proba`, finite also where that is rounded to 0."""
        if "predict_proba" in self._own_methods:
            return np.log(self.predict_proba(X))
        return shares_of(self._asked_scores(X), log=True, n_jobs=self.n_jobs)


def is_native(X):
    """Whether `as_rows` would return X itself; the first pass over the rows finds NaN and infinity."""
    return type(X) in (np.ndarray, np.memmap) and X.ndim == 2 and X.size and X.dtype in _FLOATS and X.flags.c_contiguous


def penalty_of(penalty, l1_ratio, unpenalised):
    """(scikit-learn's name of the penalty that the parameters describe, its share of L1).

    unpenalised: whether C is infinite, which means no penalty for penalty='deprecated' and 'l2'.
    """
    if penalty != "deprecated" and (penalty not in _PENALTIES):
        raise ValueError(f"penalty is {described(penalty)}; 'l2', 'l1', 'elasticnet' or None is wanted")
    if l1_ratio is not None and not require_number("l1_ratio", l1_ratio, 0) <= 1:
        raise ValueError(f"l1_ratio is {l1_ratio}; a number from 0 to 1 is wanted")
    if penalty == "elasticnet" and l1_ratio is None:
        raise ValueError("l1_ratio must be specified when penalty is elasticnet.")
    share = {"l2": 0.0, "l1": 1.0}.get(penalty, l1_ratio or 0.0)
    meant = "elasticnet" if 0 < share < 1 else "l1" if share else "l2"
    if penalty == "deprecated":
        return (None, 0.0) if unpenalised else (meant, share)
    if penalty != "elasticnet" and l1_ratio and l1_ratio < 1:
        warn(f"l1_ratio parameter is only used when penalty is 'elasticnet'. Got (penalty={penalty})")
    if penalty in ("l1", "l2") and l1_ratio is not None and l1_ratio != share:
        warn(f"Inconsistent values: penalty={penalty} with l1_ratio={l1_ratio}; the penalty is {penalty}")
    if penalty is None or (unpenalised and penalty == "l2"):
        return None, 0.0
    return penalty, share


def check_solver(solver, penalty, dual):
    """Refuse combinations of solver, penalty and dual that scikit-learn refuses; 'auto' allows all."""
    if solver not in ("auto", "liblinear", "saga") and penalty not in ("l2", None):
        raise ValueError(f"Solver {solver} supports only 'l2' or None penalties, got {penalty} penalty.")
    if dual and solver not in ("auto", "liblinear"):
        raise ValueError(f"Solver {solver} supports only dual=False, got dual={dual}")
    if solver == "liblinear" and penalty == "elasticnet":
        raise ValueError(f"Only 'saga' solver supports elasticnet penalty, got solver={solver}.")
    if solver == "liblinear" and penalty is None:
        raise ValueError("C=np.inf as well as penalty=None is not supported for the liblinear solver")


def check_classes(solver, classes):
    """Refuse more than two classes where scikit-learn's solver refuses them."""
    if solver == "liblinear" and len(classes) > 2:
        raise ValueError(
            "The 'liblinear' solver does not support multiclass classification (n_classes >= 3). Either use another"
            " solver or wrap the estimator in a OneVsRestClassifier to keep applying a one-versus-rest scheme."
        )


class Fit(NamedTuple):
    """The result of `path_of` for one model."""

    problem: Likelihood
    point: object  # the last `Point` that the solver reached
    n_iter: int
    # whether a hyperplane separates the rows while there is no penalty, so that no finite optimum exists
    separated: bool
    coef: np.ndarray  # the coefficients of the score functions, float64
    intercept: np.ndarray

    def attributes(self):
        """The attributes that say how good the fit is."""
        return {
            "gradient_norm_": self.point.norm,
            "log_likelihood_": -self.point.loss * self.problem.total,
            "separated_": self.separated,
        }

    def rounded(self, dtype):
        """(coefficients, intercepts) in a dtype if its range suffices; the score of the mean row does not change."""
        coef, intercept = self.coef, self.intercept
        with np.errstate(over="ignore", under="ignore"):
            small = coef.astype(dtype)
        if not np.isfinite(small).all() or (np.abs(small[coef != 0]) < np.finfo(dtype).tiny).any():
            return coef, intercept
        return small, (intercept + (coef - small) @ self.problem.centre).astype(dtype)


def path_of(models, strengths, rows, codes, n_classes, weights, likelihood=Likelihood):
    """Yield the `Fit` of each model; models differ only in their penalties, which are `strengths`.

    Each fit starts from the result of the one before. `likelihood` is the class of the problem.
    """
    first = models[0]
    threads = n_threads(first.n_jobs)
    total = likelihood.total_of(rows, weights)
    problem = point = coef = intercept = None
    for model, (l2, l1) in zip(models, strengths):
        l2, l1 = l2 / total, l1 / total
        before = None
        if problem is not None and l1 > 0 and problem.l1 > 0:
            problem, before = problem.penalised(l2, l1, point.theta)
            points = proximal_points(problem, before, model.tol)
        elif problem is not None and l2 > 0 and problem.penalty > 0 and l1 == problem.l1:
            problem, start = problem.at(l2, point)
            before = start.theta
            if problem.curvature is None:
                points = model._points(problem, start.theta)
            else:
                points = continued_points(problem, start, model.tol)
        else:
            problem = likelihood(rows, codes, n_classes, weights, l2, bool(model.fit_intercept), threads, l1)
            if problem.fits_row_space and model.solver != "gradient":
                problem = RowSpace(problem, threads)
            alone = len(models) == 1 and likelihood is Likelihood and problem.sparse
            if alone and model._goes_by_rows(problem.X.shape, rows.size, problem.K, (l2, l1)) and is_safe(problem):
                problem = SparseRowSpace(problem)
                points = problem.points(model.tol)
            else:
                points = model._points(problem, model._start(problem))
        if model.solver == "liblinear" and not l1:
            # scikit-learn's solver of this name counts steps of Newton's method
            points = ended_by_newton(problem, points, model.max_iter, model.tol)
        problem.tol = model.tol
        with Progress(None, f"{type(model).__name__}.fit", model.verbose, model.callback) as progress:
            point, n_iter, separated = model._maximise(problem, points, progress)
        # a fit that ends where the fit before ended has the coefficients of that fit, which are known
        if before is None or not np.array_equal(point.theta, before):
            coef, intercept = _centred(*problem.coefficients(point.theta), problem.margins)
        yield Fit(problem, point, n_iter, separated, coef, intercept)


def _centred(coef, intercept, unpenalised):
    """The pair (coefficients, intercepts), for more than two classes shifted by means that change no probability."""
    if len(coef) == 1:
        return coef, intercept
    return coef - coef.mean(axis=0) if unpenalised else coef, intercept - intercept.mean()
