"""Command-line interface derived from tasks: options, ``--set``, ``--help-all``, ``--json``, and output."""

from __future__ import annotations

import functools
import inspect
import re
import shutil
import textwrap
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from polyadic.core.errors import InputError
from polyadic.core.resources import MAX_THREADS, MIN_MEMORY, memory_limit
from polyadic.core.settings import Metavar, Repeated, Within, spelled
from polyadic.interface import output
from polyadic.interface import task as tasks
from polyadic.interface.errors import Command, interrupted, say
from polyadic.interface.run import Interrupted
from polyadic.interface.task import NONE, Parameter, Task, Verb

SHORT = {"out": "-o", "top": "-n", "number": "-n", "force": "-f"}
"""One-letter flags; of two parameters with one flag, the first in this order has it."""
UNITS = {"K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}


def in_bytes(text: str) -> int:
    """Parse a size such as ``4G`` or ``512M`` and return the number of bytes."""
    number, unit = (text[:-1], UNITS[text[-1].upper()]) if text[-1:].upper() in UNITS else (text, 1)
    try:
        size = int(float(number) * unit)
    except (ValueError, OverflowError):
        size = 0
    if size < 1:
        raise typer.BadParameter(f"the size must be a positive number with or without K, M, G or T; got {text!r}")
    return size


ON_CLUSTER: dict[str, Any] = {"rich_help_panel": "A Dask cluster", "hidden": True}
SCHEDULER = "Address of a Dask scheduler, such as tcp://10.0.0.1:8786, or path of a scheduler file."
Scheduler = Annotated[str | None, typer.Option(metavar="ADDRESS", help=SCHEDULER, **ON_CLUSTER)]
LOCAL = "Number of processes of a local Dask cluster to start."
Workers = Annotated[str | None, typer.Option(metavar="N", help=LOCAL, **ON_CLUSTER)]
WORKERS = Parameter("workers", Annotated[int, Within(1, MAX_THREADS)], None)
MEMORY: dict[str, Any] = {"help": "Memory limit of the command, such as 4G.", "show_default": "none", "hidden": True}
MemoryOfAll = Annotated[Any, typer.Option("--memory", parser=in_bytes, metavar="SIZE", **MEMORY)]
JSON = Parameter("as_json", bool, default=False, help="Print the result as JSON.")
FORCE = Parameter("force", bool, default=False, help="Overwrite the output file or folder if it exists.")


def group(task: Task) -> typer.Typer:
    """Create the typer command group of a task, including nested groups."""
    app = typer.Typer(no_args_is_help=True, help=task.about)
    for verb in task.verbs.values():
        add_command(app, verb, task.model)
    for name, below in task.groups.items():
        app.add_typer(group(below), name=name)
    return app


def add_command(
    app: typer.Typer, verb: Verb, model: str | tuple[str, ...] = "", *, panel: str | None = None, hidden: bool = False
) -> None:
    """Add the command of a task function to a command group."""
    command, settings = _command(verb, model)
    if verb.distributed:
        command = distributed(command)
    about = inspect.cleandoc(verb.function.__doc__ or "").partition("\nParameters\n")[0]
    paragraphs = "\n\n".join(" ".join(paragraph.split()) for paragraph in about.split("\n\n"))
    how: dict[str, Any] = {"help": paragraphs, "epilog": f"Example:\n\n{verb.example}", "rich_help_panel": panel}
    kind = type(Command.__name__, (Command,), {"settings": settings})
    app.command(verb.name, cls=kind, hidden=hidden, **how)(bounded(command))


def _command(verb: Verb, model: str | tuple[str, ...]) -> tuple[Callable[..., None], Collection[str]]:
    """Create the typer function of a command; return the function and the settings that ``--set`` accepts."""
    every = tasks.parameters(verb.function)
    own = [each for each in every if each.name != "force" and each.name not in verb.settings]
    loaded = model if own[:1] and own[0].name == "model" else ""
    if loaded:
        own[0] = Parameter(
            "model", Annotated[Path, Metavar("MODEL")], NONE, "Folder of a saved model.", positional=True
        )
    names = {each.name for each in own} | {*verb.fixed}
    groups = {
        name: {each: _described_by(verb, setting) for each, setting in _fields(targets).items() if each not in names}
        for name, targets in verb.settings.items()
    }
    by_name = {each.name: each for each in own} | {
        name: each for group in groups.values() for name, each in group.items()
    }
    shown = [each for each in own if each.positional or each.default is NONE or not verb.options]
    shown += [by_name[name] for name in verb.options]
    settable = {name: each for name, each in by_name.items() if each not in shown or each not in own}
    named = {name: each for name, each in by_name.items() if not each.positional}  # --set takes listed options, too
    forced = any(each.name == "force" for each in every)

    def run(ctx: typer.Context, **values: Any) -> None:
        sources = {each.name: ctx.get_parameter_source(each.name) for each in shown}
        typed = {name for name, source in sources.items() if source is not None and source.name == "COMMANDLINE"}
        given = {each.name: _value(each, values[each.name]) for each in shown if each.name in typed}
        given |= _set(values.get("set_", ()), named, given)
        if forced:
            given["force"] = values["force"]
        try:
            for name, group in reversed(groups.items()):
                chosen = {each: given.pop(each) for each in group if each in given}
                given[name] = _made(verb.settings[name], chosen, group)
            if loaded:
                from polyadic.core.serialization import load

                given["model"] = load(given["model"], tasks.load_class(loaded))
            output.result(verb.function(**given), as_json=values.get("as_json", False), printed=verb.show)
        except Interrupted as error:
            raise interrupted(kept=error.kept) from None

    shown.sort(key=lambda each: (not each.positional, each.default is not NONE))
    taken = {each.name for each in shown}
    signature = [_typed(each, short=_short(each.name, taken)) for each in shown]
    if settable:
        about = "Set any setting by name; --help-all lists all settings."
        option = typer.Option("--set", metavar="NAME=VALUE", help=about, show_default=False)
        signature.append(_keyword("set_", [], Annotated[list[str], option]))
    if forced:
        signature.append(_typed(FORCE, short=SHORT["force"]))
    if verb.json:
        signature.append(_typed(JSON, flag="--json"))
    signature.append(_typed_help_all(settable))
    context = inspect.Parameter("ctx", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context)
    run.__signature__ = inspect.Signature([context, *signature])  # type: ignore[attr-defined]
    run.__annotations__ = {each.name: each.annotation for each in (context, *signature)}
    run.__name__ = verb.name
    return run, settable


def _fields(targets: str | tuple[str, ...]) -> dict[str, Parameter]:
    """Return the settings of one or several classes by name, merging settings that several classes share.

    A shared setting has the union of all types, the description of the last class, and all defaults that differ.
    """
    classes = targets if isinstance(targets, tuple) else (targets,)
    every = [each for target in classes for each in tasks.fields_of(target) if tasks.readable(each.hint)]
    found: dict[str, Parameter] = {}
    for each in every:
        known = found.get(each.name, each).hint
        found[each.name] = each if known == each.hint else replace(each, hint=each.hint | known)
    for name, each in found.items():
        same = [other.default for other in reversed(every) if other.name == name and other.default is not None]
        if len({*map(str, same)}) > 1 and not each.shown_default:
            found[name] = replace(each, shown_default=" or ".join(dict.fromkeys(map(str, same))))
    return found


def _described_by(verb: Verb, setting: Parameter) -> Parameter:
    """Replace the description of a setting by the description in the docstring of the command, if there is one."""
    help_, shown = tasks.descriptions(verb.function.__doc__).get(setting.name, (setting.help, setting.shown_default))
    return replace(setting, help=help_, shown_default=shown)


def _made(targets: str | tuple[str, ...], given: dict[str, Any], known: dict[str, Parameter]) -> Any:
    """Create an instance of a class from the given settings, or return the settings of several classes or a method."""
    if isinstance(targets, str) and "." in targets.partition(":")[2]:
        return {name: each.default for name, each in known.items()} | given
    if "seed" in known and known["seed"].default is None:
        given = {"seed": 0} | given  # a command repeated gives the same result
    return given if isinstance(targets, tuple) else tasks.load_class(targets)(**given)


def _set(texts: Sequence[str], settable: dict[str, Parameter], given: dict[str, Any]) -> dict[str, Any]:
    """Parse the values given as ``--set NAME=VALUE``."""
    read: dict[str, Any] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        name = name.strip().replace("-", "_")
        if not equals or name not in settable:
            raise InputError(
                f"--set requires NAME=VALUE, where NAME is one of {', '.join(sorted(settable))}; got {text!r:.60}"
            )
        if name in given or name in read:
            raise InputError(f"{name} must be given only once", name)
        read[name] = tasks.read_text(settable[name], value)
    return read


def _value(parameter: Parameter, value: Any) -> Any:
    """Convert a command-line value to a parameter type that typer does not support."""
    if not tasks.several(parameter.hint) and not _is_number(parameter):
        return value
    if isinstance(value, str):
        return tasks.read_text(parameter, value)
    return [*map(Path, value)] if tasks.item(parameter.hint) is Path else value


def _is_number(parameter: Parameter) -> bool:
    """Return whether a parameter is a single number, which is parsed without typer for clearer error messages."""
    return not tasks.several(parameter.hint) and tasks.plain(parameter.hint) in (int, float)


def _short(name: str, taken: set[str]) -> str:
    """Return the one-letter flag of a parameter, or an empty string if another parameter has the flag."""
    flag = SHORT.get(name, "")
    return flag if flag and next(each for each in SHORT if SHORT[each] == flag and each in taken) == name else ""


def _typed(parameter: Parameter, *, flag: str = "", short: str = "") -> inspect.Parameter:
    """Create the typer argument or option of a parameter."""
    default, annotation, how = parameter.default, tasks.plain(parameter.hint), _described(parameter)
    if parameter.name == "memory":
        return _keyword("memory", None, MemoryOfAll)
    if tasks.several(parameter.hint):
        annotation = list[str] if parameter.positional or tasks.first(parameter.hint, Repeated) else str
    elif _is_number(parameter):
        annotation = str
    if default is None:
        annotation = annotation | None
    elif isinstance(default, tuple | list):
        default = ",".join(map(str, default))
    made: Any
    if parameter.positional:
        made = typer.Argument(**how)
    else:
        long = flag or f"--{parameter.name.rstrip('_').replace('_', '-')}"
        switch = f"{long}/--no-{long[2:]}" if default is True else long
        made = typer.Option(*filter(None, (switch, short)), **how)
    return _keyword(parameter.name, default, Annotated[annotation, made])


def _described(parameter: Parameter) -> dict[str, Any]:
    """Return the typer settings of a parameter: help text, bounds, placeholder and shown default."""
    how: dict[str, Any] = {"help": parameter.help.replace("[", "\\[")}  # not markup of rich
    bounds, metavar = (tasks.first(parameter.hint, kind) for kind in (Within, Metavar))
    if bounds is not None and _is_number(parameter):
        how |= {"min": bounds.low, "max": bounds.high}
    if metavar is not None:
        how["metavar"] = metavar.name
    elif parameter.positional:
        how["metavar"] = parameter.name.upper()
    elif _is_number(parameter):
        how["metavar"] = "N" if tasks.plain(parameter.hint) is int else "X"
    elif tasks.several(parameter.hint):
        how["metavar"] = {int: "N[,N...]", float: "X[,X...]"}.get(tasks.item(parameter.hint), "NAME,...")
    if parameter.shown_default or parameter.default is None:
        how["show_default"] = parameter.shown_default or False
    return how


def _typed_help_all(settable: dict[str, Parameter]) -> inspect.Parameter:
    def show_all(ctx: typer.Context, wanted: bool) -> None:  # noqa: FBT001 # typer calls it
        if not wanted:
            return
        hidden = [each for each in ctx.command.params if getattr(each, "hidden", False)]
        for each in hidden:
            each.hidden = False  # type: ignore[attr-defined] # options have it
        typer.echo(ctx.get_help())
        if settable:
            typer.echo("All settings, for --set NAME=VALUE:\n")
        width, indent = shutil.get_terminal_size().columns, " " * 6
        for setting in settable.values():
            default = f"default: {setting.shown_default or _as_typed(str(setting.default))}"
            about = "required" if setting.default is NONE else default
            typer.echo(f"  {setting.name}: {_as_typed(spelled(setting.hint))} ({about})")
            lines = textwrap.wrap(setting.help, width - len(indent), break_on_hyphens=False)
            typer.echo(textwrap.indent("\n".join(lines), indent))
        raise typer.Exit

    text = "Show the full help with all options and settings, and exit."
    option = typer.Option("--help-all", callback=show_all, is_eager=True, help=text)
    return _keyword("help_all", False, Annotated[bool, option])


def _keyword(name: str, default: Any, annotation: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _as_typed(text: str) -> str:
    """Replace the Python values None, True and False in a text by the words that are typed on the command line."""
    return re.sub(r"\b(None|True|False)\b", lambda value: value[0].lower(), text)


def distributed(verb: Callable[..., None]) -> Callable[..., None]:
    """Add the options ``--scheduler`` and ``--workers``, which run a command on a Dask cluster."""

    @functools.wraps(verb)
    def run(*arguments: Any, scheduler: str | None = None, workers: str | None = None, **options: Any) -> None:
        if scheduler is None and workers is None:
            verb(*arguments, **options)
            return
        if scheduler is not None and workers is not None:
            raise InputError(
                "--scheduler and --workers cannot be combined; use --scheduler for an existing cluster, or --workers to"
                " start local processes"
            )
        from polyadic.core.executor.dask import working_on

        with working_on(scheduler, workers=None if workers is None else tasks.read_text(WORKERS, workers)) as team:
            verb(*arguments, **options)
        if not team.used:
            say("no step ran on the cluster; everything was computed locally", "note")

    return _with_options(run, verb, {"scheduler": Scheduler, "workers": Workers})


def _with_options(run: Callable[..., None], verb: Callable[..., None], extra: Mapping[str, Any]) -> Callable[..., None]:
    """Copy the signature of a command to a function that wraps the command, with additional options."""
    signature = inspect.signature(verb, eval_str=True)
    more = [_keyword(name, None, annotation) for name, annotation in extra.items()]
    run.__signature__ = signature.replace(  # type: ignore[attr-defined]
        parameters=[*signature.parameters.values(), *more]
    )
    run.__annotations__ = {**verb.__annotations__, **extra}
    return run


def bounded(verb: Callable[..., None]) -> Callable[..., None]:
    """Limit the memory use of a command with the option ``--memory``."""
    plans = "memory" in inspect.signature(verb).parameters

    @functools.wraps(verb)
    def run(*arguments: Any, memory: int | None = None, **options: Any) -> None:
        with memory_limit(memory, enforced=not plans or memory is None or memory >= MIN_MEMORY):
            verb(*arguments, **options, **({"memory": memory} if plans else {}))

    return _with_options(run, verb, {} if plans else {"memory": MemoryOfAll})
