"""Sums over rows in one read of X: of classes, of their squares, of products. The number of threads changes no bit."""

import numpy as np

from .. import _simd
from .._aligned import aligned
from .._csr import Csr
from .._threads import advance, n_threads, ranges
from .blocks import added, even_bounds, n_blocks, over_blocks
from .class_sums import divide, over_spans
from .class_sums import kernels as class_sums

kernels = _simd.load("sums._moments")

# Rows of a block of products.
_BLOCK_ROWS = 1024

# Numbers of X that a first range has; of sparse rows, that are made dense at a time.
_RANGE_NUMBERS = 1 << 20


def merge_moments(count, mean, squares, more_count, more_mean, more_squares):
    """(count, mean, squares about it) of two sets together (Chan, Golub, LeVeque 1979), where either may be empty."""
    total = count + more_count
    share = divide(more_count, total)
    step = more_mean - mean
    return total, mean + share * step, squares + more_squares + share * count * step**2


def pool(count, mean, squares):
    """(count, mean, squares) of all classes together, each of the shape of the columns."""
    total = np.broadcast_to(count, mean.shape).sum(axis=0)
    centre = divide((count * mean).sum(axis=0), total)
    with np.errstate(over="ignore"):
        # about a centre that is rounded: the sum of squares is off by no more than its rounding
        return total, centre, (squares + count * (mean - centre) ** 2).sum(axis=0)


def class_moments(X, codes, weight, n_classes, n_jobs, progress=None):
    """(count, of weights, in one column, mean, squares about the mean) by class and column, in one read of X.

    X is an array; squares are not finite where it is not.
    """
    shape = (n_classes, X.shape[1])
    codes = codes.astype(np.int32, copy=False)
    weight = np.empty(0) if weight is None else weight

    def begin():
        return [np.zeros(n_classes), *(np.zeros(shape) for _ in range(3)), np.zeros((n_classes, 4), np.int64)]

    def add(start, stop, state):
        class_sums.moments(X, codes, weight, start, stop, *state)
        if progress is not None:
            advance(progress, stop - start)

    found = np.zeros((n_classes, 1)), np.zeros(shape), np.zeros(shape)
    with np.errstate(all="ignore"):
        for state in over_spans(X, 4 * n_classes * shape[1], n_jobs, begin, add):
            class_sums.waiting_moments(X, weight, *state[1:])
            count, shift, sums, squares, _ = state
            count = count.reshape(found[0].shape)
            drift = divide(sums, count)
            found = merge_moments(*found, count, shift + drift, np.maximum(squares - drift * sums, 0))
    return found


def products(X, codes, n_classes, weight, shift, n_jobs, progress):
    """(sums of each class's rows less shift, the Gram matrix of the rows less shift), of shapes (K, d) and (d, d).

    X may be a Csr, which is made dense range by range. Costs n d^2 / 2 multiply-adds.
    """
    n, d = X.shape
    width = -(-d // kernels.TILE) * kernels.TILE
    most = max(1, _RANGE_NUMBERS // d)
    sparse = isinstance(X, Csr)

    def begin():
        return [np.zeros((n_classes, d)), np.zeros((width, width))]

    def add(start, stop, sums):
        # of rows that are made dense, and what belongs to them
        first, rows = (start, np.asarray(X[start:stop])) if sparse else (0, X)
        own = None if weight is None else weight[first:]
        panel = aligned((kernels.PANEL_ROWS, width), np.float64)
        kernels.add_products(rows, codes[first:], own, shift, start - first, stop - first, panel, *sums)
        advance(progress, stop - start)

    def cut(start, stop, size):
        return ranges(start, stop, size, most if sparse else None)

    bounds = even_bounds(n, n_blocks(n // _BLOCK_ROWS, n_classes * d + width * width))
    with np.errstate(all="ignore"):
        sums, gram = map(added, zip(*over_blocks(bounds, most, begin, add, n_threads(n_jobs), cut)))
    gram = np.triu(gram[:d, :d])
    return sums, gram + np.triu(gram, 1).T
