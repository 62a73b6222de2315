"""Exceptions and warnings, of scikit-learn's classes if it is loaded, so that filters on its classes apply to ours."""

import sys
import warnings


class _NotFittedError(ValueError, AttributeError):
    """The estimator is used before `fit`. With scikit-learn loaded, its NotFittedError is raised instead."""


def _class_named(name, otherwise):
    loaded = sys.modules.get("sklearn.exceptions")
    return otherwise if loaded is None else getattr(loaded, name)


def not_fitted_error(message):
    return _class_named("NotFittedError", _NotFittedError)(message)


def warn(message, category=UserWarning):
    """Warn with the line that called this package.

    A category given as a string is scikit-learn's warning of that name.
    """
    frame, depth = sys._getframe(), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == __package__:
        frame, depth = frame.f_back, depth + 1
    category = _class_named(category, UserWarning) if isinstance(category, str) else category
    warnings.warn(message, category, stacklevel=depth)
