"""Least squares with the indicators of the classes as targets."""

from functools import partial

import numpy as np

from .._csr import Csr, as_rows, is_sparse
from .._estimator import variants
from .._folds import keeps_classes, rows_of_folds
from .._labels import as_labels
from .._threads import (
    Progress,
    advance,
    all_finite,
    aside,
    aside_for_many,
    aside_if_many,
    aside_if_slow,
    map_rows,
    numbered_blocks,
    rows_at,
)
from .._validation import as_unchecked_matrix, require_number
from .exclusive import exclusive_columns, solved_by_elimination
from .row_gram import CACHED, Centred, DenseCentred, Factor, Unsure, largest_eigenvalue, settled, solved
from .row_sums import RowSums
from .scores import (
    LinearClassifier,
    chosen,
    combined,
    counted,
    in_order_for,
    linear_codes,
    linear_scores,
    products_with,
    transposed,
)

# _CONDITION: ten digits of the solution of the normal equations are right if the condition number of their matrix,
# after its columns are scaled to length 1, is at most this.
# REFINED: up to this condition number, the solution is refined by residuals of X itself. Otherwise X is factored.
_CONDITION, REFINED = 1e5, 1e10

# _MANY_USED: from this number of columns on, the normal equations are solved by a Cholesky factor, which takes a tenth
# of the time of eigenvectors.
# _DIGITS: the relative errors of the eigenvalues that then give the condition number, as a limit or as an attribute.
_MANY_USED, _DIGITS = 64, (0.1, 1e-4)

# Columns with more entries than this are not sorted by their number.
_LONG = 1 << 14

# The number of entries of a temporary array that holds a block of rows, which limits memory.
_BLOCK_NUMBERS = 1 << 20

# _MANY_COLUMNS: sparse rows stay sparse if they have more columns than this, or more columns than there are rows.
# _DENSE_NUMBERS: sparse rows of up to this number of entries, with the zeros, are made dense if products of rows leave
# the rank uncertain.
_MANY_COLUMNS, _DENSE_NUMBERS = 4096, 1 << 26

_EPS = np.finfo(float).eps

# Columns whose norm is smaller than this, and singular values smaller than this, count as 0, because their squares
# underflow.
_TINY = 1e-150

# A new fit predicts a left-out row if 1 - h is below this, where h is the row's leverage. A new fit predicts a left-out
# fold if an eigenvalue of 1 - H is below this, where H is the fold's block of the hat matrix.
_ALONE = 1e-6

# If the two best scores of a left-out row, which are fitted to the targets 1 and -1, differ by less than this, the
# class is decided by a new fit to the rows outside of the row's fold.
_TIE = 1e-7


