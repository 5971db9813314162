"""Plots of topics: their words, and their distribution over labelled documents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from polyadic.core.errors import InputError, check_int
from polyadic.plots.axes import new_axes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

    from polyadic.topics.text_topics import TextTopics


def topic_words(model: TextTopics, topics: Sequence[int] | None = None, *, top: int = 8, ax: Any = None) -> Any:
    """Plot the top words of topics as bars of their weights relative to the first word.

    There is a row of labelled bars for each topic.

    Parameters
    ----------
    model : TextTopics
        Fitted model.
    topics : sequence of int, optional
        Topics to plot; by default the first ten.
    top : int
        Number of words per topic.

    Raises
    ------
    InputError
        If there is no such topic.
    """
    check_is_fitted(model)
    check_int("top", top, low=1)
    H = model.model_.components_
    chosen = list(range(min(len(H), 10))) if topics is None else list(topics)
    if not chosen or not all(isinstance(k, int | np.integer) and 0 <= k < len(H) for k in chosen):
        raise InputError(f"topics must be numbers from 0 to {len(H) - 1}; got {chosen}", "topics")
    ax = new_axes(width=1.2 + 1.05 * top, height=0.8 + 0.42 * len(chosen)) if ax is None else ax
    for row, k in enumerate(chosen):
        best = [at for at in np.argsort(-H[k], kind="stable")[:top] if H[k, at] > 0]
        for column, at in enumerate(best):
            ax.barh(row + 0.25, 0.94 * H[k, at] / H[k, best[0]], 0.3, left=column, color=f"C{row % 10}")
            ax.text(column, row, model.words_[at], va="bottom", fontsize=9, clip_on=True)
    ax.set_xlim(0, top)
    ax.set_ylim(len(chosen) - 0.4, -0.6)
    ax.set_yticks(range(len(chosen)), [f"topic {k}" for k in chosen])
    ax.set_xticks([])
    ax.spines[:].set_visible(False)
    ax.tick_params(length=0)
    return ax


def topic_groups(weights: ArrayLike, labels: Sequence[Any], *, ax: Any = None) -> Any:
    """Plot the mean share of each topic in the documents of each label.

    There is a row for each label and a column for each topic; topics are ordered by the label with their largest share.

    Parameters
    ----------
    weights : array of shape (documents, rank)
        Weights of topics in documents; negative values count as zero, and each document is normalized to sum to one.
    labels : sequence
        Label of each document.

    Raises
    ------
    InputError
        If the number of labels does not match.
    """
    W = np.maximum(np.asarray(weights, float), 0)
    if W.ndim != 2 or len(W) != len(labels) or not len(W):
        raise InputError(f"weights of shape {W.shape} need one label for each document; got {len(labels)}")
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
