# Written by .ci/stubs.py from signatures and docstrings; do not edit.
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, Self, SupportsIndex

import numpy as np
from numpy.typing import DTypeLike, NDArray

from fastclf._typing import Bool, Float, Rows

class DensityTree:
    min_samples_leaf: Any
    min_samples_split: Any
    ccp_alpha: Any
    cv: Any
    one_se: Any
    bounds: Any
    random_state: Any
    n_jobs: Any
    verbose: Any
    callback: Any
    tree_: Any
    bounds_: NDArray[Any]
    ccp_alpha_: float
    cv_results_: Mapping[Any, Any]
    n_features_in_: int
    feature_names_in_: NDArray[Any]
    def __init__(self, *, min_samples_leaf: SupportsIndex = 5, min_samples_split: SupportsIndex = 10, ccp_alpha: Float | Literal['cv'] = 'cv', cv: SupportsIndex | Literal['loo'] = 10, one_se: Bool = False, bounds: Rows | None = None, random_state: SupportsIndex | np.random.RandomState | np.random.Generator | None = None, n_jobs: SupportsIndex | None = None, verbose: SupportsIndex = 0, callback: Callable[..., Any] | None = None) -> None: ...
    def apply(self, X: Rows) -> NDArray[Any]: ...
    def fit(self, X: Rows, y: Any = None) -> Self: ...
    def get_params(self, deep: Bool = True) -> dict[str, Any]: ...
    def score(self, X: Rows, y: Rows | None = None) -> float: ...
    def score_samples(self, X: Rows) -> NDArray[Any]: ...
    def set_params(self, **params: Any) -> Self: ...
