"""List, check and read local files and URLs.

URLs are read by fsspec: ``https://``, ``s3://``, ``gs://`` and others, with the credentials that the library of each
store finds.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from polyadic.core.errors import InputError, error_text, needing

CHANGES = ("ETag", "etag", "mtime", "Last-Modified", "LastModified", "last_modified", "updated", "created")
"""Keys by which stores report a version or modification time."""
MAX_RANGES = 8  # byte ranges of a file requested at once, about as many as by a browser
TIMEOUT = 60  # seconds after which a silent server is given up
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")


class URL(os.PathLike[str]):
    """URL as a path-like object that keeps the double slash, unlike :class:`pathlib.Path`."""

    def __init__(self, url: str) -> None:
        self._url = url

    def __fspath__(self) -> str:
        return self._url

    __str__ = __fspath__


def is_url(path: str) -> bool:
    """Return whether a path is a URL."""
    return _URL.match(path) is not None


def is_file(path: str) -> bool:
    """Return whether a path is a regular file or a URL, and not a pipe or another stream that is read only once."""
    return is_url(path) or Path(path).is_file()


def suffix_of(path: str) -> str:
    """Return the last suffix of a path or URL, in lower case."""
    return Path(without_query(path)).suffix.lower()


def without_query(path: str) -> str:
    """Return a path or URL without its query and fragment."""
    return re.split("[?#]", path)[0] if _of_web(path) else path


def files_behind(url: str) -> list[str]:
    """List the files at a URL: one file (always for ``http``), all below a folder, or the matches of a glob pattern."""
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
        raise InputError(f"no file found at {url}")
    return [store.unstrip_protocol(each) for each in sorted(files)]


def states_of(paths: Iterable[str], *, anew: bool = False) -> list[tuple[int, str]]:
    """Return the size (0 if unknown) and the version or time of each file; listings are cached unless ``anew``."""
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
    """Yield the content of byte ranges of a file; for a URL, several ranges are requested at a time."""
    if not is_url(path):
        with Path(path).open("rb") as file:
            for start, stop in spans:
                file.seek(start)
                yield file.read(stop - start)
        return
    for first in spans[:1]:
        with open_url(path, first) as part:  # raises if the store does not support ranges
            yield part.read()
    store, name = _located(path)
    for k in range(1, len(spans), MAX_RANGES):
        starts, stops = zip(*spans[k : k + MAX_RANGES], strict=True)
        with _told(path):
            parts = store.cat_ranges([name] * len(starts), starts, stops, on_error="raise")
        yield from parts


def bytes_of(paths: Iterable[str]) -> int:
    """Return the total size of the given files in bytes; errors are those of :func:`states_of`."""
    return sum(size for size, _ in states_of(paths))


@contextlib.contextmanager
def open_url(url: str, span: tuple[int, int] | None = None) -> Iterator[Any]:
    """Open a URL as a binary stream, or read a byte range into memory."""
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
            raise InputError(
                f"{url} changed while it was read, or the server does not support byte ranges; download the file first"
            )
        yield io.BytesIO(data)


class _Remote(io.RawIOBase):
    """Binary stream that reads from a URL and adds the URL to error messages."""

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
    """Return the file system of a URL and the path of the file within it."""
    with needing("fsspec", "remote", f"reading {url}"):
        from fsspec.core import url_to_fs
    if "::" in url:
        raise InputError(f"{url} names a file within an archive, which is not supported; unpack the archive first")
    settings: dict[str, Any] = {}
    if _of_web(url):
        with needing("aiohttp", "remote", f"reading {url}"):
            from aiohttp import ClientTimeout
        # no total timeout: a file is read only as fast as it is processed
        settings["client_kwargs"] = {"timeout": ClientTimeout(total=None, sock_connect=TIMEOUT, sock_read=TIMEOUT)}
    try:
        with _told(url):
            store, name = url_to_fs(url, **settings)
    except ImportError as error:
        raise InputError(f"cannot read {url}: {error_text(error)}") from None
    return store, name


@contextlib.contextmanager
def _told(url: str) -> Iterator[None]:
    """Convert any error of a file store to an InputError that names the URL."""
    try:
        yield
    except ImportError:
        raise
    except FileNotFoundError as error:
        cause = f" ({error_text(error.__cause__)})" if error.__cause__ else ""
        raise InputError(f"no file found at {url}{cause}") from None
    except TimeoutError:
        raise InputError(f"cannot read {url}: the server does not respond; try again later") from None
    except Exception as error:
        raise InputError(f"cannot read {url}: {error_text(error)}") from error
