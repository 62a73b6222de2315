"""Ridge regression on the indicators of the classes, and the choice of its penalty by leaving rows out."""

from numbers import Real

import numpy as np

from .._csr import Csr, as_rows, as_scipy
from .._labels import as_labels, class_factors
from .._state_table import Value, declare
from .._threads import Progress, all_finite, aside_for_many, aside_if_many, aside_if_slow, n_threads, rows_at
from .._validation import as_list, require_choice, require_integer, require_number, require_numbers
from ..metrics.scoring import as_scorers, figure_of
from ..model_selection.folds import as_folds
from ..sums.class_sums import class_counts
from .least_squares import (
    REFINED,
    LeastSquaresClassifier,
    LeastSquaresColumns,
    subtract_square,
    target_columns,
    target_sums,
    units,
    varies,
    weighted_sums,
)
from .routed_scores import RoutedScores, routes, with_labels
from .row_gram import Centred
from .scores import Coefficients, ScoreClassifier, counted

_SOLVERS = ("auto", "svd", "cholesky", "lsqr", "sparse_cg", "sag", "saga")

# The number of entries in a block of rows that is made dense, or multiplied by eigenvectors, in one step.
_BLOCK_NUMBERS = 1 << 20

# The number of residuals of rows that are left out in a block of rows, which fit a cache.
_FOUND_NUMBERS = 1 << 17


class RidgeCoefficients(Coefficients):
    """In a table of state: coefficients that have no first axis if there are two classes."""

    def require(self, name, value, sizes, entries):
        super().require(name, np.atleast_2d(value) if isinstance(value, np.ndarray) else value, sizes, entries)


# The most columns whose matrix is inverted; a factor of a larger one takes less time, with an estimate of its condition
# number.
_MOST_INVERTED = 400


