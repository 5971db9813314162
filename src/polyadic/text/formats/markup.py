"""Readers for HTML, EPUB and MediaWiki dumps."""

from __future__ import annotations

import posixpath
import re
import zipfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from html.parser import HTMLParser
from typing import TYPE_CHECKING
from urllib.parse import unquote
from xml.etree import ElementTree as ET

from polyadic.core.errors import InputError, needing
from polyadic.text.formats.plain import NO_CHARACTER, marked_lines, text_pieces
from polyadic.text.formats.tei import name_of
from polyadic.text.pieces import File, Piece

if TYPE_CHECKING:
    from polyadic.text.formats.plain import Part

NO_TEXT = ("script", "style", "noscript", "template", "svg", "math", "iframe", "title", "rt", "rp")
"""HTML elements without running text; the last two say how ideographs are read."""
EMPTY = {
    *("area", "base", "basefont", "bgsound", "br", "col", "command", "embed", "frame", "hr", "image", "img", "input"),
    *("isindex", "keygen", "link", "menuitem", "meta", "nextid", "param", "source", "spacer", "track", "wbr"),
}
"""HTML elements without an end tag."""
BLOCKS = (
    *("address", "article", "aside", "blockquote", "body", "br", "caption", "center", "dd", "details", "dialog", "div"),
    *("dl", "dt", "fieldset", "figcaption", "figure", "footer", "h1", "h2", "h3", "h4", "h5", "h6", "header", "hr"),
    *("li", "main", "ol", "p", "pre", "section", "summary", "table", "tbody", "tfoot", "thead", "tr", "ul"),
)
"""HTML elements that begin and end a line."""
TAGS = {
    **dict.fromkeys(("nav", "form", "button", "select"), "navigation"),
    **dict.fromkeys(("caption", "figcaption"), "captions"),
    **dict.fromkeys(("del", "s", "strike"), "deletions"),
}
"""Kind of the structure that is left out, by HTML element."""
ROLES = {
    "headers": "pagebreak doc-pagebreak pagenumber",
    "notes": "noteref backlink note footnote footnotes endnote endnotes rearnote rearnotes annotation annoref"
    " doc-noteref doc-backlink doc-footnote doc-endnote doc-endnotes",
    "navigation": "navigation menu menubar search",
    "boilerplate": "toc doc-toc landmarks page-list loi lot cover titlepage title-page halftitlepage copyright-page"
    " imprint colophon doc-colophon index doc-index contentinfo",
}
"""``epub:type``, ``role`` or type in an EPUB guide of structure that is left out, by kind."""
CLASSES = {
    "headers": "pagenum pageno pagenumber page-number x-ebookmaker-pageno lnum linenum line-number",
    "notes": "footnote footnotes endnote endnotes fnanchor fnref footnote-ref footnote-back noteref references reflist"
    " mw-cite-backlink",
    "navigation": "mw-editsection noprint navbox toc",
    "boilerplate": "pg-boilerplate copyright legalnotice",
}
"""Classes that widespread programs give to such elements, by kind."""
_OF_ROLE, _OF_CLASS = ({name: kind for kind in kinds for name in kinds[kind].split()} for kinds in (ROLES, CLASSES))
_HIDDEN = re.compile(r"(display\s*:\s*none|visibility\s*:\s*hidden)", re.IGNORECASE)
MARK = re.compile(r"([\[(]?)(\d{1,4}|[a-z]|[ivxl]+|[*†‡§¶]+|\[[^\]]{1,12}\])[\])]?|[↑↩↵^][\ufe0e\ufe0f]?")  # of a note
NOTE = re.compile(r"note|^_?(ft|fn|ed|en)\w*\d|^r?f\d", re.IGNORECASE)  # ids of notes
MAX_MARK, MAX_HEADING = 8, 100  # number of parts of a link that may be the mark of a note, and of a heading
PARAGRAPHS = ("p", "li", "dd", "td")  # elements that may contain a note


def read_html(file: File) -> Iterator[Piece]:
    """Read an HTML page as one document without menus, notes and page numbers; title and language become fields."""
    with file.read_as("HTML", (ValueError,)):
        page = _parsed(file.stream.read(), file, file.reading.known_encoding)
    known = {"title": " ".join("".join(page.title).split()) or page.first, "language": page.language}
    fields = {name: value for name, value in known.items() if value}
    return text_pieces(marked_lines(page.parts), wrapped=False, fields=fields)


def html_text(page: str, file: File) -> str:
    """Return the text of an HTML page, one paragraph per line; raise ValueError if parsing fails."""
    return "".join(part for part in marked_lines(_parsed(page, file).parts) if isinstance(part, str))


