"""Rows in blocks on threads; each block is processed in short ranges, between which Ctrl-C is obeyed.

Sums are computed block by block, and the blocks' sums are added in order. The bounds of blocks depend on the problem
only, so that neither the number of threads nor the duration of ranges changes a bit.
"""

from itertools import pairwise

from .._threads import n_threads, ranges, run

# The largest number of blocks, and of values in the sums of all blocks together, if there is more than one block.
_BLOCKS = 64
_PARTIAL_NUMBERS = 1 << 23

# The smallest number of multiplications that justifies a block.
BLOCK_WORK = 1 << 18

# The largest number of multiplications for a single call (1 ms), and the number of multiplications in a first range.
_THREAD_WORK = 1 << 21
_RANGE_WORK = 1 << 24


def n_blocks(worth, numbers):
    """The number of blocks, at most `worth`, if the sums of each block have `numbers` values."""
    return max(1, min(_BLOCKS, worth, _PARTIAL_NUMBERS // numbers))


def even_bounds(n, parts):
    """Bounds that cut n rows into equal parts: parts + 1 numbers from 0 to n."""
    return [n * i // parts for i in range(parts + 1)]


def over_blocks(bounds, first, begin, add, threads, cut=ranges):
    """The states of the blocks between `bounds`, in their order.

    Parameters
    ----------
    bounds : list of int, ascending
    first : int
        The number of rows in the first range of a block.
    begin : callable
        begin() makes the state of a block, on the thread that fills it.
    add : callable
        add(start, stop, state) adds rows to a state.
    threads : int
    cut : callable
        cut(start, stop, first) yields the ranges of a block: `by_length` if the bounds of ranges change the sums.
    """
    states = [None] * (len(bounds) - 1)

    def work(i):
        states[i] = begin()
        for start, stop in cut(bounds[i], bounds[i + 1], first):
            add(start, stop, states[i])
            yield

    run(work, range(len(states)), threads)
    return states


def by_length(start, stop, length):
    """Ranges of equal length, whatever their duration."""
    for first in range(start, stop, length):
        yield first, min(first + length, stop)


def added(arrays):
    """The sum of arrays, in their order; it overwrites the first array."""
    first, *rest = arrays
    for array in rest:
        first += array
    return first


def over_rows(call, X, row_work, n_jobs):
    """The results of call(start, stop) for ranges of all rows of X, in any order, on threads if this is faster.

    A row costs `row_work` multiplications for each of its entries.
    """
    n = len(X)
    work = max(1, X.size * row_work)
    if work <= _THREAD_WORK:
        return [call(0, n)]
    threads = min(n_threads(n_jobs), n)
    # several blocks for each thread, because threads differ in speed
    bounds = even_bounds(n, 1 if threads == 1 else min(n, 4 * threads))
    found = []

    def work_on(piece):
        for start, stop in ranges(*piece, 1 + n * _RANGE_WORK // work):
            found.append(call(start, stop))
            yield

    run(work_on, pairwise(bounds), threads)
    return found
