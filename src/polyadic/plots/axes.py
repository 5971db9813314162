"""Axes of one's own, without a window."""

from __future__ import annotations

from typing import Any

from polyadic.errors import MissingExtraError


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
