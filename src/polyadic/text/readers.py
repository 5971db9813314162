"""Read documents from files, folders, glob patterns, standard input or any iterable in bounded memory."""

from __future__ import annotations

import codecs
import glob
import hashlib
import json
import os
import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from polyadic.core.errors import InputError, InputWarning, SkippedFilesWarning, counted
from polyadic.core.frames import refuse_named
from polyadic.core.progress import note
from polyadic.core.streams import COMPRESSIONS, open_bytes
from polyadic.core.urls import bytes_of, files_behind, is_file, is_url, parts_of, states_of, suffix_of, without_query
from polyadic.text.characters import Decoding
from polyadic.text.formats import markup, office, plain, records, speech, tei, wordprocessor
from polyadic.text.pieces import RECOGNISED, File, Piece, Reading, Tokens, checked, nested, note_left_out, size_of
from polyadic.text.splitting import split

if TYPE_CHECKING:
    Advance = Callable[[float], None]

READERS: dict[str, Callable[[File], Iterator[Piece]]] = {
    "text": plain.read_text,
    "gutenberg": plain.read_gutenberg,
    "fasttext": plain.read_fasttext,
    "lines": plain.read_lines,
    "wiki": plain.read_wiki,
    "mediawiki": markup.read_mediawiki,
    "jsonl": records.read_json,
    **{name: partial(records.read_table, table_rows=rows) for name, rows in records.ROWS.items()},
    "xlsx": records.read_xlsx,
    "html": markup.read_html,
    "xml": tei.read_xml,
    "epub": markup.read_epub,
    "docx": wordprocessor.read_docx,
    "odt": wordprocessor.read_odt,
    "rtf": wordprocessor.read_rtf,
    "subtitles": speech.read_subtitles,
    "transcript": partial(speech.read_turns, events=True),
    "chat": partial(speech.read_turns, events=False),
    "pdf": office.read_pdf,
    "mail": office.read_mail,
    "mbox": office.read_mbox,
    "conllu": plain.read_conllu,
}
SUFFIXES = {
    f".{suffix}": kind
    for kind, suffixes in {
        "jsonl": ("jsonl", "ndjson", "json"),
        "csv": ("csv", "tsv", "tab"),
        "xlsx": ("xlsx", "xlsm"),
        "parquet": ("parquet", "arrow", "feather"),
        "html": ("html", "htm", "xhtml"),
        "xml": ("xml", "tei"),
        "mail": ("eml",),
        "subtitles": ("srt", "vtt", "ass", "ssa", "sub"),
        **{name: (name,) for name in ("epub", "docx", "odt", "rtf", "pdf", "mbox", "conllu")},
    }.items()
    for suffix in suffixes
}
"""Format by file suffix."""
OTHERS = {
    **dict.fromkeys((".doc", ".pages"), "save it as .docx or as text"),
    **dict.fromkeys((".xls", ".ods", ".numbers"), "save it as .xlsx or as .csv"),
    **dict.fromkeys((".ppt", ".pptx", ".odp"), "export its text"),
    **dict.fromkeys((".zip", ".tar", ".tgz", ".rar", ".7z"), "unpack it into a folder and use that"),
    **dict.fromkeys((".mobi", ".azw", ".azw3"), "convert it to .epub"),
}
"""Suffixes of unsupported formats, with advice."""
TASK, READ = 1 << 22, 1 << 26
"""Bytes read in one task, of small files or in a large one; and the largest file that a worker reads whole.
Larger files that cannot be split are read by the main process.
"""
CUTS = {"text": b"\n", "lines": b"\n", "wiki": b"\n<doc "}
"""Marks at which a file can be split into independently readable parts, by format; the cut is at the line end."""
SEARCHED = 1 << 16  # bytes after each task that are searched for such a mark
PACKED = 3.5  # assumed compression ratio
MAX_SURVEYED = 100  # maximum number of remote files examined before reading
MAX_HELD = 1 << 26
"""Characters of a file that are held back until it is completely read; a longer file cannot be skipped."""
MAX_NAMED = 5  # maximum number of skipped files named in a warning
COMMANDS = {
    "corpus": "lines, words, ngrams, collocates, keywords, diversity, trends, barcode, count or train",
    "counts": "train",
    "embedding": "neighbours, senses or evaluate",
    "workspace": "explore",
    "model": "topics assign, classify apply or another command for saved models",
}
"""Commands that take a folder of each kind."""
DOCUMENTS = {
    **dict.fromkeys(("lines", "fasttext"), "a line"),
    "jsonl": "an object",
    **dict.fromkeys(("csv", "xlsx", "parquet"), "a row"),
    **dict.fromkeys(("mail", "mbox"), "a message"),
    **dict.fromkeys(("wiki", "mediawiki"), "an article"),
    "xml": "a TEI text",
    "conllu": "a section that begins with # newdoc",
    "heading": "the text below a heading",
    "speaker": "a speech",
}
"""Unit that becomes one document, by format or value of ``documents``; a file for other formats."""

