"""The documents: code in them is the code of the files that they name, and their links lead somewhere."""

import ast
import importlib.util
import pkgutil
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
    assert len(blocks) == text.count("python include=")
    for indent, path, name, block in blocks:
        told = textwrap.dedent(block.replace(f"\n{indent}", "\n")).strip()
        assert told == source(path, name).strip(), f"{path}:{name}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    """Every link to a file of the repository names one that is there."""
    links = re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
    assert [link for link in links if "://" not in link and not (page.parent / link).exists()] == []


def test_broken_links_of_the_site_are_found(tmp_path):
    """A link to a page or an anchor that is not there is named; links out of the site are not followed."""
    spec = importlib.util.spec_from_file_location("links", ROOT / "docs" / "links.py")
    links = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(links)
    (tmp_path / "b").mkdir()
    (tmp_path / "a.html").write_text(
        '<a href="b/">b</a><a href="b/index.html#here"></a><a href="https://x.org/y"></a><a href="#gone"></a>'
    )
    (tmp_path / "b" / "index.html").write_text('<p id="here"><img src="no.png"></p><a href="../a.html"></a>')
    assert sorted(links.broken(tmp_path)) == ["a.html: #gone", "b/index.html: no.png"]


def test_all_claims_are_gathered():
    """All tables of claims are on one page; each row has an interval, or the reason for none, and a verdict."""
    results = ROOT / "docs" / "results"
    included = re.findall(r"```\{include\} (\S+)", (results / "claims.md").read_text(encoding="utf-8"))
    tables = [
        (results / name).read_text(encoding="utf-8").split("\n\n<!-- end of the claims -->")[0] for name in included
    ]
    rows = [table.splitlines()[4:] for table in tables]
    assert all(lines[0].startswith("| claim") and all(line.startswith("|") for line in lines) for lines in rows)
    assert not any("](#" in line for lines in rows for line in lines)  # it would lead nowhere from the other page
    marked = {
        page.name for page in results.glob("*.md") if "<!-- end of the claims -->" in page.read_text(encoding="utf-8")
    }
    assert marked - {"claims.md"} == set(included)
    for line in (line for lines in rows for line in lines[2:]):
        _, _, interval, verdict = (cell.strip() for cell in line.strip("|").split(" | "))
        assert re.search(r"-?\.?\d+ to |zero", interval) or interval.startswith("none: "), line
        assert re.match(r"(confirmed|refuted|undecided|not tested)\b", verdict), line
    claims = sum(len(lines) - 2 for lines in rows)
    assert f"[All {claims} claims](claims.md)" in (results / "index.md").read_text(encoding="utf-8")


def test_examples_of_the_gallery_are_short():
    """Twenty scripts of at most 40 lines."""
    scripts = sorted((ROOT / "docs" / "gallery").glob("plot_*.py"))
    assert len(scripts) >= 20
    assert {
        script.name: lines for script in scripts if (lines := len(script.read_text("utf-8").splitlines())) > 40
    } == {}


def test_targets_of_the_map_exist():
    """The map of the publications names classes, functions and tests that exist, or says why there is none."""
    page = (ROOT / "docs" / "results" / "documents.md").read_text(encoding="utf-8")
    rows = [
        line for line in page.splitlines() if line.startswith("|") and not line.startswith(("|--", "| section", "| eq"))
    ]
    for row in rows:
        names, tests = re.findall(r"`((?:polyadic|experiments)\.[\w.]+)`", row), re.findall(r"`(tests/[\w./:]+)`", row)
        for name in names:
            pkgutil.resolve_name(name)
        for test in tests:
            path, _, function = test.partition("::")
            assert f"def {function}(" in (ROOT / path).read_text(encoding="utf-8"), test
        assert (names and tests) or "named only; " in row or "numpy" in row or row.startswith("| part"), row
