"""The support vector machine with a parameter for the share of support vectors, nu-SVC."""

import numpy as np

from .._state_table import Array, declare
from .._validation import as_seed, require_number
from . import pairs
from .kernel_machine import KernelMachine
from .pairs import Watch


class NuSVC(KernelMachine):
    """Support vector machine by nu: at most this share of the rows is within the margin or on its wrong side.

    Of two classes, y = +1 or -1, it minimises 1/2 |w|^2 - nu rho + 1/n sum_i max(0, rho - y_i (w.phi(x_i) + b)) with
    the margin rho >= 0 through its dual, min 1/2 sum_ij alpha_i alpha_j y_i y_j k(x_i, x_j) with 0 <= alpha_i <= 1,
    sum_i alpha_i y_i = 0 and sum_i alpha_i = nu n. Divided by the margin, it is the machine that `SVC` has for C =
    `C_`. Of more classes each pair has its machine, and each machine a vote.

    Parameters
    ----------
    nu : float in (0, 1], default=0.5
        The share of rows that are support vectors is at least this, that of rows with a slack at most. Infeasible where
        a class has less than nu times half of the rows of a pair.
    kernel : {'linear', 'poly', 'rbf', 'sigmoid', 'precomputed'} or callable, default='rbf'
        As of `SVC`.
    degree : int >= 0, default=3
    gamma : {'scale', 'auto'} or float >= 0, default='scale'
    coef0 : float, default=0.0
    shrinking : bool, default=True
        Whether rows that seem to stay at a bound are left out until the end, where all are looked at again.
    probability : bool, default=False
        Whether to learn `predict_proba`, which takes five more fits: Platt's sigmoid, on cross-validated scores.
    tol : float > 0, default=1e-3
        The violation of the optimality conditions, over all rows, in units of the margin, at which a fit ends.
    cache_size : float > 0, default=200
        MB of kernel values that are kept.
    class_weight : dict, 'balanced' or None, default=None
        What a row of a class counts for; 'balanced' is n_samples / (n_classes * rows of the class). (scikit-learn's
        NuSVC takes it, and does not use it.)
    verbose : int, default=0
        1 shows the violation and the cache's hits on stderr.
    max_iter : int >= 1 or -1, default=-1
        Most steps of two rows; -1 for no limit.
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
        The type of kernel values on the way, as of `SVC`.
    callback : callable, optional
        ``callback(step, None, violation)`` now and then; returning True ends the fit.

    Attributes
    ----------
    C_ : ndarray of shape (n_pairs,)
        The C of `SVC` with the same machine: 1 over the margin.
    support_ : ndarray of shape (n_SV,), int32
        Rows that are support vectors, by class.
    support_vectors_ : ndarray of shape (n_SV, n_features), or a sparse matrix where SciPy is loaded and X was one
    n_support_ : ndarray of shape (n_classes,), int32
    dual_coef_ : ndarray of shape (n_classes - 1, n_SV), or a sparse matrix as `support_vectors_`
        alpha times y over the margin; of a class's rows, against each other class.
    intercept_ : ndarray of shape (n_pairs,)
    coef_ : ndarray of shape (n_pairs, n_features), or a sparse matrix as `support_vectors_`
        w; of the linear kernel alone. Read-only.
    classes_, class_weight_ : ndarray of shape (n_classes,)
    n_iter_ : ndarray of shape (n_pairs,), int32
        Steps of two rows.
    fit_status_ : int
        0 if every pair converged, else 1.
    violation_, duality_gap_ : float
        The largest of any pair, as a problem of `SVC` with C = `C_`; see there.
    violations_, dual_objective_, margin_ : ndarray of shape (n_pairs,)
        As of `SVC`; `margin_` is 1 / |w|.
    shape_fit_ : tuple of int
    probA_, probB_ : ndarray of shape (n_pairs,)
        Platt's sigmoids, empty without `probability`: of classes a < b, a has the probability
        1 / (1 + exp(probA_ f + probB_)), where f is the pair's score for a, with two classes minus `decision_function`.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only when X was a table with string column names.

    Notes
    -----
    Cost: between n_SV and some n_SV times n kernel values. Memory beyond X: `cache_size` and less than 200 bytes a row.
    Where no hyperplane has a margin at so small a nu, as the classes overlap, a fit warns that it has not converged.

    References
    ----------
    Schoelkopf, Smola, Williamson, Bartlett (2000), New support vector algorithms; Chang, Lin (2001), Training
    nu-support vector classifiers: theory and algorithms.

    Examples
    --------
    >>> from fastclf import NuSVC
    >>> model = NuSVC(nu=0.5, kernel="linear").fit([[0, 0], [1, 0], [3, 0], [4, 1]], [0, 0, 1, 1])
    >>> model.support_, model.predict([[1.9, 5]])
    (array([1, 2], dtype=int32), array([0]))
    """

    _state_table = declare(C_=Array("float64", "n_pairs"))

    _one_class = "specified nu is infeasible: all samples with positive weights belong to the same class"

    def __init__(
        self,
        *,
        nu=0.5,
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
        callback=None,
    ):
        self._take(locals())

    def fit(self, X, y, sample_weight=None):
        """Learn from rows and their labels.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), or (n_samples, n_samples) if 'precomputed'
        y : array-like of shape (n_samples,)
            Labels of at least two classes.
        sample_weight : array-like of shape (n_samples,), optional
            What a row counts for: the bound of its alpha.

        Returns
        -------
        self
        """
        seed = as_seed(self.random_state) if self._has_sigmoids() else None
        options = self._options()
        X, columns = self._training_rows(X)
        problem, attributes = self._problem(X, y, sample_weight, options)
        problem.nu = float(self.nu)
        (weight,) = problem.Cs
        heavy = np.bincount(problem.codes[problem.rows], weight[problem.rows])
        self._require_feasible(heavy)
        watch = Watch(self.verbose, self.callback)
        (fitted,) = pairs.fit_pairs(problem, options, None, watch)
        fitted["C_"] = self._prices(problem, fitted, heavy)
        if self._has_sigmoids():
            fitted |= pairs.fit_sigmoids(problem, weight, options, seed, watch)
        self._keep(X, problem.gram, attributes | columns, fitted)
        return self

    def _tell_of_violation(self, fitted, reason):
        if not reason and (self.max_iter < 0 or (fitted["n_iter_"] < self.max_iter).all()):
            reason = ": at so small a nu the classes leave no margin"
        super()._tell_of_violation(fitted, reason)

    def _require_softness(self):
        if require_number("nu", self.nu, 0, open_low=True) > 1:
            raise ValueError(f"nu is {self.nu}; a number above 0 and of at most 1 is wanted")

    def _bounds(self, factor, weight):
        """The upper bound of each alpha, from the class weight of each row and its sample weight."""
        return factor.astype(np.float64) if weight is None else factor * weight

    def _require_feasible(self, heavy):
        """Refuse a nu that is too large for the weights of two classes; heavy: the sum of the weights of each class."""
        least, most = heavy.min(), heavy.max()
        if self.nu * (least + most) / 2 > least:
            raise ValueError(
                f"specified nu is infeasible: nu is {self.nu:g}; at most {2 * least / (least + most):.6g} is wanted for"
                f" classes whose rows weigh {least:g} and {most:g}"
            )

    @staticmethod
    def _prices(problem, fitted, heavy):
        """The attribute C_: for each pair of classes the C with which SVC finds the same hyperplane."""
        ends = np.concatenate([[0], np.cumsum(fitted["n_support_"])])
        sums = np.add.reduceat(np.abs(fitted["_dual_coef_"]), ends[:-1], axis=1)
        a, b = np.array(problem.pairs).T
        return (sums[b - 1, a] + sums[a, b]) / (problem.nu * (heavy[a] + heavy[b]))
