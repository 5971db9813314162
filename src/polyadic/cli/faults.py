"""What a user sees when something fails: one sentence and an exit code, never a traceback for bad input."""

from __future__ import annotations

import contextlib
import errno
import re
import signal
import threading
import warnings
from typing import TYPE_CHECKING, Any

import typer
from typer.core import TyperCommand, TyperGroup

from polyadic.errors import InputError, MissingExtraError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

BAD_INPUT = 1
INTERRUPTED = 130  # 128 + SIGINT, as shells have it


class Verbs(TyperGroup):
    """The verbs; what they raise becomes one sentence on standard error."""

    def invoke(self, ctx: Any) -> Any:
        """Run the verb that was asked for."""
        with ended_as_interrupted(), in_one_sentence():
            return super().invoke(ctx)


class Verb(TyperCommand):
    """A verb; settings that faults of input and warnings speak of are named by the options that set them."""

    def invoke(self, ctx: Any) -> Any:
        """Run the verb."""
        options = {str(each.name).rstrip("_"): each for each in self.params if each.param_type_name == "option"}
        given = re.split(r"[^\w./-]+", str([*ctx.params.values()]))  # a file or a column may be called as a setting
        flags = {name: max(option.opts, key=len) for name, option in options.items() if name not in given}
        show = warnings.showwarning
        with warnings.catch_warnings():
            warnings.showwarning = lambda message, *where: show(as_written(str(message), flags), *where)
            try:
                return super().invoke(ctx)
            except InputError as error:
                raise InputError(as_written(str(error), flags)) from error


def as_written(fault: str, flags: Mapping[str, str]) -> str:
    """Name by their flags the settings that a sentence begins with or advises to change, and those with a value.

    Examples
    --------
    >>> as_written("min_count must be a whole number; got 0", {"min_count": "--min-count"})
    '--min-count must be a whole number; got 0'
    >>> as_written("regime and add are for rules", {"regime": "--regime", "add": "--add"})
    '--regime and --add are for rules'
    >>> as_written("known is for validation; leave it out", {"known": "--known", "validation": "--validation"})
    '--known is for --validation; leave it out'
    >>> as_written("it did not converge; raise max_iter or tol", {"max_iter": "--max-iter", "tol": "--tol"})
    'it did not converge; raise --max-iter or --tol'
    >>> as_written("rank 3 of the table is missing", {"rank": "--rank"})
    'rank 3 of the table is missing'
    >>> as_written("it is there (--force, overwrite=True); give errors='replace'", {"errors": "--errors"})
    'it is there (--force); give --errors replace'
    """
    fault = re.sub(r"(\(--[\w-]+), \w+=True\)", r"\1)", fault)
    valued = r"\b(\w+)=(?:'(\w+)'|(\d[\d.]*\b|True\b))"
    fault = re.sub(valued, lambda m: _written(m, flags), fault)
    fault = re.sub(r"(?<=; raise )\w+(?: or \w+)*", lambda m: _flagged(m[0], flags), fault)
    names = r"\w+(?:, \w+)*(?: and \w+)?"
    subject = re.match(
        rf"{names}(?: (?:is|are) for {names}|(?= (?:must|is|are|has|have|takes?|comes?|needs?)\b))", fault
    )
    if subject is None:
        return fault
    return _flagged(subject[0], flags) + fault[subject.end() :]


def _flagged(words: str, flags: Mapping[str, str]) -> str:
    return re.sub(r"\w+", lambda word: flags.get(word[0], word[0]), words)


def _written(setting: re.Match[str], flags: Mapping[str, str]) -> str:
    """Write a setting with its value as an option, if there is one of its name."""
    name, text, number = setting.groups()
    value = "" if number == "True" else f" {text or number}"
    return f"{flags[name]}{value}" if name in flags else setting[0]


@contextlib.contextmanager
def in_one_sentence() -> Iterator[None]:
    """Say warnings and the faults of input in one line each; other errors are ours and keep their traceback."""
    with warnings.catch_warnings():
        warnings.showwarning = _show_warning
        try:
            yield
        except BrokenPipeError:
            raise  # the reader of our output has enough; typer leaves quietly
        except KeyboardInterrupt:
            raise interrupted() from None
        except MemoryError as error:
            say(f"out of memory: {error}" if str(error) else "out of memory")
            raise typer.Exit(BAD_INPUT) from None
        except (InputError, MissingExtraError, OSError) as error:
            say(_sentence(error))
            raise typer.Exit(BAD_INPUT) from None


@contextlib.contextmanager
def ended_as_interrupted() -> Iterator[None]:
    """Let a request to end, as `kill` sends it, do what Ctrl-C does: nothing is half-written, no worker stays."""
    if threading.current_thread() is not threading.main_thread():  # signals are the main thread's
        yield
        return
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextlib.contextmanager
def keeping(content: Callable[[], list[str]]) -> Iterator[None]:
    """Name what is left of the body when it is interrupted."""
    try:
        yield
    except KeyboardInterrupt:
        raise interrupted(kept=content()) from None


def stages_in(folder: Path) -> Callable[[], list[str]]:
    """Tell what a run of stages leaves when it is interrupted; nothing if its folder is gone again."""
    return lambda: [f"the finished stages in {folder}; the same command goes on from there"] if folder.exists() else []


def interrupted(*, kept: Sequence[str] = ()) -> typer.Exit:
    """Say that Ctrl-C was heard and what is there in spite of it; return the exit to raise."""
    say(f"interrupted; kept {' and '.join(kept)}" if kept else "interrupted; nothing was written")
    return typer.Exit(INTERRUPTED)


def say(message: str) -> None:
    """Write one line to standard error."""
    typer.echo(f"polyadic: {' '.join(message.split())}", err=True)


def _sentence(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        full = "; free some room, or name another disk (--out, --keep, TMPDIR)" if error.errno == errno.ENOSPC else ""
        return (f"{error.filename}: " if error.filename is not None else "") + error.strerror + full
    return str(error) or type(error).__name__


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    say(f"warning: {message}")
