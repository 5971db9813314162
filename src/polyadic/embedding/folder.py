"""The folder of an embedding: ``vectors.safetensors``, ``vocabulary.txt`` (word, tab, count), ``meta.json``."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from polyadic.errors import InputError
from polyadic.files import read_meta, whole_folder, write_meta

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

KIND, VERSION = "embedding", 1
DTYPES = {"F16": "<f2", "F32": "<f4", "F64": "<f8"}  # of safetensors; bfloat16 has no numpy type


def save_folder(
    path: str | os.PathLike[str],
    words: Sequence[str],
    vectors: np.ndarray,
    counts: np.ndarray | None,
    about: dict[str, Any],
    *,
    overwrite: bool,
) -> None:
    """Write the three files, whole or not at all; ``about`` goes into ``meta.json``."""
    from safetensors.numpy import save

    vocabulary = _vocabulary_text(words, counts)
    try:
        json.dumps(about, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise InputError(f"meta must hold only what JSON can: {error}") from None
    if vectors.dtype.newbyteorder("<").str not in DTYPES.values():
        raise InputError(f"vectors of type {vectors.dtype} cannot be saved; turn them into float32 or float64")
    with whole_folder(path, kind=KIND, overwrite=overwrite) as draft:
        # through bytes: what safetensors writes itself fails with an error of its own when the disk is full
        (draft / "vectors.safetensors").write_bytes(save({"vectors": np.ascontiguousarray(vectors)}))
        (draft / "vocabulary.txt").write_bytes(vocabulary)
        write_meta(draft, KIND, VERSION, words=len(words), rank=vectors.shape[1], **about)


def load_folder(
    path: str | os.PathLike[str],
) -> tuple[list[str], np.ndarray, np.ndarray | None, dict[str, Any]]:
    """Give the words, the vectors mapped into memory, the counts if there are any, and ``meta.json``."""
    folder = Path(path)
    about = read_meta(folder, KIND, VERSION)
    words, counts = _read_vocabulary(folder / "vocabulary.txt")
    return words, _map_vectors(folder / "vectors.safetensors"), counts, about


def _vocabulary_text(words: Sequence[str], counts: np.ndarray | None) -> bytes:
    for row, word in enumerate(words):
        if "\t" in word or "\n" in word:
            raise InputError(f"word {row} ({word!r}) holds a tab or a line break, which vocabulary.txt cannot hold")
    lines = words if counts is None else [f"{word}\t{count}" for word, count in zip(words, counts, strict=True)]
    try:
        return ("\n".join(lines) + "\n").encode("utf-8")
    except UnicodeEncodeError as error:
        raise InputError(f"the vocabulary cannot be written as UTF-8: {error}") from None


def _read_vocabulary(path: Path) -> tuple[list[str], np.ndarray | None]:
    try:
        lines = path.read_bytes().decode("utf-8").removesuffix("\n").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path} cannot be read: {error}") from None
    words, tabs, numbers = zip(*(line.partition("\t") for line in lines), strict=True)
    if not any(tabs):
        return list(words), None
    for row, number in enumerate(numbers):
        if not (number.isascii() and number.isdecimal() and len(number) < len(str(2**63))):
            raise InputError(f"{path}, line {row + 1}: expected a word, a tab and its count; got {lines[row]!r}")
    return list(words), np.array([int(number) for number in numbers], dtype=np.int64)


def _map_vectors(path: Path) -> np.ndarray:
    """Map the tensor of a safetensors file: 8 bytes of header length, the header in JSON, then the numbers."""
    damaged = InputError(f"{path} is damaged: it is not one whole safetensors tensor named 'vectors'")
    try:
        with path.open("rb") as file:
            length, size = int.from_bytes(file.read(8), "little"), path.stat().st_size
            header = file.read(min(length, size))
        entry = json.loads(header)["vectors"]
        dtype, shape, (start, end) = np.dtype(DTYPES[entry["dtype"]]), tuple(entry["shape"]), entry["data_offsets"]
        whole = end - start == dtype.itemsize * math.prod(shape) and 8 + length + end == size
        if not (whole and start == 0 < end and all(side > 0 for side in shape)):
            raise damaged
        return np.memmap(path, dtype, "r", offset=8 + length, shape=shape)
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error}") from None
    except (KeyError, TypeError, ValueError, RecursionError, OverflowError):  # damaged and JSON errors are ValueErrors
        raise damaged from None
