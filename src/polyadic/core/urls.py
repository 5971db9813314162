"""Files that may lie behind URLs: which there are, their states, their bytes.

Behind a URL it is fsspec that reads: ``https://``, ``s3://``, ``gs://`` and what else it knows, with the keys and the
settings that the library of each store looks for.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polyadic.core.errors import InputError, MissingExtraError, said

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

CHANGES = ("ETag", "etag", "mtime", "Last-Modified", "LastModified", "last_modified", "updated", "created")
"""What stores call that by which a file is told from a later state of itself."""
TOGETHER = 8
"""Parts of a file that a store is asked for at once, about as many as a browser asks for."""
SILENT = 60
"""Seconds that a server may say nothing."""
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")


class URL(os.PathLike[str]):
    """A URL as one of several paths, where :class:`pathlib.Path` would make one slash of two.

    Examples
    --------
    >>> os.fspath(URL("s3://texts/a.txt"))
    's3://texts/a.txt'
    """

    def __init__(self, url: str) -> None:
        self._url = url

    def __fspath__(self) -> str:
        return self._url

    __str__ = __fspath__


def is_url(path: str) -> bool:
    """Tell whether a path is a URL.

    Examples
    --------
    >>> [is_url(path) for path in ("s3://texts/a.txt", "C:/texts/a.txt", "-")]
    [True, False, False]
    """
    return _URL.match(path) is not None


def is_file(path: str) -> bool:
    """Tell whether a path is a file, which can be read twice and from any byte; of URLs that is taken for granted."""
    return is_url(path) or Path(path).is_file()


def suffix_of(path: str) -> str:
    """Give the last suffix of a path, or of what a URL names, in small letters.

    Examples
    --------
    >>> [suffix_of(path) for path in ("a.txt.GZ", "https://example.org/a.xz?download=1", "-")]
    ['.gz', '.xz', '']
    """
    return Path(without_query(path)).suffix.lower()


def without_query(path: str) -> str:
    """Give a path, or a URL without what stands behind the name.

    Examples
    --------
    >>> without_query("https://example.org/a.xz?download=1")
    'https://example.org/a.xz'
    """
    return re.split("[?#]", path)[0] if _of_web(path) else path


def files_behind(url: str) -> list[str]:
    """Give the file of a URL, all files below it, or those that it matches as a pattern; of the web only what it names.

    Raises
    ------
    InputError
        If there are none, or their store cannot be asked.
    MissingExtraError
        If what reads URLs is not installed.
    """
    if _of_web(url):
        return [url]
    store, name = _located(url)
    with _told(url):
        store.invalidate_cache()
        if store.isfile(name):
            return [url]
        if store.isdir(name):
            hidden = len(name.rstrip("/"))
            files = [each for each in store.find(name) if "/." not in each[hidden:]]
        else:
            files = [each for each in store.glob(name) if store.isfile(each)]
    if not files:
        raise InputError(f"no file {url}")
    return [store.unstrip_protocol(each) for each in sorted(files)]


def states_of(paths: Iterable[str], *, anew: bool = False) -> list[tuple[int, str]]:
    """Give of each file its bytes, 0 if its store does not tell, and what is another when it has changed.

    What :func:`files_behind` was told of stores is not asked again, unless ``anew``.

    Raises
    ------
    InputError
        If the store of a URL cannot be asked.
    MissingExtraError
        If what reads URLs is not installed.
    OSError
        If a file of this machine is not there.
    """
    states: list[tuple[int, str]] = []
    asked = None
    for path in paths:
        if is_url(path):
            store, name = _located(path)
            with _told(path):
                if anew and store is not asked:
                    store.invalidate_cache()
                    asked = store
                state = store.info(name)
            states.append((int(state.get("size") or 0), " ".join(str(state[key]) for key in CHANGES if key in state)))
        else:
            local = Path(path).stat()
            states.append((local.st_size, str(local.st_mtime_ns)))
    return states


def parts_of(path: str, spans: Sequence[tuple[int, int]]) -> Iterator[bytes]:
    """Give some bytes of a file after others; behind a URL, many of them are asked for together.

    Raises
    ------
    InputError
        If a URL cannot be read, or only from its beginning.
    """
    if not is_url(path):
        with Path(path).open("rb") as file:
            for start, stop in spans:
                file.seek(start)
                yield file.read(stop - start)
        return
    for first in spans[:1]:
        with open_url(path, first) as part:  # where a store gives only the whole, that is told here
            yield part.read()
    store, name = _located(path)
    for k in range(1, len(spans), TOGETHER):
        starts, stops = zip(*spans[k : k + TOGETHER], strict=True)
        with _told(path):
            parts = store.cat_ranges([name] * len(starts), starts, stops, on_error="raise")
        yield from parts


def bytes_of(paths: Iterable[str]) -> int:
    """Add up the bytes of files; raises what :func:`states_of` does."""
    return sum(size for size, _ in states_of(paths))


@contextlib.contextmanager
def open_url(url: str, span: tuple[int, int] | None = None) -> Iterator[Any]:
    """Open what a URL names, byte by byte in a row; or some of its bytes, asked for in one go.

    Raises
    ------
    InputError
        If it cannot be opened or read, or only from its beginning and ``span`` begins elsewhere.
    MissingExtraError
        If what reads URLs is not installed.
    """
    store, name = _located(url)
    how: dict[str, Any] = {"cache_type": "none"} if span else {"block_size": 0} if _of_web(url) else {}
    with _told(url):
        file = store.open(name, "rb", **how)
    with contextlib.closing(file):
        if span is None:
            yield _Remote(file, url)
            return
        size = span[1] - span[0]
        with _told(url):
            file.seek(span[0])
            data = file.read(size)
        if len(data) != size:
            raise InputError(f"{url} has changed, or its store does not give parts of it; download it first")
        yield io.BytesIO(data)


class _Remote(io.RawIOBase):
    """Bytes in a row; faults are told of the URL."""

    def __init__(self, file: Any, url: str) -> None:
        self._file, self._url = file, url

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        with _told(self._url):
            data = self._file.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)


def _of_web(url: str) -> bool:
    return url.lower().startswith(("http://", "https://"))


def _located(url: str) -> tuple[Any, str]:
    """Give the store of a URL, and by which name it knows the file."""
    try:
        from fsspec.core import url_to_fs
    except ImportError:
        raise MissingExtraError("fsspec", "remote", f"reading {url}") from None
    if "::" in url:
        raise InputError(f"{url} names a file within another, which is not read; unpack that one first")
    settings: dict[str, Any] = {}
    if _of_web(url):
        try:
            from aiohttp import ClientTimeout
        except ImportError:
            raise MissingExtraError("aiohttp", "remote", f"reading {url}") from None
        # a file is read as fast as it is encoded, so nothing is known of the time that it takes as a whole
        settings["client_kwargs"] = {"timeout": ClientTimeout(total=None, sock_connect=SILENT, sock_read=SILENT)}
    try:
        with _told(url):
            store, name = url_to_fs(url, **settings)
    except ImportError as error:
        raise InputError(f"cannot read {url}: {said(error)}") from None
    return store, name


@contextlib.contextmanager
def _told(url: str) -> Iterator[None]:
    """Say of which URL a store has told an error; the library of each has its own."""
    try:
        yield
    except ImportError:
        raise
    except FileNotFoundError as error:
        cause = f" ({said(error.__cause__)})" if error.__cause__ else ""
        raise InputError(f"no file {url}{cause}") from None
    except TimeoutError:
        raise InputError(f"cannot read {url}: its store has said nothing for too long; try again later") from None
    except Exception as error:
        raise InputError(f"cannot read {url}: {said(error)}") from error
