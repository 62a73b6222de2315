"""Bayes' rule for known distributions, and the average of models by their posterior probabilities."""

from typing import NamedTuple

import numpy as np

from .._estimator import Classifier, clone
from .._labels import as_label_vector
from .._state_table import Array, SizeOf, declare
from .._validation import as_float64, as_list, as_matrix, encode_labels, require_choice, require_integer
from .base import as_priors
from .joints import normalise

# _PANELS: the number of panels at the start of an integral.
# _MOST_PANELS: the most panels that are halved at a time.
# _MOST_TERMS: the most terms in the sum for a discrete distribution.
_PANELS = 512
_MOST_PANELS = 1 << 14
_MOST_TERMS = 1 << 20


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
    A decision is a column number of `cost_matrix`, by default a class; of equal costs the first.

    References
    ----------
    Duda, Hart, Stork (2001), Pattern Classification, chapter 2.

    Examples
    --------
    >>> import numpy as np
    >>> from fastclf import BayesClassifier
    >>> rule = BayesClassifier([0.5, 0.5], [np.array([0.9, 0.1]), np.array([0.2, 0.8])])
    >>> rule.predict([[0], [1]]), round(rule.risk().value, 3)
    (array([0, 1]), 0.15)
    """

    def __init__(self, priors, densities, cost_matrix=None):
        self.densities = list(densities)
        k = len(self.densities)
        self.priors = as_priors("priors", priors, k)
        self.cost_matrix = 1.0 - np.eye(k) if cost_matrix is None else np.asarray(cost_matrix, np.float64)
        if self.cost_matrix.ndim != 2 or len(self.cost_matrix) != k or not np.isfinite(self.cost_matrix).all():
            raise ValueError(
                f"cost_matrix has shape {self.cost_matrix.shape}; costs [true, decided] of {k} classes are wanted"
            )
        kinds = {_kind(density) for density in self.densities}
        if len(kinds) != 1:
            raise TypeError(f"densities are of kinds {sorted(kinds)}; one kind is wanted")
        [self._kind] = kinds
        if self._kind == "frozen" and len(set(map(_is_discrete, self.densities))) != 1:
            raise TypeError("densities are discrete and continuous distributions; only one of the two kinds is wanted")
        if self._kind == "table":
            self.densities = [np.asarray(table, np.float64) for table in self.densities]
            for table in self.densities:
                if table.shape != self.densities[0].shape or (table < 0).any() or not np.isclose(table.sum(), 1):
                    raise ValueError(
                        "densities has a wrong table; tables of one shape, each of probabilities with sum 1, are wanted"
                    )

    def predict_joint_log_proba(self, X):
        """log P(x, class), of shape (n_samples, n_classes)."""
        X = np.asarray(X)
        X = X[:, None] if X.ndim == 1 else X
        with np.errstate(divide="ignore"):
            logs = [self._log_density(density, X) for density in self.densities]
            return np.stack(logs, axis=1) + np.log(self.priors)

    def _log_density(self, density, X):
        if self._kind == "table":
            if X.shape[1] != density.ndim or (X < 0).any() or (density.shape <= X).any() or (np.floor(X) != X).any():
                raise ValueError(
                    f"X has a row that is no index into tables of shape {density.shape}; integers within it are wanted"
                )
            return np.log(density[tuple(X.T.astype(np.intp))])
        x = X[:, 0] if X.shape[1] == 1 else X
        if self._kind == "callable":
            return np.log(np.asarray(density(x), np.float64)).reshape(len(X))
        log_density = density.logpmf if _is_discrete(density) else density.logpdf
        return np.asarray(log_density(x), np.float64).reshape(len(X))

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
        variable (for callables if `support` gives the bounds); otherwise the mean over `n` samples.

        Parameters
        ----------
        n : int >= 2, default=100000
        random_state : int, numpy Generator or None
        support : (float, float), default=None
            Bounds outside of which callables of one variable are 0 or negligible.

        Returns
        -------
        risk : (value, standard_error)
            The error is 0 if nothing was sampled.
        """
        if self._kind == "table":
            joint = np.stack([prior * table.ravel() for prior, table in zip(self.priors, self.densities)], axis=1)
            return Risk(float((joint @ self.cost_matrix).min(axis=1).sum()), 0.0)
        if self._kind == "callable" and support is not None:
            low, high = map(float, support)
            if not -np.inf < low < high < np.inf:
                raise ValueError(f"support is {support!r}; two finite bounds, the lower one first, are wanted")
            return Risk(self._integral(np.linspace(low, high, _PANELS + 1)), 0.0)
        if self._kind == "frozen" and all(hasattr(density, "ppf") for density in self.densities):
            if not _is_discrete(self.densities[0]):
                share = np.concatenate([np.logspace(-14, -3, 45), np.arange(1, _PANELS // 2) / _PANELS])
                edges = [(density.ppf(share), density.isf(share)) for density in self.densities]
                return Risk(self._integral(np.unique(np.concatenate(edges, axis=None))), 0.0)
            if all(density.sf(_MOST_TERMS) + density.cdf(-_MOST_TERMS) < 1e-14 for density in self.densities):
                low = min(float(density.ppf(1e-14)) for density in self.densities)
                high = max(float(density.isf(1e-14)) for density in self.densities)
                joint = np.exp(self.predict_joint_log_proba(np.arange(low, high + 1)))
                return Risk(float((joint @ self.cost_matrix).min(axis=1).sum()), 0.0)
        X, _ = self.sample(require_integer("n", n, 2), random_state)
        costs = self.expected_costs(X).min(axis=1)
        return Risk(float(costs.mean()), float(costs.std(ddof=1) / np.sqrt(n)))

    def _integral(self, edges):
        """The integral by 16 Gauss-Legendre nodes per panel; panels are halved until the change is below 1e-14."""
        nodes, weights = np.polynomial.legendre.leggauss(16)

        def integrals(start, stop):
            half = (stop - start) / 2
            x = (start + half)[:, None] + half[:, None] * nodes
            joint = np.exp(self.predict_joint_log_proba(x.ravel()))
            joint[np.isinf(joint)] = 0  # rounding can put a node on a pole
            values = np.column_stack([(joint @ self.cost_matrix).min(axis=1), joint])
            return np.einsum("i,j,ijk->ik", half, weights, values.reshape(*x.shape, -1), order="C")

        start, stop, total = edges[:-1], edges[1:], 0.0
        whole = integrals(start, stop)
        for _ in range(48):
            middle = start + (stop - start) / 2
            parts = integrals(start, middle), integrals(middle, stop)
            done = np.abs(parts[0] + parts[1] - whole).max(axis=1) < 1e-14 * np.abs(self.cost_matrix).max(initial=1)
            total = total + (parts[0] + parts[1])[done].sum(axis=0)
            start, stop = np.append(start[~done], middle[~done]), np.append(middle[~done], stop[~done])
            whole = np.concatenate([part[~done] for part in parts])
            if not 0 < len(start) < _MOST_PANELS:
                break
        total = total + whole.sum(axis=0)
        if not np.allclose(total[1:], self.priors, rtol=1e-6, atol=1e-9):
            raise ValueError(
                f"densities times priors have the integrals {total[1:]} over support; the priors, {self.priors},"
                " are wanted, as the integral of each density is 1"
            )
        return float(total[0])

    def sample(self, n=1, random_state=None):
        """(X, classes): n random rows from the distributions, X of shape (n, n_features).

        Parameters
        ----------
        n : int >= 1, default=1
        random_state : int, numpy Generator or None
        """
        if self._kind == "callable":
            raise TypeError(
                "densities are callables, which cannot be sampled; tables or frozen distributions are wanted"
            )
        rng = np.random.default_rng(random_state)
        classes = rng.choice(len(self.priors), require_integer("n", n, 1), p=self.priors)
        X = None
        for k in np.unique(classes):
            rows, density = classes == k, self.densities[k]
            if self._kind == "table":
                cells = rng.choice(density.size, rows.sum(), p=density.ravel() / density.sum())
                drawn = np.stack(np.unravel_index(cells, density.shape), axis=1)
            else:
                drawn = np.reshape(density.rvs(rows.sum(), random_state=rng), (rows.sum(), -1))
            X = np.empty((n, drawn.shape[1]), drawn.dtype) if X is None else X
            X[rows] = drawn
        return X, classes


def _kind(density):
    if hasattr(density, "rvs"):
        return "frozen"
    return "callable" if callable(density) else "table"


def _is_discrete(density):
    return hasattr(density, "logpmf") and not hasattr(getattr(density, "dist", density), "_pdf")


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
                raise ValueError(f"models_[{i}] is {model!r}; a fitted classifier with predict_proba is wanted")

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
                    f"evidence is {self.evidence!r}; one logarithm for each of {len(models)} models is wanted"
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
        return X if hasattr(X, "iloc") else X.tocsr() if hasattr(X, "tocsr") else as_matrix(X, owner)

    def _log_predictive(self, model, X, y, classes, codes):
        cv, n = require_integer("cv", self.cv, 2), len(y)
        if n < cv:
            raise ValueError(f"X has n_samples = {n}; at least one row for each of cv = {cv} folds is wanted")
        fold, rows = np.arange(n) % cv, X.iloc if hasattr(X, "iloc") else X
        proba = np.empty((n, len(classes)))
        for number in range(cv):
            out = fold == number
            proba[out] = _by_class(clone(model).fit(rows[~out], y[~out]), rows[out], classes)
        # a probability of 0 for one label would make the model impossible, whatever the other rows are
        return np.log(np.maximum(proba[np.arange(n), codes], 1e-15)).sum()

    def predict_proba(self, X):
        """P(class | x), of shape (n_samples, n_classes)."""
        self._require_fitted()
        X = self._new_samples(X)
        parts = [p * _by_class(model, X, self.classes_) for p, model in zip(self.posterior_, self.models_)]
        return np.sum(parts, axis=0)

    def predict(self, X):
        """The most probable label of each row, of shape (n_samples,); of equally probable ones the first."""
        proba = self.predict_proba(X)
        return self.classes_[proba.argmax(axis=1)]


def _by_class(model, X, classes):
    """The model's probability of each of `classes`; 0 for classes that the model does not know."""
    known = np.isin(model.classes_, classes)
    proba = np.zeros((X.shape[0], len(classes)))
    proba[:, np.searchsorted(classes, model.classes_[known])] = model.predict_proba(X)[:, known]
    return proba
