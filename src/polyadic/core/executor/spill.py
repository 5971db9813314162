"""Transfer large results through a shared folder, or over the network if there is no shared file system."""

from __future__ import annotations

import contextlib
import secrets
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from polyadic.core.annotations import AnyArray
from polyadic.core.errors import InputError


class Spilled(NamedTuple):
    """Types and shapes of arrays that a worker wrote to a file; ``sent`` are the arrays if it could not write it."""

    name: str
    kinds: tuple[tuple[str, tuple[int, ...]], ...]
    sent: tuple[AnyArray, ...] | None = None


class SpillFile:
    """Folder in which workers store large results.

    A worker recognises the folder by a file with a random name, so that another folder of the same path is not mistaken
    for it. Work that is repeated after a lost worker leaves a second file, which is not read.
    """

    def __init__(self, folder: Path) -> None:
        self._folder, self._sign = folder.absolute(), secrets.token_hex(16)
        self._folder.mkdir()
        (self._folder / self._sign).touch()

    def leave(self, arrays: Sequence[AnyArray]) -> Spilled:
        """Write arrays to the folder, or attach them to the returned record if the folder is not writable."""
        kinds = tuple((array.dtype.str, array.shape) for array in arrays)
        left = Spilled(secrets.token_hex(16), kinds)
        try:
            if (self._folder / self._sign).exists():
                self._write(left, arrays)
                return left
        except OSError:  # the receiver tries again and reports the error
            with contextlib.suppress(OSError):
                (self._folder / left.name).unlink(missing_ok=True)
        return left._replace(sent=tuple(arrays))

    def take(self, left: Spilled) -> Spilled:
        """Write the arrays attached to a record, or check that the file written by the worker is complete."""
        path = self._folder / left.name
        if left.sent is not None:
            self._write(left, left.sent)
        elif not path.exists() or path.stat().st_size != sum(map(_size, left.kinds)):
            raise InputError(f"{path}, written by a worker, is missing or incomplete; check that the disk is not full")
        return left._replace(sent=None)

    def read(self, left: Spilled) -> list[AnyArray]:
        """Open the arrays of a record as memory maps."""
        path, offset, arrays = self._folder / left.name, 0, []
        for kind in left.kinds:
            dtype, shape = kind
            array = np.memmap(path, dtype, "r", offset, shape) if _size(kind) else np.empty(shape, dtype)
            arrays.append(array)
            offset += _size(kind)
        return arrays

    def remove(self) -> None:
        """Delete the folder."""
        shutil.rmtree(self._folder)

    def _write(self, left: Spilled, arrays: Sequence[AnyArray]) -> None:
        with (self._folder / left.name).open("xb") as file:
            for array in arrays:
                for row in [array] if array.flags.c_contiguous else array:
                    file.write(np.ascontiguousarray(row).data)


def _size(kind: tuple[str, tuple[int, ...]]) -> int:
    dtype, shape = kind
    return int(np.prod(shape, dtype=np.int64)) * np.dtype(dtype).itemsize
