"""Decision trees with an exact search of all thresholds of all features; their rules as text and pictures."""

from .._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
