"""Cache of query groups that can be read only once: arrays in a temporary folder, one block in memory at a time."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

import numpy as np

from polyadic.core.arrays import save_array
from polyadic.core.files import folder_or_temporary
from polyadic.core.query_groups import QueryGroups

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path


class KeptBlocks:
    """Repeatable iteration over blocks of query groups, which are created on first use."""

    def __init__(self, make: Callable[[], Iterable[QueryGroups]]) -> None:
        self._make = make
        self._folder: Path | None = None
        self._count = 0

    def __iter__(self) -> Iterator[QueryGroups]:
        if self._folder is None:
            with folder_or_temporary(None) as (folder, release):
                weakref.finalize(self, release)
                folder.mkdir()
                count = 0
                for groups in self._make():
                    _write(folder / f"{count}.npy", groups)
                    count += 1
                self._folder, self._count = folder, count
        for k in range(self._count):
            yield _read(self._folder / f"{k}.npy")


def _write(path: Path, groups: QueryGroups) -> None:
    X = groups.features
    with path.open("wb") as file:
        for array in (np.array(X.shape), X.indptr, X.indices, X.data, groups.costs, groups.starts):
            save_array(file, array)


def _read(path: Path) -> QueryGroups:
    from scipy.sparse import csr_array

    with path.open("rb") as file:
        shape, indptr, indices, data, costs, starts = (np.load(file, allow_pickle=False) for _ in range(6))
    X: Any = csr_array((data, indices, indptr), shape=tuple(shape.tolist()))
    return QueryGroups(X, costs, starts)
