"""Pictures: functions that draw onto matplotlib axes and return them. They never call ``show``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from lowrank.embedding import unit_rows
from lowrank.errors import InputError, MissingExtraError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import ArrayLike, NDArray

    from lowrank.embedding import Embedding


def new_axes(*, width: float = 7.0, height: float = 5.0) -> Any:
    """Make axes on a figure of their own, in inches, without a window.

    Raises
    ------
    MissingExtraError
        If matplotlib is not installed.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtraError("matplotlib", "plot", "a picture") from None
    return Figure(figsize=(width, height), layout="constrained").subplots()


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


def objective(history: Sequence[float], *, ax: Any = None) -> Any:
    """Show the objective at the start and after each sweep.

    Parameters
    ----------
    history : sequence of float
        As in ``history_`` of a model.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default on a new figure.

    Returns
    -------
    matplotlib.axes.Axes
    """
    ax = new_axes() if ax is None else ax
    ax.plot(range(len(history)), history)
    ax.set_xlabel("sweep")
    ax.set_ylabel("objective")
    return ax


def curves(series: Mapping[str, ArrayLike], x: Sequence[float], *, ax: Any = None) -> Any:
    """Show values that change with ``x``, each with its interval.

    Parameters
    ----------
    series : mapping of str to array of shape (n, 3)
        Value, low and high at each ``x``, by the name in the legend; NaN where there is none.
    x : sequence of float
        Such as ranks, or shares of a training part.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default on a new figure.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    InputError
        If a series does not have value, low and high at each ``x``.
    """
    points = _points(series, len(x))
    ax = new_axes() if ax is None else ax
    for k, (name, (value, low, high)) in enumerate(points.items()):
        style = {"marker": "osv^D<>"[k % 7], "markersize": 4, "linestyle": "-" if k < 10 else "--"}
        ax.plot(x, value, color=f"C{k % 10}", label=name, **style)
        ax.vlines(x, low, high, color=f"C{k % 10}", alpha=0.3, linewidth=1)
    ax.set_xticks(x)
    ax.legend(frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
    return ax


def bars(series: Mapping[str, ArrayLike], groups: Sequence[str], *, ax: Any = None) -> Any:
    """Show values side by side in groups, each with its interval.

    Parameters
    ----------
    series : mapping of str to array of shape (n, 3)
        Value, low and high in each group, by the name in the legend; NaN where there is none.
    groups : sequence of str
        What the groups are called.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default on a new figure.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    InputError
        If a series does not have value, low and high in each group.
    """
    points = _points(series, len(groups))
    ax = new_axes(width=2 + 0.18 * (len(points) + 2) * len(groups)) if ax is None else ax
    width = 1 / (len(points) + 2)
    for k, (name, (value, low, high)) in enumerate(points.items()):
        left = np.arange(len(groups)) + (k - (len(points) - 1) / 2) * width
        ax.bar(left, value, width, label=name, color=f"C{k % 10}", edgecolor="white", hatch="//" if k >= 10 else None)
        ax.vlines(left, low, high, color="0.3", linewidth=1)
    ax.set_xticks(range(len(groups)), groups)
    ax.legend(frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
    return ax


def _points(series: Mapping[str, ArrayLike], size: int) -> dict[str, NDArray[np.float64]]:
    """Give values, lows and highs of each series, as rows of floats."""
    points = {name: np.asarray(rows, float) for name, rows in series.items()}
    for name, rows in points.items():
        if rows.shape != (size, 3):
            raise InputError(f"{name!r} must have value, low and high at {size} places; got shape {rows.shape}")
    return {name: rows.T for name, rows in points.items()}
