"""Sphinx settings of the documentation; `make docs` runs them, without the network."""

import re
import sys
import warnings
from pathlib import Path

import fastclf
from fastclf._lazy import ROOMS

sys.path.insert(0, str(Path(__file__).parent))
import written_pages

project = "fastclf"
author = "the fastclf developers"
copyright = "the fastclf developers, BSD 3-Clause"
version = release = fastclf.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "sphinx.ext.mathjax",
    "sphinx-mathjax-offline",
    "sphinx_gallery.gen_gallery",
    "sphinx_copybutton",
    "sphinx_design",
]
exclude_patterns = ["benchmarks/measured", "examples", "**/GALLERY_HEADER.rst"]
templates_path = ["_templates"]
suppress_warnings = ["config.cache", "mathjax.config_backwards_compatibility"]

# Explicit references must lead somewhere; words in single backticks link where a name exists.
default_role = "py:obj"
nitpicky = True
nitpick_ignore_regex = [("py:obj", "(?s).*"), ("py:class", ".*")]

myst_enable_extensions = ["dollarmath", "amsmath", "colon_fence", "deflist", "attrs_inline"]
myst_heading_anchors = 3

autodoc_default_options = {"members": True}
autodoc_typehints = "none"
autosummary_generate = True
autosummary_context = {"rooms": ROOMS}
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

sphinx_gallery_conf = {
    "examples_dirs": "examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"\.py$",
    "doc_module": ("fastclf",),
    "backreferences_dir": "reference/backreferences",
    "inspect_global_variables": True,
    "min_reported_time": 1e9,
    "write_computation_times": False,
    "show_memory": False,
    "show_signature": False,
    "download_all_examples": False,
    "remove_config_comments": True,
    "matplotlib_animations": False,
    "capture_repr": (),
    "image_scrapers": ("matplotlib",),
    "reset_modules": ("matplotlib", lambda conf, path: style()),
    "within_subsection_order": "FileNameSortKey",
}

html_theme = "pydata_sphinx_theme"
html_title = "fastclf"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "navbar_end": ["theme-switcher"],
    "navbar_align": "left",
    "header_links_before_dropdown": 8,
    "show_nav_level": 1,
    "show_toc_level": 2,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_sidebars = {page: [] for page in ("index", "embedding", "contributing", "changelog", "search")}


def style():
    """The look of all pictures."""
    import matplotlib.pyplot as plt

    plt.rcParams.update(
        {
            "figure.figsize": (6.4, 4.2),
            "figure.dpi": 100,
            "savefig.dpi": 160,
            "figure.constrained_layout.use": True,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.titlesize": "medium",
            "legend.frameon": False,
        }
    )
    warnings.filterwarnings("ignore", message="FigureCanvasAgg is non-interactive")


def indent_of(line):
    return len(line) - len(line.lstrip())


def mark_formulas(app, what, name, obj, options, lines):
    """Turn indented formulas and code of a docstring, which have no `::` before them, into literal blocks."""
    section, out, inside = "", [], False
    for position, line in enumerate(lines):
        following = lines[position + 1] if position + 1 < len(lines) else ""
        if following and not set(following.strip()) - {"-"} and indent_of(line) == 0:
            section = line.strip()
        prose = section in ("", "Notes", "References")
        starts = prose and line.startswith("    ") and (not lines[position - 1].strip() if position else False)
        if line.strip() and indent_of(line) == 0:
            inside = False
        if starts and not inside:
            if not (out and out[-1] == "" and len(out) > 1 and out[-2].rstrip().endswith("::")):
                out += ["::", ""]
            inside = True
        out.append(line)
    lines[:] = out


def escape_symbols(app, what, name, obj, options, lines):
    """Escape the bars of |w| and the underscores of names such as coef_, which would otherwise be references."""
    inside, depth = False, 0
    for position, line in enumerate(lines):
        stripped = line.strip()
        if inside:
            if stripped and indent_of(line) <= depth:
                inside = False
            else:
                continue
        if stripped.endswith("::"):
            inside, depth = True, indent_of(line)
            continue
        if (
            not stripped
            or stripped.startswith((">>>", "...", ".."))
            or (stripped.startswith(":") and "`" not in stripped)
        ):
            continue
        parts = re.split(r"(``.*?``|`[^`]*`)", line)
        for i in range(0, len(parts), 2):
            text = re.sub(r"(?<!\\)\|", r"\\|", parts[i])
            text = re.sub(r"(?<= )\*(?=[, ])", r"\\*", text)
            parts[i] = re.sub(r"(?<![\\\w])(\w*[A-Za-z0-9])_(?![\w`*\\])", r"\1\\_", text)
        lines[position] = "".join(parts)


def skip_member(app, what, name, obj, skip, options):
    """Leave out methods that an estimator inherits from scikit-learn's base classes, where scikit-learn is loaded."""
    of_sklearn = r"set_\w+_request|get_metadata_routing|set_output"
    return True if re.fullmatch(of_sklearn, name) else None


def resolve_in_fastclf(app, env, node, contnode):
    """Resolve references of a package's docstrings to names that are documented as names of fastclf itself."""
    if node.get("refdomain") != "py" or node.get("py:module") == "fastclf":
        return None
    node["py:module"], node["py:class"] = "fastclf", None
    arguments = node["reftype"], node["reftarget"], node, contnode
    return env.get_domain("py").resolve_xref(env, node["refdoc"], app.builder, *arguments)


def setup(app):
    warnings.filterwarnings("ignore", message="Unknown section Keys")
    app.connect("autodoc-skip-member", skip_member)
    app.connect("missing-reference", resolve_in_fastclf)
    app.connect("builder-inited", lambda app: written_pages.write(Path(app.srcdir)), priority=100)
    app.connect("autodoc-process-docstring", mark_formulas, priority=100)
    app.connect("autodoc-process-docstring", escape_symbols, priority=900)
