# Written by .ci/stubs.py from signatures and docstrings; do not edit.
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, Self, SupportsIndex

import numpy as np
from numpy.typing import DTypeLike, NDArray

from fastclf._typing import Bool, Float, Rows

class PredictionErrorDisplay:
    y_true: Any
    y_pred: Any
    line_: Any
    scatter_: Any
    ax_: Any
    figure_: Any
    def __init__(self, *, y_true: Rows, y_pred: Rows) -> None: ...
    @classmethod
    def from_estimator(cls, *args: Any, **kwargs: Any) -> Any: ...
    @classmethod
    def from_predictions(cls, *args: Any, **kwargs: Any) -> Any: ...
    def plot(self, ax: Any = None, *, kind: Literal['residual_vs_predicted', 'actual_vs_predicted'] = 'residual_vs_predicted', scatter_kwargs: Mapping[Any, Any] | None = None, line_kwargs: Mapping[Any, Any] | None = None) -> Self: ...
