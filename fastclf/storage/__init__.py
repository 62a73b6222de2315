"""Fitted estimators in files, without pickle."""

from .._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
