"""The choice of a code (its number of axes and its step), or of no code, by the costs expected on a sample of the rows.

`src_cython/neighbors/_code_bound.pxd` defines codes.
"""

import numpy as np

from .. import _simd
from .._threads import Progress, aside
from .code_filter import Coder, rotated
from .scan import Scan
from .search import Search

_SAMPLE = 16384  # the largest number of rows in the sample that predicts the cost of a search by codes
_LEAST_SAMPLE = 512  # the smallest number of rows in the sample that predicts the cost of a search by codes
_SAMPLE_QUERIES = 16  # the number of rows of the sample that serve as queries, to predict the cost of a search by codes
_STEP_SAMPLE = 512  # the number of rows of the sample by which the step of a code is chosen
# the sizes of codes, in bytes, that are tried for rows projected onto fewer axes
_WIDTHS = (8, 16, 24, 32, 48, 64, 96, 128, 192, 256)
# Quantiles of the absolute coordinates. For each of them a code is tried that clips only coordinates beyond it.
_KEPT = (0.999, 0.99)
# the largest number of features of rows that are coded without projection, so that inner products of codes fit 32 bits
_MOST_FEATURES = 32768
# The largest number d of features of coded rows. The proof of the codes' bound in `_code_bound.pxd` requires d u <
# 0.01, where u = 2^-24.
_MOST_COLUMNS = 1 << 17

# Times in nanoseconds, measured on the computer that `docs/benchmarks/figures.md` describes. Only their ratios matter,
# up to a factor of about two.
_BYTE = 0.03  # nanoseconds to read a byte of memory in order, which limits the speed of a single query
_CACHED_BYTE = 0.01  # nanoseconds to read a byte of codes that are in the caches
# Nanoseconds by SIMD level, if many queries are answered at once: to compare a coordinate of a row in float32 with a
# query, and to compare a byte of a row's code.
_PRODUCTS = {
    "baseline": (0.11, 0.05),
    "x86-64-v3": (0.031, 0.015),
    "x86-64-v4": (0.022, 0.009),
    "x86-64-v4-vnni": (0.022, 0.005),
    # not measured: SIMD vectors are half as long as those of x86-64-v3, so that a coordinate is assumed to take twice
    # as long
    "arm64-dotprod": (0.062, 0.012),
}
_ROW = 0.1  # nanoseconds to compare a row's code with the limit of a query
# Nanoseconds to compute the distance of a row: a constant part, and a part for each coordinate.
_MEASURE, _MEASURE_COORDINATE = 150.0, 0.5

# the codes of all rows are assumed to stay in the processor's caches if they have at most this number of bytes
_CACHED_BYTES = 1 << 21

# A filter is used if its expected cost is below this share of the cost of a scan.
_PAYS = 0.75


