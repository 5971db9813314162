"""Numbers, tables and sections of the Markdown reports."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

Section = tuple[str, Callable[[Any], list[str]]]
"""The title of a section, and a function that writes its lines."""
Key = str | Callable[[Any], Any]
Column = tuple[str, Key] | tuple[str, Key, Key]
"""A heading; a key of the row, or a function of it; and the format of the value, as a string or a function."""


def share(value: float | None) -> str:
    """Return a share without the zero before the point; empty for None.

    Examples
    --------
    >>> share(0.78), share(-0.1), share(10.25), share(None)
    ('.780', '-.100', '10.250', '')
    """
    if value is None:
        return ""
    return f"{value:.3f}".replace("0.", ".", 1) if abs(value) < 1 else f"{value:.3f}"


def interval(figure: Mapping[str, Any]) -> str:
    """Return the bounds of an interval as text.

    Examples
    --------
    >>> interval({"low": -0.1, "high": 0.2})
    '-.100 to .200'
    """
    return f"{share(figure['low'])} to {share(figure['high'])}"


def certain(figure: Mapping[str, Any] | None) -> str:
    """Return a value with its interval; empty for no figure.

    Examples
    --------
    >>> certain({"value": 0.1, "low": -0.1, "high": 0.2})
    '.100 (-.100 to .200)'
    """
    return f"{share(figure['value'])} ({interval(figure)})" if figure else ""


def rmses(errors: Sequence[float]) -> list[str]:
    """Return errors and their mean, with four digits.

    Examples
    --------
    >>> rmses([0.91, 0.93])
    ['.9100', '.9300', '.9200']
    """
    return [f"{error:.4f}".lstrip("0") for error in (*errors, float(np.mean(errors)))]


def chosen(settings: Mapping[str, Any], *, without: Iterable[str] = ()) -> str:
    """Return selected settings as text, without the given ones.

    Examples
    --------
    >>> chosen({"rank": 3, "form": "CP", "ridge": 0.1}, without=("form",))
    'rank 3, ridge 0.1'
    """
    return ", ".join(f"{name} {value}" for name, value in settings.items() if name not in without)


def spread(values: Sequence[float], form: str = "{} ± {}") -> str:
    """Return a mean and a standard deviation, or the mean alone of a single value.

    Examples
    --------
    >>> spread([0.2, 0.4]), spread([0.2])
    ('.300 ± .141', '.200')
    """
    mean = share(float(np.mean(values)))
    return form.format(mean, share(float(np.std(values, ddof=1)))) if len(values) > 1 else mean


def sections(title: str, about: str, parts: Mapping[str, Section], facts: Mapping[str, Any]) -> str:
    """Return a report: a title, a paragraph, and a section for each part with results.

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


def tabulate(columns: Sequence[Column], rows: Iterable[Any]) -> list[str]:
    """Return the lines of a table of rows; a missing value is an empty cell.

    Examples
    --------
    >>> tabulate([("", "name"), ("F1", "f1", share), ("seconds", "s", ".1f")], [{"name": "ours", "f1": 0.5}])
    ['|  | F1 | seconds |', '|---|---|---|', '| ours | .500 |  |']
    """
    return table([heading for heading, *_ in columns], [[_cell(row, *how) for _, *how in columns] for row in rows])


def _cell(row: Any, key: Key, how: Key = "") -> Any:
    value = key(row) if callable(key) else row.get(key)
    if value is None:
        return ""
    return how(value) if callable(how) else format(value, how) if how else value


def table(headings: Sequence[str], rows: Iterable[Sequence[Any]]) -> list[str]:
    """Return the lines of a table of cells.

    Examples
    --------
    >>> table(["", "F1"], [["ours", ".5"]])
    ['|  | F1 |', '|---|---|', '| ours | .5 |']
    """
    lines = [f"| {' | '.join(headings)} |", "|" + "---|" * len(headings)]
    return lines + [f"| {' | '.join(map(str, row))} |" for row in rows]
