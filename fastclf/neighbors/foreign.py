"""Arguments of `fit` that are objects: scikit-learn's DistanceMetric as metric, and trees or estimators as X."""

import numpy as np

_METRICS = "sklearn.metrics._dist_metrics"


def is_distance_metric(metric):
    """Whether this is one of scikit-learn's DistanceMetric objects."""
    return type(metric).__module__ == _METRICS


def named(metric, p, metric_params):
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


def opened(X, metric, p, metric_params):
    """(X, metric, p, metric_params); if X is scikit-learn's tree or fitted estimator, its rows and its metric."""
    module = type(X).__module__
    if module in ("sklearn.neighbors._kd_tree", "sklearn.neighbors._ball_tree"):
        metric = next(item for item in X.__getstate__() if is_distance_metric(item))
        return np.asarray(X.get_arrays()[0]), *named(metric, 2, None)
    if module.startswith("sklearn.neighbors.") and hasattr(X, "_fit_X"):
        params = {name: value for name, value in X.effective_metric_params_.items() if value is not None}
        p = params.pop("p", 2)
        return X._fit_X, *named(X.effective_metric_, p, params or None)
    return X, *named(metric, p, metric_params)
