"""Memory that one fit takes over from another.

The system clears pages of memory that a process has given back, one by one, when they are written again. For a pair of
classes of some hundred rows that took as long as to solve it.
"""

from collections import deque

import numpy as np

# A block of memory has a power of two as its number of bytes, from _LEAST to _MOST. At most two of each size are kept,
# which are less than 16 MB together. Larger arrays need none, since NumPy asks for huge pages for them.
_LEAST, _MOST = 1 << 16, 1 << 22
_kept = {1 << i: deque(maxlen=2) for i in range(_LEAST.bit_length() - 1, _MOST.bit_length())}


class _Block:
    """Memory for an array, which is kept for other arrays as soon as no array uses it."""

    def __init__(self, memory, kept):
        self.memory, self.kept = memory, kept
        self.__array_interface__ = memory.__array_interface__

    def __del__(self):
        self.kept.append(self.memory)


def reused(n, dtype):
    """An uninitialised array of n numbers, as np.empty makes it, in memory of an array that no one uses any more."""
    n_bytes = n * np.dtype(dtype).itemsize
    if not _LEAST // 2 < n_bytes <= _MOST:
        return np.empty(n, dtype)
    size = 1 << (n_bytes - 1).bit_length()
    kept = _kept[size]
    try:
        memory = kept.pop()
    except IndexError:
        memory = np.empty(size, np.uint8)
    return np.asarray(_Block(memory, kept))[:n_bytes].view(dtype)
