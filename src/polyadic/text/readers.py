"""Documents from files, folders, globs, standard input or any iterable, one after another in bounded memory."""

from __future__ import annotations

import contextlib
import glob
import hashlib
import html
import json
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from polyadic.errors import InputError, MissingExtraError, check_choice
from polyadic.text.streams import COMPRESSIONS, blocks, lines, name_of, open_bytes

if TYPE_CHECKING:
    import io
    from collections.abc import Callable

FORMATS = ("auto", "text", "lines", "wiki", "mediawiki", "jsonl")
PIECE = 1 << 20  # characters of a long document that are handed on at once
_TITLE = re.compile(r'\btitle="([^"]*)"')

Content = str | list[str] | list[list[str]]
Source = str | os.PathLike[str] | Iterable[Any]


class Piece(NamedTuple):
    """A document, or part of a long one.

    ``starts`` says whether a new document begins, ``markup`` whether ``content`` is MediaWiki markup still, ``title``
    what the document is called, where the format says so.
    """

    content: Content
    starts: bool = True
    markup: bool = False
    title: str = ""


@dataclass(frozen=True)
class Reading:
    """How files are read; the options of :func:`read`, checked."""

    format: str = "auto"
    field: str | None = None
    encoding: str = "utf-8"
    errors: str = "strict"

    def __post_init__(self) -> None:
        check_choice("format", self.format, FORMATS)
        check_choice("errors", self.errors, ("strict", "replace", "ignore"))
        if self.format == "jsonl" and not self.field:
            raise InputError("format 'jsonl' needs field, the name of the field that holds the text")
        try:
            "".encode(self.encoding)
        except (LookupError, UnicodeError):  # unknown, or no encoding of text
            raise InputError(
                f"encoding must be one that Python knows, such as 'utf-8' or 'latin-1'; got {self.encoding!r}"
            ) from None


def read(
    source: Source,
    *,
    format: str = "auto",  # noqa: A002  the word that pandas and numpy use
    field: str | None = None,
    encoding: str = "utf-8",
    errors: str = "strict",
) -> Iterator[str]:
    r"""Yield the documents of ``source``, one string each.

    Parameters
    ----------
    source : path, folder, glob, "-" or iterable
        A file (decompressed if it ends in ``.gz .bz2 .xz .lzma .zst``), all files below a folder in alphabetical order
        (hidden ones aside), a pattern such as ``"texts/**/*.txt"``, ``"-"`` for standard input, an iterable of paths
        (:class:`pathlib.Path`), or an iterable of documents, which is read exactly once. A document is a string, a
        list of tokens (one tokenised sentence) or a list of lists of tokens.
    format : {"auto", "text", "lines", "wiki", "mediawiki", "jsonl"}
        What the files hold. ``"text"``: a file is a document, a line a paragraph. ``"lines"``: a line is a document,
        also an empty one. ``"wiki"``: the output of WikiExtractor; the title that it repeats as first line is
        left out. ``"mediawiki"``: an XML dump, of which the articles (namespace 0, no redirects) are read and freed of
        markup. ``"jsonl"``: one JSON object a line, with the document in ``field``. ``"auto"`` looks at ``field``, the
        suffix and the beginning of each file and knows all but ``"lines"``.
    field : str, optional
        Name of the field of JSON lines that holds the document: a string, or tokens as above.
    encoding, errors : str
        The encoding of the files and what to do about bytes that are not in it: ``"strict"`` refuses the file,
        ``"replace"`` puts U+FFFD, ``"ignore"`` leaves them out.

    Raises
    ------
    InputError
        If a file is absent, unreadable, broken, binary, in another encoding or not in the format.
    MissingExtraError
        For ``.zst`` without zstandard and for MediaWiki dumps without gensim.

    Examples
    --------
    >>> list(read(["A rose.", ["is", "a", "rose"]]))
    ['A rose.', 'is a rose']
    """
    document: list[str] = []
    started = False
    for piece in pieces(source, Reading(format, field, encoding, errors)):
        if piece.starts and started:
            yield "".join(document)
            document = []
        document.append(plain(piece))
        started = True
    if started:
        yield "".join(document)


