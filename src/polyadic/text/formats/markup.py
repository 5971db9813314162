"""Readers for HTML, EPUB and MediaWiki dumps."""

from __future__ import annotations

import posixpath
import re
import zipfile
from collections import Counter
from html.parser import HTMLParser
from typing import TYPE_CHECKING
from urllib.parse import unquote
from xml.etree import ElementTree as ET

from polyadic.core.errors import InputError, error_text, needing
from polyadic.text.formats.plain import NO_CHARACTER, text_pieces
from polyadic.text.formats.tei import name_of
from polyadic.text.pieces import Piece

if TYPE_CHECKING:
    from collections.abc import Iterator

    from polyadic.text.pieces import File

NO_TEXT = ("script", "style", "noscript", "template", "svg", "math", "nav", "form", "button", "select", "iframe")
"""HTML elements without running text, which are left out."""
LEFT_OUT = {*NO_TEXT, "title", "rt", "rp"}  # the last two say how ideographs are read
EMPTY = {
    *("area", "base", "basefont", "bgsound", "br", "col", "command", "embed", "frame", "hr", "image", "img", "input"),
    *("isindex", "keygen", "link", "menuitem", "meta", "nextid", "param", "source", "spacer", "track", "wbr"),
}
"""HTML elements without an end tag."""
BLOCKS = (
    *("address", "article", "aside", "blockquote", "body", "br", "caption", "center", "dd", "details", "dialog", "div"),
    *("dl", "dt", "fieldset", "figcaption", "figure", "footer", "h1", "h2", "h3", "h4", "h5", "h6", "header", "hr"),
    *("li", "main", "ol", "p", "pre", "section", "summary", "table", "tbody", "td", "tfoot", "th", "thead", "tr", "ul"),
)
"""HTML elements that begin and end a paragraph."""


def read_html(file: File) -> Iterator[Piece]:
    """Read an HTML page as one document without scripts, styles, menus and forms; the title becomes metadata."""
    try:
        text, fields = html_text(file.stream.read(), file.reading.known_encoding)
    except ValueError as error:
        raise InputError(f"{file.name} cannot be read as HTML: {error_text(error)}") from None
    return text_pieces([text], wrapped=False, fields=fields)


def html_text(page: bytes | str, encoding: str | None = None) -> tuple[str, dict[str, str]]:
    """Return the text of an HTML page, one paragraph per line, and the title; raise ValueError if parsing fails."""
    if isinstance(page, bytes):
        with needing("beautifulsoup4", "files", "reading HTML"):
            from bs4 import UnicodeDammit
        page = UnicodeDammit(page, [encoding] if encoding else [], is_html=True).unicode_markup or ""
    for opening, closing in (("<!--", "-->"), ("<![CDATA[", "]]>"), ("<![", "]>"), ("<", ">")):
        at = page.rfind(closing) + 1  # what is not closed would slow down the parser
        page = page[:at] + page[at:].replace(opening, f"&lt;{opening[1:]}")
    parser = _Page()
    try:
        parser.feed(NO_CHARACTER.sub("\ufffd", page))
        parser.close()
    except AssertionError as error:  # of a declaration that is none
        raise ValueError(str(error)) from None
    title = " ".join("".join(parser.title).split())
    rows = (" ".join(row.split()) for row in "".join(parser.text).split("\n"))
    return "".join(f"{row}\n" for row in rows if row), {"title": title} if title else {}


class _Page(HTMLParser):
    """HTML parser that collects text, and closes unclosed elements when an enclosing element ends."""

    def __init__(self) -> None:
        super().__init__()
        self.text: list[str] = []
        self.title: list[str] = []
        self._open: list[str] = []
        self._often: Counter[str] = Counter()
        self._titled = self._left_out = 0

    def handle_starttag(self, tag: str, attrs: object) -> None:  # noqa: ARG002 the parser gives them
        if tag in BLOCKS:
            self._add("\n")
        if tag not in EMPTY:
            self._titled += tag == "title"
            self._left_out += tag in LEFT_OUT
            self._open.append(tag)
            self._often[tag] += 1

    def handle_startendtag(self, tag: str, attrs: object) -> None:
        self.handle_starttag(tag, attrs)
        self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        while self._often[tag]:
            last = self._open.pop()
            self._often[last] -= 1
            self._left_out -= last in LEFT_OUT
            if last in BLOCKS:
                self._add("\n")
            if last == tag:
                break

    def handle_data(self, data: str) -> None:
        if self._titled == 1 and self._often["title"]:
            self.title.append(data)
        self._add(data if self._often["pre"] else re.sub(r"\s+", " ", data))

    def unknown_decl(self, data: str) -> None:
        if data.upper().startswith("CDATA["):
            self._add(data[6:])

    def _add(self, text: str) -> None:
        if not self._left_out:
            self.text.append(text)


def read_epub(file: File) -> Iterator[Piece]:
    """Read an EPUB book as one document, with the chapters in reading order (the spine)."""
    try:
        with zipfile.ZipFile(file.archive()) as book:
            container = ET.fromstring(book.read("META-INF/container.xml"))  # noqa: S314 # expat bounds what entities grow to
            place = next(root.attrib["full-path"] for root in container.iter() if name_of(root) == "rootfile")
            package = ET.fromstring(book.read(place))  # noqa: S314
            items = {e.attrib["id"]: e.attrib["href"] for e in package.iter() if name_of(e) == "item"}
            spine = [items[e.attrib["idref"]] for e in package.iter() if name_of(e) == "itemref"]
            inside = posixpath.dirname(place)
            chapters = [html_text(book.read(posixpath.join(inside, unquote(href))))[0] for href in spine]
    except (zipfile.BadZipFile, LookupError, StopIteration, ET.ParseError, RuntimeError, ValueError) as error:
        raise InputError(f"{file.name} cannot be read as an EPUB: {error_text(error)}") from None
    wanted = {"title": "title", "creator": "author", "date": "date", "language": "language"}
    fields = {
        wanted[name_of(e)]: " ".join(e.text.split())
        for e in reversed([*package.iter()])
        if name_of(e) in wanted and e.text
    }
    yield from text_pieces(chapters, wrapped=False, fields=fields)


def read_mediawiki(file: File) -> Iterator[Piece]:
    """Read the articles (namespace 0) of a MediaWiki dump, without redirects."""
    with needing("gensim", "gensim", "reading MediaWiki dumps"):
        from gensim.corpora.wikicorpus import extract_pages
    try:
        for name, text, number in extract_pages(file.stream, filter_namespaces=("0",)):
            if text and not text.lstrip()[:9].lower().startswith("#redirect"):
                yield Piece(text, markup=True, fields={"id": str(number), "title": name or ""})
    except ET.ParseError as error:
        raise InputError(f"{file.name} is not a complete MediaWiki dump: {error}") from None
    except (AttributeError, LookupError, ValueError):
        raise InputError(f"{file.name} is not a MediaWiki dump of a version supported by gensim") from None


def clean_markup(text: str, *, headings: bool = False) -> str:
    """Convert MediaWiki markup to plain text with gensim, one paragraph per line; keep the signs of headings if set."""
    with needing("gensim", "gensim", "reading MediaWiki dumps"):
        from gensim.corpora.wikicorpus import filter_wiki
    signs = r"'{2,}|^[*#:;]+" + ("" if headings else "|={2,}")
    return re.sub(signs, "", filter_wiki(text), flags=re.MULTILINE)
