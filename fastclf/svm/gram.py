"""Kernel values between the rows of a fit, whatever they come from."""

import numpy as np

from .. import _simd
from ..kernels import values as kernel_values

# The matrix of a working set has a multiple of so many columns.
PAD = _simd.load("svm._smo").PAD


class Gram:
    """Kernel values between the rows of X, computed in `dtype` by compiled code."""

    def __init__(self, kernel, X, dtype, threads):
        self.kernel, self.X, self.dtype, self.threads = kernel, X, np.dtype(dtype), threads
        self.wide = kernel_values.compiled.width(self.dtype == np.float32)
        self.whole = False  # whether rows are packed with a line for each column, which `panels` wants

    def __len__(self):
        return len(self.X)

    def in_double(self):
        return Gram(self.kernel, self.X, np.float64, self.threads)

    def rounding(self):
        return self.kernel.rounding(self.X, self.dtype)

    def diagonal(self, rows):
        return self.kernel.diagonal(self.X)[rows]

    def pack(self, rows):
        return kernel_values.Packed(self.X, rows, self.dtype, self.whole)

    def panels(self, rows):
        """The rows side by side, as `kernels._values.put_panels` has them."""
        Z = self.pack(rows[:1])
        out = np.zeros((padded(len(rows), self.wide) // self.wide, Z.n_lines * self.wide), self.dtype)
        kernel_values.compiled.put_panels(self.X, Z, rows, out)
        return out

    def fill(self, Z, rows, out):
        """out[:, : len(rows)] = values between the packed rows and `rows`."""
        kernel_values.fill(self.kernel, self.X, Z, out, self.threads, rows)

    def fill_square(self, Z, rows, out, first=0):
        """Values between the packed rows, which are `rows`; first: only between those before it and the others."""
        picked = np.arange(first or len(rows))
        kernel_values.fill(self.kernel, self.X, Z, out, self.threads, rows[first:], True, picked, first)

    def add(self, Z, picked, coef, columns, f, stored=()):
        """f[columns] += coef @ K of the packed rows in the list `picked`."""
        kernel_values.add(self.kernel, self.X, Z, picked, coef[None], f[None], self.threads, columns, stored)


class Table:
    """Kernel values between rows from a function of (rows, columns), in float64 or float32."""

    def __init__(self, values, n, dtype):
        self.values, self.n, self.dtype, self.wide, self.threads = values, n, np.dtype(dtype), 1, 1

    def __len__(self):
        return self.n

    def in_double(self):
        return Table(self.values, self.n, np.float64)

    def rounding(self):
        return float(np.finfo(self.dtype).eps) / 2 * float(np.abs(self.diagonal(np.arange(self.n))).max())

    def diagonal(self, rows):
        return np.concatenate([[self.values(rows[i : i + 1], rows[i : i + 1])[0, 0]] for i in range(len(rows))])

    def pack(self, rows):
        return rows

    def fill(self, Z, rows, out):
        out[:, : len(rows)] = self.values(Z, rows)

    def fill_square(self, Z, rows, out):
        self.fill(Z, rows, out)

    def add(self, Z, picked, coef, columns, f, stored=()):
        step = max(1, (1 << 20) // len(columns))
        for start in range(0, len(picked), step):
            f[columns] += coef[start : start + step] @ self.values(Z[picked[start : start + step]], columns)


def padded(n, width):
    return -(-n // width) * width


def square(gram, Z, rows):
    """Values between the packed rows, which are `rows`, with columns of zeros to a multiple of PAD."""
    out = np.zeros((len(rows), padded(len(rows), PAD)), gram.dtype)
    gram.fill_square(Z, rows, out)
    return out
