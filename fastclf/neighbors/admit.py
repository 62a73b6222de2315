"""Validation: the arguments of `fit`, which may be objects of scikit-learn, become rows and a Metric; so do queries."""

import numpy as np

from .._csr import Csr, as_csr, is_sparse
from .._exceptions import warn
from .._validation import as_array, as_float64, as_matrix, described, require_number
from .custom_metric import as_compiled
from .formulas import formula_metric
from .metrics import METRICS, NAMED, Metric, kernels, names_with
from .packed_bits import PackedRows, as_bits, as_packed
from .precomputed import as_distances

# The module of scikit-learn whose objects are metrics.
_DISTANCE_METRICS = "sklearn.metrics._dist_metrics"

# A dict {p: the metric that is equal to 'minkowski' with this p}.
_NORMS = {metric.norm: metric for metric in METRICS if metric.norm is not None}


def is_distance_metric(metric):
    """Whether this is one of scikit-learn's DistanceMetric objects."""
    return type(metric).__module__ == _DISTANCE_METRICS


def _named(metric, p, metric_params):
    """(metric, p, metric_params), in which a DistanceMetric is replaced by its name and its parameters."""
    if not is_distance_metric(metric):
        return metric, p, metric_params
    name = type(metric).__name__.removesuffix("64").removesuffix("32").removesuffix("Distance").lower()
    state = metric.__getstate__()
    exponent, vector, matrix = state[:3]
    if name == "pyfunc":
        return state[3], p, dict(state[4])
    params = {"seuclidean": {"V": vector}, "mahalanobis": {"VI": matrix}}.get(name)
    if name == "minkowski":
        p, params = exponent, {"w": np.array(vector)} if len(vector) else None
    return name, p, params


def _opened(X, metric, p, metric_params):
    """(X, metric, p, metric_params); if X is scikit-learn's tree or fitted estimator, its rows and its metric."""
    module = type(X).__module__
    if module in ("sklearn.neighbors._kd_tree", "sklearn.neighbors._ball_tree"):
        metric = next(item for item in X.__getstate__() if is_distance_metric(item))
        return np.asarray(X.get_arrays()[0]), *_named(metric, 2, None)
    if module.startswith("sklearn.neighbors.") and hasattr(X, "_fit_X"):
        params = {name: value for name, value in X.effective_metric_params_.items() if value is not None}
        p = params.pop("p", 2)
        return X._fit_X, *_named(X.effective_metric_, p, params or None)
    return X, *_named(metric, p, metric_params)


def admit(X, metric, p, metric_params, owner):
    """Check X and the metric; return (rows, Metric), where the rows are X as an array, PackedRows, or Csr."""
    if not isinstance(metric, str) or not isinstance(X, np.ndarray):
        X, metric, p, metric_params = _opened(X, metric, p, metric_params)
    if not isinstance(metric, str):
        resolved = _resolve_function(metric, dict(metric_params or {}))
        sparse = resolved.compiled is None and not isinstance(X, np.ndarray) and is_sparse(X)
        return as_csr(X, owner) if sparse else as_matrix(X, owner), resolved
    named = NAMED[metric]
    if named.packed:
        params = dict(metric_params or {})
        X = as_array(X, "X")
        n_bits = params.pop("n_bits", None)
        rows = as_bits(X, metric, owner) if n_bits is None else as_packed(X, n_bits, owner)
        if rows is not None:
            _require_no_more(params, metric)
            return rows, Metric(metric, -1)
    if named.missing:
        _require_no_more(metric_params, metric)
        return as_matrix(X, owner, allow_nan=True), Metric(metric, -1)
    if named.precomputed:
        # metric_params are ignored, as in scikit-learn: a subclass may compute the distances with them
        return as_distances(X, owner, square=True), Metric(metric, -1)
    if named.formula:
        _require_dense(X, metric)
        rows = as_matrix(X, owner)
        params = dict(metric_params or {})
        formula = formula_metric(named.name, params, rows.shape[1])
        _require_no_more(params, named.name)
        return rows, formula
    resolved = resolve_metric(metric, p, metric_params)
    sparse = not isinstance(X, np.ndarray) and is_sparse(X)
    if not NAMED[resolved.name].sparse:
        _require_dense(X, metric)
    rows = as_csr(X, owner) if sparse else as_matrix(X, owner)
    if resolved.w is not None and resolved.w.shape != rows.shape[1:]:
        raise ValueError(
            f"metric_params['w'] has shape {resolved.w.shape}; {rows.shape[1:]}, a weight for each feature, is wanted"
        )
    return rows, resolved


