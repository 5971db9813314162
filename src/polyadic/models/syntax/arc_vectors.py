"""Word vectors as features of words: the numbers of the vectors of a word and of its neighbours."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from polyadic.embedding import Embedding

AROUND = 3
"""A word has its own vector, that of the word before it and that of the word after it, one beside the other."""


def vector_rows(forms: Sequence[str], vectors: Embedding | None) -> NDArray[np.float32] | None:
    """Give a row for the root, of zeros, and for each word; nothing without vectors.

    Vectors have length 1. A word that has none is looked for in lower case; if that has none either, it is zeros.

    Parameters
    ----------
    forms : sequence of str
    vectors : Embedding, optional

    Returns
    -------
    ndarray of float32 of shape (n + 1, 3 * rank), or None

    References
    ----------
    Lei, Xin, Zhang, Barzilay, Jaakkola (2014), Low-rank tensors for scoring dependency structures, table 1

    Examples
    --------
    >>> from polyadic.embedding import Embedding
    >>> vector_rows(["Dogs", "bark"], Embedding(["dogs", "bark"], [[2.0], [-3.0]])).tolist()
    [[0.0, 0.0, 0.0], [1.0, 0.0, -1.0], [-1.0, 1.0, 0.0]]
    """
    if vectors is None:
        return None
    at = np.array([vectors.index.get(form, vectors.index.get(form.lower(), -1)) for form in forms])
    rank = vectors.rank
    rows = np.zeros((len(forms) + 1, AROUND * rank), np.float32)
    rows[1:, :rank] = np.where(at[:, None] >= 0, vectors.unit[at], 0)
    rows[2:, rank : 2 * rank] = rows[1:-1, :rank]
    rows[1:-1, 2 * rank :] = rows[2:, :rank]
    return rows