_CONLLU = re.compile(r"(#[^\n]*\n)*1(-\d+)?(\t[^\t\n]*){9}(\n|$)")

Source = str | os.PathLike[str] | Iterable[Any]


@dataclass
class Account:
    """Summary of the files read."""

    formats: Counter[str] = field(default_factory=Counter)  # number of files by format
    skipped: dict[str, str] = field(default_factory=dict)  # error messages of skipped files
    left_out: Counter[str] = field(default_factory=Counter)  # number of parts that are not running text, by kind
    decoding: Decoding = field(default_factory=Decoding)

    def add(self, other: Account) -> None:
        """Add another summary."""
        self.formats.update(other.formats)
        self.skipped |= other.skipped
        self.left_out.update(other.left_out)
        self.decoding.add(other.decoding)

    def report(self) -> None:
        """Note the encodings and what was left out, and warn about signs of a wrong encoding."""
        self.decoding.report()
        note_left_out(self.left_out)


def read(source: Source, **reading: Any) -> Iterator[str]:
    """Yield each document of ``source`` as a string.

    Parameters
    ----------
    source : path, folder, glob, URL, "-" or iterable
        Where to read from: a file (decompressed if it ends in ``.gz .bz2 .xz .lzma .zst``), all visible files below a
        folder in alphabetical order, a pattern such as ``"texts/**/*.txt"``, a URL (``"https://..."``, ``"s3://..."``;
        except for the web also a folder or a pattern), ``"-"`` for standard input, an iterable of paths
        (:class:`pathlib.Path`, :class:`~polyadic.core.urls.URL`), or an iterable of documents, which is read once. A
        document is a string, a list of tokens (one tokenized sentence) or a list of lists of tokens.
    **reading
        How files are read: see :class:`~polyadic.text.pieces.Reading`.
    """
    return (document.text for document in documents(source, **reading))


class Document(NamedTuple):
    """Text of a document and its metadata."""

    text: str
    fields: Mapping[str, str]


def documents(source: Source, **reading: Any) -> Iterator[Document]:
    """Yield each document of ``source`` with its metadata; see :func:`read` for the sources."""
    parts: list[str] = []
    fields: Mapping[str, str] | None = None
    for piece in pieces(source, Reading(**reading)):
        if piece.starts:
            if fields is not None:
                yield Document("".join(parts), fields)
            parts, fields = [], piece.fields
        elif not isinstance(piece.content, str):
            parts.append("\n")
        parts.append(as_text(piece))
    if fields is not None:
        yield Document("".join(parts), fields)


def name_of_document(fields: Mapping[str, str]) -> str:
    """Return the title of a document or else the file name, with its number in the text if it is a part of one."""
    name = " ".join((fields.get("title") or fields.get("file") or "").split())
    return f"{name}, {fields['part']}" if name and "part" in fields else name


def find_files(source: Source) -> list[str] | None:
    """Return the files of ``source`` in reading order, or None if ``source`` is an iterable of documents."""
    if isinstance(source, (list, tuple)) and source and all(isinstance(item, os.PathLike) for item in source):
        return [file for item in source for file in find_files(item) or ()]
    if not isinstance(source, (str, os.PathLike)):
        return None
    path = os.fspath(source)
    if is_url(path):
        return files_behind(path)
    # os.path rather than pathlib: a whole text passed by mistake is too long a name, which pathlib does not survive
    if path == "-" or (os.path.exists(path) and not os.path.isdir(path)):  # noqa: PTH110, PTH112  or a pipe: /dev/fd/63
        return [path]
    if os.path.isdir(path):  # noqa: PTH112
        below = sorted(file for file in Path(path).rglob("*") if file.is_file())
        below = [file for file in below if not any(p.startswith(".") for p in file.relative_to(path).parts)]
        files = [str(file) for file in _without_ours(path, below)]
        if not files:
            raise InputError(f"the folder {path} contains no files")
        return files
    files = sorted(file for file in glob.glob(path, recursive=True) if Path(file).is_file())  # noqa: PTH207  absolute patterns
    if not files:
        shown = path if len(path) <= 200 else path[:200] + "..."
        hint = "; a text itself must be in a file, or in a list of documents" if any(map(str.isspace, path)) else ""
        raise InputError(f"no file found at {shown!r}{hint}")
    return files


