"""What this library raises when the input, not the library, is at fault, and the checks that raise it."""

from __future__ import annotations

import math
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Collection


SAID = 300
"""Characters of what an error of another package says that are passed on."""


class InputError(ValueError):
    """Input that cannot be used: one sentence that says what is wrong, where, and what to do.

    The command line prints the sentence without a traceback. Any other exception that reaches it is a defect of this
    library and keeps its traceback.

    Parameters
    ----------
    message : str
    *settings : str
        Names of the settings in the message; the command line replaces these words by the options.
    """

    def __init__(self, message: str, *settings: str) -> None:
        super().__init__(message)
        self.settings = settings

    def __reduce__(self) -> tuple[Any, ...]:
        """Support pickling, as for exceptions of worker processes."""
        return type(self), (str(self), *self.settings)


class MissingExtraError(ImportError):
    """An optional dependency is not installed; the message names the ``pip install`` that helps."""

    def __init__(self, module: str, extra: str, purpose: str) -> None:
        self._arguments = (module, extra, purpose)
        super().__init__(f'{purpose} needs {module}: pip install "polyadic[{extra}]"', name=module)

    def __reduce__(self) -> tuple[type[MissingExtraError], tuple[str, str, str]]:
        """Travel between processes."""
        return MissingExtraError, self._arguments


class SkippedFilesWarning(UserWarning):
    """Files that cannot be read were left out."""


class SeenFactsWarning(UserWarning):
    """Facts to predict are among those that were learned."""


def said(error: BaseException) -> str:
    r"""Give what an error of another package says, on one line and not too long.

    Examples
    --------
    >>> said(ValueError("no table\nsee below"))
    'no table see below'
    """
    return " ".join(str(error).split())[:SAID] or type(error).__name__


def check_int(name: str, value: object, *, low: int, high: int | None = None) -> int:
    """Return ``value`` as an int within ``[low, high]``, or say what is allowed and what came.

    Raises
    ------
    InputError
        If ``value`` is no whole number or lies outside.

    Examples
    --------
    >>> check_int("rank", 0, low=1)
    Traceback (most recent call last):
    polyadic.core.errors.InputError: rank must be a whole number of at least 1; got 0
    """
    allowed = f"of at least {low}" if high is None else f"from {low} to {high}"
    number = None if isinstance(value, bool) or not isinstance(value, Integral) else int(value)
    if number is None or number < low or (high is not None and number > high):
        raise InputError(f"{name} must be a whole number {allowed}; got {value!r}", name)
    return number


def check_number(name: str, value: object, *, low: float = 0.0, above: bool = False) -> float:
    """Return ``value`` as a finite float of at least ``low`` (greater than ``low`` if ``above``).

    Raises
    ------
    InputError
        If ``value`` is no finite number or too small.

    Examples
    --------
    >>> check_number("zero_weight", -1)
    Traceback (most recent call last):
    polyadic.core.errors.InputError: zero_weight must be a finite number of at least 0; got -1
    """
    allowed = f"greater than {low:g}" if above else f"of at least {low:g}"
    if (
        isinstance(value, bool)
        or not isinstance(value, Real)
        or not math.isfinite(value)
        or value < low
        or (above and value == low)
    ):
        raise InputError(f"{name} must be a finite number {allowed}; got {value!r}", name)
    return float(value)


def check_choice(name: str, value: str, allowed: Collection[str]) -> str:
    """Return ``value`` if it is one of ``allowed``.

    Raises
    ------
    InputError
        Otherwise; the message lists what is allowed.

    Examples
    --------
    >>> check_choice("window", "spam", ["span", "chunk"])
    Traceback (most recent call last):
    polyadic.core.errors.InputError: window must be one of 'span', 'chunk'; got 'spam'
    """
    if value not in allowed:
        raise InputError(f"{name} must be one of {', '.join(repr(a) for a in allowed)}; got {value!r}", name)
    return value
