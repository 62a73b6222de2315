"""Rows in blocks on threads, each block in short ranges, between which Ctrl-C is obeyed.

Sums are made block by block, and those of the blocks are added in their order. The bounds of blocks depend on the
problem alone, so that neither the number of threads nor the time that a range takes changes a bit.
"""

from itertools import pairwise

from .._threads import n_threads, ranges, run

# The most blocks, and the most numbers in the sums of all blocks together where there is more than one.
_BLOCKS = 64
_PARTIAL_NUMBERS = 1 << 23

# The fewest multiplications that are worth a block of their own.
BLOCK_WORK = 1 << 18

# The most multiplications that one call does (1 ms), and the number of multiplications in a first range.
_THREAD_WORK = 1 << 21
_RANGE_WORK = 1 << 24


def n_blocks(worth, numbers):
    """The number of blocks to make where at most `worth` of them pay, and the sums of each have `numbers` numbers."""
    return max(1, min(_BLOCKS, worth, _PARTIAL_NUMBERS // numbers))


def even_bounds(n, parts):
    """The bounds between which n rows fall into parts of equal length: parts + 1 numbers from 0 to n."""
    return [n * i // parts for i in range(parts + 1)]


def over_blocks(bounds, first, begin, add, threads, cut=ranges):
    """The states of the blocks between `bounds`, in their order.

    Parameters
    ----------
    bounds : list of int, ascending
    first : int
        The number of rows of the first range of a block.
    begin : callable
        begin() makes the state of a block, on the thread that fills it.
    add : callable
        add(start, stop, state) adds rows to a state.
    threads : int
    cut : callable
        cut(start, stop, first) gives the ranges of a block: `by_length` if the sums depend on where they are cut.
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
    """Ranges of one length, however long they take."""
    for first in range(start, stop, length):
        yield first, min(first + length, stop)


def added(arrays):
    """The sum of arrays, added in their order; the first array is overwritten with it."""
    first, *rest = arrays
    for array in rest:
        first += array
    return first


def over_rows(call, X, row_work, n_jobs):
    """The answers of call(start, stop) for ranges of all rows of X, in any order, on threads where that pays.

    A row costs `row_work` multiplications for each of its entries.
    """
    n = len(X)
    work = max(1, X.size * row_work)
    if work <= _THREAD_WORK:
        return [call(0, n)]
    threads = min(n_threads(n_jobs), n)
    # several blocks for each thread, as threads are not equally fast
    bounds = even_bounds(n, 1 if threads == 1 else min(n, 4 * threads))
    found = []

    def work_on(piece):
        for start, stop in ranges(*piece, 1 + n * _RANGE_WORK // work):
            found.append(call(start, stop))
            yield

    run(work_on, pairwise(bounds), threads)
    return found
