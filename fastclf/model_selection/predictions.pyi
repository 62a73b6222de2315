# Written by .ci/stubs.py from signatures and docstrings; do not edit.
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, Self, SupportsIndex

import numpy as np
from numpy.typing import DTypeLike, NDArray

from fastclf._typing import Bool, Float, Rows

def cross_val_predict(estimator: Any, X: Any, y: Rows | None = None, *, groups: Rows | None = None, cv: Any = None, n_jobs: SupportsIndex | None = None, verbose: SupportsIndex = 0, params: Mapping[Any, Any] | None = None, pre_dispatch: Any = '2*n_jobs', method: Literal["predict", "predict_proba", "predict_log_proba", "decision_function"] = 'predict') -> Any: ...
