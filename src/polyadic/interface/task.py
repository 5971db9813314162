r'''Tasks: the operations of a family of models, declared once as annotated functions.

A task is a module ``<family>/task.py`` with a :class:`Task`. Its verbs are plain functions: parameters with types,
bounds and defaults, described in a numpydoc ``Parameters`` section, that return what ``--json`` prints. The command
line (:mod:`polyadic.interface.command_line`) and the HTTP interface (:mod:`polyadic.interface.http`) follow from them.

>>> from polyadic.core.settings import Count
>>> task = Task("double", "Double numbers.")
>>> @task.verb(example="polyadic double twice 3")
... def twice(number: int, *, times: Count = 1):
...     """Double a number.
...
...     Parameters
...     ----------
...     number
...         Number to double.
...     times
...         How often to double it.
...     """
...     return {"number": number * 2**times}
>>> [(each.name, each.help, each.positional) for each in parameters(twice)]
[('number', 'Number to double.', True), ('times', 'How often to double it.', False)]

Settings of an estimator are never repeated: a verb with ``settings={"model": "module:Class"}`` takes the fields of that
dataclass as options, with the help texts of the class docstring, and gets an object made of them as ``model``. Fields
are read from the source, so that ``--help`` imports no array library.
'''

from __future__ import annotations

import ast
import contextlib
import functools
import inspect
import re
import typing
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, TypeVar, get_args, get_origin

from polyadic.core import settings as kinds
from polyadic.core.docstrings import entries
from polyadic.core.errors import InputError

Function = TypeVar("Function", bound=Callable[..., Any])
Summary = Callable[..., Mapping[str, Any]]
NONE = inspect.Parameter.empty
UNIONS = (typing.Union, type(int | None))


@dataclass(frozen=True)
class Parameter:
    """Parameter of a command, or setting of an estimator, with its annotation and the first sentence about it."""

    name: str
    hint: Any
    default: Any  # NONE if it must be given
    help: str = ""
    shown_default: str = ""  # in words, where the description ends in "(default: ...)"
    positional: bool = False


@dataclass(frozen=True)
class Verb:
    """Function of a task that becomes a command, with options that the signature does not contain.

    ``settings`` has, by parameter, the ``"module:Class"`` of the dataclass whose fields are options; the function gets
    an object made of them, or for several classes a dict of the settings that were given. For a
    ``"module:Class.method"``, the options are the parameters of the method, and the function gets a dict of them all.
    A setting with the name of a parameter of the function is replaced by it, and a setting of several groups belongs to
    the last group. The verb's docstring describes a setting that means something else in each class.
    """

    function: Callable[..., Any]
    example: str  # command that runs on the files of ``polyadic example``
    settings: Mapping[str, str | tuple[str, ...]] = field(default_factory=dict)
    options: tuple[str, ...] = ()  # listed by --help besides those that must be given (default: all but settings)
    show: Callable[..., None] | None = None  # prints the result for people (default: ``output.result`` makes tables)
    json: bool = True  # whether it has --json
    word: str = ""  # on the command line, if it is not the name of the function
    distributed: bool = False  # whether it has --scheduler and --workers
    fixed: tuple[str, ...] = ()  # settings that are no options, since the function sets them
    question: bool = False  # whether it only asks a saved model, so that ``polyadic serve`` answers it over HTTP

    @property
    def name(self) -> str:
        """Name of the command."""
        return self.word or self.function.__name__.replace("_", "-")


@dataclass
class Task:
    """Group of commands for one family of models, with optional subgroups by word."""

    name: str
    about: str  # one sentence for the list of commands
    model: str | tuple[str, ...] = ""  # "module:Class" of the saved estimators that a verb with ``model`` is given
    verbs: dict[str, Verb] = field(default_factory=dict)
    groups: dict[str, Task] = field(default_factory=dict)

    def verb(self, *, example: str, **how: Any) -> Callable[[Function], Function]:
        """Return a decorator that adds a function to the task; see :class:`Verb` for the options."""

        def add(function: Function) -> Function:
            verb = Verb(function, example, **how)
            self.verbs[verb.name] = verb
            return function

        return add


