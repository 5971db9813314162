"""How reports write numbers, and tables of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


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


def table(headings: Sequence[str], rows: Iterable[Sequence[Any]]) -> list[str]:
    """Write the lines of a table in Markdown.

    Examples
    --------
    >>> table(["", "F1"], [["ours", ".5"]])
    ['|  | F1 |', '|---|---|', '| ours | .5 |']
    """
    lines = [f"| {' | '.join(headings)} |", "|" + "---|" * len(headings)]
    return lines + [f"| {' | '.join(map(str, row))} |" for row in rows]
