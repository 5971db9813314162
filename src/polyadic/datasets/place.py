"""Functions that locate the folder of test sets and read text files."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from polyadic.core.errors import InputError
from polyadic.core.streams import decoded, open_bytes


def folder(path: str | os.PathLike[str] | None = None) -> Path:
    """Return the folder of test sets, by default the value of the environment variable ``POLYADIC_DATA``.

    If neither is given, or the folder does not exist, InputError is raised.
    """
    named = path if path is not None else os.environ.get("POLYADIC_DATA")
    if not named:
        raise InputError(
            "the folder of published test sets is unknown; give its path, or set the environment variable POLYADIC_DATA"
        )
    if not Path(named).is_dir():
        whose = "POLYADIC_DATA" if path is None else "the path given"
        raise InputError(f"{named} is not a folder; {whose} must name the folder of test sets")
    return Path(named)


def lines(path: Path) -> Iterator[tuple[str, str]]:
    """Yield the position ("file, line n") and content of each line, skipping empty lines and comments."""
    for number, line in enumerate(text(path).split("\n"), 1):
        if line.strip() and not line.startswith("#"):
            yield f"{path}, line {number}", line.strip()


def text(path: Path, encoding: str | None = None) -> str:
    """Read a text file, which may be compressed; the encoding is detected by default."""
    with open_bytes(str(path)) as stream:
        return "".join(decoded(stream, str(path), encoding)[0])


def check_count(where: Path, count: int, published: int, what: str) -> None:
    """Raise InputError if the size of a data set differs from the published size."""
    if count != published:
        raise InputError(f"{where}: expected {published:,} {what}, as published; found {count:,}")
