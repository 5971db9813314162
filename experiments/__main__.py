"""Run a published experiment or a benchmark: ``python -m experiments NAME --out DIR``, ``... bench NAME``.

The options of an experiment are the fields of its ``Settings``; those of a benchmark are the parameters of its
function. Modules are imported only when their command is called.
"""

from __future__ import annotations

import ast
import inspect
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args, get_origin, get_type_hints

import typer
from typer.core import TyperCommand

from experiments import BENCHMARKS, EXPERIMENTS, load_experiment, source
from polyadic.core.errors import InputError
from polyadic.interface import errors, output

if TYPE_CHECKING:
    from collections.abc import Callable

    from experiments.experiment import Experiment, Option
    from polyadic.core.settings import Within

METAVARS = {str: "NAME,...", int: "N,...", float: "X,..."}
"""Placeholders of options that take several values, by type."""
EXAMPLE = "python -m experiments spectral --parts completion --planted 5 --out results"

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of tables.")]
Data = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR", help="The folder of test sets.", show_default="what POLYADIC_DATA names", rich_help_panel="Tests"
    ),
]
Out = Annotated[Path, typer.Option("--out", "-o", metavar="DIR", help="The folder to write.")]
Force = Annotated[bool, typer.Option("--force", "-f", help="Replace stages that were made with other settings.")]


class Benchmarks(errors.CommandGroup):
    """Benchmarks by name; their modules are imported when they are called."""

    names = BENCHMARKS

    def list_commands(self, _: Any) -> list[str]:
        """Return the names of the commands."""
        return list(self.names)

    def get_command(self, _: Any, cmd_name: str) -> Any:
        """Return a command with its help text but without its options."""
        return TyperCommand(cmd_name, help=_about(cmd_name)) if cmd_name in self.names else None

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command that is called, with its options."""
        name, command, rest = super().resolve_command(ctx, args)
        return name, command and self.load(str(name)), rest

    def load(self, name: str) -> Any:
        """Import a command."""
        return bench_command(name)


class Experiments(Benchmarks):
    """Experiments by name, and the group of benchmarks."""

    names = (*EXPERIMENTS, "bench")

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command with its help text but without its options."""
        return _group(Benchmarks, BENCH_HELP) if cmd_name == "bench" else super().get_command(ctx, cmd_name)

    def load(self, name: str) -> Any:
        """Import a command."""
        return _group(Benchmarks, BENCH_HELP) if name == "bench" else experiment_command(name)


HELP = (
    "Run a published experiment and write its report, or run a benchmark.\n\nMost experiments read published data sets"
    " from the folder that POLYADIC_DATA names and take minutes to hours. The example below needs no data and takes"
    " half a minute."
)
BENCH_HELP = "Run a benchmark and print its table.\n\nOptions that take several values take them between commas."


def _group(cls: type[errors.CommandGroup], text: str, **more: Any) -> Any:
    context = {"help_option_names": ["-h", "--help"]}
    group = typer.Typer(
        cls=cls, no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False, context_settings=context,
        help=text, **more,
    )  # fmt: skip
    group.callback()(lambda: None)
    if more:
        return group
    command = typer.main.get_command(group)
    command.name = "bench"
    return command


app = _group(Experiments, HELP, epilog=f"Example:\n\n{EXAMPLE}")


def experiment_command(name: str) -> Any:
    """Build the command of an experiment: an option for each setting that has one, with bounds, default and help."""
    chosen = load_experiment(name)
    parameters = _parameters(chosen)

    def run(ctx: typer.Context, **values: Any) -> None:
        given = {
            option: _read(values[option], _flag(option), hint)
            for option, hint in chosen.settings.hints().items()
            if option in values and ctx.get_parameter_source(option).name != "DEFAULT"  # type: ignore[union-attr]
        }
        common = {name: values[name] for name in ("out", "data", "force", "as_json")}
        _run(chosen, chosen.settings.given(given), parts=_names(values.pop(chosen.parts, "")), **common)

    ctx = inspect.Parameter("ctx", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context)
    source_ = "wiki.txt.xz " if _has_arguments(chosen) else ""
    text = f"{_about(name)}\n\nFinished stages stay in DIR, and the same command resumes there."
    return _command(
        {name: (_signed(run, [ctx, *parameters]), text)}, f"python -m experiments {name} {source_}--out results"
    )


