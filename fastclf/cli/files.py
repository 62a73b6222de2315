"""Tables and labels from files and pipes; an error is described in one sentence."""

import codecs
import difflib
import gzip
import io
import re
import sys
import tokenize
import zipfile
from contextlib import contextmanager
from csv import Error as CsvError
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..table import Table, is_number, texts
from . import text_formats

FORMATS = ".csv, .tsv, .npy, .npz, .parquet or .libsvm"

_KINDS = {
    ".csv": "csv",
    ".tsv": "csv",
    ".npy": "npy",
    ".npz": "npz",
    ".parquet": "parquet",
    ".libsvm": "libsvm",
    ".svm": "libsvm",
    ".svmlight": "libsvm",
}

_BAD_INPUT = (CsvError, EOFError, ImportError, OSError, OverflowError, SyntaxError, TypeError, ValueError)
_BAD_INPUT += (zipfile.BadZipFile, tokenize.TokenError)  # NumPy raises TokenError for a damaged .npy header

# A byte that has a meaning in Windows' code page 1252 and is a control character in Latin-1.
_WINDOWS = re.compile(rb"[\x80\x82-\x8c\x8e\x91-\x9c\x9e\x9f]")
_NOT_WINDOWS = re.compile(rb"[\x81\x8d\x8f\x90\x9d]")

# Names of the column that has the labels; without a column of such a name, the last column has them.
_TARGETS = ("target", "label", "class", "y")


class RequestError(Exception):
    """The request cannot be fulfilled; the message is the one sentence that the user reads."""


@contextmanager
def blame(culprit):
    """Convert an error about bad input into a RequestError that names the source of the input."""
    try:
        yield
    except UnicodeDecodeError as error:
        remedy = "" if error.encoding != "utf-8" else "; --encoding latin-1 reads Western European text"
        raise RequestError(
            f"{culprit}: this is no text in {error.encoding.upper()} (byte {error.start}: {error.reason}){remedy}"
        ) from error
    except _BAD_INPUT as error:
        text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise RequestError(f"{culprit}: {text}") from error


class Reading(NamedTuple):
    """What a user says about a text; None stands for a guess.

    header: whether the first line has names (guess: if it contains no number). separator: the mark between cells.
    decimal: "," or ".". encoding: a name that Python knows (guess: UTF-16 by its mark, otherwise UTF-8).
    decimals: {name or position of a column: its decimal mark}. texts: the names or positions of columns that hold no
    numbers. likely: marks that a text like this one had, which are tried before a guess: a dict with the keys
    "separator" and "encoding".
    """

    header: bool | None = None
    separator: str | None = None
    decimal: str | None = None
    encoding: str | None = None
    decimals: dict | None = None
    texts: tuple = ()
    likely: dict | None = None


AS_GUESSED = Reading()


class Source:
    """A file of a known kind, or the content of a pipe or of standard input ("-"), whose first bytes tell its kind.

    Attributes
    ----------
    name : str
        The name in error messages.
    kind : {'csv', 'npy', 'npz', 'parquet', 'libsvm'}
    content : Path or BytesIO
    reading : Reading
    """

    def __init__(self, path, reading=AS_GUESSED):
        self.reading = reading
        self.name = "standard input" if str(path) == "-" else str(path)
        if str(path) == "-" and sys.stdin is None:
            raise RequestError("standard input is closed")
        if str(path) == "-" or path.is_fifo():
            with blame(self.name):
                data = sys.stdin.buffer.read() if str(path) == "-" else path.read_bytes()
                data = gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data
            self.content, self.kind = io.BytesIO(data), _kind(data)
            return
        self.content = path
        name = path.name.lower().removesuffix(".gz")
        self.kind = _KINDS.get(Path(name).suffix)
        if path.is_dir():
            raise RequestError(f"{path} is a folder; a file is wanted")
        if self.kind is None:
            raise RequestError(f"{path} can't be read; a name that ends in {FORMATS} is wanted")
        if not path.is_file():
            raise RequestError(f"{path}: there is no such file")
        if path.name.lower().endswith(".gz"):
            with blame(self.name), gzip.open(path) as file:
                self.content = io.BytesIO(file.read())

    def text(self):
        """A new file object for the text, at its first line."""
        is_path = isinstance(self.content, Path)
        file = self.content.open("rb") if is_path else io.BytesIO(self.content.getbuffer())
        marks = file.read(2)
        file.seek(0)
        guess = "utf-16" if marks in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
        likely = (self.reading.likely or {}).get("encoding")
        if likely is not None and self.reading.encoding is None and guess == "utf-8-sig" and not _is_utf8(file):
            guess = likely
        encoding = self.reading.encoding or guess
        if codecs.lookup(encoding).name == "iso8859-1" and _is_windows(file):
            encoding = "cp1252"
        return io.TextIOWrapper(file, encoding=encoding, newline="")


