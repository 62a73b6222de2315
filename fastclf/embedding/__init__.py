"""Fitted models for compiled code: called by pointer without the GIL, as C source, as an ONNX graph."""

from .._lazy import attach

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        "Embedded": "handles",
        "Function": "handles",
        "embed": "handles",
        "export_c": "c_source",
        "export_onnx": "c_source",
        "functions": "handles",
        "get_include": "handles",
    },
)