def _without_ours(path: str, files: list[Path]) -> list[Path]:
    """Leave out files in folders written by polyadic, with a warning; raise InputError if ``path`` is such a folder."""
    ours = {file.parent: kind for file in files if file.name == "meta.json" and (kind := _kind_of(file))}
    if Path(path) in ours:
        kind = ours[Path(path)]
        use = f"; use it with polyadic {COMMANDS[kind]}" if kind in COMMANDS else ""
        raise InputError(f"{path} is a folder of kind {kind!r} written by polyadic, not a folder of text{use}")
    if ours:
        named = ", ".join(map(str, [*ours][:MAX_NAMED])) + (", ..." if len(ours) > MAX_NAMED else "")
        what = f"left out {counted(len(ours), 'folder')} written by polyadic among the texts: {named}"
        warnings.warn(InputWarning(what), stacklevel=1)  # once, although files are found several times
    return [file for file in files if not ours.keys() & {*file.parents}]


def _kind_of(meta: Path) -> str:
    """Return the kind of a folder written by polyadic with this meta.json, or "" for another or a folder of texts."""
    try:
        content = json.loads(meta.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return ""
    ours = isinstance(content, dict) and {"kind", "version"} <= content.keys() and content["kind"] != "examples"
    return str(content["kind"]) if ours else ""


def pieces(
    source: Source, reading: Reading, *, advance: Advance | None = None, account: Account | None = None
) -> Iterator[Piece]:
    """Yield the documents of ``source`` in pieces of bounded size, and warn about skipped files.

    ``advance`` is called with the number of bytes read, or of documents if ``source`` is an iterable; ``account`` is
    filled with a summary.
    """
    account = Account() if account is None else account
    if (files := find_files(source)) is not None:
        yield from _of_files(files, reading, advance, account)
        account.report()
        return
    if not isinstance(source, Iterable):
        raise InputError(f"the source must be a path or an iterable of documents; got {type(source).__name__}")
    refuse_named(source, "documents")
    text, counts = True, account.left_out
    for number, item in enumerate(source):
        if isinstance(item, os.PathLike):
            yield from _of_files(find_files(item) or [], reading, None, account)
        else:
            if text and isinstance(item, str):
                text = False  # so the first is looked at
                if Path(item).suffix and os.path.isfile(item):  # noqa: PTH113 # as above
                    what = f"documents must be texts, but the first is the name of a file, {item!r}"
                    raise InputError(f"{what}; pass files as pathlib.Path")
            piece = Piece(checked(item, f"document {number}"))
            yield from [piece] if reading.documents is None else split([piece], reading, f"document {number}", counts)
        if advance is not None:
            advance(1)
    account.report()


def survey(source: Source, reading: Reading) -> dict[str, Any]:
    """Return the formats of a source, what a document is, and the numbers of files and of hard-wrapped files.

    The number of documents is included if each file is a document.
    """
    files = [path for path in find_files(source) or [] if path != "-" and is_file(path)]
    if sum(map(is_url, files)) > MAX_SURVEYED:
        return {"files": len(files)}
    formats: Counter[str] = Counter()
    wrapped = 0
    for path in files:
        try:
            with open_bytes(path) as stream:
                file = File(path, stream, reading, decoding=Decoding())
                kind = format_of(file)
                kind = "unknown" if kind == "text" and "\0" in file.head() else kind
                formats[kind] += 1
                how = reading.wrapped
                wrapped += kind == "text" and (plain.is_wrapped(file.head()) if how is None else how)
        except InputError:  # reported when the file is read
            formats["unknown"] += 1
    kinds = [f"{kind} ({n})" if len(formats) > 1 else kind for kind, n in formats.most_common()]
    unit = reading.documents
    names = sorted({DOCUMENTS.get(kind, f"a {unit}" if unit else "a file") for kind in ([unit] if unit else formats)})
    facts: dict[str, Any] = {"documents": len(files) - formats["unknown"]} if names == ["a file"] else {}
    facts |= {"document_is": f"{reading.words:,} words" if reading.words else " or ".join(names), "formats": kinds}
    return {"files": len(files), **facts, **({"wrapped": wrapped} if wrapped else {})} if files else {}


def note_documents(source: Source, reading: Reading) -> None:
    """Note how many files a source has, their formats, and what a document is."""
    facts = survey(source, reading)
    if "document_is" in facts:
        note(f"{counted(facts['files'], 'file')} ({', '.join(facts['formats'])}); a document is {facts['document_is']}")


def as_text(piece: Piece) -> str:
    """Convert a piece to plain text: remove markup, and join tokens with spaces and sentences with line breaks."""
    content = piece.content
    if isinstance(content, Tokens):
        return "".join(part for parts, _ in content.sentences for part in parts)
    if isinstance(content, str):
        return markup.clean_markup(content) if piece.markup else content
    return "\n".join(" ".join(sentence) for sentence in nested(content))


class Files(NamedTuple):
    """Files to be read one after another, skipping unreadable files if the reading settings allow this."""

    paths: tuple[str, ...]
    folder: str | None  # base of relative names, None for a single file
    reading: Reading
    span: tuple[int, int] | None = None  # byte range of the only path

    @classmethod
    def of(cls, paths: list[str], reading: Reading) -> Files:
        """Create an instance from the paths of all files of a source."""
        several = len(paths) > 1
        folder = os.path.commonpath([Path(path).absolute().parent for path in paths]) if several else None
        return cls(tuple(paths), folder, reading)

    @property
    def size(self) -> int:
        """Total size of the files in bytes."""
        return self.span[1] - self.span[0] if self.span else bytes_of(self.paths)

    def pieces(self, account: Account, advance: Advance | None = None) -> Iterator[Piece]:
        """Yield the text of the files in pieces."""
        may_skip = self.reading.errors == "skip" and self.folder is not None
        for path in self.paths:
            shown = os.fsencode(os.path.relpath(path, self.folder)).decode(errors="backslashreplace")  # valid Unicode
            named = {"file": shown} if self.folder is not None else {}
            parts, passed_on = _of_file(path, self.reading, advance, account, self.span), False
            try:
                for piece in _held(parts) if may_skip else parts:
                    passed_on = True
                    yield piece._replace(fields={**named, **piece.fields}) if piece.starts else piece
            except InputError as error:
                if passed_on or not may_skip:
                    raise
                account.skipped[path] = str(error)

    def runs(self) -> Iterator[Files]:
        """Yield groups of consecutive files, one group per task; a very large file forms its own group."""
        run: list[str] = []
        total = 0.0
        for path in self.paths:
            size = unpacked_size(path)
            if run and total + size > TASK:
                yield self._replace(paths=tuple(run))
                run, total = [], 0.0
            run.append(path)
            total += size
        if run:
            yield self._replace(paths=tuple(run))

    def ranges(self) -> list[Files]:
        """Split a file into byte ranges that can be read independently, or return [] for a small or indivisible file.

        Only uncompressed UTF-8 of unwrapped lines or of articles can be split, if its parts are not numbered. One of
        several files is read up to :data:`MAX_HELD` first, so that it can still be skipped if it is damaged there.
        """
        (path,), how = self.paths, self.reading
        size = bytes_of(self.paths)
        utf_8 = codecs.lookup(how.known_encoding or "utf-8").name == "utf-8"
        if size <= 2 * TASK or suffix_of(path) in COMPRESSIONS or not utf_8 or how.documents is not None:
            return []
        try:
            with open_bytes(path) as stream:
                file = File(path, stream, how, decoding=Decoding())
                kind = format_of(file)
                if kind not in CUTS:
                    return []
                texts = file.texts()
                first = next(texts, "")
                wrapped = plain.is_wrapped(first) if how.wrapped is None else how.wrapped
                if file.decoding.encodings or (kind == "text" and wrapped):
                    return []
                read = len(first)
                while self.folder is not None and read <= MAX_HELD and (text := next(texts, "")):
                    read += len(text)
            bounds = [0, *_places(path, CUTS[kind], size), size]
        except InputError:  # told where it is read
            return []
        how = replace(how, format=kind, wrapped=False, encoding="utf-8")
        cut = [self._replace(reading=how, span=span) for span in pairwise(bounds)]
        return cut if all(b - a <= READ for a, b in pairwise(bounds)) else []

    def warn_skipped(self, account: Account) -> None:
        """Warn about skipped files; raise InputError if all were skipped."""
        skipped = {path: account.skipped[path] for path in self.paths if path in account.skipped}
        if skipped and len(skipped) == len(self.paths):
            what = f"none of the {len(skipped):,} files could be read"
            raise InputError(f"{what}; the first error is: {skipped[self.paths[0]]}", "errors")
        if skipped:
            more = len(skipped) - MAX_NAMED
            named = "; ".join([*skipped.values()][:MAX_NAMED]) + (f"; and {more:,} more" if more > 0 else "")
            message = f"skipped {len(skipped):,} of {len(self.paths):,} files: {named}"
            warnings.warn(SkippedFilesWarning(message, "errors"), stacklevel=2)


def unpacked_size(path: str) -> float:
    """Estimate the number of bytes of text in a file."""
    return bytes_of([path]) * (PACKED if suffix_of(path) in (*COMPRESSIONS, ".zip") else 1.0)


def _of_files(files: list[str], reading: Reading, advance: Advance | None, account: Account) -> Iterator[Piece]:
    several = Files.of(files, reading)
    yield from several.pieces(account, advance)
    several.warn_skipped(account)


def _places(path: str, mark: bytes, size: int) -> Iterator[int]:
    """Yield the byte offsets at which a file can be split into tasks of about :data:`TASK` bytes."""
    starts = range(TASK, size, TASK)
    blocks = parts_of(path, [(start, min(start + SEARCHED, size)) for start in starts])
    for start, block in zip(starts, blocks, strict=True):
        if (place := block.find(mark)) >= 0:
            yield start + place + 1


def _of_file(
    path: str,
    reading: Reading,
    advance: Advance | None,
    account: Account,
    span: tuple[int, int] | None = None,
) -> Iterator[Piece]:
    start = span[0] if span else 0
    if reading.documents == "line" and reading.wrapped is None:
        reading = replace(reading, wrapped=False)
    with open_bytes(path, advance, span) as stream:
        file = File(path, stream, reading, start, account.left_out, account.decoding)
        kind = format_of(file)
        parts = READERS[kind](file)
        if reading.documents is not None:
            parts = split(parts, reading, file.name, account.left_out)
        for number, piece in enumerate(parts):
            goes_on = start and not number and kind == "text"
            yield piece._replace(starts=False) if goes_on else piece
    if not start:
        account.formats[kind] += 1
        if reading.format == "auto" and kind in RECOGNISED:
            account.left_out[kind] += 1


def _held(parts: Iterator[Piece]) -> Iterator[Piece]:
    """Buffer the pieces of a file until the whole file has been read or :data:`MAX_HELD` characters are exceeded."""
    held: list[Piece] = []
    size = 0
    for piece in parts:
        held.append(piece)
        size += size_of(piece)
        if size > MAX_HELD:
            break
    yield from held
    yield from parts


def format_of(file: File) -> str:
    """Return the format of a file from the settings, or detect the format from the first bytes or the suffix."""
    if file.reading.format != "auto":
        return file.reading.format
    name = Path(without_query(file.path))
    suffix = (name.with_suffix("") if suffix_of(file.path) in COMPRESSIONS else name).suffix.lower()
    if suffix in OTHERS:
        raise InputError(f"{file.name} is in an unsupported format: {OTHERS[suffix]}")
    head = file.head()
    start = head.lstrip()[:2000].lower()
    if start.startswith("<doc "):
        return "wiki"
    if "<mediawiki" in start and start.startswith(("<mediawiki", "<?xml")):
        return "mediawiki"
    if suffix in SUFFIXES:
        return SUFFIXES[suffix]
    if _CONLLU.match(start):
        return "conllu"
    beginnings = {"__label__": "fasttext", "<!doctype html": "html", "<html": "html", "<?xml": "xml", "%pdf-": "pdf"}
    beginnings |= {"{": "jsonl", "": "csv"} if file.reading.field is not None else {}
    kind = next((kind for beginning, kind in beginnings.items() if start.startswith(beginning)), None)
    return kind or ("gutenberg" if plain.GUTENBERG.search(head) else speech.kind_of(head)) or "text"


def stamp(source: Source) -> str:
    """Return a fingerprint of the files of a source that changes when a file is modified."""
    files = find_files(source) or []
    places = [file if is_url(file) else str(Path(file).resolve()) for file in files]
    return hashlib.sha256(os.fsencode(repr([*zip(places, states_of(files), strict=True)]))).hexdigest()[:32]
