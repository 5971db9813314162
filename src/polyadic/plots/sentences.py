"""Plots of the filters of convolutional sentence models, and of their activations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from polyadic.core.errors import InputError, check_int
from polyadic.plots.axes import new_axes
from polyadic.sentences.words import known_words, words_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polyadic.sentences.base import SentenceVectors
    from polyadic.sentences.convolutional import ConvolutionalSentences


def templates(
    model: ConvolutionalSentences, coordinates: Sequence[int] | None = None, *, ends: int = 3, ax: Any = None
) -> Any:
    """Plot filters as heat maps, labelled with the words at both ends of their coordinate.

    There is a row for each filter, a column for each of its positions.

    Parameters
    ----------
    model : ConvolutionalSentences
        Fitted model.
    coordinates : sequence of int, optional
        Coordinates to plot; by default the first ten.
    ends : int
        Number of words with the largest, and with the smallest, values of a coordinate in its label.

    Raises
    ------
    InputError
        If there is no such coordinate.
    """
    check_is_fitted(model)
    check_int("ends", ends, low=1)
    K, L, _ = model.filters_.shape
    chosen = list(range(min(K, 10))) if coordinates is None else list(coordinates)
    if not chosen or not all(isinstance(k, int | np.integer) and 0 <= k < K for k in chosen):
        raise InputError(f"coordinates must be numbers from 0 to {K - 1}; got {chosen}", "coordinates")
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
    """Plot the activations of filters along a sentence.

    There is a row for each filter, named coordinate.filter, the most active first.

    Parameters
    ----------
    model : ConvolutionalSentences or another sentence model
        Fitted model.
    sentence : str or list of str
        Sentence whose known words are the columns.
    n_filters : int
        Number of filters, those with the largest activations.

    Raises
    ------
    InputError
        If no word is known.
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
