"""What users may pass by mistake, and whether an exception is a sentence of this library that tells them so."""

import linecache
import re
import traceback
from pathlib import Path

import numpy as np

import fastclf


def junk_function(*args, **options):
    """A function passed by a user that raises an exception."""
    raise ValueError("raised by the user's function")


class JunkClass:
    """An instance of a user's class."""

    __init__ = junk_function


JUNK = [
    None,
    "x",
    "",
    0,
    -1,
    1,
    2**31,
    2**63,
    -(2**63) - 1,
    0.5,
    -0.5,
    1e300,
    np.nan,
    np.inf,
    True,
    b"x",
    [],
    [1, 2],
    {},
]
JUNK += [
    np.zeros(2),
    np.zeros(0),
    np.array(3),
    np.zeros((2, 2)),
    object(),
    junk_function,
    JunkClass,
    1j,
    np.float16(2),
    {"a": 1},
    (1,),
]


class Defect(Exception):
    """A defect that was found."""


def is_sentence(error):
    """Whether an exception was raised by this library for its user, and not by a library that it calls."""
    if not isinstance(error, (ValueError, TypeError, AttributeError, RuntimeError, MemoryError)) or "\n\n" in str(
        error
    ):
        return False
    if isinstance(error, TypeError) and re.search(r"\(\) (missing|got an unexpected|got multiple|takes) ", str(error)):
        return True  # the error is Python's own sentence about the arguments of a function
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if not frame.filename.startswith("<")]
    if frames[-1].filename.endswith(".pyx"):
        return isinstance(error, ValueError)
    if Path(frames[-1].filename).is_relative_to(Path(fastclf.__file__).parent):
        return linecache.getline(frames[-1].filename, frames[-1].lineno).strip().startswith("raise")
    # the estimator lacks the method, or a function of the user has raised the exception
    return Path(frames[-1].filename).parent == Path(__file__).parent


def place(error):
    """The innermost line of this library in an exception's traceback."""
    package = Path(fastclf.__file__).parent
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if package in Path(frame.filename).parents]
    return f"{Path(frames[-1].filename).relative_to(package)}:{frames[-1].lineno}" if frames else "outside"


def strange(error):
    return Defect(f"{type(error).__name__} at {place(error)}: {error}")
