"""Literals and constant arrays of C source; a name that begins with PREFIX_ gets the prefix of its file."""

import numpy as np

_NUMBERS_A_LINE = 4


def comment(text):
    """The text as part of a C comment: in ASCII, and without "*/"."""
    return text.encode("ascii", "backslashreplace").decode().replace("*/", "* /").replace("\n", " ")


def number(value, suffix=""):
    """A C literal with exactly the value of a float."""
    if np.isnan(value):
        return "(double)NAN"
    if np.isinf(value):
        return "(double)INFINITY" if value > 0 else "-(double)INFINITY"
    return float(value).hex() + suffix if value else "0"


def table(kind, name, values, write=str):
    """The C definition of a constant one-dimensional array."""
    texts = [write(value) for value in values]
    step = _NUMBERS_A_LINE if write is number else 5 * _NUMBERS_A_LINE
    lines = [", ".join(texts[i : i + step]) for i in range(0, len(texts), step)]
    return f"static const {kind} {name}[{len(texts)}] = {{\n    " + ",\n    ".join(lines) + "\n};"


def doubles(name, array):
    return table("double", name, np.ravel(array).tolist(), number)


def integers(name, array):
    return table("int", name, np.ravel(array).tolist())


def labels(classes, name, size):
    """The C definition of the array of labels, in a type that fits them."""
    if classes.dtype.kind in "iub" and (classes.dtype.kind != "u" or int(classes.max()) < 1 << 63):
        # C has no literal for the smallest int64, which is written as a difference
        texts = [f"{int(label)}" if int(label) > -(1 << 63) else f"{int(label) + 1} - 1" for label in classes]
        declared = "long long"
    elif classes.dtype.kind == "f":
        texts, declared = [number(label) for label in classes.tolist()], "double"
    else:
        texts, declared = [string(str(label)) for label in classes.tolist()], "char *const"
    declared = f"const {declared} PREFIX_{name}[{size}]"
    return f"extern {declared};\n{declared} = {{{', '.join(texts)}}};\n"


def string(label):
    """A C string literal in UTF-8. Octal escapes have three digits, so that they cannot merge with what follows."""
    letters = [chr(b) if 32 <= b < 127 and chr(b) not in '"\\?' else f"\\{b:03o}" for b in label.encode()]
    return '"' + "".join(letters) + '"'
