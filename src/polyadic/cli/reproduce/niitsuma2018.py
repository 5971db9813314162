"""``polyadic reproduce niitsuma2018``: correspondence analysis and its kernels as word vectors, Table 3."""

from typing import Annotated

import typer

from polyadic.cli import faults, show, suite
from polyadic.cli import options as o
from polyadic.cli.reproduce.bailey2017 import Force, Source

Width = Annotated[int, typer.Option(min=1, max=1000, help="Words to the left that are contexts.")]
Share = Annotated[float, typer.Option(min=0.001, max=1, help="Share of the text to take, from its beginning.")]


def niitsuma2018(
    source: Source,
    *,
    out: o.Out,
    rank: o.Rank = 100,
    width: Width = 2,
    min_count: o.MinCount = 20,
    share: Share = 0.2,
    seed: o.Seed = 0,
    data: suite.Data = None,
    threads: o.Threads = None,
    force: Force = False,
    as_json: o.AsJson = False,
) -> None:
    """Niitsuma and Lee (2018): train correspondence analyses and their baselines, and test them on word pairs.

    Finished stages stay in DIR, and the same command goes on from there.
    """
    from polyadic.files import made_folder
    from polyadic.suites import niitsuma2018 as protocol

    settings = protocol.Settings(rank=rank, width=width, min_count=min_count, share=share, seed=seed, threads=threads)
    steps = show.Steps(silent=as_json)
    with faults.keeping(faults.stages_in(out)), made_folder(out):
        report = protocol.run(source, out, settings=settings, steps=steps, root=data, force=force)
    if as_json:
        show.in_json(report)
    else:
        typer.echo(f"wrote {out / 'report.md'}, {out / 'report.json'}")