def bench_command(name: str) -> Any:
    """Build the command of a benchmark from the signatures of its functions: ``main``, or each of ``COMMANDS``."""
    module = import_module(f"experiments.bench.{name}")
    functions = {each.__name__.replace("_", "-"): each for each in getattr(module, "COMMANDS", ())}
    text = "\n\n".join(inspect.cleandoc(module.__doc__ or "").split("\n\n"))
    if not functions:
        return _command({name: (_bench(module.main), text)})
    return _command({each: (_bench(function), _first(function)) for each, function in functions.items()}, help=text)


def _bench(function: Callable[..., None]) -> Callable[..., None]:
    """Return a function for typer with the parameters of a benchmark: positional ones are arguments, others options."""
    from experiments.experiment import Argument, Option, option_of
    from polyadic.core.settings import check_setting

    signature, hints = inspect.signature(function).parameters, get_type_hints(function, include_extras=True)
    parameters = []
    for name, parameter in signature.items():
        kind = Option if parameter.kind is inspect.Parameter.KEYWORD_ONLY else Argument
        parameters.append(_setting(name, hints[name], option_of(hints[name]) or kind(), parameter.default))

    def run(**values: Any) -> None:
        read = {}
        for name, hint in hints.items():
            if name in signature:
                value = _read(values[name], _flag(name), hint)
                read[name] = value if value or not isinstance(value, tuple) else _default(signature[name])
                check_setting(name, read[name], hint)
        function(**read)

    return _signed(run, parameters)


def _default(parameter: inspect.Parameter) -> Any:
    return () if parameter.default is parameter.empty else parameter.default


def _first(function: Any) -> str:
    return (function.__doc__ or "").partition("\n")[0]


def _signed(function: Any, parameters: list[inspect.Parameter]) -> Any:
    function.__signature__ = inspect.Signature(parameters)
    function.__annotations__ = {each.name: each.annotation for each in parameters}
    return function


def _command(functions: dict[str, tuple[Any, str]], example: str = "", **group: Any) -> Any:
    alone = typer.Typer(add_completion=False, **group)
    for name, (function, text) in functions.items():
        alone.command(name, cls=errors.Command, help=text, epilog=example and f"Example:\n\n{example}")(function)
    return typer.main.get_command(alone)


def _run(
    chosen: Experiment[Any], settings: Any, *, parts: Any, out: Path, data: Any, force: bool, as_json: bool
) -> None:
    """Run an experiment and print the names of its reports."""
    from experiments.experiment import run_experiment

    how = {"root": data, "force": force, "steps": output.Steps(silent=as_json), "warn": errors.say}
    with errors.keeping(errors.stages_in(out)):
        report = run_experiment(chosen, out, settings=settings, parts=parts, **how)
    if as_json:
        output.in_json(report)
        return
    figures = f" and figures in {out / 'figures'}" if (out / "figures").is_dir() else ""
    typer.echo(f"wrote {out / 'report.md'}, {out / 'report.json'}{figures}")


def _about(name: str) -> str:
    """Return the first paragraph of a command's module docstring, without importing the module."""
    text = ast.get_docstring(ast.parse(source(name).read_text(encoding="utf-8"))) or ""
    return " ".join(text.partition("\n\n")[0].split())


def _has_arguments(chosen: Experiment[Any]) -> bool:
    from experiments.experiment import Argument, option_of

    return any(isinstance(option_of(hint), Argument) for hint in chosen.settings.hints().values())


