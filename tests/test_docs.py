"""The documentation: every example runs, and every public name and parameter is described."""

import doctest
import importlib
import inspect
import re

import pytest
from conftest import CHECKOUT

import fastclf

pytestmark = pytest.mark.once

PUBLIC = [getattr(fastclf, name) for name in fastclf.__all__ if not name.startswith("_")]
PAGES = [CHECKOUT / "README.md", CHECKOUT / "EMBEDDING.md", *sorted((CHECKOUT / "docs").glob("*/*.md"))]
PAGES = [page for page in PAGES if "```python\n>>> " in page.read_text("utf-8")]
OPTIONS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


@pytest.mark.parametrize("room", sorted({obj.__module__ for obj in PUBLIC}))
def test_the_examples_of_a_module_run(room):
    result = doctest.testmod(importlib.import_module(room), optionflags=OPTIONS)
    assert result.attempted > 0
    assert result.failed == 0


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_examples_of_a_page_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")
    blocks = re.findall(r"^```python\n(.*?)^```", page.read_text("utf-8"), re.DOTALL | re.MULTILINE)
    session = "\n".join(block for block in blocks if block.startswith(">>>"))
    example = doctest.DocTestParser().get_doctest(session, {}, page.name, str(page), 0)
    assert doctest.DocTestRunner(optionflags=OPTIONS).run(example).failed == 0


@pytest.mark.parametrize("obj", PUBLIC, ids=lambda obj: obj.__name__)
def test_every_parameter_is_described_with_an_example(obj):
    documented = inspect.getdoc(obj)
    for section in ["Parameters\n"] * bool(inspect.signature(obj).parameters) + ["Examples\n"]:
        assert section in documented
    for name in inspect.signature(obj).parameters:
        assert re.search(rf"^{name}( :|,)", documented, re.MULTILINE), f"{name} is not described"


@pytest.mark.parametrize("obj", [obj for obj in PUBLIC if inspect.isclass(obj)], ids=lambda obj: obj.__name__)
def test_every_public_method_is_described(obj):
    for name, method in inspect.getmembers(obj, inspect.isfunction):
        if not name.startswith("_"):
            assert inspect.getdoc(method), f"{name} has no docstring"


def test_nothing_public_is_missing_from_the_overview():
    overview = (CHECKOUT / "docs" / "reference" / "overview.md").read_text()
    for name in fastclf.__all__:
        assert name.startswith("_") or f"`{name}" in overview, f"{name} is not in the overview"


def test_every_public_name_has_an_entry_in_the_reference():
    pages = [page.read_text() for page in (CHECKOUT / "docs" / "reference").glob("*.rst")]
    entries = {line.strip() for page in pages for line in page.splitlines()}
    entries |= {line.split(".. autofunction:: ")[-1].rpartition(".")[2] for line in entries}
    missing = {name for name in fastclf.__all__ if not name.startswith("_")} - entries
    assert not missing


def test_the_links_of_the_readme_lead_to_files():
    links = re.findall(r"\]\(([^)#:]+)[)#]", (CHECKOUT / "README.md").read_text("utf-8"))
    assert links
    assert [link for link in links if not (CHECKOUT / link).is_file()] == []
