"""``polyadic reproduce predictors``: machines, labels and tasks of low rank, on real data."""

from typing import Annotated

import typer

from polyadic.cli import faults, show, suite
from polyadic.cli import options as o
from polyadic.cli.reproduce.bailey2017 import Force

Parts = Annotated[str, typer.Option(metavar="NAME,...", help="Of machines, labels, schools.", show_default="all")]
Folds = Annotated[int, typer.Option(min=1, max=5, help="Of MovieLens, from the first.")]
Splits = Annotated[int, typer.Option(min=1, help="Of the pupils.")]


def predictors(
    *,
    out: o.Out,
    parts: Parts = "",
    folds: Folds = 5,
    splits: Splits = 10,
    seed: o.Seed = 0,
    data: suite.Data = None,
    force: Force = False,
    as_json: o.AsJson = False,
) -> None:
    """Factorization machines, reduced-rank regression and tasks of low rank, on real data, beside their baselines.

    Finished stages stay in DIR, and the same command goes on from there.
    """
    from polyadic.files import made_folder
    from polyadic.suites.predictors import protocol

    settings = protocol.Settings(parts=o.names(parts) or protocol.PARTS, folds=folds, splits=splits, seed=seed)
    steps = show.Steps(silent=as_json)
    with faults.keeping(faults.stages_in(out)), made_folder(out):
        report = protocol.run(out, settings=settings, steps=steps, root=data, force=force)
    if as_json:
        show.in_json(report)
    else:
        typer.echo(f"wrote {out / 'report.md'}, {out / 'report.json'}")
