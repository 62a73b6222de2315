"""Memory that one fit takes over from another.

The system clears pages of memory that a process has given back, one by one, when they are written again. For a pair of
classes of some hundred rows that took as long as to solve it.
"""

from collections import deque
from weakref import ref

import numpy as np

# A block of memory has a power of two as its number of bytes, from _LEAST to _MOST. At most two of each size are kept,
# which are less than 16 MB together. Larger arrays need none, since NumPy asks for huge pages for them.
# Each is kept with a weak reference to the _Block of its last array.
_LEAST, _MOST = 1 << 16, 1 << 22
_kept = {1 << i: deque(maxlen=2) for i in range(_LEAST.bit_length() - 1, _MOST.bit_length())}


class _Block:
    """Memory for an array; this object lives as long as an array uses it.

    No method runs when it dies: Python drops what Ctrl-C raises in `__del__` and in callbacks of weak references.
    """

    def __init__(self, memory):
        self.memory = memory
        self.__array_interface__ = memory.__array_interface__


def _idle(kept):
    """Memory, taken out of `kept`, that no array uses; None if there is none."""
    for _ in range(len(kept)):
        try:
            memory, block = kept.popleft()
        except IndexError:  # other threads have taken the rest
            break
        if block() is None:
            return memory
        kept.append((memory, block))
    return None


def reused(n, dtype):
    """An uninitialised array of n numbers, as np.empty makes it, in memory of an array that no one uses any more."""
    n_bytes = n * np.dtype(dtype).itemsize
    if not _LEAST // 2 < n_bytes <= _MOST:
        return np.empty(n, dtype)
    size = 1 << (n_bytes - 1).bit_length()
    kept = _kept[size]
    memory = _idle(kept)
    if memory is None:
        memory = np.empty(size, np.uint8)
    block = _Block(memory)
    kept.append((memory, ref(block)))
    return np.asarray(block)[:n_bytes].view(dtype)
