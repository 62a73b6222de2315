"""Which index searches which rows."""

from typing import NamedTuple

import numpy as np

from .._csr import Csr
from .code_filter import METRICS as FILTERED
from .code_filter import Filter
from .code_plan import plan
from .custom_metric import Called, Pivots
from .inverted_index import Sparse
from .kdtree import Tree
from .missing_values import Missing
from .packed_bits import Bits, PackedRows
from .scan import Scan

ALGORITHMS = ("auto", "brute", "filter", "tree", "kd_tree", "ball_tree")

# Fewer rows than this, or for a filter fewer numbers, are scanned sooner than an index is made.
_FEW_ROWS = 1 << 10
_FEW_NUMBERS = 1 << 20

# Up to so many features a tree is tried before a filter.
_LOW_DIMENSION = 8


class Maker(NamedTuple):
    """Makes the index of an algorithm for some rows; 'auto' takes the one expected to cost least a query."""

    algorithm: str
    k: int  # neighbours that will be asked for
    n_jobs: int | None
    memory: float

    def __call__(self, X, metric):
        algorithm, many, low = self.algorithm, len(X) >= _FEW_ROWS, X.shape[1] <= _LOW_DIMENSION
        if algorithm in ("tree", "kd_tree", "ball_tree"):
            _require_metric(algorithm, metric, Tree.METRICS, X)
            return Tree(X, metric, self.n_jobs)
        if algorithm == "filter":
            _require_metric(algorithm, metric, FILTERED, X)
            return self._filter(X, metric)
        if isinstance(X, PackedRows):
            return Bits(X, metric)
        if isinstance(X, Csr):
            return Sparse(X, metric)
        if metric.name == "nan_euclidean":
            return Missing(X, metric)
        if metric.triangle and algorithm != "brute":
            return Pivots(X, metric)
        if metric.compiled is not None:
            return Called(X, metric)
        if algorithm == "auto" and many and low and metric.name in Tree.METRICS and not isinstance(X, np.memmap):
            return Tree(X, metric, self.n_jobs)
        if algorithm == "auto" and many and metric.name in FILTERED and X.size >= _FEW_NUMBERS:
            return self._filter(X, metric)
        return Scan(X, metric)

    def _filter(self, X, metric):
        """A filter, or where 'auto' finds that none pays a scan."""
        scan = Scan(X, metric)
        coder = plan(X, scan.metric, self.k, self.n_jobs, self.memory, force=self.algorithm == "filter")
        return scan if coder is None else Filter(X, scan.metric, coder, self.n_jobs)


def _require_metric(algorithm, metric, names, X):
    if metric.name not in names or not isinstance(X, np.ndarray):
        rows = f" on {X.kind}" if not isinstance(X, np.ndarray) else ""
        raise ValueError(
            f"algorithm is {algorithm!r} and metric {metric.shown!r}{rows}, for which there is none; one of"
            f" {', '.join(map(repr, names))}{' on an array' if rows else ''}, or algorithm='auto' is wanted"
        )
