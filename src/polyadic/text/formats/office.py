"""Readers for PDF and mail."""

from __future__ import annotations

import contextlib
import email
import email.policy
import logging
import re
from collections import Counter
from collections.abc import Callable, Iterator
from email.headerregistry import HeaderRegistry
from itertools import chain, pairwise, repeat
from typing import TYPE_CHECKING, Any

from polyadic.core.errors import InputError, MissingExtraError, error_text, needing
from polyadic.core.streams import encoding_of
from polyadic.text.formats.markup import html_text
from polyadic.text.formats.plain import text_pieces

if TYPE_CHECKING:
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
    with file.read_as("a PDF"), _quiet("pypdf"):  # it tells what it mends; what it cannot mend it raises
        try:
            reader = PdfReader(file.whole())
            text = "\n".join(_without_edges(file, [page.extract_text().split("\n") for page in reader.pages]))
            known = reader.metadata or {}
            keys = {"title": "/Title", "author": "/Author"}
            fields = {name: str(known[key]) for name, key in keys.items() if known.get(key)}
        except DependencyError as error:
            raise InputError(f"{file.name} is encrypted: {error_text(error)}") from None
    if not text.strip():
        raise InputError(f"{file.name} contains no text, only images of pages; use OCR software to extract the text")
    wrapped = file.reading.wrapped
    text = _with_paragraphs(text) if wrapped is None else text
    yield from text_pieces([text], wrapped=wrapped is not False, fields=fields)


def _with_paragraphs(text: str) -> str:
    """Insert an empty line after each line that does not reach the margin, unless the next goes on in lower case."""
    rows = [row.strip() for row in text.split("\n") if row.strip()]
    margin = 0.75 * sorted(map(len, rows))[int(0.9 * len(rows))]
    ends = ("\n" if len(a) > margin or b[0].islower() else "\n\n" for a, b in pairwise(rows))
    return "".join(chain.from_iterable(zip(rows, [*ends, "\n"], strict=True)))


def _without_edges(file: File, pages: list[list[str]]) -> Iterator[str]:
    """Yield the text of each page without page numbers and lines that recur at the edges of many pages."""
    pages = [[line for line in page if line.strip()] for page in pages]
    keys: Iterator[Callable[[str], str]] = chain([_edge], repeat(str.strip))
    for key in keys:  # headers may have many lines, of which the others are the same
        counts = Counter(edge for page in pages for edge in {*map(key, page[:EDGE] + page[-EDGE:])})
        often = {edge for edge, n in counts.items() if n >= max(MIN_RECURRING, RECURRING * len(pages))}
        kept = []
        for page in pages:
            recurring = [key(line) in often for line in page]
            first, last = (([*recurring[::step][:EDGE], False]).index(False) for step in (1, -1))
            kept.append(page[first : max(first, len(page) - last)])
        n = sum(map(len, pages)) - sum(map(len, kept))
        if not n or not file.leaves_out("headers", n):
            break
        pages = kept
    for page in pages:
        yield re.sub(rf"(?<=[^\W\d_])- (?!(?:{_AND})\b)(?=[^\W\d_A-Z])", "-\n", "\n".join(page))  # a line end was lost


def _edge(line: str) -> str:
    return re.sub(r"\d+|^\W*[ivxlc]+\W*$", "#", line.strip().lower())


EDGE, MIN_RECURRING, RECURRING = 2, 3, 0.3
"""Lines at the top and the bottom of a page that may be headers; and the least number and share of pages of one."""
_AND = "und|oder|bzw|sowie|bis|and|or|to|nor|et|ou|y|o|e|en|of|og|och|i|oraz|lub|и|или|ve|veya"


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
    for line in chain(file.stream, [b"From "]):
        if not line.startswith(b"From "):
            message.append(line[1:] if re.match(rb">+From ", line) else line)
        elif message:
            yield from _message(b"".join(message), file)
            message = []


