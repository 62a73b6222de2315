"""Search among distances that the user has computed, in a matrix of all distances or a sparse graph of some."""

from typing import NamedTuple

import numpy as np

from .._csr import Csr, Matrix, as_csr, is_sparse
from .._state_table import DeclaredState, declare
from .._threads import advance, ranges
from .._validation import as_matrix
from . import _precomputed_scan as kernels
from .hits import Hits
from .metrics import MetricOf, names_with
from .search import Heaps, Index, Search, radius_of

# SciPy's sparse formats that keep explicit zeros, which are distances of 0.
_FORMATS = ("csr", "csc", "coo", "lil")

# The number of distances that are checked, or sorted, before the first check for Ctrl-C.
_ENTRIES = 1 << 18


def as_distances(X, owner, square=False):
    """X as an array or Csr, after a check that its distances are not negative; a Csr has only neighbours as entries."""
    if not isinstance(X, (np.ndarray, Csr)) and is_sparse(X):
        if X.format not in _FORMATS:
            raise TypeError(
                f"Sparse matrix in {X.format!r} format is not supported due to its handling of explicit zeros; one of"
                f" {', '.join(_FORMATS)} is wanted"
            )
        X = as_csr(X, owner)
        name, numbers = "precomputed distance matrix", X.data.reshape(-1, 1)
    else:
        X = X if isinstance(X, Csr) else as_matrix(X, owner)
        name, numbers = "X", X.data.reshape(-1, 1) if isinstance(X, Csr) else X
    for start, stop in ranges(0, len(numbers), max(1, _ENTRIES // numbers.shape[1])):
        if (numbers[start:stop] < 0).any():
            raise ValueError(f"Negative values in data passed to {name}. Distances from 0 up are wanted")
    if square and X.shape[0] != X.shape[1]:
        raise ValueError(f"Precomputed matrix must be square. Input is a {X.shape[0]}x{X.shape[1]} matrix.")
    return X


class PrecomputedPass(NamedTuple):
    """The state of one thread's pass over the distances of a block of queries."""

    search: Search
    distance: np.ndarray  # (n_queries, n_rows) float32 or float64: the distance of each query from each row
    found: Heaps | Hits


class Precomputed(Index):
    """An index of n rows that are known by their distances; a query is the vector of its distances from the rows.

    Parameters
    ----------
    X : ndarray of shape (n, n), float32 or float64, C-contiguous; or Csr
        The distances among the rows, which serve as queries if the user passes none.
    metric : Metric
        The Metric 'precomputed'.
    """

    _state_table = declare(X=Matrix("n_rows", "n_features"), metric=MetricOf(names_with("precomputed")))

    # `_check_state` of Index is not used: it looks up the metric's number in `_scan.pyx`, and this metric has none
    _check_state = DeclaredState._check_state

    def _check_rest(self, sizes, entries):
        if sizes["n_rows"] != sizes["n_features"]:
            raise ValueError(f"X has shape {self.X.shape}; a square matrix is wanted")

    def nearest(self, search, distance_out, index_out):
        if not isinstance(search.queries, Csr):
            super().nearest(search, distance_out, index_out)
            return
        k = index_out.shape[1]
        for start, part, row, index, distance in self._entries(search):
            count = np.bincount(row, minlength=len(part.queries))
            if count.min() < k:
                raise ValueError(
                    f"{k} neighbors per samples are required, but some samples have only {count.min()} neighbors in"
                    " precomputed graph matrix. Decrease number of neighbors used or recompute the graph with more"
                    " neighbors."
                )
            order = np.lexsort((index, distance, row))
            first = np.cumsum(count) - count
            chosen = order[first[:, None] + np.arange(k)]
            stop = start + len(count)
            index_out[start:stop] = index[chosen]
            if distance_out is not None:
                distance_out[start:stop] = distance[chosen]
            advance(search.progress, len(count) * len(self.X))

    def within(self, search, radius, out):
        if not isinstance(search.queries, Csr):
            super().within(search, radius, out)
            return
        for start, part, row, index, distance in self._entries(search):
            near = distance <= radius_of(radius, start + row)
            row, index, distance = row[near], index[near], distance[near]
            ends = np.cumsum(np.bincount(row, minlength=len(part.queries)))
            for i, (first, last) in enumerate(zip([0, *ends], ends)):
                out.put(start + i, index[first:last].copy(), distance[first:last].copy())
            advance(search.progress, len(ends) * len(self.X))

    def _entries(self, search):
        """Yield (start, Search, query, row, distance) for a few queries of a graph at a time.

        `start` is the number of the first query. The three arrays have an item for each entry that may be found, in the
        order of the graph; `query` counts from `start`.
        """
        queries = search.queries
        size = max(1, _ENTRIES * len(queries) // (queries.size + 1))
        for start, stop in ranges(0, len(queries), 1, size):
            part = search.of(slice(start, stop))
            row, index = part.queries.row_numbers(), part.queries.indices.astype(np.intp)
            distance = part.queries.data.astype(np.float64)
            findable = np.ones(len(row), bool) if search.allowed is None else search.allowed[index] != 0
            if part.self_row is not None:
                findable &= part.self_row[row] != index
            yield start, part, row[findable], index[findable], distance[findable]

    def _costs(self, queries):
        return 1, queries.shape[1], queries.dtype.itemsize * queries.shape[1], 0

    def _cheap_range(self, n_queries):
        return max(1, (1 << 23) // n_queries)

    def _queries(self, search):
        return np.ascontiguousarray(search.queries)

    def _pass(self, search, queries, found):
        return PrecomputedPass(search, queries, found)

    def _step(self, state, start, stop):
        return kernels.scan(state.distance, start, stop, state)
