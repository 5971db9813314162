"""``polyadic plan``: what a run will take, before it is started."""

from typing import Annotated

import typer

from polyadic.cli import options as o
from polyadic.interface import output

Source = Annotated[
    str, typer.Argument(metavar="SOURCE", help="Text (a URL too), or a folder made by `corpus` or `count`.")
]
Workers = Annotated[int, typer.Option(min=1, max=o.MAX_THREADS, help="Workers, of one core each.")]
Mbit = Annotated[float, typer.Option(min=0.001, help="Megabits that each machine sends and receives in a second.")]
Order = Annotated[int, typer.Option(min=2, max=5, help="Words in a tuple, of counting.")]
Width = Annotated[int, typer.Option(min=1, max=1000, help="Width of the window.")]
Rank = Annotated[int, typer.Option(min=1, help="Length of the vectors, of learning.")]
MaxIter = Annotated[int, typer.Option(min=1, help="Sweeps of learning.")]


def plan(
    source: Source,
    *,
    workers: Workers = 1,
    mbit: Mbit = 1000.0,
    order: Order = 3,
    window: o.Window = "span",
    width: Width = 10,
    rank: Rank = 300,
    max_iter: MaxIter = 75,
    as_json: o.AsJson = False,
) -> None:
    """Say what the next step from SOURCE takes: minutes, memory of each worker and of this process, and what is sent.

    Of text the corpus, of a corpus its counts, of counts vectors by cp. Times rest on rates measured with one kind of
    processor, and on workers that have a core each.
    """
    from polyadic.words.planning import planned

    steps = planned(
        source, workers=workers, mbit=mbit, order=order, window=window, width=width, rank=rank, max_iter=max_iter
    )
    if as_json:
        output.in_json({"workers": workers, "steps": [step._asdict() for step in steps]})
    else:
        headings = ["step", "about minutes", "to send", "MiB of a worker", "MiB here", "MiB sent"]
        output.table(headings, [tuple(step) for step in steps])
