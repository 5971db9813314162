"""Lists to rank as SVMrank and LETOR write them: lines of relevance, ``qid:`` and numbered features."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from polyadic.errors import InputError
from polyadic.groups import Groups
from polyadic.text.predictors.feature_lines import BLOCK, feature_blocks
from polyadic.text.predictors.kept_blocks import KeptBlocks

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator


class RankLines:
    r"""Lists of a file, block by block as Groups, as often as wanted; the file is not read again for that.

    A candidate costs what its relevance lacks of the highest in its list.

    Parameters
    ----------
    path : path
        See :func:`~polyadic.text.predictors.feature_lines.read_feature_lines`; each line needs ``qid:``, lines of a
        list stand together.
    size : int
        Bytes of a block, more or less.

    Raises
    ------
    InputError
        If lines have no ``qid:``, a list stands in two places, or as ``read_feature_lines``.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "lists.txt"
    >>> _ = path.write_text("2 qid:1 1:0.5\n0 qid:1 2:1\n1 qid:2 1:1\n")
    >>> [(groups.costs.tolist(), groups.starts.tolist()) for groups in RankLines(path)]
    [([0.0, 2.0, 0.0], [0, 2, 3])]
    """

    def __init__(self, path: str | os.PathLike[str], *, size: int = BLOCK) -> None:
        self.path, self._size = path, size
        self._kept = KeptBlocks(self._read)

    def __iter__(self) -> Iterator[Groups]:
        return iter(self._kept)

    def _read(self) -> Iterator[Groups]:
        seen: set[int] = set()
        for X, y, group in feature_blocks(self.path, size=self._size):
            if group[0] < 0:
                raise InputError(f"{self.path}: lines must say qid:, the list to which they belong")
            starts = np.flatnonzero(np.r_[True, group[1:] != group[:-1]])
            here = group[starts].tolist()
            if len(set(here)) < len(here) or not seen.isdisjoint(here):
                raise InputError(f"{self.path}: the lines of a list must stand together; sort them by qid")
            seen.update(here)
            highest = np.repeat(np.maximum.reduceat(y, starts), np.diff(np.r_[starts, len(y)]))
            yield Groups(X, highest - y, np.r_[starts, len(y)].astype(np.int64))
