"""Prepositional phrases: whether one belongs to the verb or to the noun before it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from polyadic.datasets.place import check_count, folder, text
from polyadic.errors import InputError

if TYPE_CHECKING:
    import os
    from pathlib import Path

    from numpy.typing import NDArray

SIZES = {"training": 20_801, "devset": 4_039, "test": 3_097}
"""Files, and how many phrases each holds."""

Words = tuple[str, str, str, str]


class Phrases(NamedTuple):
    """Phrases and where they belong.

    Attributes
    ----------
    words : list of (str, str, str, str)
        Verb, noun, preposition and the noun after it: *ate pizza with anchovies*.
    verbal : ndarray of bool
        Whether the phrase of the preposition belongs to the verb, and not to the noun.
    """

    words: list[Words]
    verbal: NDArray[np.bool_]


class Attachment(NamedTuple):
    """Phrases to learn from, to choose a model by, and to tell."""

    train: Phrases
    validation: Phrases
    test: Phrases


def attachment(*, root: str | os.PathLike[str] | None = None) -> Attachment:
    """Read the phrases of the Wall Street Journal.

    Parameters
    ----------
    root : path, optional
        See :func:`~polyadic.datasets.folder`; the files are in ``relations/ppattach``.

    Raises
    ------
    InputError
        If a file is absent or malformed, or does not hold the published number of phrases.

    References
    ----------
    Ratnaparkhi, Reynar, Roukos (1994), A maximum entropy model for prepositional phrase attachment.
    """
    where = folder(root) / "relations" / "ppattach"
    return Attachment(*(_phrases(where / name, size) for name, size in SIZES.items()))


def _phrases(path: Path, size: int) -> Phrases:
    words: list[Words] = []
    verbal = []
    for at, line in enumerate(text(path).split("\n"), 1):
        fields = line.split()
        if not fields:
            continue
        if len(fields) != 6 or fields[5] not in {"V", "N"}:
            raise InputError(f"{path}, line {at}: expected a number, four words, and V or N; got {line!r:.80}")
        words.append((fields[1], fields[2], fields[3], fields[4]))
        verbal.append(fields[5] == "V")
    check_count(path, len(words), size, "phrases")
    return Phrases(words, np.array(verbal))
