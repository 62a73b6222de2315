"""Matrices and labels from .npy, .npz, .csv and .parquet files, and what is wrong with a file in one sentence."""

import csv
import warnings
import zipfile
from contextlib import contextmanager

import numpy as np

FORMATS = ".npy, .npz, .csv or .parquet"


class RequestError(Exception):
    """The request can't be met; the message is the one sentence that the user reads."""


@contextmanager
def blame(culprit):
    """Turn an error on bad input into a RequestError that names where the input came from."""
    try:
        yield
    except (ImportError, OSError, TypeError, ValueError, csv.Error, zipfile.BadZipFile) as error:
        text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise RequestError(f"{culprit}: {text}") from error


def read(path, target=None):
    """(X, y, names) of a file: the matrix, the labels in its column `target`, its column names.

    y is None without a target, names is None where the file has none. X has the columns other than the target.
    """
    readers = {".npy": read_npy, ".npz": read_npz, ".csv": read_csv, ".parquet": read_parquet}
    if path.suffix not in readers:
        raise RequestError(f"{path} can't be read; a name that ends in {FORMATS} is wanted")
    if not path.is_file():
        raise RequestError(f"{path}: there is no such file")
    with blame(path):
        X, y, names = readers[path.suffix](path, target)
        if X.ndim != 2 or 0 in X.shape:
            raise ValueError(f"the shape is {X.shape}; a matrix with rows and columns is wanted")
        if X.dtype.kind not in "biuf":
            raise ValueError(f"the type is {X.dtype}; real numbers are wanted")
        if y is not None and y.shape != X.shape[:1]:
            raise ValueError(f"the labels have shape {y.shape} beside {len(X)} rows; one per row is wanted")
    return X, y, names


def read_npy(path, target):
    table = np.lib.format.open_memmap(path, mode="r")
    if target is None or table.ndim != 2:
        return table, None, None
    position = find_column(target, None, table.shape[1])
    return np.delete(table, position, axis=1), table[:, position], None


def read_npz(path, target):
    if not zipfile.is_zipfile(path):
        raise ValueError("this is not an .npz file")
    with np.load(path, allow_pickle=False) as arrays:
        held = arrays.files
        matrix = held[0] if len(held) == 1 and target is None else "X"
        for name in (matrix, target):
            if name is not None and name not in held:
                raise ValueError(f"there is no array {name!r}, only {listing(held)}")
        return arrays[matrix], None if target is None else arrays[target], None


def read_csv(path, target):
    """Comma-separated numbers. A first line without a single number in it is a header."""
    with open(path, encoding="utf-8-sig", newline="") as file:
        lines = csv.reader(file)
        first = next((line for line in lines if line), [])
        n_header = lines.line_num
    names = [name.strip() for name in first]
    if any(is_number(name) for name in names):
        names, n_header = None, 0
    position, converters, classes = None, None, {}
    if target is not None:
        position = find_column(target, names, len(first))
        converters = {position: lambda label: classes.setdefault(label.strip(), len(classes))}
    options = {"delimiter": ",", "quotechar": '"', "comments": None, "ndmin": 2, "encoding": "utf-8-sig"}
    try:
        with warnings.catch_warnings(action="ignore"):  # of a file without rows, which read() refuses
            table = np.loadtxt(path, skiprows=n_header, converters=converters, **options)
    except ValueError as error:
        raise ValueError(first_fault(path, names, n_header, position) or error) from error
    if target is None or 0 in table.shape:
        return table, None, names
    if "" in classes:
        raise ValueError(f"column {target!r} has an empty label")
    labels = np.array(list(classes))[table[:, position].astype(np.intp)]
    return np.delete(table, position, axis=1), labels, names and names[:position] + names[position + 1 :]


def first_fault(path, names, n_header, position):
    """Where a CSV file stops being a matrix of numbers beside the label column, in one sentence, or None."""
    n_columns = None
    with open(path, encoding="utf-8-sig", newline="") as file:
        lines = csv.reader(file)
        for line in lines:
            if lines.line_num <= n_header or not line:
                continue
            n_columns = n_columns or len(line)
            if len(line) != n_columns:
                return f"line {lines.line_num} has {len(line)} columns, the lines before it have {n_columns}"
            for i, text in enumerate(line):
                if i != position and not is_number(text):
                    name = f" ({names[i]!r})" if names and i < len(names) else ""
                    wanted = "a number is wanted" if position is None else "a number is wanted outside the target"
                    return f"line {lines.line_num}, column {i + 1}{name} holds {text!r}; {wanted}"
    return None


def read_parquet(path, target):
    try:
        from pyarrow import parquet
    except ImportError as error:
        raise ImportError("a .parquet file needs pyarrow, which is not installed (pip install pyarrow)") from error
    table, y = parquet.read_table(path), None
    if target is not None:
        position = find_column(target, table.column_names, table.num_columns)
        if table.column(position).null_count:
            raise ValueError(f"column {target!r} has an empty label")
        y = table.column(position).to_numpy()
        table = table.remove_column(position)
    columns = [column.to_numpy() for column in table.columns]
    for name, column in zip(table.column_names, columns, strict=True):
        if column.dtype.kind not in "biuf":
            value = next((value for value in column if not isinstance(value, bool | int | float)), None)
            raise ValueError(f"column {name!r} holds {value!r}; a number is wanted")
    return np.column_stack(columns) if columns else np.empty((table.num_rows, 0)), y, table.column_names


def find_column(target, names, n_columns):
    """Position of the column called `target`, or else numbered so, from 0 or, if negative, from the end."""
    if names and target in names:
        if names.count(target) > 1:
            raise ValueError(f"there are {names.count(target)} columns {target!r}; one is wanted")
        return names.index(target)
    try:
        return range(n_columns)[int(target)]
    except (ValueError, IndexError):
        known = f"only {listing(names)}" if names else f"and no names; 0 to {n_columns - 1} is wanted"
        raise ValueError(f"there is no column {target!r}, {known}") from None


def listing(names):
    return ", ".join(map(repr, names[:8])) + (f" and {len(names) - 8} more" if len(names) > 8 else "")


def is_number(text):
    try:
        float(text)
    except ValueError:
        return False
    return True
