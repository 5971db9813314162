"""``polyadic rerank``: choose from lists of candidates by what was learned from others."""

import typer

from polyadic.cli.rerank.apply import apply
from polyadic.cli.rerank.evaluate import evaluate
from polyadic.cli.rerank.train import train
from polyadic.cli.show import add_verbs

app = typer.Typer(no_args_is_help=True, help="Choose from n-best lists by features, linear or as a low-rank tensor.")

add_verbs(
    app,
    {
        train: "polyadic rerank train lists.jsonl --out model --model tensor-mira --validation dev.jsonl",
        apply: "polyadic rerank apply model new.jsonl --out chosen.jsonl",
        evaluate: "polyadic rerank evaluate model test.jsonl",
    },
)
