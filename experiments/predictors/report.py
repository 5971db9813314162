"""The report: a table for each part."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from experiments.markdown import Column, Section, certain, chosen, rmses, sections, share, spread, table, tabulate

if TYPE_CHECKING:
    from polyadic.core.stage_cache import Facts

LABELS: list[Column] = [
    *(("method", "name"), ("validation micro-AP ↑", "validation", share), ("micro-AP ↑", "micro_ap", share)),
    *(("macro-AP ↑", "macro_ap", share), ("micro-F1 ↑", "micro_f1", share), ("macro-F1 ↑", "macro_f1", share)),
    *((f"P@{k} ↑", f"precision_at_{k}", share) for k in (1, 3, 5)),
    *(("gain in micro-AP ↑ (95 % interval)", "gain", certain), ("selected settings", "chosen", chosen)),
    *(("time per fit, s ↓", "fit_seconds", ".1f"), ("total time, s ↓", "seconds", ".1f")),
]
SELECTED = ("most frequently selected", "time per fit, s ↓")
SCHOOLS: list[Column] = [
    *(("method", "name"), ("variance explained ↑", "explained", spread), ("within schools ↑", "within", spread)),
    ("most frequently selected", lambda row: _commonest(row["chosen"])),
]


def _machines(rows: list[Facts]) -> list[str]:
    folds = list(dict.fromkeys(row["fold"] for row in rows))
    lines = []
    for name, attributes in dict.fromkeys((row["name"], row["attributes"]) for row in rows):
        here = [row for row in rows if (row["name"], row["attributes"]) == (name, attributes)]
        cells = [name, "yes" if attributes else "", *rmses([row["rmse"] for row in here])]
        seconds = float(np.median([row["fit_seconds"] for row in here]))
        lines.append([*cells, _commonest([row.get("chosen", {}) for row in here]), f"{seconds:.1f}"])
    return table(["method", "attributes", *(f"{fold} ↓" for fold in folds), "mean ↓", *SELECTED], lines)


def _labels(facts: Facts) -> list[str]:
    lines = [line for name, rows in facts.items() for line in (f"### {name}", "", *tabulate(LABELS, rows), "")]
    return [
        *lines,
        "Gains are over logistic regressions; for reduced rank, over ridge regression, which has full rank.",
        "",
    ]


def _commonest(settings: list[Facts]) -> str:
    commonest: Facts = max(settings, key=settings.count)
    return chosen(commonest)


SECTIONS: dict[str, Section] = {
    "machines": ("Factorization machines on MovieLens 100K", _machines),
    "labels": ("Labels of texts", _labels),
    "schools": ("Scores of pupils of 139 schools", partial(tabulate, SCHOOLS)),
}
report = partial(sections, "Low-rank predictors", "Settings are selected within the training sets.", SECTIONS)
