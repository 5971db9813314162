"""Read text from plain or compressed files, URLs and standard input in blocks."""

from __future__ import annotations

import bz2
import codecs
import contextlib
import gzip
import io
import lzma
import re
import sys
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any, BinaryIO

from polyadic.core.errors import InputError, MissingExtraError, unreadable
from polyadic.core.urls import is_url, open_url, suffix_of

BLOCK = 1 << 20  # bytes read at once
MAX_LINE_LENGTH = 1 << 27  # maximum number of characters of a line
SAMPLE, TELLING = 1 << 22, 1 << 15
"""Bytes of a file from which its encoding is detected; and of its lines that are not ASCII."""
UNLIKELY = ["mac-latin2"]  # which chardet reports for English with the quotation marks of cp1252
_NOT_LATIN = re.compile("[\u0370-\u1cff]")
_MIXED = re.compile(f"[A-Za-z]{_NOT_LATIN.pattern}|{_NOT_LATIN.pattern}[A-Za-z]")
COMPRESSIONS = (".gz", ".bz2", ".xz", ".lzma", ".zst", ".zip")


def name_of(path: str) -> str:
    """Return the display name of a path, which is "standard input" for "-"."""
    return "standard input" if path == "-" else path


@contextlib.contextmanager
def open_bytes(
    path: str, advance: Callable[[float], None] | None = None, span: tuple[int, int] | None = None
) -> Iterator[io.BufferedReader]:
    """Open a file, URL or standard input (``"-"``) and decompress it according to its suffix; a zip must hold one file.

    ``advance`` is called with the number of (compressed) bytes of each read; ``span`` is a range of an uncompressed
    file.
    """
    suffix = suffix_of(path)
    try:
        with contextlib.ExitStack() as stack:
            file: Any
            if path == "-":
                file = sys.stdin.buffer
            elif is_url(path):
                file = stack.enter_context(open_url(path, span))
            else:
                file = stack.enter_context(open(path, "rb", buffering=0))  # noqa: PTH123
                if span is not None:
                    file.seek(span[0])
            raw = stack.enter_context(_detached(_Watched(file, advance, span and span[1] - span[0])))
            yield stack.enter_context(_detached(_decompressed(raw, suffix, name_of(path))))
    except (EOFError, lzma.LZMAError, zlib.error, gzip.BadGzipFile, zipfile.BadZipFile) as error:
        raise InputError(_broken(path, suffix, error)) from None
    except OSError as error:
        if error.errno is None:  # bz2 reports broken data so
            raise InputError(_broken(path, suffix, error)) from None
        raise unreadable(name_of(path), error) from None


def blocks(
    stream: BinaryIO, path: str, *, encoding: str | None = None, errors: str = "strict", start: int = 0
) -> Iterator[str]:
    r"""Decode a stream block by block and convert line endings to ``\n``; the default encoding is UTF-8.

    ``start`` is the position of the stream in its file, for error messages.
    """
    given = "convert it to UTF-8" if encoding is None else "set the encoding"
    fix = given if encoding is None else f"{given}, or errors='replace' or errors='ignore'"
    binary = InputError(
        f"{name_of(path)} is not a text file: it contains NUL bytes (if the encoding is UTF-16 or UTF-32, {given})"
    )
    if encoding is None or codecs.lookup(encoding).name == "utf-8":
        encoding = "utf-8" if start else "utf-8-sig"
    decoder = io.IncrementalNewlineDecoder(codecs.getincrementaldecoder(encoding)(errors), translate=True)
    offset, data = start, b"."
    while data:
        data = stream.read(BLOCK)
        offset += len(data)
        try:
            text = decoder.decode(data, final=not data)
        except UnicodeDecodeError as error:
            if b"\0" in data and "16" not in encoding and "32" not in encoding:
                raise binary from None
            at = offset - len(error.object) + error.start
            raise InputError(
                f"{name_of(path)} is not {encoding.removesuffix('-sig')}: byte {at} ({error.object[error.start]:#04x}) "
                f"is invalid; {fix}",
                "errors",
            ) from None
        except UnicodeError as error:  # such as UTF-16 without a byte order mark
            raise InputError(f"{name_of(path)} is not {encoding}: {error}") from None
        if "\0" in text:
            raise binary
        if text:
            yield text


def text_lines(path: str, encoding: str | None = None) -> Iterator[str]:
    """Yield the lines of a text file, which may be compressed, without line ends; the encoding is detected."""
    with open_bytes(path) as stream:
        yield from lines(decoded(stream, path, encoding)[0])


def decoded(stream: BinaryIO, path: str, encoding: str | None = None, **how: Any) -> tuple[Iterator[str], str]:
    """Return the decoded blocks of a stream and the encoding, which is detected by :func:`encoding_of` by default.

    ``how`` are further arguments of :func:`blocks`.
    """
    if encoding is not None:
        return blocks(stream, path, encoding=encoding, **how), encoding
    sample = stream.read(SAMPLE)
    found = encoding_of(sample)
    prefixed: Any = _Prefixed(sample, stream)
    named = found if found != "utf-8" or how else None  # None: for the message of a table, which has no such setting
    return blocks(prefixed, path, encoding=named, **how), found


