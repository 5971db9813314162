"""Readers for PDF and mail."""

from __future__ import annotations

import contextlib
import email
import email.policy
import logging
import re
from email.headerregistry import HeaderRegistry
from typing import TYPE_CHECKING, Any

from polyadic.core.errors import InputError, MissingExtraError, error_text, needing
from polyadic.text.formats.markup import html_text
from polyadic.text.formats.plain import text_pieces

if TYPE_CHECKING:
    from collections.abc import Iterator

    from polyadic.text.pieces import File, Piece

SHOWN_HEADERS = ("subject", "from", "to", "date")
MAX_HEADER_LENGTH = 1 << 12
"""Maximum number of characters of a parsed mail header; the standard library takes quadratic time."""
_APART, _AS_IT_STANDS = HeaderRegistry(), HeaderRegistry(use_default_map=False)


def read_pdf(file: File) -> Iterator[Piece]:
    """Read the text layer of a PDF; hard-wrapped lines are joined into paragraphs."""
    with needing("pypdf", "files", "reading PDF"):
        from pypdf import PdfReader
        from pypdf.errors import DependencyError
    try:
        with _quiet("pypdf"):  # it tells what it mends; what it cannot mend it raises
            reader = PdfReader(file.whole())
            text = "\n".join(page.extract_text() for page in reader.pages)
            known = reader.metadata or {}
            fields = {name: str(known.get(key) or "") for name, key in (("title", "/Title"), ("author", "/Author"))}
    except DependencyError as error:
        raise InputError(f"{file.name} is encrypted: {error_text(error)}") from None
    except Exception as error:  # noqa: BLE001 # its own, and whatever broken objects lead to
        raise InputError(f"{file.name} cannot be read as a PDF: {error_text(error)}") from None
    if not text.strip():
        raise InputError(f"{file.name} contains no text, only images of pages; use OCR software to extract the text")
    known_fields = {name: value for name, value in fields.items() if value}
    yield from text_pieces([text], wrapped=file.reading.wrapped, fields=known_fields)


@contextlib.contextmanager
def _quiet(name: str) -> Iterator[None]:
    """Suppress log messages of a library on standard error."""
    log, taker = logging.getLogger(name), logging.NullHandler()
    log.addHandler(taker)
    try:
        yield
    finally:
        log.removeHandler(taker)


def read_mail(file: File) -> Iterator[Piece]:
    """Read an e-mail message without quoted text; the headers become metadata, with the subject as title."""
    return _message(file.stream.read(), file)


def read_mbox(file: File) -> Iterator[Piece]:
    """Read a mailbox file with one document per message."""
    message: list[bytes] = []
    for line in file.stream:
        if line.startswith(b"From ") and message:
            yield from _message(b"".join(message), file)
            message = []
        if not line.startswith(b"From "):
            message.append(line[1:] if re.match(rb">+From ", line) else line)
    if message:
        yield from _message(b"".join(message), file)


def _message(written: bytes, file: File) -> Iterator[Piece]:
    try:
        message = email.message_from_bytes(written, policy=email.policy.default.clone(header_factory=_header))
        body = message.get_body(("plain", "html"))
        text = body.get_content() if body is not None else ""
        if body is not None and body.get_content_subtype() == "html":
            text = html_text(text)[0]
        values = {header: str(message[header]) for header in SHOWN_HEADERS if message[header]}
    except MissingExtraError:
        raise
    except Exception as error:  # noqa: BLE001 # of codecs, of headers taken apart: all say that the message is broken
        raise InputError(f"{file.name} contains a message that cannot be read: {error_text(error)}") from None
    fields = {"title" if header == "subject" else header: value for header, value in values.items()}
    text = "\n".join(line for line in text.split("\n") if not line.startswith(">"))
    return text_pieces([text], wrapped=file.reading.wrapped, fields=fields)


def _header(name: str, value: str) -> Any:
    if len(value) > MAX_HEADER_LENGTH:
        return "".join(value.splitlines())
    return (_AS_IT_STANDS if name.lower() in SHOWN_HEADERS else _APART)(name, value)