class RidgeClassifier(LeastSquaresClassifier, shortcuts=True):
    """Ridge regression of a class's indicator, +1 for its rows and -1 for all others; the largest score wins.

        min over w, b    sum_i s_i (t_i - w x_i - b)^2 + alpha |w|^2

    for each class, or once with two classes. It is :class:`LeastSquaresClassifier` by scikit-learn's name and
    parameters, with weights of classes.

    Parameters
    ----------
    alpha : float >= 0, default=1.0
        Strength of the penalty; the intercept is not penalised.
    fit_intercept : bool, default=True
        Without it b is 0.
    copy_X : bool, default=True
        For scikit-learn's signature; X is never written to.
    max_iter : int >= 1 or None, default=None
        For scikit-learn's signature: the solution is exact.
    tol : float >= 0, default=1e-4
        Likewise.
    class_weight : dict, 'balanced' or None, default=None
        Factor on the weights of each class's rows, 1 for one that a dict does not name; 'balanced' makes the classes
        equally heavy.
    solver : {'auto', 'svd', 'cholesky', 'lsqr', 'sparse_cg', 'sag', 'saga'}, default='auto'
        scikit-learn's names; all find the same solution.
    positive : bool, default=False
        True, coefficients from 0 up, is refused.
    random_state : ignored
    n_jobs : int or None, default=None
        Threads for sums and scores; None means every CPU that the process may use. It changes no result.
    verbose : int, default=0
        1 shows the progress of `fit`.
    callback : callable, default=None
        As LeastSquaresClassifier's.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,) with two classes, else (n_classes, n_features)
    intercept_ : ndarray of shape (1,) or (n_classes,)
    classes_ : ndarray of shape (n_classes,)
    n_iter_ : None
        As in scikit-learn, whose iterative solvers alone have a number.
    solver_ : str
        The parameter `solver`, with 'auto' told as 'cholesky'.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only when X was a table with string column names.

    Notes
    -----
    Cost, memory and exactness are those of LeastSquaresClassifier. A well-conditioned dense problem with more rows
    than columns, and at most 400 columns, is solved from the inverse of X'X + alpha I, and refined where the product of
    the norms of that matrix and of its inverse, which bounds its condition, is above 1e5; above 1e10 the solution is
    that of LeastSquaresClassifier. Unlike scikit-learn's, class_weight='balanced' sees the sample weights.

    Examples
    --------
    >>> from fastclf import RidgeClassifier
    >>> model = RidgeClassifier(alpha=0.5).fit([[0.0], [1.0], [3.0], [4.0]], ["n", "n", "p", "p"])
    >>> model.predict([[1.9], [2.1]])
    array(['n', 'p'], dtype='<U1')
    >>> model.coef_.round(3)
    array([0.571])
    """

    _state_table = declare(
        coef_=RidgeCoefficients("float32 or float64", "n_planes", "n_features"),
        solver_=Value(require_choice, _SOLVERS),
    )

    _tells_condition = False

    def __init__(
        self,
        alpha=1.0,
        *,
        fit_intercept=True,
        copy_X=True,
        max_iter=None,
        tol=1e-4,
        class_weight=None,
        solver="auto",
        positive=False,
        random_state=None,
        n_jobs=None,
        verbose=0,
        callback=None,
    ):
        self._take(locals())

    def fit(self, X, y, sample_weight=None):
        """Solve for the weights.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Finite real numbers, float32 and float64 as they are.
        y : array-like of shape (n_samples,)
            Labels: numbers, strings or bools, of two classes at least.
        sample_weight : array-like of shape (n_samples,), default=None
            How often each row counts, from 0 up; 0 is a missing row.

        Returns
        -------
        self
        """
        columns, rows, codes, classes, weight, _ = self._checked(X, y, sample_weight)
        return self._become(**columns, **self._solved_fast(rows, codes, classes, weight))

    def _solved_fast(self, rows, codes, classes, weight):
        """The attributes of the fit, from an inverse matrix if that is accurate enough."""
        found, sums = None, self._rows(rows, codes, len(classes), weight)
        if self.alpha > 0 and not sums.sparse and rows.shape[1] <= min(rows.shape[0], _MOST_INVERTED):
            with np.errstate(all="ignore"):
                found = self._by_inverse(sums, len(classes))
        if found is None:
            return self._solved(rows, codes, classes, weight, with_inverse=False)[0]
        return {"coef_": found[0], "intercept_": found[1], "classes_": classes}

    def _by_inverse(self, rows, n_classes):
        """The pair (coefficients, intercepts); None if they are infinite or, by the condition number, inaccurate."""
        with Progress(len(rows), f"{type(self).__name__}.fit", self.verbose, self.callback) as progress:
            total, mean, level, matrix, moment = _moments(rows, self.fit_intercept, progress)
        matrix[np.diag_indices(len(matrix))] += self.alpha
        if not varies(matrix, total, mean).all():
            return None
        inverse, condition = _inverse(matrix)
        if inverse is None:
            return None
        columns, scale = np.arange(len(matrix)), units(matrix)
        problem = LeastSquaresColumns(rows, columns, scale, mean, level, self.alpha, n_classes)
        coef = problem.solution(lambda sums: sums @ inverse, moment, condition)
        if coef is None:
            return None
        intercept = level - coef @ mean
        if not (np.isfinite(coef).all() and np.isfinite(intercept).all()):
            return None
        return coef, intercept

    def _check_parameters(self):
        require_choice("solver", self.solver, _SOLVERS)
        require_number("tol", self.tol, 0)
        if self.max_iter is not None:
            require_integer("max_iter", self.max_iter, 1)
        if self.positive:
            raise ValueError("positive is True; False is wanted, as coefficients cannot be kept at or above 0")
        super()._check_parameters()

    def _checked(self, X, y, sample_weight):
        columns, rows, codes, classes, weight, kept = super()._checked(X, y, sample_weight)
        return columns, rows, codes, classes, _weighed(self.class_weight, classes, codes, weight), kept

    def _answers_without(self, name, values, X, y, fold):
        # class weights may differ from fold to fold, so that one fit to all rows cannot serve all folds
        return None if self.class_weight is not None else super()._answers_without(name, values, X, y, fold)

    def _become(self, **attributes):
        solver = "cholesky" if self.solver == "auto" else self.solver
        told = {name: value for name, value in attributes.items() if name not in ("rank_", "condition_")}
        return super()._become(**_flat(told), n_iter_=None, solver_=solver)


