# Written by .ci/stubs.py from signatures and docstrings; do not edit.
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, Self, SupportsIndex

import numpy as np
from numpy.typing import DTypeLike, NDArray

from fastclf._typing import Bool, Float, Rows

def kneighbors_graph(X: Any, n_neighbors: SupportsIndex, *, mode: Literal['connectivity', 'distance'] = 'connectivity', metric: str | Callable[..., Any] = 'minkowski', p: Float = 2, metric_params: Mapping[Any, Any] | None = None, include_self: Bool | Literal['auto'] = False, n_jobs: SupportsIndex | None = None) -> Any: ...

def radius_neighbors_graph(X: Any, radius: Float, *, mode: Literal['connectivity', 'distance'] = 'connectivity', metric: str | Callable[..., Any] = 'minkowski', p: Float = 2, metric_params: Mapping[Any, Any] | None = None, include_self: Bool | Literal['auto'] = False, n_jobs: SupportsIndex | None = None) -> Any: ...

def sort_graph_by_row_values(graph: Any, copy: Bool = False, warn_when_not_sorted: Bool = True) -> Any: ...
