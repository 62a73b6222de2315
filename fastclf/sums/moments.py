"""Sums over rows, of squares and of products, by class, in one read of X. The number of threads changes no bit."""

from itertools import pairwise

import numpy as np

from .. import _simd
from .._csr import Csr
from .._threads import advance, n_threads, ranges, run
from .blocks import added, even_bounds, n_blocks, over_blocks
from .class_sums import _ONES, divide, over_spans, span_bounds
from .class_sums import kernels as class_sums

kernels = _simd.load("sums._moments")

# The smallest number of rows in a block, if products of columns are summed over blocks of rows: _BLOCK_ROWS, or
# _LONG_BLOCK from _MANY_COLUMNS columns on: new memory for the sums of a block takes time, and threads can share the
# columns of a block.
_BLOCK_ROWS, _LONG_BLOCK, _MANY_COLUMNS = 1024, 8192, 256

# Threads share the columns of a block if the rows have at least this number of products of all pairs of columns.
_SHARED_WORK = 1 << 24

# The number of rows in a block that is copied to the other half of a symmetric matrix.
_MIRRORED = 512

# The largest number of entries of X in the first range of rows; also the largest number of values of sparse rows that
# are made dense at a time.
_RANGE_NUMBERS = 1 << 20


class ClassMoments:
    """The moments of a span of rows by class, relative to the first row of each class, as kernels take them."""

    __slots__ = ("count", "shift", "squares", "sums", "waiting")

    def __init__(self, n_classes, d):
        self.count = np.zeros(n_classes)  # (n_classes,) float64: the sum of the weights of the rows of each class
        # (n_classes, d) each: the shift, which is the first row of each class, and the sums of (x - shift) and of
        # (x - shift)^2 over the rows x of each class
        self.shift, self.sums, self.squares = np.zeros((3, n_classes, d))
        # (n_classes, 4) int64: rows of a class are added four at a time: for each class the number of its rows, up to
        # three, that wait for a fourth, and the row numbers of these rows
        self.waiting = np.zeros((n_classes, 4), np.int64)


def merge_moments(count, mean, squares, more_count, more_mean, more_squares):
    """(count, mean, sum of squares about the mean) of the union of two sets of rows, each of which may be empty.

    Chan, Golub, LeVeque (1979), Updating formulae and a pairwise algorithm for computing sample variances.
    """
    total = count + more_count
    share = divide(more_count, total)
    step = more_mean - mean
    return total, mean + share * step, squares + more_squares + share * count * step**2


def pool(count, mean, squares):
    """(count, mean, sum of squares about the mean) of all classes together, each of shape (d,)."""
    total = np.broadcast_to(count, mean.shape).sum(axis=0)
    centre = divide((count * mean).sum(axis=0), total)
    with np.errstate(over="ignore"):
        # the rounding of the centre, the mean of all classes, changes the sum of squares by no more than a rounding
        # error
        return total, centre, (squares + count * (mean - centre) ** 2).sum(axis=0)


def class_moments(X, codes, weight, n_classes, n_jobs, progress=None):
    """(sums of weights, means, sums of squares about the means) by class and column, in one read of X.

    The sums of weights have shape (n_classes, 1), the other arrays (n_classes, d). X is an array. If X is not finite,
    the squares are not finite.
    """
    bounds = moment_bounds(len(X), X.size, n_classes, X.shape[1])
    return joined_moments(moment_spans(X, codes, weight, n_classes, n_jobs, bounds, progress), n_classes, X.shape[1])


def moment_bounds(n, size, n_classes, d):
    """The bounds of the spans of `class_moments` for n rows with `size` entries in all."""
    return span_bounds(n, size, 4 * n_classes * d)


def moment_spans(X, codes, weight, n_classes, n_jobs, bounds, progress=None):
    """Yield the moments of each span, in the form of `class_moments` and in the order of the spans."""
    shape = (n_classes, X.shape[1])
    codes = codes.astype(np.int32, copy=False)
    weight = _ONES if weight is None else weight

    def add(start, stop, state):
        class_sums.moments(X, codes, weight, start, stop, state)
        if progress is not None:
            advance(progress, stop - start)

    with np.errstate(all="ignore"):
        states = over_spans(X, bounds, n_jobs, lambda: ClassMoments(*shape), add)
    for state in states:
        with np.errstate(all="ignore"):
            class_sums.waiting_moments(X, weight, state)
            count = state.count[:, None]
            drift = divide(state.sums, count)
            found = count, state.shift + drift, np.maximum(state.squares - drift * state.sums, 0)
        yield found


