"""Naive Bayes with different distributions for the columns."""

import numpy as np

from .._columns import as_columns
from .._csr import as_csr, is_sparse
from .._exceptions import of_column
from .._folds import is_leave_one_out, keeps_classes
from .._state_table import Array, Instance, List, Value, declare
from .._threads import copy_rows, map_rows, numbered_blocks, rows_at
from .._validation import as_generator, as_list, feature_names, require_choice, require_integer, require_number
from ..sums.class_sums import class_counts
from .base import NaiveBayesBase, among, as_priors, begin_joint, document, log_of
from .distributions import Options, log_dirichlet, without
from .rows import DISTRIBUTIONS, ColumnRows, SparseRows


@document
class NaiveBayes(NaiveBayesBase, shortcuts=True):
    """Naive Bayes with a distribution for each column: any mix of distributions, for tables of mixed types.

    Parameters
    ----------
    distributions : str, list of str or dict, default="auto"
        One for all columns, or a list with one for each, or a dict with names or indices of columns, or tuples of
        these, as keys (all other columns: "auto"). Each value is "gaussian", "poisson", "exponential", "bernoulli",
        "categorical", "histogram" (bins of equal widths), "quantile" (bins of equal counts), "mdl" (cuts that separate
        classes), "kernel" (a kernel density with normal densities), "multinomial" (one distribution over all columns
        with this value, or over the columns of a tuple), or "auto".
    alpha : float >= 0, default=1.0
        Added to each count; for rates, `alpha` rows of 1 are added.
    priors : None, "uniform" or array-like of shape (n_classes,), default=None
        None: the classes' shares of the rows.
    var_smoothing : float >= 0, default=1e-9
        This number times the column's variance over all classes is added to the variances of each column.
    bins : int >= 1, default=10
        The number of bins of "histogram" and "quantile".
    missing : {"error", "ignore"}, default="error"
        "ignore": missing values (NaN, None) are left out, in `fit` and in predictions.
    {n_jobs}

    Attributes
    ----------
    {shared}
    distributions_ : list of str
        The distribution of each column. "auto" chooses "categorical" for strings, "bernoulli" if all values are 0 or 1,
        "poisson" for integers from 0 up with variances within classes of 0.5 to 2 times their means, otherwise
        "gaussian"; for a sparse X "bernoulli" if all entries are 0 or 1, otherwise "multinomial".
    class_count_, class_prior_ : ndarray of shape (n_classes,)
    factors_ : list of list of int
        The columns of each factor of the density: one column, or all columns of a multinomial distribution.
    statistics_ : list of dict
        The statistics that each factor's distribution has learned.
    log_evidence_ : float
        log P(X, y | model), with the parameters integrated out; see Notes.

    Notes
    -----
    Fits and predictions take O(n d k) time, and additional time to sort for categories, quantiles and cuts; a kernel
    density takes about the square root of the number of rows of a class for each value in a prediction. Memory beyond X
    and the statistics is a column and some rows. The first batch of `partial_fit` determines the bins; `predict_folds`
    determines bins and the choices of "auto" separately for each fold.

    `alpha` also sets the priors of parameters in the evidence: for counts a Dirichlet prior, for rates a gamma
    distribution with shape and rate `alpha`, and for a Gaussian `alpha` rows with the mean and variance of the column.
    Prior probabilities of the classes, if they are learned, have a uniform prior. Cuts and bins are treated as given. A
    model with alpha=0 or a kernel density has no evidence.

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

    _state_table = declare(
        class_count_=Array("float64", "n_classes"),
        class_prior_=Array("float64", "n_classes"),
        distributions_=List("n_features", Value(require_choice, DISTRIBUTIONS)),
        # the density is a product of factors: for each of them, the list of its columns and the statistics of its
        # distribution
        factors_=List("n_factors", Instance(list)),
        statistics_=List("n_factors", Instance(dict)),
    )

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
        tags.input_tags.sparse = True
        return tags

    def _as_rows(self, X, owner):
        if is_sparse(X):
            return SparseRows(as_csr(X, owner))
        columns, missing = as_columns(X, owner)
        require_choice("missing", self.missing, ("error", "ignore"))
        for j, gone in enumerate(missing):
            if gone is not None and self.missing == "error":
                text = f"Input X contains NaN or None (row {gone.argmax()}, column {j})"
                raise of_column(ValueError(f"{text}; a value, or missing='ignore', is wanted"), j)
        return ColumnRows(columns, missing, feature_names(X))

    def _new_samples(self, X):
        return super()._new_samples(X).assign(self.distributions_, self.factors_)

    def _fitted_columns(self, X, rows):
        columns = {"n_features_in_": rows.shape[1], "distributions_": rows.kinds, "factors_": rows.factors}
        return columns | super()._fitted_columns(X, rows)

    def _options(self, places=None):
        return Options(self.alpha, self.var_smoothing, self.bins, self.n_jobs, places)

    def _checked(self, X, y, sample_weight, classes=None, more=False):
        rows, codes, weight, classes = super()._checked(X, y, sample_weight, classes, more)
        return rows if more else self._assigned(rows, codes, slice(None)), codes, weight, classes

    def _require_parameters(self):
        super()._require_parameters()
        require_number("alpha", self.alpha, 0)
        require_number("var_smoothing", self.var_smoothing, 0)
        require_integer("bins", self.bins, 1)

    def _check_parameters(self, d, n_classes):
        self._prior(np.ones(n_classes))

    def _wanted(self, table):
        """The requested distribution of each column, and the groups of columns that share a multinomial one."""
        wanted, d = self.distributions, table.shape[1]
        groups = []
        if isinstance(wanted, dict):
            position = {} if table.names is None else {name: j for j, name in enumerate(table.names)}
            chosen = ["auto"] * d
            for key, kind in wanted.items():
                group = [position.get(name, name) for name in (key if isinstance(key, tuple) else (key,))]
                if not all(isinstance(place, (int, np.integer)) and 0 <= place < d for place in group):
                    raise ValueError(
                        f"distributions names the column {key!r}, which X does not have; columns of X are wanted"
                    )
                for place in group:
                    chosen[place] = kind
                if isinstance(key, tuple) and kind == "multinomial":
                    groups.append(sorted(set(map(int, group))))
        else:
            chosen = [wanted] * d if isinstance(wanted, str) else as_list(wanted, "distributions")
        if len(chosen) != d:
            raise ValueError(f"distributions has {len(chosen)} entries; one for each of {d} columns is wanted")
        for kind in chosen:
            require_choice("distributions", kind, ("auto", *DISTRIBUTIONS))
        if len({place for group in groups for place in group}) < sum(map(len, groups)):
            raise ValueError("distributions has a column in two groups; groups without common columns are wanted")
        return chosen, groups

    def _assigned(self, table, codes, rows):
        """The table with the distribution of each column; for "auto" it is chosen by the listed rows alone."""
        kinds, groups = self._wanted(table)
        kinds = table.choose(kinds, codes, rows)
        rest = set(range(len(kinds))).difference(*groups)
        rest = [j for j in rest if kinds[j] == "multinomial"]
        groups += [rest] if rest else []
        table.require(kinds)
        for group in groups:
            for j in group:
                if table.missing[j] is not None:
                    text = f"column {j} of X has missing values, which no multinomial distribution can have"
                    raise of_column(ValueError(text), j)
        grouped = {place for group in groups for place in group}
        return table.assign(kinds, sorted([[j] for j in range(len(kinds)) if j not in grouped] + groups))

    def _sums(self, table, codes, weight, n_classes):
        statistics = table.learn(codes, weight, n_classes, self._options())
        return {"statistics_": statistics, "class_count_": class_counts(codes, weight, n_classes)}

    def _together(self, sums, more):
        factors = zip(sums["factors_"], sums["statistics_"], more["statistics_"])
        kinds = sums["distributions_"]
        return {
            "statistics_": [DISTRIBUTIONS[kinds[places[0]]].merge(*pair) for places, *pair in factors],
            "class_count_": sums["class_count_"] + more["class_count_"],
        }

    def _conclude(self, sums):
        return sums | {"class_prior_": self._prior(sums["class_count_"])}

    def _prior(self, count):
        if self.priors is None:
            return count / count.sum()
        if isinstance(self.priors, str):
            require_choice("priors", self.priors, ("uniform",))
            return np.full(len(count), 1 / len(count))
        return as_priors("priors", self.priors, len(count))

    def _require_mergeable(self, other):
        super()._require_mergeable(other)
        if (self.distributions_, self.factors_) != (other.distributions_, other.factors_):
            raise ValueError("other has different distributions; a model with the same ones is wanted")

    def _joint(self, table):
        joint = begin_joint(len(table), log_of(self.class_prior_))
        table.add(joint, self.statistics_, self._options())
        return joint

    @property
    def log_evidence_(self):
        self._require_fitted()
        kinds = [self.distributions_[first] for first, *_ in self.factors_]
        if "kernel" in kinds or not self.alpha > 0:
            what = "a kernel density" if "kernel" in kinds else "alpha=0"
            raise AttributeError(f"{self!r} has no log_evidence_: {what} defines no prior of its parameters")
        count = self.class_count_
        if self.priors is None:
            total = float(log_dirichlet(count[None], 1.0)[0])
        else:
            total = float((count * np.log(self.class_prior_, out=np.zeros_like(count), where=count > 0)).sum())
        for kind, places, state in zip(kinds, self.factors_, self.statistics_):
            total += DISTRIBUTIONS[kind].log_evidence(state, self._options(places))
        return total

    def _fold_joints(self, table, codes, weight, classes, folds):
        joint = np.empty((len(table), len(classes)))
        counts = np.array([class_counts(codes[fold], among(weight, fold), len(classes)) for fold in folds])
        add = table.other_folds(folds, codes, weight, len(classes), self._options())
        for number, fold in enumerate(folds):
            rest = np.delete(counts, number, axis=0).sum(axis=0)
            told = begin_joint(len(fold), log_of(self._prior(rest)))
            add(told, number, self._assigned(table, codes, np.delete(np.arange(len(table)), fold)))
            joint[fold] = np.where(rest > 0, told, -np.inf)
        return joint

    def _answers_without(self, name, values, X, y, fold):
        if not is_leave_one_out(fold):
            return super()._answers_without(name, values, X, y, fold)
        # one fit to all rows can predict each row without itself only if its distributions stay fixed when a row is
        # left out; "auto" may choose anew, also for columns that a dict does not name
        wanted = [self.distributions] if isinstance(self.distributions, str) else list(self.distributions)
        if isinstance(self.distributions, dict) or "auto" in wanted or not keeps_classes(fold, y):
            return None
        return [self.leave_one_out(X, y)]

    def leave_one_out(self, X, y, sample_weight=None):
        """The label of each row by a fit to all other rows; the estimator does not change.

        Each row is subtracted from one fit to all rows, whose choice of distributions is kept: O(n d k) time, O(n k)
        memory. Bins and kernel densities depend on all rows, and are learned again for each row. The parameters are
        those of `fit`.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
        """
        table, codes, weight, classes = self._checked(X, y, sample_weight)
        sums = self._sums(table, codes, weight, len(classes))
        count = without(sums["class_count_"], codes, 1 if weight is None else weight)
        if not count.sum(axis=1).all():
            raise ValueError("X has one row of weight above 0; at least two are wanted, as one is left out")
        prior = count / count.sum(axis=1, keepdims=True) if self.priors is None else self._prior(count[0])
        joint = np.array(np.broadcast_to(log_of(prior), count.shape))
        table.add_left(joint, sums["statistics_"], codes, weight, self._options())
        joint[count == 0] = -np.inf
        return rows_at(classes, map_rows(lambda rows: rows.argmax(axis=1), joint))

    def sample(self, n=1, random_state=None):
        """(X, y): n random rows from the model; X has shape (n, n_features), and dtype object if a column has strings.

        Parameters
        ----------
        n : int >= 1, default=1
        random_state : int, numpy Generator or None
        """
        self._require_fitted()
        rng = as_generator(random_state)
        codes = rng.choice(len(self.classes_), require_integer("n", n, 1), p=self.class_prior_)
        X = np.empty((n, self.n_features_in_), object)
        for places, state in zip(self.factors_, self.statistics_):
            distribution = DISTRIBUTIONS[self.distributions_[places[0]]]
            for k in np.unique(codes):
                rows = np.flatnonzero(codes == k)
                try:
                    drawn = distribution.sample(state, k, len(rows), rng, self._options(places))
                except (OverflowError, ValueError) as error:
                    where = f"distribution {self.distributions_[places[0]]!r} of column {places[0]}"
                    raise ValueError(
                        f"{where} has numbers that are too large or not finite for a draw: {error}"
                    ) from error
                for i, block in numbered_blocks(drawn.reshape(len(rows), len(places))):
                    X[np.ix_(rows[i], places)] = block
        texts = any(isinstance(value, str) for value in X[0])
        return X if texts else copy_rows(X, np.empty(X.shape)), rows_at(self.classes_, codes)

    def _check_rest(self, sizes, entries):
        if sorted(place for places in self.factors_ for place in places) != list(range(self.n_features_in_)):
            raise ValueError("factors_ does not contain each column of X exactly once")
        for i, (places, state) in enumerate(zip(self.factors_, self.statistics_)):
            kind = DISTRIBUTIONS[self.distributions_[places[0]]]
            kind.statistics.check(f"statistics_[{i}]", state, sizes, entries)
