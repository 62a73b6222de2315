"""Memory that one fit takes over from another.

The system clears pages of memory that a process has given back, one by one, when they are written again. For a pair of
classes of some hundred rows that took as long as to solve it.
"""

from collections import deque

import numpy as np

# _LARGE: larger arrays, for which NumPy asks for huge pages, are not kept. _LEAST: the least number of bytes of a block
# of memory. At most 16 MB are kept.
_LARGE, _LEAST = 1 << 22, 1 << 16
_kept = deque(maxlen=4)


class _Block:
    """Memory for an array, which is kept for other arrays as soon as no array uses it."""

    def __init__(self, n_bytes):
        self.memory = np.empty(0, np.uint8)
        for _ in range(len(_kept)):
            try:
                memory = _kept.popleft()
            except IndexError:  # other threads have taken the rest
                break
            if len(memory) >= n_bytes:
                self.memory = memory
                break
            _kept.append(memory)
        if len(self.memory) < n_bytes:
            self.memory = np.empty(max(_LEAST, 1 << (n_bytes - 1).bit_length()), np.uint8)
        self.__array_interface__ = self.memory.__array_interface__

    def __del__(self, keep=_kept.append):
        keep(self.memory)


def reused(n, dtype):
    """An uninitialised array of n numbers, as np.empty makes it, in memory of an array that no one uses any more."""
    n_bytes = n * np.dtype(dtype).itemsize
    if not 0 < n_bytes <= _LARGE:
        return np.empty(n, dtype)
    return np.asarray(_Block(n_bytes))[:n_bytes].view(dtype)
