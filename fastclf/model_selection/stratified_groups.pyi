# Written by .ci/stubs.py from signatures and docstrings; do not edit.
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, Self, SupportsIndex

import numpy as np
from numpy.typing import DTypeLike, NDArray

from fastclf._typing import Bool, Float, Rows

class StratifiedGroupKFold:
    n_splits: Any
    shuffle: Any
    random_state: Any
    def __init__(self, n_splits: SupportsIndex = 5, shuffle: Bool = False, random_state: SupportsIndex | np.random.RandomState | None = None) -> None: ...
    def get_metadata_routing(self) -> Any: ...
    def get_n_splits(self, X: Rows | None = None, y: Rows | None = None, groups: Any = None) -> Any: ...
    def set_split_request(self, *, groups: Bool | str | None = '$UNCHANGED$') -> Self: ...
    def split(self, X: Rows, y: Rows | None = None, groups: Rows | None = None) -> Any: ...
