"""Tensors as text in the format of FROSTT: one entry a line, indices from 1, then the value.

Lines that begin with ``#`` are comments. The first says shape and symmetry, which the format itself cannot; without
it a file is read as a general tensor whose shape is that of its largest indices.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from polyadic.core.entries import Entries
from polyadic.core.errors import InputError
from polyadic.core.files import whole_file

if TYPE_CHECKING:
    import os

    from numpy.typing import NDArray

HEADER = re.compile(r"# polyadic (symmetric|general) shape ([0-9 ]+)")
LINES = 1 << 16
"""Lines read or written at once."""
LARGEST = 1 << 53
"""Index: lines are held as floating point numbers."""


def write_tns(entries: Entries, path: str | os.PathLike[str], *, expand: bool = False) -> None:
    """Write entries as text.

    Parameters
    ----------
    entries : Entries
        Weights are not written.
    path : path
        The file; it is whole or absent.
    expand : bool
        Whether symmetric entries are written with all their permutations, for programs that know no symmetry.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "x.tns"
    >>> write_tns(Entries.collect([[0, 1, 2]], [5], 3), path)
    >>> print(path.read_text().strip())
    # polyadic symmetric shape 3 3 3
    3 2 1 5.0
    """
    listed = entries.expand() if expand else entries
    kind = "symmetric" if listed.symmetric else "general"
    with whole_file(path) as draft, draft.open("w", encoding="ascii") as file:
        file.write(f"# polyadic {kind} shape {' '.join(map(str, listed.shape))}\n")
        for start in range(0, len(listed), LINES):
            rows = (listed.indices[start : start + LINES].astype(np.int64) + 1).tolist()
            values = listed.values[start : start + LINES].tolist()
            file.writelines(f"{' '.join(map(str, row))} {value}\n" for row, value in zip(rows, values, strict=True))


def read_tns(path: str | os.PathLike[str]) -> Entries:
    r"""Read entries from text.

    Raises
    ------
    InputError
        With file and line if a line is not whole numbers from 1 and a value, as many as in the lines before.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "x.tns"
    >>> _ = path.write_text("1 1 2.5\n2 3 1\n")
    >>> read_tns(path).shape
    (2, 3)
    """
    rows: list[list[float]] = []
    blocks: list[NDArray[Any]] = []
    shape: tuple[int, ...] | None = None
    symmetric = False
    with Path(path).open(encoding="ascii", errors="replace") as file:
        for number, line in enumerate(file, 1):
            if line.startswith("#"):
                if header := HEADER.match(line):
                    if max(map(len, lengths := header[2].split()), default=0) > len(str(LARGEST)):
                        raise InputError(f"{path}:{number}: a mode is {LARGEST:,} long at most")
                    symmetric, shape = header[1] == "symmetric", tuple(map(int, lengths))
                continue
            if fields := line.split():
                rows.append(_numbers(fields, path, number, len(rows[-1]) if rows else None))
            if len(rows) == LINES:
                blocks.append(np.array(rows[:-1]))
                rows = rows[-1:]
    if not rows:
        raise InputError(f"{path} lists no entries")
    table = np.concatenate([*blocks, np.array(rows)])
    indices = np.asfortranarray(table[:, :-1].astype(np.int64) - 1)
    shape = shape or tuple(int(n) + 1 for n in indices.max(axis=0))
    try:
        return Entries(indices, np.ascontiguousarray(table[:, -1]), shape, symmetric=symmetric)
    except InputError as error:
        raise InputError(f"{path}: {error!s:.300}") from None


def _numbers(fields: list[str], path: str | os.PathLike[str], number: int, width: int | None) -> list[float]:
    """Read a line, or say what is wrong with it."""
    try:
        indices, value = [int(field) for field in fields[:-1]], float(fields[-1])
    except ValueError:
        raise InputError(
            f"{path}:{number}: an entry is whole numbers and a value; got {' '.join(fields)!r:.80}"
        ) from None
    if not indices or min(indices) < 1 or (width is not None and len(fields) != width):
        wanted = "at least one index from 1" if width is None else f"{width - 1} indices from 1"
        raise InputError(f"{path}:{number}: an entry is {wanted} and a value; got {' '.join(fields)!r:.80}")
    if max(indices) > LARGEST:
        raise InputError(f"{path}:{number}: an index is {LARGEST:,} at most; got {' '.join(fields)[:60]!r}")
    return [*indices, value]
