# Written by .ci/stubs.py from signatures and docstrings; do not edit.
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, Self, SupportsIndex

import numpy as np
from numpy.typing import DTypeLike, NDArray

from fastclf._typing import Bool, Float, Rows

class SVC:
    C: Any
    kernel: Any
    degree: Any
    gamma: Any
    coef0: Any
    shrinking: Any
    probability: Any
    tol: Any
    cache_size: Any
    class_weight: Any
    verbose: Any
    max_iter: Any
    decision_function_shape: Any
    break_ties: Any
    random_state: Any
    n_jobs: Any
    kernel_dtype: Any
    warm_start: Any
    fit_intercept: Any
    lam: Any
    budget: Any
    callback: Any
    support_: NDArray[Any]
    support_vectors_: Any
    n_support_: NDArray[Any]
    dual_coef_: Any
    intercept_: NDArray[Any]
    coef_: Any
    classes_: NDArray[Any]
    class_weight_: NDArray[Any]
    n_iter_: NDArray[Any]
    C_: NDArray[Any]
    fit_status_: int
    violation_: float
    duality_gap_: float
    violations_: NDArray[Any]
    dual_objective_: NDArray[Any]
    margin_: NDArray[Any]
    shape_fit_: tuple[Any, ...]
    probA_: NDArray[Any]
    probB_: NDArray[Any]
    n_features_in_: int
    feature_names_in_: NDArray[Any]
    def __init__(self, *, C: Float = 1.0, kernel: Literal['linear', 'poly', 'rbf', 'sigmoid', 'precomputed'] | Callable[..., Any] = 'rbf', degree: SupportsIndex = 3, gamma: Literal['scale', 'auto'] | Float = 'scale', coef0: Float = 0.0, shrinking: Bool = True, probability: Bool = False, tol: Float = 0.001, cache_size: Float = 200, class_weight: Mapping[Any, Any] | Literal['balanced'] | None = None, verbose: SupportsIndex = 0, max_iter: SupportsIndex | Float = -1, decision_function_shape: Literal['ovr', 'ovo'] = 'ovr', break_ties: Bool = False, random_state: SupportsIndex | np.random.RandomState | np.random.Generator | None = None, n_jobs: SupportsIndex | None = None, kernel_dtype: Literal['float32', 'float64'] | None = None, warm_start: Bool = False, fit_intercept: Bool = True, lam: Float | None = None, budget: Float | None = None, callback: Callable[..., Any] | None = None) -> None: ...
    def decision_function(self, X: Rows) -> NDArray[Any]: ...
    def fit(self, X: Rows, y: Rows, sample_weight: Rows | None = None) -> Self: ...
    def get_params(self, deep: Bool = True) -> dict[str, Any]: ...
    def kkt_violation(self, X: Rows, y: Rows, sample_weight: Rows | None = None) -> Any: ...
    def predict(self, X: Rows) -> NDArray[Any]: ...
    def predict_log_proba(self, X: Rows) -> NDArray[Any]: ...
    def predict_proba(self, X: Rows) -> NDArray[Any]: ...
    def score(self, X: Rows, y: Rows, sample_weight: Rows | None = None) -> float: ...
    def set_params(self, **params: Any) -> Self: ...

def svm_path(X: Rows, y: Rows, Cs: Sequence[Any], *, sample_weight: Rows | None = None, **parameters: Any) -> Sequence[Any]: ...
