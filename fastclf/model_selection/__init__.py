"""Estimates of a model's error on new rows: folds, cross-validation, tuning, curves."""

from .._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
