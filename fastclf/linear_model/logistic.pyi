# Written by .ci/stubs.py from signatures and docstrings; do not edit.
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, Self, SupportsIndex

import numpy as np
from numpy.typing import DTypeLike, NDArray

from fastclf._typing import Bool, Float, Rows

class LogisticRegression:
    penalty: Any
    C: Any
    l1_ratio: Any
    dual: Any
    tol: Any
    fit_intercept: Any
    intercept_scaling: Any
    class_weight: Any
    random_state: Any
    solver: Any
    max_iter: Any
    verbose: Any
    warm_start: Any
    n_jobs: Any
    eta0: Any
    callback: Any
    classes_: NDArray[Any]
    coef_: NDArray[Any]
    intercept_: NDArray[Any]
    n_iter_: NDArray[Any]
    gradient_norm_: float
    log_likelihood_: float
    separated_: Bool
    n_features_in_: int
    feature_names_in_: NDArray[Any]
    def __init__(self, penalty: Literal['l2', 'l1', 'elasticnet', None] | Literal['deprecated'] = 'deprecated', *, C: Float = 1.0, l1_ratio: Float | None = 0.0, dual: Bool = False, tol: Float = 0.0001, fit_intercept: Bool = True, intercept_scaling: Float = 1, class_weight: Mapping[Any, Any] | Literal['balanced'] | None = None, random_state: Any = None, solver: str = 'auto', max_iter: SupportsIndex = 1000, verbose: SupportsIndex = 0, warm_start: Bool = False, n_jobs: SupportsIndex | None = None, eta0: Float | None = None, callback: Callable[..., Any] | None = None) -> None: ...
    def decision_function(self, X: Rows) -> NDArray[Any]: ...
    def densify(self) -> Self: ...
    def fit(self, X: Rows, y: Rows, sample_weight: Rows | None = None) -> Self: ...
    def get_params(self, deep: Bool = True) -> dict[str, Any]: ...
    def predict(self, X: Rows) -> NDArray[Any]: ...
    def predict_log_proba(self, X: Rows) -> NDArray[Any]: ...
    def predict_proba(self, X: Rows) -> NDArray[Any]: ...
    def score(self, X: Rows, y: Rows, sample_weight: Rows | None = None) -> float: ...
    def set_params(self, **params: Any) -> Self: ...
    def sparsify(self) -> Self: ...
