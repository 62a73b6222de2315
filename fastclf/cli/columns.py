"""Columns of texts that stand for something else: numbers with commas, dates, numbers with a few faults, ids."""

import re
from datetime import UTC, datetime

import numpy as np

from ..table import Table, is_number, texts
from .text_formats import DECIMAL_COMMA

# A column of texts is an id if it has more than _LEAST_TEXTS different texts, and more than the share _MOST of its
# texts are different. It is a column of numbers, with faults, if at least the share _MOST of more than _LEAST_TEXTS
# texts is numbers.
_LEAST_TEXTS = 20
_MOST = 0.9

# A number with a unit before or after it, and the spaces and apostrophes between its groups of three digits.
_CURRENCY = "[€$£¥]|EUR|USD|GBP|CHF"
_WITH_UNIT = re.compile(rf"([+\-\u2212]?)({_CURRENCY})?\s*([+\-\u2212]?[\d.,].*?)\s*([%‰]|{_CURRENCY})?", re.DOTALL)
_BETWEEN_GROUPS = re.compile(r"(?<=\d)[ \u00a0\u202f'\u2019](?=\d{3}(?!\d))")

_THOUSANDS = re.compile(r"[+-]?(\d+|[1-9]\d{0,2}(,\d{3})+)(\.\d+)?([eE][+-]?\d+)?")
_ISO_DATE = re.compile(r"\d{4}-\d\d-\d\d([ T]\d\d:\d\d(:\d\d(\.\d{1,6})?)?(Z|[+-]\d\d:?\d\d)?)?")
_OTHER_DATES = {
    re.compile(r"\d{1,2}\.\d{1,2}\.\d{4}"): "%d.%m.%Y",
    re.compile(r"\d{1,2}\.\d{1,2}\.\d{4} \d\d:\d\d"): "%d.%m.%Y %H:%M",
    re.compile(r"\d{4}/\d\d/\d\d"): "%Y/%m/%d",
}
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


def refined(table, as_texts=(), date_parts=()):
    """(table, lines that tell what was changed): columns of texts that stand for numbers or dates become numbers.

    The columns at the positions `as_texts` keep their texts. After a column of dates whose position is in `date_parts`
    come columns with the parts of the dates.
    """
    if table.matrix is not None:
        return table, []
    columns, names, notes = [], [], []
    for j, column in enumerate(table.columns):
        name, dates = table.title(j), None
        if column.dtype.kind == "O" and j not in as_texts:
            dates = _as_dates(column)
            if dates is None:
                column, note = _as_numbers(column)
            else:
                column, note = dates, "dates: days since 1970-01-01"
            notes += [f"{name} holds {note}"] if note else []
        columns.append(column)
        names.append(None if table.names is None else table.names[j])
        if j in date_parts:
            if dates is None:
                raise ValueError(f"{name} holds no dates; 2024-12-31 or 31.12.2024 are dates")
            columns += _parts_of(dates)
            names += [f"{names[-1]}: {part}" for part in _PARTS]
    return Table(columns, names if table.names else None), notes


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
        shown = ", ".join(map(repr, dict.fromkeys(faults[:3])))
        numbers = _floats(column, lambda text: float(text) if is_number(text) else np.nan)
        return numbers, f"numbers, but for {len(faults)} of {len(column)} cells ({shown}), which count as missing"
    return column, None


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


def _as_dates(column):
    """Dates as days since 1970-01-01, UTC where they have no zone; None if the column has other texts."""
    given = [text for text in column.tolist() if text is not None]
    parse = _parser(given[0]) if given else None
    if parse is None:
        return None
    try:
        return _floats(column, parse)
    except ValueError:
        return None


def _parser(text):
    """For a text: a function from dates in the same format to days; None if the text is no date."""
    if _ISO_DATE.fullmatch(text):
        return lambda text: _days(datetime.fromisoformat(text))
    for pattern, form in _OTHER_DATES.items():
        if pattern.fullmatch(text):
            return lambda text: _days(datetime.strptime(text, form))
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
