"""Readers for text with markup: HTML, EPUB, MediaWiki dumps, TEI and other XML."""

from __future__ import annotations

import posixpath
import re
import zipfile
from collections import Counter
from html.parser import HTMLParser
from itertools import chain
from typing import TYPE_CHECKING
from urllib.parse import unquote
from xml.etree import ElementTree as ET

from polyadic.core.errors import InputError, error_text, needing
from polyadic.text.formats.plain import NO_CHARACTER, text_pieces
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
EDGES = dict.fromkeys(("w", "pc", "lb"), " ") | dict.fromkeys(("p", "l", "note"), "\n")
"""Separators around TEI elements: between words; and around paragraphs, verses and notes, even inside text."""
NOT_READ = {"", "teiHeader", "fw", "del", "facsimile", "standOff"}  # TEI elements without running text, and comments
FIRST_FORMS = {"sic", "orig", "abbr"}
"""Forms in a TEI ``<choice>`` that are also given corrected, regularised or expanded."""


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
            place = next(root.attrib["full-path"] for root in container.iter() if _name(root) == "rootfile")
            package = ET.fromstring(book.read(place))  # noqa: S314
            items = {e.attrib["id"]: e.attrib["href"] for e in package.iter() if _name(e) == "item"}
            spine = [items[e.attrib["idref"]] for e in package.iter() if _name(e) == "itemref"]
            inside = posixpath.dirname(place)
            chapters = [html_text(book.read(posixpath.join(inside, unquote(href))))[0] for href in spine]
    except (zipfile.BadZipFile, LookupError, StopIteration, ET.ParseError, RuntimeError, ValueError) as error:
        raise InputError(f"{file.name} cannot be read as an EPUB: {error_text(error)}") from None
    wanted = {"title": "title", "creator": "author", "date": "date", "language": "language"}
    fields = {
        wanted[_name(e)]: " ".join(e.text.split()) for e in reversed([*package.iter()]) if _name(e) in wanted and e.text
    }
    yield from text_pieces(chapters, wrapped=False, fields=fields)


def read_xml(file: File) -> Iterator[Piece]:
    """Read a TEI or other XML file as one document; elements that are not inline become separate paragraphs.

    Title, author and date of TEI become fields; ``<choice>`` is read as corrected, regularised or expanded.
    """
    try:
        root = ET.parse(file.stream).getroot()  # noqa: S314 # expat bounds what entities grow to
    except (ET.ParseError, LookupError, ValueError) as error:  # the latter of encodings that it names
        raise InputError(f"{file.name} cannot be read as XML: {error_text(error)}") from None
    fields: dict[str, str] = {}
    header = next((e for e in root.iter() if _name(e) == "teiHeader"), ())
    for element in chain.from_iterable(e.iter() for e in header):
        name = _name(element)
        wanted = name in ("title", "author", "date") and name not in fields
        if wanted and (text := " ".join("".join(element.itertext()).split())):
            fields[name] = text
    rows = (" ".join(row.split()) for row in "".join(_xml_text(root)).split("\n"))
    yield from text_pieces(["".join(f"{row}\n" for row in rows if row)], wrapped=False, fields=fields)


def _xml_text(root: ET.Element) -> Iterator[str]:
    """Yield the text of an XML element, one paragraph per line; line breaks within paragraphs become spaces."""
    waiting: list[tuple[ET.Element | str, bool]] = [(root, False)]
    while waiting:
        element, inline = waiting.pop()
        if isinstance(element, str):
            yield element
            continue
        beside = [element.text or "", *(child.tail or "" for child in element)]
        inline = inline or any(text.strip() for text in beside)
        parts: list[tuple[ET.Element | str, bool]] = [(beside[0].replace("\n", " "), False)]
        for child, after in zip(element, beside[1:], strict=True):
            name = _name(child)
            if name not in NOT_READ and not (_name(element) == "choice" and name in FIRST_FORMS):
                edge = EDGES.get(name, "" if inline else "\n")
                parts += [(edge, False), (child, inline and edge != "\n"), (edge, False)]
            parts.append((after.replace("\n", " "), False))
        waiting += reversed(parts)


def _name(element: ET.Element) -> str:
    """Return the tag of an XML element without the namespace, or an empty string for a comment."""
    return element.tag.rpartition("}")[2] if isinstance(element.tag, str) else ""


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
