"""Expectations of functions of x for known distributions, by adaptive quadrature, by sums and by draws."""

from math import comb

import numpy as np

# The number of panels (subintervals) with which a numerical integration starts.
PANELS = 512

# The largest number of panels (subintervals) of an integral that are halved at a time.
_MOST_PANELS = 1 << 14

# An expectation over a discrete distribution is a sum only if nearly all of its values lie between minus this number
# and this number.
_MOST_TERMS = 1 << 20


def kind_of(distribution):
    """'frozen' for a distribution of SciPy with parameters, 'callable' for a density, or 'table'."""
    if hasattr(distribution, "rvs"):
        return "frozen"
    return "callable" if callable(distribution) else "table"


def is_discrete(distribution):
    """Whether a frozen distribution has probabilities in place of a density."""
    return hasattr(distribution, "logpmf") and not hasattr(getattr(distribution, "dist", distribution), "_pdf")


def log_density(kind, distribution, X):
    """The logarithm of the density, or of the probability, of each row of X."""
    if kind == "table":
        if X.shape[1] != distribution.ndim:
            raise ValueError(
                f"X has {X.shape[1]} columns; {distribution.ndim}, the dimension of the tables, are wanted"
            )
        if (X < 0).any() or (distribution.shape <= X).any() or (np.floor(X) != X).any():
            raise ValueError(
                f"X has a row that is no index into tables of shape {distribution.shape}; integers within it are wanted"
            )
        return np.log(distribution[tuple(X.T.astype(np.intp))])
    if kind == "callable":
        density = values_of(distribution, X, "a density")
        if density.ndim != 1:
            raise ValueError(f"a density gives {density.shape[1]} numbers per row; one is wanted")
        if not (density >= 0).all():
            raise ValueError(f"a density gives {density[~(density >= 0)][0]}; numbers from 0 up are wanted")
        return np.log(density)
    logarithm = distribution.logpmf if is_discrete(distribution) else distribution.logpdf
    found = np.asarray(logarithm(X[:, 0] if X.shape[1] == 1 else X), np.float64)
    if found.size != len(X):
        raise ValueError(f"X has {X.shape[1]} columns; as many as the distributions have dimensions are wanted")
    return found.reshape(len(X))


def values_of(function, X, name, dtype=np.float64, whole=False):
    """The values of a user's function for all rows, of shape (n,) or (n, m); a number stands for a constant function.

    The function is called with all rows at once: with an array of shape (n, d) or, if X has a single column and not
    `whole`, of shape (n,), unless it indexes columns, as in X[:, 0].
    """
    n, d = X.shape
    if n == d > 1:
        # a repeated row shows whether the function has a value for each row, or by mistake one for each column
        X = np.concatenate([X, X[-1:]])
    try:
        try:
            values = function(X[:, 0] if X.shape[1] == 1 and not whole else X)
        except IndexError:
            if X.shape[1] > 1:
                raise
            values = function(X)
    except ValueError as error:
        if "truth value" not in str(error):
            raise
        raise ValueError(
            f"{name} is no function of an array ({error}); a function of all rows at once is wanted, such as"
            " numpy.vectorize(f) for a function f of one number"
        ) from error
    try:
        values = np.asarray(values, dtype)
    except (TypeError, ValueError) as error:
        raise TypeError(f"{name} gives something that is no array of numbers ({error}); numbers are wanted") from None
    values = np.full(len(X), values) if values.ndim == 0 else values
    values = values[:, 0] if values.ndim == 2 and values.shape[1] == 1 else values
    if values.ndim not in (1, 2) or len(values) != len(X):
        remedy = "; the first variable of all rows X is X[:, 0]" if d > 1 else ""
        copied = ", of which the last is a copy" if len(X) > n else ""
        came = f"{name} gives values of shape {values.shape} for {len(X)} rows{copied}"
        raise ValueError(f"{came}; one value per row is wanted{remedy}")
    return values[:n]


def draw(kind, distribution, n, rng):
    """n random rows of a table or a frozen distribution, of shape (n, n_features)."""
    if kind == "table":
        cells = rng.choice(distribution.size, n, p=distribution.ravel() / distribution.sum())
        return np.stack(np.unravel_index(cells, distribution.shape), axis=1)
    return np.reshape(distribution.rvs(n, random_state=rng), (n, -1))


def edges_of(distributions):
    """The edges of the first panels of an integral over x, if frozen distributions are continuous and of one variable.

    Otherwise None.
    """
    if is_discrete(distributions[0]) or not all(hasattr(each, "ppf") for each in distributions):
        return None
    share = np.concatenate([np.logspace(-14, -3, 45), np.arange(1, PANELS // 2) / PANELS])
    return np.unique(np.concatenate([(each.ppf(share), each.isf(share)) for each in distributions], axis=None))


def terms_of(distributions):
    """The values of x, of shape (n, 1), if frozen distributions are discrete and of one variable with few values.

    Otherwise None.
    """
    if not all(hasattr(each, "ppf") for each in distributions):
        return None
    if not all(each.sf(_MOST_TERMS) + each.cdf(-_MOST_TERMS) < 1e-14 for each in distributions):
        return None
    low = min(float(each.ppf(1e-14)) for each in distributions)
    high = max(float(each.isf(1e-14)) for each in distributions)
    return np.arange(low, high + 1)[:, None]


def integral(values, edges, tolerance):
    """The integral of values(X), of shape (n, m), over one variable, by 16 Gauss-Legendre nodes a panel.

    Panels are halved until no integral of a panel changes by the tolerance.
    """
    nodes, weights = np.polynomial.legendre.leggauss(16)

    def integrals(start, stop):
        half = (stop - start) / 2
        x = (start + half)[:, None] + half[:, None] * nodes
        return np.einsum("i,j,ijk->ik", half, weights, values(x.reshape(-1, 1)).reshape(*x.shape, -1), order="C")

    start, stop, total = edges[:-1], edges[1:], 0.0
    whole = integrals(start, stop)
    for _ in range(48):
        middle = start + (stop - start) / 2
        parts = integrals(start, middle), integrals(middle, stop)
        done = np.abs(parts[0] + parts[1] - whole).max(axis=1) < tolerance
        total = total + (parts[0] + parts[1])[done].sum(axis=0)
        start, stop = np.append(start[~done], middle[~done]), np.append(middle[~done], stop[~done])
        whole = np.concatenate([part[~done] for part in parts])
        if not 0 < len(start) < _MOST_PANELS:
            break
    return total + whole.sum(axis=0)


def majority(eta, k):
    """P(most are 0) and P(most are 1), of shape (n, 2), for k independent labels that are 1 with probability eta."""
    ones = sum(comb(k, i) * eta**i * (1 - eta) ** (k - i) for i in range(k // 2 + 1, k + 1))
    return np.column_stack([1 - ones, ones])
