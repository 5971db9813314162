"""``polyadic reproduce cao2014``: rerankers in tensor space, from treebanks to their tables."""

from typing import Annotated

import typer

from polyadic.cli import faults, show, suite
from polyadic.cli import options as o
from polyadic.cli.reproduce.bailey2017 import Force

Tasks = Annotated[str, typer.Option(metavar="NAME,...", help="Of penn, ewt.", show_default="all")]
Shares = Annotated[str, typer.Option(metavar="NUMBER,...", help="Of the training lists.")]
Orders = Annotated[str, typer.Option(metavar="NUMBER,...", help="Of tensors.")]
Ranks = Annotated[str, typer.Option(metavar="NUMBER,...", help="Of tensors.")]
Mappings = Annotated[str, typer.Option(metavar="NAME,...", help="Of guided, sequential, random, hashed.")]
Epochs = Annotated[int, typer.Option(min=1, help="At most; the best on lists held out counts.")]
Seeds = Annotated[int, typer.Option(min=1, help="Training sets of each share below 1.")]
K = Annotated[int, typer.Option(min=2, help="Candidates of a sentence.")]


def cao2014(
    *,
    out: o.Out,
    tasks: Tasks = "",
    shares: Shares = "0.125,0.25,0.5,1",
    orders: Orders = "2,3,4",
    ranks: Ranks = "1,2,3",
    mappings: Mappings = "guided,sequential",
    epochs: Epochs = 8,
    seeds: Seeds = 3,
    k: K = 50,
    seed: o.Seed = 0,
    data: suite.Data = None,
    force: Force = False,
    as_json: o.AsJson = False,
) -> None:
    """Rerank lists of parses by T-MIRA, MIRA and perceptron, with growing training sets.

    Parsers of our own make the lists. Finished stages stay in DIR, and the same command goes on from there.
    """
    from polyadic.files import made_folder
    from polyadic.suites.cao2014 import protocol
    from polyadic.suites.cao2014.tasks import TASKS

    settings = protocol.Settings(
        tasks=o.names(tasks) or tuple(TASKS),
        shares=o.numbers("--shares", shares, float),
        orders=o.numbers("--orders", orders, int),
        ranks=o.numbers("--ranks", ranks, int),
        mappings=o.names(mappings),  # type: ignore[arg-type] # checked there
        epochs=epochs,
        seeds=seeds,
        k=k,
        seed=seed,
    )
    steps = show.Steps(silent=as_json)
    with faults.keeping(faults.stages_in(out)), made_folder(out):
        report = protocol.run(out, settings=settings, steps=steps, root=data, force=force)
    if as_json:
        show.in_json(report)
    else:
        typer.echo(f"wrote {out / 'report.md'}, {out / 'report.json'}")
