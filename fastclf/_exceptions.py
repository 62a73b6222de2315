"""Exceptions and warnings, of scikit-learn's classes if scikit-learn is loaded, so that users' filters apply."""

import re
import sys
import warnings

from ._threads import frame_of_caller


class _NotFittedError(ValueError, AttributeError):
    """The error of an estimator used before `fit`; if scikit-learn is loaded, its NotFittedError is raised instead."""


def _class_named(name, otherwise):
    loaded = sys.modules.get("sklearn.exceptions")
    return otherwise if loaded is None else getattr(loaded, name)


def not_fitted_error(message):
    return _class_named("NotFittedError", _NotFittedError)(message)


def of_column(error, column):
    """Mark an error, whose message has the words "column N", so that the column's name in a table can replace N."""
    error.column = int(column)
    return error


def name_column(error, names):
    """Replace "column N", in the message of an error from `of_column`, by the column's name, unless `names` is None."""
    column = vars(error).pop("column", None)
    if column is not None and names is not None and column < len(names):
        title = f"column {names[column]!r}"
        error.args = (re.sub(rf"\bcolumn {column}\b", lambda _: title, str(error), count=1),)


def warn(message, category=UserWarning):
    """Give a warning that points to the line that called this package.

    A category given as a string is the name of scikit-learn's warning.
    """
    frame = frame_of_caller() or sys._getframe()
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == __package__:
        frame = frame.f_back
    category = _class_named(category, UserWarning) if isinstance(category, str) else category
    told, name = frame.f_globals.setdefault("__warningregistry__", {}), frame.f_globals.get("__name__", "<unknown>")
    warnings.warn_explicit(message, category, frame.f_code.co_filename, frame.f_lineno, name, told)
