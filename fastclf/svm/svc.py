"""The support vector machine with kernels."""

import numpy as np

from .._estimator import variants
from .._folds import keeps_classes
from .._state_table import Array, declare
from .._validation import as_list, as_seed, require_memory, require_truth
from ..linear_model.warm_path import WarmPath
from . import budget, pairs
from .budget import price_of
from .kernel_machine import KernelMachine
from .leave_out import fold_answers
from .pairs import Problem, Watch, warm_coef
from .through_origin import OriginProblem

# The number of bytes that a fitted model takes at least; a path of C is refused if memory is too small for its models.
_MODEL_BYTES = 1000


class SVC(WarmPath, KernelMachine, shortcuts=True):
    """Support vector machine: the hyperplane of the largest margin in a kernel's space, hard or soft.

    Of two classes, y = +1 or -1, it minimises 1/2 |w|^2 + C sum_i max(0, 1 - y_i (w.phi(x_i) + b)) through its dual,
    max sum_i alpha_i - 1/2 sum_ij alpha_i alpha_j y_i y_j k(x_i, x_j) with 0 <= alpha_i <= C and sum_i alpha_i y_i = 0.
    With more than two classes, each pair of classes has such a binary classifier, which has a vote.

    Parameters
    ----------
    C : float > 0 or infinity, default=1.0
        Price of the slacks. Infinity is the hard margin, which wants classes that can be separated.
    kernel : {'linear', 'poly', 'rbf', 'sigmoid', 'precomputed'} or callable, default='rbf'
        x.z, (gamma x.z + coef0)^degree, exp(-gamma |x - z|^2), tanh(gamma x.z + coef0); 'precomputed': X is the matrix
        of values itself; or a function of two matrices of rows that gives theirs. A function may also have values
        between other objects (a list of texts, an array of matrices): then `fit` calls it once for all rows, and the
        n-by-n matrix of their values is in memory.
    degree : int >= 0, default=3
    gamma : {'scale', 'auto'} or float >= 0, default='scale'
        'scale' is 1 / (n_features * X.var()), where rows count by their weights; 'auto' 1 / n_features.
    coef0 : float, default=0.0
    shrinking : bool, default=True
        Whether rows that seem to stay at a bound are left out until the end, where all are looked at again.
    probability : bool, default=False
        Whether to learn `predict_proba`, which takes five more fits: Platt's sigmoid, on cross-validated scores.
    tol : float > 0, default=1e-3
        The violation of the optimality conditions, over all rows, at which a fit ends; with a `budget` this share of
        |w|^2 / 2, too.
    cache_size : float > 0, default=200
        MB of kernel values that are kept, of all threads together; at most half of it is what pairs of classes share.
    class_weight : dict, 'balanced' or None, default=None
        Factor of C by class; 'balanced' is n_samples / (n_classes * rows of the class).
    verbose : int, default=0
        1 shows the violation and the cache's hits on stderr.
    max_iter : int >= 1 or -1, default=-1
        The most steps, each of which changes the alpha of two rows; -1 for no limit.
    decision_function_shape : {'ovr', 'ovo'}, default='ovr'
        Whether `decision_function` has a column for each class or for each pair.
    break_ties : bool, default=False
        Whether `predict` goes by `decision_function` ('ovr') in place of the votes, of which the first of equal ones
        counts.
    random_state : int, RandomState, Generator or None, default=None
        Draws the folds of `probability`.
    n_jobs : int or None, default=None
        Threads; None means every CPU. It changes no bit of the result.
    kernel_dtype : {'float32', 'float64'} or None, default=None
        The type of kernel values on the way; sums are float64, and what rounding may have brought off is computed anew
        before a fit ends. None: float32, but float64 for up to 1000 rows and where float32 would round by more than
        1e-5.
    warm_start : bool, default=False
        Whether `fit` starts from the last fit's alphas, if the number of rows and the classes are the same.
    fit_intercept : bool, default=True
        Whether there is a b; without it the hyperplane goes through the origin, sum_i alpha_i y_i is free, and a fit
        has twice the rows.
    lam : float > 0 or None, default=None
        The same objective as sum_i max(0, 1 - y_i f(x_i)) + lam |w|^2: C is 1 / (2 lam), and the parameter C not used.
    budget : float > 0 or None, default=None
        The same as the least |w| at which the sum of the slacks max(0, 1 - y_i f(x_i)), times the weights of the rows,
        is within the budget: C is found, so that |w|^2 / 2 is above the least possible by the share `tol` of itself at
        most. Each pair of classes has the budget for itself.
    callback : callable, optional
        ``callback(step, None, violation)`` now and then; returning True ends the fit.

    Attributes
    ----------
    support_ : ndarray of shape (n_SV,), int32
        Rows that are support vectors, by class.
    support_vectors_ : ndarray of shape (n_SV, n_features), or a sparse matrix where SciPy is loaded and X was one
    n_support_ : ndarray of shape (n_classes,), int32
    dual_coef_ : ndarray of shape (n_classes - 1, n_SV), or a sparse matrix as `support_vectors_`
        alpha times y; of a class's rows, against each other class.
    intercept_ : ndarray of shape (n_pairs,)
    coef_ : ndarray of shape (n_pairs, n_features), or a sparse matrix as `support_vectors_`
        w; of the linear kernel alone. Read-only.
    classes_, class_weight_ : ndarray of shape (n_classes,)
    n_iter_ : ndarray of shape (n_pairs,), int32
        The number of steps.
    C_ : ndarray of shape (n_pairs,)
        C of each pair: the parameter, 1 / (2 lam), or what the budget led to (0: w = 0 is within it).
    fit_status_ : int
        0 if every pair converged, else 1.
    violation_, duality_gap_ : float
        The largest of all pairs: by how much the optimality conditions are violated, the largest f of the rows whose
        alpha y may fall less the smallest f of those whose alpha y may rise; and the primal less the dual objective.
    violations_, dual_objective_, margin_ : ndarray of shape (n_pairs,)
        `margin_` is 1 / |w|; of a hard margin, the distance of the closest row.
    shape_fit_ : tuple of int
    probA_, probB_ : ndarray of shape (n_pairs,)
        Platt's sigmoids, empty without `probability`: of classes a < b, a has the probability
        1 / (1 + exp(probA_ f + probB_)), where f is the pair's score for a, with two classes minus `decision_function`.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only when X was a table with string column names.

    Notes
    -----
    Cost: between n_SV and some n_SV times n kernel values; where steps are slow, m^3 / 3 for a run of Newton's method
    on m free support vectors, whose matrix takes the memory of the cache. Memory beyond X: `cache_size`, with several
    classes an eighth of it more for each of at most 16 threads, and less than 200 bytes a row; 16 MB at most are kept
    for later fits.
    X is used as it is, float32 or float64, dense or sparse. A row of `sample_weight` 0 or below is a missing row. A
    kernel that is not positive definite (sigmoid) ends in a local optimum; `violation_` does not tell whether it is the
    best one.

    References
    ----------
    Cortes, Vapnik (1995), Support-vector networks; Fan, Chen, Lin (2005), Working set selection using second order
    information; Joachims (1998), Making large-scale SVM learning practical; Platt (2000), Probabilities for SV
    machines.

    Examples
    --------
    >>> import numpy as np
    >>> from fastclf import SVC
    >>> model = SVC(kernel="linear", C=np.inf).fit([[0, 0], [1, 0], [3, 0], [4, 1]], [0, 0, 1, 1])
    >>> model.support_, model.margin_, model.predict([[1.9, 5]])
    (array([1, 2], dtype=int32), array([1.]), array([0]))
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0, 1, 0, 1]
    >>> SVC(kernel="linear", lam=0.05).fit(X, y).C_, SVC(kernel="linear", C=10).fit(X, y).C_
    (array([10.]), array([10.]))
    >>> model = SVC(kernel="linear", budget=3, tol=1e-6).fit(X, y)
    >>> sum(max(0, 1 - sign * f) for sign, f in zip([-1, 1, -1, 1], model.decision_function(X))).round(3)
    np.float64(3.0)
    """

    _state_table = declare(C_=Array("float64", "n_pairs"))

    # among equally good values of `budget`, a larger one is a simpler model, because it allows a smaller |w|
    _simpler = (("budget", "larger"),)

    def __init__(
        self,
        *,
        C=1.0,
        kernel="rbf",
        degree=3,
        gamma="scale",
        coef0=0.0,
        shrinking=True,
        probability=False,
        tol=1e-3,
        cache_size=200,
        class_weight=None,
        verbose=0,
        max_iter=-1,
        decision_function_shape="ovr",
        break_ties=False,
        random_state=None,
        n_jobs=None,
        kernel_dtype=None,
        warm_start=False,
        fit_intercept=True,
        lam=None,
        budget=None,
        callback=None,
    ):
        self._take(locals())

    _one_class = "Invalid input - all samples with positive weights belong to the same class"

    @property
    def _problem_type(self):
        return Problem if self.fit_intercept else OriginProblem

    def _require_softness(self):
        require_truth("fit_intercept", self.fit_intercept)
        if self._price() is None and self._has_sigmoids():
            raise ValueError(f"probability is True and budget {self.budget!r}; C or lam is wanted for probabilities")

    def _price(self):
        """The parameter C after a check, or None if a budget determines C."""
        return price_of(self.C, self.lam, self.budget)

    def _bounds(self, factor, weight):
        """The upper bound of each alpha: C times the class weight of the row times its sample weight."""
        C, price = factor.astype(np.float64), 1.0 if self.budget is not None else self._price()
        if np.isinf(price):
            C[C > 0] = np.inf
            return C
        return C * (price if weight is None else price * weight)

    def fit(self, X, y, sample_weight=None):
        """Learn from rows and their labels.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), or (n_samples, n_samples) if 'precomputed'
        y : array-like of shape (n_samples,)
            Labels of at least two classes.
        sample_weight : array-like of shape (n_samples,), optional
            Factor of C by row.

        Returns
        -------
        self
        """
        return self._fit_each([self], X, y, sample_weight)[0]

    # Shortcuts for model selection: each C starts from the alphas of the C before, each fold from those of all rows. A
    # row that is no support vector can be left out without a change.

    @property
    def _starts_warm(self):
        """Whether the kernel is positive definite: then the optimum does not depend on where a fit starts."""
        definite = self.kernel in ("linear", "rbf") or (self.kernel == "poly" and 0 <= self.coef0 < np.inf)
        return definite and not self.break_ties and self.lam is None and self.budget is None

    def _answers_without(self, name, values, X, y, fold):
        # one fit to all rows cannot serve the folds if gamma='scale' or class_weight='balanced', whose values differ by
        # fold
        moving = (self.gamma == "scale" and self.kernel != "linear") or isinstance(self.class_weight, str)
        watched = self.verbose or self.callback is not None or self.max_iter != -1
        if moving or watched or not self._starts_warm or not self.fit_intercept or not keeps_classes(fold, y):
            return None
        return fold_answers(variants(self, name, values), X, y, fold)

    @staticmethod
    def _fit_each(models, X, y, sample_weight=None):
        """Fit models that differ in C alone; each fit starts from the alphas of the one before."""
        first = models[0]
        seed = as_seed(first.random_state) if first._has_sigmoids() else None
        X, problem, attributes, options = first._shared(models, X, y, sample_weight)
        start = warm_coef(first, problem) if first.warm_start else None
        watch = Watch(first.verbose, first.callback)
        if first.budget is not None:
            all_fitted = [budget.fit_pairs(problem, options, first.budget, watch)]
        else:
            all_fitted = pairs.fit_pairs(problem, options, start, watch)
        for model, C, fitted in zip(models, problem.Cs, all_fitted):
            fitted.setdefault("C_", np.full(len(problem.pairs), model._price(), np.float64))
            if model._has_sigmoids():
                fitted |= pairs.fit_sigmoids(problem, C, options, seed, watch)
            model._keep(X, problem.gram, attributes, fitted)
        return models

    @staticmethod
    def _shared(models, X, y, sample_weight=None):
        """Check the data for models that differ in C alone; returns (rows, problem for all C, attributes, options)."""
        first, (options, *_) = models[0], [model._options() for model in models]
        X, columns = first._training_rows(X)
        (problem, attributes), *more = [model._problem(X, y, sample_weight, options) for model in models]
        problem.Cs += [each.Cs[0] for each, _ in more]
        return X, problem, attributes | columns, options

    def kkt_violation(self, X, y, sample_weight=None):
        """The largest violation of the optimality conditions over all pairs, computed anew in float64.

        X, y and sample_weight must be those of `fit`.
        """
        self._require_fitted()
        options = self._options()
        X = self._training_rows(X)[0] if self._has_objects() else self._new_samples(X)
        problem, attributes = self._problem(X, y, sample_weight, options)
        if X.shape != self.shape_fit_ or not np.array_equal(attributes["classes_"], self.classes_):
            raise ValueError(f"X has shape {X.shape}; the rows and labels of fit, {self.shape_fit_}, are wanted")
        coef = warm_coef(self, problem)
        return float(max(problem.violation(pair, coef) for pair in problem.pairs))


def svm_path(X, y, Cs, *, sample_weight=None, **parameters):
    """Fit an SVC for each C; each fit starts from the alphas of the one before.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features), or (n_samples, n_samples) if 'precomputed'
    y : array-like of shape (n_samples,)
    Cs : sequence of float > 0
        In the order in which they are fitted.
    sample_weight : array-like of shape (n_samples,), optional
    parameters : of `SVC`, but for C and warm_start

    Returns
    -------
    list of SVC
        Fitted, one for each C.

    Examples
    --------
    >>> from fastclf import svm_path
    >>> path = svm_path([[0.0], [1.0], [2.0], [3.0]], [0, 1, 0, 1], [0.1, 1, 10], kernel="linear")
    >>> [model.violation_ < 1e-3 for model in path]
    [True, True, True]
    """
    for name in ("lam", "budget"):
        if parameters.get(name) is not None:
            raise ValueError(f"{name} is {parameters[name]!r}; None is wanted, because svm_path takes the values of C")
    Cs = as_list(Cs, "Cs")
    require_memory(_MODEL_BYTES * len(Cs), f"a path of {len(Cs)} values of C")
    models = [SVC(C=C, **parameters) for C in Cs]
    return SVC._fit_each(models, X, y, sample_weight) if models else []
