# Written by .ci/stubs.py from signatures and docstrings; do not edit.
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, Self, SupportsIndex

import numpy as np
from numpy.typing import DTypeLike, NDArray

from fastclf._typing import Bool, Float, Rows

class NearestCentroid:
    metric: Any
    shrink_threshold: Any
    priors: Any
    n_jobs: Any
    verbose: Any
    callback: Any
    centroids_: NDArray[Any]
    classes_: NDArray[Any]
    class_prior_: NDArray[Any]
    within_class_std_dev_: NDArray[Any]
    deviations_: NDArray[Any]
    coef_: NDArray[Any]
    intercept_: NDArray[Any]
    threshold_: float
    n_features_in_: int
    feature_names_in_: NDArray[Any]
    def __init__(self, metric: Literal['euclidean', 'manhattan'] = 'euclidean', *, shrink_threshold: Float | None = None, priors: Literal['uniform', 'empirical'] | Rows = 'uniform', n_jobs: SupportsIndex | None = None, verbose: SupportsIndex = 0, callback: Callable[..., Any] | None = None) -> None: ...
    def decision_function(self, X: Rows) -> NDArray[Any]: ...
    def fit(self, X: Rows, y: Rows, sample_weight: Rows | None = None) -> Self: ...
    def get_params(self, deep: Bool = True) -> dict[str, Any]: ...
    def predict(self, X: Rows) -> NDArray[Any]: ...
    def predict_log_proba(self, X: Rows) -> NDArray[Any]: ...
    def predict_proba(self, X: Rows) -> NDArray[Any]: ...
    def score(self, X: Rows, y: Rows, sample_weight: Rows | None = None) -> float: ...
    def set_params(self, **params: Any) -> Self: ...
