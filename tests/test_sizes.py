"""The lint of sizes: it counts arguments and lines as written, takes reasons, and fails on what is too large."""

import ast
import importlib.util
import subprocess
import sys

import pytest
from conftest import CHECKOUT

pytestmark = pytest.mark.once

SCRIPT = CHECKOUT / ".ci" / "sizes.py"


@pytest.fixture(scope="module")
def sizes():
    """The script as a module; the sdist has no such script."""
    if not SCRIPT.exists():
        pytest.skip("the script that holds functions to a size is in the repository alone")
    spec = importlib.util.spec_from_file_location("sizes", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def checkout(tmp_path, sizes):
    """What the lint reads, in a checkout with one small source."""
    for name in (".ci/sizes.py", "fastclf/_lazy.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text((CHECKOUT / name).read_text())
    (tmp_path / "src_cython").mkdir()
    return tmp_path


def lint(folder):
    return subprocess.run([sys.executable, str(folder / ".ci/sizes.py")], capture_output=True, text=True, check=False)


NINE = "a, b, c, d, e, f, g, h, i"
LONG = "    x = 1\n" * 61
STRING = '    x = """\n' + "one\n" * 61 + '"""\n'


@pytest.mark.parametrize(
    ("source", "told"),
    [
        (f"def f({NINE}):\n    pass\n", "1: f has 9 arguments; at most 8"),
        ("def f(a, b, c, d, e, f, g, h):\n    pass\n", ""),
        (f"def f(\n    {NINE[:12]}\n    {NINE[12:]},\n):\n    pass\n", "1: f has 9 arguments"),
        ("def f(a, b, c, d, e, f=(1, 2), *g, h, **i):\n    pass\n", "1: f has 9 arguments"),
        ("class A:\n    def f(self, a, b, c, d, e, f, g, h):\n        pass\n", ""),
        (f"class A:\n    def f(self, {NINE}):\n        pass\n", "2: f has 9 arguments"),
        (f"class SVC:\n    def __init__(self, *, {NINE}):\n        pass\n", ""),
        (f"class SVC:\n    def _f(self, {NINE}):\n        pass\n", "2: _f has 9 arguments"),
        (f"def roc_curve({NINE}):\n    pass\n", ""),
        (f"# Arguments: C callers pass them.\n@decorated\ndef f({NINE}):\n    pass\n", ""),
        (f"# Arguments:\ndef f({NINE}):\n    pass\n", "2: f has 9 arguments"),
        ("# Arguments: many.\ndef f(a):\n    pass\n", "2: f has 1 arguments and needs no reason"),
        (f"cdef inline void f(const double* a, {NINE[3:]}) noexcept nogil:\n    pass\n", "1: f has 9 arguments"),
        (f"cdef void f({NINE}) noexcept nogil\n", ""),
        ("def f():\n" + LONG, "1: f has 61 lines; at most 60"),
        ("def f():\n" + LONG[10:], ""),
        ('def f():\n    """What\n\n    it does."""\n    # why\n\n' + LONG[10:] + "\n\ng = 1\n", ""),
        ("def f():\n" + STRING + "    return x\n", "1: f has 64 lines"),
        ("def f():\n    def g():\n" + LONG.replace("    ", " " * 8) + "    return g\n", "2: g has 61 lines"),
        ("# Lines: one formula.\ndef f():\n" + LONG, ""),
        ("# Lines: one formula.\ndef f():\n    pass\n", "2: f has 1 lines and needs no reason"),
        ("from types import SimpleNamespace\n", "1: SimpleNamespace: a class"),
        ("# SimpleNamespace\n", ""),
        ('def f(state):\n    return hasattr(state, "exact")\n', "2: hasattr(state, ...): a class"),
        ("class A:\n    def f(self, name):\n        return hasattr(self, name)\n", "3: hasattr(self, ...)"),
        ('class A:\n    def f(self):\n        return hasattr(self, "classes_")\n', ""),
        ('def f(X):\n    return hasattr(X, "tocsr")\n', ""),
    ],
)
@pytest.mark.parametrize("path", ["fastclf/new.py", "src_cython/new.pyx"])
def test_what_is_too_large_without_a_reason_fails(checkout, path, source, told):
    (checkout / path).write_text(source)
    result = lint(checkout)
    assert result.returncode == bool(told), result.stdout + result.stderr
    assert f"{path}:{told}" in result.stdout if told else "new" not in result.stdout


def test_every_function_of_python_is_found_as_its_parser_finds_it(sizes):
    for path in (CHECKOUT / "fastclf").rglob("*.py"):
        text = path.read_text()
        expected = set()
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                every = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
                n = sum(argument.arg not in ("self", "cls") for argument in every)
                n += (node.args.vararg is not None) + (node.args.kwarg is not None)
                expected.add((node.name, node.lineno, n))
        assert {(each.name, each.line, each.n_arguments) for each in sizes.functions(text)} == expected


def test_the_functions_have_their_sizes(sizes):
    result = lint(CHECKOUT)
    assert result.returncode == 0, result.stdout
