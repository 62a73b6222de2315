"""Exact search that computes the distances of few rows, because codes of one byte per coordinate rule out the others.

A code bounds the distance of its row from below; `src_cython/neighbors/_code_bound.pxd` defines codes and proves the
bound.
"""

from functools import partial
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from .. import _simd
from .._aligned import aligned
from .._state_table import Array, Instance, SizeOf, Value, declare, where
from .._threads import Counted, n_threads, ranges, run
from .._validation import require_number, require_truth
from .metrics import MetricOf, names_with
from .scan import Pass, Queries, Scan
from .search import Heaps, answer_left, radius_of, require_full
from .search_costs import code_cost, most_measured

kernels = _simd.load("neighbors._code_scan")
encoder = _simd.load("neighbors._encode")

# The approximate number of evenly spaced blocks of rows that are searched before all others, so that the distance to
# the k-th nearest row found so far is soon small.
_SAMPLED_BLOCKS = 64

_NO_LIMIT = np.iinfo(np.intp).max

# For fewer queries codes are read, even if they do not save time for many queries.
_MANY_QUERIES = 16

# A search by radius goes on without codes if its first _FIRST_QUERIES queries find more than the share _MANY_HITS of
# the rows: products in float32 then rule out the others in less time than codes, because they leave fewer candidates.
_FIRST_QUERIES, _MANY_HITS = 16, 1 / 64


class Coder(NamedTuple):
    """The parameters of the coding of rows; the symbols are those of `src_cython/neighbors/_code_bound.pxd`."""

    center: np.ndarray  # (d,) float64: mu, the point that is subtracted from each row before it is coded
    # a power of two by which centred rows are multiplied before they are coded, the factor g of `_code_bound.pxd`
    scale: float
    step: float  # the quantization step: a coordinate is divided by this number and rounded to an integer, its code
    # whether the norms of codes and of their errors are sums of absolute values, as 'manhattan' needs, instead of
    # Euclidean norms
    absolute: bool
    # (m + 1, d) float32: the transpose of the projection's matrix V with m columns, then a row of zeros; None: rows are
    # coded without projection
    axes: np.ndarray | None = None
    # (d rounded up to a multiple of 4, m) float32: the projection's matrix V with m columns, then rows of zeros
    axes_t: np.ndarray | None = None
    # The last coordinate of a projected row is the norm of the row's part orthogonal to the projection's axes. `shift`,
    # its median over a sample, is subtracted before it is coded, so that it is centred at 0.
    shift: float = 0.0
    # an upper bound of the norm of V'V - I, which measures how far columns of the projection's matrix V are from
    # orthonormal
    delta: float = 0.0
    kappa: float = 4 * 2.0**-24  # an upper bound of the rounding error of coding a row, relative to the row's norm
    for_many: bool = True  # whether codes are expected to answer many queries at once in less time than a scan

    _state_table = declare(
        center=Array("float64", "n_features"),
        scale=Value(require_number, 0, True),
        step=Value(require_number, 0, True),
        shift=Value(require_number, 0),
        delta=Value(require_number, 0),
        kappa=Value(require_number, 0),
        for_many=Value(require_truth),
        **where(
            lambda coder: coder.axes is not None,
            n_axes=SizeOf(lambda coder: len(coder.axes) - 1),
            n_padded=SizeOf(lambda coder: len(coder.center) + -len(coder.center) % 4),
            axes=Array("float32", None, "n_features"),
            axes_t=Array("float32", "n_padded", "n_axes"),
        ),
    )

    @property
    def width(self):
        """The bytes of a row's code, a multiple of 8 for 'manhattan' and of 4 for other metrics."""
        d = len(self.center)
        return d + -d % (8 if self.absolute else 4) if self.axes is None else len(self.axes)

    @property
    def per(self):
        """The factor, rounded up, that converts distances between rows into units of `step`."""
        return self.scale / self.step / np.sqrt(1 - self.delta) * (1 + 1e-12)

    @staticmethod
    def scratch(n_rows, n_columns, dtype="float32"):
        """An array on cache lines that a kernel uses as scratch space."""
        return aligned((n_rows, n_columns), dtype)


