# Written by .ci/stubs.py from signatures and docstrings; do not edit.
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, Self, SupportsIndex

import numpy as np
from numpy.typing import DTypeLike, NDArray

from fastclf._typing import Bool, Float, Rows

def learning_curve(estimator: Any, X: Rows, y: Rows, *, train_sizes: Rows = ..., cv: Any = 10, groups: Rows | None = None, scoring: str | Callable[..., Any] | Sequence[Any] | Mapping[Any, Any] | None = None, n_jobs: SupportsIndex | None = None, random_state: SupportsIndex | np.random.Generator | None = 0, shuffle: Bool = False) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]: ...

def tune(estimator: Any, grid: Mapping[Any, Any] | Sequence[Mapping[Any, Any]], X: Rows, y: Rows, *, cv: Any = 10, repeats: SupportsIndex = 1, groups: Rows | None = None, scoring: str | Callable[..., Any] | Sequence[Any] | Mapping[Any, Any] | None = None, rule: Literal['best', 'one_standard_error'] = 'best', simpler: Mapping[Any, Any] | None = None, outer: Any = None, refit: Bool = True, n_jobs: SupportsIndex | None = None, random_state: SupportsIndex | np.random.Generator | None = 0, shortcuts: Bool = True, verbose: SupportsIndex = 0, callback: Callable[..., Any] | None = None) -> Any: ...

def validation_curve(estimator: Any, X: Rows, y: Rows, *, param_name: str, param_range: Sequence[Any], cv: Any = 10, groups: Rows | None = None, scoring: str | Callable[..., Any] | Sequence[Any] | Mapping[Any, Any] | None = None, n_jobs: SupportsIndex | None = None, random_state: SupportsIndex | np.random.Generator | None = 0) -> tuple[NDArray[Any], NDArray[Any]]: ...

class Tuning:
    results: Any
    rule: Any
    simpler: Any
    params: Sequence[Mapping[Any, Any]]
    mean_score: NDArray[Any]
    standard_error: NDArray[Any]
    scores: NDArray[Any]
    best_index: int
    one_standard_error_index: int
    best_params: Mapping[Any, Any]
    one_standard_error_params: Mapping[Any, Any]
    chosen_params: Mapping[Any, Any]
    estimator: Any
    error: float
    outer: Any
    interrupted: Bool
    def __init__(self, params: Any, results: Any, rule: Any, simpler: Any) -> None: ...
