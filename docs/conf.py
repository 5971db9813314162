"""The site: ``make site`` builds it from these pages and from docstrings, with no network."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from latex2mathml.converter import convert

import polyadic

if TYPE_CHECKING:
    from docutils import nodes
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
    "sphinx_design",
]
exclude_patterns = ["results/*/*"]
root_doc = "index"

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 4

autosummary_generate = True
autodoc_typehints = "none"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

html_theme = "pydata_sphinx_theme"
html_title = "polyadic"
html_show_sourcelink = False


def _mathml(translator: object, node: nodes.Element) -> None:
    """Write a formula as MathML, which browsers show without a script."""
    from docutils.nodes import SkipNode

    block = node.tagname == "math_block"
    translator.body.append(convert(node.astext(), display="block" if block else "inline"))
    raise SkipNode


def list_names(folder: Path) -> None:
    """Write a page for each family of names, so that none is left out."""
    families = {family.__name__: family.HOMES for family in polyadic._FAMILIES}
    shared = {name for name in polyadic._HOMES if not any(name in homes for homes in families.values())}
    pages = {"polyadic": shared} | families | {"polyadic.metrics": polyadic.metrics.__all__}
    for module, names in pages.items():
        lines = [module, "=" * len(module), "", f".. automodule:: {module}", "", f".. currentmodule:: {module}", ""]
        lines += [".. autosummary::", "   :toctree: names", "", *(f"   {name}" for name in sorted(names)), ""]
        page, text = folder / f"{module.rpartition('.')[2]}.rst", "\n".join(lines)
        if not page.exists() or page.read_text(encoding="utf-8") != text:  # what is new is built anew
            folder.mkdir(exist_ok=True)
            page.write_text(text, encoding="utf-8")


def setup(app: Sphinx) -> None:
    """Take formulas over from the script that Sphinx would load from a server."""
    from docutils.nodes import math, math_block

    app.add_node(math, override=True, html=(_mathml, None))
    app.add_node(math_block, override=True, html=(_mathml, None))


list_names(Path(__file__).parent / "api")  # before Sphinx looks which pages there are
