"""A cache of rows of the kernel matrix."""

import numpy as np

from ..kernels.values import Cached


class Cache:
    """The rows of a kernel matrix of n_rows rows that were used last; the row used longest ago is replaced first.

    Attributes
    ----------
    table : ndarray of shape (n_slots, width)
        A view of `buffer`, with the values of one row in each slot.
    row_of, used : ndarray of shape (n_slots,), int64
        The row in each slot, or -1, and the time when it was used last.
    slot_of : ndarray of shape (n_rows,), int64
        The slot of each row, or -1.
    hits, asked : int
        Rows that were asked for and there, and that were asked for.
    """

    def __init__(self, buffer, n_rows):
        self.buffer, self.n_rows = buffer, n_rows
        self.slot_of = np.full(n_rows, -1, np.int64)
        self.time = self.hits = self.asked = 0

    def widen(self, width):
        """Empty the cache; its rows have `width` columns from now on."""
        n = min(len(self.buffer) // max(1, width), self.n_rows)
        self.table = self.buffer[: n * width].reshape(n, width)
        self.row_of = np.full(n, -1, np.int64)
        self.used = np.zeros(n, np.int64)
        self.slot_of[:] = -1

    def holds_all(self):
        """Whether there is a slot for each row."""
        return len(self.table) == self.n_rows

    def narrow(self, keep, width):
        """Keep of each row the columns in the list `keep`; rows have `width` columns from now on, at least as many."""
        kept = np.flatnonzero(self.row_of >= 0)
        old, rows, used = self.table, self.row_of[kept], self.used[kept]
        self.widen(width)
        for slot, before in enumerate(kept):  # a row moves to the front, over rows that have moved before
            self.table[slot, : len(keep)] = old[before, keep]
        self.row_of[: len(kept)], self.used[: len(kept)] = rows, used
        self.slot_of[rows] = np.arange(len(kept))

    def ask(self, rows):
        """The `Cached` values of some rows; those that are not ready get slots as far as there are any."""
        self.time += 1
        slots = self.slot_of[rows]
        ready = slots >= 0
        self.used[slots[ready]] = self.time
        self.asked += len(rows)
        self.hits += int(ready.sum())
        new = np.flatnonzero(~ready)
        if len(new) and len(self.used):
            # rows of this call have the latest time, so they keep their slots
            n = min(len(new), int((self.used < self.time).sum()))
            free = np.argpartition(self.used, n - 1)[:n] if n else np.empty(0, np.int64)
            free.sort()
            gone = self.row_of[free]
            self.slot_of[gone[gone >= 0]] = -1
            self.row_of[free], self.used[free] = rows[new[:n]], self.time
            slots[new[:n]] = free
            self.slot_of[rows[new[:n]]] = free
        return Cached(self.table, slots, ready.view(np.uint8))
