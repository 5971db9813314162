r"""Vectors of two-word phrases, computed from the triples that contain both words.

The words that occur with both words of a phrase are a row of the tensor of triples. In the space of word vectors of any
model, the phrase vector is

.. math:: p_{uv} = \frac{\sum_w x_{uvw}\, \hat u_w}{\| \sum_w x_{uvw}\, \hat u_w \|} + b\, \frac{\hat u_u + \hat u_v}
          {\| \hat u_u + \hat u_v \|}, \qquad \hat u = u / \|u\| .

The second term, the sum of both words, also gives unseen phrases a vector. A CP model of rank 300 cannot store the rows
of millions of pairs, so its products :math:`u * v` only summarize them; here the rows are looked up.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from polyadic.core.errors import InputError, check_number
from polyadic.embedding import Embedding, unit_rows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from polyadic.core.entries import Entries

BLEND = 0.5  # weight of the sum of both words; tuned, see docs/results/third-order.md


def phrase_vectors(
    embedding: Embedding,
    triples: Entries,
    phrases: Sequence[Sequence[str]],
    *,
    words: Sequence[str] | None = None,
    blend: float = BLEND,
) -> NDArray[np.float64]:
    """Return the vectors of two-word phrases, computed from symmetric triples, shape (n, R).

    ``words`` are those of the indices of the triples; by default the words of the embedding. The result can be compared
    with words by the cosine.

    >>> from polyadic import Embedding, Entries
    >>> words = Embedding(["pearl", "jam", "harbor", "band", "ship"], np.eye(5))
    >>> triples = Entries.collect([[0, 1, 3], [0, 2, 4]], [2.0, 2.0], 5)
    >>> words.neighbours(phrase_vectors(words, triples, [("pearl", "jam")])[0], exclude=["pearl", "jam"], top=1)[0][0]
    'band'
    """
    names = embedding.words if words is None else words
    if triples.order != 3 or not triples.symmetric or triples.shape[0] != len(names):
        wanted = f"a symmetric tensor of shape {(len(names),) * 3} for {len(names):,} words"
        got = f"a {'symmetric' if triples.symmetric else 'non-symmetric'} tensor of shape {triples.shape}"
        raise InputError(f"triples must be {wanted}; got {got}", "triples")
    check_number("blend", blend)
    index = {word: row for row, word in enumerate(names)}
    for phrase in phrases:
        if len(set(phrase)) != 2 or len(phrase) != 2 or not all(w in index and w in embedding for w in phrase):
            raise InputError(f"a phrase must consist of two different known words; got {' '.join(phrase)!r}")
    pairs = np.array([[index[word] for word in phrase] for phrase in phrases], np.int64).reshape(-1, 2)
    vectors = np.zeros((len(names), embedding.rank))
    here, there = np.array([(row, embedding.index[word]) for row, word in enumerate(names) if word in embedding]).T
    vectors[here] = embedding.unit[there]
    return blended(rows_of_pairs(triples, pairs), pairs, vectors, blend=blend)


def blended(rows: Any, pairs: NDArray[np.int64], unit: NDArray[Any], *, blend: float = BLEND) -> NDArray[np.float64]:
    """Combine the vectors of the two words of each pair with the vectors of words that co-occur with both.

    The inputs are pairs (n, 2), their rows of triples (n, V) and unit vectors (V, R).
    """
    return np.asarray(unit_rows(rows @ unit) + blend * unit_rows(unit[pairs[:, 0]] + unit[pairs[:, 1]]))


def rows_of_pairs(triples: Entries, pairs: NDArray[np.int64]) -> Any:
    """Return a sparse matrix of the values of triples, with word pairs as rows and third words as columns."""
    from scipy.sparse import csr_array

    size, held = triples.shape[0], triples.holding(pairs)
    keys, place = np.unique(pairs.max(axis=1) * size + pairs.min(axis=1), return_inverse=True)
    columns, parts = held.indices.T.astype(np.int64), []
    for a, b, third in ((0, 1, 2), (0, 2, 1), (1, 2, 0)):  # indices decrease along a row
        key = columns[a] * size + columns[b]
        here = np.flatnonzero(np.isin(key, keys))
        parts.append((np.searchsorted(keys, key[here]), columns[third][here], held.values[here]))
    rows, words, values = (np.concatenate(part) for part in zip(*parts, strict=True))
    return csr_array((values.astype(float), (rows, words)), shape=(len(keys), size))[place]
