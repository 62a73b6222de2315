# Written by .ci/stubs.py from signatures and docstrings; do not edit.
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, Self, SupportsIndex

import numpy as np
from numpy.typing import DTypeLike, NDArray

from fastclf._typing import Bool, Float, Rows

class ConfusionMatrixDisplay:
    confusion_matrix: Any
    display_labels: Any
    im_: Any
    text_: NDArray[Any] | None
    ax_: Any
    figure_: Any
    def __init__(self, confusion_matrix: Any, *, display_labels: Rows | None = None) -> None: ...
    @classmethod
    def from_estimator(cls, *args: Any, **kwargs: Any) -> Any: ...
    @classmethod
    def from_predictions(cls, *args: Any, **kwargs: Any) -> Any: ...
    def plot(self, ax: Any = None, *, include_values: Any = True, cmap: Any = 'viridis', xticks_rotation: Any = 'horizontal', values_format: Any = None, colorbar: Any = True, im_kw: Any = None, text_kw: Any = None) -> Any: ...
