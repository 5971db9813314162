"""What words, vectors and counts of an embedding must be."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Any

import numpy as np

from polyadic.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable


def check_words(words: Iterable[str]) -> tuple[tuple[str, ...], dict[str, int]]:
    """Give the words as a tuple, and the row of each; refuse what are not different strings."""
    if isinstance(words, str):
        raise InputError(f"words must be a list of words; got the one string {words[:40]!r}")
    kept = tuple(words)
    index: dict[str, int] = {}
    for row, word in enumerate(kept):
        if not isinstance(word, str):
            raise InputError(f"word {row} must be a string; got {word!r}")
        if index.setdefault(word, row) != row:
            raise InputError(f"words must differ; {word!r} is word {index[word]} and word {row}")
    return kept, index


def check_vectors(vectors: Any, words: tuple[str, ...]) -> np.ndarray:
    """Give a read-only view of a row of finite numbers for each word."""
    try:
        rows = np.asarray(vectors)
    except ValueError:
        raise InputError("vectors must have rows of one length") from None
    if rows.ndim != 2 or rows.shape[1] == 0 or rows.shape[0] != len(words) or not words:
        raise InputError(
            f"vectors must be a matrix with a row for each word, at least one of each;"
            f" got {len(words):,} words and shape {rows.shape}"
        )
    if rows.dtype.kind not in "fiub":
        raise InputError(f"vectors must be real numbers; got type {rows.dtype}")
    if rows.dtype.kind != "f":
        rows = rows.astype(np.float32)
    for start in range(0, len(rows), 4096):
        finite = np.isfinite(rows[start : start + 4096]).all(axis=1)
        if not finite.all():
            row = start + int(np.argmin(finite))
            raise InputError(f"vectors must be finite; row {row} ({words[row]!r}) is not")
    rows = rows.view()
    rows.flags.writeable = False
    return rows


def check_counts(counts: Any, size: int) -> np.ndarray:
    """Give a whole number of at least 0 for each word."""
    array = np.asarray(counts)
    if array.shape != (size,) or array.dtype.kind not in "iu" or (array < 0).any():
        raise InputError(f"counts must be {size:,} whole numbers of at least 0; got shape {array.shape}, {array.dtype}")
    return array.astype(np.int64)


def close_spellings(word: str, words: tuple[str, ...], index: dict[str, int], *, most: int = 20_000) -> list[str]:
    """Known words spelt much alike; in a large vocabulary only among frequent ones of like length and initial."""
    cases = [w for w in dict.fromkeys((word.lower(), word.capitalize(), word.upper())) if w in index]
    alike = (w for w in words if abs(len(w) - len(word)) <= 2 and w and word and w[0].lower() == word[0].lower())
    pool = [w for w, _ in zip(alike, range(most), strict=False)]
    return list(dict.fromkeys([*cases, *difflib.get_close_matches(word, pool, n=3)]))[:3]
