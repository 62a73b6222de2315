"""Maps from rows to features: categories as indicators, products of features."""

from .._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
