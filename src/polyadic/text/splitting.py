"""Split texts into documents: paragraphs, lines, sentences, parts below headings, speeches, or a number of words."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from itertools import chain, groupby, pairwise
from typing import TYPE_CHECKING

from polyadic.core.errors import InputError
from polyadic.text import languages
from polyadic.text.formats.markup import clean_markup
from polyadic.text.languages import UNSPACED_LETTERS
from polyadic.text.pieces import UNDIVIDED, Content, Piece, Reading, Tokens, nested

if TYPE_CHECKING:
    Part = tuple[Content, Mapping[str, str] | None]  # content, and the fields of a document that begins with it

GUESSED = 10_000  # number of characters from which the language of a text is detected
_WORD = re.compile(rf"[{UNSPACED_LETTERS}]|[^\s{UNSPACED_LETTERS}]*[^\W_{UNSPACED_LETTERS}][^\s{UNSPACED_LETTERS}]*")
_NAMES = (
    "act|appendix|book|canto|chapter|letter|part|prologue|epilogue|scene|section|volume|akt|anhang|brief|buch|kapitel"
    "|teil|szene|acte|chapitre|lettre|livre|partie|scène|acto|capítulo|carta|libro|parte|escena|atto|capitolo|lettera"
    "|scena|livro|cena|hoofdstuk|kapitola|rozdział|bölüm|глава|часть|книга|действие|κεφάλαιο"
)
_HEADING = re.compile(
    rf"""^[ \t]*(?:
    \#{{1,6}}[ \t]+([^\n]*[^\s\#])[ \t\#]*
    |(={{2,6}})[ \t]*([^\n=]+?)[ \t]*\2[ \t]*
    |([^\n]*\w[^\n]*)\n(?:={{3,}}|-{{3,}})[ \t]*
    |((?=[^\W\da-z_])(?i:{_NAMES})[ \t]+(?:\d+|[IVXLCDM]+|(?i:the[ \t]+)?[^\W\d_]+)\b(?=[ \t]*$|[.:—–-])[^\n]{{0,80}})
    |(第[一二三四五六七八九十百\d]+[章回节節卷部][^\n]{{0,40}})
    )$""",
    re.MULTILINE | re.VERBOSE,
)
"""Headings of plain text, Markdown and MediaWiki, each on its own line."""


def split(pieces: Iterable[Piece], reading: Reading, name: str, left_out: Counter[str]) -> Iterator[Piece]:
    """Yield the pieces of a file with a document for each unit that ``reading.documents`` names.

    Documents keep the fields of their text, and have its ``part`` (a number from 1), and ``heading`` or ``speaker``. A
    file without headings is not split and counted in ``left_out``; raise InputError if it has no speakers.
    """
    unit, texts, known = str(reading.documents), 0, False

    def text_of(piece: Piece) -> int:
        nonlocal texts
        texts += piece.starts
        return texts

    for _, of_text in groupby(pieces, text_of):
        number, first = 0, next(of_text)
        rest = chain([first._replace(fields={})], of_text)  # noqa: B031 # its first was taken
        if reading.words:
            parts = _by_words(rest, reading.words)
        else:
            parts = {"heading": _by_heading, "speaker": _by_speaker}.get(unit, _by_line)(rest, unit, name)
        for content, mark in parts:
            known |= unit in (mark or ())
            number += mark is not None
            new = {} if mark is None else {**first.fields, "part": str(number), **mark}
            yield Piece(content, mark is not None, fields=new)
    if unit == "speaker" and not known:
        what = f"{name} has no speakers, so documents cannot be 'speaker'"
        raise InputError(f"{what}; use paragraph, line, heading or a number of words", "documents")
    left_out[UNDIVIDED] += unit == "heading" and not known


def _by_line(pieces: Iterable[Piece], unit: str, name: str) -> Iterator[Part]:
    """Yield each line, paragraph or sentence; paragraphs end at empty lines or, without any, at line ends."""
    end, language = None if unit == "paragraph" else "\n", ""
    for piece in pieces:
        if unit != "paragraph" and isinstance(piece.content, Tokens):
            yield from ((Tokens([sentence]), {}) for sentence in piece.content.sentences)
        elif unit != "paragraph" and not isinstance(piece.content, str):
            yield from (([sentence], {}) for sentence in nested(piece.content) if sentence)
        else:
            content = _text(piece, unit, name)
            end = end or ("\n\n" if re.search(r"\n[ \t]*\n", content) else "\n")
            parts = content.split("\n") if end == "\n" else re.split(r"\n(?:[ \t]*\n)+", content)
            if unit == "sentence":
                language = language or languages.guess(content[:GUESSED])
                split_line = partial(languages.sentences, language=language)
                parts = [part.strip() for part in chain.from_iterable(map(split_line, filter(str.strip, parts)))]
            yield from ((part, {}) for part in parts if part.strip())


def _by_words(pieces: Iterable[Piece], size: int) -> Iterator[Part]:
    """Yield documents of ``size`` words: runs of characters between blanks with a letter or digit, or tokens."""
    room, begins = size, True
    for piece in pieces:
        content = clean_markup(piece.content) if piece.markup else piece.content  # type: ignore[arg-type]
        for text in [content] if isinstance(content, str) else nested(content):
            starts = [word.start() for word in _WORD.finditer(text)] if isinstance(text, str) else range(len(text))
            for k, (a, b) in enumerate(pairwise([0, *starts[room::size], len(text)])):
                begins |= k > 0
                if b > a and not (begins and isinstance(text, str) and text[a:b].isspace()):
                    yield text[a:b] if isinstance(text, str) else [text[a:b]], {} if begins else None
                    begins = False
            room = room - len(starts) if len(starts) <= room else (room - len(starts)) % size


def _by_heading(pieces: Iterable[Piece], unit: str, name: str) -> Iterator[Part]:
    """Yield the text below each heading with the heading; headings without text between them are joined."""
    titles: list[str] = []
    held, begins, marked = "", True, False
    for piece in pieces:
        marked |= unit in piece.fields  # by the reader; otherwise headings are recognized
        content = _text(piece, unit, name)
        places = [] if marked else [*_HEADING.finditer(content)]
        bounds = [0, *(place.start() for place in places), len(content)]
        headings = [piece.fields.get(unit), *(next(filter(None, place.groups()[::-1])) for place in places)]
        for title, (a, b) in zip(headings, pairwise(bounds), strict=True):
            heading = " ".join((title or "").split())
            if title is not None:
                titles, begins = [each for each in titles if held and not heading.startswith(f"{each} / ")], True
                titles.append(heading)
            held += content[a:b]
            if _bare(content[a:b]) not in ("", _bare(heading.rpartition(" / ")[2])):
                yield held, ({unit: " / ".join(titles)} if titles else {}) if begins else None
                held, begins = "", False
    if held.strip():
        yield held, {unit: " / ".join(titles)} if titles and begins else None


def _bare(text: str) -> str:
    return " ".join(text.strip("#=- \t\n").split())


def _by_speaker(pieces: Iterable[Piece], unit: str, name: str) -> Iterator[Part]:
    """Yield each speech with its speaker and the heading above it, and the text between speeches."""
    above: dict[str, str] = {}
    mark: dict[str, str] = {}
    begins = True
    for piece in pieces:
        above |= {"heading": piece.fields["heading"]} if piece.fields.get("heading") else {}
        if unit in piece.fields:
            begins |= bool(piece.fields[unit] or mark)
            mark = {key: value for key, value in piece.fields.items() if value} if piece.fields[unit] else {}
        content = _text(piece, unit, name)
        if content.strip():
            yield content, above | mark if begins else None
            begins = False


def _text(piece: Piece, unit: str, name: str) -> str:
    """Return the text of a piece; raise InputError if it is tokenized, and therefore has no units of text."""
    if isinstance(piece.content, str):
        return clean_markup(piece.content, headings=unit == "heading") if piece.markup else piece.content
    what = f"{name} contains tokenized sentences, so documents cannot be {unit!r}"
    raise InputError(f"{what}; use line (a sentence) or a number of words", "documents")
