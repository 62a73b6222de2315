"""Nearest neighbours: exact search, and classes, numbers and densities from it; nearest centroids."""

from .._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
