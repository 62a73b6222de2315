# Written by .ci/stubs.py from signatures and docstrings; do not edit.
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, Self, SupportsIndex

import numpy as np
from numpy.typing import DTypeLike, NDArray

from fastclf._typing import Bool, Float, Rows

def majority_error(y: Rows, folds: Iterable[Any] | None = None) -> float: ...

def paired_comparison(one: Any, other: Any, level: Float = 0.95) -> Any: ...

class CrossValidation:
    error: float
    standard_error: float
    n_train: NDArray[Any]
    n_test: NDArray[Any]
    table: Any
    shortcut: Bool
    interrupted: Bool
    folds: Sequence[Any]
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...
    clear: Any
    copy: Any
    fromkeys: Any
    get: Any
    items: Any
    keys: Any
    @property
    def microseconds_per_query(self) -> Any: ...
    pop: Any
    popitem: Any
    @property
    def scores(self) -> Any: ...
    setdefault: Any
    update: Any
    values: Any

class CrossValidations:
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...
    clear: Any
    def compare(self, one: Any, other: Any, level: Any = 0.95) -> Any: ...
    copy: Any
    fromkeys: Any
    get: Any
    items: Any
    keys: Any
    pop: Any
    popitem: Any
    setdefault: Any
    update: Any
    values: Any
    @property
    def winner(self) -> Any: ...

class PairedComparison:
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...
    count: Any
    difference: Any
    high: Any
    index: Any
    level: Any
    low: Any
    p_value: Any
    standard_error: Any
