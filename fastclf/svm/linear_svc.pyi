# Written by .ci/stubs.py from signatures and docstrings; do not edit.
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, Self, SupportsIndex

import numpy as np
from numpy.typing import DTypeLike, NDArray

from fastclf._typing import Bool, Float, Rows

class LinearSVC:
    penalty: Any
    loss: Any
    dual: Any
    tol: Any
    C: Any
    multi_class: Any
    fit_intercept: Any
    intercept_scaling: Any
    class_weight: Any
    verbose: Any
    random_state: Any
    max_iter: Any
    lam: Any
    budget: Any
    n_jobs: Any
    callback: Any
    coef_: NDArray[Any]
    intercept_: NDArray[Any]
    classes_: NDArray[Any]
    n_iter_: int
    C_: NDArray[Any]
    margin_: NDArray[Any]
    violation_: float
    primal_objective_: float | NDArray[Any]
    dual_objective_: float | NDArray[Any]
    duality_gap_: float | NDArray[Any]
    n_features_in_: int
    feature_names_in_: NDArray[Any]
    def __init__(self, penalty: Literal['l1', 'l2'] = 'l2', loss: Literal['hinge', 'squared_hinge'] = 'squared_hinge', *, dual: Literal['auto'] | Bool = 'auto', tol: Float = 0.0001, C: Float = 1.0, multi_class: Literal['ovr', 'crammer_singer'] = 'ovr', fit_intercept: Bool = True, intercept_scaling: Float | None = 1, class_weight: Mapping[Any, Any] | Literal['balanced'] | None = None, verbose: SupportsIndex = 0, random_state: SupportsIndex | np.random.RandomState | np.random.Generator | None = None, max_iter: SupportsIndex = 1000, lam: Float | None = None, budget: Float | None = None, n_jobs: SupportsIndex | None = None, callback: Callable[..., Any] | None = None) -> None: ...
    def decision_function(self, X: Rows) -> NDArray[Any]: ...
    def densify(self) -> Self: ...
    def fit(self, X: Rows, y: Rows, sample_weight: Rows | None = None) -> Self: ...
    def get_params(self, deep: Bool = True) -> dict[str, Any]: ...
    def predict(self, X: Rows) -> NDArray[Any]: ...
    def score(self, X: Rows, y: Rows, sample_weight: Rows | None = None) -> float: ...
    def set_params(self, **params: Any) -> Self: ...
    def sparsify(self) -> Self: ...
