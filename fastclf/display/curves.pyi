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
    score_name: Any
    ax_: Any
    figure_: Any
    lines_: Sequence[Any] | None
    fill_between_: Sequence[Any] | None
    errorbar_: Sequence[Any] | None
    def __init__(self, train_sizes: NDArray[Any], train_scores: NDArray[Any], test_scores: NDArray[Any], score_name: str | None = None) -> None: ...
    @classmethod
    def from_estimator(cls, *args: Any, **kwargs: Any) -> Any: ...
    def plot(self, ax: Any = None, *, negate_score: Bool = False, score_name: str | None = None, score_type: Literal['test', 'train', 'both', 'error'] | None = None, std_display_style: Literal['fill_between', 'errorbar'] | None = 'fill_between', line_kw: Mapping[Any, Any] | None = None, fill_between_kw: Mapping[Any, Any] | None = None, errorbar_kw: Mapping[Any, Any] | None = None) -> Self: ...

class PruningDisplay(ValidationCurveDisplay):
    tuning: Any
    train_errors: Any
    path: Any
    ax_: Any
    figure_: Any
    def __init__(self, tuning: Any, *, train_errors: NDArray[Any] | None = None, path: Mapping[Any, Any] | None = None) -> None: ...
    @classmethod
    def from_estimator(cls, *args: Any, **kwargs: Any) -> Any: ...
    def plot(self, ax: Any = None, *, negate_score: Bool = False, score_name: str | None = None, score_type: Literal['test', 'train', 'both', 'error'] | None = None, std_display_style: Literal['fill_between', 'errorbar'] | None = 'fill_between', line_kw: Mapping[Any, Any] | None = None, fill_between_kw: Mapping[Any, Any] | None = None, errorbar_kw: Mapping[Any, Any] | None = None) -> Self: ...

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
    param_name: Any
    param_range: Any
    train_scores: Any
    test_scores: Any
    score_name: Any
    ax_: Any
    figure_: Any
    lines_: Sequence[Any] | None
    fill_between_: Sequence[Any] | None
    errorbar_: Sequence[Any] | None
    def __init__(self, tuning: Any = None, *, train_errors: NDArray[Any] | None = None, param_name: str | None = None, param_range: Rows | None = None, train_scores: NDArray[Any] | None = None, test_scores: NDArray[Any] | None = None, score_name: str | None = None) -> None: ...
    @classmethod
    def from_estimator(cls, *args: Any, **kwargs: Any) -> Any: ...
    def plot(self, ax: Any = None, *, negate_score: Bool = False, score_name: str | None = None, score_type: Literal['test', 'train', 'both', 'error'] | None = None, std_display_style: Literal['fill_between', 'errorbar'] | None = 'fill_between', line_kw: Mapping[Any, Any] | None = None, fill_between_kw: Mapping[Any, Any] | None = None, errorbar_kw: Mapping[Any, Any] | None = None) -> Self: ...
