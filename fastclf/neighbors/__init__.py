"""Nearest neighbours: exact search, classification, regression, density estimation; nearest centroids."""

from .._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
