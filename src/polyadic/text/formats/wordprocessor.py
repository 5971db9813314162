"""Readers for documents of word processors: Word (.docx), OpenDocument (.odt) and Rich Text Format (.rtf).

Text is read as it is after tracked changes are accepted. Notes, comments, headers and footers, tables of contents,
hidden and deleted text are left out unless ``include`` names them. Word files are parsed here because python-docx 1.2
loses tracked insertions, content controls, text boxes and notes, and docx2python 3.7 fails on files without a namespace
that it needs. RTF is read with striprtf, apart from notes, text boxes, hidden and deleted text.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from polyadic.core.errors import InputError, needing
from polyadic.text.formats.markup import MARK, NOTE
from polyadic.text.formats.plain import whole_characters
from polyadic.text.formats.speech import document_pieces
from polyadic.text.formats.tei import name_of

if TYPE_CHECKING:
    from polyadic.text.formats.plain import Part
    from polyadic.text.pieces import File, Piece

    Instead = Callable[[str, ET.Element], Iterable[ET.Element] | None]
    """Function from an element to the elements to read instead of it, or None for its own content."""

MARKS = {"tab": "\t", "br": " ", "cr": " ", "ptab": " ", "noBreakHyphen": "-", "line-break": " "}
"""Text of empty elements."""
FIELDS = {"title": "title", "creator": "author", "created": "date", "creation-date": "date"}
"""Metadata by the name of their elements."""
METADATA = {"docx": "docProps/core.xml", "odt": "meta.xml"}  # name of the metadata file


def read_docx(file: File) -> Iterator[Piece]:
    """Read a Word document with text boxes and table cells as paragraphs; title, author and date become metadata."""
    notes: dict[str, ET.Element] = {}  # and comments, by their kinds and numbers
    linked: set[str] = set()

    def instead(name: str, element: ET.Element) -> Iterable[ET.Element] | None:
        if name in ("moveFrom", "Fallback", "rt") or name.endswith("Pr") or _is_linked_note(file, linked, element):
            return ()
        if name.endswith("Reference"):
            note = notes.get(f"{name.removesuffix('Reference')} {_attribute(element, 'id')}")
            left_out = note is None or file.leaves_out("comments" if name == "commentReference" else "notes")
            return () if left_out or note is None else [note]
        marks = _properties(element) if name in ("r", "sdt") else {}
        kinds = {
            "deletions": name == "del",
            "hidden": marks.get("vanish", "0") not in ("0", "false"),
            "navigation": marks.get("docPartGallery") == "Table of Contents",
        }
        return () if any(found and file.leaves_out(kind) for kind, found in kinds.items()) else None

    def rows(parts: zipfile.ZipFile) -> Iterator[tuple[int, str]]:
        apart = [name for name in parts.namelist() if re.fullmatch(r"word/(footnotes|endnotes|comments)\.xml", name)]
        every = [e for name in apart for e in _xml(parts, name) if _attribute(e, "type") in ("", "normal")]
        notes.update((f"{name_of(e)} {_attribute(e, 'id')}", e) for e in every)
        links = _xml(parts, "_rels/.rels")
        main = next(each.attrib["Target"] for each in links if each.get("Type", "").endswith("/officeDocument"))
        levels = {}  # heading levels by style
        for style in _xml(parts, "word/styles.xml") if "word/styles.xml" in parts.namelist() else ():
            names = [_attribute(each, "val") for each in style if name_of(each) == "name"]
            if level := re.fullmatch("heading ([1-9])", "".join(names), re.IGNORECASE):
                levels[_attribute(style, "styleId")] = int(level[1])

        def level_of(paragraph: ET.Element) -> int:
            marks = _properties(paragraph)
            return levels.get(marks.get("pStyle", ""), int(marks.get("outlineLvl", "-1")) + 1) % 10

        yield from _rows(_xml(parts, main.lstrip("/")), instead, within=("t", "delText"), level_of=level_of)
        for name in (name for name in parts.namelist() if re.fullmatch(r"word/(header|footer)\d*\.xml", name)):
            found = _rows(_xml(parts, name), instead, within=("t",))
            if found and not file.leaves_out("headers"):
                yield from found

    return _read(file, rows, "docx", "a Word document")


def _properties(element: ET.Element) -> dict[str, str]:
    """Return the properties of a Word element with their values, which is "" for a property that is only present."""
    found = (child for child in element if name_of(child) == f"{name_of(element)}Pr")
    return {name_of(each): _attribute(each, "val") for child in found for each in child.iter()}


def read_odt(file: File) -> Iterator[Piece]:
    """Read an OpenDocument text or presentation; title, author and date become metadata."""
    left_out = {"note": "notes", "annotation": "comments", "hidden-text": "hidden", "hidden-paragraph": "hidden"}
    left_out |= dict.fromkeys(("table-of-content", "alphabetical-index", "illustration-index"), "navigation")
    linked: set[str] = set()

    def instead(name: str, element: ET.Element) -> Iterable[ET.Element] | None:
        if name == "tracked-changes":
            deletions = [each for each in element.iter() if name_of(each) == "deletion"]
            return () if not deletions or file.leaves_out("deletions", len(deletions)) else deletions
        no_text = ("note-citation", "ruby-text", "title", "desc", "forms", "creator", "date")
        if name in no_text or _is_linked_note(file, linked, element):
            return ()
        return () if name in left_out and file.leaves_out(left_out[name]) else None

    def level_of(paragraph: ET.Element) -> int:
        return int(_attribute(paragraph, "outline-level") or "1") if name_of(paragraph) == "h" else 0

    def rows(parts: zipfile.ZipFile) -> Iterator[tuple[int, str]]:
        yield from _rows(_xml(parts, "content.xml"), instead, level_of=level_of)
        styles = _xml(parts, "styles.xml").iter() if "styles.xml" in parts.namelist() else ()
        for page in (each for each in styles if name_of(each) == "master-page"):
            if "".join(page.itertext()).strip() and not file.leaves_out("headers"):
                yield from _rows(page, instead)

    return _read(file, rows, "odt", "an OpenDocument text")


def _is_linked_note(file: File, places: set[str], element: ET.Element) -> bool:
    """Return whether an element is a link that is the mark of a note, or the paragraph at the place of such a link."""
    name = name_of(element)
    if name in ("a", "hyperlink"):
        place = _attribute(element, "anchor") or "".join(re.findall("^#(.*)", _attribute(element, "href")))
        mark = NOTE.search(place) is not None and MARK.fullmatch("".join(element.itertext()).strip()) is not None
        if mark and file.leaves_out("notes"):
            places.add(place)
        return mark
    marks = (each for each in element.iter() if name_of(each).startswith("bookmark")) if places and name == "p" else ()
    return any(_attribute(each, "name") in places for each in marks)


def _read(
    file: File, rows: Callable[[zipfile.ZipFile], Iterator[tuple[int, str]]], form: str, what: str
) -> Iterator[Piece]:
    """Read the paragraphs of a document in a zip file, and its metadata."""
    with file.read_as(what), zipfile.ZipFile(file.archive()) as parts:
        texts = [*_marked(rows(parts))]
        found = _xml(parts, METADATA[form]).iter() if METADATA[form] in parts.namelist() else ()
        known = [(FIELDS[name_of(each)], (each.text or "").strip()) for each in found if name_of(each) in FIELDS]
    yield from document_pieces(file, texts, form, {name: text for name, text in known if text})


def _marked(rows: Iterable[tuple[int, str]]) -> Iterator[Part]:
    """Yield the text of paragraphs; before a heading, yield metadata with this heading and the headings above it."""
    above: list[tuple[int, str]] = []
    for level, text in rows:
        if level:
            above = [*(each for each in above if each[0] < level), (level, text)]
            yield {"heading": " / ".join(title for _, title in above)}
        yield f"{text}\n"


def _xml(parts: zipfile.ZipFile, name: str) -> ET.Element:
    return ET.fromstring(parts.read(name))  # noqa: S314 # expat bounds what entities grow to


def _attribute(element: ET.Element, name: str) -> str:
    return next((value for key, value in element.attrib.items() if key.rpartition("}")[2] == name), "")


def _character(element: ET.Element) -> str:
    """Return the blank of an OpenDocument ``s``, or the character of a Word ``sym`` unless only its font has it."""
    code = int(_attribute(element, "char") or "20", 16)
    return "" if 0xE000 <= code < 0xF900 else chr(code)


def _rows(
    root: ET.Element,
    instead: Instead,
    within: tuple[str, ...] = (),
    level_of: Callable[[ET.Element], int] = lambda _: 0,
) -> list[tuple[int, str]]:
    """Return the heading level (0 for text) and the text of each paragraph.

    Text is read from elements named in ``within``, or from all elements if it is empty. Paragraphs inside another
    paragraph, such as text boxes and notes, follow it.
    """
    rows: list[list[str]] = []
    levels: list[int] = []  # heading levels, or 0 for text
    joined = False  # whether the end of the last paragraph was deleted

    def walk(element: ET.Element, row: list[str] | None) -> None:
        nonlocal joined
        into = row if row is not None and (not within or name_of(element) in within) else []
        into.append(element.text or "")
        for child in element:
            name, inside = name_of(child), row
            if name in ("p", "h"):
                if not joined or not rows:
                    rows.append([])
                    levels.append(level_of(child))
                inside, joined = rows[-1], "del" in _properties(child)
            if row is not None and (name in MARKS or name in ("s", "sym")):
                row.append(MARKS.get(name) or _character(child))
            elif (others := instead(name, child)) is None:
                walk(child, inside)
            else:
                for each in others:
                    walk(each, None)
            into.append("" if within else child.tail or "")

    walk(root, None)
    texts = (" ".join("".join(row).replace("\u00ad", "").split()) for row in rows)
    return [(level, text) for level, text in zip(levels, texts, strict=True) if text]


_RTF_GROUP = re.compile(
    r"\{(?:\\\*)?(?:\\[a-z]+-?\d* ?)*?\\(footnote|annotation|v|deleted|header[lrf]?|footer[lrf]?|shptxt)(?![a-z\d]) ?"
)
_RTF_BRACE = re.compile(r"\\[{}\\]|[{}]")
_RTF_KINDS = {"footnote": "notes", "annotation": "comments", "v": "hidden", "deleted": "deletions"}


def read_rtf(file: File) -> Iterator[Piece]:
    """Read a file in Rich Text Format with table cells as paragraphs; notes and text boxes follow the text."""
    with needing("striprtf", "files", "reading RTF"):
        from striprtf.striprtf import rtf_to_text
    source = re.sub(r"\\(?:nest)?cell(?![a-z])", r"\\par", file.stream.read().decode("latin-1"))
    if not source.lstrip().startswith("{\\rtf"):
        raise InputError(f"{file.name} cannot be read as RTF: it does not begin with {{\\rtf")
    body, moved, at = "", "", 0
    while group := _RTF_GROUP.search(source, at):
        depth, end = 0, len(source)
        for brace in _RTF_BRACE.finditer(source, group.start()):
            depth += {"{": 1, "}": -1}.get(brace[0], 0)
            if not depth:
                end = brace.end()
                break
        kind = "text" if group[1] == "shptxt" else _RTF_KINDS.get(group[1], "headers")
        kept = "" if kind != "text" and file.leaves_out(kind) else f"{{{source[group.end() : end]}"
        body += source[at : group.start()] + (kept if kind in ("hidden", "deletions") else "")
        moved += f"\\par {kept}" if kind not in ("hidden", "deletions") else ""
        at = end
    text = whole_characters(rtf_to_text(f"{(body + source[at:]).rstrip()[:-1]}{moved}}}", errors="replace"))
    found = {name: re.search(rf"\{{\\{name} ([^{{}}]*)\}}", source) for name in ("title", "author")}
    fields = {name: rtf_to_text(f"{{\\rtf1 {match[1]}}}", errors="replace") for name, match in found.items() if match}
    rows = (" ".join(row.split()) for row in text.replace("\u00ad", "").split("\n"))
    yield from document_pieces(file, [f"{row}\n" for row in rows if row], "rtf", fields)
