"""``polyadic reproduce spectral``: automata, hidden Markov models and topics from moments."""

from typing import Annotated

import typer

from polyadic.cli import faults, show, suite
from polyadic.cli import options as o
from polyadic.cli.reproduce.bailey2017 import Force

Parts = Annotated[
    str,
    typer.Option(
        metavar="NAME,...", help="Of pautomac, completion, tags, hidden, topics, grammars.", show_default="all"
    ),
]
Problems = Annotated[str, typer.Option(metavar="N,...", help="Of PAutomaC: 1, 3, 7, 24, 29, 42.")]
Planted = Annotated[int, typer.Option(min=1, help="Automata whose Hankel matrices are completed.")]
Starts = Annotated[int, typer.Option(min=1, help="Random starts of Baum-Welch beside a spectral one.")]


def spectral(
    *,
    out: o.Out,
    parts: Parts = "",
    problems: Problems = "1,3,7,24,29,42",
    planted: Planted = 20,
    starts: Starts = 20,
    seed: o.Seed = 0,
    data: suite.Data = None,
    force: Force = False,
    as_json: o.AsJson = False,
) -> None:
    """Learn automata, hidden Markov models and topics from moments, beside n-grams, Baum-Welch and anchors.

    Finished stages stay in DIR, and the same command goes on from there.
    """
    from polyadic.files import made_folder
    from polyadic.suites.spectral import protocol

    settings = protocol.Settings(
        parts=o.names(parts) or protocol.PARTS,
        problems=o.numbers("--problems", problems, int),
        planted=planted,
        starts=starts,
        seed=seed,
    )
    steps = show.Steps(silent=as_json)
    with faults.keeping(faults.stages_in(out)), made_folder(out):
        report = protocol.run(out, settings=settings, steps=steps, root=data, force=force)
    if as_json:
        show.in_json(report)
    else:
        typer.echo(f"wrote {out / 'report.md'}, {out / 'report.json'}")
