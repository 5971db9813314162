"""``polyadic reproduce bouchard2015``: the matrix methods of the tutorial, on real tables."""

from typing import Annotated

import typer

from polyadic.cli import faults, show, suite
from polyadic.cli import options as o
from polyadic.cli.reproduce.bailey2017 import Force

Parts = Annotated[
    str,
    typer.Option(
        metavar="NAME,...",
        help="Of demonstrations, ratings, listens, lastfm, citeulike, bbc, kos, enron, medical.",
        show_default="all",
    ),
]
Folds = Annotated[int, typer.Option(min=1, max=5, help="Of MovieLens, and divisions of listens.")]
Rank = Annotated[int, typer.Option(min=1, help="Of models that learn their penalties.")]
Topics = Annotated[int, typer.Option(min=1, help="Number of topics.")]


def bouchard2015(
    *,
    out: o.Out,
    parts: Parts = "",
    folds: Folds = 5,
    rank: Rank = 10,
    topics: Topics = 20,
    seed: o.Seed = 0,
    data: suite.Data = None,
    force: Force = False,
    as_json: o.AsJson = False,
) -> None:
    """Bouchard and others (2015): completion, databases, topics and labels by matrix factorization.

    Finished stages stay in DIR, and the same command goes on from there.
    """
    from polyadic.files import made_folder
    from polyadic.suites.bouchard2015 import protocol

    settings = protocol.Settings(
        parts=o.names(parts) or protocol.PARTS, folds=folds, rank=rank, topics=topics, seed=seed
    )
    steps = show.Steps(silent=as_json)
    with faults.keeping(faults.stages_in(out)), made_folder(out):
        report = protocol.run(out, settings=settings, steps=steps, root=data, force=force)
    if as_json:
        show.in_json(report)
    else:
        typer.echo(f"wrote {out / 'report.md'}, {out / 'report.json'}")
