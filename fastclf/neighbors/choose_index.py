"""The choice of a search index for the fitted rows."""

from typing import NamedTuple

import numpy as np

from .._csr import Csr
from .._exceptions import warn
from .._state_table import Value, declare, or_none
from .._threads import aside_if_many
from .._validation import require_choice, require_integer, require_number
from .cells import Cells
from .code_filter import Filter
from .code_plan import plan
from .custom_metric import Called, Pivots
from .formulas import Formula
from .inverted_index import Sparse
from .kdtree import LOW_DIMENSION, Tree, is_worth_a_tree
from .metrics import NAMED, names_with
from .missing_values import Missing
from .packed_bits import Bits, PackedRows
from .precomputed import Precomputed
from .scan import Scan

ALGORITHMS = ("auto", "brute", "filter", "cells", "tree", "kd_tree", "ball_tree")

# Metrics that scikit-learn's ball tree does not support. With any other metric that the index Tree does not support,
# algorithm='ball_tree' means 'auto'.
_NO_BALLS = frozenset(["correlation", "cosine", "dot", "nan_euclidean", "precomputed", "yule"])

# With fewer rows than this, a scan takes less time than the construction of an index.
_FEW_ROWS = 1 << 10

# If X has fewer entries or fewer rows than this, scans for a fifth as many queries as rows take less time than the
# construction of a filter.
_FEW_NUMBERS, _FEW_CODED = 1 << 21, 10_000

# X is searched by a tree rather than by a filter or a scan if it has at most LOW_DIMENSION features, or at most
# _TREE_COLUMNS features, at least _TREE_ROWS rows and at most _TREE_NUMBERS entries, of which a tree has a copy. Where
# codes are possible, and there are more than _SURE_COLUMNS features, a trial tells if a tree is faster.
_TREE_COLUMNS, _SURE_COLUMNS, _TREE_ROWS, _TREE_NUMBERS = 32, 12, 1 << 13, 1 << 24

# With algorithm='cells', the share of all rows whose codes a query is expected to read.
_CELLS_READ = 1 / 32


class Maker(NamedTuple):
    """A function that makes the search index of an X, of the kind that `algorithm` names.

    'auto' stands for the index with the lowest expected cost of a query.
    """

    _state_table = declare(
        algorithm=Value(require_choice, ALGORITHMS),
        k=Value(require_integer, 1),
        n_jobs=or_none(Value(require_integer, -np.inf)),
        memory=Value(require_number, 0),
    )

    algorithm: str
    k: int  # the number of neighbours for which the expected cost of a search is computed
    n_jobs: int | None  # the number of threads for the construction of the index
    memory: float  # the number of megabytes that the construction of the index may use

    def __call__(self, X, metric):
        algorithm = _as_scikit_learn_has_it(self.algorithm, X, metric)
        if algorithm == "tree":
            _require_metric(self.algorithm, metric, "tree", X)
            return Tree(X, metric, self.n_jobs)
        if algorithm in ("filter", "cells"):
            _require_metric(algorithm, metric, "coded" if algorithm == "filter" else "celled", X)
            return self._filter(X, metric)
        if isinstance(X, PackedRows):
            return Bits(X, metric)
        if metric.name == "precomputed":
            return Precomputed(X, metric)
        if metric.name not in NAMED:
            if metric.triangle and algorithm != "brute":
                return Pivots(X, metric)
            return Pivots(X, metric, 0) if metric.compiled is None else Called(X, metric)
        if isinstance(X, Csr):
            return aside_if_many(X.size, Sparse, X, metric)
        named = NAMED[metric.name]
        if named.missing:
            return Missing(X, metric)
        if named.formula:
            return Formula(X, metric)
        if algorithm == "auto" and len(X) >= _FEW_ROWS:
            is_coded = named.coded and X.size >= _FEW_NUMBERS and len(X) >= _FEW_CODED
            if named.tree and self._suits_a_tree(X, metric, is_coded):
                return Tree(X, metric, self.n_jobs)
            if is_coded:
                return self._filter(X, metric)
        return Scan(X, metric)

    def _suits_a_tree(self, X, metric, is_coded):
        n, d = X.shape
        if isinstance(X, np.memmap):
            return False
        if d <= LOW_DIMENSION:
            return True
        if d > _TREE_COLUMNS or n < _TREE_ROWS or X.size > _TREE_NUMBERS:
            return False
        return not is_coded or d <= _SURE_COLUMNS or is_worth_a_tree(X, metric, self.k)

    def _filter(self, X, metric):
        """The index of coded rows, a Filter or Cells; a Scan if no code is expected to make a search faster."""
        scan = Scan(X, metric)
        cells, force = self.algorithm == "cells", self.algorithm != "auto"
        coder = plan(X, scan.metric, self.k, self.n_jobs, self.memory, force=force, share=_CELLS_READ if cells else 1)
        if coder is None:
            return scan
        coded = Filter(X, scan.metric, coder, self.n_jobs)
        return Cells(coded, self.n_jobs) if cells else coded


def _as_scikit_learn_has_it(algorithm, X, metric):
    """Translate 'kd_tree' and 'ball_tree' to 'tree' or 'auto'; raise an error where scikit-learn's trees raise one."""
    if algorithm not in ("kd_tree", "ball_tree"):
        return algorithm
    if isinstance(X, Csr):
        warn("cannot use tree with sparse input: using brute force")
        return "auto"
    if metric.name == "minkowski" and metric.p < 1:
        raise ValueError(
            f'algorithm="{algorithm}" does not support 0 < p < 1 for the Minkowski metric. To resolve this problem'
            ' either set p >= 1 or algorithm="brute". (algorithm="tree" takes any p.)'
        )
    if algorithm == "kd_tree" and metric.w is not None:
        raise ValueError(
            "algorithm='kd_tree' is not valid for metric='minkowski' with a weight parameter 'w': try"
            " algorithm='ball_tree' or algorithm='brute' instead."
        )
    if algorithm == "ball_tree" and not metric.named.tree and metric.name not in _NO_BALLS:
        return "auto"
    return "tree"


def _require_metric(algorithm, metric, column, X):
    names = names_with(column)
    if metric.name not in names or not isinstance(X, np.ndarray):
        rows = f" on {X.kind}" if not isinstance(X, np.ndarray) else ""
        raise ValueError(
            f"algorithm is {algorithm!r} and metric {metric.shown!r}{rows}, for which there is no index; one of"
            f" {', '.join(map(repr, names))}{' on an array' if rows else ''}, or algorithm='auto' is wanted"
        )
