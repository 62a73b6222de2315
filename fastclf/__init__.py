"""Classical classifiers with compiled kernels: exact answers, fast, on plain NumPy arrays."""

from ._lazy import attach

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = attach(__name__)
__all__ = sorted([*__all__, "__version__"])