def _message(written: bytes, file: File) -> Iterator[Piece]:
    try:
        message = email.message_from_bytes(written, policy=email.policy.default.clone(header_factory=_header))
        body = message.get_body(("plain", "html"))
        text = "" if body is None else _content(body, file)
        if body is not None and body.get_content_subtype() == "html":
            text = html_text(text, file)
        values = {header: str(message[header]) for header in SHOWN_HEADERS if message[header]}
    except MissingExtraError:
        raise
    except Exception as error:  # noqa: BLE001 # of codecs, of headers taken apart: all say that the message is broken
        raise InputError(f"{file.name} contains a message that cannot be read: {error_text(error)}") from None
    fields = {"title" if header == "subject" else header: value for header, value in values.items()}
    return text_pieces([_without_quotes(file, text)], wrapped=file.reading.wrapped, fields=fields)


def _content(part: Any, file: File) -> str:
    """Return the text of a part of a message; the encoding is detected if the declared one does not exist."""
    with contextlib.suppress(LookupError):
        return str(part.get_content())
    payload = bytes(part.get_payload(decode=True))
    file.decoding.encodings[file.name] = encoding = encoding_of(payload)
    return payload.decode(encoding, "replace")


_WROTE = re.compile(
    r"(?=.*\d).*\b(?:wrote|writes|schrieb|a écrit|escribió|escreveu|ha scritto|schreef|skrev|pisze|napisał|пишет|писал"
    r"|yazdı|写道)\b[^:]{0,60}:\s*"
)
_DATED = re.compile(r"(?=.*(?:\d[:.]\d\d|\d{4}|@)).*:\s*")
_ORIGINAL = re.compile(
    r"-{3,} ?(?:Original Message|Ursprüngliche Nachricht|Message d.origine|Mensaje original) ?-{3,}\s*"
)
_FORWARDED = re.compile(r"-{3,}.*(?:forwarded|weitergeleitet|transféré|reenviado|inoltrato|пересл).*", re.IGNORECASE)
_HEADER = re.compile(r"[*> ]*[\w-]+(?: [\w-]+)?\*? ?:(?: .*|$)")
_SENDER = re.compile(r"[*]?(?:From|Von|De|Da|Van|Fra|Från|Od|От|Kimden)[*]? ?: .*")


def _without_quotes(file: File, text: str) -> str:
    """Remove quoted messages, headers of forwarded messages, and signatures."""
    lines = text.split("\n")
    kept: list[str] = []
    parts: Counter[str] = Counter()
    included = file.reading.include or ()
    rest, before = "", ""  # kind of all lines that follow, and of the last line
    for at, line in enumerate(lines):
        kind = _kind_of(lines[at : at + 5], before, rest)
        rest = kind if kind and not line.startswith(">") and kind != "headers" else rest
        if line.startswith(">") and before != kind and kind not in included:
            above = [n for n, each in enumerate(kept) if each.strip()][-2:]
            leads = (lead for lead in (above[-1:], above) if _DATED.fullmatch(" ".join(kept[n] for n in lead)))
            del kept[next(leads, [len(kept)])[0] :]  # "On Monday, ... wrote:"
        parts[kind] += kind != before
        kept += [line] if not kind or kind in included else []
        before = kind
    for kind in filter(None, parts):
        file.leaves_out(kind, parts[kind])
    return "\n".join(kept)


def _kind_of(lines: list[str], before: str, rest: str) -> str:
    """Return the kind of structure that the first of some lines belongs to, or "" for text."""
    line = lines[0]
    if line.startswith(">"):
        return "quotes"
    if _FORWARDED.fullmatch(line) or (before == "headers" and _HEADER.fullmatch(line)):
        return "headers"
    heads = sum(1 for each in lines[:4] if _HEADER.fullmatch(each))
    older = _ORIGINAL.fullmatch(line) or (_SENDER.fullmatch(line) and heads > 2)
    wrote = _WROTE.fullmatch(line) or _WROTE.fullmatch(" ".join(lines[:2]))
    if older or (wrote and not any(each.startswith(">") for each in lines)):
        return "quotes"
    return "signatures" if re.fullmatch("-- ?|_{30,}", line) and rest != "quotes" else rest


def _header(name: str, value: str) -> Any:
    if len(value) > MAX_HEADER_LENGTH:
        return "".join(value.splitlines())
    return (_AS_IT_STANDS if name.lower() in SHOWN_HEADERS else _APART)(name, value)
