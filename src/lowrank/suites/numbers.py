"""How reports write numbers."""

from __future__ import annotations


def share(value: float | None) -> str:
    """Write a share without the zero before the point, and nothing where there is none.

    Examples
    --------
    >>> share(0.78), share(-0.1), share(10.25), share(None)
    ('.780', '-.100', '10.250', '')
    """
    if value is None:
        return ""
    return f"{value:.3f}".replace("0.", ".", 1) if abs(value) < 1 else f"{value:.3f}"