def _moments(rows, intercept, progress):
    """(total weight, mean row, mean target, Gram matrix of centred rows, sums of target times centred row) of RowSums.

    The rows are dense. Without an intercept all but the last two are 0.
    """
    shift = rows.sample_mean() if intercept else np.zeros(rows.shape[1])
    sums, gram = rows.products(shift, progress)
    moment, off, level, total = target_sums(sums), np.zeros(rows.shape[1]), 0.0, 0.0
    if intercept:
        size = rows.sizes()
        total = size.sum()
        off, level = sums.sum(axis=0) / total, target_sums(size) / total
        subtract_square(gram, total, off)
        moment -= np.outer(level, sums.sum(axis=0))
    return total, shift + off, level, gram, moment


@aside_for_many
def _inverse(matrix):
    """(inverse of a positive definite matrix, a bound of its condition number); (None, inf) if that is too large."""
    if not np.isfinite(matrix).all() or not (matrix.diagonal() > 0).all():
        return None, np.inf
    scale = units(matrix)
    scaled = matrix * scale * scale[:, None]
    try:
        inverse = np.linalg.inv(scaled)
    except np.linalg.LinAlgError:
        return None, np.inf
    # the condition number is at most the norm of the matrix times the norm of its inverse, where the norm is the
    # largest sum of absolute values in a column
    bound = np.abs(scaled).sum(axis=0).max() * np.abs(inverse).sum(axis=0).max()
    return (inverse * scale * scale[:, None], bound) if bound <= REFINED else (None, np.inf)


def _weighed(class_weight, classes, codes, weight):
    """The weights of the rows times the class weights of their classes."""
    if class_weight is None:
        return weight
    factor = class_factors(class_weight, classes, class_counts(codes, weight, len(classes)))
    return factor[codes] * (1.0 if weight is None else weight)


def _flat(attributes):
    """The attributes, with the coefficients of two classes as a vector, as in scikit-learn."""
    coef = attributes["coef_"]
    return attributes | {"coef_": coef[0] if coef.ndim == 2 and len(coef) == 1 else coef}


class _LeftOut(ScoreClassifier):
    """A classifier whose input X holds scores of left-out rows, so that a scorer can judge them without a new fit."""

    def __init__(self, classes):
        self.classes_ = classes
        self.n_features_in_ = 1

    def _scores(self, X):
        return X if X.ndim == 2 else X[:, None]


