# Written by .ci/stubs.py from signatures and docstrings; do not edit.
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, Self, SupportsIndex

import numpy as np
from numpy.typing import DTypeLike, NDArray

from fastclf._typing import Bool, Float, Rows

def permutation_test_score(estimator: Any, X: Any, y: Rows, *, groups: Rows | None = None, cv: Any = None, n_permutations: SupportsIndex = 100, n_jobs: SupportsIndex | None = None, random_state: SupportsIndex | np.random.RandomState | None = 0, verbose: SupportsIndex = 0, scoring: str | Callable[..., Any] | None = None, params: Mapping[Any, Any] | None = None) -> tuple[float, NDArray[Any], float]: ...