def find_files(source: Source) -> list[str] | None:
    """Return the files that ``source`` names, in the order they are read; None if it is an iterable of documents.

    Raises
    ------
    InputError
        If there are none.
    """
    if isinstance(source, (list, tuple)) and source and all(isinstance(item, os.PathLike) for item in source):
        return [file for item in source for file in find_files(item) or ()]
    if not isinstance(source, (str, os.PathLike)):
        return None
    path = os.fspath(source)
    # os.path rather than pathlib: a whole text passed by mistake is too long a name, which pathlib does not survive
    if path == "-" or os.path.isfile(path):  # noqa: PTH113
        return [path]
    if os.path.isdir(path):  # noqa: PTH112
        below = sorted(file for file in Path(path).rglob("*") if file.is_file())
        files = [str(file) for file in below if not any(p.startswith(".") for p in file.relative_to(path).parts)]
        if not files:
            raise InputError(f"the folder {path} holds no files")
        return files
    if os.path.exists(path):  # noqa: PTH110  a pipe such as /dev/fd/63
        return [path]
    files = sorted(file for file in glob.glob(path, recursive=True) if Path(file).is_file())  # noqa: PTH207  absolute patterns
    if not files:
        shown = path if len(path) <= 200 else path[:200] + "..."
        raise InputError(f"no file {shown!r} (to pass a text itself, pass a list of documents: [text])")
    return files


def pieces(source: Source, reading: Reading, advance: Callable[[float], None] | None = None) -> Iterator[Piece]:
    """Yield what :func:`read` yields in pieces of bounded size.

    ``advance`` is told of the bytes read, or of the documents where ``source`` is an iterable.
    """
    files = find_files(source)
    if files is not None:
        for path in files:
            yield from _file_pieces(path, reading, advance)
        return
    if not isinstance(source, Iterable):
        raise InputError(f"the source must be a path or an iterable of documents; got {type(source).__name__}")
    for number, item in enumerate(source):
        if isinstance(item, os.PathLike):
            for path in find_files(item) or ():
                yield from _file_pieces(path, reading, None)
        else:
            yield Piece(_content(item, f"document {number}"))
        if advance is not None:
            advance(1)


def plain(piece: Piece) -> str:
    """Return the text of a piece: markup is removed, tokens are joined by spaces and sentences by line ends."""
    content = piece.content
    if isinstance(content, str):
        return clean_markup(content) if piece.markup else content
    return "\n".join(" ".join(sentence) for sentence in nested(content))


def nested(content: list[str] | list[list[str]]) -> list[list[str]]:
    """Return tokens as a list of sentences."""
    if content and isinstance(content[0], str):
        return [content]
    return content  # type: ignore[return-value]


def clean_markup(text: str) -> str:
    """Turn MediaWiki markup into plain text, a paragraph a line, with gensim's rules."""
    try:
        from gensim.corpora.wikicorpus import filter_wiki
    except ImportError:
        raise MissingExtraError("gensim", "gensim", "reading MediaWiki dumps") from None
    return re.sub(r"'{2,}|={2,}|^[*#:;]+", "", filter_wiki(text), flags=re.MULTILINE)


def _content(item: Any, where: str) -> Content:
    """Check one item of an iterable."""
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
    odd = next((token for sentence in sentences for token in sentence if not isinstance(token, str)), None)
    if odd is not None:
        raise InputError(f"{where} {wanted}; got the token {odd!r}")
    return sentences


def _file_pieces(path: str, reading: Reading, advance: Callable[[float], None] | None) -> Iterator[Piece]:
    with open_bytes(path, advance) as stream:
        kind = reading.format
        if kind == "auto":
            kind = "jsonl" if reading.field else _guess(path, stream, reading.encoding)
        if kind == "mediawiki":
            yield from _mediawiki(stream, path)
            return
        texts = blocks(stream, path, encoding=reading.encoding, errors=reading.errors)
        if kind == "text":
            yield from _text(texts)
        elif kind == "wiki":
            yield from _wiki(lines(texts))
        elif kind == "jsonl":
            yield from _jsonl(lines(texts), path, reading.field)
        else:
            yield from (Piece(line) for line in lines(texts))


