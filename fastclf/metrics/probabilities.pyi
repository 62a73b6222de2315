# Written by .ci/stubs.py from signatures and docstrings; do not edit.
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, Self, SupportsIndex

import numpy as np
from numpy.typing import DTypeLike, NDArray

from fastclf._typing import Bool, Float, Rows

def brier_score_loss(y_true: Rows, y_proba: Rows, *, sample_weight: Rows | None = None, pos_label: Any = None, labels: Rows | None = None, scale_by_half: Bool | Literal["auto"] = 'auto') -> float: ...

def calibration_curve(y_true: Rows, y_prob: Rows, *, pos_label: Any = None, n_bins: SupportsIndex = 5, strategy: Literal["uniform", "quantile"] = 'uniform') -> tuple[NDArray[Any], NDArray[Any]]: ...

def d2_brier_score(y_true: Rows, y_proba: Rows, *, sample_weight: Rows | None = None, pos_label: Any = None, labels: Rows | None = None) -> float: ...

def d2_log_loss_score(y_true: Rows, y_proba: Rows | None = None, *, sample_weight: Rows | None = None, labels: Rows | None = None, y_pred: Rows = 'deprecated') -> float: ...

def hinge_loss(y_true: Rows, pred_decision: Rows, *, labels: Rows | None = None, sample_weight: Rows | None = None) -> float: ...

def log_loss(y_true: Rows, y_proba: Rows | None = None, *, normalize: Bool = True, sample_weight: Rows | None = None, labels: Rows | None = None, y_pred: Rows = 'deprecated') -> float: ...
