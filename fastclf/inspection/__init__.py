"""Pictures of fitted models: names from other rooms, in the module where scikit-learn has them."""

from .._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
