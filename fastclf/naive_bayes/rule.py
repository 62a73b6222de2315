"""Bayes' rule for known distributions, and the average of models by their posterior probabilities."""

from functools import partial
from math import prod
from typing import NamedTuple

import numpy as np

from .._csr import sound
from .._estimator import Classifier, clone
from .._labels import as_label_vector
from .._state_table import Array, SizeOf, declare
from .._threads import aside_if_many, map_rows, rows_at
from .._validation import (
    as_array,
    as_float64,
    as_generator,
    as_list,
    as_matrix,
    described,
    encode_labels,
    require_choice,
    require_integer,
    require_matrix,
)
from .base import as_priors
from .expectations import (
    PANELS,
    draw,
    edges_of,
    integral,
    is_discrete,
    kind_of,
    log_density,
    majority,
    terms_of,
    values_of,
)
from .joints import normalise


class Risk(NamedTuple):
    """An expected cost and its standard error, which is 0 if the cost is exact."""

    value: float
    standard_error: float


class BayesClassifier:
    """The decisions with the least expected cost for known distributions of the classes: nothing is fitted.

    Parameters
    ----------
    priors : array-like of shape (n_classes,)
        P(class), with the sum 1.
    densities : list of n_classes
        The distribution of x in each class. Either all are frozen distributions of SciPy, or all are callables that
        return the densities of rows X, or all are tables: arrays of probabilities, indexed by the coordinates of x,
        which are whole numbers.
    cost_matrix : array-like of shape (n_classes, n_decisions), default=None
        cost_matrix[true, decided]; None: 0 for the right class, 1 for any other.

    Notes
    -----
    A decision is a column number of `cost_matrix`, by default a class; of equal costs the first. So x with P(1 | x) =
    1/2 is in class 0, as where texts write g(x) = 1 for eta(x) > 1/2; with >= in place of > it would be class 1, at the
    same risk. :meth:`from_posterior` makes the same object of P(class | x) and the distribution of x.

    References
    ----------
    Duda, Hart, Stork (2001), Pattern Classification, chapter 2. Devroye, Györfi, Lugosi (1996), A Probabilistic Theory
    of Pattern Recognition, chapters 2 and 5.

    Examples
    --------
    >>> import numpy as np
    >>> from fastclf import BayesClassifier
    >>> rule = BayesClassifier([0.5, 0.5], [np.array([0.9, 0.1]), np.array([0.2, 0.8])])
    >>> rule.predict([[0], [1]]), round(rule.risk().value, 3)
    (array([0, 1]), 0.15)

    The limit of the error of the nearest neighbour's class, which is at most twice the least error:

    >>> round(rule.neighbors_risk(1).value, 3)
    0.253
    """

    def __init__(self, priors, densities, cost_matrix=None):
        self.densities = as_list(densities, "densities")
        k = len(self.densities)
        self.priors = as_priors("priors", priors, k)
        self.cost_matrix = _as_costs(cost_matrix, k)
        kinds = {kind_of(density) for density in self.densities}
        if len(kinds) != 1:
            raise TypeError(f"densities are of kinds {sorted(kinds)}; one kind is wanted")
        [self._kind] = kinds
        if self._kind == "frozen" and len(set(map(is_discrete, self.densities))) != 1:
            raise TypeError("densities are discrete and continuous distributions; only one of the two kinds is wanted")
        if self._kind == "table":
            self.densities = [_as_table(table, f"densities[{k}]") for k, table in enumerate(self.densities)]
            if len({table.shape for table in self.densities}) > 1:
                shapes = [table.shape for table in self.densities]
                raise ValueError(f"densities has tables of the shapes {shapes}; tables of one shape are wanted")
        self._distributions = self.densities

    @classmethod
    def from_posterior(cls, eta, mu, cost_matrix=None):
        """The rule for a known P(class | x) and a known distribution of x.

        Parameters
        ----------
        eta : callable or array
            Of two classes eta(X) = P(1 | x) for rows X, of shape (n_samples,); of more, the probabilities of all
            classes, of shape (n_samples, n_classes). X has shape (n_samples, n_features); of a single variable it has
            shape (n_samples,), unless the function indexes columns, as in X[:, 0]. An array has these for each entry of
            a table mu: it has the shape of mu, or the shape of mu followed by the number of classes.
        mu : frozen distribution of SciPy, callable or array of probabilities
            The distribution of x, in one of the forms of `densities`.
        cost_matrix : array-like of shape (n_classes, n_decisions), default=None
            Wanted where eta is a function for more than two classes, of which it tells the number.

        Returns
        -------
        BayesClassifier
        """
        return _OfPosterior(eta, mu, cost_matrix)

    def predict_joint_log_proba(self, X):
        """log P(x, class), of shape (n_samples, n_classes)."""
        X = as_array(X, "X")
        X = X[:, None] if X.ndim == 1 else X
        require_matrix(X, "X", type(self).__name__)
        if X.dtype.kind not in "biuf":
            X = as_float64(X, "X")
        return self._joint_logs(X)

    def _joint_logs(self, X):
        with np.errstate(divide="ignore"):
            logs = [log_density(self._kind, density, X) for density in self.densities]
            return np.stack(logs, axis=1) + np.log(self.priors)

    def _joint(self, X):
        """P(x, class), of shape (n_samples, n_classes); 0 at a pole of a density, where rounding may have put x."""
        joint = np.exp(self._joint_logs(X))
        joint[np.isinf(joint)] = 0
        return joint

    def predict_proba(self, X):
        """P(class | x), of shape (n_samples, n_classes); if x is impossible, all classes are equally probable."""
        return normalise(np.ascontiguousarray(self.predict_joint_log_proba(X)), 1, False)

    def expected_costs(self, X):
        """The expected cost of each decision, of shape (n_samples, n_decisions)."""
        return self.predict_proba(X) @ self.cost_matrix

    def predict(self, X):
        """The decision with the least expected cost for each row, of shape (n_samples,)."""
        return self.expected_costs(X).argmin(axis=1)

    def risk(self, n=100_000, random_state=None, support=None):
        """The expected cost of the decisions, which no other rule undercuts.

        It is exact for tables; a sum for discrete distributions of one variable; an integral for densities of one
        variable (for callables if `support` gives the bounds); otherwise a mean over `n` rows, drawn from the
        distributions or, for callables of several variables, uniformly from `support`.

        Parameters
        ----------
        n : int >= 2, default=100000
        random_state : int, numpy Generator or None
        support : (float, float) or list of these, default=None
            Bounds outside of which callables are 0 or negligible; of several variables a pair for each.

        Returns
        -------
        risk : (value, standard_error)
            The error is 0 if nothing was sampled.
        """
        return self._expected(lambda X, joint: (joint @ self.cost_matrix).min(axis=1), n, random_state, support)

    def risk_of(self, rule, n=100_000, random_state=None, support=None):
        """The expected cost of the decisions of any rule.

        Parameters
        ----------
        rule : callable or fitted classifier
            A function: rule(X) gives a decision, a column number of `cost_matrix`, for each row of X, of shape
            (n_samples, n_features). Of a classifier the labels are decisions, if they are such numbers, or else stand
            for the decisions in the order of `classes_`.
        n, random_state, support
            As for `risk`. Where the rule jumps inside of a panel of an integral, panels are halved until the change is
            below 1e-14.

        Returns
        -------
        risk : (value, standard_error)
        """
        n_decisions = self.cost_matrix.shape[1]
        if not callable(rule):
            rule = _decisions_of(rule, n_decisions)

        def cost(X, joint):
            decided = values_of(rule, X, "rule", None, whole=True)
            if decided.ndim != 1 or not np.isin(decided, range(n_decisions)).all():
                raise ValueError(
                    f"rule gives values of shape {decided.shape}, {decided.ravel()[:3].tolist()} first, for {len(X)}"
                    f" rows; a number from 0 to {n_decisions - 1} is wanted for each row"
                )
            return np.einsum("ij,ji->i", joint, self.cost_matrix[:, decided.astype(np.intp)])

        return self._expected(cost, n, random_state, support)

    def neighbors_risk(self, k=1, n=100_000, random_state=None, support=None):
        """The limit of the expected cost of the k-nearest-neighbour rule as the number of training rows grows.

        For k = 1 it is E sum_ij p_i p_j cost_matrix[i, j] with p = P(class | x): of equal costs E sum p (1 - p), of two
        classes 2 E eta (1 - eta). For k > 1 there must be two classes, and k is odd: the mean cost of the majority of k
        labels that are independent and 1 with probability eta.

        Parameters
        ----------
        k : int >= 1, default=1
            An odd number.
        n, random_state, support
            As for `risk`.

        Returns
        -------
        risk : (value, standard_error)

        References
        ----------
        Cover, Hart (1967), Nearest neighbor pattern classification.
        """
        k = require_integer("k", k, 1)
        n_classes, n_decisions = self.cost_matrix.shape
        if n_classes != n_decisions or (k > 1 and (n_classes > 2 or k % 2 == 0)):
            raise ValueError(
                f"k is {k}, for {n_classes} classes and {n_decisions} decisions; k = 1 and a decision for each class"
                " are wanted, or an odd k and two classes"
            )

        def cost(X, joint):
            mass = joint.sum(axis=1)
            with np.errstate(invalid="ignore", divide="ignore"):
                p = np.where(mass[:, None] > 0, joint / mass[:, None], 0)
            if k > 1:
                p = majority(p[:, 1], k)
            return np.einsum("ni,ij,nj->n", joint, self.cost_matrix, p)

        return self._expected(cost, n, random_state, support)

    def neighbors_bound(self, k, n=100_000, random_state=None, support=None):
        """R* + 1 / sqrt(k e), an upper bound of `neighbors_risk(k)` for two classes with equal costs and odd k.

        Parameters
        ----------
        k : int >= 1
            An odd number.
        n, random_state, support
            As for `risk`.

        Returns
        -------
        bound : (value, standard_error)

        References
        ----------
        Devroye, Györfi, Lugosi (1996), theorem 5.6.
        """
        if require_integer("k", k, 1) % 2 == 0 or not np.array_equal(self.cost_matrix, 1 - np.eye(2)):
            raise ValueError(f"k is {k}; an odd number is wanted, and two classes with equal costs")
        risk = self.risk(n, random_state, support)
        return Risk(risk.value + float(1 / np.sqrt(k * np.e)), risk.standard_error)

    def _expected(self, cost, n, random_state, support):
        """The expected cost over random rows x; cost(X, joint) gives cost times P(x), where joint = P(x, class)."""
        known = self._distributions
        if self._kind == "callable" and support is not None:
            bounds = _as_bounds(support)
            if len(bounds) > 1:
                return self._mean_over(bounds, cost, n, random_state)
            return self._integrated(cost, np.linspace(*bounds[0], PANELS + 1))
        if self._kind == "frozen" and (edges := edges_of(known)) is not None:
            return self._integrated(cost, edges)
        terms = None
        if self._kind == "table":
            terms = np.stack(np.unravel_index(np.arange(known[0].size), known[0].shape), axis=1)
        elif self._kind == "frozen":
            terms = terms_of(known)
        if terms is not None:
            return Risk(float(cost(terms, self._joint(terms)).sum()), 0.0)
        X, _ = self.sample(require_integer("n", n, 2), random_state)
        return _mean(cost(X, self.predict_proba(X)))

    def _integrated(self, cost, edges):
        """The expected cost as an integral over x; each P(x, class) is integrated too, to check the densities."""

        def values(X):
            joint = self._joint(X)
            return np.column_stack([cost(X, joint), joint])

        total = integral(values, edges, 1e-14 * np.abs(self.cost_matrix).max(initial=1))
        self._require_masses(total[1:])
        return Risk(float(total[0]), 0.0)

    def _mean_over(self, bounds, cost, n, random_state):
        """The integral of a cost over x in the box `bounds`, as the mean over n rows drawn from the box."""
        X = np.random.default_rng(random_state).uniform(*bounds.T, (require_integer("n", n, 2), len(bounds)))
        return _mean(np.prod(bounds[:, 1] - bounds[:, 0]) * cost(X, self._joint(X)))

    def _require_masses(self, masses):
        """Refuse densities whose integrals are not 1."""
        if not np.allclose(masses, self.priors, rtol=1e-6, atol=1e-9):
            raise ValueError(
                f"densities times priors have the integrals {masses} over support; the priors, {self.priors},"
                " are wanted, as the integral of each density is 1"
            )

    def sample(self, n=1, random_state=None):
        """(X, classes): n random rows from the distributions, X of shape (n, n_features).

        Parameters
        ----------
        n : int >= 1, default=1
        random_state : int, numpy Generator or None
        """
        if self._kind == "callable":
            raise TypeError(
                "densities, or mu, are functions, which cannot be sampled; tables or frozen distributions are wanted,"
                " or for a risk the argument support, the bounds of x"
            )
        return self._sample(require_integer("n", n, 1), as_generator(random_state))

    def _sample(self, n, rng):
        classes = rng.choice(len(self.priors), n, p=self.priors)
        X = None
        for k in np.unique(classes):
            drawn = draw(self._kind, self.densities[k], np.count_nonzero(classes == k), rng)
            X = np.empty((n, drawn.shape[1]), drawn.dtype) if X is None else X
            X[classes == k] = drawn
        return X, classes


