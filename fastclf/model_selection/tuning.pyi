# Written by .ci/stubs.py from signatures and docstrings; do not edit.
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, Self, SupportsIndex

import numpy as np
from numpy.typing import DTypeLike, NDArray

from fastclf._typing import Bool, Float, Rows

def tune(estimator: Any, param_grid: Mapping[Any, Any] | Sequence[Mapping[Any, Any]], X: Any, y: Rows | None = None, *, scoring: str | Callable[..., Any] | Sequence[Any] | Mapping[Any, Any] | None = None, n_jobs: SupportsIndex | None = None, refit: Bool = True, cv: Any = None, verbose: SupportsIndex = 0, pre_dispatch: Any = '2*n_jobs', error_score: Float | Literal["raise"] = ..., return_train_score: Bool = False, groups: Rows | None = None, params: Mapping[Any, Any] | None = None, rule: Literal["best", "one_standard_error"] = 'best', simpler: Mapping[Any, Any] | None = None, outer: Any = None, repeats: SupportsIndex = 1, random_state: SupportsIndex | np.random.Generator | None = None, shortcuts: Bool = True, callback: Callable[..., Any] | None = None) -> Any: ...

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
    @property
    def best_estimator_(self) -> Any: ...
    @property
    def best_index_(self) -> Any: ...
    @property
    def best_params_(self) -> Any: ...
    @property
    def best_score_(self) -> Any: ...
    clear: Any
    copy: Any
    @property
    def cv_results_(self) -> Any: ...
    fromkeys: Any
    get: Any
    items: Any
    keys: Any
    pop: Any
    popitem: Any
    setdefault: Any
    update: Any
    values: Any
