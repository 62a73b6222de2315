"""The metrics, and the properties of each."""

from typing import NamedTuple

import numpy as np

from .. import _simd
from .._state_table import Array, Instance, Value, declare, or_none
from .._validation import require_choice, require_number

kernels = _simd.load("neighbors._scan")


class Named(NamedTuple):
    """Properties of a metric that has a name."""

    name: str
    aliases: tuple[str, ...] = ()
    norm: float | None = None  # p, if the metric is the p-norm of the difference
    scanned: bool = True  # whether `_scan.pyx` can compute it
    # Whether `_scan.pyx` computes it from the rows of X themselves, without norms of the rows and without powers.
    as_it_lies: bool = False
    tree: bool = False  # whether a kd-tree can search by it: the box of a node bounds the distances of its rows
    coded: bool = False  # whether a filter can search by it: codes with a byte per coordinate bound the distances
    sparse: bool = False  # whether an inverted index can search by it
    packed: bool = False  # whether rows of packed bits can be searched by it, by counting bits
    formula: bool = False  # whether `_formula_scan.pyx` can compute it
    precomputed: bool = False  # whether X holds the distances themselves
    missing: bool = False  # whether NaN is allowed, as a missing value

    @property
    def code(self):
        """The number of the metric in the kernels of a scan, or -1."""
        return kernels.CODES.get(self.name, -1)


METRICS = (
    Named("euclidean", ("l2",), norm=2.0, as_it_lies=True, tree=True, coded=True, sparse=True),
    Named("sqeuclidean", as_it_lies=True, tree=True, coded=True, sparse=True),
    Named("manhattan", ("l1", "cityblock"), norm=1.0, as_it_lies=True, tree=True, coded=True, sparse=True),
    Named("chebyshev", ("infinity",), norm=np.inf, as_it_lies=True, tree=True),
    Named("minkowski", ("p",), tree=True),
    Named("cosine", coded=True, sparse=True),
    Named("dot", coded=True, sparse=True),
    Named("hamming", as_it_lies=True, packed=True),
    Named("jaccard", scanned=False, packed=True),
    Named("dice", scanned=False, packed=True),
    Named("rogerstanimoto", scanned=False, packed=True),
    Named("russellrao", scanned=False, packed=True),
    Named("sokalmichener", scanned=False, packed=True),
    Named("sokalsneath", scanned=False, packed=True),
    Named("yule", scanned=False, packed=True),
    Named("canberra", scanned=False, formula=True),
    Named("braycurtis", scanned=False, formula=True),
    Named("seuclidean", scanned=False, formula=True),
    Named("mahalanobis", scanned=False, formula=True),
    Named("haversine", scanned=False, formula=True),
    Named("correlation", scanned=False, formula=True),
    Named("precomputed", scanned=False, precomputed=True),
    Named("nan_euclidean", scanned=False, missing=True),
)

# Each metric by its name and its aliases.
NAMED = {name: metric for metric in METRICS for name in (metric.name, *metric.aliases)}

# A function of the user's, whose properties are unknown; its Metric is called "callable" or "compiled".
_FUNCTION = Named("function", scanned=False)


def names_with(column):
    """The sorted names of the metrics for which a column of the table is True."""
    return sorted(metric.name for metric in METRICS if getattr(metric, column))


def known_of(name):
    """The Named for the name in a Metric."""
    return NAMED.get(name, _FUNCTION)


def require_no_more(params, metric):
    """Refuse what is left of metric_params once the metric has taken its parameters."""
    if params:
        raise ValueError(f"metric_params has {sorted(params)}, which metric={metric!r} does not take; leave it out")


class Metric(NamedTuple):
    """A metric with its parameters, for the kernels."""

    _state_table = declare(
        p=Value(require_number, 0, True),
        w=or_none(Array("float64", "n_features")),
        norm2=or_none(Array("float64", "n_rows")),
        largest_norm=Value(require_number, 0),
        V=or_none(Array("float64", "n_features", None)),
    )

    name: str
    code: int
    p: float = 2.0
    w: np.ndarray | None = None  # (n_features,) float64, the weights of 'minkowski'
    norm2: np.ndarray | None = None  # (n_rows,) float64, squared norms of the rows, for 'cosine'
    largest_norm: float = 0.0  # the largest norm of a row, for 'dot'
    function: object = None  # the Python function that is the metric
    keywords: dict | None = None  # further arguments of that function, by name
    compiled: object = None  # the compiled function that is the metric
    triangle: bool = False  # whether the user states that the triangle inequality holds
    # (n_features, 1) float64, the variances of 'seuclidean', or (n_features, n_features), the inverse of the covariance
    # matrix for 'mahalanobis'
    V: np.ndarray | None = None

    @property
    def named(self):
        """The properties of the metric."""
        return known_of(self.name)

    @property
    def custom(self):
        """The user's function that is the metric, or None."""
        return self.function if self.compiled is None else self.compiled.source

    @property
    def shown(self):
        """The name of the metric in messages."""
        return self.name if self.custom is None else self.custom


class MetricOf(Instance):
    """In a table of state: a Metric with one of these names, never a function, whose address could be forged in a file.

    If rows are `measured` with the metric, it must also hold the norms that were computed from the rows.
    """

    def __init__(self, names, measured=True):
        super().__init__(Metric)
        self.names, self.measured = names, measured

    def require(self, name, value, sizes, entries):
        if type(value) is not Metric or value.function is not None or value.compiled is not None or value.triangle:
            raise ValueError(f"{name} is a {type(value).__name__} or holds a function; a Metric with a name is wanted")
        require_choice(name, value.name, self.names)
        super().require(name, value, sizes, entries)
        if self.measured and value.name == "cosine":
            Array("float64", "n_rows").require("norm2", value.norm2, sizes, entries)
        if value.name in ("seuclidean", "mahalanobis"):
            n_columns = 1 if value.name == "seuclidean" else "n_features"
            Array("float64", "n_features", n_columns).require("V", value.V, sizes, entries)
        if value.name == "haversine" and sizes["n_features"] != 2:
            raise ValueError(f"{name} is 'haversine' of {sizes['n_features']} features; 2 are wanted")


def numbered(metric):
    """A Metric from a file, with the number that the kernels of this build have for its name."""
    return metric._replace(code=metric.named.code)
