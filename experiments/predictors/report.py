"""The report of a run: ``report.md`` with tables."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from experiments.markdown import Section, certain, chosen, rmses, sections, share, table

if TYPE_CHECKING:
    from polyadic.core.stage_cache import Facts

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


def _machines(rows: list[Facts]) -> list[str]:
    folds = list(dict.fromkeys(row["fold"] for row in rows))
    lines = []
    for name, attributes in dict.fromkeys((row["name"], row["attributes"]) for row in rows):
        here = [row for row in rows if (row["name"], row["attributes"]) == (name, attributes)]
        seconds = float(np.median([row["fit_seconds"] for row in here]))
        lines.append(
            [
                name,
                "yes" if attributes else "",
                *rmses([row["rmse"] for row in here]),
                chosen(_commonest([row.get("chosen", {}) for row in here])),
                f"{seconds:.1f}",
            ]
        )
    return table(["", "attributes", *folds, "mean", "mostly chosen", "seconds of a fit"], lines)


def _labels(facts: Facts) -> list[str]:
    lines: list[str] = []
    for name, rows in facts.items():
        cells = [
            [
                row["name"],
                *(share(row[key]) for key in LABELS),
                certain(row["gain"]) if "gain" in row else "",
                chosen(row["chosen"]),
                *(f"{row[key]:.1f}" for key in ("fit_seconds", "seconds")),
            ]
            for row in rows
        ]
        lines += [
            f"### {name}",
            "",
            *table(["", *LABELS.values(), "gain in micro-AP", "chosen", "seconds of a fit", "of all"], cells),
            "",
        ]
    return [
        *lines,
        "Gains are above logistic regressions; those of reduced rank above ridge regression of full rank.",
        "",
    ]


def _schools(rows: list[Facts]) -> list[str]:
    cells = [
        [row["name"], *(spread(row[key]) for key in ("explained", "within")), chosen(_commonest(row["chosen"]))]
        for row in rows
    ]
    return table(["", "variance explained", "within schools", "mostly chosen"], cells)


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


SECTIONS: dict[str, Section] = {
    "machines": ("Factorization machines on MovieLens 100K", _machines),
    "labels": ("Labels of texts", _labels),
    "schools": ("Scores of pupils of 139 schools", _schools),
}
report = partial(sections, "Predictors of low rank", "Settings are chosen within training parts.", SECTIONS)