def _decisions_of(model, n_decisions):
    """The rule of a fitted classifier, as a function that gives decisions, numbers below n_decisions."""
    if isinstance(model, type) or not hasattr(model, "predict"):
        raise TypeError(f"rule is {described(model)}; a function of rows, or a fitted classifier, is wanted")
    classes = getattr(model, "classes_", None)
    if classes is None or np.isin(classes, range(n_decisions)).all():
        return model.predict
    if len(classes) != n_decisions:
        raise ValueError(
            f"rule has the labels {described(classes)}; {n_decisions} labels, one per decision, are wanted"
        )
    return lambda X: np.searchsorted(classes, model.predict(X))


def _mean(costs):
    """A Risk: the mean of the costs of randomly drawn rows, with its standard error."""
    return Risk(float(costs.mean()), float(costs.std(ddof=1) / np.sqrt(len(costs))))


def _as_table(table, name):
    """The table of probabilities as an array, after a check."""
    if np.ndim(table) == 0:
        raise TypeError(
            f"{name} is {described(table)}; a frozen distribution, a function, or an array of probabilities, is wanted"
        )
    table = as_float64(table, name)
    if not (table >= 0).all() or not np.isclose(table.sum(), 1):
        raise ValueError(
            f"{name} has the sum {table.sum()} and the least entry {table.min(initial=0)}; probabilities, with the sum"
            " 1, are wanted"
        )
    return table