def rotated(center, scale, axes, step, shift):
    """The Coder that projects onto orthonormal columns `axes` (d, m), where m + 1 is a multiple of 4."""
    d, m = axes.shape
    axes = axes.astype(np.float32)
    exact = axes.astype(np.float64)
    delta = np.linalg.norm(exact.T @ exact - np.eye(m)) * (1 + 1e-9) + 1e-12
    frobenius = np.linalg.norm(exact) * (1 + 1e-9)
    kappa = 2.1 * ((d + 2) * frobenius + 3) + (m + 2) * (1 + 1.1 * frobenius) + 1.1 * (d + 4) + 8
    padded = np.zeros((m + 1, d), np.float32)
    padded[:m] = axes.T
    padded_t = np.zeros((d + -d % 4, m), np.float32)
    padded_t[:d] = axes
    return Coder(center, scale, step, False, padded, padded_t, shift, float(delta), 1.1 * 2.0**-24 * kappa)


class CodedQueries(NamedTuple):
    """A block of queries and their codes for the kernels of a filter, fields of `filter_t` of `_code_lists.pxd`.

    All threads share this object.
    """

    plain: Queries
    # (n_queries rounded up to a multiple of 4, number of bytes of a code) uint8: the code of each query; zeros for
    # padding
    code: np.ndarray
    base: np.ndarray  # (n_queries,) float64: half the squared norm of each query's code; 0 for 'dot'
    total: np.ndarray  # (n_queries,) float64: the sum of each query's code
    slack: np.ndarray  # (n_queries,) float64: an upper bound of the error of each query's code, in steps of the codes
    length: np.ndarray  # (n_queries,) float64: for 'dot' the norm of each query's code
    per: np.ndarray  # (n_queries,) float64: the factor that converts a distance from the query into steps of the codes
    # (n_queries,) float64: for 'dot' the inner product of each query and the rows' centre, plus an upper bound of
    # rounding errors; 0 for other metrics
    shift: np.ndarray


class FilterPass(Pass):
    """The state of one thread's pass over codes for a block of queries, with a list of candidate rows for each query.

    Kernels write the lists. With `n_lists` there are fewer lists, for kernels that search by one query after another.
    """

    __slots__ = (
        "best_key",
        "best_row",
        "codes",
        "list_key",
        "list_mark",
        "list_place",
        "list_size",
        "most_measured",
        "n_measured",
        "stride",
    )

    def __init__(self, search, queries, found, panel, n_lists=None, most_measured=_NO_LIMIT):
        super().__init__(search, queries.plain, found, panel)
        n_lists, capacity = n_lists or len(queries.base), _list_capacity(found.k)
        self.codes: CodedQueries = queries
        # every stride-th block of rows belongs to a sample of rows that is searched first; 0: there is no sample
        self.stride = 0
        # (n_lists,) intp: the number of rows whose distances have been computed for each list's query. A query that
        # has more than `most_measured` is given up: its heap stays as it is.
        self.n_measured = np.zeros(n_lists, np.intp)
        self.most_measured = most_measured
        # (n_lists,) intp: the number of rows in each query's list of candidates
        self.list_size = np.zeros(n_lists, np.intp)
        # (n_lists,) intp: for each list of candidates, the number of rows at which it is shortened next
        self.list_mark = np.full(n_lists, 64 + 2 * found.k)
        # (n_lists, capacity) intp: the places, in the array of codes, of the rows in each list of candidates
        self.list_place = np.empty((n_lists, capacity), np.intp)
        # (n_lists, capacity) intc: for each row in a list of candidates a key, which grows with a lower bound of the
        # row's distance
        self.list_key = np.empty((n_lists, capacity), np.intc)
        # scratch space for the keys and row numbers of a heap of candidate rows whose distances are computed next
        self.best_key = np.empty(capacity)
        self.best_row = np.empty(capacity, np.intp)


