"""Log joints of rows and classes: how they are added up, made probabilities, and decided by."""

import numpy as np

from .. import _simd
from .._csr import Csr
from ..sums.blocks import over_rows

kernels = _simd.load("naive_bayes._joints")


def require_positive(X, owner):
    """Refuse counts that are negative; X is finite or told elsewhere not to be."""
    data = X.data[: X.size] if isinstance(X, Csr) else X
    if data.dtype.kind != "u" and data.size and data.min() < 0:
        raise ValueError(f"Negative values in data passed to {owner} (input X); counts from 0 up are wanted")


def row_work(n_classes):
    """What a number of X costs, in multiplications, where each class has some."""
    return max(8, n_classes)


def in_lanes(by_class):
    """An array (n_classes, ...) with the classes as its last axis, filled up with zeros to whole vectors."""
    turned = by_class.T
    filled = np.zeros((*turned.shape[:-1], -(-len(by_class) // kernels.LANES) * kernels.LANES))
    filled[..., : len(by_class)] = turned
    return filled


def add_gaussian(joint, X, mean, variance, n_jobs):
    """Add the log densities of independent normal columns; a variance of 0 is the limit of small ones."""
    variance = np.maximum(variance, 1e-300)
    constant = in_lanes(-0.5 * np.log(2 * np.pi * variance).sum(axis=1))
    means, factors = in_lanes(mean), in_lanes(-0.5 / variance)
    work = row_work(joint.shape[1])
    over_rows(lambda i, j: kernels.squares(X, means, factors, constant, i, j, joint), X, work, n_jobs)


def add_linear(joint, X, coef, n_jobs, threshold=None):
    """Add X @ coef.T, where 0 times -inf is 0; with a threshold, of what is above it as ones."""
    impossible = np.isneginf(coef)
    if impossible.any():
        hits = np.zeros_like(joint)
        add_linear(hits, X, impossible.astype(np.float64), n_jobs, threshold)
        coef = np.where(impossible, 0, coef)
    coef = in_lanes(coef)
    constant = np.zeros(coef.shape[1])

    def add(start, stop):
        if isinstance(X, Csr):
            kernels.sparse_products(X.indptr, X.indices, X.data, coef, constant, threshold, start, stop, joint)
        else:
            kernels.products(X, coef, constant, threshold, start, stop, joint)

    over_rows(add, X, row_work(joint.shape[1]), n_jobs)
    if impossible.any():
        joint[hits > 0] = -np.inf


def add_table(joint, X, first, table, n_jobs):
    """Add table[first[j] + x_ij] over columns j; the last entry of a column is for categories that it does not have."""
    constant = np.zeros(table.shape[1])
    work = row_work(joint.shape[1])
    over_rows(lambda i, j: kernels.entries(X, first, table, constant, i, j, joint), X, work, n_jobs)


def normalise(joint, n_jobs, log):
    """Log joints as (log) probabilities, in place; where every class is impossible, all are alike."""
    over_rows(lambda i, j: kernels.normalise(joint, i, j, log), joint, 8, n_jobs)
    return joint


def decide(joint, n_jobs):
    """The class of the largest log joint of each row, the first of equal ones."""
    codes = np.empty(len(joint), np.int32)
    over_rows(lambda i, j: kernels.decide(joint, i, j, codes), joint, 8, n_jobs)
    return codes
