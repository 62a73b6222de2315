"""Which metrics there are, and what is known of each."""

from typing import NamedTuple

import numpy as np

from .. import _simd
from .._exceptions import warn
from .._state_table import Array, Instance, Value, declare, or_none
from .._validation import require_choice, require_number

kernels = _simd.load("neighbors._scan")


class Named(NamedTuple):
    """What is known of a metric that has a name."""

    name: str
    aliases: tuple[str, ...] = ()
    norm: float | None = None  # the p of the norm of a difference that it is
    scanned: bool = True  # `_scan.pyx` has it
    as_it_lies: bool = False  # and measures it on a row of X without a norm or a power
    tree: bool = False  # a kd-tree has it: boxes bound it
    coded: bool = False  # codes of a byte a coordinate bound it
    sparse: bool = False  # an inverted index has it
    packed: bool = False  # it is counted on packed bits
    missing: bool = False  # NaN is a value that is missing

    @property
    def code(self):
        """Its number in the kernels of a scan, or -1."""
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

# By all their names.
NAMED = {name: metric for metric in METRICS for name in (metric.name, *metric.aliases)}

_FUNCTION = Named("function", scanned=False)


def names_with(column):
    """The names, sorted, of the metrics of which a column says yes."""
    return sorted(metric.name for metric in METRICS if getattr(metric, column))


def named_norm(metric, p):
    """The Named of a name; of 'minkowski' with a `p` that has a name of its own, this one."""
    named = NAMED[metric]
    return next((other for other in METRICS if other.norm == p), named) if named.name == "minkowski" else named


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
    w: np.ndarray | None = None  # (n_features,) float64
    norm2: np.ndarray | None = None  # (n_rows,) float64, squared norms of the rows, for cosine
    largest_norm: float = 0.0  # of a row, for dot
    function: object = None  # the callable metric
    keywords: dict | None = None
    compiled: object = None  # the compiled one
    triangle: bool = False  # whether the user says that the triangle inequality holds

    @property
    def named(self):
        """What is known of it, which of a function is nothing."""
        return NAMED.get(self.name, _FUNCTION)

    @property
    def custom(self):
        """The function of the user's that it is, or None."""
        return self.function if self.compiled is None else self.compiled.source

    @property
    def shown(self):
        """What an error calls it."""
        return self.name if self.custom is None else self.custom


def resolve_metric(metric, p, metric_params, n_features):
    """The Metric for the arguments `metric`, `p` and `metric_params`."""
    params = dict(metric_params or {})
    named, w = NAMED[metric], None
    if named.name == "minkowski":
        if "p" in params:
            warn("p is found in metric_params and used; the argument p is ignored", SyntaxWarning)
        p = require_number("p", params.pop("p", p), 0, open_low=True)
        w = params.pop("w", None)
        if w is not None:
            try:
                w = np.ascontiguousarray(w, dtype=np.float64)
            except (TypeError, ValueError) as error:
                raise type(error)(f"metric_params['w'] is {w!r}; numbers are wanted") from None
            if w.shape != (n_features,) or not (np.isfinite(w) & (w >= 0)).all():
                raise ValueError(
                    f"metric_params['w'] has shape {w.shape}; {n_features} finite weights, one a feature and none"
                    " negative, are wanted"
                )
            if np.isinf(p):
                raise ValueError("metric_params['w'] is given with p=inf, where weights have no meaning; leave it out")
        else:
            named = named_norm(metric, p)
    require_no_more(params, metric)
    return Metric(named.name, named.code, p if named.name == "minkowski" else 2.0, w)


def require_no_more(params, metric):
    """Refuse what is left of metric_params."""
    if params:
        raise ValueError(f"metric_params has {sorted(params)}, which metric={metric!r} does not take")


class MetricOf(Instance):
    """In a table of state, a Metric of these names; a function, and above all an address to call, is refused.

    If rows are `measured` with it, it must hold what was computed from them.
    """

    def __init__(self, names, measured=True):
        super().__init__(Metric)
        self.names, self.measured = names, measured

    def require(self, name, value, sizes, entries):
        if type(value) is not Metric or value.function is not None or value.compiled is not None or value.triangle:
            raise ValueError(f"{name} is a function, or no metric")
        require_choice(name, value.name, self.names)
        super().require(name, value, sizes, entries)
        if self.measured and value.name == "cosine":
            Array("float64", "n_rows").require("norm2", value.norm2, sizes, entries)


def numbered(metric):
    """A Metric from a file, with this build's number."""
    return metric._replace(code=metric.named.code)
