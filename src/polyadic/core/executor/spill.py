"""Results that are large: whoever sees the folder of the one who waits for them leaves them there, others send them."""

from __future__ import annotations

import contextlib
import secrets
import shutil
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from polyadic.core.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray


class Spilled(NamedTuple):
    """Arrays in a file of a spool, one behind the other.

    Attributes
    ----------
    name : str
        Of the file.
    kinds : tuple of (str, tuple of int)
        Type and shape of each array.
    sent : tuple of ndarray or None
        The arrays themselves, where they could not be left.
    """

    name: str
    kinds: tuple[tuple[str, tuple[int, ...]], ...]
    sent: tuple[NDArray[Any], ...] | None = None


class SpillFile:
    """A folder for results, which goes with the work that makes them.

    Whether a worker sees this folder, and not another one of its name, it tells by a file with a name drawn at random.
    Work that is done twice, because a worker seemed lost, leaves two files, of which one is read.

    Parameters
    ----------
    folder : Path
        A folder to make.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> spool = SpillFile(pathlib.Path(tempfile.mkdtemp()) / "parts")
    >>> left = spool.take(spool.leave([np.arange(3), np.eye(2)]))
    >>> [array.tolist() for array in spool.read(left)]
    [[0, 1, 2], [[1.0, 0.0], [0.0, 1.0]]]
    """

    def __init__(self, folder: Path) -> None:
        self._folder, self._sign = folder.absolute(), secrets.token_hex(16)
        self._folder.mkdir()
        (self._folder / self._sign).touch()

    def leave(self, arrays: Sequence[NDArray[Any]]) -> Spilled:
        """Write arrays into the folder, or, where it is not seen or cannot be written, give them along."""
        kinds = tuple((array.dtype.str, array.shape) for array in arrays)
        left = Spilled(secrets.token_hex(16), kinds)
        try:
            if (self._folder / self._sign).exists():
                self._write(left, arrays)
                return left
        except OSError:  # the one who takes them tries again, and says what is wrong
            with contextlib.suppress(OSError):
                (self._folder / left.name).unlink(missing_ok=True)
        return left._replace(sent=tuple(arrays))

    def take(self, left: Spilled) -> Spilled:
        """Write what was sent; refuse what was not left whole.

        Raises
        ------
        InputError
            If a worker has left something that is not there.
        """
        path = self._folder / left.name
        if left.sent is not None:
            self._write(left, left.sent)
        elif not path.exists() or path.stat().st_size != sum(map(_size, left.kinds)):
            raise InputError(f"{path}, which a worker has written, is not there as a whole; is the disk full?")
        return left._replace(sent=None)

    def read(self, left: Spilled) -> list[NDArray[Any]]:
        """Map arrays into memory."""
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

    def _write(self, left: Spilled, arrays: Sequence[NDArray[Any]]) -> None:
        with (self._folder / left.name).open("xb") as file:
            for array in arrays:
                for row in [array] if array.flags.c_contiguous else array:
                    file.write(np.ascontiguousarray(row).data)


def _size(kind: tuple[str, tuple[int, ...]]) -> int:
    dtype, shape = kind
    return int(np.prod(shape, dtype=np.int64)) * np.dtype(dtype).itemsize
