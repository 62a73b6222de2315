# Written by .ci/stubs.py from signatures and docstrings; do not edit.
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, Self, SupportsIndex

import numpy as np
from numpy.typing import DTypeLike, NDArray

from fastclf._typing import Bool, Float, Rows

def load(path: str | os.PathLike[str], verify: Bool = False) -> Any: ...

def save(estimator: Any, path: str | os.PathLike[str]) -> Any: ...
