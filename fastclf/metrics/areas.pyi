# Written by .ci/stubs.py from signatures and docstrings; do not edit.
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, Self, SupportsIndex

import numpy as np
from numpy.typing import DTypeLike, NDArray

from fastclf._typing import Bool, Float, Rows

def average_precision_score(y_true: Rows, y_score: Rows, *, average: Literal["micro", "macro", "weighted", "samples"] | None = 'macro', pos_label: Any = 1, sample_weight: Rows | None = None) -> float | NDArray[Any]: ...

def roc_auc_score(y_true: Rows, y_score: Rows, *, average: Literal["micro", "macro", "weighted", "samples"] | None = 'macro', sample_weight: Rows | None = None, max_fpr: Float | None = None, multi_class: Literal["raise", "ovr", "ovo"] = 'raise', labels: Rows | None = None) -> float | NDArray[Any]: ...

def top_k_accuracy_score(y_true: Rows, y_score: Rows, *, k: SupportsIndex = 2, normalize: Bool = True, sample_weight: Rows | None = None, labels: Rows | None = None) -> float: ...
