"""Plots of correspondence analysis: biplot, scree plot, and contributions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from polyadic.core.annotations import AnyArray
from polyadic.core.errors import InputError, check_choice, check_int
from polyadic.plots.axes import new_axes, place

if TYPE_CHECKING:
    from polyadic.tables.correspondence import PrincipalAxes

Side = Literal["rows", "columns"]
COLORS = {"rows": "C0", "columns": "C3"}


def biplot(
    model: PrincipalAxes,
    *,
    rows: Sequence[str] | None = None,
    columns: Sequence[str] | None = None,
    kind: Literal["symmetric", "rows", "columns"] = "symmetric",
    axes: tuple[int, int] = (0, 1),
    top: int | None = None,
    ax: Any = None,
) -> Any:
    """Plot the rows and columns of a correspondence analysis as points with non-overlapping labels.

    Of a multiple correspondence analysis, categories have the color of their variable, and observations are small
    grey points, with labels only if ``rows`` is given.

    Parameters
    ----------
    model : CorrespondenceAnalysis or MultipleCorrespondenceAnalysis
        Fitted model.
    rows, columns : sequence of str, optional
        Labels of all points; by default those of the DataFrame used in ``fit``, or numbers from 1.
    kind : {"symmetric", "rows", "columns"}
        Type of the map. ``symmetric``: rows and columns in principal coordinates; distances within each set are
        interpretable, those between the two sets are not. ``rows``: columns in standard coordinates, as arrows; a row
        is the weighted mean of its columns. ``columns``: the reverse.
    axes : (int, int)
        Axes to plot, from 0. InputError is raised if one was not kept; a single axis is plotted on a line.
    top : int, optional
        Number of labelled points per set, those with the largest contribution to these axes; the others are drawn
        faintly. By default all points are labelled. Labels without room are left out, starting with the lowest
        priority: the set with fewer points and points of large mass come first.
    """
    check_choice("kind", kind, ("symmetric", "rows", "columns"))
    kept = len(model.inertia_)
    chosen = [check_int("axes", axis, low=0, high=kept - 1) for axis in axes[:kept]]
    if top is not None:
        check_int("top", top, low=1)
    ax = new_axes(width=7, height=6) if ax is None else ax
    ax.axhline(0, color="0.8", linewidth=0.8, zorder=0)
    ax.axvline(0, color="0.8", linewidth=0.8, zorder=0)
    places, texts, colors, weights = [], [], [], []
    sides: tuple[tuple[Side, Sequence[str] | None], ...] = (("rows", rows), ("columns", columns))
    fewest = min(len(model.points(side).masses) for side, _ in sides)
    for side, labels in sides:
        points, principal = model.points(side), kind in ("symmetric", side)
        at = (points.principal if principal else points.standard)[:, chosen]
        at = np.pad(at, ((0, 0), (0, 2 - len(chosen))))
        names = _labels(model, labels, len(at), side)
        importance = points.masses
        if top is not None:
            importance = model.contributions(side)[:, chosen] @ model.inertia_[chosen]
        groups = _groups(model, side)
        best = np.argsort(-importance, kind="stable")[: 0 if "observations" in groups and rows is None else top]
        for group, (members, color) in groups.items():
            shown, faint = np.intersect1d(members, best), np.setdiff1d(members, best)
            how: dict[str, Any] = {"marker": "o" if side == "rows" else "s", "arrows": not principal, "color": color}
            label = group if principal else f"{group}, standard"
            if len(faint):
                _draw(ax, at[faint], alpha=0.25, label=None if len(shown) else label, **how)
            if len(shown):
                _draw(ax, at[shown], label=label, **how)
        places.append(at[best])
        texts += [names[k] for k in best]
        shades = {k: color for members, color in groups.values() for k in members.tolist()}
        colors += [shades[k] for k in best.tolist()]
        weights.append(importance[best] + (len(at) == fewest))
    share = 100 * model.explained_inertia_ratio_
    ax.set_xlabel(f"axis {chosen[0] + 1} ({share[chosen[0]]:.1f} % of the inertia)")
    if len(chosen) > 1:
        ax.set_ylabel(f"axis {chosen[1] + 1} ({share[chosen[1]]:.1f} %)")
    else:
        ax.set_yticks([])
    ax.set_aspect("equal", adjustable="datalim")
    ax.margins(0.12)
    ax.legend(frameon=False, loc="lower center", bbox_to_anchor=(0.5, 1), ncols=4)
    order = np.argsort(-np.concatenate(weights), kind="stable")
    place(ax, np.concatenate(places)[order], [texts[k] for k in order], [colors[k] for k in order])
    return ax


def _groups(model: PrincipalAxes, side: Side) -> dict[str, tuple[AnyArray, str]]:
    """Return the points and the color of each set: rows, columns, observations, or the categories of a variable."""
    points = np.arange(len(model.points(side).masses))
    levels = getattr(model, "levels_", None)  # of a multiple correspondence analysis
    if levels is None:
        return {side: (points, COLORS[side])}
    if side == "rows":
        return {"observations": (points, "0.4")}
    parts = np.split(points, np.cumsum([len(some) for some in levels])[:-1])
    return {name: (part, f"C{k}") for k, (name, part) in enumerate(zip(model.variables_, parts, strict=True))}


def _draw(
    ax: Any, at: AnyArray, *, arrows: bool, color: str, marker: str, label: str | None, alpha: float = 1.0
) -> None:
    """Draw points, or arrows from the origin to the points."""
    if not arrows:
        ax.scatter(*at.T, s=16, color=color, marker=marker, alpha=alpha, label=label, zorder=2 + (alpha == 1))
        return
    ax.scatter(*at.T, s=1, color=color, zorder=2)
    for x, y in at:
        ax.annotate("", (x, y), (0, 0), arrowprops={"arrowstyle": "->", "color": color, "alpha": alpha / 2})
    if label:
        ax.plot([], [], color=color, label=label)


def _labels(model: PrincipalAxes, labels: Sequence[str] | None, size: int, side: Side) -> Sequence[str]:
    """Return the labels of rows or columns, by default the labels of the fitted table or numbers from 1."""
    if labels is None:
        return model.points(side).labels or [str(number) for number in range(1, size + 1)]
    if len(labels) != size:
        raise InputError(f"labels must have one entry for each of the {size:,} {side}; got {len(labels):,}", "labels")
    return labels


def scree(model: Any, *, ax: Any = None) -> Any:
    """Plot the share of inertia that each axis of a correspondence analysis explains, and the cumulative share."""
    ax = new_axes(height=3.5) if ax is None else ax
    share = 100 * np.asarray(model.explained_inertia_ratio_)
    number = np.arange(1, len(share) + 1)
    ax.bar(number, share, color="C0", label="of the axis")
    ax.plot(number, np.cumsum(share), color="C3", marker="o", markersize=3, label="of all up to it")
    ax.set(xlabel="axis", ylabel="share of the inertia (%)")
    ax.xaxis.get_major_locator().set_params(integer=True)
    ax.legend(frameon=False)
    return ax


def contributions(
    model: PrincipalAxes,
    labels: Sequence[str] | None = None,
    *,
    side: Side = "rows",
    axis: int = 0,
    top: int = 20,
    ax: Any = None,
) -> Any:
    """Plot the rows or columns that contribute most to an axis, with the sign of each coordinate.

    Bars extend to the left if at the negative end; dotted lines mark the mean contribution. There are at most ``top``
    bars, and ``axis`` is counted from 0. Models, labels and errors are those of :func:`biplot`.
    """
    check_int("axis", axis, low=0, high=len(model.inertia_) - 1)
    check_int("top", top, low=1)
    made = model.contributions(side)[:, axis]
    labels = _labels(model, labels, len(made), side)
    best = np.argsort(-made, kind="stable")[:top]
    signs = np.sign(model.points(side).standard[best, axis])
    ax = new_axes(height=1 + 0.22 * len(best)) if ax is None else ax
    ax.barh(range(len(best)), 100 * made[best] * signs, color=np.where(signs < 0, "C3", "C0"))
    ax.set_yticks(range(len(best)), [labels[k] for k in best])
    for mean in (-100 / len(made), 100 / len(made)):
        ax.axvline(mean, color="0.5", linestyle=":", linewidth=1)
    ax.axvline(0, color="0.3", linewidth=0.8)
    ax.invert_yaxis()
    ax.xaxis.set_major_formatter(lambda x, _: f"{abs(x):g}")
    ax.set_xlabel(f"contribution to axis {axis + 1} (%)")
    return ax
