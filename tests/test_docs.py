"""The documents: code in them is the code of the files that they name, and their links lead somewhere."""

import ast
import re
import textwrap
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("changelog.d/*.md")])
INCLUDED = re.compile(r"^( *)```python include=(\S+):(\w+)\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)


def source(path, name):
    """Give the text of a class or function of a file, or of the example of a model."""
    text = (ROOT / path).read_text(encoding="utf-8")
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ClassDef | ast.FunctionDef) and node.name == name:
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            return "\n".join(text.splitlines()[first - 1 : node.end_lineno])
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "Example" and f"{name}(" in ast.unparse(node):
            return textwrap.dedent("    " + ast.get_source_segment(text, node))
    pytest.fail(f"{path} has no {name}")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_code_is_that_of_the_files(page):
    """A block that names a file and something in it is the text that stands there."""
    text = page.read_text(encoding="utf-8")
    blocks = INCLUDED.findall(text)
    assert len(blocks) == text.count("include=")
    for indent, path, name, block in blocks:
        told = textwrap.dedent(block.replace(f"\n{indent}", "\n")).strip()
        assert told == source(path, name).strip(), f"{path}:{name}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    """Every link to a file of the repository names one that is there."""
    links = re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
    assert [link for link in links if "://" not in link and not (page.parent / link).exists()] == []
