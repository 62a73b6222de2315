# Written by .ci/stubs.py from signatures and docstrings; do not edit.
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, Self, SupportsIndex

import numpy as np
from numpy.typing import DTypeLike, NDArray

from fastclf._typing import Bool, Float, Rows

class ParameterGrid:
    param_grid: Any
    def __init__(self, param_grid: Mapping[Any, Any] | Sequence[Mapping[Any, Any]]) -> None: ...

class ParameterSampler:
    param_distributions: Any
    n_iter: Any
    random_state: Any
    def __init__(self, param_distributions: Mapping[Any, Any] | Sequence[Mapping[Any, Any]], n_iter: SupportsIndex, *, random_state: SupportsIndex | np.random.RandomState | None = None) -> None: ...
