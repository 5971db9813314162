"""Documents of offices: Word's, PDF, and mail."""

from __future__ import annotations

import contextlib
import email
import email.policy
import logging
import re
from typing import TYPE_CHECKING, Any, cast

from polyadic.errors import InputError, MissingExtraError
from polyadic.text.formats.markup import html_text
from polyadic.text.formats.plain import text_pieces

if TYPE_CHECKING:
    from collections.abc import Iterator
    from email.message import EmailMessage

    from polyadic.text.pieces import File, Piece


def read_docx(file: File) -> Iterator[Piece]:
    """Read a Word document: its paragraphs, and its tables a cell a paragraph; title and author are fields."""
    try:
        from docx import Document
        from docx.table import Table, _Cell
    except ImportError:
        raise MissingExtraError("python-docx", "files", "reading Word documents") from None

    def paragraphs(part: Any) -> Iterator[str]:
        for item in part.iter_inner_content():
            if isinstance(item, Table):
                for cell in (_Cell(tc, item) for row in item._tbl.tr_lst for tc in row.tc_lst):  # noqa: SLF001 # row.cells gives a merged one for each place
                    if cell._tc.vMerge != "continue":  # noqa: SLF001
                        yield from paragraphs(cell)
            else:
                yield item.text.replace("\n", " ") + "\n"

    try:
        document = Document(file.archive())
        known = document.core_properties
        fields = {"title": known.title, "author": known.author, "date": str(known.created or "")}
        texts = list(paragraphs(document))
    except Exception as error:  # noqa: BLE001 # of zipfile, of its XML, its own: all say that the file is broken
        raise InputError(f"{file.name} is no Word document that can be read: {error}") from None
    return text_pieces(texts, wrapped=False, fields={name: value for name, value in fields.items() if value})


def read_pdf(file: File) -> Iterator[Piece]:
    """Read a PDF with a layer of text; its lines are those of the page, so paragraphs are made of them again."""
    try:
        from pypdf import PdfReader
        from pypdf.errors import DependencyError, PyPdfError
    except ImportError:
        raise MissingExtraError("pypdf", "files", "reading PDF") from None
    try:
        with _quiet("pypdf"):  # it tells what it mends; what it cannot mend it raises
            reader = PdfReader(file.whole())
            text = "\n".join(page.extract_text() for page in reader.pages)
        known = reader.metadata or {}
        fields = {name: str(known.get(key) or "") for name, key in (("title", "/Title"), ("author", "/Author"))}
    except DependencyError as error:
        raise InputError(f"{file.name} is encrypted: {error}") from None
    except (PyPdfError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise InputError(f"{file.name} is no PDF that can be read: {error}") from None
    if not text.strip():
        raise InputError(f"{file.name} holds no text, only pictures of pages; a program for OCR makes text of them")
    known_fields = {name: value for name, value in fields.items() if value}
    yield from text_pieces([text], wrapped=file.reading.wrapped, fields=known_fields)


@contextlib.contextmanager
def _quiet(name: str) -> Iterator[None]:
    """Keep what a library logs from standard error, where it goes if nobody takes it."""
    log, taker = logging.getLogger(name), logging.NullHandler()
    log.addHandler(taker)
    try:
        yield
    finally:
        log.removeHandler(taker)


def read_mail(file: File) -> Iterator[Piece]:
    """Read a message as a document, without what it quotes; subject (as title), sender, receiver, date are fields."""
    return _message(file.stream.read(), file)


def read_mbox(file: File) -> Iterator[Piece]:
    """Read a mailbox, a message a document."""
    message: list[bytes] = []
    for line in file.stream:
        if line.startswith(b"From ") and message:
            yield from _message(b"".join(message), file)
            message = []
        if not line.startswith(b"From "):
            message.append(line[1:] if re.match(rb">+From ", line) else line)
    if message:
        yield from _message(b"".join(message), file)


def _header(message: EmailMessage, name: str) -> str:
    """Give what a header says; nothing if it is none, or nests too deeply."""
    with contextlib.suppress(RecursionError):
        return str(message[name] or "")
    return ""


class _Headers(email.policy.EmailPolicy):
    """Reads the beginnings of headers, since the time that they take grows faster than they do."""

    def header_source_parse(self, sourcelines: list[str]) -> tuple[str, str]:
        name, value = super().header_source_parse(sourcelines)
        return name, value[:HEADER]


HEADER = 2000
"""Characters of a header that are read."""


def _message(written: bytes, file: File) -> Iterator[Piece]:
    try:
        message = cast("EmailMessage", email.message_from_bytes(written, policy=_Headers()))
        body = message.get_body(("plain", "html"))
        text = body.get_content() if body is not None else ""
        names = {"title": "subject", "from": "from", "to": "to", "date": "date"}
        fields = {field: value for field, header in names.items() if (value := _header(message, header))}
    except (LookupError, UnicodeError, ValueError, TypeError, AttributeError, RecursionError) as error:
        raise InputError(f"{file.name} holds a message that cannot be read: {error}") from None
    if body is not None and body.get_content_subtype() == "html":
        text = html_text(text)[0]
    text = "\n".join(line for line in text.split("\n") if not line.startswith(">"))
    return text_pieces([text], wrapped=file.reading.wrapped, fields=fields)