class LeastSquaresClassifier(LinearClassifier, shortcuts=True):
    """Least squares on the indicator of each class, +1 for its rows and -1 for all others; the largest score wins.

        min over w, b    sum_i s_i (t_i - w x_i - b)^2 + alpha |w|^2

    for each class, or once with two classes: s are the sample weights. The intercept is not penalised. If there are
    several solutions, the one with the least norm |w| is taken.

    Parameters
    ----------
    alpha : float >= 0, default=0.0
        Ridge penalty, the same as in scikit-learn's RidgeClassifier.
    fit_intercept : bool, default=True
        Whether to fit b; otherwise it is 0.
    n_jobs : int or None, default=None
        Threads for sums and scores; None means every CPU that the process may use. It changes no result.
    verbose : int, default=0
        1 shows the progress of `fit`.
    callback : callable, default=None
        Called as `callback(step, total, value)` after each piece of `fit`, in rows; value is None. If it returns True,
        `fit` raises RuntimeError and the estimator stays as it was.

    Attributes
    ----------
    coef_ : ndarray of shape (1 or n_classes, n_features)
        One row with two classes, for `classes_[1]`.
    intercept_ : ndarray of shape (1 or n_classes,)
    classes_ : ndarray of shape (n_classes,)
    rank_ : int
        Rank of X, minus its mean if there is an intercept; with alpha > 0, of the penalised problem.
    condition_ : float
        Condition number of the normal equations' matrix with scaled columns, to 1e-4 if it is estimated; infinite if
        the rank is not full.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only when X was a table with string column names.

    Notes
    -----
    One read of X gives X'X, in float64 about a mean, with n d^2 / 2 multiply-adds, for float32 too. From 64 columns
    on `fit` factors it (Cholesky) and estimates its condition number to 1e-4 by Lanczos' process; with fewer, and
    for `leave_one_out`, it takes the eigenvectors. If the condition number is above 1e5, the solution is refined: X is
    read again for residuals, as a rule once or twice. Above 1e10 (for `leave_one_out` above 1e5), X is read for a QR
    factorisation in blocks of rows, with 2 n d^2 multiply-adds. The error of both grows with the condition number of
    X, not with its square. So `coef_` agrees with numpy.linalg.lstsq to a relative 1e-9, or to the rounding error that
    the condition of X causes in any method. Scaling a column does not change the rank, which is found after scaling.

    With fewer rows than columns X is factored in its row space, in time n^2 d; with a penalty the matrix of the
    products of its rows is factored (Cholesky), and the solution is refined. A sparse X with more columns than rows, or
    with more than 4096, stays sparse: the matrix of the products of its rows, or of its columns if those are fewer, is
    factored. With a penalty and more columns than rows, conjugate gradients replace the factor where they are likely to
    be faster; the relative error of the weights is at most 5e-10 then (5e-8 if X is of float32). If X has more than
    12,000 rows and more than 12,000 columns, conjugate gradients are used, whose slope falls by 1e-13 where the penalty
    is too small for such a bound. If most columns of such an X are side by side and no row has two of them, as with the
    zeros and ones of a categorical column, they are eliminated if the others are at most 128 (2048 if all are more than
    1500): the time is that of a fit to the other columns. So are categories of a TableClassifier.

    Memory beyond X: 64 MB or 8 d^2 bytes, whichever is more; with fewer rows than columns three float64 copies of X, or
    for a sparse X 32 m^2 bytes, where m is the smaller of n and d. If columns are eliminated: 400 MB at most.

    References
    ----------
    Hastie, Tibshirani, Friedman (2009), The Elements of Statistical Learning, 4.2; Golub, Van Loan (2013), Matrix
    Computations, 5.3 and 5.5; Allen (1974), The relationship between variable selection and data augmentation and a
    method for prediction (leave-one-out).

    Examples
    --------
    >>> from fastclf import LeastSquaresClassifier
    >>> model = LeastSquaresClassifier().fit([[0.0], [1.0], [3.0], [4.0]], ["n", "n", "p", "p"])
    >>> model.predict([[1.9], [2.1]])
    array(['n', 'p'], dtype='<U1')
    >>> round(model.coef_.item(), 6), round(model.intercept_.item(), 6)
    (0.6, -1.2)
    """

    def __init__(self, alpha=0.0, *, fit_intercept=True, n_jobs=None, verbose=0, callback=None):
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
            The multiplicity of each row, from 0 up; a row with weight 0 is ignored.

        Returns
        -------
        self
        """
        columns, rows, codes, classes, weight, _ = self._checked(X, y, sample_weight)
        fitted = self._solved(rows, codes, classes, weight, with_inverse=False, of_table=isinstance(X, Csr))[0]
        return self._become(**columns, **fitted)

    _changing = LinearClassifier._changing | {"leave_one_out"}

    _tells_condition = True  # whether `condition_` is an attribute

    def leave_one_out(self, X, y, sample_weight=None):
        """Fit, and return the scores of each row by a model that is fitted without it.

        The residual of a left-out row is e / (1 - h), with its residual e and its leverage h. A row with leverage 1,
        without which the rank is lower, is left out by a new fit. The cost beyond the fit is n d^2, and new fits for at
        most as many rows as the rank; with fewer rows than columns and alpha=0 these are all rows.

        Parameters
        ----------
        X, y, sample_weight
            As for `fit`.

        Returns
        -------
        scores : ndarray of shape (n_samples,) with two classes, else (n_samples, n_classes)
            In the form of `decision_function`; for rows of weight 0 the scores of the model itself.
        """
        columns, rows, codes, classes, weight, kept = self._checked(X, y, sample_weight)
        fitted, inverse, mean = self._solved(rows, codes, classes, weight)
        scores = linear_scores(rows, fitted["coef_"], fitted["intercept_"], self.n_jobs)
        target = target_columns(codes, len(classes))
        leverage = self._leverage(rows, weight, inverse, mean)
        alone = 1 - leverage < _ALONE
        leverage[alone] = 0
        scores = target - (target - scores) / (1 - leverage)[:, None]
        for i in np.flatnonzero(alone)[:, None]:
            scores[i] = linear_scores(rows[i], *self._solved_without(i, rows, codes, classes, weight))
        if kept is not None:
            all_rows = as_rows(X, type(self).__name__)
            everyone = linear_scores(all_rows, fitted["coef_"], fitted["intercept_"], self.n_jobs)
            everyone[kept] = scores
            scores = everyone
        self._become(**columns, **fitted)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    # Cross-validation is fast: the predictions for all folds come from one fit for each alpha.

    _path_parameters = ("alpha",)

    def _answers_without(self, name, values, X, y, fold):
        if not keeps_classes(fold, y) or (is_sparse(X) and X.shape[0] * X.shape[1] > _DENSE_NUMBERS):
            return None
        return [model._predict_folds(X, y, fold) for model in variants(self, name, values)]

    def _predict_folds(self, X, y, fold):
        """The predicted label of each row by the fit without its fold; all classes must occur outside of each fold.

        If a fold is left out, the residuals e of its rows become (1 - H)^-1 e, where H = ZZ' is their hat matrix.
        """
        _, rows, codes, classes, *_ = self._checked(X, y, None)
        fitted, inverse, mean = self._solved(rows, codes, classes, None)
        target, n, rank = target_columns(codes, len(classes)), len(rows), inverse.shape[1]
        error = target - linear_scores(rows, fitted["coef_"], fitted["intercept_"], self.n_jobs)
        tests, left = rows_of_folds(fold), np.full(target.shape, np.nan)
        if len(tests) == n:
            rest = 1 - self._leverage(rows, None, inverse, mean)
            sure = rest > _ALONE
            left[sure] = target[sure] - error[sure] / rest[sure, None]
        else:
            Z = np.full((n, rank + bool(self.fit_intercept)), 1 / np.sqrt(n))
            if rank:
                Z[:, :rank] = linear_scores(rows, inverse.T, -(mean @ inverse), self.n_jobs)
            for test in tests:
                left[test] = target[test] - _left_out(Z, error, test)
        gap = np.abs(left[:, 0]) if len(classes) == 2 else np.diff(np.sort(left, axis=1)[:, -2:])[:, 0]
        found = chosen(np.where(np.isnan(left), 0, left))
        for i in np.unique(fold[~(gap > _TIE)]):
            solved = self._solved_without(tests[i], rows, codes, classes, None)
            found[tests[i]] = linear_codes(rows[tests[i]], *solved, self.n_jobs)
        return classes[found]

    def _check_parameters(self):
        require_number("alpha", self.alpha, 0, finite=True)

    def _checked(self, X, y, sample_weight):
        """The data of the rows with weight above 0: (columns, rows, codes, classes, weight, row numbers or None)."""
        name = type(self).__name__
        self._check_parameters()
        # NaN or infinity in a dense X shows in the sums over its rows, so that no other check is needed
        rows = as_rows(X, name) if is_sparse(X) else as_unchecked_matrix(X, name)
        columns = self._fitted_columns(X, rows)
        labels = as_labels(y, sample_weight, len(rows), name)
        rows, weight = counted(rows, labels, name)
        return columns, rows, labels.codes, labels.classes, weight, labels.rows

    def _solved(self, X, codes, classes, weight, with_inverse=True, of_table=False):
        """Fit; returns (attributes of the fit, L with LL' = (X'X + alpha I)^+ or None, mean of the rows)."""
        name = type(self).__name__
        solve = self._in_row_space
        if X.shape[0] >= X.shape[1]:
            solve = partial(self._by_products, with_inverse=with_inverse)
        if isinstance(X, Csr) and not with_inverse:
            if X.shape[1] > min(len(X), _MANY_COLUMNS):
                solve = self._sparse
            elif of_table:
                solve = self._by_elimination
        fast = not isinstance(X, Csr) and self.alpha > 0 and X.shape[0] < X.shape[1]
        with Progress(len(X) * (1 + (fast and with_inverse)), f"{name}.fit", self.verbose, self.callback) as progress:
            if fast:
                coef, rank, condition, inverse, mean, level = self._wide(X, codes, len(classes), weight, progress)
                if with_inverse:
                    inverse = self._in_row_space(X, codes, len(classes), weight, progress)[3]
            else:
                coef, rank, condition, inverse, mean, level = solve(X, codes, len(classes), weight, progress)
        with np.errstate(all="ignore"):
            intercept = level - coef @ mean
        if not (np.isfinite(coef).all() and np.isfinite(intercept).all()):
            self._rows(X, codes, len(classes), weight).require_finite(name)
            raise ValueError("X has values whose squares are beyond float64; values below 1e150 are wanted")
        attributes = {
            "coef_": in_order_for(X, coef),
            "intercept_": intercept,
            "classes_": classes,
            "rank_": int(rank),
            "condition_": float(condition),
        }
        return attributes, inverse, mean

    def _rows(self, X, codes, n_classes, weight):
        """The rows X as a `RowSums`, which computes sums over rows; X itself if it has the methods of a `RowSums`."""
        return RowSums(X, codes, n_classes, weight, self.n_jobs) if isinstance(X, (np.ndarray, Csr)) else X

    def _by_products(self, X, codes, n_classes, weight, progress, with_inverse=False):
        n, d = X.shape
        rows, shift = self._rows(X, codes, n_classes, weight), np.zeros(d)
        if self.fit_intercept and not rows.sparse:
            shift = rows.sample_mean()
            if not np.isfinite(shift).all():
                shift = np.zeros(d)
        sums, gram = rows.products(shift, progress)
        size = rows.sizes()
        level = target_sums(size) / size.sum() if self.fit_intercept else np.zeros(_n_outputs(n_classes))
        with np.errstate(all="ignore"):
            moment = target_sums(sums)
            off = np.zeros(d)
            if self.fit_intercept:
                off = sums.sum(axis=0) / size.sum()
                subtract_square(gram, size.sum(), off)
                moment -= np.outer(level, sums.sum(axis=0))
            gram[np.diag_indices(d)] = np.maximum(gram.diagonal(), 0) + self.alpha
        mean = shift + off
        coef, inverse = np.zeros((len(moment), d)), np.zeros((d, 0))
        if not (all_finite(gram) and np.isfinite(moment).all()):
            return np.full_like(coef, np.nan), 0, np.inf, inverse, mean, level
        # the coefficient of a constant column is 0
        used = np.flatnonzero(varies(gram, size.sum(), mean))
        if len(used) == 0:
            return coef, 0, np.inf, inverse, mean, level
        scale = units(gram)[used]
        problem = LeastSquaresColumns(rows, used, scale, mean[used], level, self.alpha, n_classes)
        if not with_inverse and len(used) >= _MANY_USED:
            found = self._by_factor(problem, _scaled(gram, used, scale), moment[:, used], scale)
            if found is not None:
                coef[:, used] = found[0]
                return coef, len(used), found[1] if len(used) == d else np.inf, None, mean, level
        values, vectors = aside_if_slow(9 * len(used) ** 3, _decomposed, gram, used, scale)
        condition = values[-1] / values[0] if values[0] > 0 else np.inf
        found = None
        if condition <= (_CONDITION if with_inverse else REFINED):
            inner = map_rows(lambda rows, scale: scale[:, None] * rows / np.sqrt(values), vectors, scale)
            solve = partial(aside_if_many, inner.size, _times_square, B=inner)
            found = problem.solution(solve, moment[:, used], condition)
        if found is not None:
            coef[:, used], rank = found, len(used)
        else:
            root, moment = problem.factored()
            coef[:, used], rank, condition, inner = _least_norm(root, moment, scale, n)
        inverse = inner
        if len(used) < d:
            inverse = np.zeros((d, inner.shape[1]))
            for i, rows in numbered_blocks(inner):
                inverse[used[i]] = rows
        return coef, rank, condition if rank == d else np.inf, inverse, mean, level

    def _by_factor(self, problem, matrix, moment, scale):
        """(coefficients, condition number of the matrix) by a Cholesky factor; None if the latter is too large.

        matrix: the scaled matrix of products. If the penalty limits its condition number and none is wanted, that is
        NaN.
        """
        try:
            factor = Factor(matrix)
        except np.linalg.LinAlgError:
            return None
        condition, least = np.nan, self.alpha * scale.min() ** 2
        if self._tells_condition or not np.trace(matrix) <= _CONDITION * least:
            digits = _DIGITS[self._tells_condition]
            largest = largest_eigenvalue(partial(aside_if_slow, matrix.size, np.dot, matrix), len(matrix), digits)
            condition = largest * largest_eigenvalue(factor.solve, len(matrix), digits)
            if not condition <= REFINED:
                return None
        coef = problem.solution(lambda sums: factor.solve((sums * scale).T).T * scale, moment, condition)
        return None if coef is None else (coef, condition)

    def _in_row_space(self, X, codes, n_classes, weight, progress):
        found = aside_if_many(X.shape[0] * X.shape[1], self._by_singular_values, X, codes, n_classes, weight)
        advance(progress, len(X))
        return found

    def _by_singular_values(self, X, codes, n_classes, weight):
        n, d = X.shape
        used = np.flatnonzero(X.column_lengths()) if isinstance(X, Csr) else slice(None)
        rows = np.asarray(_only(X, used) if isinstance(X, Csr) else X, np.float64)
        w = np.ones(n) if weight is None else weight
        target = target_columns(codes, n_classes)
        mean, level = np.zeros(d), np.zeros(target.shape[1])
        if not np.isfinite(rows).all():
            return np.full((len(level), d), np.nan), 0, np.inf, np.zeros((d, 0)), mean, level
        if self.fit_intercept:
            share = w / w.sum()
            level = share @ target
            mean[used] = share @ rows
        root = np.sqrt(w)[:, None]
        centred = (rows - mean[used]) * root
        if not np.isfinite(centred).all():
            return np.full((len(level), d), np.nan), 0, np.inf, np.zeros((d, 0)), mean, level
        U, values, Vt = np.linalg.svd(centred, False)
        kept = values > max(values.max(initial=0.0) * max(n, d) * _EPS, _TINY)
        U, values, V = U[:, kept], values[kept], Vt[kept].T
        solve = V * (values / (values**2 + self.alpha))
        coef, inverse = np.zeros((len(level), d)), np.zeros((d, len(values)))
        coef[:, used] = (solve @ (U.T @ ((target - level) * root))).T
        inverse[used] = V / np.sqrt(values**2 + self.alpha)
        rank = d if self.alpha > 0 else len(values)
        smallest = self.alpha if self.alpha > 0 else 0.0
        condition = (values[0] ** 2 + self.alpha) / smallest if smallest > 0 and len(values) else np.inf
        return coef, rank, condition, inverse, mean, level

    def _sparse(self, X, codes, n_classes, weight, progress, only_by_elimination=False):
        """Fit sparse rows without making them dense: (coef, rank, condition, None, mean of X, mean of y).

        If `only_by_elimination`, the result is None where no elimination of columns solves the problem.
        """
        n, d = X.shape
        lengths = X.column_lengths()
        used = np.flatnonzero(lengths)
        wide = self.alpha > 0 and n < len(used)
        if wide:
            # products with columns take less time if columns of one length are adjacent; those of a row then do not
            # ascend, which the methods for wide rows do not need
            keys = -np.minimum(lengths[used], _LONG).astype(np.int16)
            used = used[aside_if_many(len(used), np.argsort, keys, kind="stable")]
        w = np.ones(n) if weight is None else weight
        target = target_columns(codes, n_classes)
        mean, level = np.zeros(d), np.zeros(target.shape[1])
        coef = np.zeros((len(level), d))
        share, root = w / w.sum(), np.sqrt(w)
        if self.fit_intercept:
            level = share @ target
        if not len(used):
            return coef, d if self.alpha > 0 else 0, np.inf, None, mean, level
        rows = _only(X, used)
        exclusive = None if wide else exclusive_columns(rows)
        if exclusive is None and only_by_elimination:
            return None
        with np.errstate(all="ignore"):
            turned = transposed(rows)
            if self.fit_intercept:
                mean[used] = products_with(turned, share[:, None], np.zeros(1), self.n_jobs)[:, 0]
            A = Centred(rows, mean[used], root, self.n_jobs, turned)
            large = n * len(used) > _DENSE_NUMBERS
            aims, found = (target - level) * root[:, None], None
            if exclusive is not None:
                found = solved_by_elimination(A, aims, self.alpha, exclusive, self.fit_intercept)
            if found is None and only_by_elimination:
                return None
            by_elimination = found is not None
            try:
                found = found or solved(A, aims, self.alpha, exact=large, with_condition=self._tells_condition)
            except Unsure:
                return self._in_row_space(X, codes, n_classes, weight, progress)
        coef[:, used] = found.coef
        advance(progress, n)
        condition = found.condition if found.rank == len(used) == d else np.inf
        if self.alpha > 0 and len(used) < d:
            condition = found.condition if n <= len(used) or by_elimination else np.inf
        return coef, d if self.alpha > 0 else found.rank, condition, None, mean, level

    def _by_elimination(self, X, codes, n_classes, weight, progress):
        """Fit sparse rows by `_sparse` if most columns exclude each other, as zeros and ones of categories do.

        Otherwise `_by_products` fits them.
        """
        found = self._sparse(X, codes, n_classes, weight, progress, only_by_elimination=True)
        return self._by_products(X, codes, n_classes, weight, progress) if found is None else found

    def _wide(self, X, codes, n_classes, weight, progress):
        """Fit dense rows by products of rows, with a penalty: (coef, rank, condition, None, mean of X, mean of y)."""
        n, d = X.shape
        w = np.ones(n) if weight is None else weight
        target = target_columns(codes, n_classes)
        mean, level, root = np.zeros(d), np.zeros(target.shape[1]), np.sqrt(w)
        with np.errstate(all="ignore"):
            if self.fit_intercept:
                share = w / w.sum()
                level = share @ target
                mean = combined(X, share[:, None], self.n_jobs)[0]
            try:
                A, aims = DenseCentred(X, mean, root, self.n_jobs, target.shape[1]), (target - level) * root[:, None]
                found = solved(A, aims, self.alpha, exact=False, with_condition=self._tells_condition)
            except (Unsure, np.linalg.LinAlgError):
                return self._in_row_space(X, codes, n_classes, weight, progress)
        advance(progress, n)
        return found.coef, d, found.condition, None, mean, level

    def _leverage(self, X, weight, inverse, mean):
        """The leverage of each row, s_i (|L'(x_i - mean)|^2 + 1 / sum of s), for weights s and L = `inverse`."""
        n = len(X)
        leverage = np.empty(n)
        size = max(1, _BLOCK_NUMBERS // max(1, inverse.shape[1]))
        for start in range(0, n, size):
            rows = slice(start, start + size)
            z = linear_scores(X[rows], inverse.T, -(mean @ inverse), self.n_jobs) if inverse.shape[1] else 0.0
            leverage[rows] = np.sum(np.square(z), axis=-1)
        w = np.ones(n) if weight is None else weight
        return w * (leverage + (1 / w.sum() if self.fit_intercept else 0))

    def _solved_without(self, test, X, codes, classes, weight):
        """The pair (coef, intercept) of a fit to all rows except those in `test`, which may be all rows of a class."""
        rest = np.delete(np.arange(len(X)), test)
        rest_weight = None if weight is None else weight[rest]
        solved = self._solved(rows_at(X, rest), codes[rest], classes, rest_weight, with_inverse=False)[0]
        return solved["coef_"], solved["intercept_"]


def varies(gram, total, mean):
    """For each column, whether it differs from its mean by more than rounding: a mask.

    gram: the matrix of products of the centred columns; total: the sum of the weights of the rows.
    """
    return np.sqrt(gram.diagonal()) > np.maximum(16 * _EPS * np.sqrt(total) * np.abs(mean), _TINY)


def units(gram):
    """Factors that scale each column to a length of about 1: powers of 2, which make no rounding errors."""
    return np.ldexp(1.0, -np.frexp(np.sqrt(gram.diagonal()))[1])


class LeastSquaresColumns:
    """Least squares with the columns `used` of `rows`, a RowSums, by methods that read blocks of rows again.

    scale: the `units` of these columns; mean: their means; level: the means of the targets.
    """

    def __init__(self, rows, used, scale, mean, level, alpha, n_classes):
        self.rows, self.used, self.scale, self.mean, self.level = rows, used, scale, mean, level
        self.alpha, self.n_classes = alpha, n_classes

    def solution(self, solve, moment, condition):
        """The coefficients (n_outputs, d), of which a large condition number alone makes a refinement necessary.

        solve(sums) multiplies (n_outputs, d) by the inverse of the matrix of products, which has this condition number
        after scaling. The result is None if the refinement diverges.
        """
        if not condition > _CONDITION:
            return solve(moment)

        def step_from(scaled):
            return solve(self.slope(scaled * self.scale) if scaled.any() else moment) / self.scale

        found = settled(step_from, np.zeros(moment.shape))
        return None if found is None else found * self.scale

    def slope(self, coef):
        """Minus half the gradient of the objective, from residuals of the rows."""
        slope = -self.alpha * coef
        for block in self.rows.blocks(max(1, _BLOCK_NUMBERS // len(self.used))):
            slope += aside(self._slope_of, coef, *block)
        return slope

    def _slope_of(self, coef, X, codes, weight):
        slope, size = np.zeros(coef.shape), max(1, CACHED // len(self.used))
        for start in range(0, len(codes), size):
            part = slice(start, start + size)
            rows, target = self._centred(X[part], codes[part])
            target -= rows @ coef.T
            if weight is not None:
                target *= weight[part, None]
            slope += target.T @ rows
        return slope

    def _centred(self, X, codes):
        """(rows, targets) minus their means."""
        return np.asarray(X, np.float64)[:, self.used] - self.mean, target_columns(codes, self.n_classes) - self.level

    def factored(self):
        """(R, Q't), where QR is the matrix [centred rows; sqrt(alpha) I], and t has the targets and zeros."""
        d, n_targets = len(self.used), len(self.level)
        root = np.zeros((d + n_targets, d + n_targets))
        root[:d, :d] = np.sqrt(self.alpha) * np.eye(d)

        def extended(X, codes, weight):
            """The R of the QR decomposition of `root` and more rows."""
            block = np.column_stack(self._centred(X, codes))
            if weight is not None:
                block *= np.sqrt(weight)[:, None]
            return np.linalg.qr(np.concatenate([root, block]), "r")[: len(root)]

        for block in self.rows.blocks(max(_BLOCK_NUMBERS // d, 2 * d)):
            root = aside(extended, *block)
        return root[:d, :d], root[:d, d:]


@aside_for_many
def _left_out(Z, error, rows):
    """A fold's left-out residuals x: (1 - ZZ') x = residuals of the fit, ZZ': hat matrix; NaN if nearly singular.

    Z and `error`, the residuals of the fit, are given for all rows; `rows` are those of the fold.
    """
    Z, error = Z[rows], error[rows]
    wide = len(Z) <= Z.shape[1]
    product = Z @ Z.T if wide else Z.T @ Z
    try:
        inverse = np.linalg.inv(np.eye(len(product)) - product)
    except np.linalg.LinAlgError:
        return np.full(error.shape, np.nan)
    # the smallest eigenvalue of 1 - ZZ', where ZZ' is the fold's block of the hat matrix, is at least 1 / (norm of the
    # inverse), so that a large norm means that the matrix is nearly singular
    if not np.linalg.norm(inverse) < 1 / _ALONE:
        return np.full(error.shape, np.nan)
    return inverse @ error if wide else error + Z @ (inverse @ (Z.T @ error))


def _n_outputs(n_classes):
    return 1 if n_classes == 2 else n_classes


def target_columns(codes, n_classes):
    """+1 for the rows of each class and -1 for all others, of shape (n, 1 or n_classes)."""
    if n_classes == 2:
        return (2.0 * codes - 1)[:, None]
    compare = partial(_signs, np.arange(n_classes))
    return aside_if_many(len(codes) * n_classes, compare, codes)


def _signs(classes, codes):
    return np.where(codes[:, None] == classes, 1.0, -1.0)


def target_sums(sums):
    """The sums over rows of target times number, from the sums of these numbers over each class."""
    if len(sums) == 2:
        return sums[1:] - sums[:1]
    return 2 * sums - sums.sum(axis=0)


def _only(X, used):
    """A copy of a Csr with the columns `used` only, which must include all columns that have entries."""
    place = np.zeros(X.n_columns, np.int32)
    place[used] = np.arange(len(used))
    return Csr(X.indptr, rows_at(place, X.indices), X.data, len(used))


def weighted_sums(X, weight):
    """The sums over the rows of a Csr, times the rows' weights, for each column."""
    return aside_if_many(X.size, _weighted_sums, X, weight)


def _weighted_sums(X, weight):
    return np.bincount(X.indices[: X.size], weight[X.row_numbers()] * X.data[: X.size], X.n_columns)


def subtract_square(gram, size, off):
    """Subtract size times the outer product of `off` with itself from a matrix."""
    for i, rows in numbered_blocks(gram):
        rows -= size * np.outer(off[i], off)


def _decomposed(gram, used, scale):
    """The eigenvalues and eigenvectors of the used columns of a Gram matrix, scaled."""
    return np.linalg.eigh(_scaled(gram, used, scale))


def _scaled(gram, used, scale):
    return gram[np.ix_(used, used)] * scale * scale[:, None]


def _times_square(A, B):
    return A @ B @ B.T


@aside_for_many
def _least_norm(root, moment, scale, longest):
    """(coef, rank, condition, L) of the minimiser of |root w - moment| with the least norm.

    The rank is computed after scaling the columns.
    """
    U, values, Vt = np.linalg.svd(root * scale)
    rank = int((values > values[0] * longest * _EPS).sum())
    inverse = scale[:, None] * Vt[:rank].T / values[:rank]
    coef = inverse @ (U[:, :rank].T @ moment)
    if rank < len(values):
        null = np.linalg.qr(scale[:, None] * Vt[rank:].T)[0]
        coef -= null @ (null.T @ coef)
        return coef.T, rank, np.inf, inverse - null @ (null.T @ inverse)
    return coef.T, rank, (values[0] / values[-1]) ** 2, inverse
