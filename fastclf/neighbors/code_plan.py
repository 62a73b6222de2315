"""The choice of a code (its number of axes and its step), or of no code, by the costs expected on a sample of the rows.

`src_cython/neighbors/_code_bound.pxd` defines codes.
"""

from functools import partial
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from .._threads import Progress, aside
from .code_filter import Coder, rotated
from .metrics import Metric
from .scan import Scan
from .search import Search
from .search_costs import code_cost, measured_cost

# The number of rows in the sample that predicts the cost of a search by codes: one of _ROWS_OF_SAMPLE rows, at least
# _LEAST_SAMPLE and at most _SAMPLE.
_SAMPLE, _ROWS_OF_SAMPLE, _LEAST_SAMPLE = 16384, 32, 512
_SAMPLE_QUERIES = 16  # the number of rows of the sample that serve as queries, to predict the cost of a search by codes
_STEP_SAMPLE = 512  # the number of rows of the sample by which the step of a code is chosen
# The distances of a query's nearest rows are estimated by one of _PART rows of X, in blocks of _PART_BLOCK rows, of
# which about _PART_NUMBERS numbers are searched at a time. With fewer than _FEW_ROWS rows, all are searched.
_PART, _PART_BLOCK, _PART_NUMBERS, _FEW_ROWS = 4, 64, 1 << 20, 1 << 13
# The sizes of codes, in bytes, that are tried for rows projected onto fewer axes.
_WIDTHS = (8, 16, 24, 32, 48, 64), (96, 128), (192, 256)
# with at most this number of features, all principal axes are computed, otherwise as many as codes have
_MOST_EXACT = 128
# Quantiles of the absolute coordinates. For each of them a code is tried that clips only coordinates beyond it.
_KEPT = (0.999, 0.99)
# Larger codes are tried if the last size leaves less than this part of the rows that the size before it leaves.
_FALLING = 0.75
_NORMAL = 3.3  # the largest coordinate, in standard deviations, that is expected not to be clipped
# a list of candidates of more rows is shortened before it is known how far the k-th nearest row is
_MOST_LISTED = 1024
# the largest number of features of rows that are coded without projection, so that inner products of codes fit 32 bits
_MOST_FEATURES = 32768
# The largest number d of features of coded rows. The proof of the codes' bound in `_code_bound.pxd` requires d u <
# 0.01, where u = 2^-24.
_MOST_COLUMNS = 1 << 17

# Codes are used if their expected cost is below this share of the cost of a scan.
_PAYS = 0.85
_MANY_QUERIES = 256  # the number of queries that are answered at once, in the expected cost of many queries


