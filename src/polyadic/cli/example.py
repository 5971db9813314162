"""``polyadic example``: files to try every verb on."""

from pathlib import Path
from typing import Annotated

import typer

from polyadic.cli import options as o
from polyadic.interface import output

Folder = Annotated[Path, typer.Argument(metavar="DIR", help="The folder to write.")]


def example(folder: Folder = Path("example"), *, force: o.Force = False, as_json: o.AsJson = False) -> None:
    """Write small files on which the first example of every verb runs: a book, tables, facts, trees."""
    from polyadic.datasets.examples import FILES, write_examples

    write_examples(folder, overwrite=force)
    if not as_json:
        output.table(("file", "what it is"), [*FILES.items()])
    output.wrote(folder, {"files": FILES}, as_json=as_json, hint=["train", folder / "holmes", "--out", "vectors"])
