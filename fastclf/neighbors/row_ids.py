"""Ids of rows: names that stay with rows when others are added or removed, and their row numbers."""

from math import isqrt

import numpy as np

from .._state_table import Array, DeclaredState, declare
from .._threads import aside_if_many
from .._validation import as_array, described
from .living_rows import SpareRows


def _longest_tail(n):
    """The largest number of ids, of n, that are not yet merged with the sorted ids; each look-up sorts them anew."""
    return 64 + 4 * isqrt(n)


class RowIds(DeclaredState):
    """The ids of rows by row number, all different. An object does not change: `add` and `without` return new ones.

    Attributes
    ----------
    values : ndarray of shape (n_rows,), int64 or strings
    """

    _state_table = declare(values=Array("any", None))

    def __init__(self, values):
        self.values = values
        self._spare = SpareRows()
        # (n_sorted,) intp: the row numbers of the sorted ids in `_sorted`; None: no ids are sorted yet
        self._order = None
        # the ids in ascending order, without the tail, which are the ids of rows added since the ids were sorted
        self._sorted = None

    @classmethod
    def of(cls, ids, n):
        """The checked ids of n rows."""
        made = cls(as_ids(ids, n))
        made._sort()
        repeated = np.flatnonzero(made._sorted[1:] == made._sorted[:-1])
        if len(repeated):
            raise ValueError(
                f"ids has {made._sorted[repeated[0]].item()!r} more than once; a different id for each row is wanted"
            )
        return made

    def __getstate__(self):
        return {"values": self.values}

    def __setstate__(self, state):
        self.__init__(state["values"])

    def _check_rest(self, sizes, entries):
        values = self.values
        if values.dtype != np.int64 and values.dtype.kind != "U":
            raise ValueError(f"values of ids is {described(values)}; int64 or strings are wanted")
        if entries:
            RowIds.of(values, len(values))

    def __len__(self):
        return len(self.values)

    @property
    def shape(self):
        return np.shape(self.values)

    def _sort(self):
        if self._order is None:
            order, self._sorted = aside_if_many(len(self.values), _in_order, self.values)
            # `_order` is set last, because another thread that finds `_order` set goes on to read `_sorted`
            self._order = order

    def find(self, ids):
        """The row number of each id; -1 for an id that no row has."""
        self._sort()
        found = aside_if_many(len(ids), _found, ids, self._sorted, self._order)
        tail = self.values[len(self._sorted) :]
        if len(tail):
            order = np.argsort(tail, kind="stable")
            late = _found(ids, tail[order], order)
            found = np.where(late >= 0, late + len(self._sorted), found)
        return found

    def rows(self, ids):
        """The row numbers of a user's ids; an id that no row has is refused."""
        ids = as_ids(ids, None, self.values)
        found = self.find(ids)
        if (found < 0).any():
            raise ValueError(
                f"ids holds {ids[found < 0][0].item()!r}, which no fitted row has; ids of fitted rows are wanted"
            )
        return found

    def add(self, ids, n):
        """The ids of these rows and of n more. O(log n) for each, amortised."""
        more = RowIds.of(as_ids(ids, n, self.values), n)
        known = self.find(more.values) >= 0
        if known.any():
            taken = more.values[known][0].item()
            raise ValueError(
                f"ids holds {taken!r}, which a fitted row has; new ids are wanted, or remove(ids=...) first"
            )
        new = object.__new__(RowIds)
        vars(new).update(vars(self))
        new.values, new._spare = self._spare.extend(self.values, more.values)
        if len(new.values) - len(self._sorted) > _longest_tail(len(new.values)):
            new._merge_tail()
        return new

    def _merge_tail(self):
        """Sort all ids, by merging the ids that are sorted already with the tail, the ids of rows added later."""
        start = len(self._sorted)
        order = aside_if_many(len(self.values) - start, np.argsort, self.values[start:], kind="stable")
        tail = self.values[start:][order]
        place = np.searchsorted(self._sorted, tail)
        self._order = np.insert(self._order, place, order + start)
        self._sorted = np.insert(self._sorted.astype(self.values.dtype), place, tail)

    def without(self, rows):
        """The ids that are left when the rows with the given ascending numbers are removed. O(n)."""
        new = RowIds(np.delete(self.values, rows))
        if self._order is not None:
            stays = np.ones(len(self.values), bool)
            stays[rows] = False
            left = self._order[stays[self._order]]
            new._sorted = self._sorted[stays[self._order]]
            new._order = (np.cumsum(stays) - 1)[left]
        return new


def _in_order(values):
    """(row numbers, ids) in ascending order of the ids."""
    order = np.argsort(values, kind="stable")
    return order, values[order]


def _found(ids, ascending, order):
    """For each id the number order[j] for which ascending[j] equals the id; -1 for an id that is not in `ascending`."""
    if not len(ascending):
        return np.full(len(ids), -1)
    place = np.minimum(np.searchsorted(ascending, ids), len(ascending) - 1)
    return np.where(ascending[place] == ids, order[place], -1)


def as_ids(ids, n, like=None):
    """A user's ids as a vector of int64 or strings: n of them, of the type of `like`."""
    given = ids
    ids = as_array(ids, "ids")
    if n is None and ids.ndim == 0:
        ids = ids.reshape(1)
    if ids.dtype.kind == "O" and ids.ndim == 1:
        kinds = {bool if isinstance(each, bool | np.bool_) else type(each) for each in ids.tolist()}
        if kinds <= {str, np.str_}:
            ids = ids.astype(str)
        elif all(issubclass(kind, int | np.integer) and kind is not bool for kind in kinds):
            ids = _as_int64(ids)
    elif ids.dtype.kind == "u":
        ids = _as_int64(ids)
    if not ids.size and ids.ndim == 1 and like is not None:
        ids = ids.astype(like.dtype)
    if ids.ndim != 1 or ids.dtype.kind not in "iU":
        raise TypeError(f"ids is {described(given)}; a vector of whole numbers or strings, one for each row, is wanted")
    if n is not None and len(ids) != n:
        raise ValueError(f"ids has {len(ids)} entries; {n}, one for each row of X, are wanted")
    if like is not None and ids.dtype.kind != like.dtype.kind:
        kinds = {"i": "whole numbers", "U": "strings"}
        raise TypeError(f"ids holds {kinds[ids.dtype.kind]}; {kinds[like.dtype.kind]}, as in the first fit, are wanted")
    return np.array(ids, np.int64 if ids.dtype.kind == "i" else None)


def _as_int64(ids):
    try:
        numbers = ids.astype(np.int64)
    except OverflowError:
        raise ValueError("ids holds a number beyond 64 bits; numbers from -2^63 to 2^63 - 1 are wanted") from None
    if (numbers != ids).any():
        raise ValueError("ids holds a number beyond 64 bits; numbers from -2^63 to 2^63 - 1 are wanted")
    return numbers
