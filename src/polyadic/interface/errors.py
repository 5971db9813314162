"""Error reporting for the command line: a one-line message and an exit code instead of a traceback."""

from __future__ import annotations

import contextlib
import errno
import io
import json
import logging
import os
import re
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextvars import ContextVar
from pathlib import Path
from types import FrameType
from typing import Any, ClassVar, Literal

import typer
from typer.core import TyperCommand, TyperGroup

from polyadic.core.errors import InputError, MissingExtraError
from polyadic.core.files import locked
from polyadic.core.progress import LOG

BAD_INPUT = 1
BAD_USAGE = 2
INTERRUPTED = 130  # 128 + SIGINT, as shells have it
TERMINATED = 143  # 128 + SIGTERM

ELSEWHERE = "free some room, or name another disk (--out, --keep, TMPDIR)"
SYSTEM = {
    errno.ENOSPC: f"the disk is full; {ELSEWHERE}",
    errno.EDQUOT: f"your share of the disk is used up; {ELSEWHERE}",
    errno.EFBIG: "a file would become larger than this system or its limit (ulimit -f) lets it be; raise that, or name"
    " another disk",
    errno.EROFS: "the disk can only be read; name another",
    errno.EIO: "the disk cannot be read or written any more",
    errno.EMFILE: "too many files are open at once; raise the limit (ulimit -n)",
    errno.ENAMETOOLONG: "the name is too long for this system",
    errno.ENOMEM: "out of memory",
}
"""Messages for system errors; others use the text of the operating system."""

NO_THREAD = "can't start new thread"  # Python's words for a stack that does not fit
LINE = 2000  # characters of a sentence that are shown; it may quote a long line of input
WRONG_USAGE: Any = typer.BadParameter.__base__
"""Base class of usage errors, which is typer's or click's, depending on the version."""
_JSON: ContextVar[bool] = ContextVar("as_json", default=False)


class CommandGroup(TyperGroup):
    """Command group that reports errors as one line on standard error, or as a JSON object under ``--json``."""

    def main(self, args: Sequence[str] | None = None, *rest: Any, **how: Any) -> Any:
        """Run the command line and flush all output at the end."""
        given = sys.argv[1:] if args is None else [*args]
        before = _JSON.set("--json" in given)
        if isinstance(sys.stdout, io.TextIOWrapper):
            sys.stdout.reconfigure(errors="backslashreplace")  # names of files may be no text
        try:
            try:
                return super().main(given, *rest, **how)
            finally:
                sys.stdout.flush()
        except OSError as error:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or Python tries again as it ends
            if error.errno != errno.EPIPE:
                say(_sentence(error))
            sys.exit(BAD_INPUT)
        finally:
            _JSON.reset(before)

    def invoke(self, ctx: Any) -> Any:
        """Run the requested command and report errors in one line."""
        with ended_as_interrupted(), in_one_sentence():
            return super().invoke(ctx)


class Command(TyperCommand):
    """Command whose errors and warnings refer to settings by command-line options."""

    settings: ClassVar[Collection[str]] = ()
    """Names that ``--set`` takes."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command and replace settings in error messages by command-line options."""
        options = {str(each.name).rstrip("_"): each for each in self.params if each.param_type_name == "option"}
        known = {"overwrite": options["force"], **options} if "force" in options else options
        show = warnings.showwarning

        def named(note: logging.LogRecord) -> bool:
            note.msg, note.args = self._with_options(note.getMessage(), known, getattr(note, "settings", ())), ()
            return True

        with warnings.catch_warnings():
            warnings.showwarning = lambda message, *where: show(self._with_options(message, known), *where)
            LOG.addFilter(named)
            try:
                with locked(out) if isinstance(out := ctx.params.get("out"), Path) else contextlib.nullcontext():
                    return super().invoke(ctx)
            except InputError as error:
                raise InputError(self._with_options(error, known)) from error
            finally:
                LOG.removeFilter(named)

    def _with_options(
        self, message: Warning | str | InputError, options: Mapping[str, Any], settings: Sequence[str] = ()
    ) -> str:
        """Return a message in which the names of settings are replaced by command-line options."""
        text = str(message)
        for name in getattr(message, "settings", settings):
            if name in options or name in self.settings:
                option = options.get(name)
                flag, off = (max(option.opts, key=len), option.secondary_opts) if option else ("", ())
                text = with_option(text, name, flag, off=off[0] if off else "")
        return text


