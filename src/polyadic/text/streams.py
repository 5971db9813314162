"""Read text from plain or compressed files, URLs and standard input in blocks."""

from __future__ import annotations

import bz2
import codecs
import contextlib
import gzip
import io
import lzma
import sys
import zlib
from typing import TYPE_CHECKING, Any, BinaryIO

from polyadic.core.errors import InputError, MissingExtraError, unreadable
from polyadic.core.urls import is_url, open_url, suffix_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

BLOCK = 1 << 20  # bytes read at once
MAX_LINE_LENGTH = 1 << 27
"""Maximum number of characters of a line."""
COMPRESSIONS = (".gz", ".bz2", ".xz", ".lzma", ".zst")


def name_of(path: str) -> str:
    """Return the display name of a path, which is "standard input" for "-"."""
    return "standard input" if path == "-" else path


@contextlib.contextmanager
def open_bytes(
    path: str, advance: Callable[[float], None] | None = None, span: tuple[int, int] | None = None
) -> Iterator[io.BufferedReader]:
    """Open a file, URL or standard input (``"-"``) and decompress it according to its suffix.

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
            yield stack.enter_context(_detached(_decompressed(raw, suffix)))
    except (EOFError, lzma.LZMAError, zlib.error, gzip.BadGzipFile) as error:
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
    last = "".join(unfinished)
    if last:
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
        buffered.detach()


def _decompressed(raw: io.BufferedReader, suffix: str) -> Any:
    if suffix == ".gz":
        return gzip.GzipFile(fileobj=raw)
    if suffix == ".bz2":
        return bz2.BZ2File(raw)
    if suffix in {".xz", ".lzma"}:
        return lzma.LZMAFile(raw)
    if suffix == ".zst":
        return _Zstandard(raw)
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