def _parsed(
    page: bytes | str, file: File, encoding: str | None = None, *, name: str = "", notes: set[str] | None = None
) -> _Page:
    """Parse an HTML page; raise ValueError if this fails. ``notes`` are the places of notes of a book, by file."""
    if isinstance(page, bytes):
        with needing("beautifulsoup4", "files", "reading HTML"):
            from bs4 import UnicodeDammit
        page = UnicodeDammit(page, [encoding] if encoding else [], is_html=True).unicode_markup or ""
    for opening, closing in (("<!--", "-->"), ("<![CDATA[", "]]>"), ("<![", "]>"), ("<", ">")):
        at = page.rfind(closing) + 1  # what is not closed would slow down the parser
        page = page[:at] + page[at:].replace(opening, f"&lt;{opening[1:]}")
    parser = _Page(file, name, set() if notes is None else notes)
    try:
        parser.feed(NO_CHARACTER.sub("\ufffd", page))
        parser.close()
        while parser.opened:
            parser.handle_endtag(parser.opened[-1].tag)
    except AssertionError as error:  # of a declaration that is none
        raise ValueError(str(error)) from None
    return parser


@dataclass
class _Element:
    """Open element: its tag, the place where it begins, the target of a link, and its kind if it is left out."""

    tag: str
    start: int
    target: str
    kind: str | None  # "" if it is no text


class _Page(HTMLParser):
    """Parser that collects text and marks of headings, and closes unclosed elements when an enclosing element ends."""

    def __init__(self, file: File, name: str, notes: set[str]) -> None:
        super().__init__()
        self.parts: list[Part] = []
        self.opened: list[_Element] = []
        self.title: list[str] = []
        self.language = self.first = ""  # ``first`` is the first heading
        self._file, self._name = file, name
        self._often: Counter[str] = Counter()
        self._titled = self._skipped = 0
        self._written = False  # whether what is left out contains text
        self._notes = notes  # the places of notes of which the marks were found
        self._raised = -1  # where the last superscript begins
        self._levels: list[tuple[str, str]] = []  # the headings above

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag in BLOCKS:
            self._add("\n")
        elif tag in ("td", "th"):
            self._add("\t")
        if tag == "html":
            self.language = given.get("lang") or given.get("xml:lang") or ""
        if tag in EMPTY:
            return
        kind = None if self._skipped else self._kind(tag, given)
        self._titled += tag == "title"
        self._skipped += kind is not None
        path, sign, place = given.get("href", "").rpartition("#")
        target = f"{posixpath.basename(path) or self._name}#{place}" if sign else ""
        self.opened.append(_Element(tag, len(self.parts), target, kind))
        self._often[tag] += 1
        self._raised = len(self.parts) if tag == "sup" else self._raised
        if not self._skipped and self._begins_note(given):
            blocks = (element for element in self.opened[-MAX_MARK:] if element.tag in PARAGRAPHS)
            if block := next(blocks, None):  # which contains the beginning of a note
                block.kind, self._skipped, self._written = "notes", self._skipped + 1, True
                del self.parts[block.start :]

    def _kind(self, tag: str, given: dict[str, str]) -> str | None:
        """Return the kind of an element that is left out, "" if it is no text, or None."""
        roles = f"{given.get('epub:type', '')} {given.get('role', '')}".lower().split()
        classes = given.get("class", "").lower().split()
        kinds = [*map(_OF_ROLE.get, roles), TAGS.get(tag), *map(_OF_CLASS.get, classes)]
        kind = "" if tag in NO_TEXT else next(filter(None, kinds), None)
        if tag == "sup" and given.get("class") == "reference":  # of MediaWiki
            kind = "notes"
        if "hidden" in given or given.get("aria-hidden") == "true" or _HIDDEN.search(given.get("style", "")):
            kind = kind or "hidden"
        if kind is None and tag in (*PARAGRAPHS, "aside", "div") and self._begins_note(given):
            kind = "notes"
        if not kind or kind not in (self._file.reading.include or ()):
            return kind
        if tag in ("a", "sup"):  # the mark of a note that is read
            return ""
        self._add("" if tag in BLOCKS else " ")
        return None

    def _begins_note(self, given: dict[str, str]) -> bool:
        return any(f"{self._name}#{given[name]}" in self._notes for name in ("id", "name") if name in given)

    def handle_endtag(self, tag: str) -> None:
        while self._often[tag]:
            last = self.opened.pop()
            self._often[last.tag] -= 1
            if last.kind is not None:
                self._skipped -= 1
                if self._written and last.kind:
                    self._file.leaves_out(last.kind)
                self._written = self._written and bool(self._skipped)
            elif not self._skipped:
                self._close(last)
            if last.tag in BLOCKS:
                self._add("\n")
            if last.tag == tag:
                break

    def _close(self, element: _Element) -> None:
        """Leave out a link that is the mark of a note, and mark a heading."""
        most = MAX_MARK if element.tag == "a" else MAX_HEADING
        inside = self.parts[element.start :] if len(self.parts) - element.start <= most else []
        text = " ".join("".join(part for part in inside if isinstance(part, str)).split())
        if element.tag == "a" and element.target and (mark := MARK.fullmatch(text)):
            raised = self._often["sup"] or self._raised >= element.start
            signed = not mark[2] or mark[1] == "[" or not mark[2].isalnum()
            if raised or signed or NOTE.search(element.target.rpartition("#")[2]):
                del self.parts[element.start :]
                if self._file.leaves_out("notes"):
                    self._notes.add(element.target)
        elif element.tag in ("h1", "h2", "h3", "h4", "h5", "h6") and text:
            self.first = self.first or text
            self._levels = [*(level for level in self._levels if level[0] < element.tag), (element.tag, text)]
            self.parts.insert(element.start, {"heading": " / ".join(title for _, title in self._levels)})

    def handle_data(self, data: str) -> None:
        if self._titled == 1 and self._often["title"]:
            self.title.append(data)
        self._written |= bool(self._skipped and data.strip())
        self._add(data if self._often["pre"] else re.sub(r"\s+", " ", data))

    def unknown_decl(self, data: str) -> None:
        if data.upper().startswith("CDATA["):
            self._add(data[6:])

    def _add(self, text: str) -> None:
        if not self._skipped:
            self.parts.append(text)


