# Written by .ci/stubs.py from signatures and docstrings; do not edit.
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, Self, SupportsIndex

import numpy as np
from numpy.typing import DTypeLike, NDArray

from fastclf._typing import Bool, Float, Rows

class ContingencyTable:
    counts: NDArray[Any]
    labels: NDArray[Any]
    n: Any
    TP: Any
    FP: Any
    FN: Any
    TN: Any
    accuracy: float
    error: float
    balanced_accuracy: float
    kappa: float
    mcc: float
    majority_error: float
    uniform_error: float
    proportional_error: float
    def __init__(self, counts: Rows, labels: Rows | None = None) -> None: ...
    def cost(self, cost_matrix: Rows) -> float: ...
    def f1(self, average: Any = None) -> Any: ...
    def figures(self) -> Any: ...
    def precision(self, average: Literal['binary', 'macro', 'micro', 'weighted'] | None = None) -> float | NDArray[Any]: ...
    def recall(self, average: Any = None) -> Any: ...
    def specificity(self) -> Any: ...

def contingency_table(y_true: Rows, y_pred: Rows, *, labels: Rows | None = None, sample_weight: Rows | None = None) -> Any: ...
