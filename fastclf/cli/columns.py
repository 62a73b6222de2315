"""Columns of texts that stand for something else: numbers with commas, dates, numbers with a few faults, ids."""

import re
from datetime import UTC, datetime
from typing import NamedTuple

import numpy as np

from ..table import Table, is_number, texts
from .text_formats import DECIMAL_COMMA

# A column of texts is an id if it has more than _LEAST_TEXTS different texts, and more than the share _MOST of its
# texts are different. It is a column of numbers, with faults, if at least the share _MOST of more than _LEAST_TEXTS
# texts is numbers.
_LEAST_TEXTS = 20
_MOST = 0.9

# Patterns of a number with a unit before or after it, and of a space or apostrophe between groups of three digits.
_CURRENCY = "[€$£¥]|EUR|USD|GBP|CHF"
_WITH_UNIT = re.compile(rf"([+\-\u2212]?)({_CURRENCY})?\s*([+\-\u2212]?[\d.,].*?)\s*([%‰]|{_CURRENCY})?", re.DOTALL)
_BETWEEN_GROUPS = re.compile(r"(?<=\d)[ \u00a0\u202f'\u2019](?=\d{3}(?!\d))")

_THOUSANDS = re.compile(r"[+-]?(\d+|[1-9]\d{0,2}(,\d{3})+)(\.\d+)?([eE][+-]?\d+)?")
_ISO_DATE = re.compile(r"\d{4}-\d\d-\d\d([ T]\d\d:\d\d(:\d\d(\.\d{1,6})?)?(Z|[+-]\d\d:?\d\d)?)?")
_SLASHED_DATE = re.compile(r"(\d{4})/(\d\d?)/(\d\d?)")
# Dates as day.month.year, or with / or - as day, month, year or month, day, year; a time of the day may follow.
_DATE = re.compile(r"(\d\d?)([./-])(\d\d?)\2(\d{4})(?:[ T]+(\d\d?):(\d\d)(?::(\d\d))?(?: ?([APap])\.?[Mm]\.?)?)?")
_DAY = 86400.0

# For the name of each part of a date, a function that computes the part from an array of datetime64 in seconds.
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
    # a dict {name or position of a column of dates such as 31/12/2024: 'day' or 'month', which comes first}
    orders: dict


def refined(table, as_texts=(), date_parts=(), orders=None, assumed=None):
    """The `Refined` table.

    The columns at the positions `as_texts` keep their texts. After a column of dates whose position is in `date_parts`
    come columns with the parts of the dates. `orders` has the orders of day and month in the table of the training;
    `assumed`, 'day' or 'month', is the order where no number above 12 shows it.
    """
    if table.matrix is not None:
        return Refined(table, [], {})
    columns, names, notes, found = [], [], [], {}
    for j, column in enumerate(table.columns):
        title, key, dates = table.title(j), j if table.names is None else table.names[j], None
        if column.dtype.kind == "O" and j not in as_texts:
            dates = _as_dates(column, title, (orders or {}).get(key), assumed)
            column, note = _as_numbers(column) if dates is None else (dates.column, dates.note)
            notes += [f"{title} holds {note}"] if note else []
            if dates is not None and dates.order is not None:
                found[key] = dates.order
        columns.append(column)
        names.append(None if table.names is None else table.names[j])
        if j in date_parts:
            if dates is None or dates.column.dtype.kind == "O":
                raise ValueError(f"{title} holds no dates; 2024-12-31, 31.12.2024 and 31/12/2024 are dates")
            columns += _parts_of(dates.column)
            names += [f"{names[-1]}: {part}" for part in _PARTS]
    return Refined(Table(columns, names if table.names else None), notes, found)


def parts_wanted(table, names):
    """The positions of the columns whose parts of dates are among the names of a model's columns."""
    known = set(names)
    return [j for j, name in enumerate(table.names) if any(f"{name}: {part}" in known for part in _PARTS)]


def _as_numbers(column):
    """A pair: the numbers in place of a column of texts, and a note about them; or the column itself and None."""
    bare, unit = _without_unit(column)
    if bare is not None:
        given = [text for text in bare.tolist() if text is not None]
        plain = all(map(is_number, given))
        numbers, note = (_floats(bare, float), "numbers") if plain else _as_numbers(bare)
        return numbers, note + (f", with the unit {unit!r}" if unit else ", with marks between the digits")
    given = [text for text in column.tolist() if text is not None]
    if given and all(map(_THOUSANDS.fullmatch, given)):
        return _floats(column, lambda text: float(text.replace(",", ""))), "numbers with a comma after the thousands"
    if given and all(map(DECIMAL_COMMA.fullmatch, given)):
        return _floats(
            column, lambda text: float(text.replace(".", "").replace(",", "."))
        ), "numbers with decimal commas"
    faults = [text for text in given if not is_number(text)]
    if len(given) > _LEAST_TEXTS and 0 < len(faults) <= (1 - _MOST) * len(given):
        numbers = _floats(column, lambda text: float(text) if is_number(text) else np.nan)
        return (
            numbers,
            f"numbers, but for {len(faults)} of {len(column)} cells ({_some(faults)}), which count as missing",
        )
    return column, None


