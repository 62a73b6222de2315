"""The support vector machine with kernels."""

import numpy as np

from .._csr import Matrix, as_rows, as_scipy
from .._estimator import Classifier, only_if, variants
from .._exceptions import warn
from .._folds import keeps_classes
from .._labels import as_labels, class_factors
from .._state_table import Array, SizeOf, Value, declare, has, where
from .._threads import n_threads
from .._validation import (
    as_matrix,
    as_seed,
    require_choice,
    require_integer,
    require_number,
)
from ..kernels.gamma import gamma_of
from ..kernels.values import Kernel, Rows, require_kernel
from ..linear_model.warm_path import WarmPath
from . import pairs
from .gram import Gram, Table
from .kernel_votes import called
from .leave_out import fold_answers
from .pair_scores import (
    couple,
    one_for_each_class,
    pair_scores,
    pairs_of,
    partial_scores,
    sigmoid,
    table_scores,
    votes,
)
from .pairs import Problem, Watch, warm_coef

# `kernel_dtype=None` means float64 if the rounding error of float32 is above this, in kernel values and in scores.
_ROUNDING, _SCORE_ROUNDING = 1e-5, 3e-5


class SVC(WarmPath, Classifier, shortcuts=True):
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
        of values itself; or a function of two matrices of rows that gives theirs.
    degree : int >= 0, default=3
    gamma : {'scale', 'auto'} or float >= 0, default='scale'
        'scale' is 1 / (n_features * X.var()), where rows count by their weights; 'auto' 1 / n_features.
    coef0 : float, default=0.0
    shrinking : bool, default=True
        Whether rows that seem to stay at a bound are left out until the end, where all are looked at again.
    probability : bool, default=False
        Whether to learn `predict_proba`, which takes five more fits: Platt's sigmoid, on cross-validated scores.
    tol : float > 0, default=1e-3
        The violation of the optimality conditions, over all rows, at which a fit ends.
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
        before a fit ends. None: float32, but float64 where that would round by more than 1e-5.
    warm_start : bool, default=False
        Whether `fit` starts from the last fit's alphas, if the number of rows and the classes are the same.
    callback : callable, optional
        ``callback(step, None, violation)`` now and then; returning True ends the fit.

    Attributes
    ----------
    support_ : ndarray of shape (n_SV,), int32
        Rows that are support vectors, by class.
    support_vectors_ : ndarray of shape (n_SV, n_features), or a sparse matrix where SciPy is loaded and X was one
    n_support_ : ndarray of shape (n_classes,), int32
    dual_coef_ : ndarray of shape (n_classes - 1, n_SV)
        alpha times y; of a class's rows, against each other class.
    intercept_ : ndarray of shape (n_pairs,)
    coef_ : ndarray of shape (n_pairs, n_features)
        w; of the linear kernel alone.
    classes_, class_weight_ : ndarray of shape (n_classes,)
    n_iter_ : ndarray of shape (n_pairs,), int32
        The number of steps.
    fit_status_ : int
        0 if every pair converged, else 1.
    violation_, duality_gap_ : float
        The largest of all pairs: by how much the optimality conditions are violated, the largest f of the rows whose
        alpha y may fall less the smallest f of those whose alpha y may rise; and the primal less the dual objective.
    violations_, dual_objective_, margin_ : ndarray of shape (n_pairs,)
        `margin_` is 1 / |w|; of a hard margin, the distance of the closest row.
    shape_fit_ : tuple of int
    probA_, probB_ : ndarray of shape (n_pairs,)
        Platt's sigmoids; with `probability`.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only when X was a table with string column names.

    Notes
    -----
    Cost: between n_SV and some n_SV times n kernel values; where steps are slow, m^3 / 3 for a run of Newton's method
    on m free support vectors, whose matrix takes the memory of the cache. Memory beyond X: `cache_size` and less than
    200 bytes a row.
    X is used as it is, float32 or float64, dense or sparse. A row of `sample_weight` 0 is a missing row. A kernel that
    is not positive definite (sigmoid) ends in a local optimum; `violation_` does not tell whether it is the best one.

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
    """

    _state_table = declare(
        classes_=Array("any", "n_classes", least=2),
        n_others=SizeOf(lambda model: len(model.classes_) - 1),
        n_pairs=SizeOf(lambda model: len(model.classes_) * (len(model.classes_) - 1) // 2),
        n_samples=SizeOf(lambda model: model.shape_fit_[0]),
        support_=Array("int32", "n_support", below="n_samples"),
        n_support_=Array("int32", "n_classes"),
        dual_coef_=Array("float64", "n_others", "n_support"),
        intercept_=Array("float64", "n_pairs"),
        _dtype_=Value(require_choice, ("float32", "float64")),
        _gamma_=Value(require_number, 0),
        **where(lambda model: model.kernel != "precomputed", _support_rows_=Matrix("n_support", "n_features")),
        **where(lambda model: not model._is_table(), _support_norms_=Array("float64", "n_support")),
        **where(has("probA_"), probA_=Array("float64", "n_pairs"), probB_=Array("float64", "n_pairs")),
    )

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
        callback=None,
    ):
        self._take(locals())

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.kernel != "precomputed"
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags

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

    # Shortcuts: each C starts from the alphas of the one before, and each fold from those of all rows; a row that is no
    # support vector changes nothing when it is left out.

    @property
    def _starts_warm(self):
        """Whether the kernel is positive definite, so that there is one optimum, wherever a fit starts."""
        definite = self.kernel in ("linear", "rbf") or (self.kernel == "poly" and 0 <= self.coef0 < np.inf)
        return definite and not self.break_ties

    def _answers_without(self, name, values, X, y, fold):
        # gamma and class weights that are those of all rows are not those of each fold
        moving = (self.gamma == "scale" and self.kernel != "linear") or isinstance(self.class_weight, str)
        watched = self.verbose or self.callback is not None or self.max_iter != -1
        if moving or watched or not self._starts_warm or not keeps_classes(fold, y):
            return None
        return fold_answers(variants(self, name, values), X, y, fold)

    @staticmethod
    def _fit_each(models, X, y, sample_weight=None):
        """Fit models that differ in C alone, each from where the one before ends."""
        first = models[0]
        seed = as_seed(first.random_state) if first.probability else None
        X, problem, attributes, options = first._shared(models, X, y, sample_weight)
        start = warm_coef(first, problem) if first.warm_start else None
        watch = Watch(first.verbose, first.callback)
        all_fitted = pairs.fit_pairs(problem, options, start, watch)
        for model, C, fitted in zip(models, problem.Cs, all_fitted):
            if model.probability:
                fitted |= pairs.fit_sigmoids(problem, C, options, seed, watch)
            model._keep(X, problem.gram, attributes, fitted)
        return models

    @staticmethod
    def _shared(models, X, y, sample_weight=None):
        """(rows, the problem with the bounds of each model, attributes, options) of models that differ in C alone."""
        first, (options, *_) = models[0], [model._options() for model in models]
        X, columns = first._training_rows(X)
        (problem, attributes), *more = [model._problem(X, y, sample_weight, options) for model in models]
        problem.Cs += [each.Cs[0] for each, _ in more]
        return X, problem, attributes | columns, options

    def _keep(self, X, gram, attributes, fitted):
        """Become fitted with the attributes of a solution."""
        converged, reason = fitted.pop("_converged"), fitted.pop("_reason")
        if not converged:
            warn(
                f"SVC stopped after {int(fitted['n_iter_'].sum())} steps with a violation of"
                f" {fitted['violation_']:.3g}, above tol={self.tol:g}{reason}",
                "ConvergenceWarning",
            )
        rows = np.empty((0, 0)) if self.kernel == "precomputed" else X[fitted["support_"]]
        self._become(
            **attributes,
            **fitted,
            _support_rows_=rows,
            _support_norms_=np.empty(0) if self._is_table() else Rows(rows).norm,
            shape_fit_=tuple(X.shape),
            _dtype_=self._score_dtype(gram, fitted["dual_coef_"]),
            fit_status_=int(not converged),
        )

    def _require_parameters(self):
        super()._require_parameters()
        self._options()

    def _options(self):
        """The parameters of the solver, checked."""
        require_choice("decision_function_shape", self.decision_function_shape, ("ovr", "ovo"))
        require_number("C", self.C, 0, open_low=True)
        require_kernel(self.kernel, self.degree, self.gamma, self.coef0)
        max_iter = require_integer("max_iter", self.max_iter, -1)
        if max_iter == 0:
            raise ValueError("max_iter is 0; a number of steps from 1 up, or -1, is wanted")
        if self.kernel_dtype is not None:
            require_choice("kernel_dtype", self.kernel_dtype, ("float32", "float64"))
        return {
            "tol": require_number("tol", self.tol, 0, open_low=True),
            "max_iter": 2**62 if max_iter < 0 else max_iter,
            "shrinking": bool(self.shrinking),
            "cache_bytes": 1e6 * require_number("cache_size", self.cache_size, 0, open_low=True),
            "threads": n_threads(self.n_jobs),
        }

    def _as_rows(self, X, owner):
        return as_matrix(X, owner) if self._is_table() else as_rows(X, owner)

    def _training_rows(self, X):
        array = self._as_rows(X, "SVC")
        if self.kernel == "precomputed" and array.shape[0] != array.shape[1]:
            raise ValueError(f"X has shape {array.shape}; a square matrix is wanted of a precomputed kernel")
        return array, self._fitted_columns(X, array)

    def _problem(self, X, y, sample_weight, options):
        """(the problem, attributes of labels and kernel)."""
        n = X.shape[0]
        labels = as_labels(y, sample_weight, n, "SVC")
        class_weight = class_factors(self.class_weight, labels.classes, np.bincount(labels.codes))
        codes = labels.spread(n, np.intp, missing=-1)
        C = np.where(codes < 0, 0, class_weight[codes])
        if np.isinf(self.C):
            C[C > 0] = np.inf
        else:
            C *= self.C if labels.weight is None else self.C * labels.weight
        codes[C == 0] = -1
        if (np.bincount(codes[codes >= 0], minlength=len(labels.classes)) == 0).any():
            raise ValueError(f"class_weight is {self.class_weight}; a weight above 0 for each class is wanted")
        gamma = 1.0  # for kernels that have none
        if self.gamma != "scale" or not (self._is_table() or self.kernel == "linear"):
            gamma = gamma_of(self.gamma, X, np.ones(n) if labels.weight is None else labels.weight)
        gram = self._gram(X, gamma)
        attributes = {"classes_": labels.classes, "class_weight_": class_weight, "_gamma_": gamma}
        return Problem(gram, codes, [C], len(labels.classes)), attributes

    def _is_table(self):
        return self.kernel == "precomputed" or callable(self.kernel)

    def _kernel(self, gamma):
        return Kernel(self.kernel, gamma, self.degree, self.coef0)

    def _gram(self, X, gamma):
        if self.kernel == "precomputed":
            return Table(lambda rows, columns: X[rows[:, None], columns], len(X), self.kernel_dtype or X.dtype)
        if callable(self.kernel):
            dtype = self.kernel_dtype or "float64"
            return Table(lambda rows, columns: called(self.kernel, X[rows], X[columns]), len(X), dtype)
        kernel, rows = self._kernel(gamma), Rows(X)
        if not np.isfinite(kernel.rounding(rows, np.float64)):
            raise ValueError(f"X has rows so long that kernel={self.kernel!r} overflows; shorter ones are wanted")
        single = kernel.rounding(rows, np.float32) <= _ROUNDING
        return Gram(kernel, rows, self.kernel_dtype or ("float32" if single else "float64"), self.kernel_dtype is None)

    def _score_dtype(self, gram, coef):
        """The type of kernel values for new rows: float64 if float32 made errors of scores above _SCORE_ROUNDING."""
        off = gram.rounding() * float(np.sqrt((coef**2).sum(axis=1).max()))
        return gram.dtype.name if self.kernel_dtype is not None or off <= _SCORE_ROUNDING else "float64"

    @property
    def support_vectors_(self):
        self._require_fitted()
        return as_scipy(self._support_rows_)

    @property
    def coef_(self):
        if self.kernel != "linear":
            raise AttributeError("coef_ is only available when using a linear kernel")
        self._require_fitted()
        return pairs.hyperplanes(self._support_rows_, self.dual_coef_, self.n_support_)

    def _scores(self, X):
        """Scores (n, n_pairs); positive is the first class of a pair, but of two classes the second."""
        self._require_fitted()
        X = self._new_samples(X)
        starts = np.concatenate([[0], np.cumsum(self.n_support_, dtype=np.int64)])
        if self.kernel == "precomputed":
            S = table_scores(lambda start, stop: X[start:stop, self.support_], len(X), self.dual_coef_, starts)
        elif callable(self.kernel):
            S = table_scores(
                lambda start, stop: called(self.kernel, X[start:stop], self._support_rows_),
                len(X),
                self.dual_coef_,
                starts,
            )
        else:
            kernel, support, rows = self._kernel(self._gamma_), Rows(self._support_rows_, self._support_norms_), Rows(X)
            S = partial_scores(kernel, support, rows, self.dual_coef_, starts, self._dtype_, n_threads(self.n_jobs))
        return pair_scores(S, self.intercept_)

    def decision_function(self, X):
        """Scores of rows.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), or (n_samples, rows of `fit`) if 'precomputed'

        Returns
        -------
        ndarray of shape (n_samples,) with two classes: w.phi(x) + b, positive for `classes_[1]`; else with 'ovo'
            (n_samples, n_pairs), positive for the first class of the pairs (0, 1), (0, 2), ..., (1, 2), ...; with 'ovr'
            (n_samples, n_classes), votes with the sum of the scores, squashed below a third.
        """
        scores = self._scores(X)
        if len(self.classes_) == 2:
            return scores[:, 0]
        return scores if self.decision_function_shape == "ovo" else one_for_each_class(scores, len(self.classes_))

    def predict(self, X):
        """Labels of rows, of shape (n_samples,); X as for `decision_function`."""
        if self.break_ties and self.decision_function_shape == "ovo":
            raise ValueError("break_ties must be False when decision_function_shape is 'ovo'")
        chosen = self._chosen(self._scores(X))
        return self.classes_[chosen]

    def _chosen(self, scores):
        """The number of the class that scores (n, n_pairs) choose."""
        if scores.shape[1] == 1:
            return (scores[:, 0] > 0).astype(np.intp)
        count = one_for_each_class if self.break_ties else votes
        return count(scores, round(np.sqrt(2 * scores.shape[1])) + 1).argmax(axis=1)

    @only_if(lambda self: self.probability)
    def predict_proba(self, X):
        """Probabilities (n_samples, n_classes) by Platt's sigmoids, coupled for more than two classes.

        They need not agree with `predict`, as they come from five other fits.
        """
        self._require_fitted()
        if not hasattr(self, "probA_"):
            raise ValueError("SVC was fitted with probability=False; True is wanted at fit for predict_proba")
        P = np.clip(sigmoid(self._scores(X), self.probA_, self.probB_), 1e-7, 1 - 1e-7)
        n_classes = len(self.classes_)
        if n_classes == 2:
            return np.column_stack([1 - P[:, 0], P[:, 0]])
        R = np.zeros((len(P), n_classes, n_classes))
        for p, (a, b) in enumerate(pairs_of(n_classes)):
            R[:, a, b], R[:, b, a] = P[:, p], 1 - P[:, p]
        return couple(R)

    @only_if(lambda self: self.probability)
    def predict_log_proba(self, X):
        """The logarithm of `predict_proba`."""
        return np.log(self.predict_proba(X))

    def kkt_violation(self, X, y, sample_weight=None):
        """The violation of the optimality conditions, largest of all pairs, from nothing in float64.

        X, y and sample_weight are those of `fit`.
        """
        self._require_fitted()
        options = self._options()
        X = self._new_samples(X)
        problem, attributes = self._problem(X, y, sample_weight, options)
        if X.shape != self.shape_fit_ or not np.array_equal(attributes["classes_"], self.classes_):
            raise ValueError(f"X has shape {X.shape}; the rows and labels of fit, {self.shape_fit_}, are wanted")
        coef = warm_coef(self, problem)
        return max(pairs.violation_of(problem, pair, coef) for pair in problem.pairs)

    def _check_rest(self, sizes, entries):
        if self.kernel == "precomputed" and self.shape_fit_[0] != self.n_features_in_:
            raise ValueError(f"shape_fit_ is {self.shape_fit_}; {self.n_features_in_} rows are wanted")
        if entries and ((self.n_support_ < 0).any() or self.n_support_.sum(dtype=np.int64) != len(self.support_)):
            raise ValueError(f"n_support_ does not add up to {len(self.support_)}, the number of support vectors")


def svm_path(X, y, Cs, *, sample_weight=None, **parameters):
    """Machines along C, each of which starts from the alphas of the one before.

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
    models = [SVC(C=C, **parameters) for C in Cs]
    return SVC._fit_each(models, X, y, sample_weight) if models else []
