"""Arrays that begin on a cache line."""

import numpy as np


def aligned(shape, dtype, make=np.empty):
    """An array, by default uninitialised, that begins on a cache line.

    A vector load across two lines would take twice as long. make(n, dtype) makes an array of n bytes.
    """
    size = np.dtype(dtype).itemsize * shape[0] * shape[1]
    raw = make(size + 64, np.uint8)
    start = -raw.ctypes.data % 64
    return raw[start : start + size].view(dtype).reshape(shape)
