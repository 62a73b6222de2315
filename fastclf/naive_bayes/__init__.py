"""Bayes' rule: naive Bayes, decisions with the least expected cost for known distributions, averages of models."""

from .._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
