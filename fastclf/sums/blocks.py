"""Work on blocks of rows by threads; each block is processed in short ranges, between which Ctrl-C is obeyed.

A sum over rows is computed for each block, and the sums of all blocks are added in order. The bounds of blocks depend
on the problem only, so that neither the number of threads nor the duration of ranges changes a bit.
"""

import time
from itertools import pairwise

from .._threads import n_threads, ranges, run

# The largest number of blocks of rows into which a sum over rows is divided.
_BLOCKS = 64

# The largest number of values in the sums of all blocks of rows together, which limits memory and so the number of
# blocks.
_PARTIAL_NUMBERS = 1 << 23

# Rows are divided into fewer blocks if a block would have less than this number of multiplications.
BLOCK_WORK = 1 << 18

# Work of at most this number of multiplications, up to 1 ms, is done by a single call on the calling thread.
_THREAD_WORK = 1 << 21

# Of more work, the calling thread does this number of multiplications before it knows whether threads are worth waking.
_FIRST_WORK = 1 << 19

# The least number of seconds of work for which a thread is woken, and for which it fetches a block of rows: each costs
# up to 0.3 ms, where threads wait for Python's lock.
_THREAD_SECONDS = 1e-3

# The number of multiplications in the first range of rows that a thread processes, before any time was measured; later
# ranges get their sizes from measured times.
_RANGE_WORK = 1 << 24


def n_blocks(worth, numbers):
    """The number of blocks of rows, at most `worth`, into which a sum is divided whose result has `numbers` values."""
    return max(1, min(_BLOCKS, worth, _PARTIAL_NUMBERS // numbers))


def even_bounds(n, parts):
    """The bounds that cut n rows into parts of equal size: parts + 1 numbers from 0 to n."""
    return [n * i // parts for i in range(parts + 1)]


def over_blocks(bounds, first, begin, add, threads, cut=ranges):
    """Make and fill a state for each block of rows; returns the states in the order of the blocks.

    Parameters
    ----------
    bounds : list of int, ascending
        Block i has the rows bounds[i] to bounds[i + 1].
    first : int
        The number of rows in the first range of a block.
    begin : callable
        begin() makes the state of a block, on the thread that fills it.
    add : callable
        add(start, stop, state) adds rows to a state.
    threads : int
        The largest number of threads; fewer are woken for rows that the first range shows to take little time.
    cut : callable
        cut(start, stop, first) yields the ranges of a block; `by_length` is wanted if the bounds of ranges change sums.
    """
    states = [None] * (len(bounds) - 1)

    def work(i):
        states[i] = begin()
        for start, stop in cut(bounds[i], bounds[i + 1], first):
            add(start, stop, states[i])
            yield

    works = [work(i) for i in range(len(states))]
    if threads > 1 and len(works) > 1:
        began, done = time.perf_counter(), min(first, bounds[1] - bounds[0])
        next(works[0], None)
        threads = min(threads, _worth(began, done, bounds[-1] - bounds[0] - done))
    run(works.__getitem__, range(len(works)), threads)
    return states


def _worth(began, done, left):
    """The number of threads or blocks that are worth their costs for `left` rows, if `done` rows took since `began`."""
    return max(1, int((time.perf_counter() - began) * left / max(1, done) / _THREAD_SECONDS))


def by_length(start, stop, length):
    """Yield ranges (start, stop) of equal length, whatever time they take.

    Sums over them are always the same, and a range takes no longer because those before it were fast.
    """
    for first in range(start, stop, length):
        yield first, min(first + length, stop)


def added(arrays):
    """The sum of arrays, added in their order; the sum overwrites the first array, unless this is read-only."""
    first, *rest = arrays
    if not first.flags.writeable:  # an array from another process is read-only, so that its copy is changed instead
        first = first.copy()
    for array in rest:
        first += array
    return first


def over_rows(call, X, row_work, n_jobs, cut=ranges):
    """Run call(start, stop) for ranges that cover all rows of X, on threads if this is faster.

    Returns the results in any order.

    A row costs about `row_work` multiplications for each of its entries. The first rows show how long these take.
    cut(start, stop, first) yields the ranges of a block; `by_length` is wanted if later rows may take longer.
    """
    n = len(X)
    work = max(1, X.size * row_work)
    if work <= _THREAD_WORK:
        return [call(0, n)]
    threads, found, first, pieces = n_threads(n_jobs), [], 0, 1
    if threads > 1:
        first, began = min(n, 1 + n * _FIRST_WORK // work), time.perf_counter()
        found.append(call(0, first))
        worth = _worth(began, first, n - first)
        # each thread gets several blocks of rows, because threads differ in speed
        threads, pieces = min(threads, worth), min(4 * threads, worth, n - first)
    bounds = even_bounds(n - first, pieces) if first < n else [0]

    def work_on(piece):
        for start, stop in cut(*piece, 1 + n * _RANGE_WORK // work):
            found.append(call(first + start, first + stop))
            yield

    run(work_on, pairwise(bounds), threads)
    return found
