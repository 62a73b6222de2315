"""The named metrics, their properties, and a metric with its parameters."""

from typing import NamedTuple

import numpy as np

from .. import _simd
from .._state_table import Array, Instance, Value, declare, or_none
from .._validation import require_choice, require_number

kernels = _simd.load("neighbors._scan")


class Named(NamedTuple):
    """The properties of a metric that has a name."""

    name: str
    aliases: tuple[str, ...] = ()
    norm: float | None = None  # p if the metric is the p-norm of the difference of two rows; otherwise None
    scanned: bool = True  # whether `_scan.pyx`, the scan of dense rows, computes the metric
    # whether `_scan.pyx` needs no norms of rows and no powers, so that it can read the rows of X in place
    as_it_lies: bool = False
    # whether a kd-tree can search by the metric: no row of a node is nearer to a query than the node's box
    tree: bool = False
    # whether codes of rows, one byte per coordinate, give lower bounds of distances, by which a filter rules out rows
    coded: bool = False
    celled: bool = False  # whether `algorithm="cells"` supports the metric
    sparse: bool = False  # whether the inverted index, an index of sparse rows, computes the metric
    packed: bool = False  # whether the metric is computed by counting bits, on rows of packed bits
    formula: bool = False  # whether `_formula_scan.pyx` computes the metric
    precomputed: bool = False  # whether X, with this metric, is a matrix of distances that the user has computed
    missing: bool = False  # whether the metric takes rows in which NaN is a missing value

    @property
    def code(self):
        """The number by which the kernels of a scan know the metric; -1 if they do not compute it."""
        return kernels.CODES.get(self.name, -1)


METRICS = (
    Named("euclidean", ("l2",), norm=2.0, as_it_lies=True, tree=True, coded=True, celled=True, sparse=True),
    Named("sqeuclidean", as_it_lies=True, tree=True, coded=True, celled=True, sparse=True),
    Named("manhattan", ("l1", "cityblock"), norm=1.0, as_it_lies=True, tree=True, coded=True, sparse=True),
    Named("chebyshev", ("infinity",), norm=np.inf, as_it_lies=True, tree=True),
    Named("minkowski", ("p",), tree=True),
    Named("cosine", coded=True, celled=True, sparse=True),
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

# A dict of the metrics whose keys are their names and aliases.
NAMED = {name: metric for metric in METRICS for name in (metric.name, *metric.aliases)}

# The properties of a user's function as metric, of which nothing is known. The name of its Metric is "callable" for a
# Python function and "compiled" for a compiled one.
_FUNCTION = Named("function", scanned=False)


def names_with(column):
    """The sorted names of the metrics whose property `column`, a field of Named, is True."""
    return sorted(metric.name for metric in METRICS if getattr(metric, column))


def known_of(name):
    """The properties (Named) of a Metric with this name."""
    return NAMED.get(name, _FUNCTION)


class Metric(NamedTuple):
    """A metric with its parameters, and with numbers computed from the rows that kernels need."""

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
    # (n_features,) float64: the weights of the features in the metric 'minkowski'; None: all weights are 1
    w: np.ndarray | None = None
    norm2: np.ndarray | None = None  # (n_rows,) float64: the squared norms of the rows, for 'cosine'
    largest_norm: float = 0.0  # for 'dot': the largest norm of a row of X, rounded up; 0 if it has not been computed
    function: object = None  # the user's Python function if it is the metric; otherwise None
    # the keyword arguments with which the user's Python function is called; None for other metrics
    keywords: dict | None = None
    compiled: object = None  # the user's compiled function if it is the metric (an object Compiled); otherwise None
    triangle: bool = False  # whether the user states that the metric, a function, obeys the triangle inequality
    # float64: for 'seuclidean' the variances, (n_features, 1); for 'mahalanobis' the inverse of the covariance matrix,
    # (n_features, n_features)
    V: np.ndarray | None = None

    @property
    def named(self):
        """The properties of the metric, an object Named."""
        return known_of(self.name)

    @property
    def custom(self):
        """The user's function that is the metric, or None."""
        return self.function if self.compiled is None else self.compiled.source

    @property
    def shown(self):
        """The metric as messages show it: its name, or the user's function."""
        return self.name if self.custom is None else self.custom


class MetricOf(Instance):
    """A check of fitted state that comes from a file: a Metric with one of the given names.

    A function as metric is refused, because a file could forge its address. With `measured`, the Metric must also have
    the norms that its kernels need.
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
            raise ValueError(f"{name} is 'haversine' for rows of {sizes['n_features']} features; 2 features are wanted")


def numbered(metric):
    """The same Metric, which a file may have held, with the number that this build's kernels give to its name."""
    return metric._replace(code=metric.named.code)