def read_epub(file: File) -> Iterator[Piece]:
    """Read an EPUB book as one document, with the chapters in reading order (the spine).

    Notes, page numbers, the cover, title and copyright pages, the table of contents and the index are left out.
    """
    parts: list[Part] = []
    notes: set[str] = set()
    broken = (zipfile.BadZipFile, LookupError, StopIteration, ET.ParseError, RuntimeError, ValueError)
    with file.read_as("an EPUB", broken), zipfile.ZipFile(file.archive()) as book:
        container = ET.fromstring(book.read("META-INF/container.xml"))  # noqa: S314 # expat bounds what entities grow to
        place = next(root.attrib["full-path"] for root in container.iter() if name_of(root) == "rootfile")
        package = ET.fromstring(book.read(place))  # noqa: S314
        items = {e.attrib["id"]: e for e in package.iter() if name_of(e) == "item"}
        guided = [e for e in package.iter() if name_of(e) == "reference"]
        guide = {e.get("href", "").partition("#")[0]: e.get("type", "") for e in guided}
        for item in [e for e in package.iter() if name_of(e) == "itemref"]:
            href = items[item.attrib["idref"]].attrib["href"]
            toc = "nav" in items[item.attrib["idref"]].get("properties", "").split()
            kind = "boilerplate" if toc else _OF_ROLE.get(guide.get(href, "").lower(), "")
            kind = kind or ("notes" if item.get("linear") == "no" else "")
            content = book.read(posixpath.join(posixpath.dirname(place), unquote(href)))
            page = _parsed(content, file, name=posixpath.basename(href), notes=notes)
            written = any(isinstance(part, str) and part.strip() for part in page.parts)
            if not (kind and written and file.leaves_out(kind)):
                parts += [*page.parts, "\n"]
    wanted = {"title": "title", "creator": "author", "date": "date", "language": "language"}
    known = reversed([e for e in package.iter() if name_of(e) in wanted and e.text])
    fields = {wanted[name_of(e)]: " ".join((e.text or "").split()) for e in known}
    yield from text_pieces(marked_lines(parts), wrapped=False, fields=fields)


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


_LINE_END = re.compile(rf"</?({'|'.join((*BLOCKS, 'td', 'th'))})\b[^<>\n]*>", re.IGNORECASE)

_NO_WIKI_TEXT = re.compile(
    r"<(timeline|score|graph|mapframe|templatedata|imagemap)\b.*?</\1>"
    r"|^(?:[ \t]*\[\[[^\[\]|:\n]+:[^\[\]\n]+\]\])+[ \t]*$",
    re.DOTALL | re.MULTILINE,
)
"""Drawings, and lines of links to categories and other languages."""


def clean_markup(text: str, *, headings: bool = False) -> str:
    """Convert MediaWiki markup to plain text with gensim, one paragraph per line; keep the signs of headings if set."""
    with needing("gensim", "gensim", "reading MediaWiki dumps"):
        from gensim.corpora.wikicorpus import filter_wiki
    text = _LINE_END.sub("\n", _NO_WIKI_TEXT.sub("", text))
    signs = r"'{2,}|^[*#:;]+" + ("" if headings else "|={2,}")
    return re.sub(signs, "", filter_wiki(text), flags=re.MULTILINE)