def _as_bounds(support):
    """The argument `support` as an array of shape (n_features, 2): the lower and the upper bound of each variable."""
    bounds = np.atleast_2d(as_float64(support, "support"))
    if (
        bounds.ndim != 2
        or bounds.shape[1] != 2
        or not np.isfinite(bounds).all()
        or (bounds[:, 0] >= bounds[:, 1]).any()
    ):
        raise ValueError(
            f"support is {described(support)}; two finite bounds, the lower one first, are wanted for each variable"
        )
    return bounds


class _OfPosterior(BayesClassifier):
    """The decision rule for a given P(class | x), `eta`, and a given distribution of x, `mu`."""

    def __init__(self, eta, mu, cost_matrix):
        self.eta, self._kind = eta, kind_of(mu)
        mu = _as_table(mu, "mu") if self._kind == "table" else mu
        self._distributions, n_classes = [mu], 2
        if not callable(eta):
            self.eta = as_float64(eta, "eta")
            if self._kind == "table" and self.eta.shape == (1,) != mu.shape:
                # an `eta` with a single probability gives this probability to every cell of the table `mu`
                self.eta = np.full(mu.shape, self.eta[0])
            if self._kind != "table" or self.eta.shape[: mu.ndim] != mu.shape or self.eta.ndim > mu.ndim + 1:
                shapes = f" of shape {mu.shape}" if self._kind == "table" else ""
                raise ValueError(
                    f"eta is {described(self.eta)}; a function, or an array for a table mu{shapes}, is wanted"
                )
            n_classes = 2 if self.eta.ndim == mu.ndim else self.eta.shape[-1]
        self.cost_matrix = _as_costs(cost_matrix, n_classes if cost_matrix is None else len(cost_matrix))

    def _joint_logs(self, X):
        with np.errstate(divide="ignore"):
            return log_density(self._kind, self._distributions[0], X)[:, None] + np.log(self._posterior(X))

    def _posterior(self, X):
        """The probabilities P(class | x), (n_samples, n_classes), from the parameter eta, a function or a table."""
        if callable(self.eta):
            p = values_of(self.eta, X, "eta")
        else:
            p = self.eta[tuple(X.T.astype(np.intp))]
        p = np.column_stack([1 - p, p]) if p.ndim == 1 else p
        if p.shape[1] != len(self.cost_matrix):
            raise ValueError(
                f"eta gives {p.shape[1]} numbers per row, but cost_matrix has {len(self.cost_matrix)} classes; the"
                " probability of each class is wanted or, for two classes, that of class 1 (without cost_matrix there"
                " are two classes; cost_matrix=1 - numpy.eye(n_classes) sets another number)"
            )
        if not (p >= 0).all() or not np.allclose(p.sum(axis=1), 1):
            row = int(np.argmin((p >= 0).all(axis=1) & np.isclose(p.sum(axis=1), 1)))
            raise ValueError(
                f"eta gives the probabilities {p[row].tolist()} for x = {X[row].tolist()}; numbers from 0 up with the"
                " sum 1 are wanted"
            )
        return p

    def _require_masses(self, masses):
        if not np.isclose(masses.sum(), 1, rtol=1e-6):
            raise ValueError(f"mu has the integral {masses.sum()} over support; 1 is wanted")

    def _sample(self, n, rng):
        X = draw(self._kind, self._distributions[0], n, rng)
        p = self._posterior(X).cumsum(axis=1)
        return X, (rng.random(n)[:, None] >= p[:, :-1]).sum(axis=1)


