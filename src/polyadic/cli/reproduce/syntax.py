"""``polyadic reproduce syntax``: parsers, taggers and roles of low rank, on free treebanks."""

from typing import Annotated

import typer

from polyadic.cli import faults, show, suite
from polyadic.cli import options as o
from polyadic.cli.reproduce.bailey2017 import Force

Parts = Annotated[
    str, typer.Option(metavar="NAME,...", help="Of parsing, orders, text, tagging, roles.", show_default="all")
]
Sizes = Annotated[str, typer.Option(metavar="N,...", help="Sentences to learn from, of parsers of first order.")]
Few = Annotated[str, typer.Option(metavar="N,...", help="Sentences to learn from, of parsers of each order.")]
Shares = Annotated[str, typer.Option(metavar="X,...", help="Of the sentences with semantic roles.")]
Seeds = Annotated[int, typer.Option(min=1, help="Draws of sentences, each learned from anew.")]


def syntax(
    *,
    out: o.Out,
    parts: Parts = "",
    sizes: Sizes = "250,1000,4000,12544",
    few: Few = "1000,4000",
    shares: Shares = "0.25,1",
    seeds: Seeds = 2,
    data: suite.Data = None,
    force: Force = False,
    as_json: o.AsJson = False,
) -> None:
    """Parse, tag and find semantic roles with factors of low rank and without, from few sentences and from all.

    Finished stages stay in DIR, and the same command goes on from there.
    """
    from polyadic.files import made_folder
    from polyadic.suites.syntax import protocol

    settings = protocol.Settings(
        parts=o.names(parts) or protocol.PARTS,
        sizes=o.numbers("--sizes", sizes, int),
        few=o.numbers("--few", few, int),
        shares=o.numbers("--shares", shares, float),
        seeds=seeds,
    )
    steps = show.Steps(silent=as_json)
    with faults.keeping(faults.stages_in(out)), made_folder(out):
        report = protocol.run(out, settings=settings, steps=steps, root=data, force=force)
    if as_json:
        show.in_json(report)
    else:
        typer.echo(f"wrote {out / 'report.md'}, {out / 'report.json'}")
