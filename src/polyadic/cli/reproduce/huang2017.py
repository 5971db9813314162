"""``polyadic reproduce huang2017``: planted filters, and sentence vectors from scratch."""

from typing import Annotated

import typer

from polyadic.cli import faults, show, suite
from polyadic.cli import options as o
from polyadic.cli.reproduce.bailey2017 import Force

Parts = Annotated[str, typer.Option(metavar="NAME,...", help="Of synthetic, mr, subj, msrp, sts2012.")]
Folds = Annotated[int, typer.Option(min=2, max=100, help="Of MR and SUBJ.")]
Trials = Annotated[int, typer.Option(min=1, max=1000, help="Planted problems of each size.")]


def huang2017(
    *,
    out: o.Out,
    parts: Parts = "synthetic,mr,subj,msrp,sts2012",
    folds: Folds = 10,
    trials: Trials = 5,
    seed: o.Seed = 0,
    data: suite.Data = None,
    force: Force = False,
    as_json: o.AsJson = False,
) -> None:
    """Huang and Anandkumar (2017): find planted filters, and test vectors of sentences made from scratch.

    Finished stages stay in DIR, and the same command goes on from there.
    """
    from polyadic.files import made_folder
    from polyadic.suites.huang2017 import protocol

    settings = protocol.Settings(parts=o.names(parts), folds=folds, trials=trials, seed=seed)
    steps = show.Steps(silent=as_json)
    with faults.keeping(faults.stages_in(out)), made_folder(out):
        report = protocol.run(out, settings=settings, steps=steps, root=data, force=force)
    if as_json:
        show.in_json(report)
    else:
        typer.echo(f"wrote {out / 'report.md'}, {out / 'report.json'}")
