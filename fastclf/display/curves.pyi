# Written by .ci/stubs.py from signatures and docstrings; do not edit.
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, Self, SupportsIndex

import numpy as np
from numpy.typing import DTypeLike, NDArray

from fastclf._typing import Bool, Float, Rows

class LearningCurveDisplay:
    train_sizes: Any
    train_scores: Any
    test_scores: Any
    ax_: Any
    figure_: Any
    def __init__(self, train_sizes: NDArray[Any], train_scores: NDArray[Any], test_scores: NDArray[Any]) -> None: ...
    @classmethod
    def from_estimator(cls, *args: Any, **kwargs: Any) -> Any: ...
    def plot(self, ax: Any = None) -> Any: ...

class PruningDisplay(ValidationCurveDisplay):
    tuning: Any
    train_errors: Any
    path: Any
    ax_: Any
    figure_: Any
    def __init__(self, tuning: Any, *, train_errors: NDArray[Any] | None = None, path: Mapping[Any, Any] | None = None) -> None: ...
    @classmethod
    def from_estimator(cls, *args: Any, **kwargs: Any) -> Any: ...
    def plot(self, ax: Any = None) -> Any: ...

class QueryCostDisplay:
    results: Any
    ax_: Any
    figure_: Any
    def __init__(self, results: Mapping[Any, Any]) -> None: ...
    @classmethod
    def from_results(cls, *args: Any, **kwargs: Any) -> Any: ...
    def plot(self, ax: Any = None) -> Any: ...

class ValidationCurveDisplay:
    tuning: Any
    train_errors: Any
    ax_: Any
    figure_: Any
    def __init__(self, tuning: Any, *, train_errors: NDArray[Any] | None = None) -> None: ...
    @classmethod
    def from_estimator(cls, *args: Any, **kwargs: Any) -> Any: ...
    def plot(self, ax: Any = None) -> Any: ...
