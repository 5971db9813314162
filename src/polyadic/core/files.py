"""Write files and folders atomically, under a temporary name that is changed on success.

Whenever the process or the machine stops, a path holds either its old content or the complete new one. A folder
replaces another one by an atomic exchange of names on Linux and macOS. Elsewhere the old folder is first moved aside;
if the process is killed in between, the next access to the path moves it back.

Temporary names contain the process that writes them. Those of dead processes are removed by the next one that writes
into the same folder.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import hashlib
import json
import math
import os
import platform
import re
import secrets
import shutil
import sys
import tempfile
import zlib
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any

from polyadic.core.errors import InputError, unreadable


@contextlib.contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Write a file atomically: yield a temporary path, which replaces ``path`` on success and is deleted on failure."""
    target = Path(path)
    if target.is_dir():
        raise InputError(f"{target} is a folder; specify a file")
    if target.is_symlink() or (target.exists() and not target.is_file()):
        raise InputError(f"{target} is a link or a device and cannot be replaced; specify a regular file")
    _need_parent(target)
    _sweep(target.parent)
    draft = _unused(target.parent, target.suffix)
    try:
        with _named(target):
            draft.touch(mode=0o600, exist_ok=False)
            yield draft
            draft.chmod(0o666 & ~_umask())
            _flush(draft)
            draft.replace(target)
            _flush(target.parent)
    finally:
        _remove(draft)


@contextlib.contextmanager
def _named(target: Path) -> Iterator[None]:
    """Replace the name of a temporary file in an OSError by the name of the target."""
    try:
        yield
    except OSError as error:
        if error.filename is None or ".polyadic-" in os.fsdecode(error.filename):
            error.filename = str(target)
        raise


@contextlib.contextmanager
def whole_folder(path: str | os.PathLike[str], *, kind: str, overwrite: bool = False) -> Iterator[Path]:
    """Context manager that writes a folder atomically, via a temporary folder beside it.

    Yields the temporary folder, which takes the name ``path`` on success and is deleted on failure. With ``overwrite``
    only a folder of the same ``kind`` is replaced, so that a typing error deletes nothing else.
    """
    target = Path(path)
    check_replaceable(target, kind, overwrite=overwrite)
    draft = _unused(target.parent)
    try:
        with _named(target):
            draft.mkdir(mode=0o700)
            yield draft
            draft.chmod(0o777 & ~_umask())
            _seal(draft)
            durable = _OURS.fullmatch(target.parent.name) is None  # a temporary folder is of no use after a crash
            for part in (*draft.rglob("*"), draft) if durable else ():
                _flush(part)
            check_replaceable(target, kind, overwrite=overwrite)  # it may have been created or changed meanwhile
            if not target.exists():
                draft.replace(target)
            elif not _exchange(draft, target):
                aside = _unused(target.parent, of=target.name)
                target.replace(aside)
                try:
                    draft.replace(target)
                except BaseException:
                    aside.replace(target)
                    raise
                aside.replace(draft)
            _flush(target.parent)
    finally:
        _remove(draft)


def check_replaceable(path: str | os.PathLike[str], kind: str, *, overwrite: bool) -> None:
    """Raise InputError if :func:`whole_folder` cannot create or replace the folder."""
    target = Path(path)
    if target.parent.is_dir():
        _sweep(target.parent)
    if target.exists() and not (target.is_dir() and not any(target.iterdir())):
        if not overwrite:
            raise InputError(
                f"{target} exists already; choose another name, or replace it with overwrite=True", "overwrite"
            )
        if not (target / META).is_file() or read_meta(target)["kind"] != kind:
            raise InputError(
                f"{target} exists but is not a folder of kind {kind!r}, so it was not overwritten; choose another name"
            )
    if target.exists() and target.resolve() in (Path.cwd(), *Path.cwd().parents):
        raise InputError(f"{target} is or contains the current folder and cannot be replaced; choose another folder")
    _need_parent(target)


