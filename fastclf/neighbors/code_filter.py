"""Exact search that measures few rows: codes of a byte a coordinate bound every distance from below.

What is coded, and the proof of the bound, is in `src_cython/neighbors/_code_bound.pxd`; here is how much of it is worth
having for given rows, and the two methods that every index has.
"""

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from .. import _simd
from .._aligned import aligned
from .._state_table import Array, Instance, SizeOf, Value, declare, where
from .._threads import n_threads, ranges, run
from .._validation import require_number
from .metrics import MetricOf, names_with
from .scan import Scan

kernels = _simd.load("neighbors._code_scan")
encoder = _simd.load("neighbors._encode")

# A search is planned so that about this many blocks of rows are searched first, for small distances to start with.
_SAMPLED_BLOCKS = 64

# Where more than this share of a range has to be measured, rows in order cost less.
_MOST_MEASURED = 1 / 8


class Coder(NamedTuple):
    """How rows become codes; `src_cython/neighbors/_code_bound.pxd` has the equations."""

    center: np.ndarray  # (d,) float64, mu
    scale: float  # g, a power of two
    step: float
    absolute: bool  # slacks and lengths are sums of absolute values
    axes: np.ndarray | None = None  # (n_codes, d) float32, V', padded with a row of zeros; None: rows as they are
    axes_t: np.ndarray | None = None  # (d, m) float32, V, d padded to a multiple of 4
    shift: float = 0.0  # rho
    delta: float = 0.0
    kappa: float = 4 * 2.0**-24

    _state_table = declare(
        center=Array("float64", "n_features"),
        scale=Value(require_number, 0, True),
        step=Value(require_number, 0, True),
        shift=Value(require_number, 0),
        delta=Value(require_number, 0),
        kappa=Value(require_number, 0),
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
        """The bytes of the codes of a row, a multiple of 4, for sums of absolute values of 8."""
        d = len(self.center)
        return d + -d % (8 if self.absolute else 4) if self.axes is None else len(self.axes)

    @property
    def per(self):
        """Units of step per unit of distance, rounded up."""
        return self.scale / self.step / np.sqrt(1 - self.delta) * (1 + 1e-12)

    @staticmethod
    def work(n_rows, n_columns, dtype="float32"):
        return aligned((n_rows, n_columns), dtype)


def rotated(center, scale, axes, step, shift):
    """The Coder for orthonormal columns `axes` (d, m), m + 1 a multiple of 4."""
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


class Filter(Scan):
    """Rows and their codes. `code`, `half`, `slack` and `length` are what the kernels want.

    Parameters
    ----------
    X : ndarray of shape (n, d), float32 or float64, C-contiguous
    metric : Metric
        That of a Scan of X, with the norms that it needs.
    coder : Coder
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
                start, stop = first * self.unit, min(last * self.unit, n)
                out = self.code, self.half, self.slack, self.length
                encoder.encode(X, start, stop, coder, self.metric.norm2, self.width, *out, metric.name == "dot")
                yield

        threads = n_threads(n_jobs)
        cuts = [n_blocks * i // (4 * threads) for i in range(4 * threads + 1)]
        run(encode, [part for part in pairwise(cuts) if part[0] < part[1]], threads)

    def _check_rest(self, sizes, entries):
        coder, width = self.coder, self.coder.width
        if coder.absolute != (self.metric.name == "manhattan") or (coder.absolute and coder.axes is not None):
            raise ValueError(f"the codes are not those of metric {self.metric.name!r}")
        if width != self.width or width % 4 or width == 0:
            raise ValueError(f"codes are {self.width} bytes wide; {width} is wanted")

    def nearest(self, Q, k, consume, progress, **limits):
        if 16 * k > len(self.X):
            return Scan(self.X, self.metric).nearest(Q, k, consume, progress, **limits)
        return super().nearest(Q, k, consume, progress, **limits)

    def _begin(self, state, first, last):
        n_blocks = -(-last // self.unit) - first // self.unit
        state.stride = 0 if hasattr(state, "hits") else max(2, n_blocks // _SAMPLED_BLOCKS)
        state.plain = False
        if state.stride:
            self._scan_codes(state, first, last, True)

    def _scan_codes(self, state, start, stop, sampled, hits=None):
        first, last = start // self.unit, -(-stop // self.unit)
        return kernels.scan(self.X, first, last, state.stride, sampled, self.metric, self, state, hits)

    def _step(self, state, start, stop, hits=None):
        if state.plain:
            return self._scan_rows(state, start, stop)
        found = self._scan_codes(state, start, stop, False, hits)
        if hits is None and found > _MOST_MEASURED * (stop - start) * len(state.query):
            state.plain = True
        return found

    def _scan_rows(self, state, start, stop):
        """Scan rows, without the blocks that were searched first."""
        span = state.stride * self.unit
        while start < stop:
            skipped = start // span * span
            begin = max(start, skipped + self.unit)
            end = min(skipped + span, stop)
            if begin < end:
                super()._step(state, begin, end)
            start = skipped + span

    def _end(self, state):
        if hasattr(state, "hits"):
            return  # whose lists are short-lived
        for start, stop in ranges(0, len(state.query), 16):
            kernels.finish(self.X, start, stop, self.metric, self, state)
            yield

    def _most_queries(self, k):
        # whose lists take 6 MB, and can all be refined within a range
        return max(4, min(256, (1 << 16) // k))

    def _query_bytes(self, k):
        return 16 * k + 12 * self._capacity(k) + 2 * self.width + 48

    @staticmethod
    def _capacity(k):
        return 2048 + 2 * k

    def _block(self, Q, start, stop, own, allowed):
        block = super()._block(Q, start, stop, own, allowed)
        n_queries, d = block.query.shape
        coder, norm2, inner = self.coder, block.query_norm2, self.metric.name == "dot"
        block.query_code = aligned((n_queries + -n_queries % 4, self.width), np.uint8)
        block.query_code[n_queries:] = 0
        block.query_base, block.query_slack, block.query_length = np.empty((3, n_queries))
        out = block.query_code, block.query_base, block.query_slack, block.query_length, inner
        if inner:
            # unit queries, not centred; first with the largest step, to see how small it may be
            norm = block.query_error
            norm2 = norm**2
            coder = coder._replace(center=np.zeros(d), scale=1.0, step=1 / 127, shift=0.0)
            encoder.encode_queries(block.query, coder, norm2, *out)
            largest = np.abs(block.query_code.view(np.int8)).max()
            coder = coder._replace(step=(int(largest) + 1) / 127**2)
        encoder.encode_queries(block.query, coder, norm2, *out)
        if inner:
            with np.errstate(divide="ignore"):
                block.query_per = self.coder.scale / self.coder.step / coder.step / norm
            far = self.metric.largest_norm + np.linalg.norm(self.coder.center)
            errors = (self.coder.delta + 8 * (d + 4) * 2.0**-53) * 1.01 * far * norm
            block.query_shift = np.where(norm > 0, block.query @ self.coder.center + errors, np.inf)
        else:
            block.query_per, block.query_shift = np.full(n_queries, coder.per), np.zeros(n_queries)
        return block

    def _state(self, block, tau, **own):
        state = super()._state(block, tau, **own)
        n_queries = len(block.query)
        k = own["distance"].shape[1] if "distance" in own else 0
        capacity = self._capacity(k)
        state.list_size = np.zeros(n_queries, np.intp)
        state.list_mark = np.full(n_queries, 64 + 2 * k)
        state.list_row = np.empty((n_queries, capacity), np.intp)
        state.list_key = np.empty((n_queries, capacity), np.intc)
        state.best_key, state.best_row = np.empty(capacity), np.empty(capacity, np.intp)
        return state