def parameters(function: Callable[..., Any]) -> list[Parameter]:
    """Return the parameters of a function with types, defaults and help texts."""
    described = descriptions(function.__doc__)
    known = vars(typing) | function.__globals__  # names that are imported for types only are objects, not options
    found = []
    for each in inspect.signature(function).parameters.values():
        hint = each.annotation
        if isinstance(hint, str):
            try:
                hint = _evaluated(ast.parse(hint, mode="eval").body, known)
            except NameError:
                hint = Any
        shared = first(hint, kinds.Help)
        about = described.get(each.name, _sentence(shared.text) if shared else ("", ""))
        positional = each.kind is not inspect.Parameter.KEYWORD_ONLY
        found.append(Parameter(each.name, hint, each.default, *about, positional=positional))
    return found


@functools.cache
def fields_of(target: str) -> tuple[Parameter, ...]:
    """Return the settings of a ``"module:Class"`` or the parameters of a ``"module:Class.method"``.

    They are parsed from the source without importing the module. Settings whose type is not made of what
    :mod:`polyadic.core.settings` and :mod:`typing` define are left out: they are objects that no text names.
    """
    source, name, method = _Source.with_names(target)
    if name not in source.classes:
        return ()
    found = {} if method else {each.name: each for base in source.bases(name) for each in fields_of(base)}
    for each, annotation, value in source.parameters(name, method) if method else source.fields(name):
        try:
            hint, default = source.value(annotation), NONE if value is None else source.value(value)
        except (NameError, TypeError):
            continue
        if get_origin(hint) is not ClassVar:
            found[each] = Parameter(each, hint, default)
    described = _descriptions_of(target)
    texts = {each: described.get(each, ("", "")) for each in found}
    return tuple(replace(each, help=texts[name][0], shown_default=texts[name][1]) for name, each in found.items())


@functools.cache
def _descriptions_of(target: str) -> dict[str, tuple[str, str]]:
    """Return the help texts of a method, or of a class's own and inherited settings, parsed from the source."""
    source, name, method = _Source.with_names(target)
    if name not in source.classes:
        return {}
    found: dict[str, tuple[str, str]] = {}
    if method:
        found = descriptions(ast.get_docstring(source.method(name, method)))
        for each, (text, _) in found.items():
            if other := re.fullmatch(r"See (\w+)\.", text):  # another method of the class
                found[each] = _descriptions_of(target.replace(f".{method}", f".{other[1]}"))[each]
        return found
    for base in source.bases(name):
        found |= _descriptions_of(base)
    return found | descriptions(ast.get_docstring(source.classes[name]))


