"""Saving pictures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from polyadic.core.files import whole_file
from polyadic.plots.axes import without_glyph_warnings

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from polyadic.embedding import Embedding


def save_figure(ax: Any, file: Path) -> None:
    """Write the figure of axes to a .png, .svg or .pdf file, atomically."""
    with whole_file(file) as draft, without_glyph_warnings():
        ax.figure.savefig(draft, dpi=150)


def save_word_map(embedding: Embedding, groups: Mapping[str, Sequence[str]], file: Path | None) -> None:
    """Draw a map of words by group, if a file is named and there are groups."""
    if file is not None and groups:
        from polyadic.plots.words import word_map

        save_figure(word_map(embedding, groups), file)
