"""Plots of word vectors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from polyadic.core.errors import InputError
from polyadic.embedding import unit_rows
from polyadic.plots.axes import new_axes, place

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from polyadic.embedding import Embedding


def senses(embedding: Embedding, word: str, contexts: Sequence[str], *, top: int = 8, ax: Any = None) -> Any:
    """Plot the words selected by ``word`` in combination with each context.

    There is a row per neighbour, grouped by the context that selects it, with its cosine with every combination.

    Parameters
    ----------
    embedding : Embedding
        Word vectors.
    word : str
        Ambiguous word.
    contexts : sequence of str
        One or more words, each of which selects a sense.
    top : int
        Number of neighbours per context.

    Raises
    ------
    InputError
        If a word is unknown or no context is given.
    """
    if not contexts:
        raise InputError("a plot of senses needs at least one context")
    embedding = embedding.components
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


def word_map(embedding: Embedding, groups: Mapping[str, Sequence[str]], *, ax: Any = None) -> Any:
    """Plot words as points in the plane of the first two principal components of their unit vectors.

    The explained variance is shown below the map.

    Parameters
    ----------
    embedding : Embedding
        Word vectors.
    groups : mapping of str to sequence of str
        Words by group, such as neighbours by query or substitutes by sense. Each group has a colour; a word of several
        groups has the colour of the first.

    Raises
    ------
    InputError
        If a word is unknown or there are fewer than three words.
    """
    color = {word: f"C{k % 10}" for k, words in reversed([*enumerate(groups.values())]) for word in words}
    words = list(dict.fromkeys(word for some in groups.values() for word in some))
    if len(words) < 3:
        raise InputError(f"a map needs at least three words; got {len(words)}")
    directions = unit_rows(np.stack([embedding[word] for word in words]).astype(np.float64))
    U, s, _ = np.linalg.svd(directions - directions.mean(axis=0), full_matrices=False)
    at = np.pad(U[:, :2] * s[:2], ((0, 0), (0, max(2 - len(s), 0))))
    shown = (s[:2] ** 2).sum() / max((s**2).sum(), np.finfo(float).tiny)
    ax = new_axes(width=7, height=6) if ax is None else ax
    for k, (name, some) in enumerate(groups.items()):
        rows = [row for row, word in enumerate(words) if word in set(some) and color[word] == f"C{k % 10}"]
        ax.scatter(*at[rows].T, s=16, color=f"C{k % 10}", label=name, zorder=2)
    ax.set_xticks([])
    ax.set_yticks([])
    ax.set_aspect("equal", adjustable="datalim")
    ax.margins(0.15)
    ax.set_xlabel(f"{100 * shown:.0f} % of the differences between the words")
    if len(groups) > 1:
        ax.legend(frameon=False, loc="lower center", bbox_to_anchor=(0.5, 1), ncols=min(len(groups), 4))
    place(ax, at, words, [color[word] for word in words])
    return ax
