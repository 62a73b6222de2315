"""Tables from text: comma-separated values and LIBSVM's format."""

import csv
import re
import warnings
from itertools import chain, islice

import numpy as np

from .._csr import Csr
from ..table import Table, is_number, texts

# Texts that mean a missing value.
MISSING = frozenset(["", "?", "NA", "N/A", "nan", "NaN", "null", "NULL", "None"])

LIBSVM_LINE = re.compile(r"[+-]?[\d.eE+-]+([ \t]+(qid|\d+):\S+)+[ \t]*(#|\r?\n|$)")

# The number of lines of a .csv that are converted to columns at a time.
_LINES = 1 << 14

# A LIBSVM text with more cells (rows x columns) than this becomes a sparse matrix.
_DENSE_NUMBERS = 1 << 26

# The largest number of columns of a sparse matrix.
_COLUMNS = 1 << 24


def read_csv(source):
    """A Table. A column has numbers if every entry is a number or missing, otherwise strings."""
    with source.text() as file:
        names, lines = _lines(file, source.header)
        columns, n_columns = [], names and len(names)
        while chunk := list(islice(lines, _LINES)):
            n_columns = n_columns or len(chunk[0][1])
            for number, line in chunk:
                if len(line) != n_columns:
                    raise ValueError(f"line {number} has {len(line)} columns, the lines before it have {n_columns}")
            more = [_column(cells) for cells in zip(*(line for _, line in chunk))]
            columns = [[*parts, part] for parts, part in zip(columns or [[] for _ in more], more)]
    return Table([_joined(parts) for parts in columns], names)


def read_numbers(source):
    """(X, names) of a text with numbers only, four times as fast as `read_csv`."""
    with source.text() as file:
        names, _ = _lines(file, source.header)
        file.seek(0)
        delimiter = _delimiter(file)
        rows = csv.reader(file, delimiter=delimiter)
        n_header = 0 if names is None else next((rows.line_num for line in rows if line), 0)
        file.seek(0)
        for _ in range(n_header):
            file.readline()
        options = {"delimiter": delimiter, "quotechar": '"', "comments": None, "ndmin": 2}
        try:
            # The caller refuses a file without rows, about which NumPy warns.
            with warnings.catch_warnings(action="ignore"):
                return np.loadtxt(file, **options), names
        except ValueError as error:
            file.seek(0)
            raise ValueError(_first_fault(file, source.header) or error) from error


def _delimiter(file):
    first = next((line for line in file if line.strip()), "")
    file.seek(0)
    return next((mark for mark in ",;\t" if mark in first), ",")


def _lines(file, header):
    """(names or None, an iterator over (number, cells) of the remaining lines)."""
    rows = csv.reader(file, delimiter=_delimiter(file), skipinitialspace=True)
    lines = ((rows.line_num, line) for line in rows if line)
    first = next(lines, None)
    if first is None:
        return None, lines
    if header is False or (header is None and any(map(is_number, first[1]))):
        return None, chain([first], lines)
    return [name.strip() for name in first[1]], lines


def _column(cells):
    """The entries of a column as numbers, if all are numbers, otherwise as objects."""
    try:
        return np.array(cells, dtype=np.float64)
    except ValueError:
        cells = [None if cell in MISSING else cell for cell in map(str.strip, cells)]
    try:
        return np.array([np.nan if cell is None else cell for cell in cells], dtype=np.float64)
    except ValueError:
        return np.array(cells, dtype=object)


def _joined(parts):
    if all(part.dtype.kind == "f" for part in parts):
        return np.concatenate(parts)
    return np.concatenate([texts(part) for part in parts])


def _first_fault(file, header):
    """The first place at which a text is not a matrix of numbers, in one sentence, or None."""
    names, lines = _lines(file, header)
    n_columns = None
    for number, line in lines:
        n_columns = n_columns or len(line)
        if len(line) != n_columns:
            return f"line {number} has {len(line)} columns, the lines before it have {n_columns}"
        for i, cell in enumerate(line):
            if not is_number(cell):
                name = f" ({names[i]!r})" if names and i < len(names) else ""
                return f"line {number}, column {i + 1}{name} holds {cell!r}; a number is wanted"
    return None


def read_libsvm(source):
    """(X, y) of lines "label index:value ...", with indices from 1 up; missing entries are 0. A large X is a Csr."""
    labels, rows, columns, values = [], [], [], []
    with source.text() as file:
        for number, line in enumerate(file, 1):
            cells = line.partition("#")[0].split()
            if not cells:
                continue
            labels.append(cells[0])
            for cell in cells[1:]:
                index, colon, value = cell.partition(":")
                if index == "qid":
                    continue
                if not (colon and index.isdecimal() and int(index) >= 1 and is_number(value)):
                    raise ValueError(f"line {number} holds {cell!r}; index:value is wanted, indices from 1 up")
                rows.append(len(labels) - 1)
                columns.append(int(index) - 1)
                values.append(float(value))
    if not columns:
        raise ValueError("it has no entry index:value; at least one is wanted")
    n_columns = max(columns) + 1
    is_dense = len(labels) * n_columns <= _DENSE_NUMBERS
    if not is_dense and n_columns > _COLUMNS:
        raise ValueError(f"it has the index {n_columns}; indices up to {_COLUMNS} are wanted")
    rows, columns, values = _sorted_entries(rows, columns, values)
    if is_dense:
        X = np.zeros((len(labels), n_columns))
        X[rows, columns] = values
    else:
        X = _sparse(rows, columns, values, (len(labels), n_columns))
    y = np.array(labels)
    if all(map(is_number, labels)):
        numbers = y.astype(np.float64)
        y = numbers.astype(np.int64) if (numbers == np.floor(numbers)).all() else y
    return X, y


def _sorted_entries(rows, columns, values):
    """Arrays of the row, the column and the value of each entry, by row and then by column."""
    rows, columns, values = np.array(rows, np.int64), np.array(columns, np.int64), np.array(values)
    order = np.lexsort((columns, rows))
    rows, columns, values = rows[order], columns[order], values[order]
    odd = np.flatnonzero((np.diff(rows) == 0) & (np.diff(columns) == 0))
    if len(odd):
        raise ValueError(f"row {rows[odd[0]]} has the index {columns[odd[0]] + 1} twice; once is wanted")
    return rows, columns, values


def _sparse(rows, columns, values, shape):
    """A Csr from the entries that `_sorted_entries` gives."""
    if not np.isfinite(values).all():
        row = rows[np.argmin(np.isfinite(values))]
        raise ValueError(f"row {row} of a matrix too large to be dense has NaN or infinity; finite numbers are wanted")
    indptr = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=shape[0]))])
    return Csr(indptr, columns.astype(np.int32), values, shape[1])
