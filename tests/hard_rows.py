"""Rows, targets and weights as users have them, and as nobody should: for tests/fuzz.py."""

import tempfile
from pathlib import Path

import numpy as np
import pandas
import polars
import pyarrow
from scipy.sparse import csr_array

# Functions that make a table from a dict of columns.
TABLES = [pandas.DataFrame, polars.DataFrame, pyarrow.table]

# Values that algorithms find difficult.
HARD = [np.nan, np.inf, -np.inf, 1e308, -1e300, 1e-320, 0.0, -0.0]


def n_rows(X):
    return len(X) if hasattr(X, "rows") else X.shape[0]


def word_counts(rng, n, d=300):
    """Sparse rows like those of texts: few of many columns, with empty rows and empty columns."""
    random = np.random.default_rng(rng.randrange(2**32))
    X = random.poisson(3.0, (n, d)) * (random.random((n, d)) < 0.02)
    return csr_array(X.astype(rng.choice(["f4", "f8", "i8"])))


def drawn_rows(X, rng):
    """(some rows of X, their numbers); the rows often have another type, size or order, or difficult values."""
    n = n_rows(X)
    numbers = np.array([rng.randrange(n) for _ in range(rng.choice([0, 1, 2, n // 2, n, n, n, 2 * n, 3 * n]))], int)
    if hasattr(X, "rows"):
        X = X.rows(numbers)
        return (as_table(X.names, X.columns, rng) if rng.random() < 0.3 else X), numbers
    X = X[numbers]
    for _ in range(rng.choice([0, 0, 1, 2])):
        if not isinstance(X, np.ndarray):
            return (altered_sparse(X, rng) if hasattr(X, "tocsr") else X), numbers
        change = rng.choice(CHANGES)
        if change is reversed_rows:
            numbers = numbers[::-1]
        X = change(X, rng)
        if change is in_another_form:
            break
    return X, numbers


def with_hard_value(X, rng):
    if X.size and X.dtype.kind == "f":
        X = X.copy()
        X.flat[rng.randrange(X.size)] = rng.choice(HARD)
    return X


def with_other_type(X, rng):
    return (
        X.astype(rng.choice(["f4", "f8", "i4", "u1", "f2", ">f8", "g", "?", "O", "F"])) if X.dtype.kind in "fi" else X
    )


def with_other_scale(X, rng):
    return X * rng.choice([1e-160, 1e160, 0, -1]) if X.dtype.kind == "f" else X


def with_fewer_columns(X, rng):
    return X[..., : rng.randint(0, X.shape[-1])]


def in_columns(X, rng):
    return np.asfortranarray(X)


def reversed_rows(X, rng):
    return X[::-1]


def read_only(X, rng):
    X = X.copy()
    X.flags.writeable = False
    return X


def memory_mapped(X, rng):
    """X in a file that is mapped read-only; the file has been deleted, which its mapping survives on POSIX."""
    if X.dtype == object or X.size == 0:
        return X
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        np.save(Path(folder, "X.npy"), X)
        return np.load(Path(folder, "X.npy"), mmap_mode="r")


def as_sparse(X, rng):
    return csr_array(X) if X.dtype.char in "fdilB" and X.dtype.isnative and X.ndim == 2 else X


def in_another_form(X, rng):
    return rng.choice([X.tolist(), X.ravel(), X[None], np.asmatrix(X) if X.ndim == 2 else X, X[..., None]])


def in_a_table(X, rng):
    return as_table([f"x{j}" for j in range(X.shape[-1])], X.T, rng) if X.ndim == 2 and X.dtype.isnative else X


def as_table(names, columns, rng):
    """A table of pandas, polars or pyarrow, or the array where the library refuses the columns."""
    try:
        return rng.choice(TABLES)({name: np.ascontiguousarray(column) for name, column in zip(names, columns)})
    except (TypeError, ValueError, NotImplementedError, polars.exceptions.PolarsError, pyarrow.ArrowException):
        return np.array(columns, dtype=object).T


CHANGES = [with_hard_value, with_other_type, with_other_scale, with_fewer_columns, in_columns, reversed_rows]
CHANGES += [read_only, memory_mapped, as_sparse, in_another_form, in_a_table]


def altered_sparse(X, rng):
    """Sparse rows in another format, unsorted, with columns twice, or with forged arrays."""
    change = rng.randrange(9)
    if change < 3:
        return rng.choice([X.toarray, X.tocsc, X.tocoo, X.tolil, X.todok])()
    X = X.copy().tocsr()
    if change == 3:
        X.indices = X.indices[::-1].copy()
    elif change == 4:
        X.indices, X.indptr = X.indices.astype("i8"), X.indptr.astype("i8")
    elif change == 5:
        X.data = X.data * rng.choice([np.nan, np.inf, 1e300, 0.0, -1.0])
    elif change == 6 and X.nnz:  # SciPy would not make a matrix with such indices
        X.indices[rng.randrange(X.nnz)] = rng.choice([-1, 0, X.shape[1], 2**31 - 1])
    elif change == 7:
        X.indptr[rng.randrange(len(X.indptr))] = rng.choice([-1, 0, 1, X.nnz + 1, 2**31 - 1])
    elif change == 8 and X.nnz:
        X.data = X.data[:-1]
    return X


def drawn_targets(part, numbers, rng):
    """Targets of rows, sometimes of a wrong length or type, with a single class or with 100."""
    part, change = part if part is None else part[numbers], rng.randrange(14)
    if part is not None and change == 0:
        return part[:1].repeat(len(numbers), axis=0) if len(part) else part
    if part is not None and change == 1:
        return rng.choice([part[:-1], part.tolist(), part.astype(object), np.arange(len(numbers)), None, "x"])
    if change == 2:
        return rng.choice([np.full(len(numbers), np.nan), np.arange(len(numbers)) % 2 > 0, np.zeros(len(numbers))])
    if change == 3:
        return np.arange(len(numbers)) % 100
    if part is not None and change == 4 and part.ndim == 1 and part.dtype.kind in "fi":
        return rng.choice([pandas.Series, polars.Series, pyarrow.array])(part)
    return part


def drawn_weights(n, rng):
    """Weights of n rows, among them zeros, huge and tiny ones, and what is no weight."""
    weights = np.array([rng.choice([0.0, 0.5, 1.0, 1.0, 2.0, 3.0]) for _ in range(n)])
    change = rng.randrange(10)
    if change == 0 and n:
        weights[rng.randrange(n)] = rng.choice([*HARD, -1.0])
    return (
        [weights[:-1], np.zeros(n), weights.astype("f4"), weights * 1e-300, 2.0, weights[:, None]][change - 1]
        if (1 <= change <= 6)
        else weights
    )
