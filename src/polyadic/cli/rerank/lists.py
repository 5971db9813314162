"""Arguments of the verbs of ``polyadic rerank``, and the lists that they open."""

import codecs
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from polyadic.errors import InputError

Format = Literal["auto", "jsonl", "svmrank"]

Lists = Annotated[
    Path,
    typer.Argument(
        metavar="LISTS", help="JSON lines, a list of candidates each; or SVMrank lines, a candidate each, with qid:."
    ),
]
Model = Annotated[Path, typer.Argument(metavar="MODEL", help="A folder made by `polyadic rerank train`.")]
As = Annotated[Format, typer.Option("--format", help="What the lists are; auto looks.")]
Unknown = Annotated[
    Literal["ignore", "error"],
    typer.Option(help="What to do with features that were not learned: count them, or stop."),
]


def kind_of(path: Path, said: Format) -> str:
    """Say how lists are written: JSON lines begin with a brace."""
    from polyadic.text.streams import open_bytes

    if said != "auto":
        return said
    with open_bytes(str(path)) as file:
        begin = file.read(4096).removeprefix(codecs.BOM_UTF8).lstrip()
    if not begin:
        raise InputError(f"{path} has no lists")
    return "jsonl" if begin.startswith(b"{") else "svmrank"


def opened(path: Path, said: Format, options: dict[str, Any]) -> Any:
    """Open lists; ``options`` are those of JSON lines."""
    from polyadic.text.predictors.nbest import NBestLists
    from polyadic.text.predictors.feature_lines import RankLines

    if str(path) == "-" or path.is_fifo():  # what has been looked at is gone
        if "names" not in options:
            raise InputError("lists to learn from are read more than once; write them to a file")
        if said != "jsonl":
            raise InputError("only JSON lines are read from a pipe; say --format jsonl if they are")
    return NBestLists(path, **options) if kind_of(path, said) == "jsonl" else RankLines(path)


def opened_for(names: list[str] | None, path: Path, said: Format, *, unknown: str, costs: bool = True) -> Any:
    """Open lists for a model, which knows features by name, or by number if it has no names."""
    blocks = opened(path, said, {"names": names or (), "unknown": unknown, "costs": costs})
    if (names is None) == hasattr(blocks, "names"):
        how = "number, as SVMrank lines have them" if names is None else "name, as JSON lines have them"
        raise InputError(f"the model knows features by {how}; {path} has them in the other way")
    return blocks
