"""What is collected of sentences before filters are looked for: moments of patches, and scales of coordinates."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from polyadic.errors import InputError
from polyadic.models.sentences.signals import BLOCK, blocks
from polyadic.progress import tracked
from polyadic.text.moments import Moments, patches

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from polyadic.embedding import Embedding
    from polyadic.text.corpus import Corpus

WORDS = 1 << 13
"""Words whose patches are made at a time."""


class Collected(NamedTuple):
    """One pass over sentences.

    Attributes
    ----------
    moments : Moments
        Of all patches of each coordinate.
    scales : ndarray of shape (K,)
        Root mean square of each coordinate.
    """

    moments: Moments
    scales: NDArray[np.float64]


def collect(corpus: Corpus, embedding: Embedding, length: int) -> Collected:
    """Pass over sentences once; memory grows neither with their number nor with their length.

    Raises
    ------
    InputError
        If no sentence is as long as a patch.

    Warns
    -----
    UserWarning
        If there are fewer patches than a cumulant has cells.
    """
    moments, longest = Moments.empty(embedding.rank, length), 0
    squares, number = np.zeros(embedding.rank), 0
    total = -(-(len(corpus.sentences) - 1) // BLOCK)
    for block in tracked(blocks(corpus, embedding), "cumulants", total=total):
        for part in block.split(WORDS):
            signal = embedding.vectors[part.rows].astype(float)
            moments.add(patches(signal, length, part.edges))
            squares += (signal**2).sum(axis=0)
            number += len(signal)
            longest = max(longest, int(part.lengths.max(initial=0)))
    if not moments.number:
        raise InputError(f"no sentence has {length} known words; the longest has {longest}: lower length")
    if moments.number < (cells := length * (length + 1) * (length + 2) // 6):
        about = f"{moments.number:,} patches are fewer than the {cells:,} cells of a cumulant of {length} values"
        warnings.warn(f"{about}; take more sentences or a smaller length", stacklevel=3)
    return Collected(moments, np.sqrt(squares / number))