def _some(texts):
    """The first few different texts, as a message shows them."""
    return ", ".join(map(repr, list(dict.fromkeys(texts))[:3]))


def _without_unit(column):
    """(the texts without a unit and without spaces between groups of digits, the unit); or (None, "").

    The former only if some text has one of these, all have the same unit or none, and all are then numbers.
    """
    bare, units, changed = [], set(), False
    for text in column.tolist():
        found = None if text is None else _WITH_UNIT.fullmatch(text)
        if text is not None and found is None:
            return None, ""
        if found is not None:
            sign, before, number, after = found.groups(default="")
            number = _BETWEEN_GROUPS.sub("", sign + number).replace("\u2212", "-")
            if (before and after) or not (
                is_number(number) or _THOUSANDS.fullmatch(number) or DECIMAL_COMMA.fullmatch(number)
            ):
                return None, ""
            units.add(before or after)
            changed |= number != text
        bare.append(None if text is None else number)
    units.discard("")
    if not changed or len(units) > 1:
        return None, ""
    plain = np.array(bare, dtype=object)
    given = [text for text in bare if text is not None]
    if not any(all(map(form, given)) for form in (is_number, _THOUSANDS.fullmatch, DECIMAL_COMMA.fullmatch)):
        return None, ""
    return plain, "".join(units)


def _floats(column, number):
    return np.array([np.nan if text is None else number(text) for text in column.tolist()])


class _Dates(NamedTuple):
    """A column of texts, which may have been converted to days."""

    column: (
        np.ndarray
        # days since 1970-01-01, in UTC where a text has no zone; or texts, if the order of day and month is unknown
    )
    note: str
    # 'day' or 'month', which comes first in dates such as 31/12/2024; None for dates in another form
    order: str | None = None


def _as_dates(column, title, known, assumed):
    """The `_Dates` of a column of texts, or None if it has other texts.

    known: the order of day and month in the training, or None; assumed: the order if the texts do not show it, or None.
    """
    given = [text for text in column.tolist() if text is not None]
    if not any(_is_date(text) for text in given[:_LEAST_TEXTS]):
        return None
    order, shown = _order(given)
    if known is not None and order not in (known, "open", None):
        first = "/".join([known, "month" if known == "day" else "day"])
        raise ValueError(f"{title} holds {shown!r}; {first}/year is wanted, as in training")
    days = {text: _day(text, known or (assumed if order == "open" else order)) for text in set(given)}
    faults = [text for text in given if days[text] is None]
    if faults and (len(given) <= _LEAST_TEXTS or len(faults) > (1 - _MOST) * len(given)):
        if order == "open" and all(map(_is_date, given)):
            texts_stay = "--dates day-first or --dates month-first makes them days"
            return _Dates(
                column, f"dates such as {shown}, whose order is not certain, and which stay texts: {texts_stay}"
            )
        return None
    order = known or (assumed if order == "open" else order)
    note = "dates: days since 1970-01-01" if order is None else f"dates, {order} first ({shown}): days since 1970-01-01"
    if faults:
        note += f"; {len(faults)} of {len(column)} cells ({_some(faults)}) are no dates, and count as missing"
    numbers = _floats(column, lambda text: np.nan if days[text] is None else days[text])
    return _Dates(numbers, note, order)


def _is_date(text):
    return any(form.fullmatch(text) for form in (_ISO_DATE, _SLASHED_DATE, _DATE))


def _order(given):
    """(the order of day and month in dates such as 31/12/2024, a text that shows it).

    The order is 'day', 'month', 'open' if no number is above 12, or 'none' if different texts show different orders;
    None if there are no such dates.
    """
    matches = [match for match in map(_DATE.fullmatch, dict.fromkeys(given)) if match and match[2] != "."]
    if not matches:
        return None, None
    by_day, by_month = (next((m[0] for m in matches if int(m[place]) > 12), None) for place in (1, 3))
    if by_day and by_month:
        return "none", by_month
    return ("day", by_day) if by_day else ("month", by_month) if by_month else ("open", matches[0][0])


def _day(text, order):
    """The days since 1970-01-01 of a text; None if it is no date, or not one in the given order."""
    try:
        if _ISO_DATE.fullmatch(text):
            return _days(datetime.fromisoformat(text))
        if match := _SLASHED_DATE.fullmatch(text):
            return _days(datetime(*map(int, match.groups())))
        match = _DATE.fullmatch(text)
        if match is None or (match[2] != "." and order not in ("day", "month")):
            return None
        day, month = (match[3], match[1]) if match[2] != "." and order == "month" else (match[1], match[3])
        hour, minute, second = (int(part or 0) for part in match.group(5, 6, 7))
        if match[8]:
            hour = hour % 12 + 12 * (match[8] in "pP")
        return _days(datetime(int(match[4]), int(month), int(day), hour, minute, second))
    except ValueError:
        return None


def _days(moment):
    return moment.replace(tzinfo=moment.tzinfo or UTC).timestamp() / _DAY


def _parts_of(days):
    missing = np.isnan(days)
    moment = np.round(np.where(missing, 0, days) * _DAY).astype("M8[s]")
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
