"""Exact search of clustered rows. Each cell holds codes around a centre, sorted by their distance from the centre.

A query reads only the codes whose distance from their centre shows that their rows may be near.
`src_cython/neighbors/_cells_search.pyx` has the bounds and their proof.
"""

from itertools import pairwise
from math import ceil, sqrt

import numpy as np

from .. import _simd
from .._aligned import aligned
from .._state_table import Array, Instance, SizeOf, Starts, declare
from .._threads import advance, aside, blocks, n_threads, ranges, run
from .code_filter import Filter, FilterPass
from .metrics import MetricOf, names_with
from .search import Heaps, Index, answer_left, require_full

kernels = _simd.load("neighbors._cells_search")
builder = _simd.load("neighbors._cells_build")

# The number of cells is this factor times the square root of the number of rows. On the set A of the benchmarks, a
# million rows of 128 features, 1000 cells leave 24,000 rows to screen, 2000 cells 21,000, and 4000 cells 19,000.
_CELLS_PER_ROOT = 2.0

# The smallest average number of rows per cell; a smaller X has fewer cells.
_CELL_ROWS = 16

# The number of sampled rows per centre; each cell's centre is a mean of sampled rows.
_SAMPLED_ROWS = 64

# The largest size, in bytes, of the sample of rows from which centres are computed. A sample with only one row per
# centre may be larger.
_SAMPLED_BYTES = 1 << 26

# The number of iterations of Lloyd's algorithm, which moves the centres of the cells.
_ITERATIONS = 6

# In a search for few queries, at most _ALONE, a query whose near cells have more than the share _MOST_ALONE of all
# codes is answered by the filter, which is then faster because it reads all codes in order.
_MOST_ALONE = 0.8
_ALONE = 4

# In a search for many queries, a query whose near cells have more than this share of all codes is answered by the
# filter, which is then faster because it reads each code only once for many queries.
_MOST_OF_MANY = 0.2

# Once at least this number of queries of a block, and more than half of its queries so far, have been left to the
# filter, the block's further queries are left to the filter, too, without a try by cells.
_TRIED = 16

# The largest number of queries in a block.
_BLOCK_QUERIES = 1 << 12

# Work of fewer multiply-adds than this runs on one thread, because waking a second thread takes longer.
_THREAD_WORK = 1 << 20

# The number of panels of 16 rows that the first kernel call searches, before the duration of a panel is known.
_FIRST_PANELS = 1 << 13


class Visit(FilterPass):
    """The state of one thread's search of cells for a block of queries, one query after another.

    Kernels write all arrays.
    """

    __slots__ = ("begin", "end", "far", "home", "home_far", "most", "position")

    def __init__(self, search, queries, found, cells, most):
        super().__init__(search, queries, found, None, n_lists=1)
        n_cells, n_padded = len(cells.centers), len(cells.center_square)
        # (5,) intp: where a kernel call has interrupted the search, and the next call resumes it; `_cells_search.pyx`
        # names the five numbers
        self.position = np.array([0, -1, 0, 0, 0])
        # (2,) intp: the number of the cell whose centre is nearest to the query, and the squared distance of this
        # centre
        self.home = np.empty(2, np.intp)
        # (n_padded,) intc each: the squared distances of all cells' centres from the query, and from the centre that is
        # nearest to the query
        self.far, self.home_far = np.empty((2, n_padded), np.intc)
        # (n_cells,) intp each: the first panel of each range of codes that is to be searched, and the panel after its
        # last one
        self.begin, self.end = np.empty((2, n_cells), np.intp)
        # the largest share of all panels of codes that is searched for a query; queries that need more are left to the
        # filter
        self.most = most


