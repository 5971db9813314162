"""Run a published experiment: ``python -m experiments NAME --out DIR``.

Each experiment is a subcommand whose options are the fields of its ``Settings``. An experiment is imported only when
its subcommand is called.
"""

from __future__ import annotations

import ast
import inspect
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args, get_origin

import typer
from typer.core import TyperCommand

from experiments import SUITES, load_suite, source
from polyadic.cli import options as o
from polyadic.interface import errors, output

if TYPE_CHECKING:
    from experiments.experiment import Option, Suite
    from polyadic.core.settings import Within

GOES_ON = "Finished stages stay in DIR, and the same command goes on from there."
METAVARS = {str: "NAME,...", int: "N,...", float: "X,..."}
"""Of options that take several, by what they are."""

Force = Annotated[bool, typer.Option("--force", "-f", help="Replace what was made with other settings.")]


class Suites(errors.Verbs):
    """The suites by name; of one that is not called only the help is known."""

    def list_commands(self, _: Any) -> list[str]:
        """Name the suites."""
        return list(SUITES)

    def get_command(self, _: Any, cmd_name: str) -> TyperCommand | None:
        """Give what a suite's command is for, without its options."""
        return TyperCommand(cmd_name, help=_about(cmd_name)) if cmd_name in SUITES else None

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Make the command that is called."""
        name, command, rest = super().resolve_command(ctx, args)
        return name, command and suite_command(str(name)), rest


FIRST = "python -m experiments spectral --parts completion --planted 5 --out results"
"""An example that needs neither a text nor published sets."""
app = typer.Typer(
    cls=Suites,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Run a published experiment and write its report.\n\nMost experiments read published data sets from "
    "the folder that POLYADIC_DATA names and take minutes to hours. The example below needs none and takes half "
    "a minute.",
    epilog=f"Example:\n\n{FIRST}",
)


@app.callback()
def _reproduce() -> None:
    pass


def suite_command(name: str) -> Any:
    """Make the command of a suite: an option for each setting that has one, with its bounds, default and help."""
    chosen = load_suite(name)
    parameters = _parameters(chosen)
    flags = {parameter.name: f"--{parameter.name.replace('_', '-')}" for parameter in parameters}

    def reproduce(ctx: typer.Context, **values: Any) -> None:
        given = {
            option: _read(values[option], flags[option], hint)
            for option, hint in chosen.settings.hints().items()
            if option in values and ctx.get_parameter_source(option).name != "DEFAULT"  # type: ignore[union-attr]
        }
        _run(chosen, chosen.settings.given(given), parts=o.names(values.pop(chosen.parts, "")), **_common(values))

    ctx = inspect.Parameter("ctx", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context)
    reproduce.__signature__ = inspect.Signature([ctx, *parameters])  # type: ignore[attr-defined]
    reproduce.__annotations__ = {each.name: each.annotation for each in (ctx, *parameters)}
    example = f"python -m experiments {name} {'wiki.txt.xz ' if _arguments(chosen) else ''}--out results"
    alone = typer.Typer(add_completion=False)
    texts: Any = {"help": f"{_about(name)}\n\n{GOES_ON}", "epilog": f"Example:\n\n{example}"}
    alone.command(name, cls=errors.Verb, **texts)(reproduce)
    return typer.main.get_command(alone)


def _common(values: dict[str, Any]) -> dict[str, Any]:
    return {name: values[name] for name in ("out", "data", "force", "as_json")}


def _run(chosen: Suite[Any], settings: Any, *, parts: Any, out: Path, data: Any, force: bool, as_json: bool) -> None:
    """Run a suite, and say what it wrote."""
    from experiments.experiment import run_suite

    how = {"root": data, "force": force, "steps": output.Steps(silent=as_json), "tell": errors.say}
    with errors.keeping(errors.stages_in(out)):
        report = run_suite(chosen, out, settings=settings, parts=parts, **how)
    if as_json:
        output.in_json(report)
        return
    pictures = f" and pictures in {out / 'figures'}" if (out / "figures").is_dir() else ""
    typer.echo(f"wrote {out / 'report.md'}, {out / 'report.json'}{pictures}")


def _about(name: str) -> str:
    """Give the first paragraph of what a suite says of itself, without importing it."""
    text = ast.get_docstring(ast.parse(source(name).read_text(encoding="utf-8"))) or ""
    return " ".join(text.partition("\n\n")[0].split())


def _arguments(chosen: Suite[Any]) -> list[str]:
    from experiments.experiment import Argument, option_of

    return [name for name, hint in chosen.settings.hints().items() if isinstance(option_of(hint), Argument)]


def _parameters(chosen: Suite[Any]) -> list[inspect.Parameter]:
    """Give the parameters of a command: its settings between the folder to write and what all suites share."""
    from experiments.experiment import option_of

    made = [_parameter("out", o.Out)]
    if "" not in chosen.stages:
        about = typer.Option(metavar="NAME,...", help=f"Of {', '.join(chosen.stages)}.", show_default="all")
        made.append(_parameter(chosen.parts, Annotated[str, about], ""))
    for name, hint in chosen.settings.hints().items():
        option = option_of(hint)
        if option:
            default = chosen.settings.__dataclass_fields__[name].default
            made.append(_setting(name, hint, option, default))
    made += [_parameter("data", o.Data, None), _parameter("force", Force, default=False)]
    return [*made, _parameter("as_json", o.AsJson, default=False)]


def _parameter(name: str, annotation: Any, default: Any = inspect.Parameter.empty) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=annotation, default=default)


def _setting(name: str, hint: Any, option: Option, default: Any) -> inspect.Parameter:
    """Make an option, or an argument, of a setting."""
    from experiments.experiment import Argument, item

    each, kind = item(hint), _kind(hint)
    how: dict[str, Any] = {"help": option.help, "show_default": option.shown or True}
    if each is None:
        bounds = _bounds(hint)
        if bounds and kind in (int, float):
            how |= {"min": bounds.low, "max": bounds.high}
        type_: Any = kind | None if default is None else kind
    elif _repeated(option, kind):
        type_, default = list[kind] | None, None  # type: ignore[valid-type] # typer reads it
    else:
        type_, how["metavar"] = str, METAVARS[kind]
        default = ",".join(f"{part:g}" if kind is float else str(part) for part in default)
        if _all_of(each) == default:
            default, how["show_default"] = "", "all"
    if option.metavar:
        how["metavar"] = option.metavar
    if isinstance(option, Argument):
        if each is None:
            default = inspect.Parameter.empty
        how.pop("show_default")
        return _parameter(name, Annotated[type_, typer.Argument(**how)], default)
    flags = [option.flag] if option.flag else [f"--{name}"] if kind is bool else []
    return _parameter(name, Annotated[type_, typer.Option(*flags, rich_help_panel=option.panel, **how)], default)


def _repeated(option: Option, kind: Any) -> bool:
    """Tell whether an option is given again for each of several, not once with commas."""
    from experiments.experiment import Argument

    return kind is Path or isinstance(option, Argument) or bool(option.flag)


def _all_of(each: Any) -> str:
    """Write all names that a setting may take, where it takes names."""
    choices = get_args(each) if get_origin(each) is Literal else ()
    return ",".join(choices) if all(isinstance(choice, str) for choice in choices) else ""


def _kind(hint: Any) -> Any:
    """Give the plain type of a setting, or of each of several."""
    if get_origin(hint) is Literal:
        return type(get_args(hint)[0])
    return hint if isinstance(hint, type) and not get_args(hint) else _kind(get_args(hint)[0])


def _bounds(hint: Any) -> Within | None:
    """Give the bounds of a number."""
    from polyadic.core.settings import Within

    for part in (*getattr(hint, "__metadata__", ()), *get_args(hint)):
        if isinstance(part, Within):
            return part
        if get_args(part) and (bounds := _bounds(part)):
            return bounds
    return None


def _read(value: Any, flag: str, hint: Any) -> Any:
    """Give a setting of what was written for it."""
    from experiments.experiment import item

    kind = _kind(hint)
    if item(hint) is None:
        return value
    if isinstance(value, str):
        return o.names(value) if kind is str else o.numbers(flag, value, kind)
    return tuple(value or ())


if __name__ == "__main__":
    app(prog_name="python -m experiments")
