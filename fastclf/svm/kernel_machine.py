"""What SVC and NuSVC share: checks, the rows of a fit, and predictions."""

import math

import numpy as np

from .._csr import Csr, Matrix, as_rows, as_scipy, is_sparse
from .._estimator import Classifier, only_if
from .._exceptions import not_fitted_error, warn
from .._labels import as_label_vector, as_labels, class_factors
from .._state_table import Array, SizeOf, Value, declare, where
from .._threads import map_rows, n_threads, rows_at
from .._validation import as_float64, as_matrix, described, require_choice, require_integer, require_number
from ..kernels.gamma import gamma_of
from ..kernels.values import Kernel, Rows, require_kernel
from ..linear_model.scores import chosen, linear_scores
from . import pairs
from .gram import GivenKernel, Gram
from .kernel_votes import called
from .objects import KernelTable, are_objects, require_objects
from .pair_scores import (
    MOST_VALUES,
    couple,
    few_scores,
    has_many_classes,
    many_pairs,
    one_for_each_class,
    pair_scores,
    partial_scores,
    sigmoid,
    table_scores,
    winners,
)
from .pairs import Problem

# _ROUNDING: `kernel_dtype=None` means float64 if the rounding error of a float32 kernel value is larger than this.
# _SCORE_ROUNDING: scores of new rows use float64 if rounding would change a score by more than this.
_ROUNDING, _SCORE_ROUNDING = 1e-5, 3e-5

# Up to this number of rows a fit in float64 takes no longer than one in float32, which computes some sums anew before
# it ends.
_FEW_ROWS = 1000

# The number of bits of gamma='scale' that are kept, so that the order of summation does not change gamma.
_GAMMA_BITS = 40


def _require_shape_of_rows(name, shape):
    """Refuse what is not (number of rows, number of columns); `name` is that of the attribute."""
    if type(shape) is not tuple or len(shape) != 2:
        raise ValueError(f"{name} is {described(shape)}; a tuple (n_samples, n_features) is wanted")
    for size in shape:
        require_integer(f"each number of {name}", size, 0)


class _NoSigmoids:
    """The value of `probA_` and `probB_` of a fit without `probability`: an empty array, as scikit-learn has it.

    An attribute of the same name that a fit with `probability` sets is found first.
    """

    def __get__(self, model, _):
        if model is None:
            return self
        model._require_fitted()
        return np.empty(0)


