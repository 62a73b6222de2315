"""The expected costs of searches, in nanoseconds for a pair of a row and a query.

They were measured on the computer that `docs/benchmarks/figures.md` describes. Only their ratios matter, up to a factor
of about one and a half.
"""

from typing import NamedTuple

import numpy as np

from .. import _simd
from .search import FEW_QUERIES

_BYTE = 0.03  # to read a byte of memory in order, which limits the speed of a single query
_CACHED_BYTE = 0.016  # to read a byte of codes that are in the caches
# the codes of all rows are assumed to stay in the processor's caches if they have at most this number of bytes
_CACHED_BYTES = 1 << 21

_ROW = 0.1  # to compare a row's screen with the limit of a query
_CODE_ROW = 0.15  # to compare a row's code with the limit of a query
_CODE_READ = 0.55  # to read a row's code, beyond the time for its bytes; once for all queries of a block
_CODE_CALL = 3e4  # to begin a search by codes, beyond the time for a scan; once for all pairs
# The rows that a search by codes measures for each neighbour before it knows how far the k-th nearest row is.
_FIRST_MEASURED = 3
# A query for which codes rule out too few rows is answered by a scan instead: once more rows have been measured than a
# scan does in the share _GIVEN_UP of its time, and more than (constant, part for each neighbour) _FEW_MEASURED, which
# any query needs until it is known how far its k-th nearest row is.
_GIVEN_UP, _FEW_MEASURED = 0.5, (64, 8)
# To compute the distance of a row: a constant part, and a part for each coordinate.
_MEASURE, _MEASURE_COORDINATE = 150.0, 0.5


# To visit a node or a leaf of a tree: _VISIT, and for each 32 bits of a leaf of 32 rows _LEAF times `difference`. Trees
# of more than _CACHED_LEAVES bytes do not fit the caches, and their leaves take _FAR_LEAF times as long.
_VISIT, _LEAF, _FAR_LEAF, _CACHED_LEAVES = 8.0, 2.0, 1.4, 1 << 24
_SCAN_CALL = 1e3  # to scan for a query, beyond the cost of its pairs


class _Level(NamedTuple):
    """The costs of the kernels of a SIMD level, if many queries are answered at once."""

    difference: float  # to compare a coordinate of a row in float32 with a query by their difference
    product: float  # the same by their product
    code: float  # to compare a byte of a row's code


_LEVELS = {
    "baseline": _Level(0.11, 0.05, 0.038),
    "x86-64-v3": _Level(0.031, 0.021, 0.0102),
    "x86-64-v4": _Level(0.022, 0.0105, 0.0056),
    "x86-64-v4-vnni": _Level(0.022, 0.0105, 0.0021),
    # not measured: SIMD vectors are half as long as those of x86-64-v3, so that a coordinate is assumed to take twice
    # as long
    "arm64-dotprod": _Level(0.062, 0.042, 0.008),
}


def scan_cost(n_queries, d, itemsize, multiplies):
    """The cost of a scan. `multiplies` says whether rows are screened by inner products in float32."""
    level = _LEVELS[_simd.level()]
    if multiplies:
        return _ROW + d * level.product
    return d * itemsize * (_BYTE if n_queries <= FEW_QUERIES else level.difference / 4)


def code_cost(n_queries, n, width, share=1.0):
    """The cost of reading the codes of n rows, of `width` bytes each. The part `share` of them is read for a query."""
    byte = _CACHED_BYTE if n * width <= _CACHED_BYTES else _BYTE
    compared = _CODE_ROW + width * _LEVELS[_simd.level()].code
    return share * (compared + (_CODE_READ + width * byte) / n_queries) + _CODE_CALL / (n_queries * n)


def most_measured(n, d, k, scan):
    """The number of rows that a search by codes measures for a query before a scan, of the cost `scan`, answers it."""
    constant, for_neighbor = _FEW_MEASURED
    return int(max(constant + for_neighbor * k, _GIVEN_UP * n * scan / _measure_cost(d)))


def measured_cost(n, d, k, near, scan):
    """The mean cost of measuring rows, for queries to which codes leave the shares `near` of the rows.

    A query that is given up costs a scan, too.
    """
    most, measured = most_measured(n, d, k, scan), n * near + _FIRST_MEASURED * k
    return np.mean(np.minimum(measured, most) * _measure_cost(d) / n + np.where(measured > most, scan, 0))


def _measure_cost(d):
    """The nanoseconds that the distance of a row takes."""
    return _MEASURE + _MEASURE_COORDINATE * d


def visits_of_scan(n, d, itemsize, scan):
    """The number of nodes and leaves of a tree that are visited for a query in the time of a scan."""
    leaf = 32 * d * itemsize / 4 * _LEVELS[_simd.level()].difference * _LEAF
    if n * d * itemsize > _CACHED_LEAVES:
        leaf *= _FAR_LEAF
    return (n * scan + _SCAN_CALL) / (_VISIT + leaf)
