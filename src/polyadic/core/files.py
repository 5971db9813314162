"""Files and folders that are either whole or absent: written under a temporary name, then renamed.

What is promised: whatever ends the process, and at whatever moment, under the name lies what was there before, or all
of what is new; and so it is after a crash of the machine, as contents reach the disk before names. A folder takes the
name of another by an exchange of names, in one step, on Linux and macOS. Where the system cannot, the old one is moved
aside first, and comes back with the next reading or writing of that name should a kill come in between.

Drafts are named after the process that writes them. Those whose process is gone are swept away by the next one that
writes into the same folder.
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
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polyadic.core.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator


@contextlib.contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give a temporary path beside ``path``; on success it takes the name, on failure it vanishes.

    Raises
    ------
    InputError
        If that is a folder, or would lie in none.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> target = pathlib.Path(tempfile.mkdtemp()) / "a.txt"
    >>> with whole_file(target) as draft:
    ...     _ = draft.write_text("done")
    >>> target.read_text()
    'done'
    """
    target = Path(path)
    if target.is_dir():
        raise InputError(f"{target} is a folder; name a file")
    if target.is_symlink() or (target.exists() and not target.is_file()):
        raise InputError(f"{target} is a link or a device, and is not replaced; name a file")
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
    """Let failures of the system speak of what is written, and not of its draft or of nothing."""
    try:
        yield
    except OSError as error:
        if error.filename is None or ".polyadic-" in os.fsdecode(error.filename):
            error.filename = str(target)
        raise


