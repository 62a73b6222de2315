"""Sums of rows by class, over blocks that are added in order, so that the number of threads changes no bit."""

import numpy as np

from .. import _simd
from .._csr import Csr, as_csr, is_sparse
from .._threads import copy_rows, n_threads
from .._validation import as_array, as_float, as_matrix, require_matrix
from .blocks import added, over_blocks

kernels = _simd.load("sums._class_sums")

# The dtypes that kernels read without conversion; bools are read as uint8.
_NATIVE = frozenset(["float32", "float64", "int8", "uint8", "int16", "uint16", "int32", "int64"])

# The largest number of rows in a span. A span is a block of rows that is summed by itself.
_SPAN_ROWS = 1 << 13

# The largest number of entries of X in a span, a block of rows that is summed by itself.
_SPAN = 1 << 20

# The largest number of values in the sums of all spans together. Spans are blocks of rows, each summed by itself.
_SUMS = 1 << 23

# An X with fewer entries than this is summed on the calling thread.
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
    if array.dtype.name not in _NATIVE or not array.dtype.isnative:
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


def over_spans(X, cells, n_jobs, begin, add):
    """The states of `over_blocks` for spans, whose bounds depend only on the shape of X; a state has `cells` values."""
    n = len(X)  # X has no rows if all values of a column are missing
    size = max(min(_SPAN_ROWS, _SPAN // max(1, X.size // max(1, n))), -(-n * cells // _SUMS), 1)
    return over_blocks([*range(0, max(1, n), size), n], max(1, size // 8), begin, add, threads_for(X, n_jobs))


def divide(a, b):
    """The quotient a / b, and 0 where b is 0."""
    return np.divide(a, b, out=np.zeros(np.broadcast_shapes(np.shape(a), np.shape(b))), where=b != 0)


def column_sums(X, codes, weight, n_classes, n_jobs, threshold=None):
    """Weighted sums by class and column, in one read of X.

    With a threshold, an entry counts 1 if it is above the threshold, otherwise 0.
    """
    shape = (n_classes, X.shape[1])
    weight = _ONES if weight is None else weight
    if isinstance(X, Csr):
        if X.size == 0:
            return np.zeros(shape)

        def add(start, stop, out):
            kernels.sparse_sums(X, X.data, codes, weight, start, stop, threshold, out)

    else:

        def add(start, stop, out):
            kernels.sums(X, codes, weight, start, stop, threshold, out)

    return added(over_spans(X, n_classes * shape[1], n_jobs, lambda: np.zeros(shape), add))


def class_counts(codes, weight, n_classes):
    """The total weight of the rows of each class, as float64."""
    return np.bincount(codes, weight, minlength=n_classes).astype(np.float64)


def count_categories(X, n_jobs, owner):
    """The number of categories of each column: its largest entry plus 1."""

    def add(start, stop, state):
        bad = kernels.largest(X, start, stop, state)
        if bad >= 0:
            require_finite(X, owner)
            [column, *_] = np.flatnonzero(~((X[bad] >= 0) & (X[bad] < 2**31)))
            what = "Negative values in data" if X[bad, column] < 0 else "Values too large"
            raise ValueError(
                f"{what} passed to {owner} (input X): {X[bad, column]} in row {bad}, column {column}; categories 0, 1,"
                " 2, ... are wanted"
            )

    states = over_spans(X, X.shape[1], n_jobs, lambda: np.zeros(X.shape[1], X.dtype), add)
    return np.max(states, axis=0).astype(np.int64) + 1


def category_counts(X, codes, weight, n_classes, first, n_jobs):
    """The sums of weights by category and class, of shape (first[-1], n_classes).

    The categories of column j begin at row first[j].
    """
    shape = (int(first[-1]), n_classes)
    weight = _ONES if weight is None else weight

    def add(start, stop, out):
        kernels.categories(X, codes, weight, start, stop, first, out)

    return added(over_spans(X, shape[0] * n_classes, n_jobs, lambda: np.zeros(shape), add))
