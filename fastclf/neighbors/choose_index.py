"""Which index searches which rows."""

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

# A scan of fewer rows than this, or in place of a filter of fewer numbers, takes less time than making an index does.
_FEW_ROWS = 1 << 10
_FEW_NUMBERS = 1 << 20

# Rows of up to this many features get a tree before a filter.
_LOW_DIMENSION = 8


class Maker(NamedTuple):
    """Makes the index of an algorithm for some rows; 'auto' takes the index whose queries should cost least."""

    algorithm: str
    k: int  # the number of neighbours that most queries will ask for
    n_jobs: int | None  # threads that make the index
    memory: float  # megabytes that may be used meanwhile

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
        """A filter; or a scan, where 'auto' finds that no filter pays."""
        scan = Scan(X, metric)
        coder = plan(X, scan.metric, self.k, self.n_jobs, self.memory, force=self.algorithm == "filter")
        return scan if coder is None else Filter(X, scan.metric, coder, self.n_jobs)


def _require_metric(algorithm, metric, column, X):
    names = names_with(column)
    if metric.name not in names or not isinstance(X, np.ndarray):
        rows = f" on {X.kind}" if not isinstance(X, np.ndarray) else ""
        raise ValueError(
            f"algorithm is {algorithm!r} and metric {metric.shown!r}{rows}, for which there is none; one of"
            f" {', '.join(map(repr, names))}{' on an array' if rows else ''}, or algorithm='auto' is wanted"
        )