class Cells(Index):
    """The codes of a Filter, sorted into cells around centres, and within a cell by their distance from its centre.

    Its construction takes O(n sqrt(n) width) products of codes, on all threads, and 36 bytes per row while it lasts.
    Beyond the filter it has another copy of the codes and 12 bytes per row.

    Parameters
    ----------
    plain : Filter
        The rows and their codes in the order of the rows. It answers searches by radius, searches for many neighbours,
        and queries with near rows in too many cells.
    n_jobs : int, default=None

    Attributes
    ----------
    centers : ndarray of shape (n_cells, width), int8
        The centre of each cell, a code.
    center_code, center_square : ndarrays of shape (n_padded * width,), uint8, and (n_padded,), intc
        The centres in panels of 16, and their squared norms.
    starts : ndarray of shape (n_cells + 1,), int64
        The first panel of each cell, and the number of panels.
    rows : ndarray of shape (n_places,), intp
        The row at each place, 16 places a panel; the number of rows at the places that fill up a cell's last panel,
        and after the last cell up to a multiple of 256.
    code, half, slack, length : ndarrays
        As those of a Filter, by place instead of row.
    first_key : ndarray of shape (n_panels,), intc
        The squared distance of the first row of each panel from its centre, in units of the codes.
    last_key : ndarray of shape (n_cells,), intc
        The same of the last row of each cell.
    cell_slack : ndarray of shape (n_cells,), float32
        The largest slack in each cell.
    """

    _state_table = declare(
        metric=MetricOf(names_with("celled")),
        plain=Instance(Filter),
        n_width=SizeOf(lambda index: index.plain.coder.width),
        centers=Array("int8", "n_cells", "n_width", least=1),
        n_padded=SizeOf(lambda index: _up(len(index.centers), builder.PANEL_ROWS)),
        n_center_bytes=SizeOf(lambda index: _up(len(index.centers), builder.PANEL_ROWS) * index.plain.coder.width),
        center_code=Array("uint8", "n_center_bytes"),
        center_square=Array("intc", "n_padded"),
        first_key=Array("intc", "n_panels"),
        starts=Starts("n_cells", "n_panels", full=True),
        last_key=Array("intc", "n_cells"),
        cell_slack=Array("float32", "n_cells"),
        n_places=SizeOf(lambda index: _up(len(index.first_key) * builder.PANEL_ROWS, builder.BLOCK_ROWS)),
        n_blocks=SizeOf(lambda index: ceil(len(index.first_key) * builder.PANEL_ROWS / builder.BLOCK_ROWS)),
        n_bytes=SizeOf(
            lambda index: _up(len(index.first_key) * builder.PANEL_ROWS, builder.BLOCK_ROWS) * index.plain.coder.width
        ),
        n_row_numbers=SizeOf(lambda index: len(index.X) + 1),
        rows=Array("intp", "n_places", below="n_row_numbers"),
        code=Array("uint8", "n_bytes"),
        half=Array("intc", "n_places"),
        slack=Array("float32", "n_blocks"),
        length=Array("float32", "n_blocks"),
    )

    def __init__(self, plain, n_jobs=None):
        super().__init__(plain.X, plain.metric)
        self.plain = plain
        threads = n_threads(n_jobs) if self.X.size >= _THREAD_WORK else 1
        n = len(self.X)
        n_cells = max(1, min(int(_CELLS_PER_ROOT * sqrt(n)), n // _CELL_ROWS))
        centers = _means(plain.code, n, plain.width, n_cells, threads)
        cell = nearest_centers(plain.code, centers, threads)[:n]
        self._sort(centers, cell, threads)

    def _sort(self, centers, cell, threads):
        """Order rows and codes by cell, then by distance from the cell's centre, then by row number."""
        plain, n, panel = self.plain, len(cell), builder.PANEL_ROWS
        counts = np.bincount(cell, minlength=len(centers))
        taken = np.flatnonzero(counts)
        key = np.empty(n, np.intc)
        _in_ranges(lambda *part: builder.squared_radii(plain.code, *part, centers, cell, key), n, threads)
        order = aside(np.argsort, cell.astype(np.int64) << 32 | key, kind="stable")
        counts = counts[taken]
        self.centers = np.ascontiguousarray(centers[taken])
        self.center_code, self.center_square = _in_panels(self.centers)
        self.starts = np.concatenate([[0], np.cumsum(-(-counts // panel))]).astype(np.int64)
        ends = np.cumsum(counts)
        n_places = _up(int(self.starts[-1]) * panel, builder.BLOCK_ROWS)
        self.rows = np.full(n_places, n)
        # Each cell begins with a new panel: the place of a row is its rank in `order` plus the number of unused places
        # in the panels of all earlier cells.
        self.rows[np.arange(n) + np.repeat(panel * self.starts[:-1] - (ends - counts), counts)] = order
        firsts = self.rows[: panel * self.starts[-1] : panel]
        self.first_key, self.last_key = key[firsts], key[order[ends - 1]]
        self.code = aligned((n_places, plain.width), np.uint8).reshape(-1)
        for block in blocks(self.code):
            block.fill(128)
        self.half = np.zeros(n_places, np.intc)
        self.slack, self.length = np.zeros((2, n_places // builder.BLOCK_ROWS), np.float32)
        _in_ranges(lambda *part: builder.move_codes(self, *part, n), n_places, threads, builder.BLOCK_ROWS)
        by_panel = np.repeat(self.slack, builder.BLOCK_ROWS // panel)
        self.cell_slack = np.maximum.reduceat(by_panel, self.starts[:-1])

    def _check_rest(self, sizes, entries):
        plain = self.plain
        if plain.X.shape != self.X.shape or plain.X.dtype != self.X.dtype or plain.metric.name != self.metric.name:
            raise ValueError("plain is a Filter of other rows or of another metric; the same X and metric are wanted")

    def nearest(self, search, distance_out, index_out):
        """The k nearest rows of each query; cells are used if k is at most a sixteenth of the number of rows."""
        k = index_out.shape[1]
        if 16 * k > len(self.X):
            self.plain.nearest(search, distance_out, index_out)
            return
        most = _MOST_ALONE if len(search.queries) <= _ALONE else _MOST_OF_MANY
        left = []

        def visit(block):
            part, heaps = search.of(slice(*block)), Heaps.of(distance_out, index_out, *block)
            state = Visit(part, self.plain._queries(part), heaps, self, most)
            n_left = done = 0
            # the loop over an unlimited range ends by a return, once all queries of the block are answered
            for start, stop in ranges(0, 1 << 62, _FIRST_PANELS, 1 << 20):
                outcome = kernels.visit(self.X, self, state, stop - start)
                advance(search.progress, int(state.position[0] - done - (outcome == kernels.CROWDED)) * len(self.X))
                done = state.position[0]
                if outcome == kernels.CROWDED:
                    left.append(block[0] + int(state.position[0]) - 1)
                    n_left += 1
                    if n_left >= _TRIED and 2 * n_left > state.position[0]:
                        left.extend(range(block[0] + int(state.position[0]), block[1]))
                        return
                yield
                if outcome == kernels.FINISHED:
                    return

        threads, blocks = self._cut(search, k)
        run(visit, blocks, threads)
        answer_left(self.plain, search, np.sort(np.array(left, np.intp)), distance_out, index_out)
        require_full(index_out, search.fewer)

    def within(self, search, radius, out):
        """Find all rows within the radius of each query; see `Index.within`. The filter answers all of them."""
        self.plain.within(search, radius, out)

    def _cut(self, search, k):
        """Cut the queries into blocks that fit into the memory: (number of threads, [(start, stop) of each block])."""
        (n, d), n_queries = self.X.shape, len(search.queries)
        query_bytes = 16 * k + 2 * self.plain.width + 64 + d * (16 if search.queries.dtype == self.X.dtype else 56)
        threads = min(n_threads(search.n_jobs), n_queries) if n_queries * n >= _THREAD_WORK else 1
        most = int(max(1, min(_BLOCK_QUERIES, search.memory * 1e6 / 2 / threads / query_bytes)))
        n_blocks = max(ceil(n_queries / most), min(4 * threads, n_queries) if threads > 1 else 1)
        size = ceil(n_queries / n_blocks)
        return threads, [(start, min(start + size, n_queries)) for start in range(0, n_queries, size)]


def nearest_centers(code, centers, threads):
    """The number (intc) of the nearest centre of each code; of several nearest centres the first."""
    centers = np.ascontiguousarray(np.concatenate([centers, *[centers[-1:]] * (-len(centers) % 4)]))
    base = np.empty(len(centers), np.intc)
    builder.bases(centers, base)
    n = len(code) // centers.shape[1]
    cell = np.empty(n, np.intc)
    _in_ranges(lambda *part: builder.nearest_centers(code, *part, centers, base, cell), n, threads)
    return cell


def _means(code, n, width, n_cells, threads):
    """The centres, int8: the means of cells of a sample, by Lloyd's algorithm from evenly spaced rows of the sample.

    Integers are summed, so that the number of threads changes nothing.
    """
    pair = 2 * builder.PANEL_ROWS
    pairs = code.reshape(-1, pair * width)
    full = pairs[: max(1, n // pair)]
    wanted = ceil(n_cells * min(_SAMPLED_ROWS, max(1, _SAMPLED_BYTES // (n_cells * width))) / pair)
    sample = full[np.unique(np.linspace(0, len(full) - 1, wanted).astype(np.intp))].reshape(-1)
    n_sampled = len(sample) // width if n >= pair else n
    chosen = np.unique(np.linspace(0, n_sampled - 1, n_cells).astype(np.intp))
    panels = sample.reshape(-1, width // 4, builder.PANEL_ROWS, 4)
    centers = panels[chosen // builder.PANEL_ROWS, :, chosen % builder.PANEL_ROWS].reshape(-1, width) ^ 128
    centers = centers.view(np.int8)
    for _ in range(_ITERATIONS):
        centers = _moved(sample, n_sampled, centers, threads)
    return centers


def _moved(sample, n_sampled, centers, threads):
    """The rounded mean of each cell's rows in the sample; a centre without rows in the sample stays as it is."""
    cell = nearest_centers(sample, centers, threads)
    sums, counts = np.zeros(centers.shape, np.int64), np.zeros(len(centers), np.int64)
    _in_ranges(lambda *part: builder.sum_codes(sample, *part, cell, sums, counts), n_sampled, 1)
    means = np.rint(sums / np.maximum(counts, 1)[:, None]).astype(np.int8)
    return np.where(counts[:, None] > 0, means, centers)


def _in_panels(centers):
    """A pair: the codes of the cells' centres in panels of 16, filled up with zeros, and the centres' squared norms."""
    n, width = centers.shape
    padded = np.zeros((_up(n, builder.PANEL_ROWS), width), np.int8)
    padded[:n] = centers
    panels = padded.view(np.uint8).reshape(-1, builder.PANEL_ROWS, width // 4, 4).transpose(0, 2, 1, 3) ^ 128
    code = aligned((len(padded), width), np.uint8).reshape(-1)
    code[:] = panels.reshape(-1)
    return code, (padded.astype(np.intc) ** 2).sum(axis=1, dtype=np.intc)


def _in_ranges(function, n, threads, unit=2 * builder.PANEL_ROWS):
    """Call function(start, stop), on threads, for ranges that together cover 0 to n, cut at multiples of `unit`."""

    def work(part):
        for first, last in ranges(*part, 1):
            function(first * unit, min(last * unit, n))
            yield

    n_units = ceil(n / unit)
    cuts = [n_units * i // (4 * threads) for i in range(4 * threads + 1)]
    run(work, [part for part in pairwise(cuts) if part[0] < part[1]], threads)


def _up(n, unit):
    """The number n, rounded up to the next multiple of `unit`."""
    return n + -n % unit
