"""The command line: one file per verb, each of which calls the library and shows what came back."""

import platform
import signal
from collections.abc import Callable
from importlib.metadata import version as distribution
from typing import Annotated

import typer

from polyadic.cli.check import check
from polyadic.cli.components import components
from polyadic.cli.convert import convert
from polyadic.cli.corpus import corpus
from polyadic.cli.count import count
from polyadic.cli.database import app as database
from polyadic.cli.demo import demo
from polyadic.cli.evaluate import compare, evaluate
from polyadic.cli.example import example
from polyadic.cli.explore import explore
from polyadic.cli.lines import lines
from polyadic.cli.machine import app as machine
from polyadic.cli.neighbours import neighbours
from polyadic.cli.parse import app as parse
from polyadic.cli.phrase import phrase
from polyadic.cli.plan import plan
from polyadic.cli.relations import app as relations
from polyadic.cli.rerank import app as rerank
from polyadic.cli.roles import app as roles
from polyadic.cli.senses import senses
from polyadic.cli.table import table
from polyadic.cli.tag import app as tag
from polyadic.cli.train import train
from polyadic.completion.task import TASK as COMPLETE
from polyadic.core.version import __version__
from polyadic.interface.command_line import add_verbs
from polyadic.interface.command_line import group as commands_of
from polyadic.interface.errors import Verbs
from polyadic.sentences.task import CLASSIFY, SENTENCES
from polyadic.sequences.task import AUTOMATON, HMM
from polyadic.topics.task import TASK as TOPICS

LIBRARIES = ("numpy", "scipy", "scikit-learn", "numba")
TRY = """Three things to try:

  polyadic example
      writes a book, tables, facts and trees, on which the example at the end of each --help runs
  polyadic explore TEXT
      shows a text of yours in a browser: senses, lines, topics, a map
  polyadic complete train RATINGS.csv --out model
      learns a table of yours that has gaps: what is missing, and how sure that is

All verbs: polyadic --help
"""
VERBS: dict[str, dict[Callable[..., None], str]] = {
    "Start": {
        example: "polyadic example",
        demo: "polyadic demo --out demo",
        explore: "polyadic explore holmes",
    },
    "Words": {
        train: "polyadic train holmes --out vectors --keep work --keep-text",
        neighbours: "polyadic neighbours vectors window",
        senses: "polyadic senses vectors case",
        phrase: "polyadic phrase vectors light lamp 'light*door'",
        components: "polyadic components vectors window",
        evaluate: "polyadic evaluate vectors --groups groups",
        compare: "polyadic compare vectors vectors.txt --groups groups",
        convert: "polyadic convert vectors vectors.txt --to word2vec",
    },
    "Text": {
        lines: "polyadic lines work/corpus case --sort right",
        corpus: "polyadic corpus holmes --out corpus --min-count 5",
        count: "polyadic count corpus --out counts --order 3 --width 10",
        plan: "polyadic plan corpus --workers 16",
        check: "polyadic check vectors work",
    },
    "Tables and relations": {
        table: "polyadic table eyes.csv --picture eyes.png",
    },
}
"""The verbs by what they are for, each with a command that runs where ``polyadic example`` has written its files."""
GROUPS = {
    "Text": {"topics": commands_of(TOPICS), "sentences": commands_of(SENTENCES), "classify": commands_of(CLASSIFY)},
    "Tables and relations": {
        "complete": commands_of(COMPLETE),
        "database": database,
        "relations": relations,
        "machine": machine,
        "rerank": rerank,
    },
    "Syntax and sequences": {
        "tag": tag,
        "parse": parse,
        "roles": roles,
        "automaton": commands_of(AUTOMATON),
        "hmm": commands_of(HMM),
    },
}
"""Verbs with verbs of their own."""

app = typer.Typer(
    name="polyadic",
    cls=Verbs,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Example:\n\npolyadic example\n\npolyadic explore example/holmes",
)
for panel in dict.fromkeys([*VERBS, *GROUPS]):
    add_verbs(app, VERBS.get(panel, {}), on_clusters=(corpus, count, train), panel=panel)
    for name, group in GROUPS.get(panel, {}).items():
        app.add_typer(group, name=name, rich_help_panel=panel)
app.command("neighbors", hidden=True)(neighbours)


def _show_version(wanted: bool) -> None:  # noqa: FBT001 typer calls it
    if wanted:
        of = ", ".join(f"{library} {distribution(library)}" for library in LIBRARIES)
        typer.echo(f"polyadic {__version__} (Python {platform.python_version()}, {of})")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def polyadic(
    ctx: typer.Context,
    *,
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show versions, also of the libraries."),
    ] = False,
) -> None:
    """Matrix and tensor factorization of language: word vectors whose products select senses, topics, relations."""
    del version  # its callback has shown it
    if ctx.invoked_subcommand is None:
        typer.echo(TRY, nl=False)


def main() -> None:
    """Run the command line on ``sys.argv``; what is cleared away at its end is not to be stopped."""
    try:
        app(prog_name="polyadic")
    finally:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN)
