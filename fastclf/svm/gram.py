"""Kernel values between the rows of a fit, either computed by compiled code or returned by a function."""

import numpy as np

from .. import _simd
from ..kernels import values as kernel_values
from ..kernels.values import Block
from .reused import reused

# The rows of kernel matrices are padded with zeros to a multiple of this length, because compiled steps read whole SIMD
# vectors.
PAD = _simd.load("svm._smo").PAD


class Gram:
    """Kernel values between the rows of X, computed in `dtype` by compiled code."""

    row_numbers = None  # the users' numbers of the rows of X, for messages; None: 0, 1, ...

    def __init__(self, kernel, X, dtype, free_dtype=False):
        self.kernel, self.X, self.dtype = kernel, X, np.dtype(dtype)
        # whether the dtype of kernel values may be changed later, from float32 to float64 or the reverse
        self.free_dtype = free_dtype
        self.wide = kernel_values.compiled.width(self.dtype == np.float32)

    def __len__(self):
        return len(self.X)

    def of_type(self, dtype):
        return self if self.dtype == dtype else Gram(self.kernel, self.X, dtype)

    def rounding(self):
        return self.kernel.rounding(self.X, self.dtype)

    def diagonal(self, rows):
        return self.kernel.diagonal(self.X)[rows]

    def pack(self, rows):
        return kernel_values.Packed(self.X, rows, self.dtype)

    def fill(self, Z, rows, out, threads, mirrored=False):
        """out[:, : len(rows)] = the kernel values between the packed rows Z and the listed rows.

        mirrored: Z has the listed rows, and half of the values are computed.
        """
        kernel_values.fill(Block(self.kernel, self.X, Z, Z.all, rows), out, threads, mirrored)

    def square(self, Z, rows, threads):
        """The kernel matrix of the packed rows Z, which are `rows`; columns of zeros pad it to a multiple of PAD."""
        out = padded_square(len(rows), self.dtype)
        self.fill(Z, rows, out, threads, mirrored=True)
        return out

    def add(self, Z, picked, coef, columns, out, threads, cached=None):
        """out[:, i] += coef @ the kernel values between row columns[i] and the packed rows Z[picked]."""
        kernel_values.add(Block(self.kernel, self.X, Z, picked, columns), coef, out, threads, cached)


class GivenKernel:
    """Kernel values between n rows, in float64 or float32, from a function values(rows, columns)."""

    free_dtype, wide, row_numbers = False, 1, None

    def __init__(self, values, n, dtype):
        self.values, self.n, self.dtype = values, n, np.dtype(dtype)

    def __len__(self):
        return self.n

    def of_type(self, dtype):
        return self if self.dtype == dtype else GivenKernel(self.values, self.n, dtype)

    def rounding(self):
        return float(np.finfo(self.dtype).eps) / 2 * float(np.abs(self.diagonal(np.arange(self.n))).max())

    def diagonal(self, rows):
        return np.concatenate([[self.values(rows[i : i + 1], rows[i : i + 1])[0, 0]] for i in range(len(rows))])

    def pack(self, rows):
        return rows

    def fill(self, Z, rows, out, threads, mirrored=False):
        out[:, : len(rows)] = self.values(Z, rows)

    def square(self, Z, rows, threads):
        out = padded_square(len(rows), self.dtype)
        self.fill(Z, rows, out, threads)
        return out

    def add(self, Z, picked, coef, columns, out, threads, cached=None):
        step = max(1, (1 << 20) // len(columns))
        for start in range(0, len(picked), step):
            out += coef[:, start : start + step] @ self.values(Z[picked[start : start + step]], columns)


def padded(n, width):
    """n rounded up to a multiple of `width`."""
    return -(-n // width) * width


def padded_square(n, dtype):
    """An array for the kernel matrix of n rows, padded by columns of zeros to a multiple of PAD columns."""
    out = reused(n * padded(n, PAD), dtype).reshape(n, padded(n, PAD))
    out[:, n:] = 0
    return out
