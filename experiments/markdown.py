"""How reports write numbers, tables of them, and sections of tables."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

Section = tuple[str, Callable[[Any], list[str]]]
"""The title of a section, and what makes its lines."""


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


def interval(figure: Mapping[str, Any]) -> str:
    """Write the ends of an interval.

    Examples
    --------
    >>> interval({"low": -0.1, "high": 0.2})
    '-.100 to .200'
    """
    return f"{share(figure['low'])} to {share(figure['high'])}"


def certain(figure: Mapping[str, Any]) -> str:
    """Write a value with its interval.

    Examples
    --------
    >>> certain({"value": 0.1, "low": -0.1, "high": 0.2})
    '.100 (-.100 to .200)'
    """
    return f"{share(figure['value'])} ({interval(figure)})"


def rmses(errors: Sequence[float]) -> list[str]:
    """Write errors and their mean, to four digits.

    Examples
    --------
    >>> rmses([0.91, 0.93])
    ['.9100', '.9300', '.9200']
    """
    return [f"{error:.4f}".lstrip("0") for error in (*errors, float(np.mean(errors)))]


def chosen(settings: Mapping[str, Any], *, without: Iterable[str] = ()) -> str:
    """Name settings that were chosen, without those that are the same everywhere.

    Examples
    --------
    >>> chosen({"rank": 3, "form": "CP", "ridge": 0.1}, without=("form",))
    'rank 3, ridge 0.1'
    """
    return ", ".join(f"{name} {value}" for name, value in settings.items() if name not in without)


def sections(title: str, about: str, parts: Mapping[str, Section], facts: Mapping[str, Any]) -> str:
    """Write a report: a title, a sentence on all of it, and a section for each part that there are facts of.

    Parameters
    ----------
    title, about : str
    parts : mapping
        By part, in order: the title of its section, and what makes lines of its facts.
    facts : mapping
        By part.

    Examples
    --------
    >>> print(sections("Squares", "", {"few": ("Few numbers", lambda numbers: [str(numbers)])}, {"few": [1, 4]}))
    # Squares
    <BLANKLINE>
    ## Few numbers
    <BLANKLINE>
    [1, 4]
    <BLANKLINE>
    """
    lines = [f"# {title}", "", *([about, ""] if about else [])]
    for part, (heading, write) in parts.items():
        if part in facts:
            lines += [f"## {heading}", "", *write(facts[part]), ""]
    return "\n".join(lines)


def table(headings: Sequence[str], rows: Iterable[Sequence[Any]]) -> list[str]:
    """Write the lines of a table in Markdown.

    Examples
    --------
    >>> table(["", "F1"], [["ours", ".5"]])
    ['|  | F1 |', '|---|---|', '| ours | .5 |']
    """
    lines = [f"| {' | '.join(headings)} |", "|" + "---|" * len(headings)]
    return lines + [f"| {' | '.join(map(str, row))} |" for row in rows]
