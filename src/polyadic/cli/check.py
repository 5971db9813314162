"""``polyadic check``: whether folders hold what was written."""

from pathlib import Path
from typing import Annotated

import typer

from polyadic.cli import options as o
from polyadic.core.errors import InputError
from polyadic.interface import errors, output

Folders = Annotated[
    list[Path], typer.Argument(metavar="FOLDER ...", help="Vectors, models, a corpus, counts, or folders of them.")
]


def check(folders: Folders, *, as_json: o.AsJson = False) -> None:
    """Check that every file of folders that polyadic wrote holds what was written, byte for byte."""
    from polyadic.core.files import check_whole

    checked, damaged = {}, []
    for folder in folders:
        ours = sorted(path.parent for path in folder.rglob("meta.json"))
        if not ours:
            raise InputError(f"{folder} holds nothing that polyadic wrote")
        for each in ours:
            try:
                checked[str(each)] = check_whole(each)
            except InputError as error:
                damaged.append(str(each))
                errors.say(str(error))
    if as_json:
        output.in_json({"whole": checked, "damaged": damaged})
    else:
        output.table(["whole", "files"], list(checked.items()))
    if damaged:
        raise typer.Exit(errors.BAD_INPUT)