class KernelMachine(Classifier):
    """A classifier by support vectors, with a binary classifier for each pair of classes."""

    _problem_type = Problem

    # the rows of the fit in the user's form, if only the kernel can read them; None for tables and matrices
    _fit_objects_ = None

    probA_ = probB_ = _NoSigmoids()

    _state_table = declare(
        classes_=Array("any", "n_classes", least=2),
        shape_fit_=Value(_require_shape_of_rows),
        n_others=SizeOf(lambda model: len(model.classes_) - 1),
        n_pairs=SizeOf(lambda model: len(model.classes_) * (len(model.classes_) - 1) // 2),
        n_samples=SizeOf(lambda model: model.shape_fit_[0]),
        support_=Array("int32", "n_support", below="n_samples"),
        n_support_=Array("int32", "n_classes"),
        _dual_coef_=Array("float64", "n_others", "n_support"),
        intercept_=Array("float64", "n_pairs"),
        _dtype_=Value(require_choice, ("float32", "float64")),
        _gamma_=Value(require_number, 0),
        **where(lambda model: not model._asks_for_table(), _support_rows_=Matrix("n_support", "n_features")),
        **where(lambda model: not model._is_table(), _support_norms_=Array("float64", "n_support")),
        **where(lambda model: np.size(model._planes_), _planes_=Array("float64", "n_pairs", "n_features")),
        **where(
            lambda model: np.size(model.probA_), probA_=Array("float64", "n_pairs"), probB_=Array("float64", "n_pairs")
        ),
    )

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.kernel != "precomputed"
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags

    def _keep(self, X, gram, attributes, fitted):
        """Set the fitted attributes of the estimator, and warn if the fit has not converged."""
        converged, reason = fitted.pop("_converged"), fitted.pop("_reason")
        if not converged:
            self._tell_of_violation(fitted, reason)
        table = self.kernel == "precomputed" or isinstance(X, KernelTable)
        rows = np.empty((0, 0)) if table else rows_at(X, fitted["support_"])
        self._become(
            **attributes,
            **fitted,
            _support_rows_=rows,
            _planes_=self._planes_of(rows, fitted),
            _support_norms_=np.empty(0) if self._is_table() else Rows(rows).norm,
            shape_fit_=tuple(X.shape),
            _dtype_=self._score_dtype(gram, fitted["_dual_coef_"]),
            fit_status_=int(not converged),
        )

    def _planes_of(self, rows, fitted):
        """The hyperplanes of a linear kernel on dense rows, which score new rows; empty if support vectors are faster.

        The support vectors and coefficients that they are made of can then not be written to, nor can `coef_`.
        """
        coef, n_pairs = fitted["_dual_coef_"], len(fitted["intercept_"])
        if self.kernel != "linear" or isinstance(rows, Csr) or n_pairs * rows.shape[1] > rows.size + coef.size:
            return np.empty((0, 0))
        with np.errstate(over="ignore", invalid="ignore"):
            planes = pairs.hyperplanes(rows, coef, fitted["n_support_"])
        if not np.isfinite(planes).all():
            return np.empty((0, 0))
        for array in (rows, coef, planes):
            array.flags.writeable = False
        return planes

    def __setattr__(self, name, value):
        super().__setattr__(name, value)
        if name in ("_dual_coef_", "n_support_", "_support_rows_") and "_planes_" in vars(self):
            super().__setattr__("_planes_", np.empty((0, 0)))

    def _tell_of_violation(self, fitted, reason):
        name, n_steps, advice = type(self).__name__, fitted["n_iter_"], ""
        if self.max_iter > 0 and (n_steps >= self.max_iter).any():
            advice = (
                f"Solver terminated early (max_iter={self.max_iter}).  Consider pre-processing your data with"
                " StandardScaler or MinMaxScaler. "
            )
        warn(
            f"{advice}{name} stopped after {int(n_steps.sum())} steps with a violation of {fitted['violation_']:.3g},"
            f" above tol={self.tol:g}{reason}",
            "ConvergenceWarning",
        )

    def _require_parameters(self):
        super()._require_parameters()
        self._options()

    def _options(self):
        """The parameters of the solver, checked, as a dict."""
        require_choice("decision_function_shape", self.decision_function_shape, ("ovr", "ovo"))
        self._require_softness()
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

    def _has_sigmoids(self):
        """Whether probabilities are wanted: scikit-learn's default, the word 'deprecated', means that they are not."""
        return bool(self.probability) and self.probability != "deprecated"

    def _as_rows(self, X, owner):
        if self.kernel != "precomputed":
            return as_rows(X, owner)
        if is_sparse(X):
            raise TypeError("Sparse precomputed kernels are not supported; a dense matrix is wanted (pass X.toarray())")
        return as_matrix(X, owner)

    def _training_rows(self, X):
        """The rows of a fit, or a table of kernel values between objects; and a dict of attributes about X."""
        if callable(self.kernel) and are_objects(X):
            require_objects(X, type(self).__name__)
            table = KernelTable.of(called(self.kernel, X, X))
            return table, {"n_features_in_": len(table), "_fit_objects_": X}
        array = self._as_rows(X, type(self).__name__)
        if self.kernel == "precomputed" and array.shape[0] != array.shape[1]:
            raise ValueError(f"X has shape {array.shape}; a square matrix is wanted for a precomputed kernel")
        return array, self._fitted_columns(X, array)

    def _labels(self, y, sample_weight, n):
        """The `Labels` of the rows of a fit; a row of negative sample weight counts as missing, as in LIBSVM."""
        name = type(self).__name__
        if sample_weight is None:
            return as_labels(y, None, n, name)
        weight = as_float64(sample_weight, "sample_weight")
        weight = np.where(weight < 0, 0.0, weight)
        if not weight.any():
            raise ValueError(
                "Invalid input - all samples have zero or negative weights. sample_weight is zero for every row; a"
                " weight above 0 is wanted"
            )
        if weight.shape == (n,) and np.isfinite(weight).all():
            y = as_label_vector(y, n, name)
            kept = y[weight > 0]
            if len(kept) < n and (kept == kept[0]).all():
                raise ValueError(
                    f"{self._one_class}: y has one class, {kept.tolist()[0]!r}; the number of classes has to be greater"
                    " than one"
                )
        return as_labels(y, weight, n, name)

    def _problem(self, X, y, sample_weight, options):
        """The `Problem` of a fit, and a dict of the fitted attributes that are known from the labels and the kernel."""
        n = X.shape[0]
        labels = self._labels(y, sample_weight, n)
        codes, bounds, class_weight = self._coded(labels, n)
        gamma = 1.0
        if self._uses_gamma():
            gamma = gamma_of(self.gamma, X, np.ones(n) if labels.weight is None else labels.weight)
        gamma = self._rounded_gamma(gamma)
        gram = self._gram(X, gamma)
        attributes = {"classes_": labels.classes, "class_weight_": class_weight, "_gamma_": gamma}
        return self._problem_type(gram, codes, [bounds], len(labels.classes)), attributes

    def _coded(self, labels, n):
        """The class code of each row, -1 for left-out rows; the upper bounds of alpha; the class weights."""
        class_weight = class_factors(self.class_weight, labels.classes, np.bincount(labels.codes))
        codes = labels.spread(n, np.intp, missing=-1)
        bounds = self._bounds(np.where(codes < 0, 0, class_weight[codes]), labels.weight)
        codes[bounds == 0] = -1
        if (np.bincount(codes[codes >= 0], minlength=len(labels.classes)) == 0).any():
            raise ValueError(f"class_weight is {self.class_weight}; a weight above 0 for each class is wanted")
        return codes, bounds, class_weight

    def _uses_gamma(self):
        """Whether gamma must be computed from X; not for gamma='scale' if the kernel is linear or a table."""
        return self.gamma != "scale" or not (self._is_table() or self.kernel == "linear")

    def _rounded_gamma(self, gamma):
        """Gamma; the value for 'scale' is rounded, to be the same for sparse and dense X, at any scale of weights."""
        if self.gamma != "scale":
            return gamma
        mantissa, exponent = np.frexp(gamma)
        return float(np.ldexp(np.rint(mantissa * 2.0**_GAMMA_BITS), exponent - _GAMMA_BITS))

    def _is_table(self):
        return self.kernel == "precomputed" or callable(self.kernel)

    def _has_objects(self):
        """Whether the rows of the fit are objects that the user's kernel alone can read."""
        return callable(self.kernel) and self._fit_objects_ is not None

    def _asks_for_table(self):
        """Whether the scores of new rows need a table of their kernel values with all rows of the fit."""
        return self.kernel == "precomputed" or self._has_objects()

    def _kernel(self, gamma):
        return Kernel(self.kernel, gamma, self.degree, self.coef0)

    def _gram(self, X, gamma):
        if self.kernel == "precomputed" or isinstance(X, KernelTable):
            dtype = self.kernel_dtype or ("float64" if len(X) <= _FEW_ROWS else X.dtype)
            return GivenKernel(lambda rows, columns: X[rows[:, None], columns], len(X), dtype)
        if callable(self.kernel):
            dtype = self.kernel_dtype or "float64"
            return GivenKernel(lambda rows, columns: called(self.kernel, X[rows], X[columns]), len(X), dtype)
        kernel, rows = self._kernel(gamma), Rows(X)
        return Gram(kernel, rows, *self._gram_types(kernel, rows))

    def _gram_types(self, kernel, rows):
        """The pair (dtype of kernel values between training rows, whether this dtype may be changed during the fit)."""
        if not np.isfinite(kernel.rounding(rows, np.float64)):
            raise ValueError(f"X has rows so long that kernel={self.kernel!r} overflows; shorter ones are wanted")
        single, few = kernel.rounding(rows, np.float32) <= _ROUNDING, len(rows) <= _FEW_ROWS
        dtype = self.kernel_dtype or ("float32" if single and not few else "float64")
        return dtype, self.kernel_dtype is None and not (single and few)

    def _score_dtype(self, gram, coef):
        """The type of kernel values for new rows: float64 if float32 would change a score by over _SCORE_ROUNDING."""
        off = gram.rounding() * float(np.sqrt((coef**2).sum(axis=1).max()))
        return gram.dtype.name if self.kernel_dtype is not None or off <= _SCORE_ROUNDING else "float64"

    @property
    def _gamma(self):
        """The number that `gamma` stands for, by scikit-learn's private name, which converters of models read."""
        return self._gamma_

    @property
    def support_vectors_(self):
        self._require_fitted()
        return as_scipy(self._support_rows_)

    @property
    def dual_coef_(self):
        self._require_fitted()
        coef = self._dual_coef_
        if not self._was_sparse():
            return coef
        n, m = coef.shape
        indptr = np.arange(0, (n + 1) * m, m) if m else np.zeros(n + 1, np.int64)
        return as_scipy(Csr(indptr, np.tile(np.arange(m, dtype=np.int32), n), coef.ravel(), m))

    @dual_coef_.setter
    def dual_coef_(self, coef):
        self._dual_coef_ = coef.toarray() if is_sparse(coef) else coef

    @property
    def coef_(self):
        if self.kernel != "linear":
            raise AttributeError("coef_ is only available when using a linear kernel")
        self._require_fitted()
        coef = self._planes_
        if not np.size(coef):
            coef = pairs.hyperplanes(self._support_rows_, self._dual_coef_, self.n_support_)
            coef.flags.writeable = False
        if not self._was_sparse():
            return coef
        coef = as_scipy(Csr.from_dense(coef))
        coef.data.flags.writeable = False
        return coef

    def _was_sparse(self):
        """Whether the rows of the fit were sparse; False if the user gives the kernel values."""
        return isinstance(self._support_rows_, Csr) and not self._is_table()

    def _scores(self, X, votes=False):
        """Scores (n, n_pairs): positive for the first class of a pair or, if y has only two classes, for the second.

        With `votes`, the result may be the class that wins the most pairs for each row, which many classes make faster.
        """
        self._require_fitted()
        if self._has_objects():
            X = called(self.kernel, require_objects(X, type(self).__name__), self._fit_objects_)
        else:
            X = self._new_samples(X)
        if self.kernel == "linear" and np.size(self._planes_):
            return self._scores_by_planes(X, votes)
        if not self._is_table() and type(X) is type(self._support_rows_) is np.ndarray:
            scores = few_scores(self, self._kernel(self._gamma_), X)
            if scores is not None:
                return scores
        starts = np.concatenate([[0], np.cumsum(self.n_support_, dtype=np.int64)])
        if self._asks_for_table():
            S = table_scores(lambda start, stop: X[start:stop, self.support_], len(X), self._dual_coef_, starts)
        elif callable(self.kernel):
            S = table_scores(
                lambda start, stop: called(self.kernel, X[start:stop], self._support_rows_),
                len(X),
                self._dual_coef_,
                starts,
            )
        else:
            kernel, support, rows = self._kernel(self._gamma_), Rows(self._support_rows_, self._support_norms_), Rows(X)
            threads = n_threads(self.n_jobs)
            if has_many_classes(self):
                return many_pairs(self, kernel, support, rows, starts, threads, votes)
            S = partial_scores(kernel, support, rows, self._dual_coef_, starts, self._dtype_, threads)
        return pair_scores(S, self.intercept_)

    def _scores_by_planes(self, X, votes):
        """Like `_scores`. With `votes`, the scores of many pairs are in memory for some of the rows at a time."""
        n_pairs = len(self._planes_)

        def scored(X):
            return linear_scores(X, self._planes_, self.intercept_, self.n_jobs)

        if not votes or n_pairs == 1 or len(X) * n_pairs <= MOST_VALUES:
            return scored(X)
        step = max(1, MOST_VALUES // n_pairs)
        parts = [X[start : start + step] for start in range(0, len(X), step)]
        return np.concatenate([winners(scored(part), len(self.classes_)) for part in parts])

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
        found = self._scores(X, votes=not self.break_ties)
        return rows_at(self.classes_, found if found.ndim == 1 else self._chosen(found))

    def _chosen(self, scores):
        """For each row the index of its predicted class, by the scores (n, n_pairs) of the pairs of classes."""
        if scores.shape[1] == 1:
            return chosen(scores)
        n_classes = (1 + math.isqrt(1 + 8 * scores.shape[1])) // 2
        return chosen(one_for_each_class(scores, n_classes)) if self.break_ties else winners(scores, n_classes)

    @only_if(lambda self: self._has_sigmoids())
    def predict_proba(self, X):
        """Probabilities (n_samples, n_classes) by Platt's sigmoids, coupled for more than two classes.

        They need not agree with `predict`, as they come from five other fits.
        """
        self._require_fitted()
        if len(self.probA_) == 0:
            raise not_fitted_error(
                "predict_proba is not available when fitted with probability=False;"
                f" probability=True is wanted when {type(self).__name__} is fitted"
            )
        n_classes = len(self.classes_)

        def shares(scores):
            toward_first = scores if n_classes > 2 else -scores
            P = np.clip(sigmoid(toward_first, self.probA_, self.probB_), 1e-7, 1 - 1e-7)
            return np.column_stack([P[:, 0], 1 - P[:, 0]]) if n_classes == 2 else couple(P, n_classes)

        return map_rows(shares, self._scores(X))

    @only_if(lambda self: self._has_sigmoids())
    def predict_log_proba(self, X):
        """The logarithm of `predict_proba`."""
        return map_rows(np.log, self.predict_proba(X))

    def _check_rest(self, sizes, entries):
        if self._asks_for_table() and self.shape_fit_[0] != self.n_features_in_:
            raise ValueError(f"shape_fit_ is {self.shape_fit_}; {self.n_features_in_} rows are wanted")
        if self._has_objects() and len(self._fit_objects_) != self.shape_fit_[0]:
            raise ValueError(f"the fit had {self.shape_fit_[0]} rows, and {len(self._fit_objects_)} are kept")
        if entries and ((self.n_support_ < 0).any() or self.n_support_.sum(dtype=np.int64) != len(self.support_)):
            raise ValueError(f"n_support_ does not add up to {len(self.support_)}, the number of support vectors")