def with_option(message: str, name: str, flag: str = "", *, off: str = "") -> str:
    """Replace the name of a setting in a message by its command-line option or its ``--set`` form.

    >>> with_option("min_count must be at most 9; got 10", "min_count", "--min-count")
    '--min-count must be at most 9; got 10'
    >>> with_option("a/errors.txt: invalid bytes; give errors='replace'", "errors")
    'a/errors.txt: invalid bytes; give --set errors=replace'
    >>> with_option("use include=['notes', 'stage']", "include", "--include")
    'use --include notes,stage'
    >>> with_option("number must be a whole number of at least 1; got 0", "number", "--number")
    '--number must be a whole number of at least 1; got 0'
    """

    def written(found: re.Match[str]) -> str:
        value = ",".join(re.findall(r"[\w-]+", found[3])) if found[3] else found[2]
        if not flag:
            return f"--set {name}" + (f"={value.lower() if value in ('True', 'False') else value}" if value else "")
        if value == "False" and off:
            return off
        return flag if value in (None, "True") else f"{flag} {value}"

    pattern = rf"(?<![\w./'\"-])(?<!whole )(?<!finite ){name}(?![\w/'\"-]|\.\w)(='?([\w.-]*\w)'?|=(\[[^]]+\]))?"
    return re.sub(pattern, written, message).replace("set --set", "use --set")


def in_json() -> bool:
    """Return whether the current command prints the result as JSON."""
    return _JSON.get()


@contextlib.contextmanager
def _printed_notes() -> Iterator[None]:
    """Print messages of the library's logger as notes on standard error in the ``with`` block."""
    handler, level = logging.Handler(), LOG.level
    handler.emit = lambda record: say(record.getMessage(), "note")  # type: ignore[method-assign]
    LOG.addHandler(handler)
    LOG.setLevel(logging.INFO)
    try:
        yield
    finally:
        LOG.removeHandler(handler)
        LOG.setLevel(level)


@contextlib.contextmanager
def in_one_sentence() -> Iterator[None]:
    """Context manager that prints notes, warnings and errors as one line; unexpected exceptions keep the traceback."""
    with warnings.catch_warnings(), _printed_notes():
        warnings.showwarning = lambda message, *_, **__: say(str(message), "warning")
        try:
            yield
        except BrokenPipeError:
            raise  # the reader of our output has enough; typer leaves quietly
        except WRONG_USAGE as error:
            error.message = error.message.replace("Value error, ", "")  # the words of the option library
            if not _JSON.get():
                raise
            say(error.format_message())
            raise typer.Exit(BAD_USAGE) from None
        except KeyboardInterrupt:
            raise interrupted() from None
        except (InputError, MissingExtraError, OSError, MemoryError, RuntimeError) as error:
            if isinstance(error, RuntimeError) and str(error) != NO_THREAD:
                raise
            say(_sentence(error))
            raise typer.Exit(BAD_INPUT) from None


@contextlib.contextmanager
def ended_as_interrupted() -> Iterator[None]:
    """Context manager that handles SIGTERM like Ctrl-C, so that files and worker processes are cleaned up."""
    if threading.current_thread() is not threading.main_thread():  # signals are the main thread's
        yield
        return
    heard = False

    def end(number: int, frame: FrameType | None) -> None:
        nonlocal heard
        heard = True
        signal.default_int_handler(number, frame)

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    except typer.Exit as ended:
        raise typer.Exit(TERMINATED) if heard and ended.exit_code == INTERRUPTED else ended from None
    finally:
        signal.signal(signal.SIGTERM, before)


@contextlib.contextmanager
def keeping(content: Callable[[], list[str]]) -> Iterator[None]:
    """Context manager that reports the saved results if the body is interrupted."""
    try:
        yield
    except KeyboardInterrupt:
        raise interrupted(kept=content()) from None


def stages_in(folder: Path) -> Callable[[], list[str]]:
    """Return a function that lists the finished stages saved by an interrupted run."""
    return lambda: [f"the finished stages in {folder}; repeat the command to resume"] if folder.exists() else []


def interrupted(*, kept: Sequence[str] = ()) -> typer.Exit:
    """Report that a command was interrupted and which results were saved; return the exit exception to raise."""
    say(f"interrupted; kept {' and '.join(kept)}" if kept else "interrupted; nothing was written")
    return typer.Exit(INTERRUPTED)


def say(message: str, kind: Literal["error", "warning", "note"] = "error") -> None:
    """Print a message as one line on standard error, or under ``--json`` as a JSON object with the key ``kind``."""
    line = " ".join(message.split())
    if len(line) > LINE:
        line = f"{line[: LINE // 2]} ... {line[-LINE // 2 :]}"
    if _JSON.get():
        typer.echo(json.dumps({kind: line}), err=True)
    else:
        typer.echo(f"polyadic: {'warning: ' if kind == 'warning' else ''}{line}", err=True)


def _sentence(error: Exception) -> str:
    if isinstance(error, OSError) and error.errno is not None:
        what = SYSTEM.get(error.errno, error.strerror or type(error).__name__)
        return what if error.filename is None else f"{error.filename}: {what}"
    if isinstance(error, MemoryError):
        return f"out of memory: {error}" if str(error) else "out of memory"
    if str(error) == NO_THREAD:
        return "cannot start a thread: there is too little memory, or there are too many threads"
    return str(error) or type(error).__name__
