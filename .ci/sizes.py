"""Hold the functions of fastclf/ and src_cython/ to a size, and their state to declared classes: python .ci/sizes.py

A function, Python's or Cython's, that has more than MOST_ARGUMENTS arguments fails, and so does one whose body has more
than MOST_LINES lines. `self` and `cls` are not counted, nor are blank lines, comments and the docstring. A function
that must be larger says why in the comment directly above it, in a line that begins with "Arguments:" or "Lines:"; such
a line above a function that is small enough fails too.

Parameters that are the user's own may be as many as they are: those of a function that `fastclf/_lazy.py` lists as
public, and of `__init__` and the methods without an underscore of a class that it lists.

State is a declared class or struct: `SimpleNamespace` fails, and so does `hasattr(self, ...)` or `hasattr(state, ...)`
unless the name ends with an underscore, as the names do that `fit` learns and scikit-learn's protocol asks for.
"""

import ast
import re
import sys
from bisect import bisect_right
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
SOURCES = [("fastclf", "*.py"), ("fastclf", "*.pxd"), ("src_cython", "*.pyx"), ("src_cython", "*.pxd")]
MOST_ARGUMENTS = 8
MOST_LINES = 60

# A regular expression for a comment, or a string in any quotes. Matches do not overlap: a # in a string and a quote in
# a comment are skipped.
LONG = r"""\"{3}(?:\\.|[^\\])*?\"{3}|'{3}(?:\\.|[^\\])*?'{3}"""
SHORT = r""""(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'"""
HIDDEN = re.compile(f"#[^\\n]*|{LONG}|{SHORT}", re.S)
HEADER = re.compile(r"^([ \t]*)(?:async def|def|cpdef|cdef)\b[^\n(=#]*?\b(\w+)(?:\[[^\]\n]*\])? *\(", re.M)
OUTER = re.compile(r"^([ \t]*)(?:(?:cdef )?class (\w+)|(async def|def|cpdef|cdef) .*\()", re.M)
BAG = re.compile(r"\bSimpleNamespace\b")
MODE = re.compile(r"\bhasattr\((?:self|state), *")
LEARNED = re.compile(r"""["']\w*_["']\)""")


class Function(NamedTuple):
    name: str
    line: int  # the line of the function's header, counted from 1
    n_arguments: int
    n_lines: int  # the number of lines of the function's body
    reasons: dict  # a dict {"Arguments" or "Lines": the reason that the comment above the function gives}
    owner: str  # the class whose method the function is, or ""


def without_strings(text):
    """(the text with comments blanked and strings filled with quotes, the lines that begin inside a string)."""
    inside, shown, at = set(), [], 0
    for match in HIDDEN.finditer(text):
        fill = " " if match[0].startswith("#") else '"'
        shown += [text[at : match.start()], re.sub(r"\S", fill, match[0])]
        first = text.count("\n", 0, match.start()) + 1
        inside.update(range(first + 1, first + 1 + match[0].count("\n")))
        at = match.end()
    return "".join(shown) + text[at:], inside


def closing(code, at):
    """The position of the bracket that closes the bracket at position `at`."""
    depth = 0
    for place in range(at, len(code)):
        depth += (code[place] in "([{") - (code[place] in ")]}")
        if depth == 0:
            return place
    raise ValueError("a bracket is open at the end of the file")


def n_arguments(listed):
    """The number of arguments in the text between a function's parentheses."""
    depth, arguments = 0, [""]
    for letter in listed:
        depth += (letter in "([{") - (letter in ")]}")
        arguments = [*arguments, ""] if letter == "," and depth == 0 else [*arguments[:-1], arguments[-1] + letter]
    names = [argument.strip() for argument in arguments]
    return sum(name not in ("", "*", "/", "self", "cls") for name in names)


def reasons_above(lines, number):
    """The reasons in the comment that ends above line `number`, or above its decorators."""
    above = number - 2
    while above >= 0 and lines[above].lstrip().startswith("@"):
        above -= 1
    found = {}
    while above >= 0 and lines[above].lstrip().startswith("#"):
        match = re.match(r"\s*# ?(Arguments|Lines): *(\S.*)", lines[above])
        if match:
            found[match[1]] = match[2]
        above -= 1
    return found


