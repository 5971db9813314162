"""Pieces of text yielded by the readers: whole documents, or parts of long documents."""

from __future__ import annotations

import contextlib
import io
import re
import zipfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any, Literal, NamedTuple

from polyadic.core.errors import InputError, MissingExtraError, check_choice, counted, error_text, meant
from polyadic.core.progress import note
from polyadic.core.streams import decoded, encoding_of, name_of
from polyadic.text.characters import Decoding

PIECE = 1 << 20  # maximum number of characters of a piece of a long document
FORMATS = (
    *("text", "lines", "wiki", "mediawiki", "jsonl", "csv", "xlsx", "parquet"),
    *("html", "xml", "epub", "docx", "odt", "rtf", "pdf", "mail", "mbox", "conllu"),
    *("subtitles", "transcript", "chat", "gutenberg", "fasttext"),
)
RECOGNISED = {
    "transcript": "a transcript, because paragraphs begin with speaker labels",
    "chat": "a chat, because lines begin with times and names",
}
"""Kinds of text that are recognised by content, in plain text and in files of word processors."""
ERRORS = ("skip", "strict", "replace", "ignore")
LEFT_OUT = {
    "notes": "note",
    "speakers": "speaker label",
    "stage": "stage direction",
    "headings": "heading",
    "headers": "header",
    "captions": "caption",
    "navigation": "menu",
    "boilerplate": "boilerplate section",
    "hidden": "hidden part",
    "deletions": "deletion",
    "variants": "variant reading",
    "quotes": "quotation",
    "signatures": "signature",
    "comments": "comment",
    "events": "nonverbal event",
    "timestamps": "time stamp",
    "links": "link",
}
"""Kinds of structure that readers leave out unless ``include`` names them, and the noun for one of each kind."""
UNITS = ("paragraph", "line", "sentence", "heading", "speaker")
UNDIVIDED = "undivided"  # key of the number of files that have no headings at which to split them

Sentence = tuple[list[str], Mapping[str, list[str]]]
"""Words between what is written before, between and after them; and layers with a value, such as a tag, of each."""


class Tokens(NamedTuple):
    """Tokenized sentences with layers."""

    sentences: list[Sentence]


Content = str | list[str] | list[list[str]] | Tokens


class Piece(NamedTuple):
    """Document or part of a long document, as text or as one or more tokenized sentences.

    ``starts`` says whether a new document begins, whose metadata are ``fields``; ``markup`` is that of MediaWiki. If
    the document continues, ``fields`` describe the part that begins here, which is a document if ``documents`` is
    ``heading`` or ``speaker``: they contain ``heading``, or ``speaker``, which is empty where nobody speaks.
    """

    content: Content
    starts: bool = True
    markup: bool = False
    fields: Mapping[str, str] = {}


