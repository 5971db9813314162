"""Plots of text models: word vectors, topics, and filters of convolutional sentence models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from polyadic.core.annotations import ArrayLike
from polyadic.core.errors import InputError, check_int
from polyadic.embedding import Embedding, unit_rows
from polyadic.plots.axes import new_axes, place
from polyadic.sentences.words import known_words, words_of

if TYPE_CHECKING:
    from polyadic.sentences.base import SentenceVectors
    from polyadic.sentences.convolutional import ConvolutionalSentences
    from polyadic.text.usage import Occurrences
    from polyadic.topics.text_topics import TextTopics


def senses(embedding: Embedding, word: str, contexts: Sequence[str], *, top: int = 8, ax: Any = None) -> Any:
    """Plot the nearest words of an ambiguous word in combination with each context word.

    There is a row for each of the ``top`` neighbours of a context, which selects a sense, with the cosine with every
    combination. InputError is raised if a word is unknown or no context is given.
    """
    if not contexts:
        raise InputError("contexts must contain at least one word", "contexts")
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


def barcode(occurrences: Sequence[Occurrences], *, ax: Any = None) -> Any:
    """Plot the positions of the matches of queries in each part of a text, a row for each part (dispersion plot).

    Parameters
    ----------
    occurrences : sequence of Occurrences
        Result of :meth:`polyadic.text.usage.Usage.occurrences`; each query has a colour.

    Raises
    ------
    InputError
        If there are no matches.
    """
    if not occurrences:
        raise InputError("there are no matches to plot")
    parts, queries = (list(dict.fromkeys(getattr(each, name) for each in occurrences)) for name in ("part", "query"))
    height = 0.8 / len(queries)
    ax = new_axes(width=8, height=1 + 0.3 * len(parts)) if ax is None else ax
    for each in occurrences:
        k, row = queries.index(each.query), parts.index(each.part)
        at = (np.array(each.positions) + 0.5) / each.words
        ax.vlines(at, row - 0.4 + k * height, row - 0.4 + (k + 1) * height, color=f"C{k % 10}", linewidth=0.8)
    ax.set_yticks(
        range(len(parts)),
        [f"{part[:40]} ({sum(o.frequency for o in occurrences if o.part == part):,})" for part in parts],
    )
    ax.set(xlim=(0, 1), ylim=(len(parts) - 0.4, -0.6), xlabel="position in the part")
    for k, query in enumerate(queries):
        ax.plot([], [], color=f"C{k % 10}", label=query)
    ax.legend(frameon=False, loc="lower center", bbox_to_anchor=(0.5, 1), ncols=min(len(queries), 4))
    return ax


def word_map(embedding: Embedding, groups: Mapping[str, Sequence[str]], *, ax: Any = None) -> Any:
    """Plot words in the plane of the first two principal components of their unit vectors.

    The explained variance is shown below the map. Each group, such as neighbours of a query or substitutes of a sense,
    has a colour; a word of several groups has that of the first. InputError is raised if a word is unknown or there are
    fewer than three words.
    """
    color = {word: f"C{k % 10}" for k, words in reversed([*enumerate(groups.values())]) for word in words}
    words = list(dict.fromkeys(word for some in groups.values() for word in some))
    if len(words) < 3:
        raise InputError(f"a map requires at least three words; got {len(words)}")
    directions = unit_rows(np.stack([embedding[word] for word in words]).astype(np.float64))
    U, s, _ = np.linalg.svd(directions - directions.mean(axis=0), full_matrices=False)
    at = np.pad(U[:, :2] * s[:2], ((0, 0), (0, max(2 - len(s), 0))))
    shown = (s[:2] ** 2).sum() / max((s**2).sum(), np.finfo(float).tiny)
    ax = new_axes(width=7, height=6) if ax is None else ax
    for k, (name, some) in enumerate(groups.items()):
        rows = [row for row, word in enumerate(words) if word in set(some) and color[word] == f"C{k % 10}"]
        ax.scatter(*at[rows].T, s=16, color=f"C{k % 10}", label=name, zorder=2)
    ax.set(xticks=[], yticks=[], xlabel=f"{100 * shown:.0f} % of the differences between the words")
    ax.set_aspect("equal", adjustable="datalim")
    ax.margins(0.15)
    if len(groups) > 1:
        ax.legend(frameon=False, loc="lower center", bbox_to_anchor=(0.5, 1), ncols=min(len(groups), 4))
    place(ax, at, words, [color[word] for word in words])
    return ax


def topic_words(model: TextTopics, topics: Sequence[int] | None = None, *, top: int = 8, ax: Any = None) -> Any:
    """Plot the top words of each topic as bars that show the weight relative to the first word.

    There is a row of ``top`` labelled bars for each topic, by default for the first ten. InputError is raised if there
    is no such topic.
    """
    check_is_fitted(model)
    check_int("top", top, low=1)
    H = model.model_.components_
    chosen = _chosen("topics", topics, len(H))
    ax = new_axes(width=1.2 + 1.05 * top, height=0.8 + 0.42 * len(chosen)) if ax is None else ax
    for row, k in enumerate(chosen):
        best = [at for at in np.argsort(-H[k], kind="stable")[:top] if H[k, at] > 0]
        for column, at in enumerate(best):
            ax.barh(row + 0.25, 0.94 * H[k, at] / H[k, best[0]], 0.3, left=column, color=f"C{row % 10}")
            ax.text(column, row, model.words_[at], va="bottom", fontsize=9, clip_on=True)
    ax.set(xlim=(0, top), ylim=(len(chosen) - 0.4, -0.6), xticks=[])
    ax.set_yticks(range(len(chosen)), [f"topic {k}" for k in chosen])
    ax.spines[:].set_visible(False)
    ax.tick_params(length=0)
    return ax


def topic_groups(weights: ArrayLike, labels: Sequence[Any], *, ax: Any = None) -> Any:
    """Plot the mean share of each topic in the documents of each label as a heat map.

    There is a row for each label and a column for each topic; topics are ordered by the label with their largest share.
    Weights have the shape (documents, rank); negative ones count as zero, and each document is normalized to sum to
    one. InputError is raised if there is not one label for each document.
    """
    W = np.maximum(np.asarray(weights, float), 0)
    if W.ndim != 2 or len(W) != len(labels) or not len(W):
        raise InputError(
            f"weights must have one row for each of the {len(labels)} labels; got shape {W.shape}", "weights", "labels"
        )
    W = W / np.maximum(W.sum(axis=1, keepdims=True), np.finfo(float).tiny)
    names, group = np.unique(np.asarray([str(label) for label in labels]), return_inverse=True)
    shares = np.stack([W[group == g].mean(axis=0) for g in range(len(names))])
    order = np.lexsort([-shares.max(axis=0), shares.argmax(axis=0)])
    ax = new_axes(width=2 + 0.35 * len(order), height=1.2 + 0.4 * len(names)) if ax is None else ax
    image = ax.imshow(shares[:, order], cmap="Blues", vmin=0, aspect="auto")
    ax.set_yticks(range(len(names)), names)
    ax.set_xticks(range(len(order)), order)
    ax.set_xlabel("topic")
    ax.figure.colorbar(image, ax=ax, label="mean share")
    return ax


def templates(
    model: ConvolutionalSentences, coordinates: Sequence[int] | None = None, *, ends: int = 3, ax: Any = None
) -> Any:
    """Plot convolution filters as heat maps, labelled with the words that have the largest and smallest coordinates.

    There is a row for each filter, by default of the first ten coordinates, and a column for each of its positions. A
    label has ``ends`` words of either kind. InputError is raised if there is no such coordinate.
    """
    check_is_fitted(model)
    check_int("ends", ends, low=1)
    K, L, _ = model.filters_.shape
    chosen = _chosen("coordinates", coordinates, K)
    rows = model.filters_[chosen, :, : model.length].reshape(len(chosen) * L, -1)
    ax = new_axes(height=1.2 + 0.28 * len(rows)) if ax is None else ax
    image = ax.imshow(rows, cmap="RdBu_r", vmin=-1, vmax=1, aspect="auto")
    labels = []
    for k in chosen:
        falling = np.argsort(-model.embedding_.vectors[:, k], kind="stable")
        top, bottom = (
            ", ".join(model.embedding_.words[row] for row in some) for some in (falling[:ends], falling[-ends:])
        )
        labels += [f"{k}: {top} | {bottom}", *[""] * (L - 1)]
    ax.set_yticks(range(len(rows)), labels)
    ax.set_xticks(range(model.length), range(1, model.length + 1))
    ax.set_xlabel("word of the filter")
    for edge in range(L, len(rows), L):
        ax.axhline(edge - 0.5, color="0.3", linewidth=0.8)
    ax.figure.colorbar(image, ax=ax, label="value")
    return ax


def activation_map(model: SentenceVectors, sentence: str | list[str], *, n_filters: int = 20, ax: Any = None) -> Any:
    """Plot the activations of convolution filters along a sentence as a heat map.

    There is a row for each of the ``n_filters`` most active filters, named coordinate.filter, and a column for each
    known word. InputError is raised if no word is known.
    """
    check_int("n_filters", n_filters, low=1)
    check_is_fitted(model)
    known = known_words(next(words_of([sentence])), model.embedding_)
    if not known:
        raise InputError("no word of the sentence is in the vocabulary")
    w = model.activations(known)
    K, L = w.shape[:2]
    w = w.reshape(K * L, -1)[:, : len(known)]
    chosen = np.argsort(-np.abs(w).max(axis=1), kind="stable")[:n_filters]
    ax = new_axes(width=2 + 0.5 * len(known), height=1.5 + 0.22 * len(chosen)) if ax is None else ax
    limit = float(np.abs(w[chosen]).max())
    image = ax.imshow(w[chosen], cmap="RdBu_r", vmin=-limit, vmax=limit, aspect="auto")
    ax.set_yticks(range(len(chosen)), [f"{row // L}.{row % L}" for row in chosen.tolist()])
    ax.set_xticks(range(len(known)), known, rotation=60, ha="right")
    ax.set_ylabel("coordinate.filter")
    ax.figure.colorbar(image, ax=ax, label="activation")
    return ax


def _chosen(name: str, numbers: Sequence[int] | None, size: int) -> list[int]:
    """Return the indices to plot, by default the first ten."""
    chosen = list(range(min(size, 10))) if numbers is None else list(numbers)
    if not chosen or not all(isinstance(k, int | np.integer) and 0 <= k < size for k in chosen):
        raise InputError(f"{name} must be indices from 0 to {size - 1}; got {chosen}", name)
    return chosen
