# Written by .ci/stubs.py; do not edit.
from .handles import Embedded as Embedded
from .handles import Function as Function
from .handles import embed as embed
from .c_source import export_c as export_c
from .c_source import export_onnx as export_onnx
from .handles import functions as functions
from .handles import get_include as get_include