@contextlib.contextmanager
def made_folder(folder: Path) -> Iterator[None]:
    """Create a folder if it does not exist; delete it again if the ``with`` block fails and leaves it empty."""
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder} is a file; specify a folder")
    with locked(folder):
        new = not folder.exists()
        folder.mkdir(exist_ok=True)
        try:
            yield
        except BaseException:
            if new and not any(folder.iterdir()):
                folder.rmdir()
            raise


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Lock an output path for this process; raise InputError if another process on this machine has locked it.

    The lock is an empty temporary file beside the path, so that locks of dead processes are ignored.
    """
    _need_parent(path)
    target = path.parent.resolve() / path.name
    _sweep(target.parent)
    claim = _unused(target.parent, claim=target.name)
    try:
        with _named(path), _alone(target.parent):  # otherwise two processes could both find no lock
            for entry, match in _ours(target.parent):
                if entry.name.endswith(claim.name[-CLAIM:]) and int(match["process"]) != os.getpid() and _lives(match):
                    raise InputError(
                        f"process {match['process']} is writing {path}; wait until it ends, or choose another path"
                    )
            claim.touch(mode=0o600, exist_ok=False)
        yield
    finally:
        _remove(claim)


@contextlib.contextmanager
def folder_or_temporary(path: str | os.PathLike[str] | None) -> Iterator[tuple[Path, Callable[[], None]]]:
    """Yield the output folder and a function that does nothing, or a temporary one and a function that deletes it."""
    if path is not None:
        yield Path(path), lambda: None
        return
    _sweep(Path(tempfile.gettempdir()))
    temporary = _unused(Path(tempfile.gettempdir()))
    release = functools.partial(_remove, temporary)
    try:
        temporary.mkdir(mode=0o700)
        yield temporary / "folder", release
    except BaseException:
        release()
        raise


_OURS = re.compile(
    r"\.polyadic-(?P<host>[0-9a-f]{8})-(?P<process>\d+)-(?P<start>\d+)-[0-9a-f]{12}"
    r"(?:\.[^.]*|-for-[0-9a-f]{16}|-of-(?P<of>.+))?"
)
"""Names of temporary files, of locks (with a digest of the path), and of folders moved aside (with their name)."""
CLAIM = len("-for-") + 16


def _remove(draft: Path) -> None:
    """Delete a temporary file or folder, even if a signal arrives."""

    def remove() -> None:
        if draft.is_dir():
            shutil.rmtree(draft, ignore_errors=True)
        else:
            draft.unlink(missing_ok=True)

    try:
        remove()
    finally:
        remove()


def remove_whole(path: Path) -> None:
    """Delete a folder atomically: if the process is killed, the folder is complete or gone."""
    aside = _unused(path.parent)
    path.replace(aside)
    _remove(aside)


def _unused(folder: Path, suffix: str = "", *, of: str = "", claim: str = "") -> Path:
    """Choose an unused temporary path without creating it, so that Ctrl-C leaves no file behind."""
    process = os.getpid()
    name = f".polyadic-{_host()}-{process}-{_start(process) or 0}-{secrets.token_hex(6)}"
    suffix = f"-for-{hashlib.sha256(os.fsencode(claim)).hexdigest()[:16]}" if claim else suffix
    return folder / (f"{name}-of-{of}" if of else f"{name}{suffix}")


def _ours(folder: Path) -> list[tuple[os.DirEntry[str], re.Match[str]]]:
    with os.scandir(folder) as entries:
        return [(entry, match) for entry in entries if (match := _OURS.fullmatch(entry.name))]


def _lives(draft: re.Match[str]) -> bool:
    """Return whether a temporary file belongs to a running process of this machine."""
    return draft["host"] == _host() and _runs(int(draft["process"]), int(draft["start"]))


@contextlib.contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Hold an exclusive lock on a folder in the ``with`` block, if the file system supports locks."""
    try:
        import fcntl
    except ImportError:  # Windows
        yield
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        with contextlib.suppress(OSError):  # some file systems have no locks
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _sweep(folder: Path) -> None:
    """Delete temporary files left by dead processes, and restore folders that had been moved aside."""
    for entry, match in _ours(folder):
        if match["host"] != _host() or _lives(match):
            continue
        with contextlib.suppress(OSError):  # another process deletes it, or another user owns it
            if hasattr(os, "getuid") and entry.stat(follow_symlinks=False).st_uid != os.getuid():
                continue
            if match["of"] and not (folder / match["of"]).exists():
                Path(entry).rename(folder / match["of"])
            elif entry.is_dir(follow_symlinks=False):
                shutil.rmtree(entry)
            else:
                Path(entry).unlink()