def encoding_of(sample: bytes) -> str:
    """Detect the encoding of the beginning of a text: by its byte order mark, as UTF-8 or UTF-16, or by chardet.

    Bytes that are UTF-8 but for a few are reported as UTF-8, so that reading them fails and names the place.
    """
    marks = {codecs.BOM_UTF8: "utf-8", codecs.BOM_UTF32_LE: "utf-32", codecs.BOM_UTF32_BE: "utf-32"}
    marks |= {codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
    if mark := next((mark for mark in marks if sample.startswith(mark)), None):
        return marks[mark]
    text = codecs.getincrementaldecoder("utf-8")("replace").decode(sample)
    bad = text.count("\ufffd")
    first, second = sample[::2].count(b"\0"), sample[1::2].count(b"\0")
    wide = "utf-16-le" if second > first else "utf-16-be"
    latin = (first + second) * 4 > len(sample) and min(first, second) * 20 < max(first, second)
    if latin and not re.search("[\0-\x08\x0e-\x1f]", sample.decode(wide, "ignore")):  # else binary data
        return wide
    if not bad or bad * 10 <= len(text) - len(text.encode("ascii", "ignore")) - bad or b"\0" in sample:
        return "utf-8"
    import chardet

    telling = b"\n".join(line for line in sample.splitlines() if not line.isascii())
    found = chardet.detect(telling[:TELLING], exclude_encodings=UNLIKELY)["encoding"] or "utf-8"
    text = telling.decode(found, "replace")
    mixed = len(_MIXED.findall(text)) * 2 > len(_NOT_LATIN.findall(text)) > 0  # "caf\u0439" is "café"
    return "cp1252" if mixed or text == telling.decode("cp1252", "replace") else found.lower()


class _Prefixed:
    """Stream that returns bytes already read before the rest."""

    def __init__(self, data: bytes, stream: BinaryIO) -> None:
        self._data, self._stream = memoryview(data), stream

    def read(self, size: int) -> bytes:
        data, self._data = bytes(self._data[:size]), self._data[size:]
        return data or self._stream.read(size)


def lines(texts: Iterable[str]) -> Iterator[str]:
    r"""Split consecutive blocks of text into lines without ``\n``."""
    unfinished: list[str] = []
    number = 1
    for text in texts:
        first, *rest = text.split("\n")
        unfinished.append(first)
        if len(unfinished) * BLOCK > MAX_LINE_LENGTH and sum(map(len, unfinished)) > MAX_LINE_LENGTH:
            raise InputError(
                f"line {number} is longer than {MAX_LINE_LENGTH:,} characters; the file is probably not a text file"
                " with lines"
            )
        number += len(rest)
        if rest:
            yield "".join(unfinished)
            yield from rest[:-1]
            unfinished = [rest[-1]]
    if last := "".join(unfinished):
        yield last


def _broken(path: str, suffix: str, error: Exception) -> str:
    what = "is truncated" if isinstance(error, EOFError) else f"is not a valid {suffix} file"
    return f"cannot decompress {name_of(path)}: the file {what} ({str(error).rstrip('.')})"


@contextlib.contextmanager
def _detached(raw: io.RawIOBase) -> Iterator[io.BufferedReader]:
    """Wrap a raw stream in a buffer that leaves the stream open, because standard input must not be closed."""
    buffered: io.BufferedReader[Any] = io.BufferedReader(raw, BLOCK)
    try:
        yield buffered
    finally:
        with contextlib.suppress(ValueError):  # a reader that was not exhausted is closed after its file
            buffered.detach()


def _decompressed(raw: io.BufferedReader, suffix: str, name: str) -> Any:
    readers: Any = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open, ".lzma": lzma.open, ".zst": _Zstandard}
    if suffix in readers:
        return readers[suffix](raw)
    if suffix == ".zip":
        archive = zipfile.ZipFile(io.BytesIO(raw.read()))
        files = [each for each in archive.namelist() if not each.endswith("/") and not each.startswith("__MACOSX/")]
        if len(files) != 1:
            raise InputError(
                f"{name} contains {len(files):,} files, not one; unpack it and use the files or the folder"
            )
        return archive.open(files[0])
    return _Watched(raw, None)


class _Watched(io.RawIOBase):
    """Stream wrapper that reports each read to a callback and optionally stops after ``limit`` bytes."""

    def __init__(self, source: Any, advance: Callable[[float], None] | None, limit: int | None = None) -> None:
        self._source = source
        self._advance = advance
        self._limit = limit

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        n = self._source.readinto(buffer if self._limit is None else memoryview(buffer)[: self._limit]) or 0
        if self._limit is not None:
            self._limit -= n
        if self._advance is not None:
            self._advance(n)
        return int(n)


class _Zstandard(io.RawIOBase):
    """Reader of files with one or more Zstandard frames, which raises EOFError if the data are truncated."""

    def __init__(self, source: io.BufferedReader) -> None:
        try:
            import zstandard
        except ImportError:
            raise MissingExtraError("zstandard", "zst", "reading .zst files") from None
        self._source = source
        self._new = zstandard.ZstdDecompressor().decompressobj
        self._fault = zstandard.ZstdError
        self._frame: Any = None
        self._ready = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._ready:
            data = self._frame.unused_data if self._frame is not None and self._frame.eof else b""
            data = data or self._source.read1(BLOCK >> 8)  # which may become a thousand times as much
            if not data:
                if self._frame is not None and not self._frame.eof:
                    raise EOFError("the last frame is incomplete")
                return 0
            if self._frame is None or self._frame.eof:
                self._frame = self._new()
            try:
                self._ready = memoryview(self._frame.decompress(data))
            except self._fault as error:
                raise OSError(str(error)) from None
        n = min(len(buffer), len(self._ready))
        buffer[:n] = self._ready[:n]
        self._ready = self._ready[n:]
        return n
