"""How wrong a model is on rows that it has not seen: folds, cross-validation, tuning, curves."""

from .._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
