# Written by .ci/stubs.py from signatures and docstrings; do not edit.
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, Self, SupportsIndex

import numpy as np
from numpy.typing import DTypeLike, NDArray

from fastclf._typing import Bool, Float, Rows

def stratified_folds(y: Rows, n_folds: SupportsIndex = 10, random_state: SupportsIndex | np.random.Generator | None = 0) -> Any: ...

def check_cv(cv: Any = 5, y: Rows | None = None, *, classifier: Bool = False, shuffle: Bool = False, random_state: SupportsIndex | np.random.RandomState | None = None) -> Any: ...
