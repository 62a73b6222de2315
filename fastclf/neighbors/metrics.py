"""The metrics that there are, and what is known of each."""

from typing import NamedTuple

import numpy as np

from .. import _simd
from .._state_table import Array, Instance, Value, declare, or_none
from .._validation import require_choice, require_number

kernels = _simd.load("neighbors._scan")


class Named(NamedTuple):
    """What is known of a metric that has a name."""

    name: str
    aliases: tuple[str, ...] = ()
    norm: float | None = None  # the metric is the norm of a difference, with this p
    scanned: bool = True  # `_scan.pyx` measures it
    as_it_lies: bool = False  # `_scan.pyx` measures it on a row of X without a norm of the row and without powers
    tree: bool = False  # a kd-tree takes it: the box of a node bounds the distances of its rows
    coded: bool = False  # a filter takes it: codes of a byte a coordinate bound distances
    sparse: bool = False  # an inverted index takes it
    packed: bool = False  # rows of packed bits have it, by counting bits
    missing: bool = False  # NaN stands for a missing value

    @property
    def code(self):
        """The number by which the kernels of a scan know the metric, or -1."""
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
    Named("nan_euclidean", scanned=False, missing=True),
)

# Each metric by its name and its aliases.
NAMED = {name: metric for metric in METRICS for name in (metric.name, *metric.aliases)}

# Nothing is known of a function of the user's, which a Metric calls "callable" or "compiled".
_FUNCTION = Named("function", scanned=False)


def names_with(column):
    """The names, sorted, of the metrics for which a column of the table is True."""
    return sorted(metric.name for metric in METRICS if getattr(metric, column))


def known_of(name):
    """The Named of the name in a Metric."""
    return NAMED.get(name, _FUNCTION)


class Metric(NamedTuple):
    """A metric as the kernels see it."""

    _state_table = declare(
        p=Value(require_number, 0, True),
        w=or_none(Array("float64", "n_features")),
        norm2=or_none(Array("float64", "n_rows")),
        largest_norm=Value(require_number, 0),
    )

    name: str
    code: int
    p: float = 2.0
    w: np.ndarray | None = None  # (n_features,) float64, the weights of 'minkowski'
    norm2: np.ndarray | None = None  # (n_rows,) float64, squared norms of the rows, for 'cosine'
    largest_norm: float = 0.0  # of a row, for 'dot'
    function: object = None  # the Python function that is the metric
    keywords: dict | None = None  # arguments of that function beside the two rows
    compiled: object = None  # the compiled function that is the metric
    triangle: bool = False  # whether the user says that the triangle inequality holds

    @property
    def named(self):
        """What is known of the metric."""
        return known_of(self.name)

    @property
    def custom(self):
        """The user's function that is the metric, or None."""
        return self.function if self.compiled is None else self.compiled.source

    @property
    def shown(self):
        """What a message calls the metric."""
        return self.name if self.custom is None else self.custom


class MetricOf(Instance):
    """In a table of state, a Metric of one of these names, and never a function, whose address a file could forge.

    Where rows are `measured` with the metric, the metric must hold what was computed from the rows.
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


def numbered(metric):
    """A Metric from a file, with the number that this build's kernels give its name."""
    return metric._replace(code=metric.named.code)