def _require_no_more(params, metric):
    """Raise an error if `params`, the entries of metric_params that the metric has not used, is not empty."""
    if params:
        raise ValueError(f"metric_params has {sorted(params)}, which metric={metric!r} does not take; leave it out")


def _require_dense(X, metric):
    """Raise an error if X is a sparse matrix, which the metric does not support."""
    if not isinstance(X, np.ndarray) and is_sparse(X):
        raise ValueError(
            f"Metric {metric!r} not valid for sparse input: X is a sparse matrix; one of"
            f" {', '.join(names_with('sparse'))} is wanted with it, or a dense array (pass X.toarray())"
        )


def resolve_metric(metric, p=2, metric_params=None):
    """The Metric for the arguments `metric` (a name), `p` and `metric_params`."""
    params, named, w = dict(metric_params or {}), NAMED[metric], None
    if named.name != "minkowski":
        _require_no_more(params, metric)
        return Metric(named.name, kernels.CODES[named.name])
    if "p" in params:
        warn("p is found in metric_params and used; the argument p is ignored", SyntaxWarning)
    p, w = params.pop("p", p), params.pop("w", None)
    _require_no_more(params, metric)
    p = require_number("p", p, 0, open_low=True)
    if w is None:
        named = _NORMS.get(p, named)
        return Metric(named.name, kernels.CODES[named.name], p if named.name == "minkowski" else 2.0)
    w = as_float64(w, "metric_params['w']")
    if not (np.isfinite(w) & (w >= 0)).all():
        raise ValueError("metric_params['w'] has a negative, infinite or NaN entry; weights from 0 up are wanted")
    if p == np.inf:
        raise ValueError("metric_params['w'] is given with p=inf, where weights have no meaning; leave it out")
    return Metric(named.name, kernels.CODES[named.name], p, w)


def _resolve_function(metric, params):
    """The Metric for the user's function `metric`, a Python function or a compiled one."""
    compiled = as_compiled(metric)
    triangle = params.pop("triangle", False)
    if not isinstance(triangle, bool):
        raise TypeError(f"metric_params['triangle'] is {described(triangle)}; True or False is wanted")
    if compiled is None:
        return Metric("callable", -1, function=metric, keywords=params, triangle=triangle)
    _require_no_more(params, metric)
    return Metric("compiled", -1, compiled=compiled, triangle=triangle)


def admit_queries(index, X, owner):
    """Check the queries X and return them in the form that `index`, an Index or Segments, takes."""
    rows, metric = index.some_rows, index.metric
    named = metric.named
    if isinstance(rows, PackedRows):
        return as_packed(X, rows.n_bits, owner) if rows.given else as_bits(X, metric.name, owner, fitted=True)
    if isinstance(rows, Csr) and metric.custom is not None:
        return as_csr(X, owner) if is_sparse(X) else Csr.from_dense(as_matrix(X, owner))
    if isinstance(X, np.ndarray) and not named.precomputed:
        return as_matrix(X, owner, allow_nan=named.missing)
    if named.precomputed:
        return as_distances(X, owner)
    if named.missing:
        return as_matrix(X, owner, allow_nan=True)
    return as_csr(X, owner) if is_sparse(X) and metric.custom is None else as_matrix(X, owner)


def takes_sparse(metric, p):
    """Whether X may be sparse for these values, not checked yet, of the parameters `metric` and `p`."""
    if not isinstance(metric, str) or metric not in NAMED:
        return False
    named = NAMED[metric]
    return (
        named.sparse
        or named.precomputed
        or (named.name == "minkowski" and any(other.sparse for other in METRICS if other.norm == p))
    )
