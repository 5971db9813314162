"""``polyadic count``: a corpus to n-way co-occurrence counts."""

from pathlib import Path
from typing import Annotated, Any

import typer

from polyadic.cli import options as o
from polyadic.core.errors import InputError
from polyadic.core.files import check_replaceable
from polyadic.interface import output

CorpusFolder = Annotated[Path, typer.Argument(metavar="CORPUS", help="A folder made by `polyadic corpus`.")]
Order = Annotated[int, typer.Option(min=2, max=5, help=o.ORDER_HELP, rich_help_panel=o.COUNTS)]
Width = Annotated[int, typer.Option(min=1, max=1000, help="Width of the window.", rich_help_panel=o.COUNTS)]
TupleMinCount = Annotated[
    int, typer.Option(min=1, max=o.LARGEST, help="Drop tuples that are rarer.", rich_help_panel=o.COUNTS)
]
Repeats = Annotated[bool, typer.Option("--repeats", help="Keep tuples that repeat a word.", rich_help_panel=o.COUNTS)]
Tns = Annotated[Path | None, typer.Option(metavar="FILE", help="Also write the counts as FROSTT text.")]


def count(
    corpus: CorpusFolder,
    *,
    out: o.Out,
    order: Order = 3,
    window: o.Window = "span",
    width: Width = 10,
    min_count: TupleMinCount = 2,
    repeats: Repeats = False,
    memory: o.Memory = None,
    threads: o.Threads = None,
    tns: Tns = None,
    force: o.Force = False,
    as_json: o.AsJson = False,
) -> None:
    """Count how often each pair, triple, ... of words occurs together within a window."""
    from polyadic.core.tns import write_tns
    from polyadic.text.corpus import Corpus
    from polyadic.words.training import counted

    check_replaceable(out, "counts", overwrite=force)
    if tns and not tns.parent.is_dir():
        raise InputError(f"cannot write {tns}: the folder {tns.parent} does not exist")
    steps = output.Steps(silent=as_json)
    resources = {"memory": memory, "threads": threads}
    window_: dict[str, Any] = {"order": order, "window": window, "width": width, "repeats": repeats}
    with steps("count") as facts:
        counts = counted(
            Corpus.open(corpus), path=out, steps=steps, **window_, min_count=min_count, overwrite=force, **resources
        )
        facts.update(counts.sizes)
    if tns:
        write_tns(counts.entries, tns)
    output.wrote(out, {"steps": steps.done}, as_json=as_json, hint=("train", out, "--out", "vectors"))
