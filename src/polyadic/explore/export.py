"""Export of selected results to a single HTML file that works without a server or network.

It is the same page as that of the server. It reads its results from the file, and shows links to missing results as
plain text.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterator, Sequence
from importlib.resources import files
from typing import TYPE_CHECKING, Any, NamedTuple

from polyadic.core.errors import InputError
from polyadic.core.version import __version__
from polyadic.explore.answers import ANSWERS
from polyadic.explore.answers.tables import analysed
from polyadic.explore.answers.topics import RELEVANCE

if TYPE_CHECKING:
    from polyadic.explore.workspace import Workspace
    from polyadic.tables.cross_table import CrossTable

    Question = tuple[str, dict[str, Any]]

LARGEST = 20 << 20  # maximum size of the page in bytes, for sending by mail
LINES, KWIC = 3, 100  # number of lines per sense and per concordance, as on the page


class Chosen(NamedTuple):
    """Contents selected for the exported HTML page."""

    words: Sequence[str] = ()
    phrases: Sequence[str] = ()  # with spaces between words
    topics: bool = False
    tables: Sequence[str] = ()  # a field, or two separated by a slash
    parts: Sequence[str] = ()  # ``field=value`` or ``field=value/other value``
    map: bool = False


def page(workspace: Workspace, chosen: Chosen) -> str:
    """Return an HTML page of the selected contents; raise InputError if nothing is selected or the page is too big."""
    if not any(chosen):
        raise InputError("the page would be empty; select words, phrases, topics, tables, parts or the map")
    return _html({key(name, asked): ANSWERS[name](workspace, **asked) for name, asked in _questions(workspace, chosen)})


def table_page(counted: CrossTable, name: str, rows: str, columns: str) -> str:
    """Return an HTML page with the correspondence analysis of one table."""
    about = {"name": name, "fields": {}, "polyadic": __version__}
    asked = {"rows": rows, "columns": columns}
    return _html({key("overview", {}): about, key("table", asked): analysed(counted, rows, columns)})


def _html(answers: dict[str, Any]) -> str:
    """Insert results, script and style into the HTML page template."""
    said = json.dumps(answers, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    static = files("polyadic.explore").joinpath("static")
    code = static.joinpath("alone.js").read_text(encoding="utf-8").replace("</script", "<\\/script")
    style = static.joinpath("style.css").read_text(encoding="utf-8")
    policy = f"default-src 'none'; script-src {_digest(code)}; style-src {_digest(style)}; img-src data: blob:"
    html = static.joinpath("index.html").read_text(encoding="utf-8")
    for here, there in (
        ('<link rel="stylesheet" href="style.css" />', f"<style>{style}</style>"),
        ('<script type="module" src="app.js"></script>', ""),
        (
            '<meta charset="utf-8" />',
            f'<meta charset="utf-8" />\n<meta http-equiv="Content-Security-Policy" content="{policy}" />',
        ),
        ("</body>", f'<script type="application/json" id="answers">{said}</script>\n<script>{code}</script>\n</body>'),
    ):
        if html.count(here) != 1:
            raise RuntimeError(f"index.html must contain {here} exactly once; found it {html.count(here)} times")
        html = html.replace(here, there)
    if len(html.encode()) > LARGEST:
        what = f"the page would have {len(html.encode()) / 2**20:.0f} MiB, but the limit is {LARGEST >> 20} MiB"
        raise InputError(f"{what}; select fewer items")
    return html


def key(name: str, asked: dict[str, Any]) -> str:
    """Return the key under which the exported page looks up the result of a request.

    >>> key("phrase", {"words": ["a", "b"], "top": 3})
    '["phrase",[["top","3"],["words","a"],["words","b"]]]'
    """
    pairs = [
        [parameter, str(each)]
        for parameter, value in sorted(asked.items())
        for each in (value if isinstance(value, list) else [value])
    ]
    return json.dumps([name, pairs], ensure_ascii=False, separators=(",", ":"))


def _questions(workspace: Workspace, chosen: Chosen) -> Iterator[Question]:
    """Yield the name and parameters of every request that the exported page makes."""
    words = [ANSWERS["word"](workspace, word=word) for word in chosen.words]
    yield "overview", {}
    for about in words:
        yield "word", {"word": about["word"]}
        yield "lines", {"words": [about["word"]], "top": KWIC}
        if about["senses"]:
            yield "senses", {"word": about["word"], "lines": LINES}
    for phrase in chosen.phrases:
        yield "phrase", {"words": phrase.split()}
        yield "lines", {"words": phrase.split(), "top": KWIC}
    if chosen.topics:
        yield "topics", {"relevance": RELEVANCE}
        yield from (("topic", {"topic": each["topic"]}) for each in ANSWERS["topics"](workspace)["topics"])
    for table in chosen.tables:
        rows, stroke, columns = table.partition("/")
        yield "table", {"rows": rows} | ({"columns": columns} if stroke else {})
    for part in chosen.parts:
        field, sign, values = part.partition("=")
        value, stroke, against = values.partition("/")
        if not sign or not field or not value:
            raise InputError(f"parts must be FIELD=VALUE or FIELD=VALUE/OTHER; got {part!r}")
        asked = {"field": field, "value": value} | ({"against": against} if stroke else {})
        yield "keywords", asked
        yield from (("contrast", {"word": about["word"], **asked}) for about in words)
    if chosen.map:
        yield "places", {}


def _digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