def _is_utf8(file):
    """Whether the bytes of a file are UTF-8; afterwards the file's position is 0."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        for data in iter(lambda: file.read(1 << 20), b""):
            decoder.decode(data)
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    finally:
        file.seek(0)
    return True


def _is_windows(file):
    """Whether a file is a text in Windows' form of Latin-1, with marks such as the euro sign; it is left at its begin.

    The bytes of these marks are control characters in Latin-1, which no text has. A file with a byte that Windows' form
    does not define is none.
    """
    is_windows = False
    for data in iter(lambda: file.read(1 << 20), b""):
        is_windows = is_windows or _WINDOWS.search(data) is not None
        if _NOT_WINDOWS.search(data):
            is_windows = False
            break
    file.seek(0)
    return is_windows


def _kind(data):
    for magic, kind in ((b"\x93NUMPY", "npy"), (b"PK", "npz"), (b"PAR1", "parquet")):
        if data.startswith(magic):
            return kind
    return "libsvm" if text_formats.LIBSVM_LINE.match(data.lstrip()[:200].decode("latin-1")) else "csv"


def read(path, reading=AS_GUESSED):
    """(X, names) of a file with numbers only: the matrix, and its column names or None."""
    source = Source(path, reading)
    with blame(source.name):
        found = text_formats.read_numbers(source) if source.kind == "csv" else None
        if found is not None:
            if 0 in found[0].shape:
                raise ValueError("there are no rows; at least one is wanted")
            return found
        table, _ = _READERS[source.kind](source, None, False)
        X = table.matrix if table.is_sparse else _matrix(_numbers(table))
    return X, table.names


def _numbers(table):
    if table.matrix is not None:
        return table.matrix
    for j, column in enumerate(table.columns):
        if column.dtype.kind == "O":
            value = next((value for value in column if value is not None and not is_number(value)), None)
            raise ValueError(f"{table.title(j)} holds {value!r}; a number is wanted")
    return np.column_stack(table.columns) if table.columns else np.empty((len(table), 0))


def read_table(path, target=None, reading=AS_GUESSED, labelled=True, complete=False):
    """(table, labels, name of the labels) of a file.

    `target` is the name of the column of labels, or its number, from 0 or, if negative, from the end; None: the column
    called target, label, class or y, or else the last. If not `labelled`, the labels are None, unless they come
    separately from a matrix. If `complete`, rows without a label are left out.
    """
    source = Source(path, reading)
    with blame(source.name):
        table, y = _READERS[source.kind](source, target, labelled)
        called = target or ("y" if source.kind == "npz" else "label")
        if 0 in table.shape:
            raise ValueError("there are no rows; at least one is wanted")
        if y is None and labelled:
            if len(table.columns) < 2:
                raise ValueError("there is one column; labels and at least one other column are wanted")
            place = _default_target(table) if target is None else find_column(target, table.names, table.shape[1])
            called = table.title(place) if table.names is None else table.names[place]
            y, table = table.columns[place], table.without([place])
            if complete and y.dtype.kind in "fO":
                there = np.array([word is not None for word in texts(y).tolist()])
                y, table = y[there], table.rows(there)
        if y is not None:
            y = as_labels(y, called)
            if y.shape != (len(table),):
                raise ValueError(f"the labels have shape {y.shape} beside {len(table)} rows; one per row is wanted")
    return table, y, called


def _default_target(table):
    lowered = [name.lower() for name in table.names or []]
    last = table.shape[1] - 1
    if table.matrix is None:
        last = next((j for j in range(last, -1, -1) if table.has_values(j)), last)
    return next((lowered.index(name) for name in _TARGETS if name in lowered), last)


def as_labels(y, called):
    """Labels as whole numbers if all are whole numbers, otherwise as strings."""
    if y.dtype.kind not in "fO" or y.ndim != 1:
        return y
    words = texts(y).tolist()
    if None in words:
        came = f"{called!r} has no label in {words.count(None)} of {len(words)} rows, the first of which is row"
        raise ValueError(f"{came} {words.index(None)}; one is wanted for every row (--missing drop leaves others out)")
    try:
        return np.array([int(word) for word in words], dtype=np.int64)
    except (ValueError, OverflowError):
        return np.array(words)


def _read_npy(source, target, labelled):
    if isinstance(source.content, Path):
        return Table(_matrix(np.lib.format.open_memmap(source.content, mode="r"))), None
    return Table(_matrix(np.load(source.content, allow_pickle=False))), None


def _matrix(array):
    if array.ndim != 2 or 0 in array.shape:
        raise ValueError(f"the shape is {array.shape}; a matrix with rows and columns is wanted")
    if array.dtype.kind not in "biuf":
        raise ValueError(f"the type is {array.dtype}; real numbers are wanted")
    return array


def _read_npz(source, target, labelled):
    """(Table, labels) from the arrays X and y, or X_train and y_train; without labels, also from a single array."""
    if not zipfile.is_zipfile(source.content):
        raise ValueError("this is not an .npz file")
    with np.load(source.content, allow_pickle=False) as arrays:
        held = arrays.files
        part = "_train" if "X" not in held and "X_train" in held else ""
        matrix, labels = f"X{part}", target or f"y{part}"
        if not labelled and len(held) == 1:
            [matrix] = held
        for name in (matrix, labels) if labelled else (matrix,):
            if name not in held:
                raise ValueError(f"there is no array {name!r}, only {listing(held)}")
        return Table(_matrix(arrays[matrix])), arrays[labels] if labels in held else None


def _read_parquet(source, target, labelled):
    return Table.of(_parquet(source.content), lazily=True), None


def _parquet(content):
    for library in ("pyarrow.parquet", "polars", "pandas"):
        try:
            module = import_module(library)
            return module.read_table(content) if library == "pyarrow.parquet" else module.read_parquet(content)
        except ImportError:
            continue
    raise ImportError(
        "a .parquet file needs pyarrow, polars or pandas, none of which is installed (pip install pyarrow)"
    )


def _read_csv(source, target, labelled):
    return text_formats.read_csv(source), None


def _read_libsvm(source, target, labelled):
    X, y = text_formats.read_libsvm(source)
    table = Table(X)
    table.open_ended = True
    return table, y


# {kind of file: function of (source, target, labelled)}. Each function returns (table, labels); the labels are None if
# they are still a column of the table.
_READERS = {
    "npy": _read_npy,
    "npz": _read_npz,
    "csv": _read_csv,
    "parquet": _read_parquet,
    "libsvm": _read_libsvm,
}


def find_column(target, names, n_columns):
    """The index of the column with the name `target`, or with this number, from 0 or, if negative, from the end."""
    if names and target in names:
        if names.count(target) > 1:
            raise ValueError(f"there are {names.count(target)} columns {target!r}; one is wanted")
        return names.index(target)
    try:
        return range(n_columns)[int(target)]
    except (ValueError, IndexError):
        close = difflib.get_close_matches(target, names or [], 1)
        known = (
            f"only {listing(names)}{f'; did you mean {close[0]}?' if close else ''}"
            if names
            else f"and no names; 0 to {n_columns - 1} is wanted"
        )
        raise ValueError(f"there is no column {target!r}, {known}") from None


def listing(names):
    return ", ".join(map(repr, names[:8])) + (f" and {len(names) - 8} more" if len(names) > 8 else "")
