"""Feature maps whose inner products approximate a kernel, and classifiers that combine a map with a linear model."""

from .._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