class FilterHeaps(Heaps):
    """Heaps of a search by codes, which gives some queries up."""

    __slots__ = ("given_up",)  # the numbers, in the block, of the queries that are given up


def _list_capacity(k):
    """The largest number of rows in a query's list of candidates, equal to `list_capacity` of `_code_lists.pxd`."""
    return 2048 + 2 * k


class Filter(Scan):
    """An index that searches the codes of rows, and computes the distances of the rows that the codes do not rule out.

    Parameters
    ----------
    X : ndarray of shape (n, d), float32 or float64, C-contiguous
    metric : Metric
        The metric of a Scan of X, with its norms.
    coder : Coder
    n_jobs : int, default=None
        Number of threads that code the rows.

    Attributes
    ----------
    code : ndarray of shape (n_blocks * unit * width,), uint8
        The codes of the rows, in the panels that `_code_bound.pxd` describes.
    half : ndarray of shape (n_blocks * unit,), intc
        Half of the squared norm of each code, rounded down.
    slack, length : ndarrays of shape (n_blocks,), float32
        For each block of `unit` rows the largest error of a code, and the largest sum of a code's norm and its error.
    """

    unit = kernels.BLOCK_ROWS

    _state_table = declare(
        metric=MetricOf(names_with("coded")),
        coder=Instance(Coder),
        n_blocks=SizeOf(lambda index: -(-len(index.X) // index.unit)),
        n_coded=SizeOf(lambda index: -(-len(index.X) // index.unit) * index.unit),
        n_bytes=SizeOf(lambda index: -(-len(index.X) // index.unit) * index.unit * index.coder.width),
        code=Array("uint8", "n_bytes"),
        half=Array("intc", "n_coded"),
        slack=Array("float32", "n_blocks"),
        length=Array("float32", "n_blocks"),
    )

    def __init__(self, X, metric, coder, n_jobs=None):
        self.X, self.metric = X, metric
        n = len(X)
        self.coder = coder
        self.width = coder.width
        n_blocks = -(-n // self.unit)
        self.code = aligned((n_blocks * self.unit, self.width), np.uint8).reshape(-1)
        self.half = np.zeros(n_blocks * self.unit, np.intc)
        self.slack = np.zeros(n_blocks, np.float32)
        self.length = np.zeros(n_blocks, np.float32)
        self.code[n // self.unit * self.unit * self.width :] = 128

        def encode(part):
            for first, last in ranges(*part, 1):
                encoder.encode(X, first * self.unit, min(last * self.unit, n), self)
                yield

        threads = n_threads(n_jobs)
        cuts = [n_blocks * i // (4 * threads) for i in range(4 * threads + 1)]
        run(encode, [part for part in pairwise(cuts) if part[0] < part[1]], threads)

    def _check_rest(self, sizes, entries):
        coder, width = self.coder, self.coder.width
        if coder.absolute != (self.metric.name == "manhattan") or (coder.absolute and coder.axes is not None):
            raise ValueError(f"a filter's codes are for another metric than {self.metric.name!r}; a new fit is wanted")
        if width != self.width or width % 4 or width == 0:
            raise ValueError(f"a row's code has {self.width} bytes; {width} are wanted")

    def nearest(self, search, distance_out, index_out):
        """Write the k nearest rows of each query, by codes where they save time, otherwise by a scan."""
        n_queries, k = index_out.shape
        if 16 * k > len(self.X) or (n_queries >= _MANY_QUERIES and not self.coder.for_many):
            Scan(self.X, self.metric).nearest(search, distance_out, index_out)
            return
        left = []

        def finish(start, stop, found):
            left.extend(start + each.given_up for each in found if len(each.given_up))
            return found[0].finish(found[1:], True)

        plan = self._plan(search, self._query_bytes(k), self._most_queries(k), search.memory)
        self._run(search, plan, partial(FilterHeaps.of, distance_out, index_out), finish)
        if left:
            counted = search._replace(progress=Counted(search.progress))
            answer_left(Scan(self.X, self.metric), counted, np.unique(np.concatenate(left)), distance_out, index_out)
        require_full(index_out, search.fewer)

    def within(self, search, radius, out):
        """Find all rows within the radius of each query; without codes if the first queries find many."""
        n, within = len(search.queries), super().within
        if n <= 2 * _FIRST_QUERIES or not self._multiplies(n):
            within(search, radius, out)
            return
        for part in slice(0, _FIRST_QUERIES), slice(_FIRST_QUERIES, n):
            within(search.of(part), radius_of(radius, part), out.of(part))
            if part.stop < n and out.size() > _MANY_HITS * _FIRST_QUERIES * len(self.X):
                within = Scan(self.X, self.metric).within

    def _costs(self, queries):
        # in nanoseconds: a second thread saves time only for several times the work of a scan, because each thread has
        # to find out how far the k-th nearest row is
        _, *others = super()._costs(queries)
        return code_cost(len(queries), len(self.X), self.width), *others

    def _most_queries(self, k):
        # for this number of queries the lists of candidate rows take about 6 MB, and are shortened within 30 ms
        return max(4, min(256, (1 << 16) // k))

    def _query_bytes(self, k):
        return 16 * k + 12 * _list_capacity(k) + 2 * self.width + 56

    def _queries(self, search):
        plain = super()._queries(search)
        n_queries, d = plain.query.shape
        coder, norm2, inner = self.coder, plain.query_norm2, self.metric.name == "dot"
        code = aligned((n_queries + -n_queries % 4, self.width), np.uint8)
        code[n_queries:] = 0
        queries = CodedQueries(plain, code, *np.empty((6, n_queries)))
        if inner:
            # Queries for 'dot' are scaled to norm 1, not centred, and coded twice: first with a step that is certain to
            # clip no coordinate, to find the largest code, then with the smallest step that clips none.
            norm = plain.query_error
            norm2 = norm**2
            coder = coder._replace(center=np.zeros(d), scale=1.0, step=1 / 127, shift=0.0)
            encoder.encode_queries(plain.query, coder, norm2, queries, inner)
            largest = np.abs(code.view(np.int8)).max()
            coder = coder._replace(step=(int(largest) + 1) / 127**2)
        encoder.encode_queries(plain.query, coder, norm2, queries, inner)
        if inner:
            with np.errstate(divide="ignore"):
                queries.per[:] = self.coder.scale / self.coder.step / coder.step / norm
            far = self.metric.largest_norm + np.linalg.norm(self.coder.center)
            errors = (self.coder.delta + 8 * (d + 4) * 2.0**-53) * 1.01 * far * norm
            queries.shift[:] = np.where(norm > 0, plain.query @ self.coder.center + errors, np.inf)
        else:
            queries.per[:], queries.shift[:] = coder.per, 0
        return queries

    def _pass(self, search, queries, found):
        (n, d), n_queries = self.X.shape, len(queries.base)
        most = most_measured(n, d, found.k, self.cost(n_queries)) if found.k else _NO_LIMIT
        return FilterPass(search, queries, found, self._panel(n_queries), most_measured=most)

    def _begin(self, state, first, last):
        if state.found.k:
            n_blocks = -(-last // self.unit) - first // self.unit
            state.stride = max(2, n_blocks // _SAMPLED_BLOCKS)
            self._scan_codes(state, first, last, True)

    def _scan_codes(self, state, start, stop, sampled):
        return kernels.scan(self.X, start // self.unit, -(-stop // self.unit), sampled, self, state)

    def _step(self, state, start, stop):
        return self._scan_codes(state, start, stop, False)

    def _end(self, state):
        # only a search for k neighbours ends with rows on the lists of candidates; a search by radius computes the
        # distances of candidates after each block of rows
        if state.found.k:
            for start, stop in ranges(0, len(state.queries.query), 16):
                kernels.finish(self.X, start, stop, self, state)
                yield
            state.found.given_up = np.flatnonzero(state.n_measured > state.most_measured)