@contextlib.contextmanager
def whole_folder(path: str | os.PathLike[str], *, kind: str, overwrite: bool = False) -> Iterator[Path]:
    """Give a temporary folder beside ``path``; on success it takes the name, on failure it vanishes.

    Parameters
    ----------
    path : path
        The folder to make.
    kind : str
        What the folder holds, written by :func:`write_meta`. With ``overwrite`` an existing folder is replaced only
        if it is of the same kind, so that a slip of the fingers never deletes something else.
    overwrite : bool
        Whether an existing folder of the same kind is replaced.

    Raises
    ------
    InputError
        If the folder exists and may not be replaced.
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
            for part in (*draft.rglob("*"), draft):
                _flush(part)
            check_replaceable(target, kind, overwrite=overwrite)  # it may have come into being, or changed, meanwhile
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
    """Refuse a folder that :func:`whole_folder` could not write, before work begins.

    Raises
    ------
    InputError
        If it exists, is not empty, and may not be overwritten or holds something else; if one stands in it; if its
        parent does not exist.
    """
    target = Path(path)
    if target.parent.is_dir():
        _sweep(target.parent)
    if target.exists() and not (target.is_dir() and not any(target.iterdir())):
        if not overwrite:
            raise InputError(f"{target} exists already; choose another name, or overwrite it (--force, overwrite=True)")
        if read_meta(target)["kind"] != kind:
            raise InputError(f"{target} exists and is no {kind}, so it is not overwritten; choose another name")
    if target.exists() and target.resolve() in (Path.cwd(), *Path.cwd().parents):
        raise InputError(f"{target} is the folder you stand in, or holds it, and cannot be replaced; name another")
    _need_parent(target)


@contextlib.contextmanager
def made_folder(folder: Path) -> Iterator[None]:
    """Make a folder if it is not there, and take it away again if the body fails and leaves nothing in it.

    Raises
    ------
    InputError
        If it is a file, if the folder it is to lie in does not exist, or another process works in it.
    """
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder} is a file; name a folder")
    with claimed(folder):
        new = not folder.exists()
        folder.mkdir(exist_ok=True)
        try:
            yield
        except BaseException:
            if new and not any(folder.iterdir()):
                folder.rmdir()
            raise


@contextlib.contextmanager
def claimed(path: Path) -> Iterator[None]:
    """Keep a name for this process, which is to write it: others on this machine are refused meanwhile.

    A claim is an empty file beside, named as drafts are, so that those of dead processes count for nothing.

    Raises
    ------
    InputError
        If another process has claimed it, or there is no folder for it to lie in.
    """
    _need_parent(path)
    target = path.parent.resolve() / path.name
    _sweep(target.parent)
    claim = _unused(target.parent, claim=target.name)
    try:
        with _named(path), _alone(target.parent):  # or two could look before either claims
            for entry, match in _ours(target.parent):
                if entry.name.endswith(claim.name[-CLAIM:]) and int(match["process"]) != os.getpid() and _lives(match):
                    raise InputError(
                        f"process {match['process']} is writing {path}; wait until it has ended, or name another"
                    )
            claim.touch(mode=0o600, exist_ok=False)
        yield
    finally:
        _remove(claim)


@contextlib.contextmanager
def folder_or_temporary(path: str | os.PathLike[str] | None) -> Iterator[tuple[Path, Callable[[], None]]]:
    """Give the folder to make, and what deletes it in the end: nothing if it was named, all of it if it is temporary.

    The caller hands the second to :func:`weakref.finalize` of the object that reads from the folder.
    """
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
"""Names of drafts, of claims, with a digest of what is claimed, and of what was moved aside, with the name it had."""
CLAIM = len("-for-") + 16


def _remove(draft: Path) -> None:
    """Delete a draft, or what is left of it; all of it also if a signal comes meanwhile."""

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
    """Delete a folder, such that a kill leaves all of it, or nothing under its name and a draft to be swept."""
    aside = _unused(path.parent)
    path.replace(aside)
    _remove(aside)


def _unused(folder: Path, suffix: str = "", *, of: str = "", claim: str = "") -> Path:
    """Choose a path that nothing has, before it is made: then nothing stays if Ctrl-C comes in between."""
    process = os.getpid()
    name = f".polyadic-{_host()}-{process}-{_start(process) or 0}-{secrets.token_hex(6)}"
    suffix = f"-for-{hashlib.sha256(os.fsencode(claim)).hexdigest()[:16]}" if claim else suffix
    return folder / (f"{name}-of-{of}" if of else f"{name}{suffix}")


def _ours(folder: Path) -> list[tuple[os.DirEntry[str], re.Match[str]]]:
    with os.scandir(folder) as entries:
        return [(entry, match) for entry in entries if (match := _OURS.fullmatch(entry.name))]


def _lives(draft: re.Match[str]) -> bool:
    """Tell whether a draft is of a process that runs here."""
    return draft["host"] == _host() and _runs(int(draft["process"]), int(draft["start"]))


@contextlib.contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Hold a lock of the system on a folder for a moment; nothing where there are none."""
    try:
        import fcntl
    except ImportError:  # Windows
        yield
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        with contextlib.suppress(OSError):  # not all file systems have locks
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _sweep(folder: Path) -> None:
    """Delete drafts whose process is gone, and give what one had moved aside its name back if that is free."""
    for entry, match in _ours(folder):
        if match["host"] != _host() or _lives(match):
            continue
        with contextlib.suppress(OSError):  # another sweeps it, or it is another user's
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
    """Name this machine, or the container, whose processes can be seen from here."""
    name = platform.node()
    with contextlib.suppress(OSError):
        name += str(Path("/proc/self/ns/pid").stat().st_ino)
    return f"{zlib.crc32(name.encode()):08x}"


