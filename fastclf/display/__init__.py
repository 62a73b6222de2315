"""Pictures of results and models; matplotlib is imported only when one is drawn."""

from .._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
