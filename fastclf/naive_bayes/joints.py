"""Log joints log P(x, class): their sums, their conversion to probabilities, and decisions."""

from typing import NamedTuple

import numpy as np

from .. import _simd
from .._csr import Csr
from .._threads import blocks
from ..sums.blocks import over_rows
from ..sums.layout import by_column

kernels = _simd.load("naive_bayes._joints")

# Dense rows are decided in one compiled call if that takes at most this number of multiplications.
_FEW_WORK = 1 << 14

# Among at most this number of entries of sparse rows, equal columns are not searched for.
_FEW_ENTRIES = 1 << 9


def require_positive(X, owner):
    """Refuse negative counts. NaN is not refused here: it shows in the caller's sums."""
    data = X.data[: X.size] if isinstance(X, Csr) else X
    if data.dtype.kind != "u" and data.size and min(map(np.min, blocks(data))) < 0:
        raise ValueError(f"Negative values in data passed to {owner} (input X); counts from 0 up are wanted")


def row_work(n_classes):
    """The number of multiplications for each entry of X, for the division of work."""
    return max(8, n_classes)


def in_lanes(by_class):
    """A copy of an array (n_classes, ...) with the classes as last axis, padded with zeros to whole vectors."""
    turned = by_class.T
    filled = np.zeros((*turned.shape[:-1], -(-len(by_class) // kernels.LANES) * kernels.LANES))
    filled[..., : len(by_class)] = turned
    return filled


def add_gaussian(joint, X, mean, variance, n_jobs):
    """Add the log densities of independent normal columns to `joint`; a variance of 0 is replaced by 1e-300."""
    constant = in_lanes(_gaussian_constant(variance))
    means, factors = in_lanes(mean), in_lanes(-0.5 / np.maximum(variance, 1e-300))
    work = row_work(joint.shape[1])
    over_rows(lambda i, j: kernels.squares(X, means, factors, constant, i, j, joint), X, work, n_jobs)


def _gaussian_constant(variance):
    """The logarithms (n_classes,) of normal densities at their means; a variance of 0 is replaced by 1e-300."""
    return -0.5 * np.log(2 * np.pi * np.maximum(variance, 1e-300)).sum(axis=1)


class Linear(NamedTuple):
    """log P(x | class) = constant + coef x, the form of products of Bernoulli, multinomial or Poisson distributions.

    A class is impossible for rows that have a 0 in one of the columns marked in `always`.
    """

    coef: np.ndarray  # (n_classes, n_features), float64: the coefficient of each feature for each class
    constant: np.ndarray | float = 0.0  # (n_classes,), float64: the constant term of each class's score
    # (n_classes, n_features), bool: whether a 0 of the feature has probability 0 in the class
    always: np.ndarray | None = None


def add_linear(joint, X, form, n_jobs, threshold=None):
    """Add coef x to `joint`, where 0 times -inf is 0; with a threshold, x is replaced by 1 above it and else by 0."""
    n_always = form.always.sum(axis=1) if form.always is not None and form.always.any() else None
    sparse = isinstance(X, Csr)
    if sparse and X.size < X.n_columns and not form.coef.flags.f_contiguous:
        X, columns = of_entries(X)
        always = None if form.always is None else form.always[:, columns]
        form = form._replace(coef=form.coef[:, columns], always=always)
    coef = form.coef
    if sparse and n_always is None:
        # a search for -inf among all coefficients would take longer than the products of few rows
        products = _products(np.zeros_like(joint), X, coef, n_jobs, threshold)
        if np.isfinite(products).all():
            joint += products
            return
    some = not coef.min() > -np.inf
    if some:
        impossible = np.isneginf(coef)
        hits = _products(np.zeros_like(joint), X, impossible, n_jobs, threshold)
        coef = np.where(impossible, 0, coef)
    _products(joint, X, coef, n_jobs, threshold)
    if some:
        _rule_out(joint, hits, lambda rows: rows > 0)
    if n_always is not None:
        met = _products(np.zeros_like(joint), X, form.always, n_jobs, threshold)
        _rule_out(joint, met, lambda rows: rows < n_always)


def _rule_out(joint, numbers, impossible):
    """Set `joint` to -inf where impossible(numbers) is true; both arrays have shape (n, n_classes)."""
    for rows, block in zip(blocks(joint), blocks(numbers)):
        rows[impossible(block)] = -np.inf


def of_entries(X):
    """(rows, columns): sparse rows with a column for each entry of X, and the columns of X that these stand for.

    For few rows these are fewer columns than those of X, and take less time than a copy of all coefficients.
    """
    columns = X.indices[: X.size] if X.size else np.zeros(1, np.int32)
    return Csr(X.indptr, np.arange(len(columns), dtype=np.int32), X.data, len(columns)), columns


def of_known_columns(X):
    """(rows, columns): sparse rows with only the columns that have an entry, and the columns of X that these are."""
    if X.size <= _FEW_ENTRIES:
        return of_entries(X)
    place = np.zeros(X.n_columns, np.int32)
    place[X.indices[: X.size]] = 1
    columns = np.flatnonzero(place)
    place[columns] = np.arange(len(columns))
    return Csr(X.indptr, place[X.indices[: X.size]], X.data, len(columns)), columns


def _products(out, X, coef, n_jobs, threshold):
    """Add X @ coef.T to `out`; with a threshold, entries of X count as 0 or 1. Returns `out`."""
    coef = by_column(np.asarray(coef, np.float64)).T

    def add(start, stop):
        if isinstance(X, Csr):
            kernels.sparse_products(X, X.data, coef, threshold, start, stop, out)
        else:
            kernels.products(X, coef, threshold, start, stop, out)

    over_rows(add, X, row_work(out.shape[1]), n_jobs)
    return out


def few_codes(X, begin, coef, variance=None, threshold=None):
    """The class codes of a few dense rows, in one compiled call; None if a number of the rows or joints is not finite.

    The log joints begin with `begin`, and are those of `add_gaussian` with the means `coef` if there is a `variance`,
    else those of `add_linear` without a column in `always`.
    """
    coef, constant = np.asarray(coef, np.float64), None
    if variance is not None:
        variance = np.asarray(variance, np.float64)
        constant = _gaussian_constant(variance)
    codes = np.empty(len(X), np.int32)
    return codes if kernels.decide_few(X, begin, constant, coef, variance, threshold, codes) else None


def is_few(X, n_classes):
    """Whether the rows X are dense, and so few that `few_codes` takes less time than arrays of log joints."""
    return isinstance(X, np.ndarray) and len(X) > 0 and (len(X) + 1) * X.shape[1] * n_classes <= _FEW_WORK


def joined_tables(tables):
    """The arguments (first, table) of `add_table`, from one table (n_classes, n_entries) for each column."""
    first = np.concatenate([[0], np.cumsum([table.shape[1] for table in tables])])
    return first, in_lanes(np.concatenate(tables, axis=1))


def add_table(joint, X, first, table, n_jobs):
    """Add table[first[j] + x_ij] to `joint` for all columns j; the last entry of a column is for unknown categories."""
    constant, work = np.zeros(table.shape[1]), row_work(joint.shape[1])
    over_rows(lambda i, j: kernels.entries(X, first, table, constant, i, j, joint), X, work, n_jobs)


def normalise(joint, n_jobs, log):
    """Convert log joints to (log) probabilities, in place.

    If all classes are impossible, they get equal probabilities.
    """
    over_rows(lambda i, j: kernels.normalise(joint, i, j, log), joint, 8, n_jobs)
    return joint


def decide(joint, n_jobs):
    """The class code of each row, that with the largest log joint; of equal ones the first."""
    codes = np.empty(len(joint), np.int32)
    over_rows(lambda i, j: kernels.decide(joint, i, j, codes), joint, 8, n_jobs)
    return codes
