"""Rows in blocks on threads, each in ranges that Ctrl-C comes between.

What is summed is summed block by block, and blocks are added in their order. Bounds of blocks depend on the problem
alone, so that neither the number of threads nor the time that a range takes changes a bit.
"""

from itertools import pairwise

from .._threads import n_threads, ranges, run

# Blocks at most, and numbers that the sums of all of them may have, if they are more than one.
_BLOCKS = 64
_PARTIAL_NUMBERS = 1 << 23

# Multiplications below which rows are not worth a block of their own.
BLOCK_WORK = 1 << 18

# Multiplications below which one call does all (1 ms), and those of a first range.
_THREAD_WORK = 1 << 21
_RANGE_WORK = 1 << 24


def n_blocks(worth, numbers):
    """How many blocks there are where `worth` of them pay and the sums of each have so many numbers."""
    return max(1, min(_BLOCKS, worth, _PARTIAL_NUMBERS // numbers))


def even_bounds(n, parts):
    """Where parts of n rows that are equally long begin, and n."""
    return [n * i // parts for i in range(parts + 1)]


def over_blocks(bounds, first, begin, add, threads, cut=ranges):
    """The states of the blocks between `bounds`, in their order.

    Parameters
    ----------
    bounds : list of int, ascending
    first : int
        Rows of the first range of a block.
    begin : callable
        begin() makes a state, on the thread that fills it.
    add : callable
        add(start, stop, state) adds rows to it.
    threads : int
    cut : callable
        cut(start, stop, first) gives ranges. `by_length` where it matters to the sums how they are cut.
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
    """As `ranges`, of one length however long they take."""
    for first in range(start, stop, length):
        yield first, min(first + length, stop)


def added(arrays):
    """The sum of arrays, in their order and the first one's memory."""
    first, *rest = arrays
    for array in rest:
        first += array
    return first


def over_rows(call, X, row_work, n_jobs):
    """What call(start, stop) gives for ranges of all rows of X, in any order, on threads where it pays.

    A row costs `row_work` times its entries.
    """
    n = len(X)
    work = max(1, X.size * row_work)
    if work <= _THREAD_WORK:
        return [call(0, n)]
    threads = min(n_threads(n_jobs), n)
    # several for each thread, as they are not equally fast
    bounds = even_bounds(n, 1 if threads == 1 else min(n, 4 * threads))
    found = []

    def work_on(piece):
        for start, stop in ranges(*piece, 1 + n * _RANGE_WORK // work):
            found.append(call(start, stop))
            yield

    run(work_on, pairwise(bounds), threads)
    return found
