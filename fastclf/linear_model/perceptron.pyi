# Written by .ci/stubs.py from signatures and docstrings; do not edit.
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, Self, SupportsIndex

import numpy as np
from numpy.typing import DTypeLike, NDArray

from fastclf._typing import Bool, Float, Rows

class Perceptron:
    penalty: Any
    alpha: Any
    l1_ratio: Any
    fit_intercept: Any
    max_iter: Any
    tol: Any
    shuffle: Any
    verbose: Any
    eta0: Any
    n_jobs: Any
    random_state: Any
    early_stopping: Any
    validation_fraction: Any
    n_iter_no_change: Any
    class_weight: Any
    warm_start: Any
    order: Any
    start: Any
    average: Any
    multi_class: Any
    callback: Any
    coef_: NDArray[Any]
    intercept_: NDArray[Any]
    classes_: NDArray[Any]
    n_features_in_: int
    feature_names_in_: NDArray[Any]
    n_iter_: int
    t_: int
    n_mistakes_: int | NDArray[Any]
    converged_: Bool
    stop_reason_: str
    loss_: float | NDArray[Any]
    margin_: float | NDArray[Any]
    radius_: float | NDArray[Any]
    mistake_bound_: float | NDArray[Any]
    voters_: NDArray[Any]
    voter_intercepts_: NDArray[Any]
    votes_: NDArray[Any]
    voter_starts_: NDArray[Any]
    def __init__(self, *, penalty: Literal['l2', 'l1', 'elasticnet'] | None = None, alpha: Float = 0.0001, l1_ratio: Float = 0.15, fit_intercept: Bool = True, max_iter: SupportsIndex = 1000, tol: Float | None = 0.001, shuffle: Bool = True, verbose: SupportsIndex = 0, eta0: Float = 1.0, n_jobs: SupportsIndex | None = None, random_state: SupportsIndex | np.random.RandomState | np.random.Generator | None = 0, early_stopping: Bool = False, validation_fraction: Float = 0.1, n_iter_no_change: SupportsIndex = 5, class_weight: Mapping[Any, Any] | Literal['balanced'] | None = None, warm_start: Bool = False, order: Literal['cyclic', 'shuffled', 'random', 'batch'] | None = None, start: Literal['zero', 'random', 'centroids'] = 'zero', average: Literal['none', 'averaged', 'voted', 'pocket'] = 'none', multi_class: Literal['ovr', 'joint'] = 'ovr', callback: Callable[..., Any] | None = None) -> None: ...
    def decision_function(self, X: Rows) -> NDArray[Any]: ...
    def densify(self) -> Self: ...
    def fit(self, X: Rows, y: Rows, coef_init: Rows | None = None, intercept_init: Rows | None = None, sample_weight: Rows | None = None) -> Self: ...
    def get_params(self, deep: Bool = True) -> dict[str, Any]: ...
    def partial_fit(self, X: Rows, y: Rows, classes: Rows | None = None, sample_weight: Rows | None = None) -> Self: ...
    def predict(self, X: Rows) -> NDArray[Any]: ...
    def score(self, X: Rows, y: Rows, sample_weight: Rows | None = None) -> float: ...
    def set_params(self, **params: Any) -> Self: ...
    def sparsify(self) -> Self: ...
