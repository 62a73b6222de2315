"""Sums over rows in one read of X: of classes, of their squares, of products. The number of threads changes no bit."""

import numpy as np

from .. import _simd
from .._aligned import aligned
from .._csr import Csr
from .._threads import advance, n_threads, ranges, run
from .class_sums import divide, over_spans
from .class_sums import kernels as class_sums

kernels = _simd.load("sums._moments")

# Rows are summed in blocks, which are added in their order: as many as these bounds allow, whatever n_jobs is.
_BLOCKS = 64
_BLOCK_ROWS = 1024
_PARTIAL_NUMBERS = 1 << 23

# Numbers of X that a first range has; of sparse rows, that are made dense at a time.
_RANGE_NUMBERS = 1 << 20


def _in_blocks(X, shapes, add, n_jobs, progress):
    """Sums of these shapes: add(rows, start, stop, *sums) adds rows[start:stop], rows being X or a range made dense.

    `rows` begins at row `first` of X, which is passed, too: add(rows, first, start, stop, sums).
    """
    n, d = X.shape
    numbers = sum(int(np.prod(shape)) for shape in shapes)
    n_blocks = max(1, min(_BLOCKS, n // _BLOCK_ROWS, _PARTIAL_NUMBERS // numbers))
    bounds = [n * i // n_blocks for i in range(n_blocks + 1)]
    partial = [[np.zeros(shape) for shape in shapes] for _ in range(n_blocks)]
    most = max(1, _RANGE_NUMBERS // d)

    def block(i):
        for start, stop in ranges(bounds[i], bounds[i + 1], most, most if isinstance(X, Csr) else None):
            if isinstance(X, Csr):
                add(np.asarray(X[start:stop]), start, 0, stop - start, partial[i])
            else:
                add(X, 0, start, stop, partial[i])
            advance(progress, stop - start)
            yield

    with np.errstate(all="ignore"):
        run(block, range(n_blocks), n_threads(n_jobs))
        for sums in partial[1:]:
            for total, part in zip(partial[0], sums):
                total += part
    return partial[0]


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

    def add(state, start, stop):
        class_sums.moments(X, codes, weight, start, stop, *state)
        if progress is not None:
            advance(progress, stop - start)

    def end(state):
        class_sums.waiting_moments(X, weight, *state[1:])
        return state[:4]

    found = np.zeros((n_classes, 1)), np.zeros(shape), np.zeros(shape)
    with np.errstate(all="ignore"):
        for count, shift, sums, squares in over_spans(X, 4 * n_classes * shape[1], n_jobs, begin, add, end):
            count = count.reshape(found[0].shape)
            drift = divide(sums, count)
            found = merge_moments(*found, count, shift + drift, np.maximum(squares - drift * sums, 0))
    return found


def products(X, codes, n_classes, weight, shift, n_jobs, progress):
    """(sums of each class's rows less shift, the Gram matrix of the rows less shift), of shapes (K, d) and (d, d).

    X may be a Csr, which is made dense range by range. Costs n d^2 / 2 multiply-adds.
    """
    d = X.shape[1]
    width = -(-d // kernels.TILE) * kernels.TILE

    def add(rows, first, start, stop, sums):
        panel = aligned((kernels.PANEL_ROWS, width), np.float64)
        own = None if weight is None else weight[first:]
        kernels.add_products(rows, codes[first:], own, shift, start, stop, panel, *sums)

    sums, gram = _in_blocks(X, [(n_classes, d), (width, width)], add, n_jobs, progress)
    gram = np.triu(gram[:d, :d])
    return sums, gram + np.triu(gram, 1).T
