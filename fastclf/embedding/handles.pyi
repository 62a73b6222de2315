# Written by .ci/stubs.py from signatures and docstrings; do not edit.
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, Self, SupportsIndex

import numpy as np
from numpy.typing import DTypeLike, NDArray

from fastclf._typing import Bool, Float, Rows

def embed(model: Any) -> Any: ...

def get_include() -> str: ...

class Embedded:
    front: Any
    kind: Literal['neighbors', 'linear', 'bayes', 'tree', 'machine']
    n_features: int
    n_outputs: int
    classes: NDArray[Any] | None
    columns: Sequence[str] | None
    categories: Sequence[Any] | None
    address: int
    capsule: Any
    def __init__(self, kind: Any, n_outputs: Any, classes: Any, capsule: Any, front: Any = None) -> None: ...
    def scratch_size(self, n: Any = 1, k: Any = 1) -> Any: ...

class Function:
    address: int
    signature: str
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...
    count: Any
    @property
    def ctypes(self) -> Any: ...
    index: Any
    @property
    def types(self) -> Any: ...

def functions() -> Mapping[Any, Any]: ...
