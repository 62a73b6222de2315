"""Checks of the built documentation that Sphinx does not make: python docs/check.py build/docs

The programs on the pages run; every public name of fastclf and of its packages has an entry, and every entry an
example; every link within the site has a target, and nothing is loaded from the network; each example of the gallery
has a picture and ends within 20 seconds. The exit status is 1 if a check fails.
"""

import contextlib
import doctest
import importlib
import inspect
import io
import json
import os
import re
import sys
import tempfile
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

from sphinx.util.inventory import InventoryFile

from fastclf import _lazy

DOCS = Path(__file__).resolve().parent
OPTIONS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
LEAST_EXAMPLES, MOST_SECONDS = 30, 20.0


def failing_programs():
    """Run the programs of each page in order, as one session, and yield a message for each page that fails."""
    os.environ["MPLBACKEND"] = "agg"
    started = Path.cwd()
    for path in [*sorted(DOCS.glob("*.md")), *sorted(DOCS.glob("*/*.md")), DOCS.parent / "EMBEDDING.md"]:
        text = path.read_text("utf-8")
        blocks = re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
        session = "\n".join(block for block in blocks if block.lstrip().startswith(">>>"))
        test = doctest.DocTestParser().get_doctest(session, {}, path.name, str(path), 0)
        told = io.StringIO()
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            failed = doctest.DocTestRunner(optionflags=OPTIONS, verbose=False).run(test, out=told.write).failed
        if failed:
            yield f"{path.relative_to(DOCS.parent)}: {failed} examples fail\n{told.getvalue()}"
    os.chdir(started)


def public_names():
    """(name as it is imported, object) of fastclf and its rooms."""
    rooms = {*_lazy.ROOMS.values(), "calibration", "display", "inspection", "numba"}
    for module in ("fastclf", *(f"fastclf.{room}" for room in sorted(rooms))):
        listed = importlib.import_module(module)
        for name in getattr(listed, "__all__", ()):
            if not name.startswith("_"):
                yield f"{module}.{name}", getattr(listed, name)


def missing_entries(site):
    """Public names without an entry in the reference, and entries of fastclf.__all__ without an example."""
    with open(site / "objects.inv", "rb") as file:
        inventory = InventoryFile.load(file, "", lambda base, address: address)
    known = {name for kind in inventory for name in inventory[kind] if kind.startswith("py:")}
    entries = set()
    for name in known:
        module, _, attribute = name.rpartition(".")
        with contextlib.suppress(ImportError, AttributeError):
            entries.add(id(getattr(importlib.import_module(module), attribute)))
    for name, obj in public_names():
        if id(obj) not in entries:
            yield f"{name} has no entry in the reference"
        elif name.count(".") == 1 and ">>>" not in (inspect.getdoc(obj) or ""):
            yield f"{name} has no example"


class Page(HTMLParser):
    """The links, the anchors and the loaded files of a page."""

    def __init__(self, text):
        super().__init__()
        self.links, self.anchors, self.loaded = [], set(), []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        self.anchors.update(value for key, value in attributes if key in ("id", "name") and value)
        if tag == "a" and given.get("href"):
            self.links.append(given["href"])
        if tag in ("script", "img", "iframe", "source") and given.get("src"):
            self.loaded.append(given["src"])
        if tag == "link" and given.get("href") and given.get("rel") not in ("canonical", "author", "license"):
            self.loaded.append(given["href"])


def dead_links(site):
    """Links to missing pages or anchors, and files that are loaded from the network."""
    pages = {path: Page(path.read_text("utf-8")) for path in site.rglob("*.html") if "_static" not in path.parts}
    for path, page in pages.items():
        here = path.relative_to(site)
        for address in page.loaded:
            parts = urlsplit(address)
            if parts.scheme or parts.netloc:
                if parts.scheme != "data":
                    yield f"{here} loads {address}"
            elif not (path.parent / unquote(parts.path)).exists():
                yield f"{here} loads {address}, which is not there"
        for address in page.links:
            parts = urlsplit(address)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if target.is_dir():
                target /= "index.html"
            if not target.exists():
                yield f"{here} links to {address}, which is not there"
            elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].anchors:
                yield f"{here} links to {address}: there is no such anchor"


def poor_examples():
    """Examples of the gallery without a picture, or that take too long; and a gallery with too few examples."""
    examples = sorted((DOCS / "examples").glob("*/*.py"))
    if len(examples) < LEAST_EXAMPLES:
        yield f"the gallery has {len(examples)} examples; {LEAST_EXAMPLES} are wanted"
    for path in examples:
        made = DOCS / "gallery" / path.parent.name
        if not list((made / "images").glob(f"sphx_glr_{path.stem}_*.png")):
            yield f"examples/{path.parent.name}/{path.name} makes no picture"
        seconds = json.loads((made / f"{path.stem}.cost.json").read_text("utf-8"))["time"]
        if seconds > MOST_SECONDS:
            yield f"{path.name} takes {seconds:.0f} seconds; at most {MOST_SECONDS:.0f} are wanted"


def main(site):
    site, wrong = Path(site).resolve(), 0
    for found in (failing_programs(), missing_entries(site), dead_links(site), poor_examples()):
        for line in found:
            print(line)
            wrong += 1
    print(f"{wrong} things are wrong with the site" if wrong else "the site is as it should be")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
