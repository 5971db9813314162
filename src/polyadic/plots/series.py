"""Plots of values over iterations or groups: objectives, errors, and metrics with confidence intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from polyadic.core.annotations import Array, ArrayLike
from polyadic.core.errors import InputError, check_number
from polyadic.plots.axes import new_axes


def objective(history: Sequence[float], *, ax: Any = None) -> Any:
    """Plot the objective before the first iteration and after each iteration, such as ``history_`` of a model."""
    ax = new_axes() if ax is None else ax
    ax.plot(range(len(history)), history)
    ax.set(xlabel="sweep", ylabel="objective")
    return ax


def descent(histories: Mapping[str, Sequence[float]], optimum: float, *, ax: Any = None) -> Any:
    """Plot the relative difference between the error and the optimum after each epoch, on a logarithmic scale.

    For a fully observed matrix the optimum is the sum of the squared singular values beyond the rank: Eckart, Young
    (1936), The approximation of one matrix by another of lower rank.

    Positive errors by epoch, such as ``history_`` of models, are given by their names in the legend. InputError is
    raised if there is nothing to plot, or a number is not positive.
    """
    check_number("optimum", optimum, above=True)
    for name, errors in histories.items():
        if not len(errors) or not (np.isfinite(errors).all() and (np.asarray(errors) > 0).all()):
            about = f"the errors in the series {name!r} must be positive numbers,"
            raise InputError(f"{about} and at least one is required")
    if not histories:
        raise InputError("histories must not be empty", "histories")
    ax = new_axes() if ax is None else ax
    for name, errors in histories.items():
        above = np.asarray(errors) / optimum - 1
        ax.plot(range(len(above)), np.where(above > 0, above, np.nan), label=name)
    ax.set(yscale="log", xlabel="epoch", ylabel="squared error above the optimum, relative")
    ax.legend()
    return ax


def curves(series: Mapping[str, ArrayLike], x: Sequence[float], *, log: bool = False, ax: Any = None) -> Any:
    """Plot one or more series of values with intervals as functions of ``x``, such as ranks or shares of a part.

    ``series`` has a value, a lower and an upper bound at each ``x``, shape (n, 3), by name in the legend; NaN for
    missing values. InputError is raised if ``x`` is not positive and its axis logarithmic (``log``).
    """
    points = _points(series, len(x))
    if log and not (np.asarray(x) > 0).all():
        raise InputError("x must be positive for a logarithmic axis (log=True)", "log", "x")
    ax = new_axes() if ax is None else ax
    for k, (name, (value, low, high)) in enumerate(points.items()):
        style = {"marker": "osv^D<>"[k % 7], "markersize": 4, "linestyle": "-" if k < 10 else "--"}
        ax.plot(x, value, color=f"C{k % 10}", label=name, **style)
        ax.vlines(x, low, high, color=f"C{k % 10}", alpha=0.3, linewidth=1)
    if log:
        ax.set_xscale("log")
        ax.minorticks_off()
    ax.set_xticks(x, [f"{at:,.12g}" for at in x])
    ax.legend(frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
    return ax


def bars(series: Mapping[str, ArrayLike], groups: Sequence[str], *, ax: Any = None) -> Any:
    """Plot grouped bars with error bars; series and errors are those of :func:`curves`, with named groups for ``x``."""
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


def _points(series: Mapping[str, ArrayLike], size: int) -> dict[str, Array]:
    """Return the values, lower bounds and upper bounds of each series as rows of an array."""
    points = {name: np.asarray(rows, float) for name, rows in series.items()}
    for name, rows in points.items():
        if rows.shape != (size, 3):
            about = f"the series {name!r} must have shape {size, 3}: a value,"
            raise InputError(f"{about} a lower and an upper bound at each position; got {rows.shape}")
    return {name: rows.T for name, rows in points.items()}
