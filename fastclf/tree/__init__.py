"""Decision trees, which try every threshold of every feature, and their rules as text and pictures."""

from .._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
