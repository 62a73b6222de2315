"""Pictures of results and models; matplotlib is imported when one is drawn, not before."""

from .._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
