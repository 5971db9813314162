"""What the columns of an embedding stand for: the words that have most of each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from polyadic.core.errors import check_int, check_number

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polyadic.embedding.vectors import Embedding


class Component(NamedTuple):
    """A column and the words that have most of it."""

    column: int
    share: float
    """Share of the words that have any of it."""
    words: list[tuple[str, float]]
    """The most telling words, most telling first, and their values."""


COMMON = 0.25
"""How much being common makes a word telling; with a half, words stand in two themes each: docs/results/sizes.md."""


def components(
    embedding: Embedding, columns: Sequence[int] | None = None, *, top: int = 10, common: float = COMMON
) -> list[Component]:
    r"""Give the words that tell what columns stand for: those of the largest :math:`|u_{wr}| n_w^\gamma`.

    The largest values alone are those of rare words, whose neighbours are all of one kind. Where frequencies are
    unknown, values alone decide.

    The columns of non-negative sparse vectors are themes that can be read; those of other models are sums and
    differences of many. Columns that no word has are left out.

    Parameters
    ----------
    embedding : Embedding
        Of any model.
    columns : sequence of int, optional
        All themes, by default in the order of the vectors.
    top : int
        Words per column.
    common : float
        :math:`\gamma`; 0 for the largest values.

    Examples
    --------
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
    """Give the components that a word, or the product of several, has most of, strongest first.

    A column counts relative to its length, so that one which all words have does not come first everywhere.

    Raises
    ------
    InputError
        If a word is not in the vocabulary.

    Examples
    --------
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
