"""Type stubs of the public names, made from their signatures and docstrings: python .ci/stubs.py [--check]

A parameter's type is taken from its docstring ("int >= 1", "{'a', 'b'} or callable", "array-like of shape (n,)"), so
that documentation and checkers cannot differ. Each module that defines public names gets a stub beside it, and so does
each package that re-exports names. With --check nothing is written: a stub that differs from the expected one fails,
and so does a type that the table below cannot read.
"""

import importlib
import inspect
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

HEAD = """# Written by .ci/stubs.py from signatures and docstrings; do not edit.
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, Self, SupportsIndex

import numpy as np
from numpy.typing import DTypeLike, NDArray

from fastclf._typing import Bool, Float, Rows"""

# Pairs (pattern for the beginning of a part of a documented type, type for a checker); the first match counts.
TYPES = [
    (r"none\b|optional\b", "None"),
    (r"\{(?P<choices>.*)\}", None),
    (r"(?P<choice>'[^']*'|\"[^\"]*\")", None),
    # the type "" here and in the next line: the text only details the part before, and adds no type
    (r"\(n_|\(value|\d \(|\(\d", ""),
    (r"(if|else|as|of shape|positive|named|the entries|columns as|one an|one for|with) ", ""),
    (r"list of str|sequence of str|collection of ", "Sequence[str]"),
    (r"list of dict", "Sequence[Mapping[Any, Any]]"),
    (r"list of ndarray|list of array", "list[NDArray[Any]]"),
    (r"list of|sequence of|list\b|set\b|pair of|three numbers|\((int|float), (int|float)\)", "Sequence[Any]"),
    (r"array-like|array, memory map|sparse matri|what the estimator takes|table or array|arrays, tables", "Rows"),
    (r"memory map|data frame|scipy csr|scipy\.sparse", "Any"),
    (r"ndarray|array\b|u?int\d|intp|float\d", "NDArray[Any]"),
    (r"bool\b|boolean", "Bool"),
    (r"int\b|whole number", "SupportsIndex"),
    (r"float\b|number\b|infinity|nan\b|-?\d+\b", "Float"),
    (r"str\b", "str"),
    (r"path-like", "os.PathLike[str]"),
    (r"dict|mapping", "Mapping[Any, Any]"),
    (r"callable|function", "Callable[..., Any]"),
    (r"iterable", "Iterable[Any]"),
    (r"randomstate", "np.random.RandomState"),
    (r"(numpy )?generator", "np.random.Generator"),
    (r"dtype", "DTypeLike"),
    (r"self\b", "Self"),
    (r"tuple", "tuple[Any, ...]"),
    (r"label|estimator|classifier|model|splitter|ignored|matplotlib|axes|figure|values|fitted|table|object", "Any"),
    (r"of `svc`|decisiontree|tuning|crossvalidation|contingencytable|embedded|pairedcomparison|pycapsule", "Any"),
    (r"novikoffbound", "Any"),
    (r"tree\b|iterator|numbers|an? |the |what ", "Any"),
]

# Types of parameters that a one-line docstring does not describe.
USUAL = {"deep": "bool"} | dict.fromkeys(["X", "y", "sample_weight", "rows"], "array-like")

# Types of the results of methods whose docstring has no section about them.
RETURNED = {
    **dict.fromkeys(["fit", "partial_fit", "set_params", "remove"], "Self"),
    **dict.fromkeys(["predict", "predict_proba", "predict_log_proba", "decision_function", "apply"], "NDArray[Any]"),
    **dict.fromkeys(["score_samples", "get_feature_names_out", "predict_joint_log_proba"], "NDArray[Any]"),
    **dict.fromkeys(["get_depth", "get_n_leaves"], "int"),
    "score": "float",
    "get_params": "dict[str, Any]",
}

unread = set()


