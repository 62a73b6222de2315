"""Maps from rows to features: one-hot encoding of categories, and products of features."""

from .._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
