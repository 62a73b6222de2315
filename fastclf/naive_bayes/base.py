"""The base of naive Bayes estimators: checks of labels and weights, sums, merging, and posterior probabilities."""

import inspect

import numpy as np

from .._csr import Csr
from .._estimator import Classifier, clone
from .._exceptions import warn
from .._folds import keeps_classes, rows_of_folds
from .._labels import as_label_vector, declared_classes, encode_known
from .._snapshot import snapshot
from .._state_table import Array, declare
from .._threads import aside_if_many, blocks, rows_at
from .._validation import as_array, as_matrix, as_sample_weight, described, encode_groups, encode_labels, require_choice
from ..sums.blocks import added, over_rows
from ..sums.class_sums import as_number_rows, class_count_spans, column_sum_spans, require_finite, span_bounds
from ..sums.layout import by_column
from ..sums.screens import is_worth_screening, screen_for
from .joints import add_linear, decide, few_codes, is_few, normalise, require_positive, row_work

# The largest number of folds for which the fit without a fold comes from the merged statistics of the other folds; two
# merges for each fold give all of these fits.
_MANY_FOLDS = 100

# Rows are classified block by block, so that the log joints of a block stay in a cache until its classes are decided. A
# block has about this number of log joints: one for each row and class.
_JOINTS = 1 << 17

METHODS = ("predict", "predict_proba", "predict_log_proba", "predict_joint_log_proba")

# Parts of docstrings that estimators share; a docstring has the name of a part in braces.
_TEXTS = {
    "shared": """classes_ : ndarray of shape (n_classes,)
n_features_in_ : int
feature_names_in_ : ndarray of str
    Only when X was a table with string column names.""",
    "parameters": """alpha : float >= 0 or array-like of shape (n_features,), default=1.0
    Added to each count (Laplace, Lidstone smoothing); 0: maximum likelihood.
force_alpha : bool, default=True
    False: an `alpha` below 1e-10 is replaced by 1e-10.
fit_prior : bool, default=True
    Whether the prior probabilities are the classes' shares of the rows; otherwise they are uniform.
class_prior : array-like of shape (n_classes,), default=None
    Prior probabilities of the classes, which replace those of `fit_prior`.
{n_jobs}""",
    "n_jobs": """n_jobs : int, default=None
    Threads; None: all CPUs. No result depends on it.""",
}


def document(cls):
    """A class decorator that inserts the shared parts into the docstring of a class."""
    doc = inspect.getdoc(cls) or ""
    for name, text in _TEXTS.items():
        doc = doc.replace("{" + name + "}", text)
    cls.__doc__ = doc
    return cls