def parts_of(text):
    """The parts of a documented type, which are separated by "or" and commas outside of braces and parentheses."""
    text = re.sub(r",? default[ =].*$", "", text.strip())
    depth, part = 0, ""
    for word in re.split(r"(\s+or\s+|,\s*|[{}()\[\]])", text):
        depth += word in ("{", "(", "[")
        depth -= word in ("}", ")", "]")
        if depth == 0 and (word.strip() in ("or", ",")):
            yield part.strip()
            part = ""
        else:
            part += word
    yield part.strip()


def annotation(text, default=None):
    """The type for checkers, from a documented type."""
    found = []
    for part in parts_of(text):
        part = re.sub(r"^or ", "", part)
        for pattern, meaning in TYPES:
            match = re.match(pattern, part, re.IGNORECASE)
            if match and meaning is None:
                values = match.groupdict().get("choices") or match["choice"]
                literals = [value.strip() for value in values.split(",")]
                found += ["Float"] * ("nan" in literals)
                found.append(f"Literal[{', '.join(value for value in literals if value != 'nan')}]")
            elif match and meaning:
                found.append(meaning)
            if match:
                break
        else:
            if part:
                unread.add(part)
    if default is None and "None" not in found and default is not inspect.Parameter.empty:
        found.append("None")
    found = list(dict.fromkeys(found))
    return "Any" if not found or "Any" in found else " | ".join(found)


def sections(obj):
    """{section of a numpydoc docstring: {name: type}}; a section without names is {"": its first line}."""
    lines, found, current = (inspect.getdoc(obj) or "").splitlines(), {}, {}
    for line, below in zip(lines, [*lines[1:], ""]):
        if line and set(below.strip()) == {"-"}:
            current = found[line.strip()] = {}
        elif match := re.match(r"^(\*{0,2}[\w, *]+?) : (.*)$", line):
            for name in match[1].split(","):
                current.setdefault(name.strip().lstrip("*"), match[2])
        elif line and not line.startswith(" ") and set(line) != {"-"}:
            current.setdefault("", line)
    return found


def shown(default):
    simple = (
        default is None or isinstance(default, (bool, int, str)) or (isinstance(default, float) and default == default)
    )
    return repr(default) if simple and repr(default) not in ("inf", "-inf") else "..."


def signature(function, documented, indent, returned, static=False):
    """The line of a stub for a function."""
    described = documented.get("Parameters", {})
    parameters, star = [], False
    for name, parameter in inspect.signature(function).parameters.items():
        if name == "self":
            parameters.append("self")
            continue
        if parameter.kind is parameter.VAR_POSITIONAL:
            parameters.append(f"*{name}: Any")
            star = True
            continue
        if parameter.kind is parameter.VAR_KEYWORD:
            parameters.append(f"**{name}: Any")
            continue
        if parameter.kind is parameter.KEYWORD_ONLY and not star:
            parameters.append("*")
            star = True
        text = described.get(name) or USUAL.get(name)
        kind = annotation(text, parameter.default) if text else "Any"
        default = "" if parameter.default is parameter.empty else f" = {shown(parameter.default)}"
        parameters.append(f"{name}: {kind}{default}")
    return f"{indent}def {function.__name__}({', '.join(parameters)}) -> {returned}: ..."


def returned_by(function, documented):
    described = documented.get("Returns", {})
    if not described:
        return RETURNED.get(function.__name__, "Any")
    kinds = [
        annotation(text, inspect.Parameter.empty) if name else described_alone(text) for name, text in described.items()
    ]
    kinds = [kind.replace("Rows", "Any").replace("SupportsIndex", "int").replace("Float", "float") for kind in kinds]
    kinds = [kind.replace("Bool", "bool") for kind in kinds]
    return kinds[0] if len(kinds) == 1 else f"tuple[{', '.join(kinds)}]"


def described_alone(text):
    return annotation(text, inspect.Parameter.empty)


