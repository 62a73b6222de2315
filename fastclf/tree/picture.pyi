# Written by .ci/stubs.py from signatures and docstrings; do not edit.
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, Self, SupportsIndex

import numpy as np
from numpy.typing import DTypeLike, NDArray

from fastclf._typing import Bool, Float, Rows

def plot_tree(decision_tree: Any, *, max_depth: SupportsIndex | None = None, feature_names: Sequence[str] | None = None, class_names: Sequence[str] | Bool | None = None, label: Literal['all', 'root', 'none'] = 'all', filled: Bool = False, impurity: Bool = True, node_ids: Bool = False, proportion: Bool = False, rounded: Bool = False, precision: SupportsIndex = 3, ax: Any = None, fontsize: Float | None = None) -> Sequence[Any]: ...
