"""What a fitted model has learned, as a picture: names of other rooms, where scikit-learn has them."""

from .._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
