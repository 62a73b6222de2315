"""Rows of kernel values that were computed last."""

import numpy as np

from ..kernels.values import Cached


class Cache:
    """Rows of kernel values that were computed last, in a buffer; those used longest ago go first.

    It is asked for the rows of a problem of n_rows.
    """

    def __init__(self, buffer, n_rows):
        self.buffer, self.n_rows = buffer, n_rows
        self.slot_of = np.full(n_rows, -1, np.int64)
        self.time = self.hits = self.asked = 0

    def widen(self, width):
        """Begin anew with rows of `width` columns."""
        n = min(len(self.buffer) // max(1, width), self.n_rows)
        self.table = self.buffer[: n * width].reshape(n, width)
        self.row_of = np.full(n, -1, np.int64)
        self.used = np.zeros(n, np.int64)
        self.slot_of[:] = -1

    def holds_all(self):
        return len(self.table) == self.n_rows

    def narrow(self, keep, width):
        """Keep the columns in the list `keep`, which is not longer than width."""
        kept = np.flatnonzero(self.row_of >= 0)
        old, rows, used = self.table, self.row_of[kept], self.used[kept]
        self.widen(width)
        for slot, before in enumerate(kept):  # a row moves to the front, over what has moved
            self.table[slot, : len(keep)] = old[before, keep]
        self.row_of[: len(kept)], self.used[: len(kept)] = rows, used
        self.slot_of[rows] = np.arange(len(kept))

    def ask(self, rows):
        """The `Cached` values of some rows."""
        self.time += 1
        slots = self.slot_of[rows]
        ready = slots >= 0
        self.used[slots[ready]] = self.time
        self.asked += len(rows)
        self.hits += int(ready.sum())
        new = np.flatnonzero(~ready)
        if len(new) and len(self.used):
            # those of this step have the greatest time, so that they stay
            n = min(len(new), int((self.used < self.time).sum()))
            free = np.argpartition(self.used, n - 1)[:n] if n else np.empty(0, np.int64)
            free.sort()
            gone = self.row_of[free]
            self.slot_of[gone[gone >= 0]] = -1
            self.row_of[free], self.used[free] = rows[new[:n]], self.time
            slots[new[:n]] = free
            self.slot_of[rows[new[:n]]] = free
        return Cached(self.table, slots, ready.view(np.uint8))
