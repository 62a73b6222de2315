"""Sums of rows by class, over blocks that are added in order, so that the number of threads changes no bit."""

from itertools import pairwise

import numpy as np

from .. import _simd
from .._csr import Csr, as_csr, is_sparse
from .._exceptions import of_column
from .._threads import copy_rows, n_threads
from .._validation import as_array, as_float, as_matrix, require_matrix
from .blocks import added, over_blocks

kernels = _simd.load("sums._class_sums")

# The dtypes, in native byte order, that kernels read without conversion; bools are read as uint8.
_NATIVE = frozenset(map(np.dtype, ["f4", "f8", "i1", "u1", "i2", "u2", "i4", "i8"]))

# The largest number of rows in a span, a block of rows that is summed by itself.
_SPAN_ROWS = 1 << 13

# The largest number of entries of X in a span, a block of rows that is summed by itself.
_SPAN = 1 << 20

# The largest number of values in the sums of all spans together, which limits memory. Spans are blocks of rows, each
# summed by itself.
_SUMS = 1 << 23

# An X with fewer entries than this is summed on the calling thread, because waking other threads takes longer.
_THREAD_WORK = 1 << 18

# Kernels take this empty array as weights if every row has the weight 1.
_ONES = np.empty(0)


def as_number_rows(X, owner):
    """X as a C-contiguous array of numbers, if possible in the dtype of X, or as a Csr.

    An array may have NaN or infinity. The caller's sums or scores are then not finite, and `require_finite` finds the
    place.
    """
    if is_sparse(X):
        return as_csr(X, owner)
    array = as_array(X, "X")
    require_matrix(array, "X", owner)
    if array.dtype == bool:
        array = array.view(np.uint8)
    if array.dtype not in _NATIVE:
        return as_float(array, "X")
    if not array.flags.c_contiguous:
        return copy_rows(array, np.empty(array.shape, array.dtype))
    return array


def require_finite(X, owner):
    """Raise an error if X has NaN or infinity; called if sums or scores of rows are not finite."""
    if not isinstance(X, Csr) and X.dtype.kind == "f":
        as_matrix(X, owner)


def threads_for(X, n_jobs):
    """The number of threads for sums over X, which is 1 if X is so small that threads are not faster."""
    threads = n_threads(n_jobs)
    return threads if X.size >= _THREAD_WORK else 1


def span_bounds(n, size, cells):
    """The bounds of the spans of n rows with `size` entries in all, where the state of a span has `cells` values."""
    # n may be 0, if all values of a column are missing; there is then one span (block of rows) without rows
    rows = max(_span_rows(n, size), -(-n * cells // _SUMS))
    return [*range(0, max(1, n), rows), n]


def _span_rows(n, size):
    """The number of rows of a span, a block of rows summed by itself, unless the memory for its sums allows fewer."""
    return max(1, min(_SPAN_ROWS, _SPAN // max(1, size // max(1, n))))


def bounds_for(X, cells):
    """The bounds of the spans of X, which depend only on its shape; the state of a span has `cells` values."""
    return span_bounds(len(X), X.size, cells)


def over_spans(X, bounds, n_jobs, begin, add):
    """The filled states, as by `over_blocks`, of the spans (blocks of rows) of X with these bounds."""
    return over_blocks(bounds, max(1, _span_rows(len(X), X.size) // 8), begin, add, threads_for(X, n_jobs))


def divide(a, b):
    """The quotient a / b, and 0 where b is 0."""
    return np.divide(a, b, out=np.zeros(np.broadcast_shapes(np.shape(a), np.shape(b))), where=b != 0)


def column_sums(X, codes, weight, n_classes, n_jobs, threshold=None):
    """Weighted sums by class and column, in one read of X.

    With a threshold, an entry counts 1 if it is above the threshold, otherwise 0.
    """
    bounds = bounds_for(X, n_classes * X.shape[1])
    return added(column_sum_spans(X, codes, weight, n_classes, n_jobs, bounds, threshold))


def column_sum_spans(X, codes, weight, n_classes, n_jobs, bounds, threshold=None):
    """The weighted sums by class and column of each span (a block of rows), in the order of the spans."""
    shape = (n_classes, X.shape[1])
    weight = _ONES if weight is None else weight
    if isinstance(X, Csr):
        if X.size == 0:
            return [np.zeros(shape) for _ in bounds[1:]]

        def add(start, stop, out):
            kernels.sparse_sums(X, X.data, codes, weight, start, stop, threshold, out)

    else:

        def add(start, stop, out):
            kernels.sums(X, codes, weight, start, stop, threshold, out)

    return over_spans(X, bounds, n_jobs, lambda: np.zeros(shape), add)


def class_counts(codes, weight, n_classes):
    """The total weight of the rows of each class, as float64."""
    return added(class_count_spans(codes, weight, n_classes, span_bounds(len(codes), 0, 0)))


def class_count_spans(codes, weight, n_classes, bounds):
    """The total weight of the rows of each class in each span, as float64, in the order of the spans."""

    def count(start, stop):
        weights = None if weight is None else weight[start:stop]
        return np.bincount(codes[start:stop], weights, minlength=n_classes).astype(np.float64)

    return [count(start, stop) for start, stop in pairwise(bounds)]


def count_categories(X, n_jobs, owner):
    """The number of categories of each column: its largest entry plus 1."""

    def add(start, stop, state):
        bad = kernels.largest(X, start, stop, state)
        if bad >= 0:
            require_finite(X, owner)
            [column, *_] = np.flatnonzero(~((X[bad] >= 0) & (X[bad] < 2**31)))
            what = "Negative values in data" if X[bad, column] < 0 else "Values too large"
            text = f"{what} passed to {owner} (input X): {X[bad, column]} in row {bad}, column {column}"
            raise of_column(ValueError(f"{text}; categories 0, 1, 2, ... are wanted"), column)

    states = over_spans(X, bounds_for(X, X.shape[1]), n_jobs, lambda: np.zeros(X.shape[1], X.dtype), add)
    return np.max(states, axis=0).astype(np.int64) + 1


def category_count_spans(X, codes, weight, n_classes, n_jobs, bounds, first):
    """The sums of weights by category and class, of shape (first[-1], n_classes), of each span in order.

    The categories of column j begin at row first[j].
    """
    shape = (int(first[-1]), n_classes)
    weight = _ONES if weight is None else weight

    def add(start, stop, out):
        kernels.categories(X, codes, weight, start, stop, first, out)

    return over_spans(X, bounds, n_jobs, lambda: np.zeros(shape), add)