@dataclass(frozen=True)
class Reading:
    """Settings for reading files.

    Parameters
    ----------
    format : str
        Format of the files: auto (by the suffix and the first bytes of each file), text, lines (a document on each
        line), wiki, mediawiki, jsonl, csv, xlsx, parquet, html, xml, epub, docx, pdf, mail, mbox or conllu.
    field : str, optional
        Table column, or field of JSON lines, that contains the text of each document; other columns become metadata.
        For CoNLL-U, the column of the words: ``"form"`` (default) or ``"lemma"``.
    wrapped : bool, optional
        Whether lines of text were broken to fit a page, so that sentences continue on the next line and an empty line
        ends a paragraph (default: detected from the lengths of the lines of each file).
    encoding : str
        Encoding of text files, such as "cp1252"; ``"auto"`` detects it for each file.
    sheet : str, optional
        Name of the sheet of an Excel file, or its position from 1 (default: the only sheet).
    errors : {"skip", "strict", "replace", "ignore"}
        Treatment of unreadable files: skip leaves them out and names them in a warning, the other values raise an
        error; replace inserts U+FFFD for bytes in another encoding, and ignore drops them. The only file of a source is
        never skipped.
    include : list of str, optional
        Kinds of structure to read as text, which are left out by default: notes, speakers, stage, headings, headers,
        captions, navigation, boilerplate, hidden, deletions, variants, quotes, signatures, timestamps or links.
    documents : str, optional
        Unit that is a document: paragraph, line, sentence, heading (the text below each heading), speaker (a speech) or
        a number of words such as 1000 (default: a file, a row of a table, a message or a TEI text).
    """

    format: str = "auto"
    field: str | None = None
    wrapped: bool | None = None
    encoding: str = "auto"
    sheet: str | None = None
    errors: Literal["skip", "strict", "replace", "ignore"] = "skip"
    include: list[str] | None = None
    documents: str | None = None

    def __post_init__(self) -> None:
        check_choice("format", self.format, ("auto", *FORMATS))
        check_choice("errors", self.errors, ERRORS)
        check_encoding(self.known_encoding or "utf-8", "auto or a known name")
        if isinstance(self.include, str):
            raise InputError(f"include must be a list of names, such as ['notes']; got {self.include!r}", "include")
        for name in self.include or ():
            if name not in LEFT_OUT:
                got = f"{name!r}{meant(str(name), LEFT_OUT)}"
                raise InputError(f"include must name kinds of structure ({', '.join(LEFT_OUT)}); got {got}", "include")
        if self.documents is not None and self.documents not in UNITS and self.words is None:
            got = f"{self.documents!r}{meant(str(self.documents), UNITS)}"
            units = f"{', '.join(UNITS)} or a number of words such as '1000'"
            raise InputError(f"documents must be {units}; got {got}", "documents")

    @property
    def words(self) -> int | None:
        """Number of words of a document if documents are split by words, otherwise None."""
        size = re.fullmatch(r"([1-9]\d{0,2}(?:,\d{3})+|[1-9]\d*)( words)?", str(self.documents))
        return int(size[1].replace(",", "")) if size else None

    @property
    def known_encoding(self) -> str | None:
        """The encoding that was set, or None if it is detected."""
        return None if self.encoding == "auto" else self.encoding


def check_encoding(encoding: str, allowed: str = "a known name") -> None:
    """Raise InputError if the encoding is unknown, or is not an encoding of text."""
    try:
        "".encode(encoding)
    except (LookupError, UnicodeError):  # unknown, or no encoding of text
        advice = f"encoding must be {allowed}, such as 'utf-8' or 'cp1252'"
        raise InputError(f"{advice}; got {encoding!r}", "encoding") from None


class File(NamedTuple):
    """Open, decompressed file with reading settings; the stream may begin at an offset."""

    path: str
    stream: io.BufferedReader
    reading: Reading
    start: int = 0
    left_out: Counter[str] = Counter()  # noqa: RUF012 # parts that are no running text, by kind
    decoding: Decoding = Decoding()

    def leaves_out(self, kind: str, number: int = 1) -> bool:
        """Return whether structure of a kind of :data:`LEFT_OUT` is left out; count it if so."""
        if kind in (self.reading.include or ()):
            return False
        self.left_out[kind] += number
        return True

    @contextlib.contextmanager
    def read_as(self, what: str, errors: tuple[type[Exception], ...] = (Exception,)) -> Iterator[None]:
        """Raise InputError if an error of these kinds shows that the file is not what it should be."""
        try:
            yield
        except (InputError, MissingExtraError):
            raise
        except errors as error:
            raise InputError(f"{self.name} cannot be read as {what}: {error_text(error)}") from None

    @property
    def name(self) -> str:
        """Name of the file for use in messages."""
        return name_of(self.path)

    def texts(self) -> Iterator[str]:
        """Yield the decoded text of the file in blocks."""
        errors = self.reading.errors if self.reading.errors in ("replace", "ignore") else "strict"
        known = self.reading.known_encoding
        texts, encoding = decoded(self.stream, self.path, known, errors=errors, start=self.start)
        if known is None and encoding != "utf-8":
            self.decoding.encodings[self.name] = encoding
        return self.decoding.watched(texts, self.name)

    def whole(self) -> io.BytesIO:
        """Read the whole file into memory, for formats that require random access."""
        return io.BytesIO(self.stream.read())

    def head(self, size: int = 1 << 16) -> str:
        """Return the text of the first bytes without consuming them, or an empty string if decoding fails."""
        first = self.stream.peek(size)[:size]
        try:
            return first.decode(self.reading.known_encoding or encoding_of(first), "ignore").lstrip("\ufeff")
        except UnicodeError:  # such as UTF-16 without a byte order mark; an error is raised when the text is read
            return ""

    def archive(self) -> io.BytesIO:
        """Read a zip file into memory; raise InputError if its content is far larger than the file."""
        packed = self.whole()
        with contextlib.suppress(zipfile.BadZipFile), zipfile.ZipFile(packed) as parts:
            size = sum(part.file_size for part in parts.infolist())
            if size > max(MAX_UNPACKED, MAX_RATIO * packed.getbuffer().nbytes):
                what = f"the content has {size:,} bytes, more than {MAX_RATIO} times the size of the file"
                raise InputError(f"{self.name} was not unpacked: {what}")
        packed.seek(0)
        return packed