def _as_costs(cost_matrix, n_classes):
    """The array cost_matrix[true, decided]; None stands for a cost of 0 for right decisions and 1 for wrong ones."""
    costs = 1.0 - np.eye(n_classes) if cost_matrix is None else as_float64(cost_matrix, "cost_matrix")
    if costs.ndim != 2 or len(costs) != n_classes or not np.isfinite(costs).all():
        raise ValueError(
            f"cost_matrix has shape {costs.shape}; costs [true, decided] of {n_classes} classes are wanted"
        )
    return costs


class BayesOptimalClassifier(Classifier):
    """The average of models' predictions, by posterior probability: the sum over models of P(y | x, m) P(m | D).

    Parameters
    ----------
    models : list of estimators
        Estimators with `predict_proba`, of this library or of scikit-learn.
    prior : array-like of shape (n_models,), default=None
        P(m); None: uniform.
    evidence : {"auto", "cross-validation", "none"} or array-like of shape (n_models,), default="auto"
        The source of log P(D | m). "auto": the `log_evidence_` of each model, the marginal likelihood of the rows that
        it was fitted to, if all models have it, otherwise cross-validation. "cross-validation": the log probability of
        the labels of `cv` folds, each by models fitted to the other folds. "none": 0, so that the posterior is the
        prior. An array: the logarithms themselves.
    cv : int >= 2, default=5
        Row i is in fold i modulo cv.
    prefit : bool, default=False
        Whether the models are fitted already. They are then used without a fit and without cross-validation.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    models_ : list of fitted estimators
    log_evidence_ : ndarray of shape (n_models,)
    evidence_ : str
        The source of `log_evidence_`: "marginal likelihood", "cross-validation", "none" or "given".
    posterior_ : ndarray of shape (n_models,)
    map_model_, ml_model_ : int
        The indices of the most probable model, and of the model with the most evidence.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only when X was a table with string column names.

    References
    ----------
    Mitchell (1997), Machine Learning, section 6.7.

    Examples
    --------
    >>> import numpy as np
    >>> from fastclf import BayesOptimalClassifier, GaussianNB, KNeighborsClassifier
    >>> X = np.arange(20.0)[:, None]
    >>> model = BayesOptimalClassifier([GaussianNB(), KNeighborsClassifier()]).fit(X, X[:, 0] > 9)
    >>> model.predict([[3.0], [18.0]])
    array([False,  True])
    """

    _state_table = declare(
        classes_=Array("any", "n_classes", least=1, ascends=True),
        n_models=SizeOf(lambda model: len(model.models_)),
        posterior_=Array("float64", "n_models"),
        log_evidence_=Array("float64", "n_models"),
    )

    def _check_rest(self, sizes, entries):
        for i, model in enumerate(self.models_):
            if not hasattr(model, "predict_proba") or not hasattr(model, "classes_"):
                raise ValueError(
                    f"models_[{i}] is {described(model)}; a fitted classifier with predict_proba is wanted"
                )

    def __init__(self, models=(), prior=None, evidence="auto", *, cv=5, prefit=False):
        self._take(locals())

    def fit(self, X, y):
        """Fit all models and find their posterior probabilities; returns self.

        Parameters
        ----------
        X : array-like, table or sparse matrix of shape (n_samples, n_features)
            Rows, in a form that all models take.
        y : array-like of shape (n_samples,)
        """
        models = as_list(self.models, "models")
        if not models or not all(hasattr(model, "predict_proba") for model in models):
            raise ValueError("models is empty or has one without predict_proba; models with predict_proba are wanted")
        given = None
        if not isinstance(self.evidence, str):
            given = as_float64(self.evidence, "evidence")
            if given.shape != (len(models),) or np.isnan(given).any() or not given.max() > -np.inf:
                raise ValueError(
                    f"evidence is {described(self.evidence)}; one logarithm for each of {len(models)} models is wanted"
                )
        else:
            require_choice("evidence", self.evidence, ("auto", "cross-validation", "none"))
        rows = self._as_rows(X, type(self).__name__)
        y = as_label_vector(y, rows.shape[0], type(self).__name__)
        classes, codes = encode_labels(y)
        prior = (
            np.full(len(models), 1 / len(models)) if self.prior is None else as_priors("prior", self.prior, len(models))
        )
        fitted = models if self.prefit else [clone(model).fit(rows, y) for model in models]
        if given is not None:
            source, evidence = "given", given
        elif self.evidence == "none":
            source, evidence = "none", np.zeros(len(models))
        elif self.evidence == "auto" and all(hasattr(model, "log_evidence_") for model in fitted):
            source, evidence = "marginal likelihood", np.array([model.log_evidence_ for model in fitted])
        elif self.prefit:
            raise ValueError("prefit is True and models have no log_evidence_; evidence='none' or an array is wanted")
        else:
            source = "cross-validation"
            evidence = np.array([self._log_predictive(model, rows, y, classes, codes) for model in models])
        with np.errstate(divide="ignore"):
            joint = np.log(prior) + evidence
        return self._become(
            classes_=classes,
            models_=fitted,
            evidence_=source,
            log_evidence_=evidence,
            posterior_=normalise(joint[None].copy(), 1, False)[0],
            map_model_=int(joint.argmax()),
            ml_model_=int(evidence.argmax()),
            **self._fitted_columns(X, rows),
        )

    @staticmethod
    def _as_rows(X, owner):
        """X in a form that all models accept: a pandas table as it is, as columns may have strings; a sparse matrix.

        Else an array.
        """
        return X if hasattr(X, "iloc") else sound(X).tocsr() if hasattr(X, "tocsr") else as_matrix(X, owner)

    def _log_predictive(self, model, X, y, classes, codes):
        cv, n = require_integer("cv", self.cv, 2), len(y)
        if n < cv:
            raise ValueError(f"X has n_samples = {n}; at least one row for each of cv = {cv} folds is wanted")
        fold, rows = np.arange(n) % cv, X.iloc if hasattr(X, "iloc") else X
        take = partial(aside_if_many, prod(X.shape), rows.__getitem__)
        given = np.empty(n)  # for each row, the probability of its label
        for number in range(cv):
            test, train = np.flatnonzero(fold == number), np.flatnonzero(fold != number)
            fitted = clone(model).fit(take(train), y[train])
            proba = _by_class(fitted, take(test), classes)
            given[test] = proba[np.arange(len(test)), codes[test]]
        # a probability of 0 for the label of one row would rule the model out, whatever its probabilities for all other
        # rows
        return np.log(np.maximum(given, 1e-15)).sum()

    def predict_proba(self, X):
        """P(class | x), of shape (n_samples, n_classes)."""
        self._require_fitted()
        X = self._new_samples(X)
        total = None
        for weight, model in zip(self.posterior_, self.models_):
            part = _by_class(model, X, self.classes_, weight)
            total = part if total is None else map_rows(np.add, total, part)
        return total

    def predict(self, X):
        """The most probable label of each row, of shape (n_samples,); of equally probable ones the first."""
        proba = self.predict_proba(X)
        return rows_at(self.classes_, map_rows(_first_largest, proba))


def _by_class(model, X, classes, weight=1.0):
    """The model's probability of each of `classes`, times a weight; 0 for classes that the model does not know."""
    known = np.isin(model.classes_, classes)
    columns = np.searchsorted(classes, model.classes_[known])

    def spread(found):
        proba = np.zeros((len(found), len(classes)))
        proba[:, columns] = found[:, known]
        proba *= weight
        return proba

    return map_rows(spread, np.asarray(model.predict_proba(X)))


def _first_largest(rows):
    return rows.argmax(axis=1)
