"""Write ``.npy`` files incrementally, and open them as validated memory maps."""

from __future__ import annotations

import contextlib
from pathlib import Path
from tokenize import TokenError
from typing import BinaryIO, Self

import numpy as np

from polyadic.core.annotations import AnyArray, DTypeLike
from polyadic.core.errors import InputError


class ArrayWriter:
    """Context manager that writes a vector of unknown length to a ``.npy`` file."""

    def __init__(self, path: Path, dtype: DTypeLike) -> None:
        self._dtype = np.dtype(dtype)
        self._file = path.open("wb")
        self._length = 0
        self._start = self._write_header()

    def append(self, values: object) -> None:
        """Append values to the file."""
        array = np.ascontiguousarray(values, dtype=self._dtype)
        self._file.write(array.data)
        self._length += len(array)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        with self._file:
            if kind is None:
                self._file.seek(0)
                if self._write_header() != self._start:
                    raise RuntimeError("the length of the .npy header changed")  # it pads for a growing first axis

    def _write_header(self) -> int:
        write_header(self._file, self._dtype, (self._length,))
        return self._file.tell()


def write_header(file: BinaryIO, dtype: DTypeLike, shape: tuple[int, ...]) -> None:
    """Write the ``.npy`` header of a row-major array."""
    header = {"descr": np.lib.format.dtype_to_descr(np.dtype(dtype)), "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(file, header)


def save_array(file: Path | BinaryIO, array: AnyArray) -> None:
    """Save an array in ``.npy`` format to a path or an open file, keeping the cause of an OSError."""
    rows = np.asarray(array, order="C")
    with file.open("wb") if isinstance(file, Path) else contextlib.nullcontext(file) as stream:
        np.lib.format.write_array_header_1_0(stream, np.lib.format.header_data_from_array_1_0(rows))
        stream.write(rows.data)


def open_array(path: Path, dtypes: tuple[DTypeLike, ...], *, ndim: int = 1) -> AnyArray:
    """Open a complete ``.npy`` file of one of the types as a read-only memory map; raise InputError for others."""
    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except FileNotFoundError:
        raise InputError(f"{path} is missing") from None
    except (OSError, ValueError, EOFError, SyntaxError, OverflowError, TokenError) as error:  # from a damaged header
        raise InputError(f"{path} is damaged: {error}") from None
    if not isinstance(array, np.memmap) or array.ndim != ndim or array.dtype not in [np.dtype(d) for d in dtypes]:
        wanted = " or ".join(str(np.dtype(d)) for d in dtypes)
        what = {1: "a vector", 2: "a matrix"}[ndim]
        got = f"shape {array.shape} and type {array.dtype}" if isinstance(array, np.memmap) else "no single array"
        raise InputError(f"{path} must contain {what} of type {wanted}; got {got}")
    if path.stat().st_size != array.offset + array.nbytes:
        raise InputError(f"{path} is damaged: it contains more than the expected {array.size} values")
    return array
