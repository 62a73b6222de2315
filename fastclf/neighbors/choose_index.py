"""The choice of an index for given rows."""

from typing import NamedTuple

import numpy as np

from .._csr import Csr
from .code_filter import Filter
from .code_plan import plan
from .custom_metric import Called, Pivots
from .inverted_index import Sparse
from .kdtree import Tree
from .metrics import NAMED, names_with
from .missing_values import Missing
from .packed_bits import Bits, PackedRows
from .scan import Scan

ALGORITHMS = ("auto", "brute", "filter", "tree", "kd_tree", "ball_tree")

# With fewer rows than this, or for a filter fewer numbers, a scan takes less time than the construction of an index.
_FEW_ROWS = 1 << 10
_FEW_NUMBERS = 1 << 20

# Rows with at most this number of features are searched by a tree rather than a filter.
_LOW_DIMENSION = 8


class Maker(NamedTuple):
    """Makes an index for rows, by the given algorithm.

    'auto' chooses the index with the lowest expected cost of a query.
    """

    algorithm: str
    k: int  # the number of neighbours that most queries are expected to ask for
    n_jobs: int | None  # number of threads for the construction of the index
    memory: float  # megabytes that the construction may use

    def __call__(self, X, metric):
        algorithm = self.algorithm
        if algorithm in ("tree", "kd_tree", "ball_tree"):
            _require_metric(algorithm, metric, "tree", X)
            return Tree(X, metric, self.n_jobs)
        if algorithm == "filter":
            _require_metric(algorithm, metric, "coded", X)
            return self._filter(X, metric)
        if isinstance(X, PackedRows):
            return Bits(X, metric)
        if isinstance(X, Csr):
            return Sparse(X, metric)
        if metric.name not in NAMED:
            if metric.triangle and algorithm != "brute":
                return Pivots(X, metric)
            return Pivots(X, metric, 0) if metric.compiled is None else Called(X, metric)
        named = NAMED[metric.name]
        if named.missing:
            return Missing(X, metric)
        if algorithm == "auto" and len(X) >= _FEW_ROWS:
            if named.tree and X.shape[1] <= _LOW_DIMENSION and not isinstance(X, np.memmap):
                return Tree(X, metric, self.n_jobs)
            if named.coded and X.size >= _FEW_NUMBERS:
                return self._filter(X, metric)
        return Scan(X, metric)

    def _filter(self, X, metric):
        """A Filter, or for 'auto' a Scan if no filter is expected to be faster."""
        scan = Scan(X, metric)
        coder = plan(X, scan.metric, self.k, self.n_jobs, self.memory, force=self.algorithm == "filter")
        return scan if coder is None else Filter(X, scan.metric, coder, self.n_jobs)


def _require_metric(algorithm, metric, column, X):
    names = names_with(column)
    if metric.name not in names or not isinstance(X, np.ndarray):
        rows = f" on {X.kind}" if not isinstance(X, np.ndarray) else ""
        raise ValueError(
            f"algorithm is {algorithm!r} and metric {metric.shown!r}{rows}, for which there is no index; one of"
            f" {', '.join(map(repr, names))}{' on an array' if rows else ''}, or algorithm='auto' is wanted"
        )
