"""Exact search that measures few rows: codes of a byte a coordinate bound every distance from below.

What is coded, and the proof of the bound, is in `src_cython/_code.pxd`; here is how much of it is worth
having for given rows, and the two methods that every index has.
"""

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from . import _simd
from ._search import Scan, aligned
from ._threads import Progress, n_threads, ranges, run
from ._validation import require_array, require_choice, require_number

kernels = _simd.load("_codes")
encoder = _simd.load("_encode")

METRICS = ("euclidean", "sqeuclidean", "manhattan", "cosine", "dot")

_SAMPLE = 16384  # rows
_LEAST_SAMPLE = 512
_SAMPLE_QUERIES = 16
_WIDTHS = (8, 16, 24, 32, 48, 64, 96, 128, 192, 256)
_KEPT = (0.999, 0.99)  # shares of all coordinates that a code need not cut off
_MOST_FEATURES = 32768  # of rows coded as they are: products fit 32 bits
_MOST_COLUMNS = 1 << 17  # of rows coded at all, d u < 0.01 in the proof

# What takes how long, in ns on the machine of the README. Only ratios matter, to a factor of two or so.
_BYTE = 0.03  # of memory read in order: a single query's limit; ...
_CACHED_BYTE = 0.01  # ... where the codes stay in the caches
# For many queries, by SIMD level: of a coordinate of a scan in float32, and of a code's byte.
_PRODUCTS = {
    "baseline": (0.11, 0.05),
    "x86-64-v3": (0.031, 0.015),
    "x86-64-v4": (0.022, 0.009),
    "x86-64-v4-vnni": (0.022, 0.005),
}
_ROW = 0.1  # of a row's slack and limit
_MEASURE, _MEASURE_COORDINATE = 150.0, 0.5  # of a row that is measured
_CACHED_BYTES = 1 << 21

# A filter must be expected to cost less than this share of a scan.
_PAYS = 0.75

# A search is planned so that about this many blocks of rows are searched first, for small distances to start with.
_SAMPLED_BLOCKS = 64

# Where more than this share of a range has to be measured, rows in order cost less.
_MOST_MEASURED = 1 / 8


