"""``polyadic relations``: facts about entities, learned and completed, with rules."""

import typer

from polyadic.cli.relations import predict, rules
from polyadic.cli.relations.evaluate import evaluate
from polyadic.cli.relations.patterns import patterns
from polyadic.cli.relations.predict import similar
from polyadic.cli.relations.train import train
from polyadic.cli.show import add_verbs

app = typer.Typer(no_args_is_help=True, help="Learn facts about entities, from tables and text, and complete them.")

add_verbs(
    app,
    {
        train: "polyadic relations train facts.tsv --out model --validation valid.tsv",
        predict.predict: "polyadic relations predict model --subject Oslo --relation lies_in",
        evaluate: "polyadic relations evaluate model test.tsv --known valid.tsv",
        similar: "polyadic relations similar model works_for",
        patterns: "polyadic relations patterns parsed.conllu --out facts.tsv",
    },
)
app.add_typer(rules.app, name="rules")
