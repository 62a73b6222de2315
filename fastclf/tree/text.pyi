# Written by .ci/stubs.py from signatures and docstrings; do not edit.
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, Self, SupportsIndex

import numpy as np
from numpy.typing import DTypeLike, NDArray

from fastclf._typing import Bool, Float, Rows

def export_rules(decision_tree: Any, *, feature_names: Sequence[str] | None = None, class_names: Sequence[str] | None = None, decimals: SupportsIndex = 2) -> str: ...

def export_text(decision_tree: Any, *, feature_names: Sequence[str] | None = None, class_names: Sequence[str] | None = None, max_depth: SupportsIndex = 10, spacing: SupportsIndex = 3, decimals: SupportsIndex = 2, show_weights: Bool = False) -> str: ...

def rules(decision_tree: Any) -> Sequence[Mapping[Any, Any]]: ...
