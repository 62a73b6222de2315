"""Columns of texts that stand for something else: numbers with commas, dates, numbers with a few faults, ids."""

import re
from typing import NamedTuple

import numpy as np

from .._dates import DAY, as_dates, floats, some
from ..table import Table, is_number, texts
from .text_formats import DECIMAL_COMMA

# A column of texts is an id of the rows if it has more different texts than _LEAST_TEXTS, and their share of all its
# texts is above _MOST. A column of more texts than _LEAST_TEXTS is one of numbers if at least the share _MOST of them
# are numbers; its other texts count as missing.
_LEAST_TEXTS = 20
_MOST = 0.9

# The largest number of different texts that mark missing values in a column of numbers.
_MARKS = 3

# The pattern of a negative number in brackets, as in accounts.
_BRACKETED = re.compile(r"\(([^-()]+)\)")

# Patterns of a number with a unit before or after it, and of a space or apostrophe between groups of three digits.
_CURRENCY = "[€$£¥]|EUR|USD|GBP|CHF"
_WITH_UNIT = re.compile(rf"([+\-\u2212]?)({_CURRENCY})?\s*([+\-\u2212]?[\d.,].*?)\s*([%‰]|{_CURRENCY})?", re.DOTALL)
_BETWEEN_GROUPS = re.compile(r"(?<=\d)[ \u00a0\u202f'\u2019](?=\d{3}(?!\d))")

_THOUSANDS = re.compile(r"[+-]?(\d+|[1-9]\d{0,2}(,\d{3})+)(\.\d+)?([eE][+-]?\d+)?")
# For each part of a date, by its name, a function that computes it from an array of datetime64 in seconds.
_PARTS = {
    "year": lambda moment: moment.astype("M8[Y]").astype(np.int64) + 1970,
    "month": lambda moment: moment.astype("M8[M]").astype(np.int64) % 12 + 1,
    "day of month": lambda moment: (moment.astype("M8[D]") - moment.astype("M8[M]")).astype(np.int64) + 1,
    # the number of the weekday; 0 is Monday
    "weekday": lambda moment: (moment.astype("M8[D]").astype(np.int64) + 3) % 7,
    "hour": lambda moment: (moment - moment.astype("M8[D]")).astype(np.int64) // 3600,
}


class Refined(NamedTuple):
    """A table in which columns of texts that stand for numbers or dates are numbers."""

    table: Table
    notes: list  # lines for the user that tell which columns were converted
    memory: "Memory"


class Memory(NamedTuple):
    """How the columns of a table were read, by their names or positions, for tables with the same columns."""

    orders: dict  # for each column of dates, which of 'day', 'month' and 'year' its texts begin with
    decimals: dict  # {column: decimal mark}, for columns of numbers whose mark cells have shown or the user has told
    faulty: tuple = ()  # the columns of numbers or dates in which texts that are no number or date count as missing


FRESH = Memory({}, {})


def refined(table, as_texts=(), date_parts=(), memory=FRESH, assumed=None):
    """The `Refined` table.

    The columns at the positions `as_texts` keep their texts. After a column of dates whose position is in `date_parts`
    come columns with the parts of the dates. `memory` is that of the table of the training; `assumed`, 'day' or
    'month', is the order of dates where no number above 12 shows it.
    """
    if table.matrix is not None:
        return Refined(table, [], FRESH)
    columns, names, notes, found, faulty = [], [], [], Memory({}, {}), []
    for j, column in enumerate(table.columns):
        title, key, dates = table.title(j), j if table.names is None else table.names[j], None
        mark = memory.decimals.get(key) or (table.marks and table.marks[j])
        if column.dtype.kind == "O" and j not in as_texts:
            lenient = key in memory.faulty
            dates = as_dates(column, title, memory.orders.get(key), assumed, lenient)
            read = _as_numbers(column, mark, lenient) if dates is None else dates
            column, mark = read.column, getattr(read, "mark", None)
            notes += [f"{title} holds {read.note}"] if read.note else []
            faulty += [key] if read.n_faults else []
            if dates is not None and dates.order is not None:
                found.orders[key] = dates.order
        if mark is not None and column.dtype.kind != "O":
            found.decimals[key] = mark
        columns.append(column)
        names.append(None if table.names is None else table.names[j])
        if j in date_parts:
            if dates is None or dates.column.dtype.kind == "O":
                raise ValueError(f"{title} holds no dates; 2024-12-31, 31.12.2024 and 31/12/2024 are dates")
            columns += _parts_of(dates.column)
            names += [f"{names[-1]}: {part}" for part in _PARTS]
    table = Table(columns, names if table.names else None)
    return Refined(table, notes, found._replace(faulty=tuple(faulty)))


def parts_wanted(table, names):
    """The positions of the columns whose parts of dates are among the names of a model's columns."""
    known = set(names)
    return [j for j, name in enumerate(table.names) if any(f"{name}: {part}" in known for part in _PARTS)]


class _Numbers(NamedTuple):
    """A column of texts, read as numbers; if its texts are no numbers, the column as it was."""

    column: np.ndarray
    note: str | None = None  # in words, how the texts were written, for the user; None if no text was converted
    mark: str | None = None  # the decimal mark; None if no cell shows it and it is not known
    n_faults: int = 0  # the number of cells that are no numbers, and therefore count as missing


