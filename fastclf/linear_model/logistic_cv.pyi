# Written by .ci/stubs.py from signatures and docstrings; do not edit.
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, Self, SupportsIndex

import numpy as np
from numpy.typing import DTypeLike, NDArray

from fastclf._typing import Bool, Float, Rows

class LogisticRegressionCV:
    Cs: Any
    l1_ratios: Any
    fit_intercept: Any
    cv: Any
    dual: Any
    penalty: Any
    scoring: Any
    solver: Any
    tol: Any
    max_iter: Any
    class_weight: Any
    n_jobs: Any
    verbose: Any
    refit: Any
    intercept_scaling: Any
    random_state: Any
    use_legacy_attributes: Any
    callback: Any
    classes_: NDArray[Any]
    coef_: NDArray[Any]
    intercept_: NDArray[Any]
    Cs_: NDArray[Any]
    l1_ratios_: NDArray[Any]
    C_: float
    l1_ratio_: float
    coefs_paths_: NDArray[Any]
    scores_: NDArray[Any]
    n_iter_: NDArray[Any]
    gradient_norm_: float
    log_likelihood_: float
    separated_: Bool
    n_features_in_: int
    feature_names_in_: NDArray[Any]
    def __init__(self, *, Cs: SupportsIndex | Sequence[Any] = 10, l1_ratios: Sequence[Any] | None = 'warn', fit_intercept: Bool = True, cv: Any = None, dual: Bool = False, penalty: Literal['l1', 'l2', 'elasticnet'] | Literal['deprecated'] = 'deprecated', scoring: str | Callable[..., Any] | None = 'warn', solver: str = 'auto', tol: Float = 0.0001, max_iter: SupportsIndex = 1000, class_weight: Mapping[Any, Any] | Literal['balanced'] | None = None, n_jobs: SupportsIndex | None = None, verbose: SupportsIndex = 0, refit: Bool = True, intercept_scaling: Float = 1.0, random_state: Any = None, use_legacy_attributes: Bool | Literal['warn'] = 'warn', callback: Callable[..., Any] | None = None) -> None: ...
    def decision_function(self, X: Rows) -> NDArray[Any]: ...
    def densify(self) -> Self: ...
    def fit(self, X: Rows, y: Rows, sample_weight: Rows | None = None, **params: Any) -> Self: ...
    def get_metadata_routing(self) -> Any: ...
    def get_params(self, deep: Bool = True) -> dict[str, Any]: ...
    def predict(self, X: Rows) -> NDArray[Any]: ...
    def predict_log_proba(self, X: Rows) -> NDArray[Any]: ...
    def predict_proba(self, X: Rows) -> NDArray[Any]: ...
    def score(self, X: Rows, y: Rows, sample_weight: Rows | None = None, **score_params: Any) -> float: ...
    def set_params(self, **params: Any) -> Self: ...
    def sparsify(self) -> Self: ...
