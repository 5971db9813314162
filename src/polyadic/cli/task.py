"""The commands to start with: example files, and a demonstration on a real text."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from polyadic.core.settings import Count, Folder, Metavar, Natural
from polyadic.interface.run import Saved
from polyadic.interface.task import Task

TASK = Task("start", "Commands to start with.")


def _print_files(result: Saved) -> None:
    from polyadic.interface import output

    output.table(("file", "what it is"), [*result["files"].items()])


@TASK.verb(example="polyadic example", show=_print_files)
def example(folder: Annotated[Path, Metavar("DIR")] = Path("example"), *, force: bool = False) -> Saved:
    """Write small files on which the first example of every command runs: a book, tables, facts, trees.

    Parameters
    ----------
    folder
        Folder to write.
    """
    from polyadic.datasets.examples import FILES, write_examples

    write_examples(folder, overwrite=force)
    saved = Saved(out=str(folder), files=FILES)
    saved.next = ["train", folder / "holmes", "--out", "vectors"]
    return saved


def _nothing_more(result: dict[str, Any]) -> None:
    """Print nothing: it was told step by step."""


@TASK.verb(example="polyadic demo --out demo", show=_nothing_more)
def demo(*, out: Folder = Path("demo"), rank: Count = 100, seed: Natural = 1) -> dict[str, Any]:
    """Count and factorize the 450,000 words of text that gensim carries, and show neighbours, senses and scores.

    Parameters
    ----------
    out
        Folder to write; one written by an earlier demonstration is replaced.
    rank
        Number of dimensions of the vectors.
    seed
        Random seed.
    """
    import typer

    from polyadic.cli.demonstration import run
    from polyadic.interface import errors

    return run(out, rank=rank, seed=seed, report=(lambda *_: None) if errors.in_json() else typer.echo)
