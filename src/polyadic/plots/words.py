"""Pictures of word vectors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from polyadic.embedding import unit_rows
from polyadic.errors import InputError
from polyadic.plots.axes import new_axes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polyadic.embedding import Embedding


def senses(embedding: Embedding, word: str, contexts: Sequence[str], *, top: int = 8, ax: Any = None) -> Any:
    """Show which words the products of ``word`` with each context select.

    Parameters
    ----------
    embedding : Embedding
        Word vectors.
    word : str
        The word whose senses are looked for.
    contexts : sequence of str
        One or more words that select a sense each.
    top : int
        Neighbours shown of each product.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default on a new figure, ``ax.figure``.

    Returns
    -------
    matplotlib.axes.Axes
        A row per neighbour, grouped by the context that selects it, with its cosine with every product.

    Raises
    ------
    InputError
        If a word is unknown or no context is given.
    """
    if not contexts:
        raise InputError("a picture of senses needs a context")
    embedding = embedding.themes
    nearest = {c: [neighbour for neighbour, _ in embedding.neighbours(word, c, top=top)] for c in contexts}
    words = [neighbour for group in nearest.values() for neighbour in group]
    products = unit_rows(np.stack([embedding.phrase(word, context) for context in contexts]))
    cosines = products @ embedding.unit[[embedding.index[w] for w in words]].T
    ax = new_axes(height=1.2 + 0.22 * len(words)) if ax is None else ax
    rows = np.arange(len(words)) + np.repeat(np.arange(len(contexts)), [len(group) for group in nearest.values()])
    ax.hlines(rows, cosines.min(axis=0), cosines.max(axis=0), color="0.8", zorder=1)
    for k, context in enumerate(contexts):
        ax.scatter(cosines[k], rows, color=f"C{k}", label=f"{word} * {context}", zorder=2)
    ax.set_yticks(rows, words)
    ax.invert_yaxis()
    ax.set_xlabel("cosine")
    ax.legend(frameon=False, loc="lower center", bbox_to_anchor=(0.5, 1), ncols=len(contexts))
    return ax