def as_priors(name, values, n_classes):
    """Prior probabilities from the user, as float64: one for each class, not negative, with the sum 1."""
    try:
        priors = np.array(values, np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{name} is {described(values)}; an array of {n_classes} probabilities is wanted") from None
    if priors.shape != (n_classes,):
        raise ValueError(
            f"Number of priors must match number of classes: {name} has shape {priors.shape}, not ({n_classes},)."
        )
    if not (priors >= 0).all():
        raise ValueError(f"Priors must be non-negative: {name} has {priors[~(priors >= 0)][0]}.")
    if not np.isclose(priors.sum(), 1):
        raise ValueError(f"The sum of the priors should be 1; that of {name} is {priors.sum()}.")
    return priors


def all_but_one(parts, merge):
    """For each part the merge of all other parts, by about two merges per part and without subtraction."""
    after = [None]
    for part in reversed(parts[1:]):
        after.append(part if after[-1] is None else merge(part, after[-1]))
    before = None
    for part in parts:
        rest = after.pop()
        yield rest if before is None else before if rest is None else merge(before, rest)
        before = part if before is None else merge(before, part)


def rows_by_fold(folds, weight, n):
    """The numbers of the rows in each fold, ascending."""
    folds = as_array(folds, "folds")
    if folds.shape != (n,):
        raise ValueError(f"folds has shape {folds.shape}; ({n},), the fold of each row, is wanted")
    rows = rows_of_folds(encode_groups(folds, "folds")[1])
    if sum(weight is None or weight[fold].any() for fold in rows) < 2:
        raise ValueError("folds has fewer than two folds with a row of weight above 0; at least two are wanted")
    return rows


def among(weight, rows):
    """The weights of the listed rows, or None if all rows have the weight 1."""
    return None if weight is None else weight[rows]


def begin_joint(n, log_prior):
    """An array (n, n_classes) whose rows are the logarithms of the priors."""
    joint = np.empty((n, len(log_prior)))
    for block in blocks(joint):
        block[:] = log_prior
    return joint


def log_of(prior):
    """The logarithms of probabilities; -inf for 0."""
    with np.errstate(divide="ignore"):
        return np.log(prior)


class NaiveBayesBase(Classifier):
    """The base of naive Bayes classifiers. A subclass has parameters and these methods:

    _as_rows(X, owner)                 X as rows, in the form that the other methods take
    _check_parameters(d, n_classes)    refuses wrong parameters before any work
    _sums(X, codes, weight, n_classes) the sufficient statistics of rows, as attributes that can be added
    _together(sums, more)              the sufficient statistics of the union of two sets of rows
    _conclude(sums)                    all attributes that follow from sufficient statistics
    _joint(X)                          log P(x, class)
    """

    _takes_sparse = False

    _state_table = declare(classes_=Array("any", "n_classes", least=1))

    def _as_rows(self, X, owner):
        return as_number_rows(X, owner) if self._takes_sparse or not hasattr(X, "tocsr") else as_matrix(X, owner)

    def _checked_labels(self, y, n, sample_weight, classes):
        """The (codes, weight, classes) of the rows of a fit; `classes`: all labels that may occur, or None."""
        y = as_label_vector(y, n, type(self).__name__)
        weight = as_sample_weight(sample_weight, n)
        classes, codes = encode_labels(y) if classes is None else (classes, encode_known(classes, y))
        return aside_if_many(len(codes), codes.astype, np.int32), weight, classes

    def _checked(self, X, y, sample_weight, classes=None, more=False):
        """The checked (rows, codes, weight, classes) of a fit; more: whether X must have the columns of `fit`."""
        rows = self._new_samples(X) if more else self._as_rows(X, type(self).__name__)
        codes, weight, classes = self._checked_labels(y, len(rows), sample_weight, classes)
        self._check_parameters(rows.shape[1], len(classes))
        return rows, codes, weight, classes

    def fit(self, X, y, sample_weight=None):
        """Learn from rows, which are read once.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Numbers in an array of any type or a table; estimators of counts also take a SciPy sparse matrix, and
            NaiveBayes columns of bools and strings.
        y : array-like of shape (n_samples,)
            Labels of any type that can be sorted.
        sample_weight : array-like of shape (n_samples,), default=None
            The multiplicity of each row, from 0 up.

        Returns
        -------
        self
        """
        rows, codes, weight, classes = self._checked(X, y, sample_weight)
        learned = self._conclude(self._sums(rows, codes, weight, len(classes)))
        return self._become(classes_=classes, **self._fitted_columns(X, rows), **learned)

    def partial_fit(self, X, y, classes=None, sample_weight=None):
        """Learn from more rows. The result is that of one fit to all rows, except that the first rows determine the
        bins.

        Parameters
        ----------
        X, y, sample_weight : as for `fit`
        classes : array-like of shape (n_classes,), default=None
            All labels that may occur; required in the first call.

        Returns
        -------
        self
        """
        fitted = getattr(self, "classes_", None)
        classes = declared_classes(classes, fitted)
        rows, codes, weight, known = self._checked(X, y, sample_weight, classes, more=fitted is not None)
        sums = self._sums(rows, codes, weight, len(known))
        if fitted is None:
            return self._become(classes_=known, **self._fitted_columns(X, rows), **self._conclude(sums))
        vars(self).update(self._conclude(self._together(vars(self), sums)))
        return self

    def merge(self, other):
        """The model of the rows of two models with the same classes and columns, from the sum of their statistics.

        Counts are exact; means and variances are correct up to rounding.

        Parameters
        ----------
        other : fitted estimator of this class

        Returns
        -------
        merged : a new estimator, with the parameters of this one
        """
        self._require_mergeable(other)
        other = snapshot(other)
        self._check_parameters(self.n_features_in_, len(self.classes_))
        parameters, merged = self.get_params(), clone(self)
        state = {name: value for name, value in self.__getstate__().items() if name not in parameters}
        return merged._become(**state | merged._conclude(self._together(state, vars(other))))

    def _require_mergeable(self, other):
        self._require_fitted()
        if type(other) is not type(self):
            raise TypeError(f"other is {described(other)}; a fitted {type(self).__name__} is wanted")
        other._require_fitted()
        if not np.array_equal(self.classes_, other.classes_) or self.n_features_in_ != other.n_features_in_:
            raise ValueError("other has different classes or a different number of columns; the same are wanted")

    def predict_folds(self, X, y, folds, sample_weight=None, method="predict"):
        """The prediction for each row by a fit to all rows of the other folds; the estimator does not change.

        Each fold is read once, and the sums of the others are merged, so that k folds cost about one fit and one
        prediction. A class whose rows are all in one fold is impossible for this fold.

        Parameters
        ----------
        X, y, sample_weight : as for `fit`
        folds : array-like of shape (n_samples,)
            The fold of each row: numbers, groups or other labels that can be sorted, at least two different ones.
        method : {"predict", "predict_proba", "predict_log_proba", "predict_joint_log_proba"}, default="predict"

        Returns
        -------
        predictions : ndarray of shape (n_samples,) or (n_samples, n_classes)
            The answer of `method` for each row.
        """
        require_choice("method", method, METHODS)
        rows, codes, weight, classes = self._checked(X, y, sample_weight)
        folds = rows_by_fold(folds, weight, len(rows))
        joint = self._fold_joints(rows, codes, weight, classes, folds)
        return clone(self)._become(classes_=classes)._answer(method, joint)

    def _answers_without(self, name, values, X, y, fold):
        if not keeps_classes(fold, y) or fold.max() >= _MANY_FOLDS:
            return None
        return [self.predict_folds(X, y, fold)]

    def _fold_joints(self, rows, codes, weight, classes, folds):
        parts = [self._sums(rows[fold], codes[fold], among(weight, fold), len(classes)) for fold in folds]
        joint = np.empty((len(rows), len(classes)))
        model = clone(self)
        for fold, sums in zip(folds, all_but_one(parts, self._together)):
            model._become(classes_=classes, n_features_in_=rows.shape[1], **self._conclude(sums))
            joint[fold] = np.where(model.class_count_ > 0, model._joint(rows[fold]), -np.inf)
        return joint

    def _ask(self, X):
        if "_joint_log_likelihood" in self._own_methods:
            self._require_fitted()
            self._new_samples(X)
            return np.array(self._joint_log_likelihood(X if hasattr(X, "tocsr") else as_array(X, "X")), np.float64)
        return self._joint_log_likelihood(X)

    def _joint_log_likelihood(self, X):
        """log P(x, class) of rows; a subclass may define it, as subclasses of scikit-learn's naive Bayes do."""
        self._require_fitted()
        return self._joint(self._new_samples(X))

    def predict_joint_log_proba(self, X):
        """log P(x, class), of shape (n_samples, n_classes)."""
        return self._ask(X)

    def predict(self, X):
        """The most probable label of each row, of shape (n_samples,); of equally probable ones the first."""
        if "_joint_log_likelihood" in self._own_methods:
            return self._answer("predict", self._ask(X))
        self._require_fitted()
        return rows_at(self.classes_, self._decided(self._new_samples(X)))

    def _decided(self, X):
        """The class code of each row."""
        return decide(self._joint(X), self.n_jobs)

    def predict_log_proba(self, X):
        """log P(class | x), of shape (n_samples, n_classes).

        If all classes are impossible, they get equal probabilities.
        """
        return self._answer("predict_log_proba", self._ask(X))

    def predict_proba(self, X):
        """P(class | x), of shape (n_samples, n_classes)."""
        if "predict_log_proba" in self._own_methods:
            return np.exp(self.predict_log_proba(X))
        return self._answer("predict_proba", self._ask(X))

    def _answer(self, method, joint):
        """The result of a prediction method, from log P(x, class) of the rows (`joint`, which may be overwritten)."""
        if method == "predict":
            return rows_at(self.classes_, decide(joint, self.n_jobs))
        return joint if method == METHODS[-1] else normalise(joint, self.n_jobs, method == "predict_log_proba")


# The smoothing parameter alpha is at least this number with force_alpha=False, as in scikit-learn.
_LEAST_ALPHA = 1e-10


class DiscreteBayes(NaiveBayesBase):
    """Naive Bayes with distributions of counts. A subclass has these methods:

    _estimate(state, alpha)   the attributes that follow from the counts
    _linear()                 the log density as a Linear
    """

    _takes_sparse = _positive_only = True

    _state_table = declare(
        class_count_=Array("float64", "n_classes"),
        class_log_prior_=Array("float64", "n_classes"),
    )

    def __init__(self, *, alpha=1.0, force_alpha=True, fit_prior=True, class_prior=None, n_jobs=None):
        self._take(locals())

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self._takes_sparse
        tags.input_tags.positive_only = self._positive_only
        tags.classifier_tags.poor_score = True
        return tags

    def _sums(self, X, codes, weight, n_classes):
        first = self._first_cells(X)
        bounds = span_bounds(len(X), X.size, n_classes * self._n_cells(X.shape[1], first))
        return self._of_spans(self._spans(X, codes, weight, n_classes, bounds, first), first)

    # The sums over rows are computed for spans (ranges) of rows, and added in the order of the spans. The methods that
    # compute and add them are also called by `fastclf.dask`, where each worker has its own spans.

    def _first_cells(self, X):
        """For counts of categories: the index of each column's first count, and the number of counts; else None."""

    def _n_cells(self, d, first):
        """The number of sums kept for each class: one for each column or, with categories, for each category."""
        return d

    def _spans(self, X, codes, weight, n_classes, bounds, first):
        """For each span (range) of rows, the pair (weights by class, sums of the columns), after a check of X."""
        threshold, name = self._threshold(), type(self).__name__
        sums = column_sum_spans(X, codes, weight, n_classes, self.n_jobs, bounds, threshold)
        if threshold is not None or not all(np.isfinite(span).all() for span in sums):
            require_finite(X, name)
        if self._positive_only:
            require_positive(X, name)
        return list(zip(class_count_spans(codes, weight, n_classes, bounds), sums))

    def _of_spans(self, spans, first):
        """The sum of the statistics of all spans of rows; the arrays of the first span are overwritten."""
        counts, sums = map(added, zip(*spans))
        return {"class_count_": counts, "feature_count_": sums}

    def _together(self, sums, more):
        return {name: sums[name] + more[name] for name in ("class_count_", "feature_count_")}

    def _conclude(self, sums):
        with np.errstate(divide="ignore", invalid="ignore"):
            log_prior = self._log_prior(sums["class_count_"])
            found = self._estimate(sums, self._smoothing())
        # predictions of sparse rows read the logarithms of a column, of all classes, which are then adjacent
        if isinstance(found.get("feature_log_prob_"), np.ndarray):
            found["feature_log_prob_"] = by_column(found["feature_log_prob_"])
        return sums | found | {"class_log_prior_": log_prior}

    def _log_prior(self, count):
        if self.class_prior is not None:
            return np.log(as_priors("class_prior", self.class_prior, len(count)))
        return np.log(count) - np.log(count.sum()) if self.fit_prior else np.full(len(count), -np.log(len(count)))

    def _check_parameters(self, d, n_classes):
        alpha = as_array(self.alpha, "alpha")
        if alpha.dtype.kind not in "iuf" or alpha.ndim > 1:
            raise TypeError(f"alpha is {described(self.alpha)}; a number or one for each feature is wanted")
        if alpha.ndim and len(alpha) != d:
            raise ValueError(
                f"When alpha is an array, it should contains `n_features`. Got {len(alpha)} elements instead of {d}."
            )
        if not ((alpha >= 0) & (alpha < np.inf)).all():
            raise ValueError(
                f"All values in alpha must be greater than 0 and finite; alpha is {described(self.alpha)}."
            )
        if not self.force_alpha and alpha.min() < _LEAST_ALPHA:
            warn(
                "alpha too small will result in numeric errors, setting alpha = 1.0e-10. Use `force_alpha=True` to keep"
                " alpha unchanged."
            )
        if self.class_prior is not None:
            as_priors("class_prior", self.class_prior, n_classes)

    def _smoothing(self):
        alpha = np.asarray(self.alpha) if self.force_alpha else np.maximum(self.alpha, _LEAST_ALPHA)
        return alpha if alpha.ndim else float(alpha)

    def _threshold(self):
        """The threshold above which an entry counts as 1, or None if entries are used as they are."""

    def _joint(self, X):
        """The log joints log P(x, class) of rows, by the linear scores (`Linear`) that the subclass defines."""
        rows, form = self._form(X)
        joint = self._linear_joint(rows, form, self._begin() + form.constant, self.n_jobs)
        self._require_sound(X, joint.sum())
        return joint

    def _linear_joint(self, X, form, begin, n_jobs):
        """The log joints of rows by linear scores, which begin with `begin`, without a check of X."""
        joint = begin_joint(len(X), begin)
        add_linear(joint, X, form, n_jobs, self._threshold())
        return joint

    def _form(self, X):
        """(rows, the `Linear` of these rows); rows of X with only some columns if that takes less time."""
        return X, self._linear()

    def _begin(self):
        """What each log joint begins with: the logarithm of the class's prior probability."""
        return self.class_log_prior_

    def _require_sound(self, X, total):
        """Refuse NaN and infinity, which X is searched for if the sum of all log joints, `total`, is not finite.

        With a threshold X is always searched, because a binarised NaN leaves no trace in the sum.
        """
        if self._threshold() is not None or not np.isfinite(total):
            require_finite(X, type(self).__name__)

    def _decided(self, X):
        # a block has at least as many rows as X has columns, so that the coefficients, which are copied for it, do not
        # count
        n_classes, size = len(self.classes_), max(_JOINTS // len(self.classes_), X.shape[1])
        if is_few(X, n_classes) and type(self)._joint is DiscreteBayes._joint:
            form = self._linear()
            if form.always is None or not form.always.any():
                codes = few_codes(X, self._begin() + form.constant, form.coef, threshold=self._threshold())
                if codes is not None:
                    return codes
        few = len(X) <= size and not is_worth_screening(X, n_classes)
        if few or isinstance(X, Csr) or type(self)._joint is not DiscreteBayes._joint:
            return super()._decided(X)
        form, codes = self._linear(), np.empty(len(X), np.intp)
        begin = self._begin() + form.constant
        decide_rows = self._screen(X, form, begin, codes) or self._by_blocks(X, form, begin, codes, size)
        totals = over_rows(decide_rows, X, row_work(n_classes), self.n_jobs)
        self._require_sound(X, sum(totals))
        return codes

    # The functions of (start, stop) that these two methods return write the codes of rows, and return a sum that is not
    # finite if a log joint is not.

    def _screen(self, X, form, begin, codes):
        """A function that decides by screens in float32, and by log joints where these are near; or None."""
        if not is_worth_screening(X, len(begin)) or (form.always is not None and form.always.any()):
            return None

        def exact(rows):
            joint = self._linear_joint(rows, form, begin, 1)
            return decide(joint, 1), joint.sum()

        with np.errstate(invalid="ignore"):
            # what all classes have in common decides nothing, and would make the screens less exact
            coef, intercept = form.coef - form.coef.mean(axis=0), begin - begin.mean()
        threshold, more = self._threshold(), {}
        if threshold is not None:
            more["as_floats"] = lambda rows: (rows > threshold).astype(np.float32)
        screen = screen_for(X, coef, intercept, exact, **more)
        return None if screen is None else lambda start, stop: screen.choose(start, stop, codes)

    def _by_blocks(self, X, form, begin, codes, size):
        """A function that decides by the log joints of `size` rows: those of all would take long to write to memory."""

        def decide_rows(start, stop):
            total = 0.0
            for first in range(start, stop, size):
                rows = slice(first, min(first + size, stop))
                joint = self._linear_joint(X[rows], form, begin, 1)
                codes[rows] = decide(joint, 1)
                total += joint.sum()
            return total

        return decide_rows