class Coder(NamedTuple):
    """How rows become codes; `src_cython/_code.pxd` has the equations."""

    center: np.ndarray  # (d,) float64, mu
    scale: float  # g, a power of two
    step: float
    absolute: bool  # slacks and lengths are sums of absolute values
    axes: np.ndarray | None = None  # (n_codes, d) float32, V', padded with a row of zeros; None: rows as they are
    axes_t: np.ndarray | None = None  # (d, m) float32, V, d padded to a multiple of 4
    shift: float = 0.0  # rho
    delta: float = 0.0
    kappa: float = 4 * 2.0**-24

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

    def __init__(self, X, metric, coder, n_jobs=None):
        self.X, self.metric = X, metric
        n, d = X.shape
        self.coder = coder
        side = 8 if coder.absolute else 4
        self.width = d + -d % side if coder.axes is None else len(coder.axes)
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

    def _check_state(self):
        super()._check_state()
        n, d = self.X.shape
        coder, n_blocks = self.coder, -(-n // self.unit)
        require_choice("metric", self.metric.name, METRICS)
        require_array("center", coder.center, [np.float64], (d,))
        for name in ("shift", "delta", "kappa"):
            require_number(name, getattr(coder, name), 0)
        for name in ("scale", "step"):
            require_number(name, getattr(coder, name), 0, open_low=True)
        if coder.absolute != (self.metric.name == "manhattan") or (coder.absolute and coder.axes is not None):
            raise ValueError(f"the codes are not those of metric {self.metric.name!r}")
        side = 8 if coder.absolute else 4
        width = d + -d % side
        if coder.axes is not None:
            require_array("axes", coder.axes, [np.float32], (None, d))
            width = len(coder.axes)
            require_array("axes_t", coder.axes_t, [np.float32], (d + -d % 4, width - 1))
        if width != self.width or width % side or width == 0:
            raise ValueError(f"codes are {self.width} bytes wide; {width} is wanted")
        require_array("code", self.code, [np.uint8], (n_blocks * self.unit * width,))
        require_array("half", self.half, [np.intc], (n_blocks * self.unit,))
        require_array("slack", self.slack, [np.float32], (n_blocks,))
        require_array("length", self.length, [np.float32], (n_blocks,))

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


def plan(X, metric, k=10, n_jobs=None, memory=256.0, force=False):
    """The Coder with which searching X is expected to cost least.

    None where no code pays, unless one is forced, and where rows are too wide for any.

    Reads a sample of rows, as many as fit the memory, and all rows once with some of the sample as queries.
    """
    n, d = X.shape
    if d > _MOST_COLUMNS:
        return None
    size = int(min(_SAMPLE, max(n // 8, _SAMPLE // 8), memory * 1e6 / (32 * d)))
    if size < min(n, _LEAST_SAMPLE) and not force:
        return None
    size = max(size, _LEAST_SAMPLE)
    rng = np.random.default_rng(0)
    chosen = np.arange(n) if n <= size else np.sort(rng.choice(n, size, replace=False))
    sample = X[chosen].astype(np.float64)
    if metric.name == "cosine":
        norm = np.sqrt(metric.norm2[chosen])
        sample /= np.where(norm > 0, norm, 1)[:, None]
    center = sample.mean(axis=0)
    sample -= center
    largest = np.abs(sample).max()
    scale = float(2.0 ** np.clip(-np.ceil(np.log2(largest)), -1000, 1000)) if 0 < largest < np.inf else 1.0
    sample = (sample * scale).astype(np.float32)
    queries = np.sort(rng.choice(len(chosen), min(_SAMPLE_QUERIES, len(chosen)), replace=False))
    tau = _kth_distance(X, metric, chosen[queries], min(k, n - 1), n_jobs, memory) if n > 1 else np.zeros(1)
    best, least = None, np.inf if force else _PAYS
    product, code_product = _PRODUCTS[_simd.level()]

    def cost(width, near):
        """Over a scan's: of one query or of one of many, whichever is more."""
        measured = near * (_MEASURE + _MEASURE_COORDINATE * d)
        one = width * (_CACHED_BYTE if n * width <= _CACHED_BYTES else _BYTE) + _ROW + measured
        many = width * code_product + _ROW + measured
        return max(one / (d * X.itemsize * _BYTE), many / (d * X.itemsize / 4 * product))

    def worth(width):
        return cost(width, 0) < least

    with np.errstate(over="ignore", invalid="ignore"):  # an estimate that is no number only costs time
        sought = sample[queries] + ((scale * center).astype(np.float32) if metric.name == "dot" else 0)
        for coder, width, near in _candidates(sample, sought, tau, metric, center, scale, worth):
            expected = cost(width, near)
            if expected < least:
                best, least = coder, expected
    return best


def _kth_distance(X, metric, rows, k, n_jobs, memory):
    """The distance of rows of X to the k-th nearest other row."""
    tau = np.empty(len(rows))

    def consume(start, stop, distance, index):
        tau[start:stop] = distance[:, -1]

    with Progress(len(rows) * len(X), "fit") as progress:
        Scan(X, metric).nearest(X[rows], k, consume, progress, own=rows.astype(np.intp), n_jobs=n_jobs, memory=memory)
    return tau


def _candidates(sample, sought, tau, metric, center, scale, worth):
    """(Coder, bytes of a code, share of the sample that it leaves to be measured) for each way worth(bytes) to code.

    `sample` and the queries `sought` are scaled, and centred but for the queries of dot.
    """
    d = sample.shape[1]
    if metric.name == "manhattan":
        step, near = _best_step(sample, sought, tau, metric, 0, scale)
        yield Coder(center, scale, step, True), d + -d % 8, near
        return
    offset = sought @ (scale * center)  # mu'q, for dot
    rng = np.random.default_rng(0)
    axes = _principal_axes(sample, max(_WIDTHS))
    for width in [width for width in _WIDTHS if width <= min(d - 1, axes.shape[1])]:
        if not worth(width):
            break
        # any rotation among the axes keeps distances: after a random one all coordinates are of a size, and small
        mixed = axes[:, : width - 1] @ np.linalg.qr(rng.standard_normal((width - 1,) * 2))[0].astype(np.float32)
        points, points_sought = _with_rest(sample, mixed), _with_rest(sought, mixed)
        shift = 0.0 if metric.name == "dot" else float(np.median(points[:, -1]))
        points[:, -1] -= shift
        points_sought[:, -1] -= shift
        step, near = _best_step(points, points_sought, tau, metric, offset, scale)
        yield rotated(center, scale, mixed, step, shift), width, near
    if d <= _MOST_FEATURES and worth(d):
        step, near = _best_step(sample, sought, tau, metric, offset, scale)
        yield Coder(center, scale, step, False), d + -d % 4, near


def _with_rest(w, axes):
    """Coordinates on the axes, and the norm of the rest."""
    inner = w @ axes
    return np.column_stack([inner, np.sqrt(np.maximum(_squares(w) - _squares(inner), 0))]).astype(np.float32)


def _best_step(points, sought, tau, metric, offset, scale):
    """(step, share of the points that it leaves to be measured): that which cuts nothing off, or where cutting off
    costs no slack, a smaller one if it leaves fewer."""
    few = points[:: max(1, len(points) // 2048)]
    size = np.abs(few)
    largest = [np.abs(points).max()] + ([] if metric.name == "dot" else [*np.quantile(size, _KEPT)])
    steps = [max(float(each), 2.0**-30) / 127 for each in largest]
    near = [_share_near(few, sought, tau, metric, offset, scale, step) for step in steps]
    step = steps[int(np.argmin(near))]
    return step, _share_near(points, sought, tau, metric, offset, scale, step)


def _share_near(points, sought, tau, metric, offset, scale, step):
    """The share of points that codes cannot tell to be farther from what is sought than tau."""
    m = points.shape[1]
    if metric.name == "manhattan":
        points, sought = (np.clip(each, -127 * step, 127 * step) for each in (points, sought))
        far = np.array([np.abs(points - row).sum(axis=1, dtype=np.float64) for row in sought])
        slack = m / 4 + 1.5 * np.sqrt(m / 48)
        return (far <= (tau * scale + 2 * slack * step)[:, None]).mean()
    slack = np.sqrt(m / 12) + 0.3
    if metric.name == "dot":
        product = sought.astype(np.float64) @ points.T
        norm, norm_sought = np.sqrt(_squares(points)), np.sqrt(_squares(sought))
        lost = slack * (step * norm_sought[:, None] + np.abs(sought).max(axis=1)[:, None] / 127 * norm)
        return (product + lost + offset[:, None] >= -tau[:, None] * scale * scale).mean()
    points, sought = (np.clip(each, -127 * step, 127 * step) for each in (points, sought))
    limit = np.sqrt(2 * np.maximum(tau, 0)) if metric.name == "cosine" else tau
    limit = np.sqrt(limit) if metric.name == "sqeuclidean" else limit
    product = sought.astype(np.float64) @ points.T
    far = np.sqrt(np.maximum(_squares(sought)[:, None] + _squares(points) - 2 * product, 0))
    return (far <= (limit * scale + 2 * slack * step)[:, None]).mean()


def _squares(points):
    return np.einsum("ij,ij->i", points, points, dtype=np.float64)


def _principal_axes(sample, most):
    """About the leading eigenvectors (d, m) of the sample's second moments, m at most d and `most`.

    In many dimensions by a few steps of subspace iteration: any axes will do, and these are nearly as good.
    """
    d = sample.shape[1]
    if d <= 256:
        axes = np.linalg.eigh((sample.T @ sample).astype(np.float64))[1][:, ::-1]
        return axes[:, :most].astype(np.float32)
    rng = np.random.default_rng(0)
    axes = rng.standard_normal((d, min(d, most)), dtype=np.float32)
    for _ in range(3):
        axes = np.linalg.qr(sample.T @ (sample @ axes))[0]
    order = np.argsort(((sample @ axes) ** 2).sum(axis=0))[::-1]
    return axes[:, order]
