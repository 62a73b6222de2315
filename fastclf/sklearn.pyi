# Written by .ci/stubs.py from signatures and docstrings; do not edit.
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, Self, SupportsIndex

import numpy as np
from numpy.typing import DTypeLike, NDArray

from fastclf._typing import Bool, Float, Rows

def patch_sklearn(names: Sequence[str] | Literal['all'] | None = None, verbose: Bool = False) -> Sequence[str]: ...

def unpatch_sklearn() -> Any: ...
