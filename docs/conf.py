"""The site: ``make site`` builds it from these pages and from docstrings, with no network."""

from __future__ import annotations

import re
from pathlib import Path
from types import GenericAlias
from typing import TYPE_CHECKING, Any

from docutils import nodes
from matplotlib import rc_context
from matplotlib.axes import Axes
from sphinx_gallery.scrapers import figure_rst

import polyadic
import polyadic.metrics
import polyadic.plots
from polyadic.datasets.examples import write_examples

if TYPE_CHECKING:
    from sphinx.application import Sphinx

project = "polyadic"
copyright = "2026, the polyadic developers"  # noqa: A001 the name that Sphinx reads
author = "the polyadic developers"
version = release = polyadic.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx-mathjax-offline",  # the script that shows formulas, without a server
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["README.md", "gallery", "_templates", "sg_execution_times.rst", "examples/sg_execution_times.rst"]
templates_path = ["_templates"]
root_doc = "index"
suppress_warnings = ["config.cache"]  # a function that keeps pictures is a setting
REQUEST = re.compile("set_.*_request")

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 4

autosummary_generate = True
autodoc_typehints = "none"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False


def axes_drawn(block: object, of: dict[str, Any], conf: dict[str, Any]) -> str:
    """Keep the pictures that a block of an example has drawn: axes with a name, or its last value, and texts of SVG."""
    del block
    values = list(of["example_globals"].values())
    drawn = {value.figure for value in values if isinstance(value, Axes)}
    drawn |= {value for value in values if isinstance(value, str) and value.startswith("<svg")}
    drawn -= of["example_globals"].setdefault("kept", set())
    of["example_globals"]["kept"] |= drawn
    paths = []
    for picture in drawn:
        path = Path(next(of["image_path_iterator"]))
        if isinstance(picture, str):
            path = path.with_suffix(".svg")
            path.write_text(picture, encoding="utf-8")
        else:
            picture.savefig(path, dpi=120)
        paths.append(str(path))
    return figure_rst(paths, conf["src_dir"])


sphinx_gallery_conf = {
    "image_scrapers": (axes_drawn,),
    "capture_repr": ("_repr_html_",),
    "examples_dirs": "gallery",
    "gallery_dirs": "examples",
    "filename_pattern": r"\.py$",
    "ignore_pattern": "example/",
    "within_subsection_order": "FileNameSortKey",
    "abort_on_example_error": True,
    "show_memory": False,
    "download_all_examples": False,
    "show_signature": False,
    "backreferences_dir": "examples/backreferences",
    "doc_module": ("polyadic",),
}

html_static_path = ["_static"]
html_css_files = ["tables.css"]
html_theme = "pydata_sphinx_theme"
html_title = "polyadic"
html_theme_options = {"header_links_before_dropdown": 8, "navigation_with_keys": False}
html_show_sourcelink = False


NAMED = {
    name: f"api/names/{family.__name__}.{name}"
    for family in polyadic._FAMILIES
    for name in family.HOMES
    if name[0].isupper()  # others, such as `count` and `train`, are verbs too
}
"""The page of each public class."""


def list_names(folder: Path) -> None:
    """Write a page for each family of names, so that none is left out."""
    families = {family.__name__: family.HOMES for family in polyadic._FAMILIES}
    shared = {name for name in polyadic._HOMES if not any(name in homes for homes in families.values())}
    pages = (
        {"polyadic": shared}
        | families
        | {module.__name__: module.__all__ for module in (polyadic.metrics, polyadic.plots)}
    )
    for module, names in pages.items():
        lines = [module, "=" * len(module), "", f".. automodule:: {module}", "", f".. currentmodule:: {module}", ""]
        lines += [".. autosummary::", "   :toctree: names", "", *(f"   {name}" for name in sorted(names)), ""]
        page, text = folder / f"{module.rpartition('.')[2]}.rst", "\n".join(lines)
        if not page.exists() or page.read_text(encoding="utf-8") != text:  # what is new is built anew
            folder.mkdir(exist_ok=True)
            page.write_text(text, encoding="utf-8")


def _leaves_out(app: Sphinx, kind: str, name: str, member: object, skip: bool, options: object) -> bool | None:  # noqa: FBT001
    """Leave out what scikit-learn makes of a signature, and names of types."""
    del app, kind, skip, options
    return True if REQUEST.fullmatch(name) or isinstance(member, GenericAlias) else None


def _link_names(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """Make every public name that stands as code in a text a link to its page."""
    for literal in list(doctree.findall(nodes.literal)):
        if (
            (target := NAMED.get(literal.astext()))
            and target != page
            and not isinstance(literal.parent, nodes.reference)
        ):
            link = nodes.reference("", "", internal=True, refuri=app.builder.get_relative_uri(page, target))
            literal.replace_self(link)
            link += literal


def setup(app: Sphinx) -> None:
    """Say what pages of names leave out, and link names."""
    app.connect("autodoc-skip-member", _leaves_out)
    app.connect("doctree-resolved", _link_names)


def draw_models(page: Path, picture: Path) -> None:
    """Draw the table of ``which-model.md``: from the data to the question to the models."""
    lines = [line.strip("|").split("|") for line in page.read_text(encoding="utf-8").splitlines() if line[:2] == "| "]
    rows = [[cell.strip().replace("`", "") for cell in cells[:3]] for cells in lines[1:]]
    ax = polyadic.plots.new_axes(width=11, height=0.3 * len(rows))
    ax.set(xlim=(0, 11), ylim=(len(rows), 0))
    ax.axis("off")
    box = {"boxstyle": "round,pad=0.3", "linewidth": 0}
    arrow = {"arrowstyle": "-", "color": "0.7", "linewidth": 0.8}
    first: dict[str, float] = {}
    for at, (data, question, models) in enumerate(rows, 1):
        y = at - 0.5
        if data not in first:
            first[data] = y
            ax.text(0.1, y, data, va="center", fontsize=9, bbox=box | {"facecolor": "#d9e8f5"})
        ax.annotate("", (3.0, y), (1.9, first[data]), arrowprops=arrow)
        ax.text(3.1, y, question, va="center", fontsize=8.5)
        ax.annotate("", (6.4, y), (6.0, y), arrowprops=arrow | {"arrowstyle": "->"})
        ax.text(6.5, y, models, va="center", fontsize=8.5, color="#0a5c6b", family="monospace")
    with rc_context({"svg.hashsalt": "polyadic", "svg.fonttype": "none"}):  # equal pages give equal files
        ax.figure.savefig(picture, metadata={"Date": None})


HERE = Path(__file__).parent
draw_models(HERE / "which-model.md", HERE / "which-model.svg")
write_examples(HERE / "gallery" / "example", overwrite=True)  # as who reads the gallery has called `polyadic example`
list_names(HERE / "api")  # before Sphinx looks which pages there are
