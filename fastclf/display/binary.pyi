# Written by .ci/stubs.py from signatures and docstrings; do not edit.
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, Self, SupportsIndex

import numpy as np
from numpy.typing import DTypeLike, NDArray

from fastclf._typing import Bool, Float, Rows

class CalibrationDisplay:
    prob_true: Any
    prob_pred: Any
    y_prob: Any
    estimator_name: Any
    pos_label: Any
    line_: Any
    ax_: Any
    figure_: Any
    def __init__(self, prob_true: NDArray[Any], prob_pred: NDArray[Any], y_prob: NDArray[Any], *, estimator_name: str | None = None, pos_label: Any = None) -> None: ...
    @classmethod
    def from_estimator(cls, *args: Any, **kwargs: Any) -> Any: ...
    @classmethod
    def from_predictions(cls, *args: Any, **kwargs: Any) -> Any: ...
    def plot(self, *, ax: Any = None, name: Any = None, ref_line: Any = True, **kwargs: Any) -> Any: ...

class DetCurveDisplay:
    fpr: Any
    fnr: Any
    estimator_name: Any
    pos_label: Any
    line_: Any
    ax_: Any
    figure_: Any
    def __init__(self, *, fpr: NDArray[Any], fnr: NDArray[Any], estimator_name: str | None = None, pos_label: Any = None) -> None: ...
    @classmethod
    def from_estimator(cls, *args: Any, **kwargs: Any) -> Any: ...
    @classmethod
    def from_predictions(cls, *args: Any, **kwargs: Any) -> Any: ...
    def plot(self, ax: Any = None, *, name: Any = None, **kwargs: Any) -> Any: ...

class PrecisionRecallDisplay:
    precision: Any
    recall: Any
    average_precision: Any
    name: Any
    pos_label: Any
    prevalence_pos_label: Any
    estimator_name: Any
    line_: Any
    chance_level_: Any
    ax_: Any
    figure_: Any
    def __init__(self, precision: NDArray[Any] | Sequence[Any], recall: NDArray[Any] | Sequence[Any], *, average_precision: Float | Sequence[Any] | None = None, name: str | Sequence[str] | None = None, pos_label: Any = None, prevalence_pos_label: Float | Sequence[Any] | None = None, estimator_name: str = 'deprecated') -> None: ...
    @classmethod
    def from_cv_results(cls, *args: Any, **kwargs: Any) -> Any: ...
    @classmethod
    def from_estimator(cls, *args: Any, **kwargs: Any) -> Any: ...
    @classmethod
    def from_predictions(cls, *args: Any, **kwargs: Any) -> Any: ...
    def plot(self, ax: Any = None, *, name: Any = None, curve_kwargs: Any = None, plot_chance_level: Any = False, chance_level_kw: Any = None, despine: Any = False, **kwargs: Any) -> Any: ...

class RocCurveDisplay:
    fpr: Any
    tpr: Any
    roc_auc: Any
    name: Any
    pos_label: Any
    line_: Any
    chance_level_: Any
    ax_: Any
    figure_: Any
    def __init__(self, fpr: NDArray[Any] | Sequence[Any], tpr: NDArray[Any] | Sequence[Any], *, roc_auc: Float | Sequence[Any] | None = None, name: str | Sequence[str] | None = None, pos_label: Any = None) -> None: ...
    @classmethod
    def from_cv_results(cls, *args: Any, **kwargs: Any) -> Any: ...
    @classmethod
    def from_estimator(cls, *args: Any, **kwargs: Any) -> Any: ...
    @classmethod
    def from_predictions(cls, *args: Any, **kwargs: Any) -> Any: ...
    def plot(self, ax: Any = None, *, name: Any = None, curve_kwargs: Any = None, plot_chance_level: Any = False, chance_level_kw: Any = None, despine: Any = False) -> Any: ...
