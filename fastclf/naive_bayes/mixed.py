"""Naive Bayes with a distribution of its own for each column."""

import numpy as np

from .._columns import as_columns
from .._csr import as_csr, is_sparse
from .._estimator import _different_names, clone
from .._folds import is_leave_one_out, keeps_classes
from .._labels import declared_classes
from .._state_table import Array, Instance, List, Value, declare
from .._threads import ranges, run
from .._validation import feature_names, require_choice, require_integer, require_number
from ..sums.class_sums import class_counts, threads_for
from .base import SHARED, NaiveBayesBase, all_but_one, among, as_priors, begin_joint
from .counted_cells import Histogram
from .distributions import Options, log_dirichlet
from .rows import DISTRIBUTIONS, SparseTable, Table

# Rows whose log densities are told at a time.
_ROWS = 1 << 12

# Entries of sparse rows that are left out at a time.
_NUMBERS = 1 << 20


class NaiveBayes(NaiveBayesBase, shortcuts=True):
    """Naive Bayes with a distribution for each column: any mix of them in one model, tables of mixed types as they are.

    Parameters
    ----------
    distributions : str, list of str or dict, default="auto"
        One for all columns, one for each, or by name or position of a column or by a tuple of them (the others:
        "auto"). Each is "gaussian", "poisson", "exponential", "bernoulli", "categorical", "histogram" (bins of equal
        widths), "quantile" (of equal counts), "mdl" (cut where it pays to tell classes apart), "kernel" (a normal
        density about each value), "multinomial" (one over all columns that have it, or over those of a tuple), "auto".
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
        "poisson" for integers from 0 up whose variance within classes is 0.5 to 2 times their mean, else "gaussian". Of
        a sparse X, whatever its type, it is "bernoulli" if all entries are 0 or 1, else "multinomial".
    class_count_, class_prior_ : ndarray of shape (n_classes,)
    factors_ : list of list of int
        Columns whose densities are multiplied: each by itself, or together those of a multinomial.
    statistics_ : list of dict
        What the distribution of each factor knows.
    log_evidence_ : float
        log P(X, y | model), the parameters integrated out; see Notes.

    Notes
    -----
    Time O(n d k) beside the sorting for categories, quantiles and cuts; of a kernel density, about the square root of a
    class's rows for each value that is asked about. Memory beyond X and the statistics: a column and some rows for fits
    and predictions. Bins are those of the first batch of `partial_fit`; `predict_folds` makes them, and what "auto"
    chooses, anew for each fold.

    The evidence has `alpha` as its priors: Dirichlet's of counts, the gamma distribution of shape and rate `alpha` of
    rates, for a Gaussian as many rows with the mean and variance of the column. Priors of the classes that are learned
    have a uniform prior. Cuts and bins count as given. A model with alpha=0 or a kernel density has none.

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
        # the columns of each factor, and what its distribution has learned of them
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

    def _table(self, X):
        if is_sparse(X):
            return SparseTable(as_csr(X, type(self).__name__))
        columns, missing = as_columns(X, type(self).__name__)
        require_choice("missing", self.missing, ("error", "ignore"))
        for j, gone in enumerate(missing):
            if gone is not None and self.missing == "error":
                raise ValueError(
                    f"Input X contains NaN or None (row {gone.argmax()}, column {j}); a value, or missing='ignore', is"
                    " wanted"
                )
        return Table(columns, missing, feature_names(X))

    def _options(self, places=None):
        return Options(self.alpha, self.var_smoothing, self.bins, self.n_jobs, places)

    def _checked(self, X, y, sample_weight, classes=None):
        table = self._table(X)
        codes, weight, classes = self._checked_labels(y, len(table), sample_weight, classes)
        self._check_parameters(len(table.columns), len(classes))
        return table, codes, weight, classes

    def _check_parameters(self, d, n_classes):
        require_number("alpha", self.alpha, 0)
        require_number("var_smoothing", self.var_smoothing, 0)
        require_integer("bins", self.bins, 1)
        self._prior(np.ones(n_classes))

    def _wanted(self, table):
        """The distribution of each column, and the groups of columns that were named together."""
        wanted, d = self.distributions, len(table.columns)
        groups = []
        if isinstance(wanted, dict):
            position = {} if table.names is None else {name: j for j, name in enumerate(table.names)}
            chosen = ["auto"] * d
            for key, kind in wanted.items():
                group = [position.get(name, name) for name in (key if isinstance(key, tuple) else (key,))]
                if not all(isinstance(place, (int, np.integer)) and 0 <= place < d for place in group):
                    raise ValueError(f"distributions names the column {key!r}, which X does not have")
                for place in group:
                    chosen[place] = kind
                if isinstance(key, tuple) and kind == "multinomial":
                    groups.append(sorted(set(map(int, group))))
        else:
            chosen = [wanted] * d if isinstance(wanted, str) else list(wanted)
        if len(chosen) != d:
            raise ValueError(f"distributions has {len(chosen)} entries; one for each of {d} columns is wanted")
        for kind in chosen:
            require_choice("distributions", kind, ("auto", *DISTRIBUTIONS))
        if len({place for group in groups for place in group}) < sum(map(len, groups)):
            raise ValueError("distributions has a column in two groups; groups without common columns are wanted")
        return chosen, groups

    def _chosen(self, table, codes, rows):
        """(distributions, factors) as the rows, an index, choose them."""
        kinds, groups = self._wanted(table)
        kinds = table.choose(kinds, codes, rows)
        rest = set(range(len(kinds))).difference(*groups)
        rest = [j for j in rest if kinds[j] == "multinomial"]
        groups += [rest] if rest else []
        for group in groups:
            for j in group:
                if table.missing[j] is not None:
                    raise ValueError(f"column {j} of X has missing values, which no multinomial can have")
        grouped = {place for group in groups for place in group}
        return kinds, sorted([[j] for j in range(len(kinds)) if j not in grouped] + groups)

    def _learn(self, table, codes, weight, n_classes, kinds, factors, names=None):
        """The statistics of each factor; `names` are what errors call the columns, where not their positions."""
        if isinstance(table, SparseTable):
            return table.learn(codes, weight, n_classes, kinds, factors, self._options())
        statistics = [None] * len(factors)
        for kind, gone, members in _batches(table, kinds, factors):
            places = [j for i in members for j in factors[i]]
            there = slice(None) if gone is None else ~gone
            columns = [table.columns[j][there] for j in places]
            own = codes[there], among(weight, there), n_classes, self._options(names or places)
            for i, state in zip(members, DISTRIBUTIONS[kind].learn(columns, *own)):
                statistics[i] = state
        return statistics

    def _fit(self, X, y, sample_weight, known, chosen):
        table, codes, weight, classes = self._checked(X, y, sample_weight, known)
        kinds, factors = chosen or self._chosen(table, codes, slice(None))
        count = class_counts(codes, weight, len(classes))
        attributes = {"classes_": classes, "n_features_in_": len(kinds), "distributions_": kinds, "factors_": factors}
        if table.names is not None:
            attributes["feature_names_in_"] = table.names
        return attributes | {
            "statistics_": self._learn(table, codes, weight, len(classes), kinds, factors),
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
        X : array-like, table or sparse matrix of shape (n_samples, n_features)
            Columns of numbers, bools or strings; sparse ones of "bernoulli", "multinomial" or "poisson".
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
        """A model of the rows of both, which have the same classes and distributions: their sums are added.

        Counts are exact, moments to rounding.

        Parameters
        ----------
        other : NaiveBayes, fitted

        Returns
        -------
        merged : a new one, with the parameters of this one
        """
        self._require_mergeable(other)
        if (self.distributions_, self.factors_) != (other.distributions_, other.factors_):
            raise ValueError("other has other distributions; a model with the same ones is wanted")
        count = self.class_count_ + other.class_count_
        state = {name: value for name, value in vars(self).items() if name.endswith("_")}
        state["class_count_"], state["class_prior_"] = count, self._prior(count)
        state["statistics_"] = [
            DISTRIBUTIONS[self.distributions_[first]].merge(*pair)
            for (first, *_), *pair in zip(self.factors_, self.statistics_, other.statistics_)
        ]
        return clone(self)._become(**state)

    def partial_fit(self, X, y, classes=None, sample_weight=None):
        """Learn from more rows, with the distributions of the first; `classes`: all that may come.

        Histograms keep the bins of the first rows, and so their counts of more rows.

        Returns
        -------
        self
        """
        if not hasattr(self, "classes_"):
            return self._become(**self._fit(X, y, sample_weight, declared_classes(classes, None), None))
        declared_classes(classes, self.classes_)
        self._asked(X)
        new = clone(self)
        new._become(**new._fit(X, y, sample_weight, self.classes_, (self.distributions_, self.factors_)))
        merged = self.merge(new)
        return self._become(**{name: value for name, value in vars(merged).items() if name.endswith("_")})

    def _asked(self, X):
        self._require_fitted()
        names, fitted = feature_names(X), getattr(self, "feature_names_in_", None)
        if names is not None and fitted is not None and not np.array_equal(names, fitted):
            raise ValueError(_different_names(fitted, names))
        table = self._table(X)
        if len(table.columns) != self.n_features_in_:
            raise ValueError(
                f"X has {len(table.columns)} features, but {type(self).__name__} is expecting"
                f" {self.n_features_in_} features as input"
            )
        table.require(self.distributions_)
        return table

    def _ask(self, X):
        table = self._asked(X)
        joint = begin_joint(len(table), self.class_prior_)
        self._add(joint, table, self.distributions_, self.factors_, self.statistics_)
        return joint

    def _add(self, joint, table, kinds, factors, statistics):
        """Add the log densities of all factors, some rows at a time."""
        if isinstance(table, SparseTable):
            table.add(joint, kinds, factors, statistics, self._options())
            return
        parts = []
        for kind, gone, members in _batches(table, kinds, factors):
            places = [j for i in members for j in factors[i]]
            add = DISTRIBUTIONS[kind].scorer([statistics[i] for i in members], self._options(places))
            parts.append(([table.columns[j] for j in places], gone, add))

        def work(start):
            stop = min(start + _ROWS, len(joint))
            for columns, gone, add in parts:
                columns = [column[start:stop] for column in columns]
                if gone is None:
                    add(joint[start:stop], columns)
                elif not gone[start:stop].all():
                    there = ~gone[start:stop]
                    known = np.zeros((there.sum(), joint.shape[1]))
                    add(known, [column[there] for column in columns])
                    joint[start:stop][there] += known
                yield

        run(work, range(0, len(joint), _ROWS), threads_for(joint, self.n_jobs))

    @property
    def log_evidence_(self):
        self._require_fitted()
        kinds = [self.distributions_[first] for first, *_ in self.factors_]
        if "kernel" in kinds or not self.alpha > 0:
            what = "a kernel density" if "kernel" in kinds else "alpha=0"
            raise AttributeError(f"{self!r} has no log_evidence_: {what} states no prior of its parameters")
        count = self.class_count_
        if self.priors is None:
            total = float(log_dirichlet(count[None], 1.0)[0])
        else:
            total = float((count * np.log(self.class_prior_, out=np.zeros_like(count), where=count > 0)).sum())
        for kind, places, state in zip(kinds, self.factors_, self.statistics_):
            total += DISTRIBUTIONS[kind].log_evidence(state, self._options(places))
        return total

    def _fold_joints(self, table, codes, weight, classes, folds):
        n_classes = len(classes)
        joint = np.empty((len(table), n_classes))
        counts = np.array([class_counts(codes[own], among(weight, own), n_classes) for own in folds])
        known = {}
        if isinstance(table, SparseTable):
            parts = [table.among(own).sums(codes[own], among(weight, own), n_classes, self._options()) for own in folds]
            sums = list(all_but_one(parts, lambda some, more: [one + other for one, other in zip(some, more)]))
        for number, own in enumerate(folds):
            kinds, factors = self._chosen(table, codes, np.delete(np.arange(len(table)), own))
            asked = table.among(own)
            rest = np.delete(counts, number, axis=0).sum(axis=0)
            told = begin_joint(len(own), self._prior(rest))
            if isinstance(table, SparseTable):
                asked.add_by_sums(told, kinds, factors, *sums[number], self._options())
            else:
                for places in factors:
                    key = kinds[places[0]], *places
                    if key not in known:
                        known[key] = self._other_statistics(table, codes, weight, n_classes, folds, *key)
                statistics = [known[kinds[places[0]], *places][number] for places in factors]
                self._add(told, asked, kinds, factors, statistics)
            joint[own] = np.where(rest > 0, told, -np.inf)
        return joint

    def _other_statistics(self, table, codes, weight, n_classes, folds, kind, *places):
        """For each fold the statistics of a factor in all others."""
        table = Table([table.columns[j] for j in places], [table.missing[j] for j in places], None)

        def learn(rows):
            own = table.among(rows), codes[rows], among(weight, rows), n_classes
            return self._learn(*own, [kind] * len(places), [list(range(len(places)))], places)[0]

        if issubclass(DISTRIBUTIONS[kind], Histogram):
            return [learn(np.delete(np.arange(len(table)), own)) for own in folds]
        return list(all_but_one([learn(own) for own in folds], DISTRIBUTIONS[kind].merge))

    def _answers_without(self, name, values, X, y, fold):
        if not is_leave_one_out(fold):
            return super()._answers_without(name, values, X, y, fold)
        # what "auto" chooses may hang on any row; the columns that a dict does not name are "auto"
        wanted = [self.distributions] if isinstance(self.distributions, str) else list(self.distributions)
        if isinstance(self.distributions, dict) or "auto" in wanted or not keeps_classes(fold, y):
            return None
        return [self.leave_one_out(X, y)]

    def leave_one_out(self, X, y, sample_weight=None):
        """For each row, the label that a fit of all other rows predicts; the estimator is left as it is.

        By subtraction from one fit, with the distributions that it chose: time O(n d k), memory O(n k). Bins and kernel
        densities depend on all rows, and are learned anew for each. Takes what `fit` takes.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
        """
        fitted = clone(self).fit(X, y, sample_weight)
        table, codes, weight, classes = self._checked(X, y, sample_weight)
        rows = np.arange(len(table))
        count = np.tile(fitted.class_count_, (len(rows), 1))
        count[rows, codes] -= 1 if weight is None else weight
        if not count.sum(axis=1).all():
            raise ValueError("X has one row with a weight; at least two are wanted, of which one is left out")
        with np.errstate(divide="ignore"):
            joint = np.log(count / count.sum(axis=1, keepdims=True) if self.priors is None else fitted.class_prior_)
        joint = np.array(np.broadcast_to(joint, count.shape))
        if isinstance(table, SparseTable):
            fitted._add_left_sparse(joint, table, codes, weight)
        else:
            fitted._add_left(joint, table, codes, weight)
        joint[count == 0] = -np.inf
        return classes[joint.argmax(axis=1)]

    def _add_left(self, joint, table, codes, weight):
        """Add the log densities of rows of the fit by the statistics without each."""
        rows = np.arange(len(table))
        for places, state in zip(self.factors_, self.statistics_):
            kind, gone = self.distributions_[places[0]], table.missing[places[0]]
            there = rows if gone is None else rows[~gone]
            own = [table.columns[j][there] for j in places], codes[there], among(weight, there)
            if hasattr(DISTRIBUTIONS[kind], "left"):
                joint[there] += DISTRIBUTIONS[kind].left(state, *own, self._options(places))
            else:
                joint[there] += _learned_without(DISTRIBUTIONS[kind], *own, len(joint[0]), self._options(places))

    def _add_left_sparse(self, joint, table, codes, weight):
        """As `_add_left`, with the sums of all rows but for a row's own class."""
        kinds, factors, options = self.distributions_, self.factors_, self._options()
        count, sums = table.sums(codes, weight, joint.shape[1], options)
        prior = joint[np.arange(len(joint)), codes]
        table.add_by_sums(joint, kinds, factors, count, sums, options)
        size = 1 + _NUMBERS * len(table) // (table.rows.size + 1)
        for start, stop in ranges(0, len(table), size, size):
            own = np.arange(start, stop)
            left = table.among(slice(start, stop)).left(
                kinds, factors, count, sums, codes[own], among(weight, own), options
            )
            joint[own, codes[own]] = prior[own] + left

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
        X = np.empty((n, self.n_features_in_), object)
        for places, state in zip(self.factors_, self.statistics_):
            distribution = DISTRIBUTIONS[self.distributions_[places[0]]]
            for k in np.unique(codes):
                own = np.flatnonzero(codes == k)
                drawn = distribution.sample(state, k, len(own), rng, self._options(places))
                X[np.ix_(own, places)] = drawn.reshape(len(own), len(places))
        texts = any(isinstance(value, str) for value in X[0])
        return X if texts else X.astype(np.float64), self.classes_[codes]

    def _check_rest(self, sizes, entries):
        if sorted(place for places in self.factors_ for place in places) != list(range(self.n_features_in_)):
            raise ValueError("factors_ does not have each column once")
        for i, (places, state) in enumerate(zip(self.factors_, self.statistics_)):
            kind = DISTRIBUTIONS[self.distributions_[places[0]]]
            kind.statistics.check(f"statistics_[{i}]", state, sizes, entries)


NaiveBayes.__doc__ = NaiveBayes.__doc__.replace("{shared}", SHARED)


def _batches(table, kinds, factors):
    """(distribution, missing values, positions of factors): all of a distribution, or one that has missing values."""
    batches = {}
    for i, (first, *_) in enumerate(factors):
        alone = kinds[first] == "multinomial" or table.missing[first] is not None
        batches.setdefault((kinds[first], i if alone else -1), []).append(i)
    for (kind, _), members in batches.items():
        yield kind, table.missing[factors[members[0]][0]], members


def _learned_without(distribution, columns, codes, weight, n_classes, options):
    """The log densities of each row by a fit of all others."""
    joint = np.zeros((len(codes), n_classes))
    rows = np.arange(len(codes))
    for i in rows:
        rest = rows != i
        own = [column[rest] for column in columns], codes[rest], among(weight, rest)
        states = distribution.learn(*own, n_classes, options)
        distribution.scorer(states, options)(joint[i : i + 1], [column[i : i + 1] for column in columns])
    return joint
