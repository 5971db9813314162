"""Documents, or parts of long ones, on their way from a file to a corpus."""

from __future__ import annotations

import codecs
import contextlib
import io
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from polyadic.core.errors import InputError, check_choice
from polyadic.text.streams import blocks, name_of

PIECE = 1 << 20
"""Characters of a long document that are handed on at once."""
FORMATS = (
    *("text", "lines", "wiki", "mediawiki", "jsonl", "csv", "xlsx", "parquet"),
    *("html", "xml", "epub", "docx", "pdf", "mail", "mbox", "conllu"),
)
ERRORS = ("skip", "strict", "replace", "ignore")

Content = str | list[str] | list[list[str]]


class Piece(NamedTuple):
    """A document, or part of a long one.

    ``starts`` says whether a new document begins, ``markup`` whether ``content`` is MediaWiki markup still; ``fields``
    is what is known of the document besides its text, such as its title, all strings.
    """

    content: Content
    starts: bool = True
    markup: bool = False
    fields: Mapping[str, str] = {}


@dataclass(frozen=True)
class Reading:
    """How files are read.

    Parameters
    ----------
    format : str
        What the files hold; one of :data:`FORMATS`, or ``"auto"``, which looks at the suffix and
        the beginning of each file.
    field : str, optional
        The column of a table, or the field of JSON lines, that holds the document. The other ones stay with it. Of
        CoNLL-U the column of the words, ``"lemma"`` or by default ``"form"``.
    wrapped : bool, optional
        Whether lines of text were broken to fit a page, so that a sentence goes on in the next line and an empty line
        ends a paragraph. By default the lengths of the lines tell, file by file.
    encoding : str
        Of text files.
    errors : {"skip", "strict", "replace", "ignore"}
        What to do about a file that cannot be read: leave it out, count it and name it in a warning, or stop. Of bytes
        that are in another encoding, ``"replace"`` puts U+FFFD in their place and ``"ignore"`` leaves them out. The
        only file of a source is never skipped.

    Raises
    ------
    InputError
        If there is no such format, encoding or policy.
    """

    format: str = "auto"
    field: str | None = None
    wrapped: bool | None = None
    encoding: str = "utf-8"
    errors: str = "skip"

    def __post_init__(self) -> None:
        check_choice("format", self.format, ("auto", *FORMATS))
        check_choice("errors", self.errors, ERRORS)
        try:
            "".encode(self.encoding)
        except (LookupError, UnicodeError):  # unknown, or no encoding of text
            raise InputError(
                f"encoding must be one that Python knows, such as 'utf-8' or 'latin-1'; got {self.encoding!r}"
            ) from None


class File(NamedTuple):
    """An open file, decompressed, and how it is to be read; the stream may begin at some byte of it."""

    path: str
    stream: io.BufferedReader
    reading: Reading
    start: int = 0

    @property
    def name(self) -> str:
        """How messages call it."""
        return name_of(self.path)

    def texts(self) -> Iterator[str]:
        """Decode it, block by block."""
        errors = self.reading.errors if self.reading.errors in ("replace", "ignore") else "strict"
        return blocks(self.stream, self.path, encoding=self.reading.encoding, errors=errors, start=self.start)

    def whole(self) -> io.BytesIO:
        """Read it into memory, for formats whose end is read first."""
        return io.BytesIO(self.stream.read())

    def head(self, size: int = 1 << 16) -> str:
        """Decode the beginning without reading on; empty where that cannot be done."""
        decoder = codecs.getincrementaldecoder(self.reading.encoding)("ignore")
        try:
            return decoder.decode(self.stream.peek(size)[:size]).lstrip("\ufeff")
        except UnicodeError:  # such as UTF-16 without a byte order mark; told, with the place, where the text is read
            return ""

    def archive(self) -> io.BytesIO:
        """Read a zipped file into memory, unless what is in it, which its reader would hold, is far larger."""
        packed = self.whole()
        with contextlib.suppress(zipfile.BadZipFile), zipfile.ZipFile(packed) as parts:
            size = sum(part.file_size for part in parts.infolist())
            if size > max(MAX_UNPACKED, MAX_RATIO * packed.getbuffer().nbytes):
                raise InputError(
                    f"{self.name} holds {size:,} bytes, more than {MAX_RATIO} times its size; it is not unpacked"
                )
        packed.seek(0)
        return packed


MAX_UNPACKED, MAX_RATIO = 1 << 26, 100
"""Bytes that an archive may hold in any case, and so many times its size."""


def nested(content: list[str] | list[list[str]]) -> list[list[str]]:
    """Return tokens as a list of sentences."""
    if content and isinstance(content[0], str):
        return [content]
    return content  # type: ignore[return-value]


TOKEN = 6
"""Characters that a token of tokenised text counts for."""


def size_of(piece: Piece) -> int:
    """Give about how many characters a piece has."""
    content = piece.content
    return len(content) if isinstance(content, str) else TOKEN * sum(map(len, nested(content)))


def checked(item: Any, where: str) -> Content:
    """Return what may be a document's content, or say why it is none."""
    wanted = "must be a string, a list of tokens or a list of lists of tokens"
    if isinstance(item, str):
        return item
    if isinstance(item, (bytes, dict)) or not isinstance(item, Iterable):
        raise InputError(f"{where} {wanted}; got {type(item).__name__}")
    parts = list(item)
    if all(isinstance(part, str) for part in parts):
        return parts
    if any(isinstance(part, (str, bytes, dict)) or not isinstance(part, Iterable) for part in parts):
        kinds = ", ".join(sorted({type(part).__name__ for part in parts}))
        raise InputError(f"{where} {wanted}; got a list of {kinds}")
    sentences = [list(part) for part in parts]
    odd = next((repr(token) for sentence in sentences for token in sentence if not isinstance(token, str)), None)
    if odd is not None:
        raise InputError(f"{where} {wanted}; got the token {odd}")
    return sentences
