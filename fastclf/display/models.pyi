# Written by .ci/stubs.py from signatures and docstrings; do not edit.
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, Self, SupportsIndex

import numpy as np
from numpy.typing import DTypeLike, NDArray

from fastclf._typing import Bool, Float, Rows

class DecisionBoundaryDisplay:
    estimator: Any
    xlim: Any
    ylim: Any
    grid_resolution: Any
    xx0: Any
    xx1: Any
    n_classes: Any
    response: Any
    multiclass_colors: Any
    xlabel: Any
    ylabel: Any
    surface_: Any
    multiclass_colors_: NDArray[Any]
    ax_: Any
    figure_: Any
    def __init__(self, estimator: Any = None, xlim: Sequence[Any] | None = None, ylim: Sequence[Any] | None = None, *, grid_resolution: SupportsIndex = 300, xx0: NDArray[Any] | None = None, xx1: NDArray[Any] | None = None, n_classes: SupportsIndex | None = None, response: NDArray[Any] | None = None, multiclass_colors: str | Sequence[Any] | None = None, xlabel: str | None = None, ylabel: str | None = None) -> None: ...
    @classmethod
    def from_estimator(cls, *args: Any, **kwargs: Any) -> Any: ...
    def plot(self, X: Rows | None = None, y: Rows | None = None, *, feature_names: Any = None, ax: Any = None, plot_method: Any = None, xlabel: Any = None, ylabel: Any = None, **options: Any) -> Any: ...

class TreeDisplay:
    estimator: Any
    max_depth: Any
    feature_names: Any
    class_names: Any
    ax_: Any
    figure_: Any
    def __init__(self, estimator: Any, *, max_depth: SupportsIndex | None = None, feature_names: Sequence[str] | None = None, class_names: Sequence[str] | None = None) -> None: ...
    @classmethod
    def from_estimator(cls, *args: Any, **kwargs: Any) -> Any: ...
    def plot(self, ax: Any = None) -> Any: ...
