"""Helper functions for plots: axes without a window, non-overlapping labels, and saving of figures."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator, Sequence
from functools import cache
from io import BytesIO
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from polyadic.core.annotations import Array
from polyadic.core.errors import needing
from polyadic.core.files import whole_file

ANGLES = np.pi * np.array([0, 1, 0.5, -0.5, 0.25, 0.75, -0.25, -0.75])
SIZE = 8  # font size of labels in points
DISTANCES = (6, 10, 16, 23, 31, 40)
"""Candidate distances of a label from its point, in points; at each distance, right, left, above, ... are tried."""


def new_axes(*, width: float = 7.0, height: float = 5.0) -> Any:
    """Create matplotlib axes on a new figure, of a size in inches, without a window; notebooks display it as an image.

    MissingExtraError is raised if matplotlib is not installed.
    """
    with needing("matplotlib", "plot", "a picture"):
        from matplotlib.figure import Figure
    return Figure(figsize=(width, height), layout="constrained").add_subplot(axes_class=_shown())


@cache
def _shown() -> type[Any]:
    """Create a subclass of Axes that notebooks display as an image instead of text."""
    from matplotlib.axes import Axes

    return type("Shown", (Axes,), {"_repr_png_": _picture})


def _picture(ax: Any) -> bytes:
    picture = BytesIO()
    ax.figure.savefig(picture, format="png")
    return picture.getvalue()


def save_figure(ax: Any, file: Path) -> None:
    """Save the figure of matplotlib axes atomically to a .png, .svg or .pdf file."""
    with whole_file(file) as draft, without_glyph_warnings():
        ax.figure.savefig(draft, dpi=150)


def place(ax: Any, points: Array, texts: Sequence[str], colors: Sequence[str]) -> int:
    """Place labels at points without overlaps, and return the number of labels that do not fit.

    Distant labels are connected to their point by a line. Labels without room are left out, so pass important points
    first. Points, (n, 2), are in data coordinates of axes with final limits.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.font_manager import FontProperties
    from matplotlib.text import Text

    figure = ax.get_figure(root=True)
    there = figure.findobj(Text)
    missing, more = _fallback([*texts, *(text.get_text() for text in there)])
    for text in there:
        if missing & set(text.get_text()):
            text.set_fontfamily([*text.get_fontfamily(), *more])
    families = [*FontProperties().get_family(), *more]
    if not hasattr(figure.canvas, "get_renderer"):
        FigureCanvasAgg(figure)
    with without_glyph_warnings():
        figure.draw_without_rendering()  # settles the place of the axes
    scale = figure.dpi / 72
    here = ax.transData.transform(points)
    marks = np.hstack([here - 3 * scale, here + 3 * scale])
    frame = ax.get_window_extent()
    taken = np.empty((0, 4))
    for at, text, color in zip(here, texts, colors, strict=True):
        half = _half(ax, text, families)
        for distance, angle in product(DISTANCES, ANGLES):
            way = np.array([np.cos(angle), np.sin(angle)])
            centre = at + way * (distance * scale + half * np.abs(way))
            box = np.concatenate([centre - half, centre + half])
            inside = (box[:2] >= frame.min).all() and (box[2:] <= frame.max).all()
            if inside and not _overlaps(box, marks) and not _overlaps(box, taken):
                taken = np.vstack([taken, box])
                line = {"arrowstyle": "-", "color": color, "alpha": 0.4, "linewidth": 0.6, "shrinkA": 0, "shrinkB": 2}
                ax.annotate(
                    text,
                    ax.transData.inverted().transform(at),
                    xytext=(centre - at) / scale,
                    textcoords="offset points",
                    ha="center",
                    va="center",
                    fontsize=SIZE,
                    fontfamily=families,
                    color=color,
                    arrowprops=line if distance > DISTANCES[1] else None,
                )
                break
    return len(texts) - len(taken)


@contextlib.contextmanager
def without_glyph_warnings() -> Iterator[None]:
    """Suppress matplotlib's warnings about missing glyphs, because :func:`place` has already warned."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing")
        yield


def _fallback(texts: Sequence[str]) -> tuple[set[str], list[str]]:
    """Return the characters that the default font lacks, and the installed font with most of them, if any."""
    from matplotlib import font_manager

    usual = font_manager.findfont(font_manager.FontProperties())
    missing = {letter for text in texts for letter in text if not letter.isspace()} - _letters(usual)
    if not missing:
        return missing, []
    every = font_manager.fontManager.ttflist
    fonts = {entry.fname: entry.name for entry in every if "last resort" not in entry.name.lower()}  # that has boxes
    found = {file: len(missing & _letters(file)) for file in sorted(fonts)}
    best = max(found, key=found.__getitem__, default=None)
    if best is None or found[best] < len(missing):
        some = "".join(sorted(missing)[:5])
        warnings.warn(
            f"no installed font contains all characters of the labels, for example {some}; install a font such as Noto"
            " Sans CJK to avoid boxes in place of missing characters",
            stacklevel=4,
        )
    return missing, [fonts[best]] if best is not None and found[best] else []


def _letters(file: str) -> set[str]:
    """Return the characters of a font file, or an empty set if the file cannot be read."""
    from matplotlib import font_manager

    try:
        return set(map(chr, font_manager.get_font(file).get_charmap()))
    except (OSError, RuntimeError):  # FreeType's own
        return set()


def _half(ax: Any, text: str, families: Sequence[str]) -> Array:
    """Return half the width and half the height of a rendered text in pixels."""
    note = ax.annotate(text, (0, 0), fontsize=SIZE, fontfamily=families)
    with without_glyph_warnings():
        box = note.get_window_extent()
    note.remove()
    return np.array([box.width, box.height]) / 2


def _overlaps(box: Array, others: Array) -> bool:
    """Return whether a box (left, bottom, right, top) overlaps any of the other boxes."""
    return bool(((box[:2] < others[:, 2:]) & (others[:, :2] < box[2:])).all(axis=1).any())