class _Source:
    """Parsed source of a module, with its classes and simple constants."""

    def __init__(self, module: str) -> None:
        tree = ast.parse(_file_of(module).read_text(encoding="utf-8"))
        self.module = module
        self.classes = {each.name: each for each in tree.body if isinstance(each, ast.ClassDef)}
        self.imported = {
            each.asname or each.name: f"{node.module}:{each.name}"
            for node in tree.body
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("polyadic.")
            for each in node.names
        }
        self._assigned = {
            node.targets[0].id: node.value
            for node in tree.body
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
        }

    def fields(self, name: str) -> Iterator[tuple[str, ast.expr, ast.expr | None]]:
        """Yield the name, annotation and default value of the fields of a dataclass."""
        for each in self.classes[name].body:
            if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name) and each.target.id != "_":
                yield each.target.id, each.annotation, each.value

    def method(self, name: str, method: str) -> ast.FunctionDef:
        """Return the definition of a method of a class."""
        return next(
            each for each in self.classes[name].body if isinstance(each, ast.FunctionDef) and each.name == method
        )

    def parameters(self, name: str, method: str) -> Iterator[tuple[str, ast.expr, ast.expr | None]]:
        """Yield the name, annotation and default value of the parameters of a method, without ``self``."""
        of = self.method(name, method).args
        before = [None] * (len(of.args) - len(of.defaults))
        for each, value in zip((*of.args, *of.kwonlyargs), (*before, *of.defaults, *of.kw_defaults), strict=True):
            if each.annotation is not None and each.arg != "self":
                yield each.arg, each.annotation, value

    def bases(self, name: str) -> list[str]:
        """Return the base classes that are defined in this package as ``"module:Class"``, in reverse order."""
        names = [base.id for base in reversed(self.classes[name].bases) if isinstance(base, ast.Name)]
        return [
            self.imported.get(each, f"{self.module}:{each}")
            for each in names
            if each in {*self.classes, *self.imported}
        ]

    @staticmethod
    @functools.cache
    def of(module: str) -> _Source:
        """Return the cached source of a module."""
        return _Source(module)

    @classmethod
    def with_names(cls, target: str) -> tuple[_Source, str, str]:
        """Return the source, the class and the method, if any, of ``"module:Class.method"``."""
        module, _, names = target.partition(":")
        name, _, method = names.partition(".")
        return cls.of(module), name, method

    def value(self, node: ast.expr) -> Any:
        """Evaluate an annotation or default value; names imported from other modules are looked up in their source."""
        known: dict[str, Any] = {}
        for part in ast.walk(node):
            if isinstance(part, ast.Name) and not hasattr(kinds, part.id) and not hasattr(typing, part.id):
                if part.id in self._assigned:
                    known[part.id] = self.value(self._assigned[part.id])
                elif part.id in self.imported:
                    module, _, name = self.imported[part.id].partition(":")
                    known[part.id] = _Source.of(module).value(ast.Name(name, ast.Load()))
        return _evaluated(node, vars(typing) | vars(kinds) | known)


def _file_of(module: str) -> Path:
    """Return the source file of a module, without importing parent packages if the module is part of polyadic."""
    place = Path(__file__).parents[2].joinpath(*module.split("."))
    for file in (place.with_suffix(".py"), place / "__init__.py"):
        if file.is_file():
            return file
    spec = find_spec(module)
    assert spec is not None and spec.origin is not None, f"no source of {module}"  # noqa: PT018
    return Path(spec.origin)


def _evaluated(node: ast.expr, known: Mapping[str, Any]) -> Any:
    expression = ast.fix_missing_locations(ast.Expression(node))
    return eval(compile(expression, "<declaration>", "eval"), dict(known))  # noqa: S307 # source of this package


def load_class(target: str | tuple[str, ...]) -> Any:
    """Import a class given as ``"module:Class"``, or a tuple of several classes."""
    if isinstance(target, tuple):
        return tuple(map(load_class, target))
    module, _, name = target.partition(":")
    return getattr(import_module(module), name)


def descriptions(doc: str | None) -> dict[str, tuple[str, str]]:
    r"""Parse the ``Parameters`` section of a numpydoc docstring; return the help sentence and default of each name.

    >>> descriptions("Add.\n\nParameters\n----------\na, b : int\n    Terms (default: all). More.")
    {'a': ('Terms.', 'all'), 'b': ('Terms.', 'all')}
    """
    return {
        name: _sentence(_without_markup(" ".join(entry.partition("\n")[2].split())))
        for name, entry in entries(doc).items()
    }


def _sentence(text: str) -> tuple[str, str]:
    """Return the first sentence of a description, and the default given in it as "(default: ...)"."""
    sentence = re.split(r"(?<=[^.\s][^.]\.)\s+(?=[A-Z`\"(-])", text, maxsplit=1)[0]
    default = re.search(r"\s*\(default: ([^()]*)\)", sentence)
    return (sentence.replace(default[0], ""), default[1]) if default else (sentence, "")


def _without_markup(text: str) -> str:
    """Convert reST roles and literals to plain text and remove formulas."""
    text = re.sub(r"\s*:math:`[^`]*`", "", text)
    text = re.sub(r":\w+:`[~\\]?(?:[\w.]*\.)?([\w]+)`", r"\1", text)
    return re.sub(r"``([^`]*)``", r"\1", text).replace("`", "")


