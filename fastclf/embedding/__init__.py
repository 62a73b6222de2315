"""Fitted models for compiled code: called through pointers without the GIL, as C source, or as an ONNX graph."""

from .._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
