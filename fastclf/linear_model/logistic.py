"""Logistic regression for two or more classes."""

import numpy as np

from .._csr import as_rows
from .._exceptions import warn
from .._labels import as_labels, class_factors
from .._state_table import Array, declare
from .._threads import Progress, map_rows, n_threads
from .._validation import (
    require_choice,
    require_integer,
    require_number,
)
from .likelihood import Likelihood, RowSpace
from .minimisers import continued_points, gradient_points, newton_is_faster, newton_points, quasi_newton_points
from .scores import LinearClassifier
from .warm_path import WarmPath

_FLOATS = (np.dtype(np.float32), np.dtype(np.float64))
_NEWTON = ("newton-cholesky",)
_LBFGS = ("lbfgs", "newton-cg")
_SOLVERS = ("auto", *_LBFGS, *_NEWTON, "liblinear", "sag", "saga", "gradient")

# The largest number of parameters whose second derivatives are factorised.
_NEWTON_PARAMETERS = 1024


class LogisticRegression(WarmPath, LinearClassifier, shortcuts=True):
    """Logistic regression by maximum likelihood, with an L2 penalty or none.

    Minimises C sum_i s_i loss_i + |w|^2 / 2, where loss_i is minus the log probability of the label of row i, s_i its
    weight, and the intercept is free. With two classes the log odds of `classes_[1]` are w x + b; with more the
    probabilities are a softmax of one score per class (multinomial).

    Parameters
    ----------
    penalty : {'l2', None}, default='l2'
        None is the same as C=inf. scikit-learn's 'deprecated' is taken as 'l2'.
    C : float > 0, default=1.0
        Inverse strength of the penalty; inf is none.
    l1_ratio : 0 or None, default=0.0
        For scikit-learn's signature: there is no L1 penalty here.
    dual : bool, default=False
        For scikit-learn's signature; it changes nothing.
    tol : float > 0, default=1e-4
        `fit` stops when `gradient_norm_` is at most this number times the ratio of the objective to its value at zero
        coefficients. The criterion does not depend on the units of the columns, nor on n. With the default the
        objective has a relative error of about 1e-6.
    fit_intercept : bool, default=True
        Whether to fit an intercept b.
    intercept_scaling : float, default=1
        For scikit-learn's signature; the intercept is never penalised, so that it changes nothing.
    class_weight : dict, 'balanced' or None, default=None
        Factor of the weights of each class's rows, 1 for a class that a dict does not name; 'balanced' makes all
        classes equally heavy.
    random_state : ignored
    solver : str, default='auto'
        'newton-cholesky' (up to 1024 parameters; else as 'lbfgs'), 'lbfgs', 'gradient' (plain gradient ascent on the
        log likelihood, as textbooks have it), or 'auto', which chooses between the first two by size. scikit-learn's
        'liblinear', 'sag' and 'saga' are taken as 'auto', 'newton-cg' as 'lbfgs': all find the same optimum.
    max_iter : int >= 1, default=1000
        The largest number of steps over all rows; if it is reached before convergence, a warning is given.
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
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features), float64
    intercept_ : ndarray of shape (1,) or (n_classes,), float64
    n_iter_ : ndarray of shape (1,), int32
        Number of steps over all rows.
    gradient_norm_ : float
        Euclidean norm of the gradient at the solution, for the objective divided by C sum_i s_i, with respect to t_j
        w_j, where t_j^2 is the (weighted) variance of column j plus 1 / (C sum_i s_i), and to the score of the mean
        row. (Without intercept the mean square replaces the variance.)
    log_likelihood_ : float
        sum_i s_i log p(y_i | x_i) at the solution, without the penalty.
    separated_ : bool
        Whether the fit has ended because the rows are perfectly separated and there is no penalty.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only when X was a table with string column names.

    Notes
    -----
    A pass over the rows takes O(n d K) time, or for CSR the number of entries times K. If second derivatives are cheap,
    a fit is a few passes by Newton's method. Otherwise it is some dozens of passes by L-BFGS, preconditioned by second
    derivatives on a sample of the rows: all of them if there are few parameters, otherwise the diagonal block of each
    class, or the mean of these blocks; with more than 1024 columns only their diagonal. If there are many rows, a
    sample is fitted first. If there are fewer dense rows than columns, X is first reduced to n columns. Memory beyond X
    is O(n), the second derivatives and their sums on each thread, about 100 MB at most, and 40 vectors of K d numbers.
    X is not converted; sparse rows stay sparse.

    Without a penalty, the likelihood has no maximum if a hyperplane separates the classes. `fit` then stops at the
    first separating hyperplane, with a warning. If only rows on the hyperplane prevent separation, there is no maximum
    either; the result is then a point whose gradient is as small as `tol` requires.

    References
    ----------
    Nocedal (1980), Updating quasi-Newton matrices with limited storage.
    Byrd, Chin, Neveitt, Nocedal (2011), On the use of stochastic Hessian information in optimization methods.

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
        penalty="l2",
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
        """The strength of the penalty, 1 / C, after the parameters are checked."""
        if self.penalty is not None and self.penalty not in ("l2", "deprecated", "elasticnet"):
            raise ValueError(f"penalty is {self.penalty!r}; 'l2' or None is wanted, as there is no other here")
        if self.l1_ratio is not None and self.l1_ratio != 0:
            raise ValueError(f"l1_ratio is {self.l1_ratio!r}; 0 is wanted, as there is no L1 penalty here")
        require_choice("solver", self.solver, _SOLVERS)
        require_number("tol", self.tol, 0, open_low=True)
        require_integer("max_iter", self.max_iter, 1)
        if self.eta0 is not None:
            require_number("eta0", self.eta0, 0, open_low=True)
        C = require_number("C", self.C, 0, open_low=True)
        return 0.0 if self.penalty is None else 1 / C

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
        """Fit models that differ only in C, each starting from the result of the one before."""
        first, strengths = models[0], [model._check_parameters() for model in models]
        name, threads = type(first).__name__, n_threads(first.n_jobs)
        rows = X if _is_native(X) else as_rows(X, name)
        labels = as_labels(y, sample_weight, len(rows), name)
        classes, codes, weights = labels.classes, labels.spread(len(rows), np.int32), labels.weight
        if first.class_weight is not None:
            factor = class_factors(first.class_weight, classes, np.bincount(codes, weights))
            weights = factor[codes] * (1.0 if weights is None else weights)
        total = len(rows) if weights is None else weights.sum()
        problem = point = None
        for model, strength in zip(models, strengths):
            penalty = strength / total
            if problem is not None and penalty > 0 and problem.penalty > 0:
                problem, start = problem.at(penalty, point)
                if problem.curvature is None:
                    points = model._points(problem, start.theta)
                else:
                    points = continued_points(problem, start, model.tol)
            else:
                problem = Likelihood(rows, codes, len(classes), weights, penalty, bool(model.fit_intercept), threads)
                if problem.fits_row_space and model.solver != "gradient":
                    problem = RowSpace(problem, threads)
                points = model._points(problem, model._start(problem))
            with Progress(None, f"{name}.fit", model.verbose, model.callback) as progress:
                point, n_iter, separated = model._maximise(points, progress)
            coef, intercept = problem.coefficients(point.theta)
            model._become(
                classes_=classes,
                coef_=coef,
                intercept_=intercept,
                n_iter_=np.array([n_iter], np.int32),
                gradient_norm_=point.norm,
                log_likelihood_=-point.loss * problem.total,
                separated_=separated,
                **model._fitted_columns(X, rows),
            )
        return models

    def _start(self, problem):
        coef = getattr(self, "coef_", None) if self.warm_start else None
        if coef is None or coef.shape != (problem.K, problem.n_columns):
            return np.zeros(problem.shape)
        theta = problem.parameters(np.asarray(coef, np.float64), np.asarray(self.intercept_, np.float64))
        # adding a constant to all classes changes no probability
        return theta if problem.K == 1 else theta - theta.mean(axis=0)

    def _maximise(self, points, progress):
        """(the last point, number of steps over all rows, whether the point separates the rows)."""
        point, n_iter = next(points), 0
        while True:
            if point.margin > 0:
                warn(
                    "The classes are perfectly separated, so that without a penalty the likelihood has no maximum; the"
                    " separator found is kept (a penalty gives a maximum)",
                    "ConvergenceWarning",
                )
                return point, n_iter, True
            found = next(points, None) if n_iter < self.max_iter else None
            if found is None:
                break
            point, n_iter = found, n_iter + 1
            if progress.advance(1, point.objective):
                return point, n_iter, False
        if not point.is_optimal(self.tol):
            why = f"max_iter={n_iter} was reached" if n_iter == self.max_iter else "rounding allows no further step"
            warn(
                f"gradient_norm_ is {point.norm:.2g}, above the limit of tol={self.tol:g}, as {why}",
                "ConvergenceWarning",
            )
        return point, n_iter, False

    def _points(self, problem, theta):
        """The start, evaluated on all rows, and the solver's successive points."""
        if self.solver == "gradient":
            return gradient_points(problem, theta, self.tol, self.eta0)
        newton = problem.K * (problem.d + 1) <= _NEWTON_PARAMETERS and self.solver in _NEWTON
        if newton or (self.solver not in _LBFGS and newton_is_faster(problem)):
            return newton_points(problem, theta, self.tol)
        return quasi_newton_points(problem, theta, self.tol)

    def _softmax_scores(self, X):
        """A score for each class, shifted so that the largest score of a row is 0."""
        scores = self._scores(X)
        if scores.shape[1] == 1:
            scores = np.hstack([np.zeros_like(scores), scores])
        return map_rows(lambda rows: rows - rows.max(axis=1, keepdims=True), scores)

    def predict_proba(self, X):
        """Probability of each class, of shape (n_samples, n_classes), in the order of `classes_`."""
        return map_rows(_shares, self._softmax_scores(X))

    def predict_log_proba(self, X):
        """Logarithm of `predict_proba`, finite also where that is rounded to 0."""
        return map_rows(_log_shares, self._softmax_scores(X))


def _shares(scores):
    shares = np.exp(scores)
    shares /= shares.sum(axis=1, keepdims=True)
    return shares


def _log_shares(scores):
    return scores - np.log(np.exp(scores).sum(axis=1, keepdims=True))


def _is_native(X):
    """Whether `as_rows` would return X itself if it is finite; the first pass over the rows checks that too."""
    return type(X) in (np.ndarray, np.memmap) and X.ndim == 2 and X.size and X.dtype in _FLOATS and X.flags.c_contiguous
