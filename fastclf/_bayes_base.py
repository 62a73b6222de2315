"""What estimators of naive Bayes share: labels and weights come in, posteriors go out."""

import inspect
import warnings

import numpy as np

from ._estimator import Classifier
from ._statistics import (
    as_number_rows,
    class_counts,
    column_sums,
    decide,
    encode,
    normalise,
    require_finite,
    require_positive,
)
from ._validation import as_matrix, as_sample_weight, as_targets, encode_labels, require_array

SHARED = """classes_ : ndarray of shape (n_classes,)
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only when X was a table with string column names."""

_PARAMETERS = """alpha : float >= 0 or array-like of shape (n_features,), default=1.0
        Added to each count (Laplace, Lidstone); 0: maximum likelihood.
    force_alpha : bool, default=True
        False: an `alpha` below 1e-10 is taken as 1e-10.
    fit_prior : bool, default=True
        Whether priors are the classes' shares of the rows; else they are uniform.
    class_prior : array-like of shape (n_classes,), default=None
        Prior probabilities of the classes, in place of both.
    n_jobs : int, default=None
        Threads; None: all CPUs. No result depends on it."""


def document(cls):
    cls.__doc__ = inspect.getdoc(cls).format(
        shared=SHARED.replace("\n    ", "\n"), parameters=_PARAMETERS.replace("\n    ", "\n")
    )
    return cls


def as_priors(name, values, n_classes):
    """Prior probabilities as float64: one a class, none negative, of the sum 1."""
    priors = np.array(values, np.float64)
    if priors.shape != (n_classes,):
        raise ValueError(
            f"Number of priors must match number of classes: {name} has shape {priors.shape}, not ({n_classes},)."
        )
    if not (priors >= 0).all():
        raise ValueError(f"Priors must be non-negative: {name} has {priors[~(priors >= 0)][0]}.")
    if not np.isclose(priors.sum(), 1):
        raise ValueError(f"The sum of the priors should be 1; that of {name} is {priors.sum()}.")
    return priors


class NaiveBayesBase(Classifier):
    """A subclass has `_learn`, the attributes that rows give, and `_joint`, log P(x, class) of rows."""

    _takes_sparse = False

    def _as_rows(self, X, owner):
        return as_number_rows(X, owner) if self._takes_sparse or not hasattr(X, "tocsr") else as_matrix(X, owner)

    def _checked(self, X, y, sample_weight, classes):
        """(rows, codes, weight, classes, attributes of columns)"""
        name = type(self).__name__
        rows = self._as_rows(X, name)
        y = as_targets(y, len(rows), name, labels=True)
        if y.ndim != 1:
            raise ValueError(f"y should be a 1d array, got an array of shape {y.shape} instead.")
        weight = as_sample_weight(sample_weight, len(rows))
        if weight is not None and not weight.any():
            raise ValueError("sample_weight is zero everywhere; a weight above 0 is wanted")
        found, codes = encode(y)
        if classes is not None:
            place = np.minimum(np.searchsorted(classes, found), len(classes) - 1)
            unknown = classes[place] != found
            if unknown.any():
                raise ValueError(
                    f"The target label(s) {found[unknown]} in y do not exist in the initial classes {classes}"
                )
            codes, found = place.astype(np.int32)[codes], classes
        return rows, codes, weight, found, self._fitted_columns(X, rows)

    def fit(self, X, y, sample_weight=None):
        """Learn from rows, in one read of them.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Numbers in an array of any type, a table, or, where counts are taken, a SciPy sparse matrix.
        y : array-like of shape (n_samples,)
            Labels: anything sortable.
        sample_weight : array-like of shape (n_samples,), default=None
            How often each row counts, from 0 up.

        Returns
        -------
        self
        """
        rows, codes, weight, classes, columns = self._checked(X, y, sample_weight, None)
        return self._become(classes_=classes, **columns, **self._learn(rows, codes, weight, classes, None))

    def partial_fit(self, X, y, classes=None, sample_weight=None):
        """Learn from more rows; the result is that of a fit of all of them.

        Parameters
        ----------
        X, y, sample_weight : as `fit` takes them
        classes : array-like of shape (n_classes,), default=None
            All labels that may come, wanted at the first call.

        Returns
        -------
        self
        """
        fitted = getattr(self, "classes_", None)
        if fitted is None and classes is None:
            raise ValueError("classes must be passed on the first call to partial_fit.")
        if classes is not None:
            classes = encode_labels(np.asarray(classes))[0]
            if fitted is not None and not np.array_equal(fitted, classes):
                raise ValueError(
                    f"`classes={classes!r}` is not the same as on last call to partial_fit, was: {fitted!r}"
                )
        if fitted is not None:
            self._new_samples(X)
        known = classes if fitted is None else fitted
        rows, codes, weight, known, columns = self._checked(X, y, sample_weight, known)
        learned = self._learn(rows, codes, weight, known, None if fitted is None else self)
        if fitted is None:
            return self._become(classes_=known, **columns, **learned)
        vars(self).update(learned)
        return self

    def _begin_joint(self, X, prior=None, log_prior=None):
        if log_prior is None:
            with np.errstate(divide="ignore"):
                log_prior = np.log(prior)
        joint = np.empty((len(X), len(self.classes_)))
        joint[:] = log_prior
        return joint

    def _ask(self, X):
        self._require_fitted()
        return self._joint(self._new_samples(X))

    def predict_joint_log_proba(self, X):
        """log P(x, class), of shape (n_samples, n_classes)."""
        return self._ask(X)

    def predict(self, X):
        """The most probable label of each row, of shape (n_samples,); the first of equal ones."""
        joint = self._ask(X)
        return self.classes_[decide(joint, self.n_jobs)]

    def predict_log_proba(self, X):
        """log P(class | x), of shape (n_samples, n_classes); where all classes are impossible, all are alike."""
        return normalise(self._ask(X), self.n_jobs, True)

    def predict_proba(self, X):
        """P(class | x), of shape (n_samples, n_classes)."""
        return normalise(self._ask(X), self.n_jobs, False)

    def _check_state(self):
        super()._check_state()
        require_array("classes_", self.classes_, None, (None,))
        if len(self.classes_) == 0:
            raise ValueError("classes_ is empty; at least one class is wanted")


