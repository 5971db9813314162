"""Validation of dataclass settings against the types and bounds in their annotations.

>>> from dataclasses import dataclass
>>> from typing import Literal
>>> @dataclass
... class Settings:
...     rank: Count = 10
...     share: Share = 0.5
...     init: Literal["svd", "random"] = "svd"
>>> check_settings(Settings(rank=0))
Traceback (most recent call last):
polyadic.core.errors.InputError: rank must be a whole number of at least 1; got 0
"""

from __future__ import annotations

import functools
import math
import types
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, fields
from numbers import Integral, Real
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from polyadic.core.errors import InputError
from polyadic.core.resources import MAX_THREADS


@dataclass(frozen=True)
class Within:
    """Annotation with the lower and upper bound of a number; the lower bound is exclusive if ``above`` is set."""

    low: float
    high: float | None = None
    above: bool = False

    def admits(self, value: Any) -> bool:
        """Return whether a number is within the bounds."""
        low = self.low < value if self.above else self.low <= value
        return bool(low and (self.high is None or value <= self.high))

    def __str__(self) -> str:
        low, high = (f"{bound:,}" if isinstance(bound, int) else f"{bound or 0:g}" for bound in (self.low, self.high))
        if self.high is None:
            return f"{'greater than' if self.above else 'of at least'} {low}"
        return f"above {low} up to {high}" if self.above else f"from {low} to {high}"


Count = Annotated[int, Within(1)]
Natural = Annotated[int, Within(0)]
Amount = Annotated[float, Within(0)]
Positive = Annotated[float, Within(0, above=True)]
Share = Annotated[float, Within(0, 1)]
Seed = Natural | None
Threads = Annotated[int, Within(1, MAX_THREADS)] | None
BUDGET = 600.0  # default number of seconds for the selection of settings


@dataclass(frozen=True)
class Metavar:
    """Annotation with the placeholder of an argument in help texts."""

    name: str


@dataclass(frozen=True)
class Help:
    """Annotation with the help text of a parameter that several functions share."""

    text: str


@dataclass(frozen=True)
class Repeated:
    """Annotation of a collection that is given on the command line by repeating an option for each item."""


File = Annotated[Path, Metavar("FILE")]
Table = Annotated[
    str,
    Metavar("TABLE"),
    Help(
        "Table: text with any separator (also .gz .bz2 .xz .zst .zip), Excel, Parquet or JSON lines; a URL, or - for"
        " standard input."
    ),
]
Columns = Annotated[list[str], Help("Names or positions (from 1) of the columns of the table (default: recognised).")]
Folder = Annotated[Path, Metavar("DIR")]
Out = Annotated[Folder, Help("Folder to write to.")]
Picture = Annotated[File, Help("Image file to write: .png, .svg or .pdf.")] | None


def check_settings(settings: Any) -> None:
    """Raise InputError if a setting of a dataclass does not match its annotation.

    Supported are numbers with bounds (:class:`Within`), choices (``Literal``), booleans, strings, functions, classes,
    sequences and mappings of these, unions, and ``None``.
    """
    hints = resolved(settings.__class__)
    for field in fields(settings):
        if field.init:
            check_setting(field.name, getattr(settings, field.name), hints[field.name])


def check_setting(name: str, value: Any, hint: Any) -> None:
    """Raise InputError if a value does not match its annotation; see :func:`check_settings`."""
    if not admits(hint, value):
        raise InputError(f"{name} must be {spelled(hint)}; got {value!r:.80}", name)


@functools.cache
def resolved(cls: type) -> dict[str, Any]:
    """Return the resolved type annotations of a class and its base classes."""
    return get_type_hints(cls, include_extras=True)


def admits(hint: Any, value: Any) -> bool:  # noqa: C901, PLR0911 # one line for each kind of annotation
    """Return whether a value matches an annotation; a protocol is matched by attribute names."""
    hint = _meant(hint)
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        bounds = [bound for bound in arguments[1:] if isinstance(bound, Within)]
        return admits(arguments[0], value) and all(bound.admits(value) for bound in bounds)
    if origin in (Union, types.UnionType):
        return any(admits(choice, value) for choice in arguments)
    if origin is Literal:
        return any(admits(type(choice), value) and value == choice for choice in arguments)
    if origin is tuple:
        if not isinstance(value, tuple):
            return False
        each = arguments[:1] * len(value) if arguments[1:] == (...,) else arguments
        return len(each) == len(value) and all(map(admits, each, value))
    if _is_collection(origin):
        return _held(origin, arguments, value)
    if hint is None or hint is type(None):
        return value is None
    if hint in _PLAIN:
        return bool(_PLAIN[hint](value))
    kind = origin or hint
    if kind is Callable or kind is types.FunctionType:
        return callable(value)
    if getattr(kind, "_is_protocol", False):
        return all(hasattr(value, name) for name in vars(kind) if not name.startswith("_"))
    return not isinstance(kind, type) or isinstance(value, kind)


def _meant(hint: Any) -> Any:
    """Return the type to which a type alias refers, such as ``NDArray`` in recent versions of numpy."""
    return getattr(get_origin(hint) or hint, "__value__", hint)


def _held(origin: Any, arguments: tuple[Any, ...], value: Any) -> bool:
    """Return whether a value is a collection of the given type with matching elements."""
    array = origin.__name__ == "Sequence" and hasattr(value, "tolist")
    if isinstance(value, str) or not (array or isinstance(value, origin)):
        return False
    if isinstance(value, Mapping):
        return all(admits(arguments[0], key) and admits(arguments[1], item) for key, item in value.items())
    return arguments[0] is Any or all(admits(arguments[0], item) for item in value)


def _is_collection(origin: Any) -> bool:
    return isinstance(origin, type) and origin.__name__ != "ndarray" and issubclass(origin, Collection)


_PLAIN: dict[Any, Any] = {
    Any: lambda _: True,
    object: lambda _: True,
    bool: lambda value: type(value).__name__ in ("bool", "bool_"),  # also numpy's
    int: lambda value: not isinstance(value, bool) and isinstance(value, Integral),
    float: lambda value: not isinstance(value, bool) and isinstance(value, Real) and math.isfinite(value),
    str: lambda value: isinstance(value, str),
}

_NAMES: dict[Any, str] = {
    None: "None",
    type(None): "None",
    bool: "True or False",
    int: "a whole number",
    float: "a finite number",
    str: "text",
    Path: "a path",
    Any: "any value",
    Callable: "a function",
}


def spelled(hint: Any) -> str:  # noqa: PLR0911 # as above
    """Describe the values that an annotation allows, for error messages."""
    hint = _meant(hint)
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        bounds = [str(bound) for bound in arguments[1:] if isinstance(bound, Within)]
        return " ".join([spelled(arguments[0]), *bounds])
    if origin in (Union, types.UnionType):
        return " or ".join(map(spelled, arguments))
    if origin is Literal:
        return f"one of {', '.join(map(repr, arguments))}"
    if origin is tuple and arguments[1:] != (...,):
        return f"a tuple of {', '.join(map(spelled, arguments))}"
    if _is_collection(origin) and issubclass(origin, Mapping):
        return f"a mapping to {spelled(arguments[1])}"
    if _is_collection(origin):
        each = "" if arguments[0] is Any else f", each {spelled(arguments[0])}"
        return f"a {origin.__name__.lower()}{each}"
    kind = origin or hint
    if kind in _NAMES:
        return _NAMES[kind]
    name = kind.__name__.removeprefix("nd")  # numpy's array
    return f"{'an' if name[0].upper() in 'AEIOU' else 'a'} {name}"
