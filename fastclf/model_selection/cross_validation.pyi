# Written by .ci/stubs.py from signatures and docstrings; do not edit.
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, Self, SupportsIndex

import numpy as np
from numpy.typing import DTypeLike, NDArray

from fastclf._typing import Bool, Float, Rows

def cross_val_score(estimator: Any, X: Any, y: Rows | None = None, *, groups: Rows | None = None, scoring: str | Callable[..., Any] | None = None, cv: Any = None, n_jobs: SupportsIndex | None = None, verbose: SupportsIndex = 0, params: Mapping[Any, Any] | None = None, pre_dispatch: Any = '2*n_jobs', error_score: Float | Literal["raise"] = ...) -> NDArray[Any]: ...

def cross_validate(estimator: Any, X: Any, y: Rows | None = None, *, groups: Rows | None = None, scoring: str | Callable[..., Any] | Sequence[Any] | Mapping[Any, Any] | None = None, cv: Any = None, n_jobs: SupportsIndex | None = None, verbose: SupportsIndex = 0, params: Mapping[Any, Any] | None = None, pre_dispatch: Any = '2*n_jobs', return_train_score: Bool = False, return_estimator: Bool = False, return_indices: Bool = False, error_score: Float | Literal["raise"] = ..., repeats: SupportsIndex = 1, random_state: SupportsIndex | np.random.Generator | None = None, shortcuts: Bool = True, callback: Callable[..., Any] | None = None) -> Any: ...
