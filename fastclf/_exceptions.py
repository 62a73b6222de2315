"""Exceptions and warnings, of scikit-learn's classes if scikit-learn is loaded, so that users' filters apply."""

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