class RidgeClassifierCV(RoutedScores):
    """RidgeClassifier with the penalty that is best for rows that are left out.

    Parameters
    ----------
    alphas : float or list of float > 0, default=(0.1, 1.0, 10.0)
        Penalties to choose from; with a `cv` also 0.
    fit_intercept : bool, default=True
    scoring : str, callable or None, default=None
        What is best: a name or a function of (estimator, X, y), as for `cross_validate`. None is, without a `cv`, minus
        the mean of the weighted squares of the residuals, else the accuracy.
    cv : int, splitter, iterable of (train, test) or None, default=None
        Folds. None leaves out each row for itself, by one decomposition for all rows and penalties.
    class_weight : dict, 'balanced' or None, default=None
        As RidgeClassifier's.
    store_cv_results : bool, default=False
        Whether `cv_results_` is kept; without `cv` alone.
    n_jobs : int or None, default=None
        Threads; None means every CPU that the process may use. It changes no result.

    Attributes
    ----------
    alpha_ : float
        The best penalty; of equal ones the first.
    best_score_ : float
    cv_results_ : ndarray of shape (n_samples, 1 or n_classes, n_alphas)
        The weighted squared residuals of rows that are left out, or with a `scoring` their scores.
    coef_ : ndarray of shape (n_features,) with two classes, else (n_classes, n_features)
    intercept_ : ndarray of shape (1,) or (n_classes,)
    classes_ : ndarray of shape (n_classes,)
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only when X was a table with string column names.

    Notes
    -----
    With the eigenvalues e and vectors of X'X, or of XX' where there are fewer rows than columns, the residual of a row
    left out is e_i / (1 - h_i), with its residual e_i and its leverage h_i, for every alpha at O(n m) (m being the
    smaller of n and d) after O(n d m + m^3). Memory beyond X: 8 m^2 bytes, of a wide X twice, and 8 n bytes for each
    penalty and class if scores are asked for. The final fit is RidgeClassifier's.

    References
    ----------
    Allen (1974), The relationship between variable selection and data augmentation and a method for prediction.

    Examples
    --------
    >>> from fastclf import RidgeClassifierCV
    >>> X, y = [[i / 10] for i in range(20)], [0] * 9 + [1, 0] + [1] * 9
    >>> model = RidgeClassifierCV(alphas=[0.1, 1, 10]).fit(X, y)
    >>> model.alpha_, model.predict([[0.2], [1.8]]).tolist()
    (0.1, [0, 1])
    """

    _state_table = declare(
        coef_=RidgeCoefficients("float32 or float64", "n_planes", "n_features"),
        alpha_=Value(require_number, 0),
        best_score_=Value(require_numbers, "iuf"),
    )

    def __init__(
        self,
        alphas=(0.1, 1.0, 10.0),
        *,
        fit_intercept=True,
        scoring=None,
        cv=None,
        class_weight=None,
        store_cv_results=False,
        n_jobs=None,
    ):
        self._take(locals())

    def fit(self, X, y, sample_weight=None, **params):
        """Choose the penalty, and solve for the weights.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Finite real numbers, float32 and float64 as they are.
        y : array-like of shape (n_samples,)
            Labels: numbers, strings or bools, of two classes at least.
        sample_weight : array-like of shape (n_samples,), default=None
            How often each row counts, from 0 up; 0 is a missing row.
        **params
            For the splitter and the scorer, where scikit-learn's metadata routing is switched on.

        Returns
        -------
        self
        """
        alphas, name = self._alphas(), type(self).__name__
        rows = as_rows(X, name)
        columns = self._fitted_columns(X, rows)
        labels = as_labels(y, sample_weight, len(rows), name)
        cv, score_params = self._routed(X, y, sample_weight, params)
        if cv is None:
            kept, weight = counted(rows, labels, name)
            weight = _weighed(self.class_weight, labels.classes, labels.codes, weight)
            found = self._left_out_each(kept, labels.codes, labels.classes, weight, alphas)
        else:
            found = self._by_folds(cv, X, rows, y, sample_weight, alphas, score_params, labels.classes)
        model = self._model(found["alpha_"]).fit(rows, y, sample_weight)
        fitted = {each: getattr(model, each) for each in ("coef_", "intercept_", "classes_")}
        return self._become(**columns, **fitted, **found)

    def _get_scorer(self):
        scorer = super()._get_scorer()
        return scorer.set_score_request(sample_weight=True) if self.scoring is None and routes() else scorer

    def _alphas(self):
        """The parameter `alphas`, the penalties, as a list of floats."""
        alphas = [self.alphas] if isinstance(self.alphas, Real) else as_list(self.alphas, "alphas")
        if len(alphas) == 0:
            raise ValueError("alphas is empty; at least one penalty is wanted")
        for i, alpha in enumerate(alphas):
            what = f"alphas[{i}]" if len(alphas) > 1 else "alphas"
            if not isinstance(alpha, (Real, np.number)) or isinstance(alpha, bool):
                raise TypeError(f"{what} must be an instance of float, not {type(alpha).__name__}.")
            if not alpha >= 0 or (self.cv is None and alpha == 0):
                raise ValueError(f"{what} == {alpha}, must be {'>' if self.cv is None else '>='} 0.0.")
            require_number(what, alpha, 0, finite=True)
        return [float(alpha) for alpha in alphas]

    def _model(self, alpha):
        return RidgeClassifier(
            alpha, fit_intercept=self.fit_intercept, class_weight=self.class_weight, n_jobs=self.n_jobs
        )

    def _left_out_each(self, rows, codes, classes, weight, alphas):
        """The fitted attributes, with an alpha that is chosen by leave-one-out cross-validation."""
        scorer = None
        if self.scoring is not None:
            scorer = self._as_scorer(self.scoring, classes)
        keeps = self.store_cv_results or scorer is not None
        n, K = len(rows), 1 if len(classes) == 2 else len(classes)
        totals = np.zeros(len(alphas))
        residuals = np.empty((len(alphas), n, K)) if keeps else None
        target = target_columns(codes, len(classes))
        root = np.ones(n) if weight is None else np.sqrt(weight)
        blocks = _residuals_left_out(rows, target, root, np.array(alphas), bool(self.fit_intercept), self.n_jobs)
        for start, stop, block in blocks:
            totals -= np.square(block).sum(axis=(1, 2))
            if keeps:
                residuals[:, start:stop] = block
        scores, results = totals / (n * K), None
        if keeps:
            results = np.square(residuals)
        if scorer is not None:
            results = target - residuals / root[:, None]
            given = {} if weight is None else {"sample_weight": weight}
            stub, labels = _LeftOut(classes), classes[codes]
            scores = [
                figure_of(scorer, stub, result[:, 0] if K == 1 else result, labels, classes, given)
                for result in results
            ]
        best = int(np.argmax(scores))
        found = {"alpha_": alphas[best], "best_score_": float(scores[best])}
        return found | ({"cv_results_": np.moveaxis(results, 0, 2).copy()} if self.store_cv_results else {})

    def _by_folds(self, cv, X, rows, y, sample_weight, alphas, params, classes):
        """The fitted attributes, with an alpha that is chosen by cross-validation with folds."""
        if self.store_cv_results:
            raise ValueError("cv!=None and store_cv_results=True are incompatible")
        targets = np.asarray(y)
        scorer = self._as_scorer(self._get_scorer() if params is not None else self._scoring(), classes)
        folds = list(as_folds(cv, X, targets, len(rows)))
        scores = np.empty((len(alphas), len(folds)))
        everyone = np.arange(len(rows))
        for j, (train, test) in enumerate(folds):
            fit_on, ask = everyone[train], everyone[test]
            weight = None if sample_weight is None else np.asarray(sample_weight)[fit_on]
            given = {name: np.asarray(value)[ask] for name, value in (params or {}).items()}
            part = rows_at(rows, fit_on)
            for i, alpha in enumerate(alphas):
                model = self._model(alpha).fit(part, targets[fit_on], weight)
                scores[i, j] = figure_of(scorer, model, as_scipy(rows_at(rows, ask)), targets[ask], classes, given)
        means = scores.mean(axis=1)
        best = int(np.argmax(means))
        return {"alpha_": alphas[best], "best_score_": float(means[best])}

    def _as_scorer(self, scoring, classes):
        if hasattr(scoring, "_score_func"):
            scoring = with_labels(scoring, classes)
        [scorer] = as_scorers(scoring).values()
        return scorer

    def _become(self, **attributes):
        return super()._become(**_flat(attributes))


