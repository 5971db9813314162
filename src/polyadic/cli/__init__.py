"""The command line: one file per verb, each of which calls the library and shows what came back."""

import signal
from collections.abc import Callable
from typing import Annotated

import typer

from polyadic import __version__
from polyadic.cli.automaton import app as automaton
from polyadic.cli.check import check
from polyadic.cli.classify import app as classify
from polyadic.cli.complete import app as complete
from polyadic.cli.components import components
from polyadic.cli.convert import convert
from polyadic.cli.corpus import corpus
from polyadic.cli.count import count
from polyadic.cli.database import app as database
from polyadic.cli.demo import demo
from polyadic.cli.evaluate import compare, evaluate
from polyadic.cli.explore import explore
from polyadic.cli.faults import Verbs
from polyadic.cli.hmm import app as hmm
from polyadic.cli.lines import lines
from polyadic.cli.machine import app as machine
from polyadic.cli.neighbours import neighbours
from polyadic.cli.parse import app as parse
from polyadic.cli.phrase import phrase
from polyadic.cli.plan import plan
from polyadic.cli.relations import app as relations
from polyadic.cli.reproduce import app as reproduce
from polyadic.cli.rerank import app as rerank
from polyadic.cli.roles import app as roles
from polyadic.cli.senses import senses
from polyadic.cli.sentences import app as sentences
from polyadic.cli.show import add_verbs
from polyadic.cli.table import table
from polyadic.cli.tag import app as tag
from polyadic.cli.topics import app as topics
from polyadic.cli.train import train

app = typer.Typer(
    name="polyadic",
    cls=Verbs,
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Example:\n\npolyadic train wiki.txt.xz --out vectors\n\npolyadic phrase vectors pearl harbor",
)

EXAMPLES: dict[Callable[..., None], str] = {
    demo: "polyadic demo --out demo",
    train: "polyadic train wiki.txt.xz --out vectors",
    explore: "polyadic explore wiki.txt.xz",
    neighbours: "polyadic neighbours vectors apollo",
    phrase: "polyadic phrase vectors apollo god 'apollo*moon'",
    senses: "polyadic senses vectors apollo",
    lines: "polyadic lines corpus bank river --sort right",
    components: "polyadic components vectors apollo",
    table: "polyadic table survey.csv --rows eye --columns hair --picture eyes.png",
    evaluate: "polyadic evaluate vectors --pairs simlex.txt",
    compare: "polyadic compare vectors others --kind similarity",
    convert: "polyadic convert vectors vectors.txt --to word2vec",
    corpus: "polyadic corpus articles/ --out corpus --min-count 10",
    count: "polyadic count corpus --out counts --order 3 --width 10",
    plan: "polyadic plan corpus --workers 16",
    check: "polyadic check vectors work",
}

add_verbs(app, EXAMPLES, on_clusters=(corpus, count, train))
app.add_typer(sentences, name="sentences")
app.add_typer(classify, name="classify")
app.add_typer(topics, name="topics")
app.add_typer(complete, name="complete")
app.add_typer(database, name="database")
app.add_typer(relations, name="relations")
app.add_typer(machine, name="machine")
app.add_typer(rerank, name="rerank")
app.add_typer(parse, name="parse")
app.add_typer(tag, name="tag")
app.add_typer(roles, name="roles")
app.add_typer(automaton, name="automaton")
app.add_typer(hmm, name="hmm")
app.add_typer(reproduce, name="reproduce")
app.command("neighbors", hidden=True)(neighbours)


def _show_version(wanted: bool) -> None:  # noqa: FBT001 typer calls it
    if wanted:
        typer.echo(f"polyadic {__version__}")
        raise typer.Exit


@app.callback()
def polyadic(
    *,
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Matrix and tensor factorization of language: word vectors whose products select senses, topics, relations."""
    del version  # its callback has shown it


def main() -> None:
    """Run the command line on ``sys.argv``; what is cleared away at its end is not to be stopped."""
    try:
        app(prog_name="polyadic")
    finally:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN)
