"""The command line: one file per verb, each of which calls the library and shows what came back."""

from collections.abc import Callable
from typing import Annotated

import typer

from lowrank import __version__
from lowrank.cli.automaton import app as automaton
from lowrank.cli.compare import compare
from lowrank.cli.complete import app as complete
from lowrank.cli.components import components
from lowrank.cli.convert import convert
from lowrank.cli.corpus import corpus
from lowrank.cli.count import count
from lowrank.cli.database import app as database
from lowrank.cli.demo import demo
from lowrank.cli.evaluate import evaluate
from lowrank.cli.faults import Verbs
from lowrank.cli.hmm import app as hmm
from lowrank.cli.machine import app as machine
from lowrank.cli.neighbours import neighbours
from lowrank.cli.parse import app as parse
from lowrank.cli.phrase import phrase
from lowrank.cli.relations import app as relations
from lowrank.cli.reproduce import app as reproduce
from lowrank.cli.rerank import app as rerank
from lowrank.cli.roles import app as roles
from lowrank.cli.senses import senses
from lowrank.cli.sentences import app as sentences
from lowrank.cli.tag import app as tag
from lowrank.cli.topics import app as topics
from lowrank.cli.train import train

app = typer.Typer(
    name="lowrank",
    cls=Verbs,
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Example:\n\nlowrank train wiki.txt.xz --out vectors\n\nlowrank phrase vectors pearl harbor",
)

EXAMPLES: dict[Callable[..., None], str] = {
    demo: "lowrank demo --out demo",
    train: "lowrank train wiki.txt.xz --out vectors",
    neighbours: "lowrank neighbours vectors apollo",
    phrase: "lowrank phrase vectors apollo god 'apollo*moon'",
    senses: "lowrank senses vectors apollo",
    components: "lowrank components vectors apollo",
    evaluate: "lowrank evaluate vectors --pairs simlex.txt",
    compare: "lowrank compare vectors others --kind similarity",
    convert: "lowrank convert vectors vectors.txt --to word2vec",
    corpus: "lowrank corpus articles/ --out corpus --min-count 10",
    count: "lowrank count corpus --out counts --order 3 --width 10",
}

for verb, example in EXAMPLES.items():
    app.command(epilog=f"Example:\n\n{example}")(verb)
app.add_typer(sentences, name="sentences")
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
        typer.echo(f"lowrank {__version__}")
        raise typer.Exit


@app.callback()
def lowrank(
    *,
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Matrix and tensor factorization of language: word vectors whose products select senses, topics, relations."""
    del version  # its callback has shown it


def main() -> None:
    """Run the command line on ``sys.argv``."""
    app(prog_name="lowrank")
