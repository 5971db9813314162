"""Command-line interface with the commands of all tasks."""

import platform
import signal
from collections.abc import Callable
from dataclasses import replace
from importlib.metadata import version as distribution
from typing import Annotated, Any

import typer

from polyadic.cli.task import TASK as START
from polyadic.completion.coupled.task import TASK as DATABASE
from polyadic.completion.task import TASK as COMPLETE
from polyadic.core.version import __version__
from polyadic.explore.task import TASK as EXPLORE
from polyadic.interface.command_line import add_command
from polyadic.interface.command_line import group as commands_of
from polyadic.interface.errors import CommandGroup
from polyadic.interface.task import Task
from polyadic.ranking.task import TASK as RERANK
from polyadic.relations.task import TASK as RELATIONS
from polyadic.sentences.task import CLASSIFY, SENTENCES
from polyadic.sequences.task import AUTOMATON, HMM
from polyadic.supervised.task import LABELS
from polyadic.supervised.task import TASK as MACHINE
from polyadic.syntax.tasks.parse import TASK as PARSE
from polyadic.syntax.tasks.roles import TASK as ROLES
from polyadic.syntax.tasks.tag import TASK as TAG
from polyadic.tables.task import TASK as TABLE
from polyadic.text.task import TASK as TEXT
from polyadic.text.usage_task import TASK as USAGE
from polyadic.topics.task import TASK as TOPICS
from polyadic.words.substitution_task import TASK as SUBSTITUTES
from polyadic.words.task import COUNTING
from polyadic.words.task import TASK as WORDS

LIBRARIES = ("numpy", "scipy", "scikit-learn", "numba")
TRY = """Three things to try:

  polyadic example
      writes a book, tables, facts and trees, on which the example at the end of each --help runs
  polyadic explore TEXT
      shows a text of yours in a browser: senses, lines, topics, a map
  polyadic complete train RATINGS.csv --out model
      learns a table of yours that has gaps: what is missing, and how sure that is

All commands: polyadic --help
"""
TASKS = {
    "Start": (START, EXPLORE),
    "Words": (WORDS,),
    "Text": (TEXT, USAGE, COUNTING),
    "Tables and relations": (TABLE,),
}
"""Tasks whose commands have no group."""
EXAMPLES = {verb.name: verb.example for tasks in TASKS.values() for task in tasks for verb in task.verbs.values()}
"""Examples of the commands that have no group, by name."""
FAMILIES: dict[str, dict[str, Task]] = {
    "Words": {"substitutes": SUBSTITUTES},
    "Text": {"topics": TOPICS, "sentences": SENTENCES, "classify": CLASSIFY},
    "Tables and relations": {
        "complete": COMPLETE,
        "database": DATABASE,
        "relations": RELATIONS,
        "labels": LABELS,
        "machine": MACHINE,
        "rerank": RERANK,
    },
    "Syntax and sequences": {"tag": TAG, "parse": PARSE, "roles": ROLES, "automaton": AUTOMATON, "hmm": HMM},
}
"""Tasks whose commands are groups."""
GROUPS = {panel: {name: commands_of(task) for name, task in tasks.items()} for panel, tasks in FAMILIES.items()}
"""Commands with commands of their own."""
PANELS = ("Start", "Words", "Text", "Tables and relations", "Syntax and sequences")  # headings of the list of commands
ORDER = (
    *("example", "explore", "demo", "serve"),
    *("train", "neighbours", "phrase", "senses", "components", "evaluate", "compare", "convert"),
    *("corpus", "lines", "words", "ngrams", "collocates", "keywords", "diversity", "trends", "barcode"),
    *("count", "plan", "check", "table"),
)
"""Commands that have no group, as they are listed."""

app = typer.Typer(
    name="polyadic",
    cls=CommandGroup,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Example:\n\npolyadic example\n\npolyadic explore example/holmes",
)
for panel in PANELS:
    verbs = [(verb, task) for task in TASKS.get(panel, ()) for verb in task.verbs.values()]
    for verb, task in sorted(verbs, key=lambda pair: ORDER.index(pair[0].name)):
        add_command(app, verb, task.model, panel=panel)
    for name, group in GROUPS.get(panel, {}).items():
        app.add_typer(group, name=name, rich_help_panel=panel)
add_command(app, replace(WORDS.verbs["neighbours"], word="neighbors"), hidden=True)


def questions_to(model: object) -> dict[str, Callable[..., Any]]:
    """Return the query commands that apply to a model, as a dict from command name to function."""
    classes = {f"{each.__module__}:{each.__name__}" for each in type(model).__mro__}
    tasks = [task for panel in FAMILIES.values() for task in panel.values()]
    return {
        verb.name: verb.function
        for task in (*tasks, *(below for task in tasks for below in task.groups.values()))
        if classes & {*((task.model,) if isinstance(task.model, str) else task.model)}
        for verb in task.verbs.values()
        if verb.question
    }


def _show_version(wanted: bool) -> None:  # noqa: FBT001 typer calls it
    if wanted:
        of = ", ".join(f"{library} {distribution(library)}" for library in LIBRARIES)
        typer.echo(f"polyadic {__version__} (Python {platform.python_version()}, {of})")
        raise typer.Exit


VERSIONS = "Show the versions of polyadic and of the libraries it uses."
Version = Annotated[bool, typer.Option("--version", callback=_show_version, is_eager=True, help=VERSIONS)]


@app.callback(invoke_without_command=True)
def polyadic(ctx: typer.Context, *, version: Version = False) -> None:
    """Matrix and tensor factorization of language: word vectors, senses, topics, relations and incomplete tables."""
    del version  # its callback has shown it
    if ctx.invoked_subcommand is None:
        typer.echo(TRY, nl=False)


def main() -> None:
    """Run the command line with the arguments in ``sys.argv``."""
    try:
        app(prog_name="polyadic")
    finally:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN)
