# Written by .ci/stubs.py from signatures and docstrings; do not edit.
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, Self, SupportsIndex

import numpy as np
from numpy.typing import DTypeLike, NDArray

from fastclf._typing import Bool, Float, Rows

def auc(x: Rows, y: Rows) -> float: ...

def confusion_matrix_at_thresholds(y_true: Rows, y_score: Rows, *, pos_label: Any = None, sample_weight: Rows | None = None) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]: ...

def det_curve(y_true: Rows, y_score: Rows, pos_label: Any = None, sample_weight: Rows | None = None, drop_intermediate: Bool = False) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]: ...

def precision_recall_curve(y_true: Rows, y_score: Rows, *, pos_label: Any = None, sample_weight: Rows | None = None, drop_intermediate: Bool = False) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]: ...

def roc_curve(y_true: Rows, y_score: Rows, *, pos_label: Any = None, sample_weight: Rows | None = None, drop_intermediate: Bool = True) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]: ...
