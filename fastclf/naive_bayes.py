"""Naive Bayes with a distribution of its own for each column."""

import numpy as np

from ._bayes_base import SHARED, NaiveBayesBase, as_priors
from ._columns import as_columns, is_missing
from ._distributions import DISTRIBUTIONS
from ._estimator import _different_names
from ._statistics import class_counts, encode
from ._validation import (
    as_sample_weight,
    as_targets,
    feature_names,
    require_array,
    require_choice,
    require_integer,
    require_number,
)


class NaiveBayes(NaiveBayesBase):
    """Naive Bayes with a distribution for each column: any mix of them in one model, tables of mixed types as they are.

    Parameters
    ----------
    distributions : str, list of str or dict, default="auto"
        One for all columns, one for each, or by name or position of a column (the others: "auto"). Each is "gaussian",
        "poisson", "exponential", "bernoulli", "categorical", "histogram" (bins of equal widths), "quantile" (of equal
        counts), "mdl" (cut where it pays to tell classes apart), "kernel" (a normal density about each value), "auto".
    alpha : float >= 0, default=1.0
        Added to each count; to rates, as many rows of 1.
    priors : None, "uniform" or array-like of shape (n_classes,), default=None
        None: the classes' shares of the rows.
    var_smoothing : float >= 0, default=1e-9
        This times a column's variance over all classes is added to its variances, column by column.
    bins : int >= 1, default=10
        Bins of "histogram" and "quantile".
    missing : {"error", "ignore"}, default="error"
        "ignore": a value that is missing (NaN, None) is left out, in `fit` and where it is asked about.
    n_jobs : int, default=None
        Threads; None: all CPUs. No result depends on it.

    Attributes
    ----------
    {shared}
    distributions_ : list of str
        The distribution of each column. "auto" takes "categorical" for strings, "bernoulli" where all is 0 or 1,
        "poisson" for integers from 0 up whose variance within classes is 0.5 to 2 times their mean, else "gaussian".
    class_count_, class_prior_ : ndarray of shape (n_classes,)
    statistics_ : list of dict
        What each column's distribution knows.

    Notes
    -----
    Time O(n d k) beside the sorting for categories, quantiles and cuts; a kernel density costs the distinct values of a
    class times those that are asked about. Bins are those of the first batch of `partial_fit`.

    References
    ----------
    John, Langley (1995), Estimating continuous distributions in Bayesian classifiers. Fayyad, Irani (1993),
    Multi-interval discretization of continuous-valued attributes.

    Examples
    --------
    >>> from fastclf import NaiveBayes
    >>> X, y = [[3.4, 10], [1.1, 9], [0, 10], [-2.1, 13]], [1, 1, -1, -1]
    >>> model = NaiveBayes(["gaussian", "poisson"], alpha=0).fit(X, y)
    >>> model.predict([[-1, 12]]), model.predict_proba([[-1, 12]])[0, 1].round(5)
    (array([-1]), np.float64(0.01242))
    """

    def __init__(
        self,
        distributions="auto",
        *,
        alpha=1.0,
        priors=None,
        var_smoothing=1e-9,
        bins=10,
        missing="error",
        n_jobs=None,
    ):
        self._take(locals())

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.missing == "ignore"
        return tags

    def _columns(self, X):
        columns = as_columns(X, type(self).__name__)
        require_choice("missing", self.missing, ("error", "ignore"))
        for j, column in enumerate(columns):
            if self.missing == "error" and is_missing(column).any():
                [row, *_] = np.flatnonzero(is_missing(column))
                raise ValueError(
                    f"Input X contains NaN or None (row {row}, column {j}); a value, or missing='ignore', is wanted"
                )
        return columns

    def _options(self, column):
        return {
            "alpha": require_number("alpha", self.alpha, 0),
            "var_smoothing": require_number("var_smoothing", self.var_smoothing, 0),
            "bins": require_integer("bins", self.bins, 1),
            "n_jobs": self.n_jobs,
            "column": f"column {column} of X",
        }

    def _wanted(self, columns, names, codes):
        """The distribution of each column."""
        wanted, d = self.distributions, len(columns)
        if isinstance(wanted, dict):
            places = {name: j for j, name in enumerate(names)} if names is not None else {}
            chosen = ["auto"] * d
            for key, kind in wanted.items():
                place = places.get(key, key)
                if not isinstance(place, (int, np.integer)) or not 0 <= place < d:
                    raise ValueError(f"distributions names the column {key!r}, which X does not have")
                chosen[place] = kind
        else:
            chosen = [wanted] * d if isinstance(wanted, str) else list(wanted)
        if len(chosen) != d:
            raise ValueError(f"distributions has {len(chosen)} entries; one for each of {d} columns is wanted")
        for kind in chosen:
            require_choice("distributions", kind, ("auto", *DISTRIBUTIONS))
        chosen = [choose(column, codes) if kind == "auto" else kind for kind, column in zip(chosen, columns)]
        for j, (kind, column) in enumerate(zip(chosen, columns)):
            if column.dtype.kind == "O" and kind != "categorical":
                raise ValueError(f"column {j} of X holds strings; numbers are wanted for distribution {kind!r}")
        return chosen

    def _fit(self, X, y, sample_weight, known, kinds):
        columns = self._columns(X)
        n, name = len(columns[0]), type(self).__name__
        y = as_targets(y, n, name, labels=True)
        if y.ndim != 1:
            raise ValueError(f"y should be a 1d array, got an array of shape {y.shape} instead.")
        weight = as_sample_weight(sample_weight, n)
        if weight is not None and not weight.any():
            raise ValueError("sample_weight is zero everywhere; a weight above 0 is wanted")
        classes, codes = encode(y)
        if known is not None:
            if not np.isin(classes, known).all():
                raise ValueError(f"y has labels that are not among the classes {known}")
            codes, classes = np.searchsorted(known, classes).astype(np.int32)[codes], known
        names = feature_names(X)
        kinds = kinds or self._wanted(columns, names, codes)
        count = class_counts(codes, weight, len(classes))
        attributes = {"classes_": classes, "n_features_in_": len(columns), "distributions_": kinds}
        if names is not None:
            attributes["feature_names_in_"] = names
        statistics = []
        for j, (kind, column) in enumerate(zip(kinds, columns)):
            there = ~is_missing(column)
            known_weight = None if weight is None else weight[there]
            statistics.append(
                DISTRIBUTIONS[kind].learn(column[there], codes[there], known_weight, len(classes), self._options(j))
            )
        return attributes | {
            "statistics_": statistics,
            "class_count_": count,
            "class_prior_": self._prior(count),
        }

    def _prior(self, count):
        if self.priors is None:
            return count / count.sum()
        if isinstance(self.priors, str):
            require_choice("priors", self.priors, ("uniform",))
            return np.full(len(count), 1 / len(count))
        return as_priors("priors", self.priors, len(count))

    def fit(self, X, y, sample_weight=None):
        """Learn from rows.

        Parameters
        ----------
        X : array-like or table of shape (n_samples, n_features)
            Columns of numbers, bools or strings.
        y : array-like of shape (n_samples,)
            Labels: anything sortable.
        sample_weight : array-like of shape (n_samples,), default=None
            How often each row counts, from 0 up.

        Returns
        -------
        self
        """
        return self._become(**self._fit(X, y, sample_weight, None, None))

    def merge(self, other):
        """A model of the rows of both, which have the same classes and distributions: sums are added.

        Counts are exact, moments to rounding.

        Parameters
        ----------
        other : NaiveBayes, fitted

        Returns
        -------
        merged : NaiveBayes
        """
        self._require_fitted()
        other._require_fitted()
        if not np.array_equal(self.classes_, other.classes_) or self.distributions_ != other.distributions_:
            raise ValueError("other has other classes or distributions; a model with the same ones is wanted")
        count = self.class_count_ + other.class_count_
        state = {name: value for name, value in vars(self).items() if name.endswith("_")}
        state["class_count_"], state["class_prior_"] = count, self._prior(count)
        state["statistics_"] = [
            DISTRIBUTIONS[kind].merge(*pair)
            for kind, *pair in zip(self.distributions_, self.statistics_, other.statistics_)
        ]
        return type(self)(**self.get_params(deep=False))._become(**state)

    def partial_fit(self, X, y, classes=None, sample_weight=None):
        """Learn from more rows, with the distributions of the first; `classes`: all that may come.

        Histograms keep the bins of the first rows, and so their counts of more rows.

        Returns
        -------
        self
        """
        if not hasattr(self, "classes_"):
            if classes is None:
                raise ValueError("classes must be passed on the first call to partial_fit.")
            return self._become(**self._fit(X, y, sample_weight, np.unique(classes), None))
        self._asked_columns(X)
        new = type(self)(**self.get_params(deep=False))
        fitted = new._fit(X, y, sample_weight, self.classes_, self.distributions_)
        merged = self.merge(new._become(**fitted))
        return self._become(**{name: value for name, value in vars(merged).items() if name.endswith("_")})

    def _asked_columns(self, X):
        self._require_fitted()
        names, fitted = feature_names(X), getattr(self, "feature_names_in_", None)
        if names is not None and fitted is not None and not np.array_equal(names, fitted):
            raise ValueError(_different_names(fitted, names))
        columns = self._columns(X)
        if len(columns) != self.n_features_in_:
            raise ValueError(
                f"X has {len(columns)} features, but {type(self).__name__} is expecting {self.n_features_in_} features"
                " as input"
            )
        for j, (kind, column) in enumerate(zip(self.distributions_, columns)):
            if column.dtype.kind == "O" and kind != "categorical":
                raise ValueError(f"column {j} of X holds strings; numbers are wanted for distribution {kind!r}")
        return columns

    def _ask(self, X):
        columns = self._asked_columns(X)
        joint = self._begin_joint(columns[0], self.class_prior_)
        for j, (kind, state, column) in enumerate(zip(self.distributions_, self.statistics_, columns)):
            there = ~is_missing(column)
            if there.any():
                joint[there] += DISTRIBUTIONS[kind].score(state, column[there], self._options(j))
        return joint

    def leave_one_out(self, X, y, sample_weight=None):
        """For each row, the label that a fit of all other rows predicts; the estimator is left as it is.

        By subtraction from one fit, with the distributions that it chose. Bins and kernel densities, which depend on
        all rows, are refused. Takes what `fit` takes; time O(n d k), memory O(n k).

        Returns
        -------
        labels : ndarray of shape (n_samples,)
        """
        fitted = type(self)(**self.get_params(deep=False)).fit(X, y, sample_weight)
        kinds, classes = fitted.distributions_, fitted.classes_
        for kind in kinds:
            if not hasattr(DISTRIBUTIONS[kind], "left"):
                raise ValueError(f"distributions has {kind!r}, from which a row cannot be subtracted")
        columns = self._columns(X)
        codes = np.searchsorted(classes, np.asarray(y).ravel())
        weight = as_sample_weight(sample_weight, len(codes))
        count = np.tile(fitted.class_count_, (len(codes), 1))
        count[np.arange(len(codes)), codes] -= 1 if weight is None else weight
        if not count.sum(axis=1).all():
            raise ValueError("X has one row with a weight; at least two are wanted, of which one is left out")
        with np.errstate(divide="ignore"):
            joint = np.log(count / count.sum(axis=1, keepdims=True) if self.priors is None else fitted.class_prior_)
        joint = np.array(np.broadcast_to(joint, count.shape))
        for j, (kind, state, column) in enumerate(zip(kinds, fitted.statistics_, columns)):
            there = ~is_missing(column)
            own = None if weight is None else weight[there]
            joint[there] += DISTRIBUTIONS[kind].left(state, column[there], codes[there], own, self._options(j))
        joint[count == 0] = -np.inf
        return classes[joint.argmax(axis=1)]

    def sample(self, n=1, random_state=None):
        """(X, y): n rows drawn from the model, X of shape (n, n_features), of objects where a column holds strings.

        Parameters
        ----------
        n : int >= 1, default=1
        random_state : int, numpy Generator or None
        """
        self._require_fitted()
        rng = np.random.default_rng(random_state)
        codes = rng.choice(len(self.classes_), require_integer("n", n, 1), p=self.class_prior_)
        columns = []
        for j, (kind, state) in enumerate(zip(self.distributions_, self.statistics_)):
            column = np.empty(n, object)
            for k in np.unique(codes):
                column[codes == k] = DISTRIBUTIONS[kind].sample(state, k, (codes == k).sum(), rng, self._options(j))
            columns.append(column)
        X = np.stack(columns, axis=1)
        texts = any(isinstance(value, str) for value in X[0])
        return X if texts else X.astype(np.float64), self.classes_[codes]

    def _check_state(self):
        super()._check_state()
        shape = (len(self.classes_),)
        for name in ("class_count_", "class_prior_"):
            require_array(name, getattr(self, name), [np.float64], shape)
        if len(self.statistics_) != self.n_features_in_ or len(self.distributions_) != self.n_features_in_:
            raise ValueError(f"statistics_ and distributions_ do not have {self.n_features_in_} entries")
        for kind in self.distributions_:
            require_choice("distributions_", kind, tuple(DISTRIBUTIONS))


NaiveBayes.__doc__ = NaiveBayes.__doc__.replace("{shared}", SHARED)


def choose(column, codes):
    """The distribution that "auto" takes for a column."""
    known = ~is_missing(column)
    x, codes = column[known], codes[known]
    if x.dtype.kind == "O":
        return "categorical"
    if x.dtype.kind == "b" or (len(x) and ((x == 0) | (x == 1)).all()):
        return "bernoulli"
    if x.dtype.kind in "iu" and len(x) and x.min() >= 0:
        count = np.maximum(np.bincount(codes), 1)
        mean = np.bincount(codes, x) / count
        within = np.average((x - mean[codes]) ** 2)
        if 0.5 * x.mean() <= within <= 2 * x.mean():
            return "poisson"
    return "gaussian"