def _start(process: int) -> int | None:
    """Give when a process started, in ticks since the machine did; None if the system does not tell, or it has ended.

    One that was killed is listed until its parent asks for it, as a zombie.
    """
    try:
        stat = Path(f"/proc/{process}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        return None if stat[0] in "ZX" else int(stat[19])
    except (OSError, IndexError, ValueError):
        return None


def _runs(process: int, start: int) -> bool:
    """Tell whether a process of this machine still runs; where that cannot be told, it does."""
    if start:
        return _start(process) == start
    if os.name != "posix":
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def _exchange(one: Path, other: Path) -> bool:
    """Exchange two names in one step; False, and nothing done, where the system cannot."""
    a, b = os.fsencode(one), os.fsencode(other)
    calls: dict[str, tuple[str, tuple[Any, ...]]] = {
        "linux": ("renameat2", (-100, a, -100, b, 2)),  # AT_FDCWD, RENAME_EXCHANGE
        "darwin": ("renamex_np", (a, b, 2)),  # RENAME_SWAP
    }
    name, arguments = calls.get(sys.platform, ("", ()))
    call = getattr(ctypes.CDLL(None), name, None) if name else None
    return call is not None and call(*arguments) == 0


def _flush(path: Path) -> None:
    """Wait until a file, or the names in a folder, have reached the disk."""
    if os.name != "posix":
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError:
        if not path.is_dir():  # of folders not all systems know it
            raise
    finally:
        os.close(descriptor)


def plain(value: Any) -> Any:  # noqa: PLR0911 # one line for each kind
    """Make JSON's types of settings and results, without anything that changes from run to run, such as an address.

    Examples
    --------
    >>> plain({"rank": 3, "start": None, "low": float("nan"), "rule": functools.partial(max, default=0), 5: {2, 1}})
    {'rank': 3, 'start': None, 'low': None, 'rule': {'max': {'default': 0}}, '5': [1, 2]}

    Raises
    ------
    TypeError
        If something is only known by its address.
    """
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
        raise TypeError(f"an object of {type(value).__qualname__} cannot be written as JSON: it has no name of its own")
    return str(value)


META = "meta.json"
DIGESTING = 4
"""Files whose digests are made at a time."""


def write_meta(folder: Path, kind: str, version: int, **content: Any) -> None:
    """Write ``meta.json``: what the folder is, the version of its format, and its settings."""
    text = json.dumps({"kind": kind, "version": version, **content}, indent=2, ensure_ascii=False)
    (folder / META).write_text(text + "\n", encoding="utf-8", errors="backslashreplace")  # names that are no text


def read_meta(folder: str | os.PathLike[str], kind: str | None = None, version: int | None = None) -> dict[str, Any]:
    """Read ``meta.json`` and check what the folder is.

    Raises
    ------
    InputError
        If the folder is absent, is not ours, holds another kind, or was written in another version of the format.
    """
    path = Path(folder) / "meta.json"
    if not path.parent.exists() and path.parent.parent.is_dir():
        _sweep(path.parent.parent)
    try:
        meta = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        what = "has no meta.json" if Path(folder).is_dir() else "is not a folder"
        raise InputError(f"{folder} is not a {kind or 'polyadic'} folder: it {what}") from None
    except (OSError, ValueError, RecursionError) as error:  # of ValueError: bad UTF-8, bad JSON, endless numbers
        raise InputError(f"{path} cannot be read: {error}") from None
    if not isinstance(meta, dict) or "kind" not in meta:
        raise InputError(f"{path} does not say what kind of folder it belongs to")
    if kind is not None and meta["kind"] != kind:
        raise InputError(f"{folder} is a folder of kind {meta['kind']!r}; one of kind {kind!r} is needed here")
    if version is not None and meta.get("version") != version:
        raise InputError(
            f"{folder} is in version {meta.get('version')!r} of the {kind} format; this polyadic reads version"
            f" {version}"
        )
    return meta


def _seal(folder: Path) -> None:
    """Write the SHA-256 of each file of a folder, and of what else ``meta.json`` says, into that, if there is one."""
    if (folder / META).is_file():
        meta = json.loads((folder / META).read_text(encoding="utf-8")) | {"sealed": True}
        write_meta(folder, **meta | {"digests": {**_digests(folder), META: _sealed(meta)}})


def _digests(folder: Path, but: Collection[str] = ()) -> dict[str, str]:
    from concurrent.futures import ThreadPoolExecutor

    names = [path.relative_to(folder).as_posix() for path in sorted(folder.rglob("*")) if path.is_file()]
    names = [name for name in names if name not in (META, *but)]
    with ThreadPoolExecutor(DIGESTING) as pool:
        return dict(zip(names, pool.map(lambda name: _digest(folder / name), names), strict=True))


def _digest(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _sealed(meta: dict[str, Any]) -> str:
    """Give the SHA-256 of what is said besides the digests."""
    said = {name: value for name, value in meta.items() if name != "digests"}
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()


def check_whole(folder: str | os.PathLike[str], *, but: Collection[str] = ()) -> int:
    """Check that the files of a folder hold what was written; of others that lie there nothing is known.

    Parameters
    ----------
    folder : path
        What :func:`whole_folder` wrote.
    but : collection of str
        Files that are not looked at.

    Returns
    -------
    int
        How many files were checked: none of a folder of an older polyadic.

    Raises
    ------
    InputError
        If the folder is none of ours, or a file holds something else or is missing.

    Examples
    --------
    >>> folder = Path(tempfile.mkdtemp()) / "poems"
    >>> with whole_folder(folder, kind="poems") as draft:
    ...     _ = (draft / "one.txt").write_text("A rose.")
    ...     write_meta(draft, "poems", 1)
    >>> check_whole(folder)
    2
    >>> _ = (folder / "one.txt").write_text("A ruse.")
    >>> check_whole(folder)
    Traceback (most recent call last):
    polyadic.core.errors.InputError: ...one.txt is damaged: it does not hold what was written
    """
    meta = read_meta(folder)
    digests = meta.get("digests", {})
    if not isinstance(digests, dict) or ("sealed" in meta and META not in digests):
        raise InputError(f"{Path(folder) / META} is damaged: its digests are none")
    found = {META: _sealed(meta), **(_digests(Path(folder), but) if digests else {})}
    for name, digest in digests.items():
        if name in but:
            continue
        if name not in found:
            raise InputError(f"{folder} is damaged: {name} is missing")
        if found[name] != digest:
            raise InputError(f"{Path(folder) / name} is damaged: it does not hold what was written")
    return len(digests.keys() - {*but})


@contextlib.contextmanager
def checked_meanwhile(folder: Path, *, but: Collection[str] = ()) -> Iterator[None]:
    """Check the files of a folder, as :func:`check_whole` does, beside what the body does with them."""
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1) as pool:
        whole = pool.submit(check_whole, folder, but=but)
        yield
        whole.result()


@contextlib.contextmanager
def damage_told(folder: Path) -> Iterator[None]:
    """Make one sentence, as an InputError, of what goes wrong while a folder is read into a model."""
    from safetensors import SafetensorError

    try:
        yield
    except KeyError as error:
        raise InputError(f"{folder} is damaged: {error} is missing") from None
    except FileNotFoundError as error:
        raise InputError(f"{folder} is damaged: {Path(error.filename).name} is missing") from None
    except (
        OSError,
        TypeError,
        ValueError,
        AttributeError,
        EOFError,
        ImportError,
        IndexError,
        SafetensorError,
    ) as error:
        raise InputError(f"{folder} is damaged: {error}") from None


def read_arrays(folder: Path) -> dict[str, Any]:
    """Read ``arrays.safetensors``, without looking at what it holds."""
    from safetensors.numpy import load

    return dict(load((folder / "arrays.safetensors").read_bytes()))


def numbered(what: str, names: Any) -> dict[str, int]:
    """Give the place of each name of a list that was read.

    Raises
    ------
    ValueError
        If they are not different strings.
    """
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names) or len({*names}) < len(names):
        raise ValueError(f"{what} are not different strings")
    return {name: at for at, name in enumerate(names)}


def _need_parent(target: Path) -> None:
    if not target.parent.is_dir():
        raise InputError(f"cannot write {target}: the folder {target.parent} does not exist")


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def read_names(path: Path) -> list[str]:
    """Read a text file with a name on each line; blank lines are skipped.

    Raises
    ------
    InputError
        If the file cannot be read as UTF-8.
    """
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path} cannot be read: {error}") from None
    return [name for line in lines if (name := line.strip())]
