"""Word-context co-occurrence matrices for two-sided, one-sided or position-specific context windows."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
from scipy.sparse import coo_array, csr_array

from polyadic.core.errors import check_choice, check_int
from polyadic.core.progress import tracked
from polyadic.text.counts import MAX_WIDTH, Distance, positioned

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from polyadic.text.corpus import Corpus

Side = Literal["both", "left", "right"]
BLOCK = 1 << 22  # number of word pairs collected before they are summed


def contexts(
    corpus: Corpus, *, side: Side = "both", width: int = 2, positional: bool = False, distance: Distance = "kept"
) -> csr_array:
    """Return the word-context co-occurrence matrix of a corpus, counted within sentences.

    The result has a row for each word and a column for each context. Contexts are words up to ``width`` words away;
    with both sides the table is symmetric and, off the diagonal, equal to ``count(corpus, order=2, width=width)``. If
    ``positional``, each distance has contexts of its own: column ``place * V + word``, with places from the leftmost to
    the rightmost, ``2 * width`` of them for both sides, else ``width``. Distances are measured in kept words or in
    running words, as in :func:`~polyadic.text.counts.count`.
    """
    check_choice("side", side, get_args(Side))
    check_int("width", width, low=1, high=MAX_WIDTH)
    size = len(corpus.vocabulary)
    places = [d for d in range(-width, width + 1) if d and (side == "both" or (d < 0) == (side == "left"))]
    columns = size * (len(places) if positional else 1)
    kind = np.int32 if columns < 1 << 31 else np.int64
    total = csr_array((size, columns), dtype=np.int64)
    tokens, edges = positioned(corpus, distance)
    step = max(1, BLOCK // len(places))
    bounds = [0]
    while bounds[-1] < len(edges) - 1:  # whole sentences, about `step` words
        first = bounds[-1]
        bounds.append(max(first + 1, int(np.searchsorted(edges, edges[first] + step, side="right")) - 1))
    for first, last in tracked([*pairwise(bounds)], "counting contexts"):
        ids: NDArray[Any] = np.asarray(tokens[edges[first] : edges[last]], kind)
        sentence = np.repeat(np.arange(last - first), np.diff(edges[first : last + 1]))
        if distance == "running":  # a removed word is in no sentence
            sentence = np.where(ids < size, sentence, -1 - np.arange(len(ids)))
        pairs = [_pairs(ids, sentence, d, k * size if positional else 0) for k, d in enumerate(places)]
        words, near = (np.concatenate(parts) for parts in zip(*pairs, strict=True))
        total = total + coo_array((np.ones(len(words), np.int64), (words, near)), shape=total.shape).tocsr()
    return total


def _pairs(
    ids: NDArray[Any], sentence: NDArray[np.int64], distance: int, shift: int
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the ids of the words and of the context words at a given distance in the same sentence."""
    d = abs(distance)
    same = sentence[:-d] == sentence[d:]
    left, right = ids[:-d][same], ids[d:][same]
    return (left, right + shift) if distance > 0 else (right, left + shift)
