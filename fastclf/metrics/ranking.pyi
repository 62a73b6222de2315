# Written by .ci/stubs.py from signatures and docstrings; do not edit.
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, Self, SupportsIndex

import numpy as np
from numpy.typing import DTypeLike, NDArray

from fastclf._typing import Bool, Float, Rows

def coverage_error(y_true: Rows, y_score: Rows, *, sample_weight: Rows | None = None) -> float: ...

def dcg_score(y_true: Rows, y_score: Rows, *, k: SupportsIndex | None = None, log_base: Float = 2, sample_weight: Rows | None = None, ignore_ties: Bool = False) -> float: ...

def label_ranking_average_precision_score(y_true: Rows, y_score: Rows, *, sample_weight: Rows | None = None) -> float: ...

def label_ranking_loss(y_true: Rows, y_score: Rows, *, sample_weight: Rows | None = None) -> float: ...

def metric_at_thresholds(y_true: Rows, y_score: Rows, metric_func: Callable[..., Any], *, sample_weight: Rows | None = None, metric_params: Mapping[Any, Any] | None = None) -> tuple[NDArray[Any], NDArray[Any]]: ...

def ndcg_score(y_true: Rows, y_score: Rows, *, k: SupportsIndex | None = None, sample_weight: Rows | None = None, ignore_ties: Bool = False) -> float: ...