def note_left_out(left_out: Mapping[str, int]) -> None:
    """Note which files were recognised as transcripts or the like, and how much structure was left out, by kind."""
    for key, number in left_out.items():
        kind, _, form = key.partition(" ")
        if kind in RECOGNISED and number:
            how = f"to read the whole text, use format='{form or 'text'}'"
            note(f"{counted(number, 'file')} read as {RECOGNISED[kind]}; {how}", "format")
    kinds = [kind for kind in LEFT_OUT if left_out.get(kind)]
    if kinds:
        parts = ", ".join(counted(left_out[kind], LEFT_OUT[kind]) for kind in kinds)
        note(f"left out: {parts}; to read this as text, use include={kinds}", "include")
    if files := left_out.get(UNDIVIDED):
        note(f"{counted(files, 'text')} without headings: each is one document")


MAX_UNPACKED, MAX_RATIO = 1 << 26, 100
"""Bytes that an archive may always hold, and maximum ratio of its content to its size beyond that."""


def nested(content: list[str] | list[list[str]] | Tokens) -> list[list[str]]:
    """Return tokens as a list of sentences; a flat list of tokens becomes one sentence, annotated words lower case."""
    if isinstance(content, Tokens):
        return [[word.lower() for word in parts[1::2]] for parts, _ in content.sentences]
    if content and isinstance(content[0], str):
        return [content]
    return content  # type: ignore[return-value]


TOKEN = 6  # characters counted per token of tokenized text


def size_of(piece: Piece) -> int:
    """Return the approximate number of characters of a piece of text."""
    content = piece.content
    return len(content) if isinstance(content, str) else TOKEN * sum(map(len, nested(content)))


def checked(item: Any, where: str) -> Content:
    """Return the content of a document; raise InputError unless it is text, a list of tokens or a list of sentences."""
    if isinstance(item, str):
        return item
    expected = f"{where} must be a string, a list of tokens or a list of sentences; got"
    if isinstance(item, (bytes, dict)) or not isinstance(item, Iterable):
        raise InputError(f"{expected} {type(item).__name__}")
    parts = list(item)
    if all(isinstance(part, str) for part in parts):
        return parts
    if any(isinstance(part, (str, bytes, dict)) or not isinstance(part, Iterable) for part in parts):
        raise InputError(f"{expected} a list of {', '.join(sorted({type(part).__name__ for part in parts}))}")
    sentences = [list(part) for part in parts]
    for token in chain.from_iterable(sentences):
        if not isinstance(token, str):
            raise InputError(f"{where} must contain only strings; got the token {token!r}")
    return sentences
