"""``lowrank rerank``: choose from lists of candidates by what was learned from others."""

from collections.abc import Callable

import typer

from lowrank.cli.rerank.apply import apply
from lowrank.cli.rerank.evaluate import evaluate
from lowrank.cli.rerank.train import train

app = typer.Typer(no_args_is_help=True, help="Choose from n-best lists by features, linear or as a low-rank tensor.")

EXAMPLES: dict[Callable[..., None], str] = {
    train: "lowrank rerank train lists.jsonl --out model --model tensor-mira --validation dev.jsonl",
    apply: "lowrank rerank apply model new.jsonl --out chosen.jsonl",
    evaluate: "lowrank rerank evaluate model test.jsonl",
}
for verb, example in EXAMPLES.items():
    app.command(epilog=f"Example:\n\n{example}")(verb)
