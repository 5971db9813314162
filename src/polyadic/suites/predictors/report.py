"""The report of a run: ``report.md`` with tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from polyadic.suites.markdown import share, table

if TYPE_CHECKING:
    from collections.abc import Callable

    from polyadic.suites.store import Facts

LABELS = {
    "validation": "validation micro-AP",
    "micro_ap": "micro-AP",
    "macro_ap": "macro-AP",
    "micro_f1": "micro-F1",
    "macro_f1": "macro-F1",
    "precision_at_1": "P@1",
    "precision_at_3": "P@3",
    "precision_at_5": "P@5",
}


def report(facts: Facts) -> str:
    """Write the tables."""
    lines = ["# Predictors of low rank", "", "Settings are chosen within training parts.", ""]
    writers: dict[str, tuple[str, Callable[[Any], list[str]]]] = {
        "machines": ("Factorization machines on MovieLens 100K", _machines),
        "labels": ("Labels of texts", _labels),
        "schools": ("Scores of pupils of 139 schools", _schools),
    }
    for part, (title, write) in writers.items():
        if part in facts:
            lines += [f"## {title}", "", *write(facts[part]), ""]
    return "\n".join(lines)


def _machines(rows: list[Facts]) -> list[str]:
    folds = list(dict.fromkeys(one["fold"] for one in rows))
    lines = []
    for name, attributes in dict.fromkeys((one["name"], one["attributes"]) for one in rows):
        here = [one for one in rows if (one["name"], one["attributes"]) == (name, attributes)]
        errors = [one["rmse"] for one in here]
        cells = [f"{error:.4f}".lstrip("0") for error in (*errors, float(np.mean(errors)))]
        seconds = float(np.median([one["fit_seconds"] for one in here]))
        lines.append(
            [
                name,
                "yes" if attributes else "",
                *cells,
                chosen(_commonest([one.get("chosen", {}) for one in here])),
                f"{seconds:.1f}",
            ]
        )
    return table(["", "attributes", *folds, "mean", "mostly chosen", "seconds of a fit"], lines)


def _labels(facts: Facts) -> list[str]:
    lines: list[str] = []
    for name, rows in facts.items():
        told = [
            [
                one["name"],
                *(share(one[key]) for key in LABELS),
                chosen(one["chosen"]),
                *(f"{one[key]:.1f}" for key in ("fit_seconds", "seconds")),
            ]
            for one in rows
        ]
        lines += [f"### {name}", "", *table(["", *LABELS.values(), "chosen", "seconds of a fit", "of all"], told), ""]
    return lines


def _schools(rows: list[Facts]) -> list[str]:
    told = [
        [one["name"], *(spread(one[key]) for key in ("explained", "within")), chosen(_commonest(one["chosen"]))]
        for one in rows
    ]
    return table(["", "variance explained", "within schools", "mostly chosen"], told)


def chosen(settings: Facts) -> str:
    """Name settings."""
    return ", ".join(f"{name} {value}" for name, value in settings.items())


def spread(values: list[float]) -> str:
    """Write a mean and a standard deviation.

    Examples
    --------
    >>> spread([0.2, 0.4])
    '.300 ± .141'
    """
    mean = share(float(np.mean(values)))
    return f"{mean} ± {share(float(np.std(values, ddof=1)))}" if len(values) > 1 else mean


def _commonest(settings: list[Facts]) -> Facts:
    return max(settings, key=settings.count)
