"""What the stubs of the public names share. There is no such module at run time."""

from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

class Sparse(Protocol):
    """A matrix of SciPy's, in any format."""

    def tocsr(self) -> Any: ...

Rows: TypeAlias = ArrayLike | Sparse
Float: TypeAlias = float | np.floating[Any] | np.integer[Any]
Bool: TypeAlias = bool | np.bool