def joined_moments(spans, n_classes, d):
    """The moments of all rows, in the form of `class_moments`, from those of spans in their order."""
    found = np.zeros((n_classes, 1)), np.zeros((n_classes, d)), np.zeros((n_classes, d))
    with np.errstate(all="ignore"):
        for span in spans:
            found = merge_moments(*found, *span)
    return found


def products(X, codes, n_classes, weight, shift, n_jobs, progress):
    """(sums by class, Gram matrix) of the rows minus `shift`, of shapes (n_classes, d) and (d, d).

    X may be a Csr, which is made dense in ranges of rows. The cost is n d^2 / 2 multiply-adds.
    """
    d = X.shape[1]
    most = product_range(d)

    def add(start, stop, sums):
        add_products(X, codes, weight, shift, start, stop, sums)
        advance(progress, stop - start)

    def cut(start, stop, size):
        return ranges(start, stop, size, most if isinstance(X, Csr) else None)

    bounds, threads = product_bounds(len(X), n_classes, d), n_threads(n_jobs)
    with np.errstate(all="ignore"):
        even = (len(bounds) - 1) % threads == 0
        if even or d < _MANY_COLUMNS or len(X) * d**2 < _SHARED_WORK:
            blocks = over_blocks(bounds, most, lambda: product_sums(n_classes, d), add, threads, cut)
        else:
            blocks = _with_shared_columns(X, codes, weight, shift, n_classes, bounds, threads, progress)
    return joined_products(blocks, d)


def _with_shared_columns(X, codes, weight, shift, n_classes, bounds, threads, progress):
    """The sums of the blocks of rows; the threads share the columns of each range of rows."""
    d = X.shape[1]
    most, blocks = product_range(d), []
    # there are more parts than threads, because threads differ in speed; column j of the matrix of products has j + 1
    # sums, so that the parts have about equal work
    tiles, parts = _padded(d) // kernels.TILE, 2 * threads
    cuts = sorted({kernels.TILE * round(tiles * (k / parts) ** 0.5) for k in range(parts + 1)})
    limit = most if isinstance(X, Csr) else None

    for bound in pairwise(bounds):
        sums = product_sums(n_classes, d)
        for start, stop in ranges(*bound, max(kernels.PANEL, most), limit):
            rows = _dense_rows(X, codes, weight, shift, start, stop)

            def work(columns, rows=rows, sums=sums):
                kernels.add_products(*rows, *sums, *columns)
                yield

            run(work, pairwise(cuts), threads)
            advance(progress, stop - start)
        blocks.append(sums)
    return blocks


def product_bounds(n, n_classes, d):
    """The bounds of the blocks of rows over which `products` adds the products of columns."""
    rows = _BLOCK_ROWS if d < _MANY_COLUMNS else _LONG_BLOCK
    return even_bounds(n, n_blocks(n // rows, n_classes * d + _padded(d) ** 2))


def product_range(d):
    """The number of rows in the first range of a sum of products, and the most sparse rows that are dense at a time."""
    return max(1, _RANGE_NUMBERS // d)


def product_sums(n_classes, d):
    """The sums of a block before its rows are added: [by class, (n_classes, d); upper triangle of products, padded]."""
    return [np.zeros((n_classes, d)), np.zeros((_padded(d), _padded(d)))]


def add_products(X, codes, weight, shift, start, stop, sums):
    """Add, to the `product_sums` of a block, the rows start to stop and the products of their columns."""
    kernels.add_products(*_dense_rows(X, codes, weight, shift, start, stop), *sums, 0, sums[1].shape[1])


def _dense_rows(X, codes, weight, shift, start, stop):
    """The arguments of `kernels.add_products` that stand for the rows start to stop; sparse rows are made dense."""
    # only rows [start, stop) of a Csr are made dense; the first of them then has the index 0
    first, rows = (start, np.asarray(X[start:stop])) if isinstance(X, Csr) else (0, X)
    return rows, codes[first:], None if weight is None else weight[first:], shift, start - first, stop - first


def joined_products(blocks, d):
    """The result of `products`, from the sums of its blocks of rows, added in their order."""
    with np.errstate(all="ignore"):
        sums, gram = map(added, zip(*blocks))
    return sums, mirrored(np.ascontiguousarray(gram[:d, :d]))


def mirrored(gram):
    """Copy the part right of the diagonal of a square matrix to its left, in place; returns the matrix."""
    for start in range(0, len(gram), _MIRRORED):
        rows = slice(start, start + _MIRRORED)
        gram[rows, : rows.start] = gram[: rows.start, rows].T
        block = np.triu(gram[rows, rows])
        gram[rows, rows] = block + np.triu(block, 1).T
    return gram


def _padded(d):
    """The number of rows and columns of the matrix of products of d columns: d, rounded up to whole computed tiles."""
    return -(-d // kernels.TILE) * kernels.TILE
