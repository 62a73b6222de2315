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
    surface_: Any
    ax_: Any
    figure_: Any
    def __init__(self, estimator: Any, xlim: Sequence[Any], ylim: Sequence[Any], *, grid_resolution: SupportsIndex = 300) -> None: ...
    @classmethod
    def from_estimator(cls, *args: Any, **kwargs: Any) -> Any: ...
    def plot(self, X: Rows | None = None, y: Rows | None = None, *, feature_names: Any = None, ax: Any = None) -> Any: ...

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
