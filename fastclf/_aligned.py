"""Arrays that begin on a cache line."""

import numpy as np


def aligned(shape, dtype):
    """An uninitialised array that begins on a cache line: a vector load across two lines would take twice as long."""
    size = np.dtype(dtype).itemsize * shape[0] * shape[1]
    raw = np.empty(size + 64, np.uint8)
    start = -raw.ctypes.data % 64
    return raw[start : start + size].view(dtype).reshape(shape)