def class_stub(cls):
    documented = sections(cls)
    bases = [base.__name__ for base in cls.__bases__ if base.__name__ in names_of(cls.__module__)]
    yield f"class {cls.__name__}({', '.join(bases)}):" if bases else f"class {cls.__name__}:"
    attributes = {name: text for name, text in documented.get("Attributes", {}).items() if name.isidentifier()}
    parameters = {}
    if "__init__" in vars(cls) and not issubclass(cls, tuple):
        parameters = {name: p for name, p in inspect.signature(cls.__init__).parameters.items() if name != "self"}
    for name, parameter in parameters.items():
        if parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY) and name not in attributes:
            yield f"    {name}: Any"
    for name, text in attributes.items():
        kind = annotation(text, inspect.Parameter.empty).replace("Rows", "Any").replace("Float", "float")
        yield f"    {name}: {kind.replace('SupportsIndex', 'int').replace('_Bool', 'bool')}"
    if parameters:
        yield signature(cls.__init__, documented, "    ", "None")
    elif issubclass(cls, tuple) or "__init__" not in vars(cls):
        yield "    def __init__(self, *args: Any, **kwargs: Any) -> None: ..."
    for name in sorted(dir(cls)):
        member = inspect.getattr_static(cls, name)
        if name.startswith("_") or name in attributes or name in parameters:
            continue
        function = getattr(member, "method", member)
        function = getattr(member, "fget", None) or getattr(function, "__func__", function)
        if isinstance(member, property):
            yield f"    @property\n    def {name}(self) -> Any: ..."
        elif isinstance(member, (classmethod, staticmethod)):
            yield f"    @{type(member).__name__}"
            first = "cls, " * isinstance(member, classmethod)
            yield f"    def {name}({first}*args: Any, **kwargs: Any) -> Any: ..."
        elif inspect.isfunction(inspect.unwrap(function)) if callable(function) else False:
            text = sections(function)
            yield signature(function, text, "    ", returned_by(function, text))
        else:
            yield f"    {name}: Any"


def names_of(module):
    from fastclf._lazy import _MODULES

    return [name for name, where in _MODULES.items() if f"fastclf.{where}" == module]


def module_stub(module):
    """The stub of a module that defines public names."""
    loaded = importlib.import_module(module)
    lines = [HEAD]
    for name in names_of(module):
        obj = getattr(loaded, name)
        if inspect.isclass(obj):
            lines += ["", *class_stub(obj)]
        else:
            text = sections(obj)
            lines += ["", signature(obj, text, "", returned_by(obj, text))]
    return "\n".join(lines) + "\n"


def package_stub(package):
    """The stub of a package that re-exports names."""
    from fastclf._lazy import _MODULES

    loaded = importlib.import_module(package)
    lines = ["# Written by .ci/stubs.py; do not edit."]
    depth = package.count(".")
    for name in sorted(loaded.__all__):
        if name in _MODULES:
            place = _MODULES[name]
            room = package.partition(".")[2]
            place = place.removeprefix(f"{room}.") if depth and place.startswith(f"{room}.") else "." * depth + place
            lines.append(f"from .{place} import {name} as {name}")
    if not depth:
        lines.append("\n__version__: str\nROOMS: dict[str, str]")
    return "\n".join(lines) + "\n"


def stubs():
    """{path: text} of all stubs."""
    from fastclf._lazy import _MODULES

    found = {}
    for module in sorted(set(_MODULES.values())):
        found[Path("fastclf", *module.split(".")).with_suffix(".pyi")] = module_stub(f"fastclf.{module}")
    packages = sorted({module.partition(".")[0] for module in _MODULES.values() if "." in module})
    for package in ["", *packages, "calibration", "inspection"]:
        found[Path("fastclf", package, "__init__.pyi")] = package_stub("fastclf" + f".{package}" * bool(package))
    return found


def main():
    wrong = []
    for path, text in stubs().items():
        if "--check" not in sys.argv:
            (ROOT / path).write_text(text, "utf-8")
        elif not (ROOT / path).exists() or (ROOT / path).read_text("utf-8") != text:
            wrong.append(f"{path} is not what `python .ci/stubs.py` writes")
    wrong += [f"no type is known for {part!r}" for part in sorted(unread)]
    print("\n".join(wrong) or "stubs: every public name has its types")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
