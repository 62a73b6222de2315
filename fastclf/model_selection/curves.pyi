# Written by .ci/stubs.py from signatures and docstrings; do not edit.
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, Self, SupportsIndex

import numpy as np
from numpy.typing import DTypeLike, NDArray

from fastclf._typing import Bool, Float, Rows

def learning_curve(estimator: Any, X: Any, y: Rows | None = None, *, groups: Rows | None = None, train_sizes: Rows = ..., cv: Any = None, scoring: str | Callable[..., Any] | Sequence[Any] | Mapping[Any, Any] | None = None, exploit_incremental_learning: Bool = False, n_jobs: SupportsIndex | None = None, pre_dispatch: Any = 'all', verbose: SupportsIndex = 0, shuffle: Bool = False, random_state: SupportsIndex | np.random.RandomState | None = None, error_score: Float | Literal["raise"] = ..., return_times: Bool = False, params: Mapping[Any, Any] | None = None) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]: ...

def validation_curve(estimator: Any, X: Any, y: Rows | None = None, *, param_name: str, param_range: Sequence[Any], groups: Rows | None = None, cv: Any = None, scoring: str | Callable[..., Any] | Sequence[Any] | Mapping[Any, Any] | None = None, n_jobs: SupportsIndex | None = None, pre_dispatch: Any = 'all', verbose: SupportsIndex = 0, error_score: Float | Literal["raise"] = ..., params: Mapping[Any, Any] | None = None, random_state: SupportsIndex | np.random.Generator | None = None) -> tuple[NDArray[Any], NDArray[Any]]: ...
