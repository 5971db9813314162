"""Arguments of the verbs of ``lowrank rerank``, and the lists that they open."""

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from lowrank.errors import InputError

Format = Literal["auto", "jsonl", "svmrank"]

Lists = Annotated[
    Path,
    typer.Argument(
        metavar="LISTS", help="JSON lines, a list of candidates each; or SVMrank lines, a candidate each, with qid:."
    ),
]
Model = Annotated[Path, typer.Argument(metavar="MODEL", help="A folder made by `lowrank rerank train`.")]
As = Annotated[Format, typer.Option("--format", help="What the lists are; auto looks.")]
Unknown = Annotated[
    Literal["ignore", "error"],
    typer.Option(help="What to do with features that were not learned: count them, or stop."),
]


def kind_of(path: Path, said: Format) -> str:
    """Say how lists are written: JSON lines begin with a brace."""
    from lowrank.text.streams import open_bytes

    if said != "auto":
        return said
    with open_bytes(str(path)) as file:
        return "jsonl" if file.read(4096).lstrip().startswith(b"{") else "svmrank"


def opened(path: Path, said: Format, options: dict[str, Any]) -> Any:
    """Open lists; ``options`` are those of JSON lines."""
    from lowrank.text.nbest import NBestLists
    from lowrank.text.rank_lines import RankLines

    return NBestLists(path, **options) if kind_of(path, said) == "jsonl" else RankLines(path)


def opened_for(model: Any, path: Path, said: Format, *, unknown: str, costs: bool = True) -> Any:
    """Open lists for a model, which knows features by name or by number."""
    names = model.names_
    found = opened(path, said, {"names": names or (), "unknown": unknown, "costs": costs})
    if (names is None) == hasattr(found, "names"):
        how = "number, as SVMrank lines have them" if names is None else "name, as JSON lines have them"
        raise InputError(f"the model knows features by {how}; {path} has them in the other way")
    return found
