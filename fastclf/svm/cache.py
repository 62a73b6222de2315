"""A cache of rows of the kernel matrix."""

import numpy as np

from ..kernels.values import Cached


class Cache:
    """A cache of the rows of a kernel matrix with n_rows rows; the row that was used longest ago is replaced first.

    Attributes
    ----------
    table : ndarray of shape (n_slots, width)
        A view of `buffer`, with the values of one row in each slot.
    row_of, used : ndarray of shape (n_slots,), int64
        The row of the kernel matrix in each slot, or -1, and the time at which the slot was last used.
    slot_of : ndarray of shape (n_rows,), int64
        The slot of each row of the kernel matrix, or -1.
    n_filled : int
        The number of slots, the first ones, that have been used since the cache was empty.
    hits, asked : int
        The number of requested rows that were in the cache, and the number of all requested rows.
    """

    def __init__(self, buffer, n_rows):
        self.buffer, self.n_rows = buffer, n_rows
        self.slot_of = np.full(n_rows, -1, np.int64)
        self.time = self.hits = self.asked = 0

    def widen(self, width):
        """Empty the cache; from now on the cached rows have `width` columns."""
        n = min(len(self.buffer) // max(1, width), self.n_rows)
        self.table = self.buffer[: n * width].reshape(n, width)
        self.row_of = np.full(n, -1, np.int64)
        self.used = np.zeros(n, np.int64)
        self.slot_of[:] = -1
        self.n_filled = 0

    def holds_all(self):
        """Whether the cache has a slot for each row of the kernel matrix."""
        return len(self.table) == self.n_rows

    def narrow(self, keep, width):
        """Keep the listed columns of each cached row; rows get `width` columns, at least as many as the list has."""
        kept = np.flatnonzero(self.row_of >= 0)
        old, rows, used = self.table, self.row_of[kept], self.used[kept]
        self.widen(width)
        # the cached rows move to the first slots, in order, so that no row is overwritten before it has moved
        for slot, before in enumerate(kept):
            self.table[slot, : len(keep)] = old[before, keep]
        self.row_of[: len(kept)], self.used[: len(kept)] = rows, used
        self.slot_of[rows] = np.arange(len(kept))
        self.n_filled = len(kept)

    def ask(self, rows):
        """The `Cached` values of the listed rows; rows that are not in the cache get slots, as far as there are any."""
        self.time += 1
        slots = self.slot_of[rows]
        ready = slots >= 0
        self.used[slots[ready]] = self.time
        self.asked += len(rows)
        self.hits += int(ready.sum())
        new = np.flatnonzero(~ready)
        if len(new) and len(self.used):
            free = np.arange(self.n_filled, min(self.n_filled + len(new), len(self.used)))
            self.n_filled += len(free)
            self.used[free] = self.time
            # the rows that this call reads have the latest time of use, so that they are not replaced
            n = min(len(new) - len(free), int((self.used < self.time).sum())) if len(free) < len(new) else 0
            if n:
                free = np.append(free, np.sort(np.argpartition(self.used, n - 1)[:n]))
            n = len(free)
            gone = self.row_of[free]
            self.slot_of[gone[gone >= 0]] = -1
            self.row_of[free], self.used[free] = rows[new[:n]], self.time
            slots[new[:n]] = free
            self.slot_of[rows[new[:n]]] = free
        return Cached(self.table, slots, ready.view(np.uint8))
