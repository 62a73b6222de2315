# Written by .ci/stubs.py from signatures and docstrings; do not edit.
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, Self, SupportsIndex

import numpy as np
from numpy.typing import DTypeLike, NDArray

from fastclf._typing import Bool, Float, Rows

class LeastSquaresClassifier:
    alpha: Any
    fit_intercept: Any
    n_jobs: Any
    verbose: Any
    callback: Any
    coef_: NDArray[Any]
    intercept_: NDArray[Any]
    classes_: NDArray[Any]
    rank_: int
    condition_: float
    n_features_in_: int
    feature_names_in_: NDArray[Any]
    def __init__(self, alpha: Float = 0.0, *, fit_intercept: Bool = True, n_jobs: SupportsIndex | None = None, verbose: SupportsIndex = 0, callback: Callable[..., Any] | None = None) -> None: ...
    def decision_function(self, X: Rows) -> NDArray[Any]: ...
    def fit(self, X: Rows, y: Rows, sample_weight: Rows | None = None) -> Self: ...
    def get_params(self, deep: Bool = True) -> dict[str, Any]: ...
    def leave_one_out(self, X: Rows, y: Rows, sample_weight: Rows | None = None) -> NDArray[Any]: ...
    def predict(self, X: Rows) -> NDArray[Any]: ...
    def score(self, X: Rows, y: Rows, sample_weight: Rows | None = None) -> float: ...
    def set_params(self, **params: Any) -> Self: ...
