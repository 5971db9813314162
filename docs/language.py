"""Check the words of documents, docstrings and messages: ``python docs/language.py``, a part of ``make lint``.

The project writes as scikit-learn's documentation does. The patterns below are words that a reader has to translate;
each has the words to write instead. A line with ``language: ok`` is left alone.
"""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[1]
EVERYWHERE = {
    r"\b(is|are|was|were|be|being) told(?! apart)\b": "reported, named or known",
    r"\btells? (?!apart|(?:\w+ ){1,3}apart|the difference)": "reports, shows or says",
    r"\bstands? (in|on|at|below|above|beside|between|there|elsewhere|for itself)\b": "is, occurs or appears",
    r"\blies? (elsewhere|there|with|beside|at)\b": "is",
    r"\bhangs? (on|together)\b": "depends on, is connected",
    r"\bthe same bits\b": "bit-identical results",
    r"\b(found again|by hand of|nothing of|so many|such ones?|one may not|held[- ]out ends)\b": "a standard term",
    r"\bwhat (is|are|was) (?:\w+ ){1,6}(is|are|was)\b": "a noun as the subject",
    r"\b(goes|go|going) on(?= (with|from|there|where)|[.;,])": "continues or resumes",
    r"\b(doors?|shelf|shelves|(?<!page )faults?)\b(?!-)": "the field's term",
}
"""Patterns, with what to write instead."""
FIRST = {
    r"^(Give|Tell|Do it|Those|Whom|What|How|Of|Make of|Take apart|Say)\b": "an imperative, such as Return or Compute",
}
"""Patterns of first lines of docstrings."""
EXCEPT = re.compile(r"docs/(results|renamed|changes|licences|decisions)|CHANGELOG|changelog\.d")
"""Pages that quote records of their time."""


CALLED = re.compile(r"(Error|Warning|warn|say|Help)$")
"""Calls whose texts a user reads."""


def sentences() -> Iterator[tuple[str, int, str, bool]]:
    """Yield place, line, text and whether it begins a docstring, of all that a reader can see."""
    for page in [*ROOT.glob("*.md"), *sorted((ROOT / "docs").glob("**/*.md"))]:
        name = page.relative_to(ROOT).as_posix()
        if not EXCEPT.search(name):
            code = re.compile(r"```.*?```|`[^`\n]*`", re.DOTALL)
            text = code.sub(lambda block: re.sub(r"[^\n]", " ", block[0]), page.read_text(encoding="utf-8"))
            yield from ((name, number, line, False) for number, line in enumerate(text.splitlines(), 1))
    for path in sorted((ROOT / "src").rglob("*.py")):
        name = path.relative_to(ROOT).as_posix()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and (doc := ast.get_docstring(node)):
                start = node.body[0].lineno
                plain = re.sub(r"``.*?``|`[^`]*`|>>> .*|\.\.\. .*", "", doc)
                for number, line in enumerate(plain.splitlines()):
                    yield name, start + number, line, number == 0
            elif isinstance(node, ast.Call) and CALLED.search(ast.unparse(node.func)):
                for part in ast.walk(node):
                    if isinstance(part, ast.Constant) and isinstance(part.value, str):
                        yield name, part.lineno, part.value, False


def main() -> int:
    """Print each place with what to write instead; return 1 if there is one."""
    found = 0
    for name, number, text, first in sentences():
        if "language: ok" in text:
            continue
        for pattern, instead in (*EVERYWHERE.items(), *(FIRST.items() if first else ())):
            if match := re.search(pattern, text):
                found += 1
                print(f"{name}:{number}: {match[0]!r}: write {instead}: {text.strip()[:100]}")
    return int(found > 0)


if __name__ == "__main__":
    sys.exit(main())
