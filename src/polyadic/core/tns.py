"""Read and write sparse tensors in the FROSTT text format: one entry per line, 1-based indices and a value.

A comment in the first line stores shape and symmetry, which the format itself does not. A file without it is read as a
general tensor whose shape is given by the largest indices.
"""

from __future__ import annotations

import os
import re

import numpy as np

from polyadic.core.annotations import AnyArray
from polyadic.core.entries import Entries
from polyadic.core.errors import InputError
from polyadic.core.files import whole_file
from polyadic.core.streams import text_lines

HEADER = re.compile(r"# polyadic (symmetric|general) shape ([0-9 ]+)")
LINES = 1 << 16  # lines read or written at once
MAX_INDEX = 1 << 53  # largest index: lines are held as floats


def write_tns(entries: Entries, path: str | os.PathLike[str], *, expand: bool = False) -> None:
    """Write entries atomically to a text file in the FROSTT format, without their weights.

    With ``expand``, all permutations of symmetric entries are written, for programs that do not know symmetry.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
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
    r"""Read a text file in the FROSTT format as :class:`Entries`.

    InputError is raised if a line is not a fixed number of indices from 1 and a value; the message names file and line.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> path = Path(tempfile.mkdtemp()) / "x.tns"
    >>> _ = path.write_text("1 1 2.5\n2 3 1\n")
    >>> read_tns(path).shape
    (2, 3)
    """
    rows: list[list[float]] = []
    blocks: list[AnyArray] = []
    shape: tuple[int, ...] | None = None
    symmetric = False
    for number, line in enumerate(text_lines(str(path)), 1):
        if line.startswith("#"):
            if header := HEADER.match(line):
                if max(map(len, lengths := header[2].split()), default=0) > len(str(MAX_INDEX)):
                    raise InputError(f"{path}:{number}: the length of a mode must be at most {MAX_INDEX:,}")
                symmetric, shape = header[1] == "symmetric", tuple(map(int, lengths))
            continue
        if fields := line.split():
            rows.append(_numbers(fields, path, number, len(rows[-1]) if rows else None))
        if len(rows) == LINES:
            blocks.append(np.array(rows[:-1]))
            rows = rows[-1:]
    if not rows:
        raise InputError(f"{path} has no entries")
    table = np.concatenate([*blocks, np.array(rows)])
    indices = np.asfortranarray(table[:, :-1].astype(np.int64) - 1)
    shape = shape or tuple(int(n) + 1 for n in indices.max(axis=0))
    try:
        return Entries(indices, np.ascontiguousarray(table[:, -1]), shape, symmetric=symmetric)
    except InputError as error:
        raise InputError(f"{path}: {error!s:.300}") from None


def _numbers(fields: list[str], path: str | os.PathLike[str], number: int, width: int | None) -> list[float]:
    """Parse a line; raise InputError if it does not consist of indices and a value."""
    try:
        indices, value = [int(field) for field in fields[:-1]], float(fields[-1])
    except ValueError:
        raise InputError(
            f"{path}:{number}: an entry must consist of whole numbers and a value; got {' '.join(fields)!r:.80}"
        ) from None
    if not indices or min(indices) < 1 or (width is not None and len(fields) != width):
        wanted = "at least one index from 1" if width is None else f"{width - 1} indices from 1"
        raise InputError(
            f"{path}:{number}: an entry must consist of {wanted} and a value; got {' '.join(fields)!r:.80}"
        )
    if max(indices) > MAX_INDEX:
        raise InputError(f"{path}:{number}: an index must be at most {MAX_INDEX:,}; got {' '.join(fields)[:60]!r}")
    return [*indices, value]
