"""``polyadic reproduce relations``: facts about entities, on real data."""

from typing import Annotated

import typer

from polyadic.cli import faults, show, suite
from polyadic.cli import options as o
from polyadic.cli.reproduce.bailey2017 import Force

Text = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[TEXT]...", help="From which verbs and nouns are learned; without any that part is left out."
    ),
]
Parts = Annotated[
    str,
    typer.Option(
        metavar="NAME,...",
        help="Of knowledge, FB15k-237, WN18RR, rescal, nyt, freebase, rules, composition, attachment.",
        show_default="all",
    ),
]
Forms = Annotated[str, typer.Option(metavar="NAME,...", help="Of tensors, on small sets.", show_default="all")]
Epochs = Annotated[int, typer.Option(min=1, help="On large sets, at most.")]
Seeds = Annotated[int, typer.Option(min=1, help="Divisions of the newswire, and planted schemas.")]


def relations(
    text: Text = None,
    *,
    out: o.Out,
    parts: Parts = "",
    forms: Forms = "",
    epochs: Epochs = 50,
    seeds: Seeds = 2,
    seed: o.Seed = 0,
    data: suite.Data = None,
    force: Force = False,
    as_json: o.AsJson = False,
) -> None:
    """Universal schemas, rules, tensors of knowledge, transitive verbs and attachment, on real data.

    Finished stages stay in DIR, and the same command goes on from there.
    """
    from polyadic.files import made_folder
    from polyadic.models.relations.asking import FORMS
    from polyadic.suites.relations import protocol

    settings = protocol.Settings(
        parts=o.names(parts) or protocol.PARTS,
        forms=o.names(forms) or tuple(FORMS),
        epochs=epochs,
        seeds=seeds,
        seed=seed,
    )
    steps = show.Steps(silent=as_json)
    with faults.keeping(faults.stages_in(out)), made_folder(out):
        report = protocol.run(out, settings=settings, steps=steps, root=data, text=tuple(text or ()), force=force)
    if as_json:
        show.in_json(report)
    else:
        typer.echo(f"wrote {out / 'report.md'}, {out / 'report.json'}")
