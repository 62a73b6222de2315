"""Novikoff's bound on the mistakes of a perceptron, with the largest margin of the rows."""

from typing import NamedTuple

import numpy as np

from .._csr import Csr, as_rows
from .._labels import as_labels
from .._validation import require_truth
from ..linear_model.scores import linear_scores
from .svc import SVC

# The tolerance of the hard margin, in units of the margin: gamma is at most this share below the largest margin.
_TOL = 1e-6


class NovikoffBound(NamedTuple):
    """The answer of `novikoff_bound`: numbers for two classes, else arrays with a number for each class.

    Attributes
    ----------
    mistakes : float or ndarray of shape (n_classes,)
        (rho / gamma)^2, infinite if no hyperplane separates the rows.
    radius : float or ndarray of shape (n_classes,)
        rho, the largest length of a row.
    margin : float or ndarray of shape (n_classes,)
        gamma, 0 if no hyperplane separates the rows.
    coef : ndarray of shape (n_features,) or (n_classes, n_features)
        w of the unit vector (w, b) with the margin gamma.
    intercept : float or ndarray of shape (n_classes,)
        b of this unit vector.
    """

    mistakes: float
    radius: float
    margin: float
    coef: np.ndarray
    intercept: float


def novikoff_bound(X, y, *, fit_intercept=True):
    """The most mistakes that a perceptron from 0 makes on these rows: Novikoff's bound with the largest gamma.

    The bound is (rho / gamma)^2. rho is the largest length |(x, 1)| of a row, gamma the largest margin of a hyperplane
    through the origin: the largest, over unit vectors (w, b), of the smallest y (w.x + b) of a row.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
        Labels of at least two classes. Of more than two, each class is taken against the rest, as `Perceptron` does.
    fit_intercept : bool, default=True
        Whether the perceptron learns b. False: rows are x in place of (x, 1), and there is no b.

    Returns
    -------
    bound : NovikoffBound
        The named tuple of `mistakes`, `radius`, `margin`, `coef` and `intercept`, which are floats (`coef`: an array)
        for two classes, else arrays with an entry for each class. `mistakes` is infinite and `margin` 0 where no
        hyperplane separates the rows, or only with a margin below a millionth of rho.

    Notes
    -----
    gamma is that of a hyperplane, measured on the rows: `mistakes` is a bound for any hyperplane, and within 1e-5 of
    the smallest. The cost is that of `SVC(kernel="linear", C=inf, fit_intercept=False)`.

    References
    ----------
    Novikoff (1962), On convergence proofs for perceptrons.

    Examples
    --------
    >>> from fastclf import Perceptron, novikoff_bound
    >>> X, y = [[0, 0], [0, 1], [1, 0], [1, 1]], [0, 0, 0, 1]
    >>> bound = novikoff_bound(X, y)
    >>> round(bound.mistakes, 3), round(bound.radius**2, 3), round(1 / bound.margin**2, 3)
    (51.0, 3.0, 17.0)
    >>> model = Perceptron(order="cyclic").fit(X, y)
    >>> model.n_mistakes_, round(model.mistake_bound_)
    (18, 87)
    """
    require_truth("fit_intercept", fit_intercept)
    rows = as_rows(X, "novikoff_bound")
    labels = as_labels(y, None, len(rows), "novikoff_bound")
    if fit_intercept:
        rows = _with_ones(rows)
    classes = [1] if len(labels.classes) == 2 else range(len(labels.classes))
    found = [_widest(rows, labels.codes == k) for k in classes]
    square = max(_square(rows[start : start + 1024]) for start in range(0, len(rows), 1024))
    radius = np.full(len(found), np.sqrt(square))
    margin = np.array([gamma for gamma, _ in found])
    w = np.array([w for _, w in found])
    intercept = w[:, -1] if fit_intercept else np.zeros(len(w))
    with np.errstate(divide="ignore", over="ignore"):
        parts = (radius / margin) ** 2, radius, margin, w[:, :-1] if fit_intercept else w, intercept
    if len(found) == 1:
        mistakes, radius, margin, coef, intercept = (part[0] for part in parts)
        return NovikoffBound(float(mistakes), float(radius), float(margin), coef, float(intercept))
    return NovikoffBound(*parts)


def _square(rows):
    """The largest squared length |x|^2 of the given rows."""
    if isinstance(rows, Csr):
        return float(np.bincount(rows.row_numbers(), rows.data.astype(np.float64) ** 2, len(rows)).max())
    return float((rows.astype(np.float64) ** 2).sum(axis=1).max())


def _with_ones(rows):
    """The rows with a column of ones appended, whose weight is the intercept."""
    n, d = rows.shape
    if not isinstance(rows, Csr):
        return np.column_stack([rows, np.ones(n, rows.dtype)])
    ends = rows.indptr[1:]
    indices = np.insert(rows.indices[: rows.size], ends, d).astype(np.int32)
    data = np.insert(rows.data[: rows.size], ends, 1)
    return Csr(rows.indptr + np.arange(n + 1), indices, data, d + 1)


def _widest(rows, positive):
    """The pair (gamma, w): the unit vector w of the largest gamma = min y w.x, or (0, zeros) if none separates."""
    nothing = 0.0, np.zeros(rows.shape[1])
    try:
        model = SVC(kernel="linear", C=np.inf, fit_intercept=False, tol=_TOL, kernel_dtype="float64").fit(
            rows, positive
        )
    except ValueError as error:
        if "no hyperplane separates" in str(error):
            return nothing
        raise
    w = np.asarray(model._dual_coef_ @ np.asarray(model._support_rows_, np.float64))[0]
    w /= np.linalg.norm(w)
    scores = linear_scores(rows, w[None], np.zeros(1))[:, 0]
    gamma = float(np.where(positive, scores, -scores).min())
    return (gamma, w) if gamma > 0 else nothing
