"""Metrics of predictions: tables of counts, curves, probabilities, costs."""

from .._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
