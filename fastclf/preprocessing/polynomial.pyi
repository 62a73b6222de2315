# Written by .ci/stubs.py from signatures and docstrings; do not edit.
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, Self, SupportsIndex

import numpy as np
from numpy.typing import DTypeLike, NDArray

from fastclf._typing import Bool, Float, Rows

class PolynomialFeatures:
    degree: Any
    interaction_only: Any
    include_bias: Any
    order: Any
    powers_: NDArray[Any]
    n_output_features_: int
    n_features_in_: int
    feature_names_in_: NDArray[Any]
    def __init__(self, degree: SupportsIndex | Sequence[Any] = 2, *, interaction_only: Bool = False, include_bias: Bool = True, order: Literal['C', 'F'] = 'C') -> None: ...
    def fit(self, X: Rows, y: Any = None) -> Self: ...
    def fit_transform(self, X: Rows, y: Rows | None = None, **fit_params: Any) -> Any: ...
    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]: ...
    def get_params(self, deep: Bool = True) -> dict[str, Any]: ...
    def set_output(self, *, transform: Literal['default', 'pandas', 'polars'] | None = None) -> Self: ...
    def set_params(self, **params: Any) -> Self: ...
    def transform(self, X: Rows) -> NDArray[Any] | Any: ...
