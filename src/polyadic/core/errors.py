"""Exceptions and warnings for invalid input, and the checks that raise them."""

from __future__ import annotations

import contextlib
import difflib
import math
import warnings
from collections.abc import Collection, Iterable, Iterator
from numbers import Integral, Real
from typing import Any

MAX_LISTED = 100  # maximum number of names in a message
MAX_LENGTH = 300  # maximum length of an error message of another package that is passed on


class _Message(Exception):  # noqa: N818 # a part of errors and warnings
    """Base class of errors and warnings that record the names of the settings in their message."""

    def __init__(self, message: str, *settings: str) -> None:
        super().__init__(message)
        self.settings = settings

    def __reduce__(self) -> tuple[Any, ...]:
        """Support pickling, so that worker processes can send exceptions."""
        return type(self), (str(self), *self.settings)


class InputError(_Message, ValueError):
    """Exception raised for invalid input, with a message that says what is wrong, where, and what to do.

    The command line prints the sentence without a traceback. Any other exception that reaches it is a defect of this
    library and keeps its traceback.

    Parameters
    ----------
    message : str
    *settings : str
        Names of the settings in the message; the command line replaces these words by the options.
    """


class InputWarning(_Message, UserWarning):
    """Warning about input that is accepted but may not be what the user intended."""


class MissingExtraError(ImportError):
    """Exception raised if an optional dependency is not installed; the message contains the ``pip install`` command."""

    def __init__(self, module: str, extra: str, purpose: str) -> None:
        self._arguments = (module, extra, purpose)
        super().__init__(f'{purpose} needs {module}: pip install "polyadic[{extra}]"', name=module)

    def __reduce__(self) -> tuple[type[MissingExtraError], tuple[str, str, str]]:
        """Support pickling."""
        return MissingExtraError, self._arguments


@contextlib.contextmanager
def needing(module: str, extra: str, purpose: str) -> Iterator[None]:
    """Context manager for the import of an optional dependency; raises MissingExtraError if it is not installed."""
    try:
        yield
    except ImportError:
        raise MissingExtraError(module, extra, purpose) from None


class SkippedFilesWarning(InputWarning):
    """Warning that unreadable files were skipped."""


class SeenFactsWarning(UserWarning):
    """Warning that some of the facts to predict also occur in the training data."""


def error_text(error: BaseException) -> str:
    r"""Return the message of an exception as a single line of limited length.

    >>> error_text(ValueError("no table\nsee below"))
    'no table see below'
    """
    return " ".join(str(error).split())[:MAX_LENGTH] or type(error).__name__


def unreadable(path: object, error: Exception, kind: str = "file") -> InputError:
    """Return the error for a file that does not exist or cannot be read, with the reason in words."""
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        return InputError(f"there is no {kind} {path}")
    if isinstance(error, IsADirectoryError):
        return InputError(f"{path} is a folder; name a file")
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    if isinstance(error, UnicodeDecodeError):
        reason = f"it is not text in {error.encoding} (byte {error.start:,})"
    return InputError(f"{path} cannot be read: {reason}")


def meant(name: str, known: Iterable[str]) -> str:
    """Return a suggestion of the most similar known name for the end of a message, or an empty string.

    >>> meant("Virus", ["virus", "animal"])
    "; did you mean 'virus'?"
    """
    names = {each.lower(): each for each in known}
    alike = difflib.get_close_matches(name.lower(), names, n=1)
    return f"; did you mean {names[alike[0]]!r}?" if alike else ""


def counted(number: int, noun: str) -> str:
    """Return a number and a noun, in the plural unless the number is 1.

    >>> counted(1, "cell"), counted(2000, "cell")
    ('1 cell', '2,000 cells')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def named(names: Iterable[str], most: int = MAX_LISTED) -> str:
    """Format a list of names for a message, showing at most ``most`` names.

    >>> named(["a", "b", "c"], 2), named([])
    ("'a', 'b' and 1 more", 'none')
    """
    names = list(names)
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return (", ".join(f"{name!r:.80}" for name in names[:most]) or "none") + more


def warn_unknown(table: Any) -> None:
    """Warn if no document of a sparse table has a known word, so that results are the same for all documents."""
    if table.shape[0] and not abs(table).sum():
        what = f"documents without a known word: all {table.shape[0]:,}"
        warnings.warn(InputWarning(f"{what}; the results do not depend on them"), stacklevel=4)


def check_int(name: str, value: object, *, low: int, high: int | None = None) -> int:
    """Return ``value`` as an int; raise InputError if it is not an integer between ``low`` and ``high``."""
    allowed = f"of at least {low}" if high is None else f"from {low} to {high}"
    number = None if isinstance(value, bool) or not isinstance(value, Integral) else int(value)
    if number is None or number < low or (high is not None and number > high):
        raise InputError(f"{name} must be a whole number {allowed}; got {value!r}", name)
    return number


def check_number(name: str, value: object, *, low: float = 0.0, above: bool = False) -> float:
    """Return ``value`` as a float; raise InputError unless it is finite and at least ``low``, or ``above`` it."""
    allowed = f"greater than {low:g}" if above else f"of at least {low:g}"
    number = math.nan if isinstance(value, bool) or not isinstance(value, Real) else float(value)
    if not math.isfinite(number) or number < low or (above and number == low):
        raise InputError(f"{name} must be a finite number {allowed}; got {value!r}", name)
    return number


def check_choice(name: str, value: str, allowed: Collection[str]) -> str:
    """Return ``value``; raise InputError if it is not one of the ``allowed`` values."""
    if value not in allowed:
        raise InputError(f"{name} must be one of {', '.join(repr(a) for a in allowed)}; got {value!r}", name)
    return value