def body_of(shown, inside, last, indent):
    """The lines of a body: those after line `last` that are indented further, without blank ones and the docstring."""
    body = []
    for number in range(last + 1, len(shown) + 1):
        line = shown[number - 1]
        if line.strip() and number not in inside and len(line) - len(line.lstrip()) <= indent:
            break
        if line.strip():
            body.append(line.strip())
    while body and set(body[0].removeprefix("r")) <= {'"', " "}:
        body.pop(0)
    return body


def functions(text):
    """Yield a Function for each function with a body; lines of an inner function count for the outer one too."""
    code, inside = without_strings(text)
    lines, shown = text.split("\n"), code.split("\n")
    starts = [0, *(match.end() for match in re.finditer("\n", code))]
    outer = [(match.start(), len(match[1]), match[2] if match[3] is None else "") for match in OUTER.finditer(code)]
    for match in HEADER.finditer(code):
        opening = match.end() - 1
        end = closing(code, opening)
        rest = code[end + 1 :].split("\n", 1)[0]
        if ":" not in rest or re.match(r"[ \t]*(?:cdef )?class\b", match[0]):
            continue  # a declaration is skipped, because it has no body to measure
        line, last, indent = bisect_right(starts, match.start()), bisect_right(starts, end), len(match[1])
        body = body_of(shown, inside, last, indent)
        n_lines = len(body) + bool(rest.split(":", 1)[1].strip())
        owner = owner_of(outer, match.start(), indent)
        yield Function(match[2], line, n_arguments(code[opening + 1 : end]), n_lines, reasons_above(lines, line), owner)


def owner_of(headers, place, indent):
    """The name of the class whose body defines the function at this place, or ""."""
    for start, outer, name in reversed(headers):
        if start < place and outer < indent:
            return name
    return ""


def public_names():
    """The names that `fastclf/_lazy.py` lists as public, read without importing anything."""
    found = set()
    for node in ast.parse((ROOT / "fastclf" / "_lazy.py").read_text("utf-8")).body:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Dict):
            found |= {name for value in node.value.values for name in str(ast.literal_eval(value)).split()}
    return found


def is_users(function, public):
    """Whether a function's parameters are the user's own."""
    if function.owner:
        return function.owner in public and (function.name == "__init__" or not function.name.startswith("_"))
    return function.name in public


def size_faults(function, public):
    """A sentence for each limit that a function exceeds without a reason, and for each reason that is not needed."""
    is_exempt = is_users(function, public)
    for head, noun, count, most, exempt in (
        ("Arguments", "arguments", function.n_arguments, MOST_ARGUMENTS, is_exempt),
        ("Lines", "lines", function.n_lines, MOST_LINES, False),
    ):
        reason = function.reasons.get(head)
        if count > most and not exempt and not reason:
            yield f'{function.name} has {count} {noun}; at most {most}, or a reason after "{head}:" above'
        elif reason and count <= most:
            yield f'{function.name} has {count} {noun} and needs no reason after "{head}:"'


def faults(text, public):
    """(line, sentence) for each fault of a source."""
    for function in functions(text):
        for fault in size_faults(function, public):
            yield function.line, fault
    code, _ = without_strings(text)
    found = [(match, "SimpleNamespace") for match in BAG.finditer(code)]
    found += [
        (match, match[0].strip() + " ...)") for match in MODE.finditer(code) if not LEARNED.match(text, match.end())
    ]
    for match, shown in found:
        yield code.count("\n", 0, match.start()) + 1, f"{shown}: a class that declares its fields is wanted"


def main():
    public, told, count = public_names(), [], 0
    for folder, pattern in SOURCES:
        for path in sorted((ROOT / folder).rglob(pattern)):
            text = path.read_text("utf-8")
            count += sum(1 for _ in functions(text))
            told += [f"{path.relative_to(ROOT)}:{line}: {fault}" for line, fault in sorted(faults(text, public))]
    print("\n".join(told) or f"{count} functions: none has too many arguments or lines")
    return bool(told)


if __name__ == "__main__":
    sys.exit(main())