def plan(X, metric, k=10, n_jobs=None, memory=256.0, force=False, share=1.0):
    """The Coder with the lowest expected cost of a search of X.

    The result is None if rows have too many features for a code, or, without `force`, if no code is expected to be
    faster than a scan. `memory` (megabytes) limits the size of the sample. Some rows of the sample serve as queries,
    which are compared with a part of all rows. `share` is the expected share of all codes that a query reads.
    """
    n, d = X.shape
    if d > _MOST_COLUMNS:
        return None
    size = int(min(_SAMPLE, max(_LEAST_SAMPLE, n // _ROWS_OF_SAMPLE), memory * 1e6 / (32 * d)))
    if size < min(n, _LEAST_SAMPLE) and not force:
        return None
    size = max(size, _LEAST_SAMPLE)
    rng = np.random.default_rng(0)
    chosen = np.arange(n) if n <= size else np.sort(rng.choice(n, size, replace=False))
    sample = X[chosen].astype(np.float64)
    if metric.name == "cosine":
        norm = np.sqrt(metric.norm2[chosen])
        sample /= np.where(norm > 0, norm, 1)[:, None]
    with np.errstate(over="ignore", invalid="ignore"):
        center = sample.mean(axis=0)
        sample -= center
        largest = max(sample.max(), -sample.min())
        scale = float(2.0 ** np.clip(-np.ceil(np.log2(largest)), -1000, 1000)) if 0 < largest < np.inf else 1.0
        sample = (sample * scale).astype(np.float32)
    if not np.isfinite(sample).all():
        return None
    queries = np.sort(rng.choice(len(chosen), min(_SAMPLE_QUERIES, len(chosen)), replace=False))
    scan, k = Scan(X, metric), max(1, min(k, n // 16, n - 1))  # for more neighbours no code is read
    costs, best, make = _Costs(scan, k, share), np.inf if force else _PAYS, None
    # where numbers overflow, the expected cost of a code is NaN, so that the code is not chosen
    with np.errstate(over="ignore", invalid="ignore"):
        sought = sample[queries] + ((scale * center).astype(np.float32) if metric.name == "dot" else 0)
        far = _nearest_distances(scan, chosen[queries], k, n_jobs, memory)
        limits = _limits(metric, far, k, n, sample, sought, center, scale)
        candidates = _candidates(sample, sought, limits, center, scale, lambda width: costs.mean(width) < best)
        for width, near, maker in candidates:
            expected = costs.mean(width, near)
            if expected < best:
                best, make = expected, maker
        if make is None:
            return None
        coder, near = make()
        if not force and not costs.mean(coder.width, near) < _PAYS:
            return None
        return coder._replace(for_many=bool(costs.each(coder.width, near)[1] < 1))


class _Costs:
    """The expected costs of searches by codes, relative to scans, of a query alone and of one of many queries."""

    def __init__(self, scan, k, share):
        self.shape, self.k, self.share = scan.X.shape, k, share
        self.scans = [(n_queries, scan.cost(n_queries)) for n_queries in (1, _MANY_QUERIES)]
        self.least = self._measured(np.zeros(1))  # the costs of measuring rows, if codes rule out all but the nearest

    def _measured(self, near):
        return [measured_cost(*self.shape, self.k, near, scan) for _, scan in self.scans]

    def each(self, width, near=None):
        """Both costs, for codes of a width that leave the shares `near` of the rows; the least possible without it."""
        n, measured = self.shape[0], self.least if near is None else self._measured(near)
        codes = [code_cost(n_queries, n, width, self.share) for n_queries, _ in self.scans]
        return [(code + rows) / scan for code, rows, (_, scan) in zip(codes, measured, self.scans)]

    def mean(self, width, near=None):
        """The mean of both costs; many queries are answered by a scan if this takes less time."""
        alone, of_many = self.each(width, near)
        return (alone + min(of_many, 1)) / 2


def _nearest_distances(scan, rows, k, n_jobs, memory):
    """(distances of rows of X to k + 1 rows of a part of X, the share of this part, whether each row is in the part)"""
    X, metric, (n, d) = scan.X, scan.metric, scan.X.shape
    parts, block = (_PART, _PART_BLOCK) if n >= _FEW_ROWS else (1, 1)
    n_blocks, found = n // (parts * block), []
    numbers = np.arange(n_blocks * parts * block).reshape(n_blocks, parts, block)[:, 0]
    blocks = X[: numbers.size * parts].reshape(n_blocks, parts, block * d)[:, 0]
    size = max(int(min(_PART_NUMBERS, memory * 1e6 / 32) / (block * d)), k // block + 1)
    some = np.empty((min(size, n_blocks) * block, d), X.dtype)
    for first in range(0, n_blocks, size):
        rows_of_part = numbers[first : first + size].ravel()
        some = some[: len(rows_of_part)]
        some.reshape(-1, block * d)[:] = blocks[first : first + size]
        distances, indices = np.empty((len(rows), k + 1)), np.empty((len(rows), k + 1), np.intp)
        search = Search(X[rows], None, None, Progress(None, ""), n_jobs, memory, fewer=True)
        of_part = metric if metric.norm2 is None else metric._replace(norm2=metric.norm2[rows_of_part])
        Scan(some, of_part).nearest(search, distances, indices)
        found.append(distances)
    distances = np.sort(np.concatenate(found, axis=1), axis=1)[:, : k + 1]
    return distances, numbers.size / n, rows // block % parts == 0


class _Limits(NamedTuple):
    """How far from each query neighbours may be, at the end of a search and before."""

    metric: Metric
    # (3, n_queries): how far the k-th nearest one of all rows, of a part of the rows and of the sample is, in the units
    # of codes' bounds; for 'dot' the least inner product of centred rows
    reach: np.ndarray
    rows: tuple  # the number of all rows, of the part and of the sample

    def share_near(self, product, squares, width, step, largest):
        """For each query the share of rows that a search is expected to measure, for codes of `width` bytes.

        product: (n_queries, n_rows), the inner products. squares: the squared norms of queries and of rows. largest:
        (n_queries,), for 'dot' the largest coordinate of each query.
        """
        slack, (square_sought, square) = np.sqrt(width / 12) + 0.3, squares
        if self.metric.name == "dot":
            lost = step * np.sqrt(square_sought)[:, None] + largest[:, None] / 127 * np.sqrt(square)
            return self._measured(product + slack * lost >= self.reach[:, :, None])
        # float32 has digits enough for an estimate
        product = product - np.float32(0.5) * square.astype(np.float32)
        least = 0.5 * (square_sought - (self.reach + 2 * slack * step) ** 2).astype(np.float32)
        return self._measured(product >= least[:, :, None])

    def share_within(self, points, sought, step):
        """The same for codes, with `step`, of points and queries whose distances are sums of absolute values."""
        m = points.shape[1]
        distance = np.array([np.abs(points - row).sum(axis=1, dtype=np.float64) for row in sought])
        slack = m / 4 + 1.5 * np.sqrt(m / 48)
        return self._measured(distance <= self.reach[:, :, None] + 2 * slack * step)

    def _measured(self, near):
        """The share of rows to measure, by whether codes leave each row with each reach, (3, n_queries, n_rows).

        Candidates are measured at the end, but those of a list that is too long are measured before.
        """
        left = near.mean(axis=2) * np.array(self.rows)[:, None]
        return (left[0] + np.maximum(left[1:].max(axis=0) - _MOST_LISTED, 0)) / self.rows[0]


def _limits(metric, far, k, n, sample, sought, center, scale):
    """The _Limits of the queries `sought`, by the result `far` of `_nearest_distances`."""
    distances, share, inside = far
    last = distances.shape[1] - 1
    ranks = [np.minimum(rank - 1 + inside, last) for rank in (max(round(k * share), 1), k)]
    tau = np.stack([distances[np.arange(len(sought)), rank] for rank in ranks])
    rank = min(k, len(sample) - 1)  # in the sample each query itself comes first
    if metric.name == "manhattan":
        tau = tau * scale
        of_sample = tau[1]
    elif metric.name == "dot":
        tau = -tau * scale * scale - sought @ (scale * center)
        of_sample = -np.partition(-(sought @ sample.T), rank, axis=1)[:, rank]
    else:
        tau = 2 * tau if metric.name == "cosine" else tau**2 if metric.name == "euclidean" else tau
        tau = np.sqrt(np.maximum(tau, 0)) * scale
        square = np.partition(0.5 * _squares(sample) - sought @ sample.T, rank, axis=1)[:, rank]
        of_sample = np.sqrt(np.maximum(2 * square + _squares(sought), 0))
    return _Limits(metric, np.stack([*tau, of_sample]), (n, share * n, len(sample)))


def _candidates(sample, sought, limits, center, scale, worth):
    """Yield (bytes of a code, `_Limits.share_near`, maker) for each possible code with worth(bytes).

    maker() is (Coder, share_near), where this share is by codes, not by an estimate of how far they are from rows.
    `sample` and the queries `sought` are scaled and centred, except that queries for 'dot' are not centred.
    """
    d, absolute, axes = sample.shape[1], limits.metric.name == "manhattan", None
    for widths in () if absolute else _WIDTHS:
        widths = [width for width in widths if width < d and worth(width)]
        if not widths:
            break
        axes = _principal_axes(sample, widths[-1], axes)
        near = []
        for width, share in zip(widths, _projected(sample, sought, limits, axes, widths)):
            near.append(share.mean())
            yield width, share, partial(_rotated, sample, sought, limits, axes[:, : width - 1], center, scale)
            if not worth(width):
                break
        if len(near) < 2 or near[-1] > _FALLING * near[-2]:
            break
    width = d + -d % (8 if absolute else 4)
    if absolute or (d <= _MOST_FEATURES and worth(width)):
        step, share = _best_step(sample, sought, limits)
        coder = Coder(center, scale, step, absolute)
        yield width, share, lambda: (coder, share)


def _projected(sample, sought, limits, axes, widths):
    """Yield `_Limits.share_near` for codes of each width, of rows projected onto the first axes.

    Coordinates along the axes are assumed to be normally distributed after their rotation.
    """
    along, along_sought, square, square_sought = sample @ axes, sought @ axes, _squares(sample), _squares(sought)
    rest, rest_sought = square.copy(), square_sought.copy()
    product = np.zeros((len(sought), len(sample)), np.float32)
    for first, stop in pairwise([0, *(width - 1 for width in widths)]):
        some, some_sought = along[:, first:stop], along_sought[:, first:stop]
        product += some_sought @ some.T
        rest -= _squares(some)
        rest_sought -= _squares(some_sought)
        norm, norm_sought = (np.sqrt(np.maximum(each, 0)).astype(np.float32) for each in (rest, rest_sought))
        width = stop + 1
        step = _NORMAL * np.sqrt(((square - rest).mean() + norm.var()) / width) / 127
        largest = _NORMAL * np.sqrt(square_sought / width)
        projected = product + np.outer(norm_sought, norm)
        yield limits.share_near(projected, (square_sought, square), width, step, largest)


def _rotated(sample, sought, limits, axes, center, scale):
    """(the Coder of rows projected onto the axes, `_Limits.share_near`)"""
    # A random rotation of the axes keeps distances, but makes the largest coordinate smaller, and so the step of the
    # codes, too.
    m = axes.shape[1]
    rotation = np.linalg.qr(np.random.default_rng(0).standard_normal((m, m)))[0].astype(np.float32)
    axes = axes @ rotation
    points, points_sought = _with_rest(sample, axes), _with_rest(sought, axes)
    shift = 0.0 if limits.metric.name == "dot" else float(np.median(points[:, -1]))
    points[:, -1] -= shift
    points_sought[:, -1] -= shift
    step, share = _best_step(points, points_sought, limits)
    return rotated(center, scale, axes, step, shift), share


def _with_rest(points, axes):
    """For each point its coordinates along the axes, and the norm of its component orthogonal to them; float32."""
    along = points @ axes
    rest = np.sqrt(np.maximum(_squares(points) - _squares(along), 0))
    return np.column_stack([along, rest.astype(np.float32)])


def _best_step(points, sought, limits):
    """(step, `_Limits.share_near`) for the best of a few steps.

    The largest step clips no point. Smaller steps, which clip the largest coordinates, are tried if clipping enlarges
    no distance, so for all metrics but 'dot'.
    """
    few = points[:: max(1, round(len(points) / _STEP_SAMPLE))]
    largest = [max(points.max(), -points.min())]
    if limits.metric.name != "dot":
        some = np.abs(few[::8]).ravel()
        kept = [int(share * len(some)) for share in _KEPT]
        largest += [*np.partition(some, kept)[kept]]
    steps = [max(float(each), 2.0**-30) / 127 for each in largest]
    shares = [_share_near(few, sought, limits, step) for step in steps]
    best = int(np.argmin([share.mean() for share in shares]))
    return steps[best], shares[best] if len(few) == len(points) else _share_near(points, sought, limits, steps[best])


def _share_near(points, sought, limits, step):
    """`_Limits.share_near` for codes of points, whose coordinates are clipped to at most 127 steps."""
    if limits.metric.name != "dot":
        points, sought = (np.clip(each, -127 * step, 127 * step) for each in (points, sought))
    if limits.metric.name == "manhattan":
        return limits.share_within(points, sought, step)
    largest = np.abs(sought).max(axis=1)
    return limits.share_near(sought @ points.T, (_squares(sought), _squares(points)), points.shape[1], step, largest)


def _squares(points):
    return np.einsum("ij,ij->i", points, points, dtype=np.float64)


def _principal_axes(sample, most, known=None):
    """Approximate leading eigenvectors (d, m) of the sample's second moments, with m at most d and `most`.

    With more than _MOST_EXACT features, the vectors come from two steps of subspace iteration, or from one step that
    begins with `known` ones. The search is exact with any axes, and nearly as fast with approximate eigenvectors as
    with exact ones.
    """
    d = sample.shape[1]
    if d <= _MOST_EXACT:  # in less than a millisecond
        axes = np.linalg.eigh(np.dot(sample.T, sample).astype(np.float64))[1][:, ::-1]
        return axes[:, :most].astype(np.float32)
    n_known = 0 if known is None else known.shape[1]
    axes = np.random.default_rng(0).standard_normal((d, min(d, most) - n_known), dtype=np.float32)
    if n_known:
        axes = np.concatenate([known, axes], axis=1)
    for _ in range(1 if n_known else 2):
        axes = aside(_image, sample, axes)
    order = np.argsort(((sample @ axes) ** 2).sum(axis=0))[::-1]
    return axes[:, order]


def _image(sample, axes):
    """Orthonormal columns that span the images of the axes under the sample's second moments."""
    return np.linalg.qr(sample.T @ (sample @ axes))[0]
