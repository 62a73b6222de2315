"""Tables from text: comma-separated values and LIBSVM's format."""

import csv
import re
import warnings
from itertools import chain, islice

import numpy as np

from .._csr import Csr
from ..table import Table, is_number, numbered, texts

# Texts that mean a missing value.
MISSING = frozenset(["", "?", "NA", "N/A", "n/a", "#N/A", "<NA>", "nan", "NaN", "NaT", "null", "NULL", "None"])

LIBSVM_LINE = re.compile(r"[+-]?[\d.eE+-]+([ \t]+(qid|\d+):\S+)+[ \t]*(#|\r?\n|$)")

# The first line of a .csv file, such as "sep=;", that tells Excel the separator of cells.
_MARK_LINE = re.compile(r"sep=(.)\s*")

_QUOTED = re.compile(r'"[^"]*"')
DECIMAL_COMMA = re.compile(r"[+-]?(\d+|[1-9]\d{0,2}(\.\d{3})+)(,\d+)?([eE][+-]?\d+)?")

# The number of lines from which the separator of cells is guessed.
_FIRST_LINES = 20

# The number of lines of a .csv that are converted to columns at a time.
_LINES = 1 << 14

# A LIBSVM text with more cells (rows x columns) than this becomes a sparse matrix.
_DENSE_NUMBERS = 1 << 26

# The largest number of columns of a sparse matrix.
_COLUMNS = 1 << 24


def read_csv(source):
    """A Table. A column has numbers if every entry is a number or missing, otherwise strings.

    The decimal mark of a column is the one that the reading has for it, or for the file. Otherwise cells such as
    12.345, in which the point may also be between thousands, have decimal points, unless decimal commas occur in other
    columns of the file and decimal points do not. The table's attribute `reading` is the reading with all guesses.
    """
    with source.text() as file:
        reading = _guessed(file, source.reading)
        names, lines = _lines(file, reading)
        headings, names = names, names and numbered(_filled(names))
        columns, n_columns = None, names and len(names)
        while chunk := list(islice(lines, _LINES)):
            n_columns = n_columns or len(chunk[0][1])
            chunk = [_fitting(number, line, n_columns) for number, line in chunk]
            if columns is None:
                keys = names or range(n_columns)
                columns = [_Cells(key in reading.texts, (reading.decimals or {}).get(key)) for key in keys]
            for column, cells in zip(columns, zip(*chunk)):
                column.add(cells, reading.decimal)
    columns = columns or []
    shown, mark = {column.shows_comma() for column in columns}, source.reading.decimal
    if mark is None and (True in shown) != (False in shown):
        mark = "," if True in shown else "."
    table = Table([column.joined(mark) for column in columns], names)
    table.marks = [column.mark or mark for column in columns]
    table.reading = reading._replace(decimal=source.reading.decimal)
    # separators at the ends of lines make last columns with neither a heading nor a value
    n_kept = len(headings or ())
    while n_kept and not headings[n_kept - 1] and not table.has_values(n_kept - 1):
        n_kept -= 1
    return table.without(list(range(n_kept, len(headings or ()))))


def _filled(headings):
    """The headings, with the number of the column in place of an empty one."""
    return [heading or f"column {number}" for number, heading in enumerate(headings, 1)]


def _fitting(number, line, n_columns):
    """The cells of a line, without empty ones after the last column; `number` is the line's number."""
    if len(line) < n_columns or any(cell.strip() for cell in line[n_columns:]):
        raise ValueError(f"line {number} has {len(line)} columns, the lines before it have {n_columns}")
    return line[:n_columns]


class _Cells:
    """A column of a text, of which parts are added; `mark` is the decimal mark, if it is known.

    A part is (numbers with decimal points or None, numbers with decimal commas or None, texts or None). Texts are kept
    only where neither array of numbers could restore them.
    """

    def __init__(self, is_text, mark):
        self.is_text, self.mark, self.parts = is_text, mark, []

    def add(self, cells, decimal):
        """Add cells; `decimal` is the mark of the file: "," allows decimal points, too."""
        if self.is_text:
            self.parts.append((None, None, _texts(cells)))
            return
        try:
            points = np.array(cells, dtype=np.float64)
        except ValueError:
            cells = _texts(cells).tolist()
            try:
                points = np.array([np.nan if cell is None else cell for cell in cells], dtype=np.float64)
            except ValueError:
                points = None
        commas, alike = None, False
        if (self.mark or decimal) == ",":
            alike = points is not None and not any("." in cell for cell in cells if cell)
            if alike:
                commas = points
            elif all(DECIMAL_COMMA.fullmatch(cell.strip()) for cell in cells if cell and cell not in MISSING):
                commas = comma_numbers(cells)
        kept = not alike and (points is None) == (commas is None)
        self.parts.append((points, commas, _texts(cells) if kept else None))

    def shows_comma(self):
        """Whether cells show a decimal comma (True) or a decimal point (False); None if neither."""
        if self.is_text or not self.parts:
            return None
        if all(points is not None for points, _, _ in self.parts):
            return None if all(commas is not None for _, commas, _ in self.parts) else False
        return True if all(commas is not None for _, commas, _ in self.parts) else None

    def joined(self, mark):
        """The whole column; `mark` is the decimal mark where cells do not show it."""
        mark = self.mark or mark
        points, commas = ([part[i] for part in self.parts] for i in (0, 1))
        with_points, with_commas = (all(part is not None for part in parts) for parts in (points, commas))
        self.mark = {True: ",", False: "."}.get(self.shows_comma(), self.mark)
        if with_commas and (mark == "," or not with_points):
            return np.concatenate(commas)
        if with_points:
            return np.concatenate(points)
        return np.concatenate([_as_texts(*part) for part in self.parts])


