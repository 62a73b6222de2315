"""Classifiers by a weighted sum of the features: perceptron, logistic regression, least squares."""

from .._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