def _residuals_left_out(rows, target, root, alphas, intercept, n_jobs):
    """Yield (start, stop, residuals) of blocks of rows; each row is left out for itself.

    Residuals have the shape (n_alphas, rows, K) and are multiplied by root, the square roots of the weights. Let A =
    root (X - mean) = U s V', and r the centred targets times root. The residuals of the fit are r - U s^2 / (s^2 +
    alpha) U'r, and the leverages are the sums of U^2 s^2 / (s^2 + alpha) over columns.
    """
    n, d = rows.shape
    share = root**2 / np.sum(root**2)
    centre = np.zeros(d)
    level = np.zeros(target.shape[1])
    if intercept:
        level = share @ target
        centre = _mean(rows, share)
    r = (target - level) * root[:, None]
    base = share if intercept else np.zeros(n)
    if n <= d:
        products = _require_products(_row_products(rows, centre, root, n_threads(n_jobs)))
        values, U = aside_if_slow(9 * n**3, np.linalg.eigh, products)
        del products
        values = np.maximum(values, 0)
        shares = values / (values + alphas[:, None])
        inner = shares[:, :, None] * (U.T @ r)

        def rotated(start, stop):
            return U[start:stop]

    else:
        gram = np.zeros((d, d))
        moment = np.zeros((d, r.shape[1]))
        for start, stop, A in _centred(rows, centre, root):
            with np.errstate(over="ignore", invalid="ignore"):
                aside_if_many(max(gram.size, A.size), _add_square, A, gram)
                moment += A.T @ r[start:stop]
        values, V = aside_if_slow(9 * d**3, np.linalg.eigh, _require_products(gram))
        values = np.maximum(values, 0)
        shares = 1 / (values + alphas[:, None])
        inner = shares[:, :, None] * (V.T @ moment)

        def rotated(start, stop):
            [(_, _, A)] = _centred(rows[start:stop], centre, root[start:stop], stop - start)
            return aside_if_many(V.size, np.matmul, A, V)

    widest, found = max(len(values), d if n > d else 1), len(alphas) * r.shape[1]
    size = max(1, min(_BLOCK_NUMBERS // widest, _FOUND_NUMBERS // found))
    for start in range(0, n, size):
        stop = min(start + size, n)
        Z = rotated(start, stop)
        leverage = np.square(Z) @ shares.T + base[start:stop, None]
        residual = r[start:stop] - Z @ inner
        yield start, stop, residual / np.maximum(1 - leverage, 1e-15).T[:, :, None]


def _require_products(products):
    """Refuse a matrix of products of columns or of rows that has NaN or infinity."""
    if not all_finite(products):
        raise ValueError("X has values whose squares exceed 1e308; scaled columns are wanted")
    return products


def _mean(rows, share):
    """The weighted mean of the rows, where `share` has weights of sum 1."""
    if not isinstance(rows, Csr):
        return share @ np.asarray(rows, np.float64) if rows.size <= _BLOCK_NUMBERS else _long_mean(rows, share)
    return weighted_sums(rows, share)


def _long_mean(rows, share):
    mean = np.zeros(rows.shape[1])
    size = max(1, _BLOCK_NUMBERS // rows.shape[1])
    # the bounds of the row ranges do not depend on the number of threads, so that the sum always has the same bits
    for start in range(0, len(rows), size):
        part = slice(start, start + size)
        mean += share[part] @ np.asarray(rows[part], np.float64)
    return mean


def _centred(rows, centre, root, size=None):
    """Yield (start, stop, A) for blocks of rows as dense float64; A: X - centre, each row times its entry of `root`."""
    size = size or max(1, _BLOCK_NUMBERS // rows.shape[1])
    for start in range(0, len(rows), size):
        stop = min(start + size, len(rows))
        A = np.asarray(rows[start:stop], np.float64) - centre
        A *= root[start:stop, None]
        yield start, stop, A


def _add_square(A, gram):
    gram += np.dot(A.T, A)


def _dense_products(rows, centre, root):
    A = (np.asarray(rows, np.float64) - centre) * root[:, None]
    return np.dot(A, A.T)


def _row_products(rows, centre, root, threads):
    """The matrix AA', where A is X - centre, each row times its entry of `root`; sparse rows stay sparse."""
    if not isinstance(rows, Csr):
        with np.errstate(over="ignore", invalid="ignore"):
            return aside_if_slow(len(rows) * rows.size, _dense_products, rows, centre, root)
    return Centred(rows, centre, root, threads).products()
