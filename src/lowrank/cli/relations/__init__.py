"""``lowrank relations``: facts about entities, learned and completed, with rules."""

from collections.abc import Callable

import typer

from lowrank.cli.relations import predict, rules
from lowrank.cli.relations.evaluate import evaluate
from lowrank.cli.relations.patterns import patterns
from lowrank.cli.relations.predict import similar
from lowrank.cli.relations.train import train

app = typer.Typer(no_args_is_help=True, help="Learn facts about entities, from tables and text, and complete them.")

EXAMPLES: dict[Callable[..., None], str] = {
    train: "lowrank relations train facts.tsv --out model --validation valid.tsv",
    predict.predict: "lowrank relations predict model --subject Oslo --relation lies_in",
    evaluate: "lowrank relations evaluate model test.tsv --known valid.tsv",
    similar: "lowrank relations similar model works_for",
    patterns: "lowrank relations patterns parsed.conllu --out facts.tsv",
}
for verb, example in EXAMPLES.items():
    app.command(epilog=f"Example:\n\n{example}")(verb)
app.add_typer(rules.app, name="rules")
