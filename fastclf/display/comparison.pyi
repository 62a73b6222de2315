# Written by .ci/stubs.py from signatures and docstrings; do not edit.
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, Self, SupportsIndex

import numpy as np
from numpy.typing import DTypeLike, NDArray

from fastclf._typing import Bool, Float, Rows

class ComparisonDisplay:
    results: Any
    baseline: Any
    title: Any
    ax_: Any
    figure_: Any
    def __init__(self, results: Mapping[Any, Any], *, baseline: Float | None = None, title: str | None = None) -> None: ...
    @classmethod
    def from_results(cls, *args: Any, **kwargs: Any) -> Any: ...
    def plot(self, ax: Any = None) -> Any: ...

def comparison_figure(displays: Any) -> Any: ...
