# Written by .ci/stubs.py from signatures and docstrings; do not edit.
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, Self, SupportsIndex

import numpy as np
from numpy.typing import DTypeLike, NDArray

from fastclf._typing import Bool, Float, Rows

class NearestNeighbors:
    n_neighbors: Any
    radius: Any
    algorithm: Any
    leaf_size: Any
    metric: Any
    p: Any
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
    def __init__(self, *, n_neighbors: SupportsIndex | None = 5, radius: Float | None = 1.0, algorithm: Literal['auto', 'brute', 'filter', 'cells', 'tree', 'kd_tree', 'ball_tree'] = 'auto', leaf_size: SupportsIndex = 30, metric: str | Callable[..., Any] = 'minkowski', p: Float = 2, metric_params: Mapping[Any, Any] | None = None, n_jobs: SupportsIndex | None = None, working_memory: Float = 256, verbose: SupportsIndex = 0, callback: Callable[..., Any] | None = None) -> None: ...
    def fit(self, X: Rows, y: Any = None, *, ids: Rows | str | None = None) -> Self: ...
    def get_params(self, deep: Bool = True) -> dict[str, Any]: ...
    def kneighbors(self, X: Rows | None = None, n_neighbors: SupportsIndex | None = None, return_distance: Bool = True, *, mask: Rows | None = None, return_ids: Bool = False) -> tuple[NDArray[Any], NDArray[Any]]: ...
    def kneighbors_graph(self, X: Rows | None = None, n_neighbors: Any = None, mode: Literal['connectivity', 'distance'] = 'connectivity', *, mask: Any = None) -> Any: ...
    def partial_fit(self, X: Rows, y: Any = None, *, ids: Rows | str | None = None) -> Self: ...
    def radius_neighbors(self, X: Rows | None = None, radius: Float | Rows | None = None, return_distance: Bool = True, sort_results: Bool = False, *, mask: Rows | None = None, return_ids: Bool = False) -> tuple[NDArray[Any], NDArray[Any]]: ...
    def radius_neighbors_graph(self, X: Rows | None = None, radius: Any = None, mode: Literal['connectivity', 'distance'] = 'connectivity', sort_results: Any = False, *, mask: Any = None) -> Any: ...
    def remove(self, rows: SupportsIndex | Rows | None = None, *, ids: SupportsIndex | str | Rows | None = None) -> Self: ...
    def rows_of(self, ids: SupportsIndex | str | Rows) -> NDArray[Any]: ...
    def set_params(self, **params: Any) -> Self: ...
