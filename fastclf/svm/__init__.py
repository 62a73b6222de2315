"""Support vector machines, with kernels or linear, and the perceptron in its dual form."""

from .._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
