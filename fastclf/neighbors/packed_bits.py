"""Exact search by distances between rows of bits, such as Hamming's and Jaccard's, on eight features per byte."""

from typing import NamedTuple

import numpy as np

from .. import _simd
from .._exceptions import of_column
from .._state_table import Array, DeclaredState, Instance, SizeOf, Value, declare, or_none
from .._threads import ranges
from .._validation import as_array, as_matrix, require_integer, require_matrix
from .hits import Hits
from .metrics import MetricOf, names_with
from .search import FEW_QUERIES, Heaps, Index, Search

kernels = _simd.load("neighbors._bits_scan")

# The number of values of X that are checked and packed into bits between the first two checks for Ctrl-C.
_PACK_NUMBERS = 1 << 22


class PackedRows(DeclaredState):
    """Rows of bits, packed as by `np.packbits(X, axis=1)`.

    Parameters
    ----------
    packed : ndarray of shape (n, n_bytes), uint8, C-contiguous, with zeros after the last bit of each row
    n_bits : int
        Number of bits of a row.
    given : bool
        Whether the user passed packed rows: the features are then bytes, otherwise bits.
    """

    dtype = np.dtype(bool)
    kind = "packed bits"

    _state_table = declare(
        n_bits=Value(require_integer, 1, 2**31 - 1),
        n_bytes=SizeOf(lambda rows: (rows.n_bits + 7) // 8),
        packed=Array("uint8", "n_rows", "n_bytes", least=1),
        given=Instance(bool),
    )

    def __init__(self, packed, n_bits, given=False):
        self.packed, self.n_bits, self.given = packed, n_bits, given

    def __len__(self):
        return len(self.packed)

    def __getitem__(self, rows):
        return PackedRows(self.packed[rows], self.n_bits, self.given)

    @property
    def shape(self):
        return len(self), self.packed.shape[1] if self.given else self.n_bits

    @property
    def row_bytes(self):
        return self.packed.shape[1]

    def bits(self):
        """The rows as an array of bools, one for each bit."""
        return np.unpackbits(self.packed, axis=1, count=self.n_bits).view(bool)

    def ones(self):
        """The number of ones in each row."""
        count = np.empty(len(self), np.intc)
        for part in _parts(self.packed):
            count[part] = np.bitwise_count(self.packed[part]).sum(axis=1, dtype=np.intc)
        return count


def _parts(X):
    for start, stop in ranges(0, len(X), max(1, _PACK_NUMBERS // X.shape[1])):
        yield slice(start, stop)


def as_bits(X, metric, owner, fitted=False):
    """X as PackedRows: bools are bits, and for metrics other than 'hamming' every number but 0 is the bit 1.

    In a fit with 'hamming', rows of numbers are not packed, and the result is None. Queries of a `fitted` estimator
    with 'hamming' must be bools, or 0 and 1.
    """
    array = as_array(X, "X")
    if array.dtype == bool:
        require_matrix(array, "X", owner)
    elif metric == "hamming" and not fitted:
        return None
    else:
        array = as_matrix(array, owner)
    n, d = array.shape
    packed = np.empty((n, (d + 7) // 8), np.uint8)
    for part in _parts(array):
        rows = array[part]
        bits = rows if rows.dtype == bool else rows != 0
        if metric == "hamming" and not (bits == rows).all():
            row, column = np.argwhere(bits != rows)[0]
            text = f"X has {rows[row, column]:g} (row {part.start + row}, column {column})"
            raise of_column(ValueError(f"{text}, but {owner} was fitted on bools; bools, 0 and 1 are wanted"), column)
        packed[part] = np.packbits(bits, axis=1)
    return PackedRows(packed, d)


def as_packed(X, n_bits, owner):
    """X, an array of bits that the user has packed, as PackedRows."""
    n_bits = require_integer("metric_params['n_bits']", n_bits, 1, 2**31 - 1)
    array = as_array(X, "X")
    require_matrix(array, "X", owner)
    n_bytes = (n_bits + 7) // 8
    if array.dtype != np.uint8 or array.shape[1] != n_bytes:
        raise ValueError(
            f"X has dtype {array.dtype} and {array.shape[1]} columns; for metric_params={{'n_bits': {n_bits}}} uint8"
            f" and {n_bytes} columns, as np.packbits(X, axis=1) gives them, are wanted"
        )
    array = np.ascontiguousarray(array)
    beyond = (array[:, -1] & ((1 << -n_bits % 8) - 1)) != 0
    if beyond.any():
        raise ValueError(
            f"X has ones beyond bit {n_bits} (row {beyond.argmax()}); zeros, as np.packbits(X, axis=1) gives them, are"
            " wanted"
        )
    return PackedRows(array, n_bits, given=True)


class BitPass(NamedTuple):
    """The state of one thread's pass over rows of bits with a block of queries, for `_bits_scan.pyx`."""

    search: Search
    query: np.ndarray  # (n_queries, n_words) uint64: the bits of each query, then zeros up to a whole word
    # (n_queries,) intc: the number of ones in each query; None for 'hamming', which does not read it
    ones: np.ndarray | None
    found: Heaps | Hits
    # (n_queries, 2) uint64: scratch space for the limit of the number of differing bits beyond which a row is no
    # neighbour of a query
    limits: np.ndarray
    # (n_words, PANEL_ROWS) uint64: scratch space for the bits of a panel of rows; None: the kernel reads X in place
    panel: np.ndarray | None


class Bits(Index):
    """An index that scans all rows of packed bits exactly, by counting bits.

    Parameters
    ----------
    X : PackedRows
    metric : Metric
        A Metric whose `named.packed` is True.
    """

    _state_table = declare(
        X=Instance(PackedRows, "n_rows", "n_features"),
        metric=MetricOf(names_with("packed")),
        n_counts=SizeOf(lambda index: index.X.n_bits + 1),
        _ones=or_none(Array("intc", "n_rows", below="n_counts")),
    )

    def __init__(self, X, metric):
        super().__init__(X, metric)
        # (n_rows,) intc: the number of ones in each row; None for 'hamming', which does not read it
        self._ones = None if metric.name == "hamming" else X.ones()

    def _check_rest(self, sizes, entries):
        if (self._ones is None) != (self.metric.name == "hamming"):
            raise ValueError(
                f"metric {self.metric.name!r} does not fit _ones, the numbers of ones in the rows, which is None for"
                " 'hamming' alone"
            )

    # `_check_state` of Index is not used: it sets the metric's number in `_scan.pyx`, which packed rows do not need
    _check_state = DeclaredState._check_state

    def _costs(self, queries):
        n_words = -(-queries.packed.shape[1] // 8)
        return 1 + n_words, n_words, 8 * n_words + 40, 8 * n_words * kernels.PANEL_ROWS

    def _cheap_range(self, n_queries):
        return max(1, (1 << 24) // (n_queries * (8 + self.X.packed.shape[1] // 4)))

    def _queries(self, search):
        n_queries, n_bytes = search.queries.packed.shape
        query = np.zeros((n_queries, -(-n_bytes // 8)), np.uint64)
        query.view(np.uint8)[:, :n_bytes] = search.queries.packed
        return query, None if self._ones is None else search.queries.ones()

    def _pass(self, search, queries, found):
        n_queries, n_words = queries[0].shape
        panel = None if n_queries <= FEW_QUERIES else np.empty((n_words, kernels.PANEL_ROWS), np.uint64)
        return BitPass(search, *queries, found, np.empty((n_queries, 2), np.uint64), panel)

    def _step(self, state, start, stop):
        code = kernels.CODES[self.metric.name]
        return kernels.scan(self.X.packed, start, stop, self.X.n_bits, code, self._ones, state)
