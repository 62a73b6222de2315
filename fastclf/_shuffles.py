"""Shuffles by NumPy's RandomState, with its random numbers, between whose ranges Ctrl-C is obeyed."""

import numpy as np

from . import _orders
from ._threads import ranges

# RandomState itself shuffles a vector of at most this number of entries, in a few milliseconds.
_FEW = 1 << 17


def shuffle(rng, rows):
    """rng.shuffle(rows) for a vector of row numbers."""
    if type(rng) is not np.random.RandomState or len(rows) <= _FEW or rows.dtype != np.int64:
        rng.shuffle(rows)
        return
    last = len(rows) - 1
    for start, stop in ranges(0, last, _FEW):
        _orders.shuffle(rng._bit_generator, rows, last - start, last - stop)


def permutation(rng, rows):
    """rng.permutation(rows) for a vector of row numbers, or for their number."""
    if type(rng) is not np.random.RandomState:
        return rng.permutation(rows)
    rows = np.array(rows, np.intp) if np.ndim(rows) else np.arange(rows)
    shuffle(rng, rows)
    return rows
