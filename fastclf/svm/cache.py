"""Kernel values that are kept: those between the rows of a class, which its pairs share, and rows computed last."""

import numpy as np

from .._threads import run
from ..kernels.values import BLOCK
from .gram import padded


class OwnClasses:
    """Kernel values between the rows of a class, of each class that there is still room for, computed once.

    Each of the class's pairs with another finds half of the columns of its rows here. place: of a row, in its class.
    What room is left has the rows themselves, as the panels that others meet.
    """

    def __init__(self, gram, codes, n_classes, n_bytes, threads):
        self.place, self.n_bytes = np.zeros(len(codes), np.int64), 0
        self.of_class, items = [], []
        for c in range(n_classes):
            rows, block = np.flatnonzero(codes == c), None
            self.place[rows] = np.arange(len(rows))
            if self._takes(len(rows) ** 2, gram.dtype, n_bytes):
                block = np.empty((len(rows), len(rows)), gram.dtype)
                items += [(block, rows, start) for start in range(0, len(rows), BLOCK)]
            self.of_class.append(OwnClass(rows, block))
        n_rows = sum(padded(len(own.rows), gram.wide) for own in self.of_class)
        if self._takes(n_rows * gram.X.n_columns, gram.dtype, n_bytes):
            gram.whole = True
            items += self.of_class

        def fill(item):
            if isinstance(item, OwnClass):
                item.panels = gram.panels(item.rows)
                return
            block, rows, start = item
            Z = gram.pack(rows[start : start + BLOCK])
            values = np.empty((len(Z), len(rows) - start), gram.dtype)
            gram.fill(Z, rows[start:], values)
            block[start : start + len(Z), start:] = values
            block[start:, start : start + len(Z)] = values.T  # equal to the last bit
            yield

        run(fill, items, threads)

    def _takes(self, size, dtype, n_bytes):
        """Whether so many numbers still have room, which is then taken."""
        size *= dtype.itemsize
        fits = self.n_bytes + size <= n_bytes
        self.n_bytes += size if fits else 0
        return fits


class OwnClass:
    """Rows of a class, in order; the values between them, and the panels that they make, if there are."""

    def __init__(self, rows=(), block=None):
        self.rows, self.block, self.panels = rows, block, None


NOTHING = OwnClass()


class Cache:
    """Rows of kernel values that were computed last, in a buffer; those used longest ago go first.

    It is asked for `most` of the n_rows rows.
    """

    def __init__(self, room, n_rows, most):
        self.room, self.most = room, most
        self.slot_of = np.full(n_rows, -1, np.int64)
        self.time = self.hits = self.asked = 0

    def widen(self, width):
        """Begin anew with rows of `width` columns."""
        self.width = width
        n = min(len(self.room) // max(1, width), self.most)
        self.table = self.room[: n * width].reshape(n, width)
        self.row_of = np.full(n, -1, np.int64)
        self.used = np.zeros(n, np.int64)
        self.slot_of[:] = -1

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
        """(table, slots, ready) of some rows: what is not ready is to be written to its slot, if that is 0 or more."""
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
        return self.table, slots, ready.view(np.uint8)


class Side(Cache):
    """Values against the columns of a class, in a dual the rows of label `sign`: `block` has those of its own rows."""

    def __init__(self, room, n_rows, most, sign, place, own):
        super().__init__(room, n_rows, most)
        self.sign, self.place, self.own, self.block = sign, place, own, own.block

    def holds_all(self):
        return len(self.table) >= self.most

    def stored(self, rows, y, columns):
        """Where values of rows, of labels y, against a list of the columns are or are to be; see `_values.add`."""
        panels = self.own.panels if len(columns) == len(self.own.rows) else None
        if self.block is None:
            return panels, *self.ask(rows)
        others = np.flatnonzero(y != self.sign)
        slots, ready = np.full(len(rows), -1), np.zeros(len(rows), np.uint8)
        table, slots[others], ready[others] = self.ask(rows[others])
        self.asked += len(rows) - len(others)
        self.hits += len(rows) - len(others)
        own = np.where(y == self.sign, self.place[rows], -1)
        return panels, table, slots, ready, self.block, own, self.place[columns]
