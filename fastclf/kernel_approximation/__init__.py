"""Features whose products approximate a kernel, and a map joined to a linear model."""

from .._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