class DiscreteBayes(NaiveBayesBase):
    """A model of counts; a subclass has `_count`, what it counts, and `_estimate`, what follows from the counts."""

    _takes_sparse = True

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.classifier_tags.poor_score = True
        return tags

    def _learn(self, X, codes, weight, classes, past):
        alpha = self._smoothing(X.shape[1])
        counted = self._count(X, codes, weight, len(classes))
        state = {"class_count_": class_counts(codes, weight, len(classes))}
        if past is not None:
            counted = self._together(counted, vars(past))
            state["class_count_"] += past.class_count_
        state |= counted
        with np.errstate(divide="ignore", invalid="ignore"):
            state |= self._estimate(state, alpha)
            state["class_log_prior_"] = self._log_prior(state["class_count_"])
        return state

    def _together(self, counted, past):
        return {name: count + past[name] for name, count in counted.items()}

    def _log_prior(self, count):
        if self.class_prior is not None:
            return np.log(as_priors("class_prior", self.class_prior, len(count)))
        return np.log(count) - np.log(count.sum()) if self.fit_prior else np.full(len(count), -np.log(len(count)))

    def _smoothing(self, d):
        alpha = np.asarray(self.alpha)
        if alpha.dtype.kind not in "iuf" or alpha.ndim > 1:
            raise TypeError(f"alpha is {self.alpha!r}; a number or one for each feature is wanted")
        if alpha.ndim and len(alpha) != d:
            raise ValueError(
                f"When alpha is an array, it should contains `n_features`. Got {len(alpha)} elements instead of {d}."
            )
        if not ((alpha >= 0) & (alpha < np.inf)).all():
            raise ValueError(f"All values in alpha must be greater than 0 and finite; alpha is {self.alpha!r}.")
        if not self.force_alpha and alpha.min() < 1e-10:
            warnings.warn(
                "alpha too small will result in numeric errors, setting alpha = 1.0e-10. Use `force_alpha=True` to keep"
                " alpha unchanged.",
                stacklevel=4,
            )
            alpha = np.maximum(alpha, 1e-10)
        return alpha if alpha.ndim else float(alpha)

    def _positive_sums(self, X, codes, weight, n_classes):
        sums = column_sums(X, codes, weight, n_classes, self.n_jobs)
        name = type(self).__name__
        if not np.isfinite(sums).all():
            require_finite(X, name)
        require_positive(X, name)
        return sums

    def _told(self, joint, X):
        """The joint, unless what is not finite in it came from X."""
        if not np.isfinite(joint.sum()):
            require_finite(X, type(self).__name__)
        return joint

    def _check_state(self):
        super()._check_state()
        shape = (len(self.classes_), self.n_features_in_)
        for name in ("class_count_", "class_log_prior_"):
            require_array(name, getattr(self, name), [np.float64], shape[:1])
        for name in ("feature_count_", "feature_log_prob_", "rate_"):
            if isinstance(getattr(self, name, None), np.ndarray):
                require_array(name, getattr(self, name), [np.float64], shape)
