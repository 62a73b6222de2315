# Written by .ci/stubs.py from signatures and docstrings; do not edit.
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, Self, SupportsIndex

import numpy as np
from numpy.typing import DTypeLike, NDArray

from fastclf._typing import Bool, Float, Rows

def check_scoring(estimator: Any = None, scoring: str | Callable[..., Any] | Sequence[Any] | tuple[Any, ...] | Mapping[Any, Any] | None = None, *, allow_none: Bool = False, raise_exc: Bool = True) -> Callable[..., Any]: ...

def get_scorer(scoring: str | Callable[..., Any]) -> Callable[..., Any]: ...

def get_scorer_names() -> Sequence[str]: ...

def make_scorer(score_func: Callable[..., Any], *, response_method: Literal["predict", "predict_proba", "decision_function"] | Sequence[str] = 'predict', greater_is_better: Bool = True, **kwargs: Any) -> Callable[..., Any]: ...