def read_text(parameter: Parameter, text: str) -> Any:
    """Parse the value of a parameter from text, as passed by ``--set NAME=VALUE`` or HTTP.

    >>> read_text(Parameter("rank", kinds.Natural | None, None, ""), "8")
    8
    >>> read_text(Parameter("sizes", tuple[int, ...], (), ""), "1,2")
    (1, 2)
    >>> read_text(Parameter("width", int | list[int], 5, ""), "5/10")
    [5, 10]
    """
    for value in _readings(parameter.hint, text):
        if kinds.admits(parameter.hint, value):
            return value
    allowed = kinds.spelled(parameter.hint).replace("None", "none").replace("True or False", "true or false")
    allowed = re.sub(r"\ba (sequence|collection|tuple|list),", "a list separated by commas,", allowed)
    number = any(isinstance(value, int | float) for value in _readings(parameter.hint, text))
    raise InputError(f"{parameter.name} must be {allowed}; got {text if number else repr(text):.40}", parameter.name)


def _readings(hint: Any, text: str) -> Iterator[Any]:
    """Yield the values that a text may represent under a type annotation, in order of decreasing likelihood."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        yield from _readings(arguments[0], text)
    elif origin in UNIONS:
        for each in sorted(arguments, key=lambda kind: kind is str):
            yield from _readings(each, text)
    elif origin is Literal:
        yield from (choice for choice in arguments if str(choice) == text)
    elif origin in (tuple, list, Sequence, Collection):
        parts = [] if text in ("", "none") else text.split("/" if item(hint) in (int, float) and "/" in text else ",")
        values = [next(_readings(arguments[0], part.strip()), None) for part in parts]
        yield tuple(values) if origin is tuple else values
    elif (kind := origin or hint) in READERS:
        with contextlib.suppress(ValueError, KeyError):
            yield READERS[kind](text)


def readable(hint: Any) -> bool:
    """Return whether a value of the annotated type, other than None, can be parsed from text."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Annotated, tuple, list, Sequence, Collection):
        return readable(arguments[0])
    if origin in UNIONS:
        return any(readable(each) for each in arguments if each is not type(None))
    return origin is Literal or (origin or hint) in READERS


READERS: dict[Any, Callable[[str], Any]] = {
    int: int,
    float: float,
    str: str,
    Any: str,
    Hashable: str,
    Path: Path,
    bool: {"true": True, "yes": True, "false": False, "no": False}.__getitem__,
    type(None): {"none": None}.__getitem__,
}
"""How plain types are read."""


def first(hint: Any, kind: type[Any]) -> Any:
    """Return the first metadata item of a given type in an annotation, also searching the members of unions."""
    for part in (*getattr(hint, "__metadata__", ()), *get_args(hint)):
        if isinstance(part, kind):
            return part
        if get_args(part) and (found := first(part, kind)) is not None:
            return found
    return None


def plain(hint: Any) -> Any:
    """Simplify a type annotation to a type that typer supports."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return plain(arguments[0])
    if origin in UNIONS:
        return plain(next(each for each in arguments if each is not type(None)))
    return hint if origin is Literal or _fixed(hint) else origin or hint


def item(hint: Any) -> Any:
    """Return the item type of a collection annotation."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return item(arguments[0])
    if origin in UNIONS:
        some = [each for each in arguments if each is not type(None)]
        return item(next(filter(several, some), some[0]))
    return plain(arguments[0]) if arguments else str


def several(hint: Any) -> bool:
    """Return whether an annotation allows several items, as in a list or a tuple of variable length."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return several(arguments[0])
    if origin in UNIONS:
        return any(map(several, arguments))
    return (origin or hint) in (list, tuple, Sequence, Collection) and not _fixed(hint)


def _fixed(hint: Any) -> bool:
    """Return whether an annotation is a tuple of fixed length, whose items are separate command-line arguments."""
    return get_origin(hint) is tuple and get_args(hint)[1:] != (...,)
