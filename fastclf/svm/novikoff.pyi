# Written by .ci/stubs.py from signatures and docstrings; do not edit.
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, Self, SupportsIndex

import numpy as np
from numpy.typing import DTypeLike, NDArray

from fastclf._typing import Bool, Float, Rows

def novikoff_bound(X: Rows, y: Rows, *, fit_intercept: Bool = True) -> Any: ...

class NovikoffBound:
    mistakes: float | NDArray[Any]
    radius: float | NDArray[Any]
    margin: float | NDArray[Any]
    coef: NDArray[Any]
    intercept: float | NDArray[Any]
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...
    count: Any
    index: Any