def comma_numbers(cells):
    """The numbers of texts with decimal commas, in which points are between thousands."""
    texts = ("nan" if not cell or cell in MISSING else cell.replace(".", "").replace(",", ".") for cell in cells)
    return np.array(list(texts), dtype=np.float64)


def _texts(cells):
    """An array of the texts of cells, in which a missing cell is None."""
    return np.array([None if cell in MISSING or cell is None else cell for cell in map(_stripped, cells)], dtype=object)


def _stripped(cell):
    return cell and cell.strip()


def _as_texts(points, commas, kept):
    """The texts of cells: `kept`; if that is None, texts made from `points`, the cells as numbers, or from `commas`."""
    if kept is not None:
        return kept
    if points is not None:
        return texts(points)
    return np.array([text and text.replace(".", ",") for text in texts(commas).tolist()], dtype=object)


def read_numbers(source):
    """(X, names) of a text with numbers only; one with a single decimal mark four times as fast as by `read_csv`."""
    with source.text() as file:
        reading = _guessed(file, source.reading)
        used = set()
        if reading.decimal == ",":
            used = {mark for line in file for mark in ",." if mark in line}
        if used == {",", "."} or ("." in used and source.reading.decimal == ","):
            return None
        file.seek(0)
        names, _ = _lines(file, reading)
        file.seek(0)
        first = next((number for number, _ in _rows(file, reading)), 1)
        n_header = first - (names is None)
        file.seek(0)
        for _ in range(n_header):
            file.readline()
        lines = (line.replace(",", ".") for line in file) if "," in used else file
        options = {"delimiter": reading.separator, "quotechar": '"', "comments": None, "ndmin": 2}
        try:
            # NumPy's warning about a file without rows is ignored, because the caller refuses such a file.
            with warnings.catch_warnings(action="ignore"):
                return np.loadtxt(lines, **options), names
        except ValueError as error:
            file.seek(0)
            raise ValueError(_first_fault(file, reading) or error) from error


def _guessed(file, reading):
    """A Reading with the mark between cells and the decimal mark, of which guesses replace what is not given.

    The mark between cells is one that the first lines have equally often, outside of quotes. A decimal comma can be
    anywhere but in a file whose cells have commas between them.
    """
    first = [_QUOTED.sub("", line) for line in islice((line for line in file if line.strip()), _FIRST_LINES)]
    file.seek(0)
    told = _MARK_LINE.fullmatch(first[0]) if first else None
    if told is not None:
        reading, first = reading._replace(separator=reading.separator or told[1]), first[1:]
    marks = [
        mark for mark in ";\t|," if first and mark in first[0]
    ]  # the comma is tried last as separator, because it may be a decimal comma
    regular = [mark for mark in marks if len({line.count(mark) for line in first}) == 1]
    likely = (reading.likely or {}).get("separator")
    known = [likely] if likely is not None and first and likely in first[0] else []
    separator = reading.separator or next(iter([*known, *regular, *sorted(marks)]), ",")
    return reading._replace(separator=separator, decimal=reading.decimal or ("." if separator == "," else ","))


def _lines(file, reading):
    """(names of the columns or None, iterator over (line number, cells) of the lines with data) of an open file."""
    lines = _rows(file, reading)
    first = next(lines, None)
    if first is None:
        return None, lines
    if reading.header is False or (reading.header is None and any(_is_number(cell, reading) for cell in first[1])):
        return None, chain([first], lines)
    return [name.strip() for name in first[1]], lines


def _rows(file, reading):
    """Yield (number, cells) of each line, except empty lines and the line that only tells the separator of cells."""
    rows = csv.reader(file, delimiter=reading.separator, skipinitialspace=True)
    first = True
    for cells in rows:
        if cells and not (first and _MARK_LINE.fullmatch(reading.separator.join(cells))):
            yield rows.line_num, cells
        first = first and not cells


def _is_number(cell, reading):
    return is_number(cell) or (reading.decimal == "," and DECIMAL_COMMA.fullmatch(cell.strip()) is not None)


def _first_fault(file, reading):
    """A sentence about the first place at which a text is no matrix of numbers; None if there is no such place."""
    names, lines = _lines(file, reading)
    n_columns = None
    for number, line in lines:
        n_columns = n_columns or len(line)
        if len(line) != n_columns:
            return f"line {number} has {len(line)} columns, the lines before it have {n_columns}"
        for i, cell in enumerate(line):
            if not _is_number(cell, reading):
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
        raise ValueError("there is no entry index:value; at least one is wanted")
    n_columns = max(columns) + 1
    is_dense = len(labels) * n_columns <= _DENSE_NUMBERS
    if not is_dense and n_columns > _COLUMNS:
        raise ValueError(f"there is the index {n_columns}; indices up to {_COLUMNS} are wanted")
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
    """Arrays of the row, the column and the value of each entry, sorted by row and then by column."""
    rows, columns, values = np.array(rows, np.int64), np.array(columns, np.int64), np.array(values)
    order = np.lexsort((columns, rows))
    rows, columns, values = rows[order], columns[order], values[order]
    odd = np.flatnonzero((np.diff(rows) == 0) & (np.diff(columns) == 0))
    if len(odd):
        raise ValueError(f"row {rows[odd[0]]} has the index {columns[odd[0]] + 1} twice; once is wanted")
    return rows, columns, values


def _sparse(rows, columns, values, shape):
    """A Csr from the row, column and value of each entry; entries are sorted by row and then by column."""
    if not np.isfinite(values).all():
        row = rows[np.argmin(np.isfinite(values))]
        raise ValueError(f"row {row} of a matrix too large to be dense has NaN or infinity; finite numbers are wanted")
    indptr = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=shape[0]))])
    return Csr(indptr, columns.astype(np.int32), values, shape[1])