def _guess(path: str, stream: io.BufferedReader, encoding: str) -> str:
    """Tell the format from the suffix and the first bytes."""
    head = ""
    with contextlib.suppress(UnicodeError):  # told, with the place, where the text is read
        head = stream.peek(1)[:4096].decode(encoding, "ignore").lstrip("\ufeff \t\r\n")
    if head.startswith("<doc "):
        return "wiki"
    if head.startswith("<mediawiki") or (head.startswith("<?xml") and "<mediawiki" in head):
        return "mediawiki"
    name = Path(path)
    inner = name.with_suffix("") if name.suffix.lower() in COMPRESSIONS else name
    if inner.suffix.lower() in {".jsonl", ".ndjson"}:
        raise InputError(f"{path} seems to hold JSON lines: give field, the name of the field that holds the text")
    return "text"


def _text(texts: Iterable[str]) -> Iterator[Piece]:
    """Cut a file at line ends; where a line is endless, at white space."""
    waiting, starts = "", True
    for text in texts:
        waiting += text
        cut = waiting.rfind("\n") + 1
        if not cut and len(waiting) > 4 * PIECE:
            cut = waiting.rfind(" ") + 1 or len(waiting)
        if cut:
            yield Piece(waiting[:cut], starts)
            waiting, starts = waiting[cut:], False
    if waiting or starts:
        yield Piece(waiting, starts)


def _wiki(all_lines: Iterable[str]) -> Iterator[Piece]:
    """Read ``<doc title="...">``, the title once more, paragraphs, ``</doc>``; what lies between two is left out."""
    part: list[str] = []
    size, inside, starts, title, name = 0, False, True, None, ""
    for line in all_lines:
        if line.startswith("<doc "):
            if inside:
                yield Piece("".join(part), starts, title=name)
            match = _TITLE.search(line)
            name = html.unescape(match[1]) if match else ""
            part, size, inside, starts, title = [], 0, True, True, name or None
        elif line.startswith("</doc>") and inside:
            yield Piece("".join(part), starts, title=name)
            inside = False
        elif inside and not (title is not None and html.unescape(line.strip()) == title):
            part.append(line + "\n")
            size += len(line)
            title = None if line.strip() else title
            if size > PIECE:
                yield Piece("".join(part), starts, title=name)
                part, size, starts = [], 0, False
        else:
            title = None
    if inside:
        yield Piece("".join(part), starts, title=name)


def _jsonl(all_lines: Iterable[str], path: str, field: str | None) -> Iterator[Piece]:
    for number, line in enumerate(all_lines, start=1):
        where = f"{name_of(path)}, line {number}"
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise InputError(f"{where} is not JSON: {error}") from None
        if not isinstance(record, dict):
            raise InputError(f"{where} must be a JSON object; got {type(record).__name__}")
        if field not in record:
            raise InputError(f"{where} has no field {field!r}; its fields are {', '.join(map(repr, record)) or 'none'}")
        yield Piece(_content(record[field], f"{where}: the field {field!r}"))


def _mediawiki(stream: io.BufferedReader, path: str) -> Iterator[Piece]:
    from xml.etree.ElementTree import ParseError

    try:
        from gensim.corpora.wikicorpus import extract_pages
    except ImportError:
        raise MissingExtraError("gensim", "gensim", "reading MediaWiki dumps") from None
    try:
        for name, text, _ in extract_pages(stream, filter_namespaces=("0",)):
            if text and not text.lstrip()[:9].lower().startswith("#redirect"):
                yield Piece(text, markup=True, title=name or "")
    except ParseError as error:
        raise InputError(f"{name_of(path)} is not a whole MediaWiki dump: {error}") from None
    except (AttributeError, ValueError):
        raise InputError(f"{name_of(path)} is not a MediaWiki dump in a version that gensim knows") from None


def stamp(source: str) -> str:
    """Describe a text well enough to tell it from another or from a later state of itself.

    Raises
    ------
    InputError
        If there is no such file.
    """
    files = [Path(file) for file in find_files(source) or ()]
    stats = [file.stat() for file in files]
    state = f"{Path(source).resolve()} {sum(s.st_size for s in stats)} {max(s.st_mtime_ns for s in stats)}"
    return hashlib.sha256(state.encode()).hexdigest()[:32]
