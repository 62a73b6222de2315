"""Dates in columns of texts, which become days since 1970-01-01."""

import re
from datetime import UTC, datetime
from typing import NamedTuple

import numpy as np

# A column of texts with more than _LEAST_TEXTS texts counts as dates if at least the share _MOST of the texts are
# dates; the others are faults, which count as missing.
_LEAST_TEXTS = 20
_MOST = 0.9

_ISO_DATE = re.compile(r"\d{4}-\d\d-\d\d([ T]\d\d:\d\d(:\d\d(\.\d{1,6})?)?(Z|[+-]\d\d:?\d\d)?)?")
_SLASHED_DATE = re.compile(r"(\d{4})/(\d\d?)/(\d\d?)")
# Texts such as 31.12.2024 (day first), 31/12/2024 or 12-31-2024 (day or month first); a time of the day may follow.
_DATE = re.compile(r"(\d\d?)([./-])(\d\d?)\2(\d{4})(?:[ T]+(\d\d?):(\d\d)(?::(\d\d))?(?: ?([APap])\.?[Mm]\.?)?)?")
DAY = 86400.0


class Dates(NamedTuple):
    """A column of texts, and what is known of them as dates; `column` has days if the texts are dates."""

    column: (
        np.ndarray
        # (n,): days since 1970-01-01, where a time without a zone counts as UTC; or the texts, if the order of day and
        # month is unknown
    )
    note: str
    # what comes first in a date: 'day', 'month' or 'year'; None if it is unknown
    order: str | None = None
    n_faults: int = 0  # the number of cells that are no dates and count as missing


def as_dates(column, title, known=None, assumed=None, lenient=False):
    """The `Dates` of a column of texts, or None if it has other texts.

    known: the order of day, month and year in the training, or None; assumed: 'day' or 'month', the order if the texts
    do not show it, or None; lenient: whether any number of texts may be faults.
    """
    given = [text for text in column.tolist() if text is not None]
    if not any(_is_date(text) for text in (given if known else given[:_LEAST_TEXTS])):
        if not (given and known and lenient):
            return None
        return Dates(np.full(len(column), np.nan), "no dates, and counts as missing", known, len(given))
    shown, text = _order(given)
    if known in ("day", "month") and shown not in (known, "open", None):
        first = "/".join([known, "month" if known == "day" else "day"])
        raise ValueError(f"{title} holds {text!r}; {first}/year is wanted, as in training")
    if known == "year" and shown == "open" and assumed is None:
        raise ValueError(f"{title} holds {text!r}; dates such as 2024-12-31 are wanted, as in training")
    order = known if known in ("day", "month") else assumed if shown == "open" else shown
    days = {text: _day(text, order) for text in set(given)}
    faults = [text for text in given if days[text] is None]
    many = len(given) <= _LEAST_TEXTS or len(faults) > (1 - _MOST) * len(given)
    if faults and many and not lenient:
        if shown == "open" and all(map(_is_date, given)):
            texts_stay = "--dates day-first or --dates month-first makes them days"
            return Dates(
                column, f"dates such as {text}, whose order is not certain, and which stay texts: {texts_stay}"
            )
        return None
    note = "dates: days since 1970-01-01"
    if shown is not None:
        note = f"dates, {order} first ({text}): days since 1970-01-01"
    if faults:
        note += f"; {len(faults)} of {len(column)} cells ({some(faults)}) are no dates, and count as missing"
    numbers = floats(column, lambda text: np.nan if days[text] is None else days[text])
    dotted = order is None and any(match and match[2] == "." for match in map(_DATE.fullmatch, given))
    return Dates(numbers, note, order or known or ("day" if dotted else "year"), len(faults))


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
    """The date in a text, in days since 1970-01-01; None if the text is no date with this order of day and month."""
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
    return moment.replace(tzinfo=moment.tzinfo or UTC).timestamp() / DAY


def floats(column, number):
    return np.array([np.nan if text is None else number(text) for text in column.tolist()])


def some(texts):
    """The first three different texts, quoted for a message."""
    return ", ".join(map(repr, list(dict.fromkeys(texts))[:3]))


def date_text(days):
    """Days since 1970-01-01 as a date, with a time of the day if it is not midnight; infinity stays a number."""
    if not abs(days) < 2.9e6:  # a date so far away is beyond those that `datetime` can hold
        return str(days)
    moment = np.datetime64(round(days * DAY), "s")
    text = str(moment).replace("T", " ")
    return text.removesuffix(":00").removesuffix(" 00:00")
