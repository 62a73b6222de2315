# Written by .ci/stubs.py from signatures and docstrings; do not edit.
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, Self, SupportsIndex

import numpy as np
from numpy.typing import DTypeLike, NDArray

from fastclf._typing import Bool, Float, Rows

class KernelPerceptron:
    kernel: Any
    degree: Any
    gamma: Any
    coef0: Any
    fit_intercept: Any
    max_iter: Any
    shuffle: Any
    random_state: Any
    budget: Any
    average: Any
    class_weight: Any
    verbose: Any
    n_jobs: Any
    callback: Any
    support_: NDArray[Any]
    support_vectors_: NDArray[Any]
    dual_coef_: NDArray[Any]
    intercept_: NDArray[Any]
    classes_: NDArray[Any]
    n_iter_: int
    n_mistakes_: int | NDArray[Any]
    converged_: Bool
    margin_: float | NDArray[Any]
    radius_: float
    mistake_bound_: float | NDArray[Any]
    voter_support_: NDArray[Any]
    voter_steps_: NDArray[Any]
    votes_: NDArray[Any]
    voter_starts_: NDArray[Any]
    n_features_in_: int
    feature_names_in_: NDArray[Any]
    def __init__(self, kernel: Literal['linear', 'poly', 'rbf', 'sigmoid', 'precomputed'] | Callable[..., Any] = 'rbf', *, degree: SupportsIndex = 3, gamma: Literal['scale', 'auto'] | Float = 'scale', coef0: Float = 0.0, fit_intercept: Bool = True, max_iter: SupportsIndex = 100, shuffle: Bool = True, random_state: SupportsIndex | np.random.RandomState | np.random.Generator | None = 0, budget: SupportsIndex | None = None, average: Literal['none', 'averaged', 'voted'] = 'none', class_weight: Mapping[Any, Any] | Literal['balanced'] | None = None, verbose: SupportsIndex = 0, n_jobs: SupportsIndex | None = None, callback: Callable[..., Any] | None = None) -> None: ...
    def decision_function(self, X: Rows) -> NDArray[Any]: ...
    def fit(self, X: Rows, y: Rows, sample_weight: Rows | None = None) -> Self: ...
    def get_params(self, deep: Bool = True) -> dict[str, Any]: ...
    def partial_fit(self, X: Rows, y: Rows, classes: Rows | None = None, sample_weight: Rows | None = None) -> Self: ...
    def predict(self, X: Rows) -> NDArray[Any]: ...
    def score(self, X: Rows, y: Rows, sample_weight: Rows | None = None) -> float: ...
    def set_params(self, **params: Any) -> Self: ...
