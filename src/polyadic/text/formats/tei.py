"""Reader for TEI and other XML."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from polyadic.text.formats.plain import GLUE, JOIN, LINE, marked_lines, text_pieces

if TYPE_CHECKING:
    from polyadic.text.formats.plain import Part
    from polyadic.text.pieces import File, Piece

TEXTS = ("TEI", "TEI.2")
NO_TEXT = {"", "teiHeader", "facsimile", "sourceDoc", "standOff", "xenoData", "listApp"}
"""TEI elements without running text, and comments."""
KINDS = {
    "notes": "note noteGrp gap witDetail wit metamark",
    "speakers": "speaker",
    "stage": "stage vocal kinesic incident writing move camera sound view tech",
    "boilerplate": "castList performance titlePage docTitle docImprint divGen set",
    "headers": "fw",
    "captions": "figDesc",
    "deletions": "del surplus",
}
"""TEI elements that are left out, by kind."""
_KINDS = {name: kind for kind, names in KINDS.items() for name in names.split()}
_LISTS = re.compile(r"dramatis|cast|character|persona[eg]|personnages|personen|^(toc|contents|index)$", re.IGNORECASE)
"""Types of divisions that are lists of characters or contents, or an index."""
BESIDE = ("translation", "apparatus", "commentary", "bibliography")  # types of divisions beside one of type edition
_NOTE_MARK = re.compile(r"note|^fn", re.IGNORECASE)  # types of references that are the marks of notes
CHOSEN = ("corr", "reg", "expan", "ex")  # preferred forms in a <choice>
MAX_LEVELS = 8  # number of elements around a division that are searched for headings
BREAKS = {"lb", "pb", "cb", "gb", "milestone"}
DIVISIONS = {"text", "front", "body", "back", "group", "lg", "sp", "u", "div", *(f"div{n}" for n in range(8))}
INLINE = {"quote", "q", "said", "cit", "stage", "label", "bibl", "role", "address"}
BLOCKS = DIVISIONS | INLINE
BLOCKS |= {"p", "ab", "l", "head", "speaker", "note", "list", "item", "table", "row", "figure", "entry", "opener"}
BLOCKS |= {"closer", "salute", "signed", "dateline", "byline", "trailer", "argument", "epigraph", "postscript"}
BLOCKS |= {"addrLine", "castItem", "castGroup", "titlePage", "titlePart", "docTitle", "docImprint", "docAuthor"}
BLOCKS |= {"floatingText", "listBibl"}
"""TEI elements that begin and end a line; those of :data:`INLINE` do not in the middle of a paragraph."""
PARAGRAPHS = {"p", "ab", "l", "head", "item", "cell", "seg", "s", "q", "said", "quote", "hi", "note", "salute"}
PARTS = {"s", "stage", "forename", "surname", "addName", "roleName", "genName", "nameLink", "settlement", "country"}
"""TEI elements that are separated from each other by a space."""
DIVIDING = {"p", "para", "div", "sec", "section", "chapter", "title", "head", "list", "item", "li"}
DIVIDING |= {"table", "row", "tr"}
"""Elements of other XML that always begin and end a line."""
APART = {"note", "stage", "fw"}  # elements that are never inside words
_ID = "{http://www.w3.org/XML/1998/namespace}id"
_LANG = "{http://www.w3.org/XML/1998/namespace}lang"


def read_xml(file: File) -> Iterator[Piece]:
    """Read each TEI text of a file, or another XML file, as a document.

    Spoken text is read without speaker labels and stage directions, an apparatus as its lemma, ``<choice>`` as
    corrected, regularised or expanded, and words across line and page breaks are joined. Title, author, date and
    language become fields.
    """
    with file.read_as("XML", (ET.ParseError, LookupError, ValueError)):  # the latter of encodings that it names
        root = ET.parse(file.stream).getroot()  # noqa: S314 # expat bounds what entities grow to
    corpora, texts = [root], []
    while corpora:
        element = corpora.pop()
        if name_of(element) in TEXTS:
            texts.append(element)
        elif name_of(element) == "teiCorpus":
            corpora += reversed(element)
    for text in texts or [root]:
        parts = _Text(text, root, file).parts() if texts else _of_xml(text)
        yield from text_pieces(marked_lines(parts), wrapped=False, fields=_fields(text))


def name_of(element: ET.Element) -> str:
    """Return the tag of an XML element without the namespace, or an empty string for a comment."""
    return element.tag.rpartition("}")[2] if isinstance(element.tag, str) else ""


def _flat(element: ET.Element) -> str:
    """Return the text of an element of a header on one line."""
    parts: list[str] = []
    waiting: list[ET.Element | str] = [element]
    while waiting:
        each = waiting.pop()
        if isinstance(each, str):
            parts.append(each)
        elif each is element or name_of(each) not in ("", "idno", "note", "ref"):
            space = " " if name_of(each) in PARTS else ""
            inside: list[ET.Element | str] = [space, each.text or ""]
            for child in each:
                inside += [child, child.tail or ""]
            waiting += [space, *reversed(inside)]
    return " ".join("".join(parts).split())


def _fields(text: ET.Element) -> dict[str, str]:
    """Return title, author, date and language of a text from its header."""
    header = next((e for e in text.iter() if name_of(e) == "teiHeader"), None)
    if header is None:
        return {}
    fields: dict[str, str] = {}
    dates: list[tuple[int, str]] = []
    inside: list[tuple[ET.Element, int]] = [(header, 3)]
    while inside:
        element, rank = inside.pop()
        name = name_of(element)
        rank = {"creation": 0, "setting": 0, "sourceDesc": 2, "revisionDesc": 4}.get(name, rank)
        if name in ("title", "author") and name not in fields:
            people = [person for person in element.iter() if name_of(person) in ("persName", "name")]
            fields |= {name: value} if (value := _flat(people[0] if people else element)) else {}
        if name == "date" and (value := _date(element) or _flat(element)):
            dates.append((rank, value))
        inside += [(child, rank) for child in reversed(element)]
    events = [(e.get("type") == "written", _date(e)) for e in text.iter() if name_of(e) == "event" and _date(e)]
    dates += [(1, when) for _, when in sorted(events)]  # of the first print or performance of a play
    fields |= {"date": min(dates, key=lambda date: date[0])[1]} if dates else {}
    languages = [e.get("ident") for e in header.iter() if name_of(e) == "language"]
    places = [e.get(_LANG) for e in (text, *text) if name_of(e) in (*TEXTS, "text")]
    language = next(filter(None, [*places[1:], *places, *languages]), None)
    return fields | ({"language": language} if language else {})


def _date(element: ET.Element) -> str:
    return next(filter(None, (element.get(key) for key in ("when", "from", "notBefore", "notAfter"))), "")


def _people(root: ET.Element) -> dict[str, dict[str, str]]:
    """Return the name, sex and party of each person of a header or a cast list, by id."""
    organizations = {e.get(_ID): e for e in root.iter() if name_of(e) == "org"}
    people: dict[str, dict[str, str]] = {}
    for person in root.iter():
        if name_of(person) not in ("person", "personGrp", "castItem", "role"):
            continue
        parts = {name_of(e): e for e in reversed([*person.iter()])}
        known = next((parts[name] for name in ("persName", "role", "name") if name in parts), person)
        names = {name_of(e): e for e in reversed(known)}
        whole = [_flat(names[name]) for name in ("forename", "nameLink", "surname") if name in names]
        party = next((e.get("ref", "").lstrip("#") for e in person if name_of(e) == "affiliation"), "")
        if party in organizations:
            party = next((_flat(e) for e in organizations[party] if name_of(e) == "orgName"), party)
        sex = person.get("sex") or (parts["sex"].get("value") or _flat(parts["sex"]) if "sex" in parts else "")
        info = {"speaker": " ".join(whole) or _flat(known), "sex": sex, "party": party}
        people.setdefault(person.get(_ID, ""), {key: value for key, value in info.items() if value})
    return people


class _Text:
    """Text of a TEI element in parts: strings with control characters, and marks of headings and speakers."""

    def __init__(self, text: ET.Element, root: ET.Element, file: File) -> None:
        self._text, self._file, self._people = text, file, _people(root)
        self._above = {child: parent for parent in text.iter() for child in parent}
        self._edition = any(name_of(each) == "div" and each.get("type") == "edition" for each in text.iter())
        self._spoken: set[ET.Element] = set()  # elements that contain speeches
        for each in text.iter():
            above = self._above.get(each) if name_of(each) in ("sp", "u") else None
            while above is not None and above not in self._spoken:
                self._spoken.add(above)
                above = self._above.get(above)

    def parts(self) -> Iterator[Part]:
        """Yield the parts of the text."""
        notes: list[ET.Element] = []  # to be read after the paragraph
        waiting: list[ET.Element | Part | None] = [self._text]
        while waiting:
            each = waiting.pop()
            if each is None:  # a paragraph ends
                waiting += [None, *reversed(["\n", *self._inside(notes.pop(0))])] if notes else ["\n"]
            elif not isinstance(each, ET.Element):
                yield each
            else:
                waiting += reversed([*self._around(each, notes)])

    def _around(self, element: ET.Element, notes: list[ET.Element]) -> Iterator[ET.Element | Part | None]:
        """Yield the content of an element with the separators around it."""
        name, parent = name_of(element), self._above.get(element)
        above = "" if parent is None else name_of(parent)
        if element is not self._text and self._left_out(element, name, above):
            yield " " if name in APART and (element.tail or "")[:1].isalnum() else ""
        elif name in BREAKS:
            yield JOIN if element.get("break") == "no" or element.get("type") == "inWord" else LINE
        elif name == "note" and above in PARAGRAPHS:
            notes.append(element)
            yield " "
        elif name in ("sp", "u"):
            yield self._speaker(element)
            yield from self._inside(element)
            yield {"speaker": ""}
        elif name == "head" and above in DIVISIONS:
            yield {"heading": self._heading(element)}
            if parent not in self._spoken or not self._file.leaves_out("headings"):
                yield from ("\n", *self._inside(element), None)
        elif name in ("w", "pc"):
            left, right = (element.get("join") in (side, "both") for side in ("left", "right"))
            yield from (GLUE if left else "", *self._inside(element), GLUE if right else "")
        elif (name in BLOCKS and not (name in INLINE and above in PARAGRAPHS)) or (name == "seg" and above == "u"):
            yield from ("\n", *self._inside(element), None)
        else:
            edge = " " if name in PARTS else ""
            yield from ("\t" if name == "cell" else edge, *self._inside(element), edge)

    def _heading(self, head: ET.Element) -> str:
        """Return a heading with those of the divisions around it."""
        titles, division = [_flat(head)], self._above[head]
        for _ in range(MAX_LEVELS):
            if division not in self._above:
                break
            division = self._above[division]
            titles += [_flat(each) for each in division if name_of(each) == "head"][:1]
        return " / ".join(reversed(titles))

    def _inside(self, element: ET.Element) -> Iterator[ET.Element | str]:
        """Yield the text and the children of an element that are read."""
        children = [child for child in element if name_of(child)]
        name = name_of(element)
        if name == "choice":
            yield from sorted(children, key=lambda child: name_of(child) not in CHOSEN)[:1]
        elif name == "app":
            groups = ((*each,) if name_of(each) == "rdgGrp" else (each,) for each in children)
            readings = [each for each in chain.from_iterable(groups) if name_of(each) in ("lem", "rdg")]
            readings.sort(key=lambda each: name_of(each) == "rdg")
            if len(readings) > 1 and not self._file.leaves_out("variants", len(readings) - 1):
                yield from chain.from_iterable((reading, " ") for reading in readings)
            else:
                yield from readings[:1]
        elif name == "subst":
            yield from children
        else:
            yield (element.text or "").replace("\n", " ").replace("\t", " ")
            for child, following in zip(element, [*element, None][1:], strict=True):
                yield child
                words = following is not None and name_of(following) == "w" and name_of(child) in ("w", "pc")
                yield (child.tail or " " * words).replace("\n", " ").replace("\t", " ")

    def _left_out(self, element: ET.Element, name: str, above: str) -> bool:
        """Return whether an element is left out, and count it if it contains text."""
        what = element.get("type", "")
        beside = name == "div" and what in BESIDE and self._edition
        kinds = {
            "speakers": name == "note" and what == "speaker",
            "boilerplate": name.startswith("div") and _LISTS.search(what),
            "notes": beside or (name == "ref" and _NOTE_MARK.search(what)),
            "captions": name == "head" and above == "figure",
            "variants": name == "app" and (element.get("from") or element.get("loc")),  # of a text elsewhere
        }
        kind = next((kind for kind, found in kinds.items() if found), _KINDS.get(name))
        written = kind is not None and any(text.strip() for text in element.itertext())
        return name in NO_TEXT or (kind is not None and (not written or self._file.leaves_out(kind)))

    def _speaker(self, element: ET.Element) -> dict[str, str]:
        """Return the fields of a speech: the speaker, and the role, sex and party if they are known."""
        ids = [each.rpartition("#")[2] for each in element.get("who", "").split()]
        label = next((_flat(child).rstrip(" .:,") for child in element if name_of(child) == "speaker"), "")
        known = [self._people.get(each, {}) for each in ids]
        names = [person.get("speaker", each) for each, person in zip(ids, known, strict=True)]
        role = " ".join(each.rpartition("#")[2].rpartition(":")[2] for each in element.get("ana", "").split())
        fields = (known[0] if len(known) == 1 else {}) | ({"role": role} if role else {})
        return fields | {"speaker": "; ".join(names) if any(known) or not label else label}


def _of_xml(root: ET.Element) -> Iterator[str]:
    """Yield the text of XML that is not TEI; elements are inline beside text, and separated by a space if adjacent."""
    waiting: list[tuple[ET.Element | str, bool]] = [(root, False)]
    while waiting:
        element, inline = waiting.pop()
        if isinstance(element, str):
            yield element
            continue
        beside = [element.text or "", *(child.tail or "" for child in element)]
        inline = inline or any(text.strip() for text in beside)
        parts: list[tuple[ET.Element | str, bool]] = [(beside[0].replace("\n", " "), False)]
        for number, (child, after) in enumerate(zip(element, beside[1:], strict=True)):
            if name_of(child):
                apart = not inline or name_of(child).lower() in DIVIDING
                edge = "\n" if apart else "" if number == 0 or beside[number] else " "
                parts += [(edge, False), (child, not apart), ("\n" if apart else "", False)]
            parts.append((after.replace("\n", " "), False))
        waiting += reversed(parts)
