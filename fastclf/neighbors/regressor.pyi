# Written by .ci/stubs.py from signatures and docstrings; do not edit.
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, Self, SupportsIndex

import numpy as np
from numpy.typing import DTypeLike, NDArray

from fastclf._typing import Bool, Float, Rows

class KNeighborsRegressor:
    n_neighbors: Any
    weights: Any
    algorithm: Any
    leaf_size: Any
    p: Any
    metric: Any
    metric_params: Any
    n_jobs: Any
    working_memory: Any
    verbose: Any
    callback: Any
    n_features_in_: int
    feature_names_in_: NDArray[Any]
    n_samples_fit_: int
    effective_metric_: str | Callable[..., Any]
    effective_metric_params_: Mapping[Any, Any]
    ids_: NDArray[Any]
    def __init__(self, n_neighbors: SupportsIndex = 5, *, weights: Literal['uniform', 'distance'] | Callable[..., Any] = 'uniform', algorithm: Literal['auto', 'brute', 'filter', 'cells', 'tree', 'kd_tree', 'ball_tree'] = 'auto', leaf_size: SupportsIndex = 30, p: Float = 2, metric: str | Callable[..., Any] = 'minkowski', metric_params: Mapping[Any, Any] | None = None, n_jobs: SupportsIndex | None = None, working_memory: Float = 256, verbose: SupportsIndex = 0, callback: Callable[..., Any] | None = None) -> None: ...
    def fit(self, X: Rows, y: Rows, sample_weight: Rows | None = None, *, ids: Rows | str | None = None) -> Self: ...
    def get_params(self, deep: Bool = True) -> dict[str, Any]: ...
    def kneighbors(self, X: Rows | None = None, n_neighbors: SupportsIndex | None = None, return_distance: Bool = True, *, mask: Rows | None = None, return_ids: Bool = False) -> tuple[NDArray[Any], NDArray[Any]]: ...
    def kneighbors_graph(self, X: Rows | None = None, n_neighbors: Any = None, mode: Literal['connectivity', 'distance'] = 'connectivity', *, mask: Any = None) -> Any: ...
    def leave_one_out(self, k_max: SupportsIndex) -> NDArray[Any]: ...
    def partial_fit(self, X: Rows, y: Rows, sample_weight: Rows | None = None, *, ids: Any = None) -> Self: ...
    def predict(self, X: Rows | None, *, mask: Rows | None = None) -> NDArray[Any]: ...
    def remove(self, rows: SupportsIndex | Rows | None = None, *, ids: SupportsIndex | str | Rows | None = None) -> Self: ...
    def rows_of(self, ids: SupportsIndex | str | Rows) -> NDArray[Any]: ...
    def score(self, X: Rows, y: Rows, sample_weight: Rows | None = None) -> float: ...
    def set_params(self, **params: Any) -> Self: ...
