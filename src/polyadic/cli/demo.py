"""``polyadic demo``: a real text from its words to senses, with no network."""

from pathlib import Path
from typing import Annotated

import typer

from polyadic.cli import options as o
from polyadic.interface import output

DemoOut = Annotated[Path, typer.Option("--out", "-o", metavar="DIR", help="The folder to write.")]


def demo(*, out: DemoOut = Path("demo"), rank: o.Rank = 100, seed: o.Seed = 1, as_json: o.AsJson = False) -> None:
    """Count and factorize the 450,000 words of text that gensim carries, and show neighbours, senses and scores."""
    from polyadic.cli.demonstration import run

    result = run(out, rank=rank, seed=seed, report=(lambda *_: None) if as_json else typer.echo)
    if as_json:
        output.in_json(result)
