# Written by .ci/stubs.py from signatures and docstrings; do not edit.
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, Self, SupportsIndex

import numpy as np
from numpy.typing import DTypeLike, NDArray

from fastclf._typing import Bool, Float, Rows

class OneHotEncoder:
    categories: Any
    drop: Any
    sparse_output: Any
    dtype: Any
    handle_unknown: Any
    min_frequency: Any
    max_categories: Any
    feature_name_combiner: Any
    categories_: list[NDArray[Any]]
    drop_idx_: Any
    infrequent_categories_: list[NDArray[Any]] | None
    n_features_in_: int
    feature_names_in_: NDArray[Any]
    def __init__(self, *, categories: Literal['auto'] | list[NDArray[Any]] = 'auto', drop: Literal['first', 'if_binary'] | Rows | None = None, sparse_output: Bool = True, dtype: DTypeLike | str = 'float64', handle_unknown: Literal['error', 'ignore', 'infrequent_if_exist', 'warn'] = 'error', min_frequency: SupportsIndex | Float | None = None, max_categories: SupportsIndex | None = None, feature_name_combiner: Literal['concat'] | Callable[..., Any] = 'concat') -> None: ...
    def fit(self, X: Rows, y: Any = None) -> Self: ...
    def fit_transform(self, X: Rows, y: Rows | None = None, **fit_params: Any) -> Any: ...
    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]: ...
    def get_params(self, deep: Bool = True) -> dict[str, Any]: ...
    def inverse_transform(self, X: Rows) -> NDArray[Any]: ...
    def set_output(self, *, transform: Literal['default', 'pandas', 'polars'] | None = None) -> Self: ...
    def set_params(self, **params: Any) -> Self: ...
    def transform(self, X: Rows) -> Any: ...
