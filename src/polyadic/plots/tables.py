"""Plots of correspondence analysis: biplot, scree plot, and contributions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from polyadic.core.errors import InputError, check_choice, check_int
from polyadic.plots.axes import new_axes, place

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from polyadic.tables.correspondence import CorrespondenceAnalysis

COLORS = {"rows": "C0", "columns": "C3"}


def biplot(
    model: CorrespondenceAnalysis,
    *,
    rows: Sequence[str] | None = None,
    columns: Sequence[str] | None = None,
    kind: Literal["symmetric", "rows", "columns"] = "symmetric",
    axes: tuple[int, int] = (0, 1),
    top: int | None = None,
    ax: Any = None,
) -> Any:
    """Plot the rows and columns of a correspondence analysis as points with non-overlapping labels.

    Parameters
    ----------
    model : CorrespondenceAnalysis
        Model fitted with ``power=1``.
    rows, columns : sequence of str, optional
        Labels; by default those of the DataFrame used in ``fit``, or numbers from 1.
    kind : {"symmetric", "rows", "columns"}
        Type of the map. ``symmetric``: rows and columns in principal coordinates; distances within each set are
        interpretable, those between the two sets are not. ``rows``: columns in standard coordinates, as arrows; a row
        is the weighted mean of its columns. ``columns``: the reverse.
    axes : (int, int)
        Axes to plot, from 0; an analysis with a single axis is plotted on a line.
    top : int, optional
        Number of labelled points per set, those with the largest contribution to these axes; the others are drawn
        faintly. By default all points are labelled. Labels without room are left out, starting with the lowest
        priority: the set with fewer points and points of large mass come first.

    Raises
    ------
    InputError
        If the number of labels does not match, or an axis was not kept.
    """
    check_choice("kind", kind, ("symmetric", "rows", "columns"))
    kept = len(model.singular_values_)
    chosen = [check_int("axes", axis, low=0, high=kept - 1) for axis in axes[:kept]]
    if top is not None:
        check_int("top", top, low=1)
    ax = new_axes(width=7, height=6) if ax is None else ax
    points, texts, colors, weights = [], [], [], []
    sizes = len(model.row_masses_), len(model.column_masses_)
    for side, labels in (("rows", rows), ("columns", columns)):
        principal = kind in ("symmetric", side)
        shown = np.pad(_coordinates(model, side, principal=principal)[:, chosen], ((0, 0), (0, 2 - len(chosen))))
        names = _labels(model, labels, len(shown), side)
        importance = model.row_masses_ if side == "rows" else model.column_masses_
        if top is not None:
            importance = model.contributions(side)[:, chosen] @ model.inertia_[chosen]  # type: ignore[arg-type]
        best = np.argsort(-importance, kind="stable")[:top]
        if len(best) < len(shown):
            _draw(ax, np.delete(shown, best, axis=0), side, arrows=not principal, alpha=0.25)
        _draw(ax, shown[np.sort(best)], side, arrows=not principal, label=True)
        points.append(shown[best])
        texts += [names[k] for k in best]
        colors += [COLORS[side]] * len(best)
        weights.append(importance[best] + (len(shown) == min(sizes)))
    share = 100 * model.explained_inertia_ratio_
    ax.set_xlabel(f"axis {chosen[0] + 1} ({share[chosen[0]]:.1f} % of the inertia)")
    if len(chosen) > 1:
        ax.set_ylabel(f"axis {chosen[1] + 1} ({share[chosen[1]]:.1f} %)")
    else:
        ax.set_yticks([])
    ax.set_aspect("equal", adjustable="datalim")
    ax.margins(0.12)
    ax.legend(frameon=False, loc="lower center", bbox_to_anchor=(0.5, 1), ncols=2)
    order = np.argsort(-np.concatenate(weights), kind="stable")
    place(ax, np.concatenate(points)[order], [texts[k] for k in order], [colors[k] for k in order])
    return ax


def _draw(ax: Any, points: NDArray[Any], side: str, *, arrows: bool, alpha: float = 1.0, label: bool = False) -> None:
    """Draw points, or arrows from the origin to the points."""
    color = COLORS[side]
    ax.axhline(0, color="0.8", linewidth=0.8, zorder=0)
    ax.axvline(0, color="0.8", linewidth=0.8, zorder=0)
    if not arrows:
        how = {"marker": "o" if side == "rows" else "s", "alpha": alpha, "label": side if label else None}
        ax.scatter(*points.T, s=16, color=color, zorder=2 + label, **how)
        return
    ax.scatter(*points.T, s=1, color=color, zorder=2)
    for x, y in points:
        ax.annotate("", (x, y), (0, 0), arrowprops={"arrowstyle": "->", "color": color, "alpha": alpha / 2})
    if label:
        ax.plot([], [], color=color, label=f"{side}, standard")


def _labels(model: CorrespondenceAnalysis, labels: Sequence[str] | None, size: int, side: str) -> Sequence[str]:
    """Return the labels of rows or columns, by default the labels of the fitted table or numbers from 1."""
    if labels is None:
        known = model.row_labels_ if side == "rows" else model.column_labels_
        return [str(number) for number in range(1, size + 1)] if known is None else known
    if len(labels) != size:
        raise InputError(f"labels must have one entry for each of the {size:,} {side}; got {len(labels):,}", "labels")
    return labels


def scree(model: Any, *, ax: Any = None) -> Any:
    """Plot the share of inertia explained by each axis, and the cumulative share (scree plot).

    Parameters
    ----------
    model : CorrespondenceAnalysis or MultipleCorrespondenceAnalysis
        Fitted model.
    """
    ax = new_axes(height=3.5) if ax is None else ax
    share = 100 * np.asarray(model.explained_inertia_ratio_)
    number = np.arange(1, len(share) + 1)
    ax.bar(number, share, color="C0", label="of the axis")
    ax.plot(number, np.cumsum(share), color="C3", marker="o", markersize=3, label="of all up to it")
    ax.set_xlabel("axis")
    ax.xaxis.get_major_locator().set_params(integer=True)
    ax.set_ylabel("share of the inertia (%)")
    ax.legend(frameon=False)
    return ax


def contributions(
    model: CorrespondenceAnalysis,
    labels: Sequence[str] | None = None,
    *,
    side: Literal["rows", "columns"] = "rows",
    axis: int = 0,
    top: int = 20,
    ax: Any = None,
) -> Any:
    """Plot the rows or columns that contribute most to an axis, with the sign of each coordinate.

    Bars extend to the left if at the negative end; dotted lines mark the mean contribution.

    Parameters
    ----------
    model : CorrespondenceAnalysis
        Fitted model.
    labels : sequence of str, optional
        Labels of all rows or columns; by default as in :func:`biplot`.
    side : {"rows", "columns"}
        Whether to plot rows or columns.
    axis : int
        Number of the axis, from 0.
    top : int
        Number of bars, in descending order of contribution.

    Raises
    ------
    InputError
        If the number of labels does not match, or the axis was not kept.
    """
    check_int("axis", axis, low=0, high=len(model.singular_values_) - 1)
    check_int("top", top, low=1)
    made = model.contributions(side)[:, axis]
    labels = _labels(model, labels, len(made), side)
    best = np.argsort(-made, kind="stable")[:top]
    signs = np.sign(_coordinates(model, side, principal=False)[best, axis])
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


def _coordinates(model: CorrespondenceAnalysis, side: str, *, principal: bool) -> Any:
    standard = model.row_standard_coordinates_ if side == "rows" else model.column_standard_coordinates_
    return standard * model.singular_values_ if principal else standard
