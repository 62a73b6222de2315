# Written by .ci/stubs.py from signatures and docstrings; do not edit.
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, Self, SupportsIndex

import numpy as np
from numpy.typing import DTypeLike, NDArray

from fastclf._typing import Bool, Float, Rows

class RidgeClassifier:
    alpha: Any
    fit_intercept: Any
    copy_X: Any
    max_iter: Any
    tol: Any
    class_weight: Any
    solver: Any
    positive: Any
    random_state: Any
    n_jobs: Any
    verbose: Any
    callback: Any
    coef_: NDArray[Any]
    intercept_: NDArray[Any]
    classes_: NDArray[Any]
    n_iter_: None
    solver_: str
    n_features_in_: int
    feature_names_in_: NDArray[Any]
    def __init__(self, alpha: Float = 1.0, *, fit_intercept: Bool = True, copy_X: Bool = True, max_iter: SupportsIndex | None = None, tol: Float = 0.0001, class_weight: Mapping[Any, Any] | Literal['balanced'] | None = None, solver: Literal['auto', 'svd', 'cholesky', 'lsqr', 'sparse_cg', 'sag', 'saga'] = 'auto', positive: Bool = False, random_state: Any = None, n_jobs: SupportsIndex | None = None, verbose: SupportsIndex = 0, callback: Callable[..., Any] | None = None) -> None: ...
    def decision_function(self, X: Rows) -> NDArray[Any]: ...
    def fit(self, X: Rows, y: Rows, sample_weight: Rows | None = None) -> Self: ...
    def get_params(self, deep: Bool = True) -> dict[str, Any]: ...
    def leave_one_out(self, X: Rows, y: Rows, sample_weight: Rows | None = None) -> NDArray[Any]: ...
    def predict(self, X: Rows) -> NDArray[Any]: ...
    def score(self, X: Rows, y: Rows, sample_weight: Rows | None = None) -> float: ...
    def set_params(self, **params: Any) -> Self: ...

class RidgeClassifierCV:
    alphas: Any
    fit_intercept: Any
    scoring: Any
    cv: Any
    class_weight: Any
    store_cv_results: Any
    n_jobs: Any
    alpha_: float
    best_score_: float
    cv_results_: NDArray[Any]
    coef_: NDArray[Any]
    intercept_: NDArray[Any]
    classes_: NDArray[Any]
    n_features_in_: int
    feature_names_in_: NDArray[Any]
    def __init__(self, alphas: Float | Sequence[Any] = ..., *, fit_intercept: Bool = True, scoring: str | Callable[..., Any] | None = None, cv: Any = None, class_weight: Mapping[Any, Any] | Literal['balanced'] | None = None, store_cv_results: Bool = False, n_jobs: SupportsIndex | None = None) -> None: ...
    def decision_function(self, X: Rows) -> NDArray[Any]: ...
    def fit(self, X: Rows, y: Rows, sample_weight: Rows | None = None, **params: Any) -> Self: ...
    def get_metadata_routing(self) -> Any: ...
    def get_params(self, deep: Bool = True) -> dict[str, Any]: ...
    def predict(self, X: Rows) -> NDArray[Any]: ...
    def score(self, X: Rows, y: Rows, sample_weight: Rows | None = None) -> float: ...
    def set_params(self, **params: Any) -> Self: ...