def _parameters(chosen: Experiment[Any]) -> list[inspect.Parameter]:
    """Return the parameters of an experiment's command: its settings, and those that all experiments share."""
    from experiments.experiment import option_of

    made = [_parameter("out", Out)]
    if {*chosen.stages} != {""}:
        default = "the main part" if "" in chosen.stages else "all"
        named = ", ".join(filter(None, chosen.stages))
        about = typer.Option(metavar="NAME,...", help=f"Some of {named}.", show_default=default)
        made.append(_parameter(chosen.parts, Annotated[str, about], ""))
    for name, hint in chosen.settings.hints().items():
        option = option_of(hint)
        if option:
            made.append(_setting(name, hint, option, chosen.settings.__dataclass_fields__[name].default))
    made += [_parameter("data", Data, None), _parameter("force", Force, default=False)]
    return [*made, _parameter("as_json", AsJson, default=False)]


def _parameter(name: str, annotation: Any, default: Any = inspect.Parameter.empty) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=annotation, default=default)


def _setting(name: str, hint: Any, option: Option, default: Any) -> inspect.Parameter:
    """Return an option or an argument for a setting or a parameter."""
    from experiments.experiment import Argument, item

    each, kind, empty = item(hint), _kind(hint), inspect.Parameter.empty
    how: dict[str, Any] = {"help": option.help or None, "show_default": option.shown or True}
    if each is None:
        bounds = _bounds(hint)
        if bounds and kind in (int, float):
            how |= {"min": bounds.low, "max": bounds.high}
        type_: Any = kind | None if default is None else kind
    elif _repeated(option, kind):
        type_, default = list[kind] | None, None if default is not empty else empty  # type: ignore[valid-type]
    else:
        type_, how["metavar"] = str, METAVARS[kind]
        if default is not empty:
            default = ",".join(f"{part:g}" if kind is float else str(part) for part in default)
            if _all_of(each) == default:
                default, how["show_default"] = "", "all"
    if option.metavar:
        how["metavar"] = option.metavar
    if isinstance(option, Argument):
        how.pop("show_default")
        return _parameter(name, Annotated[type_, typer.Argument(**how)], empty if default == "" else default)
    flags = [option.flag] if option.flag else [_flag(name)] if kind is bool else []
    return _parameter(name, Annotated[type_, typer.Option(*flags, rich_help_panel=option.panel, **how)], default)


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _repeated(option: Option, kind: Any) -> bool:
    """Return whether the option is repeated for each value instead of taking values between commas."""
    from experiments.experiment import Argument

    return kind is Path or isinstance(option, Argument) or bool(option.flag)


def _all_of(each: Any) -> str:
    """Return all names that a setting may take, joined by commas; empty if it does not take names."""
    choices = get_args(each) if get_origin(each) is Literal else ()
    return ",".join(choices) if all(isinstance(choice, str) for choice in choices) else ""


def _kind(hint: Any) -> Any:
    """Return the plain type of a setting, or of its items."""
    if get_origin(hint) is Literal:
        return type(get_args(hint)[0])
    return hint if isinstance(hint, type) and not get_args(hint) else _kind(get_args(hint)[0])


def _bounds(hint: Any) -> Within | None:
    """Return the bounds of a number, or None."""
    from polyadic.core.settings import Within

    for part in (*getattr(hint, "__metadata__", ()), *get_args(hint)):
        if isinstance(part, Within):
            return part
        if get_args(part) and (bounds := _bounds(part)):
            return bounds
    return None


def _names(text: str) -> tuple[str, ...]:
    """Read what stands between commas."""
    return tuple(name.strip() for name in text.split(",") if name.strip())


def _numbers(flag: str, text: str, read: Callable[[str], Any]) -> tuple[Any, ...]:
    """Read numbers between commas; ``none`` is none of them."""
    try:
        return tuple(read(part) for part in text.split(",")) if text != "none" else ()
    except ValueError:
        raise InputError(f"{flag} takes numbers between commas, or none; got {text!r}") from None


def _read(value: Any, flag: str, hint: Any) -> Any:
    """Return the value of a setting from its command-line form."""
    from experiments.experiment import item

    kind = _kind(hint)
    if item(hint) is None:
        return value
    if isinstance(value, str):
        return _names(value) if kind is str else _numbers(flag, value, kind)
    return tuple(value or ())


if __name__ == "__main__":
    app(prog_name="python -m experiments")