@functools.cache
def _host() -> str:
    """Return an identifier of the machine or container in which this process runs."""
    name = platform.node()
    with contextlib.suppress(OSError):
        name += str(Path("/proc/self/ns/pid").stat().st_ino)
    return f"{zlib.crc32(name.encode()):08x}"


def _start(process: int) -> int | None:
    """Return the start time of a process in clock ticks, or None if the process has ended or the time is unknown."""
    try:
        stat = Path(f"/proc/{process}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        return None if stat[0] in "ZX" else int(stat[19])
    except (OSError, IndexError, ValueError):
        return None


def _runs(process: int, start: int) -> bool:
    """Return whether a process is running, or True if this cannot be determined."""
    if start:
        return _start(process) == start
    if os.name != "posix":
        return True
    try:
        os.kill(process, 0)
    except OSError as error:
        return not isinstance(error, ProcessLookupError)
    return True


def _exchange(one: Path, other: Path) -> bool:
    """Exchange the names of two paths atomically; return False if the operating system does not support it."""
    a, b = os.fsencode(one), os.fsencode(other)
    calls: dict[str, tuple[str, tuple[Any, ...]]] = {
        "linux": ("renameat2", (-100, a, -100, b, 2)),  # AT_FDCWD, RENAME_EXCHANGE
        "darwin": ("renamex_np", (a, b, 2)),  # RENAME_SWAP
    }
    name, arguments = calls.get(sys.platform, ("", ()))
    call = getattr(ctypes.CDLL(None), name, None) if name else None
    return call is not None and call(*arguments) == 0


def _flush(path: Path) -> None:
    """Flush a file, or the entries of a folder, to disk."""
    if os.name != "posix":
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError:
        if not path.is_dir():  # not all systems can sync folders
            raise
    finally:
        os.close(descriptor)


def plain(value: Any) -> Any:  # noqa: PLR0911 # one line for each kind
    """Convert settings and results to JSON types, without values that vary between runs, such as memory addresses."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, set | frozenset):
        return [plain(item) for item in sorted(value)]
    if isinstance(value, functools.partial):
        return {value.func.__qualname__: plain(value.keywords)}
    if value is None or isinstance(value, bool | int | float | str):
        return None if isinstance(value, float) and not math.isfinite(value) else value
    if hasattr(value, "tolist"):  # numpy's numbers and arrays
        return plain(value.tolist())
    if hasattr(value, "__qualname__"):
        return value.__qualname__
    if {"__repr__", "__str__"}.isdisjoint(name for cls in type(value).__mro__[:-1] for name in vars(cls)):
        raise TypeError(
            f"an object of type {type(value).__qualname__} cannot be written as JSON: it defines no __str__ or __repr__"
        )
    return str(value)


META = "meta.json"
DAMAGE = (OSError, TypeError, ValueError, AttributeError, EOFError, ImportError, IndexError)
"""Exceptions that may occur when a damaged folder is read, besides those of the libraries that read its files."""
HASH_THREADS = 4  # files hashed at a time


def write_meta(folder: Path, kind: str, version: int, **content: Any) -> None:
    """Write ``meta.json`` with the kind of the folder, the format version and further metadata."""
    text = json.dumps({"kind": kind, "version": version, **content}, indent=2, ensure_ascii=False)
    (folder / META).write_text(text + "\n", encoding="utf-8", errors="backslashreplace")  # file names may be invalid


def read_meta(folder: str | os.PathLike[str], kind: str | None = None, version: int | None = None) -> dict[str, Any]:
    """Read ``meta.json``; raise InputError if it is missing, damaged, or has the wrong kind or version."""
    path = Path(folder) / META
    if not path.parent.exists() and path.parent.parent.is_dir():
        _sweep(path.parent.parent)
    try:
        meta = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        if not Path(folder).exists():
            raise InputError(f"there is no folder {folder}") from None
        what = "the folder has no meta.json" if Path(folder).is_dir() else "it is not a folder"
        raise InputError(f"{folder} contains no {kind or 'output of polyadic'}: {what}") from None
    except (OSError, ValueError, RecursionError) as error:  # ValueError: bad UTF-8, bad JSON, huge numbers
        raise unreadable(path, error) from None
    if not isinstance(meta, dict) or "kind" not in meta:
        raise InputError(f"{path} is not valid metadata: it has no key 'kind'")
    if kind is not None and meta["kind"] != kind:
        raise InputError(f"{folder} is a folder of kind {meta['kind']!r}, but a folder of kind {kind!r} is required")
    if version is not None and meta.get("version") != version:
        raise InputError(
            f"{folder} uses version {meta.get('version')!r} of the {kind} format, but this version of polyadic reads"
            f" version {version}"
        )
    return meta


def _seal(folder: Path) -> None:
    """Add SHA-256 digests of all files in the folder to ``meta.json``, if it exists."""
    if (folder / META).is_file():
        meta = json.loads((folder / META).read_text(encoding="utf-8")) | {"sealed": True}
        write_meta(folder, **meta | {"digests": {**_digests(folder), META: _sealed(meta)}})


def _digests(folder: Path, but: Collection[str] = ()) -> dict[str, str]:
    from concurrent.futures import ThreadPoolExecutor

    names = [path.relative_to(folder).as_posix() for path in sorted(folder.rglob("*")) if path.is_file()]
    names = [name for name in names if name not in (META, *but)]
    with ThreadPoolExecutor(HASH_THREADS) as pool:
        return dict(zip(names, pool.map(lambda name: _digest(folder / name), names), strict=True))


def _digest(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _sealed(meta: dict[str, Any]) -> str:
    """Return the SHA-256 digest of the metadata without the stored digests."""
    said = {name: value for name, value in meta.items() if name != "digests"}
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()


def check_whole(folder: str | os.PathLike[str], *, but: Collection[str] = ()) -> int:
    """Verify the checksums of all files in a folder but those named in ``but``; return the number of verified files."""
    meta = read_meta(folder)
    digests = meta.get("digests", {})
    if not isinstance(digests, dict) or ("sealed" in meta and META not in digests):
        raise InputError(f"{Path(folder) / META} is damaged: its checksums are missing")
    found = {META: _sealed(meta), **(_digests(Path(folder), but) if digests else {})}
    for name, digest in digests.items():
        if name in but:
            continue
        if name not in found:
            raise InputError(f"{folder} is damaged: {name} is missing")
        if found[name] != digest:
            raise InputError(f"{Path(folder) / name} is damaged: its content does not match its checksum")
    return len(digests.keys() - {*but})


@contextlib.contextmanager
def checked_in_background(folder: Path, *, but: Collection[str] = ()) -> Iterator[None]:
    """Verify the files of a folder in a background thread while the ``with`` block runs."""
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1) as pool:
        whole = pool.submit(check_whole, folder, but=but)
        yield
        whole.result()


@contextlib.contextmanager
def damage_as_input_error(folder: Path) -> Iterator[None]:
    """Convert exceptions that are raised while reading a folder to InputError."""
    from safetensors import SafetensorError

    try:
        yield
    except KeyError as error:
        raise InputError(f"{folder} is damaged: {error} is missing") from None
    except FileNotFoundError as error:
        raise InputError(f"{folder} is damaged: {Path(error.filename).name} is missing") from None
    except (*DAMAGE, SafetensorError) as error:
        raise InputError(f"{folder} is damaged: {error}") from None


def numbered(what: str, names: Any) -> dict[str, int]:
    """Map each name in a list to its index; raise ValueError if the names are not distinct strings."""
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names) or len({*names}) < len(names):
        raise ValueError(f"{what} must be distinct strings")
    return {name: at for at, name in enumerate(names)}


def _need_parent(target: Path) -> None:
    if not target.parent.is_dir():
        raise InputError(f"cannot write {target}: the folder {target.parent} does not exist")


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def read_names(path: Path) -> list[str]:
    """Read a text file with one name per line; blank lines are skipped."""
    from polyadic.core.streams import text_lines

    return [name for line in text_lines(str(path)) if (name := line.strip())]