def plan(X, metric, k=10, n_jobs=None, memory=256.0, force=False, share=1.0):
    """The Coder with the lowest expected cost of a search of X.

    The result is None if rows have too many features for a code, or, without `force`, if no code is expected to be
    faster than a scan. `memory` (megabytes) limits the size of the sample. Some rows of the sample serve as queries,
    which are compared with all rows once. `share` is the expected share of all codes that a query reads.
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
        """The expected cost of a query relative to a scan: the larger one of a query alone and one of many queries."""
        measured = near * (_MEASURE + _MEASURE_COORDINATE * d)
        one = share * (width * (_CACHED_BYTE if n * width <= _CACHED_BYTES else _BYTE) + _ROW) + measured
        many = share * (width * code_product + _ROW) + measured
        return max(one / (d * X.itemsize * _BYTE), many / (d * X.itemsize / 4 * product))

    def worth(width):
        return cost(width, 0) < least

    # where numbers overflow, the expected cost of a code is NaN, so that the code is not chosen
    with np.errstate(over="ignore", invalid="ignore"):
        sought = sample[queries] + ((scale * center).astype(np.float32) if metric.name == "dot" else 0)
        for coder, width, near in _candidates(sample, sought, tau, metric, center, scale, worth):
            expected = cost(width, near)
            if expected < least:
                best, least = coder, expected
    return best


def _kth_distance(X, metric, rows, k, n_jobs, memory):
    """The distance of each of the given rows of X to its k-th nearest other row."""
    distances, indices = np.empty((len(rows), k)), np.empty((len(rows), k), np.intp)
    search = Search(X[rows], rows.astype(np.intp), None, Progress(0, "fit"), n_jobs, memory)
    Scan(X, metric).nearest(search, distances, indices)
    return distances[:, -1]


def _candidates(sample, sought, tau, metric, center, scale, worth):
    """Yield (Coder, bytes of a code, expected share of rows to measure) for each possible code with worth(bytes).

    `sample` and the queries `sought` are scaled and centred, except that queries for 'dot' are not centred.
    """
    d = sample.shape[1]
    if metric.name == "manhattan":
        step, near = _best_step(sample, sought, tau, metric, 0, scale)
        yield Coder(center, scale, step, True), d + -d % 8, near
        return
    offset = sought @ (scale * center)  # for 'dot': the inner product of each query with the centre of the rows
    rng = np.random.default_rng(0)
    axes = aside(_principal_axes, sample, max(_WIDTHS))
    along, square, along_sought, square_sought = *_inner(sample, axes), *_inner(sought, axes)
    for width in [width for width in _WIDTHS if width <= min(d - 1, axes.shape[1])]:
        if not worth(width):
            break
        # A random rotation of the axes keeps distances, but makes the largest coordinate smaller, and so the step of
        # the codes, too.
        rotation = np.linalg.qr(rng.standard_normal((width - 1,) * 2))[0].astype(np.float32)
        points = _with_rest(along, square, rotation)
        points_sought = _with_rest(along_sought, square_sought, rotation)
        shift = 0.0 if metric.name == "dot" else float(np.median(points[:, -1]))
        points[:, -1] -= shift
        points_sought[:, -1] -= shift
        step, near = _best_step(points, points_sought, tau, metric, offset, scale)
        yield rotated(center, scale, axes[:, : width - 1] @ rotation, step, shift), width, near
    if d <= _MOST_FEATURES and worth(d):
        step, near = _best_step(sample, sought, tau, metric, offset, scale)
        yield Coder(center, scale, step, False), d + -d % 4, near


def _inner(points, axes):
    """(the coordinates of points along axes, the squared norms of the points)"""
    return points @ axes, _squares(points)


def _with_rest(along, square, rotation):
    """For each point its coordinates along the first axes, rotated, and the norm of its component orthogonal to them.

    along, square: the result of `_inner`. rotation: a square matrix, for as many axes as it has columns.
    """
    m = len(rotation)
    points = np.empty((len(along), m + 1), np.float32)
    np.matmul(along[:, :m], rotation, out=points[:, :m])
    points[:, m] = np.sqrt(np.maximum(square - _squares(along[:, :m]), 0))
    return points


def _best_step(points, sought, tau, metric, offset, scale):
    """(step, expected share of points to measure) for the best of a few steps.

    The largest step clips no point. Smaller steps, which clip the largest coordinates, are tried if clipping enlarges
    no distance, so for all metrics but 'dot'.
    """
    few = points[:: max(1, len(points) // _STEP_SAMPLE)]
    largest = [max(points.max(), -points.min())]
    if metric.name != "dot":
        largest += [*np.quantile(np.abs(few[::4]), _KEPT)]
    steps = [max(float(each), 2.0**-30) / 127 for each in largest]
    near = [_share_near(few, sought, tau, metric, offset, scale, step) for step in steps]
    step = steps[int(np.argmin(near))]
    return step, _share_near(points, sought, tau, metric, offset, scale, step)


def _share_near(points, sought, tau, metric, offset, scale, step):
    """The expected share of pairs (row, query) whose codes do not rule out a distance of at most the query's `tau`."""
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
    # float32 has digits enough for an estimate
    square = np.einsum("ij,ij->i", sought, sought)[:, None] + np.einsum("ij,ij->i", points, points)
    reach = np.maximum(limit * scale + 2 * slack * step, 0)
    return (square - 2 * (sought @ points.T) <= (reach * reach)[:, None]).mean()


def _squares(points):
    return np.einsum("ij,ij->i", points, points, dtype=np.float64)


def _principal_axes(sample, most):
    """Approximate leading eigenvectors (d, m) of the sample's second moments, with m at most d and `most`.

    With more than 256 features, the vectors come from three steps of subspace iteration. The search is exact with any
    axes, and nearly as fast with approximate eigenvectors as with exact ones.
    """
    d = sample.shape[1]
    if d <= 256:
        axes = np.linalg.eigh(np.dot(sample.T, sample).astype(np.float64))[1][:, ::-1]
        return axes[:, :most].astype(np.float32)
    rng = np.random.default_rng(0)
    axes = rng.standard_normal((d, min(d, most)), dtype=np.float32)
    for _ in range(3):
        axes = np.linalg.qr(sample.T @ (sample @ axes))[0]
    order = np.argsort(((sample @ axes) ** 2).sum(axis=0))[::-1]
    return axes[:, order]
