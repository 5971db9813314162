"""Vocabulary of a corpus: words with ids and counts."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from polyadic.core.errors import InputError, check_int, counted
from polyadic.core.files import whole_file

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """Vocabulary of words in descending order of frequency; ties are sorted by Unicode code points.

    Parameters
    ----------
    words : tuple of str, length V
        The words, in order of their numbers.
    counts : (V,) int64 array
        Number of occurrences of each word.

    Examples
    --------
    >>> vocabulary = Vocabulary.choose({"a": 3, "rose": 3, "is": 2, "red": 1}, min_count=2)
    >>> vocabulary.words, vocabulary["rose"], "red" in vocabulary
    (('a', 'rose', 'is'), 1, False)
    """

    words: tuple[str, ...]
    counts: NDArray[np.int64]

    def __post_init__(self) -> None:
        if len(self.words) != len(self.counts):
            wanted = f"one count for each of {len(self.words)} words"
            raise InputError(f"counts must contain {wanted}; got {len(self.counts)} counts", "counts")

    @classmethod
    def choose(
        cls,
        counts: Mapping[str, int],
        *,
        min_count: int = 1,
        max_size: int | None = None,
        stop_words: Collection[str] = (),
    ) -> Vocabulary:
        """Create a vocabulary of the most frequent words, except stop words and words rarer than ``min_count``.

        If no word is left, the InputError says which ``min_count`` keeps some.
        """
        min_count = check_int("min_count", min_count, low=1)
        max_size = None if max_size is None else check_int("max_size", max_size, low=1)
        stop = frozenset(stop_words)
        frequent = [(-n, word) for word, n in counts.items() if n >= min_count and word not in stop and word]
        if not frequent:
            raise InputError(_nothing_left(counts, min_count, stop), "min_count")
        chosen = sorted(frequent)[:max_size]
        check_spelling(words := tuple(word for _, word in chosen))
        return cls(words, np.array([-n for n, _ in chosen], dtype=np.int64))

    @cached_property
    def index(self) -> dict[str, int]:
        """Mapping from each word to its id."""
        return {word: number for number, word in enumerate(self.words)}

    def __len__(self) -> int:
        return len(self.words)

    def __contains__(self, word: object) -> bool:
        return word in self.index

    def __getitem__(self, word: str) -> int:
        return self.index[word]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Vocabulary):
            return NotImplemented
        return self.words == other.words and np.array_equal(self.counts, other.counts)

    def __hash__(self) -> int:
        return hash(self.words)

    def __repr__(self) -> str:
        return f"Vocabulary({len(self):,} words: {', '.join(self.words[:5])}{', ...' if len(self) > 5 else ''})"

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a UTF-8 text file with a line ``word<tab>count`` for each word; tabs and line breaks are refused."""
        check_spelling(self.words)
        with whole_file(path) as draft:
            lines = (f"{word}\t{n}\n" for word, n in zip(self.words, self.counts.tolist(), strict=True))
            draft.write_bytes("".join(lines).encode())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Vocabulary:
        """Load a vocabulary saved by :meth:`save`; the InputError for a damaged file names the line."""
        try:
            lines = Path(path).read_bytes().decode().split("\n")
        except OSError as error:
            raise InputError(f"cannot read the vocabulary {path}: {error.strerror}") from None
        except UnicodeDecodeError as error:
            raise InputError(f"the vocabulary {path} is not UTF-8: byte {error.start} is invalid") from None
        if lines.pop():
            raise InputError(f"the vocabulary {path} is truncated: its last line has no line break")
        pairs = [_parse(line, f"{path}, line {number}") for number, line in enumerate(lines, start=1)]
        vocabulary = cls(tuple(word for word, _ in pairs), np.array([n for _, n in pairs], dtype=np.int64))
        if len(vocabulary.index) < len(pairs):
            twice = next(word for number, (word, _) in enumerate(pairs) if vocabulary.index[word] != number)
            raise InputError(f"the vocabulary {path} lists {twice!r} twice")
        return vocabulary


def _parse(line: str, where: str) -> tuple[str, int]:
    word, tab, n = line.partition("\t")
    if not word or not tab or not (n.isascii() and n.isdigit()) or len(n) > 18:
        raise InputError(f"{where}: expected a word, a tab and a count; got {line[:80]!r}")
    return word, int(n)


def check_spelling(words: Collection[str]) -> None:
    """Raise InputError if a word cannot be stored in a text file with one word per line."""
    odd = re.compile("[\t\n\r\ud800-\udfff]")
    if odd.search("".join(words)):
        word = next(filter(odd.search, words))
        if any(space in word for space in "\t\n\r"):
            raise InputError(f"a word must not contain a tab or line break; got {word!r}")
        raise InputError(f"a word must be valid Unicode; got {word!r} with an unpaired surrogate")


def _nothing_left(counts: Mapping[str, int], min_count: int, stop: frozenset[str]) -> str:
    open_words = [n for word, n in counts.items() if word and word not in stop]
    if not open_words:
        return f"no word is left: all {len(counts)} types of the corpus are stop words" if counts else "no word is left"
    most, types = max(open_words), f"{len(open_words):,} types (without stop words)"
    what = f"no word reaches min_count={min_count}: the corpus has {types}"
    return f"{what}, and the most frequent occurs {counted(most, 'time')}; min_count={most} or less keeps some"