class _Form(NamedTuple):
    """A notation of numbers in texts, such as that with a decimal comma."""

    mark: str
    fits: object  # a function that tells whether a text is a number in this notation
    number: object  # a function that converts a text in this notation to a number
    note: str


_POINT = _Form(".", is_number, float, "numbers")
_GROUPED = _Form(
    ".", _THOUSANDS.fullmatch, lambda text: float(text.replace(",", "")), "numbers with a comma after the thousands"
)
_COMMA = _Form(
    ",",
    DECIMAL_COMMA.fullmatch,
    lambda text: float(text.replace(".", "").replace(",", ".")),
    "numbers with decimal commas",
)
# {decimal mark, or None if it is unknown: notations of numbers}; the first notation that fits all texts is taken
_FORMS = {".": (_POINT, _GROUPED), ",": (_COMMA, _POINT), None: (_POINT, _GROUPED, _COMMA)}


def _as_numbers(column, mark, lenient):
    """The `_Numbers` of a column of texts.

    mark: the decimal mark, if it is known; lenient: whether any number of texts may be faults.
    """
    bare, unit = _without_unit(column, mark)
    if bare is not None:
        read = _as_numbers(bare, mark, lenient)
        more = f", with the unit {unit!r}" if unit else ", with marks between the digits"
        if any(map(_BRACKETED.fullmatch, filter(None, column.tolist()))):
            more += " or brackets around negative ones"
        return read._replace(note=(read.note or _POINT.note) + more)
    given = [text for text in column.tolist() if text is not None]
    if not given:
        return _Numbers(column)
    for form in _FORMS[mark]:
        if all(map(form.fits, given)):
            note = None if form is _POINT else form.note
            shown = form.mark if any("." in text or "," in text for text in given) else mark
            return _Numbers(floats(column, form.number), note, shown)
    for form in _FORMS[mark]:
        faults = [text for text in given if not form.fits(text)]
        few = len(given) > _LEAST_TEXTS and len(faults) <= (1 - _MOST) * len(given)
        if faults and (few or lenient or _are_marks(faults, given)):
            numbers = floats(column, lambda text, form=form: form.number(text) if form.fits(text) else np.nan)
            note = f"{form.note}, but for {len(faults)} of {len(column)} cells ({some(faults)}), which count as missing"
            return _Numbers(numbers, note, form.mark, len(faults))
    return _Numbers(column)


def _are_marks(faults, given):
    """Whether `faults`, which are no numbers, only mark missing values among the texts `given`, most of them numbers.

    So it is if they are a few different texts without digits, and the numbers are of many different values.
    """
    kinds = set(faults)
    return (
        len(kinds) <= _MARKS
        and 2 * len(faults) <= len(given)
        and len(set(given)) - len(kinds) > _LEAST_TEXTS
        and not any(letter.isdigit() for text in kinds for letter in text)
    )


def _without_unit(column, mark):
    """(the texts without a unit and without spaces between groups of digits, the unit); or (None, "").

    The former only if some text has one of these, all have the same unit or none, and all are then numbers with the
    decimal mark `mark`, or with any if it is None.
    """
    bare, units, changed = [], set(), False
    for text in column.tolist():
        bracketed = _BRACKETED.fullmatch(text or "")
        found = None if text is None else _WITH_UNIT.fullmatch(bracketed[1] if bracketed else text)
        if text is not None and found is None:
            return None, ""
        if found is not None:
            sign, before, number, after = found.groups(default="")
            sign = "-" if bracketed else sign
            number = _BETWEEN_GROUPS.sub("", sign + number).replace("\u2212", "-")
            if (before and after) or not any(form.fits(number) for form in _FORMS[mark]):
                return None, ""
            units.add(before or after)
            changed |= number != text
        bare.append(None if text is None else number)
    units.discard("")
    if not changed or len(units) > 1:
        return None, ""
    plain = np.array(bare, dtype=object)
    given = [text for text in bare if text is not None]
    if not any(all(map(form.fits, given)) for form in _FORMS[mark]):
        return None, ""
    return plain, "".join(units)


def _parts_of(days):
    missing = np.isnan(days)
    moment = np.round(np.where(missing, 0, days) * DAY).astype("M8[s]")
    return [np.where(missing, np.nan, part(moment)) for part in _PARTS.values()]


def ids(table, kept=()):
    """{position: reason} of the columns that are ids and not among `kept`; empty if these are all columns."""
    if table.matrix is not None:
        return {}
    reasons = {j: _why_id(column) for j, column in enumerate(table.columns) if j not in kept}
    found = {j: reason for j, reason in reasons.items() if reason is not None}
    return found if len(found) < len(table.columns) else {}


def _why_id(column):
    """The reason, in words, why a column is only an id of the rows; None if it is not."""
    n = len(column)
    if n <= _LEAST_TEXTS:
        return None
    if column.dtype.kind == "O":
        given = [text for text in texts(column).tolist() if text is not None]
        different = len(set(given))
        return f"{different} different texts in {n} rows" if different > max(_LEAST_TEXTS, _MOST * len(given)) else None
    step = column[1] - column[0]
    if abs(step) == 1 and (np.diff(column) == step).all():
        return f"it numbers the rows from {column[0]:.0f} to {column[-1]:.0f}"
    return None
