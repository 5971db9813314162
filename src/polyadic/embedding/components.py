"""Interpret the dimensions of an embedding by their most characteristic words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from polyadic.core.errors import check_int, check_number

if TYPE_CHECKING:
    from polyadic.embedding.vectors import Embedding


class Component(NamedTuple):
    """Dimension of an embedding with its most characteristic words."""

    column: int
    share: float  # of words with a nonzero value
    words: list[tuple[str, float]]  # the most characteristic ones with their values, in descending order


COMMON = 0.25  # exponent of the word count; with 0.5, words appear in two components each: docs/results/sizes.md


def components(
    embedding: Embedding, columns: Sequence[int] | None = None, *, top: int = 10, common: float = COMMON
) -> list[Component]:
    r"""Describe each dimension of an embedding by its most characteristic words.

    These are the words with the largest :math:`|u_{wr}| n_w^\gamma`. The largest values alone belong to rare words,
    whose neighbours are all of one kind. Without word counts, words are ranked by value. The columns of non-negative
    sparse vectors can be interpreted; those of other models are mixtures of many topics. Columns of zeros are skipped.

    ``columns``, by default all, are numbered within ``embedding.components``. ``top`` is the number of words per
    column, and ``common`` the exponent :math:`\gamma` of the word count; 0 ranks by value alone.

    >>> from polyadic import Embedding
    >>> vectors = Embedding(["bank", "money", "river"], [[1.0, 2.0], [0.0, 3.0], [4.0, 0.0]])
    >>> [(c.column, [word for word, _ in c.words]) for c in components(vectors, top=2)]
    [(0, ['river', 'bank']), (1, ['money', 'bank'])]
    """
    check_int("top", top, low=1)
    check_number("common", common)
    embedding = embedding.components
    telling = np.ones(len(embedding)) if embedding.counts is None else np.maximum(embedding.counts, 1.0) ** common
    described = []
    for column in range(embedding.rank) if columns is None else columns:
        values = embedding.vectors[:, column]
        nonzero = np.flatnonzero(values)
        if not len(nonzero):
            continue
        best = nonzero[np.argsort(-np.abs(values[nonzero]) * telling[nonzero], kind="stable")[:top]]
        words = [(embedding.words[row], float(values[row])) for row in best]
        described.append(Component(int(column), len(nonzero) / len(values), words))
    return described


def components_of(embedding: Embedding, *words: str, n_components: int = 5, top: int = 10) -> list[Component]:
    """Return the components in which a word, or the product of several words, has the largest values.

    Values are divided by the length of the column, so that a column shared by all words does not always come first.
    At most ``n_components`` are returned, with ``top`` words each. An unknown word raises InputError.

    >>> from polyadic import Embedding
    >>> vectors = Embedding(["bank", "money", "river"], [[1.0, 2.0], [0.0, 3.0], [4.0, 0.0]])
    >>> [c.column for c in components_of(vectors, "bank")], [c.column for c in components_of(vectors, "bank", "river")]
    ([1, 0], [0])
    """
    check_int("n_components", n_components, low=1)
    embedding = embedding.components
    lengths: Any = np.linalg.norm(embedding.vectors, axis=0)
    values = np.abs(embedding.product(*words)) / np.where(lengths > 0, lengths, 1) ** len(words)
    nonzero = np.flatnonzero(values)
    return components(embedding, nonzero[np.argsort(-values[nonzero], kind="stable")[:n_components]].tolist(), top=top)
