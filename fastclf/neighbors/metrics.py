"""Which metrics there are, and what is known of each."""

import warnings
from typing import NamedTuple

import numpy as np

from .. import _simd
from .._state_table import Array, Instance, Value, declare, or_none
from .._validation import require_choice, require_number

kernels = _simd.load("neighbors._scan")

ALIASES = {"l2": "euclidean", "l1": "manhattan", "cityblock": "manhattan", "infinity": "chebyshev", "p": "minkowski"}


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
    name = ALIASES.get(metric, metric)
    w = None
    if name == "minkowski":
        if "p" in params:
            warnings.warn(
                "p is found in metric_params and used; the argument p is ignored", SyntaxWarning, stacklevel=5
            )
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
        elif p in (1, 2) or np.isinf(p):
            name = {1: "manhattan", 2: "euclidean"}.get(p, "chebyshev")
    require_no_more(params, metric)
    return Metric(name, kernels.CODES[name], p if name == "minkowski" else 2.0, w)


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
    return metric._replace(code=kernels.CODES.get(metric.name, -1))
