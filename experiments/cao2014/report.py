"""The report: tables for each task."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from experiments.cao2014.compared import over_folds
from experiments.markdown import Column, certain, interval, share, table, tabulate

if TYPE_CHECKING:
    from polyadic.core.stage_cache import Facts

TITLES = {"penn": "Constituents of the Penn Treebank sample", "ewt": "Dependencies of the English Web Treebank"}
FIGURES = {"penn": "F", "ewt": "UAS"}
DIFFERENCES: list[Column] = [
    *(("share", "share", "g"), ("methods", lambda row: f"{row['one']} - {row['other']}")),
    *(("difference", "value", share), ("95 % interval", interval)),
]
EPOCHS: list[Column] = [
    *(("share", "share", "g"), ("method", "name")),
    *(
        (f"{part} ↑", lambda row, part=part: f"{share(row[part][0])} to {share(row[part][-1])}")
        for part in ("train", "test")
    ),
    *((f"{part}, minus MIRA", lambda row, part=part: certain(row.get(f"{part}_gap"))) for part in ("train", "test")),
]


def report(facts: Facts) -> str:
    """Return the report as Markdown."""
    lines = ["# Reranking in tensor space", ""]
    lines += ["Settings and epochs are selected on validation lists. Figures are means over training sets.", ""]
    for task in facts["settings"]["tasks"]:
        part, name = facts[task], FIGURES[task]
        lists = [{"name": baseline, **row} for baseline, row in part["baselines"].items()]
        columns: list[Column] = [("lists", "name"), (f"validation {name} ↑", "dev", share)]
        columns.append((f"test {name} ↑", "test", share))
        energy = [[mapping, share(values[0] ** 2)] for mapping, values in part["spectra"].items()]
        lines += [f"## {TITLES[task]}", "", *tabulate(columns, lists), ""]
        lines += [f"### {name} by share of the training lists", "", *_figures(part, facts["settings"]), ""]
        lines += [f"### Differences in {name}, with 95 % intervals over sentences", ""]
        lines += [*tabulate(DIFFERENCES, part["differences"]), ""]
        lines += [f"### {name} after the first and the last epoch, without selection of the epoch (first seed)", ""]
        lines += [*tabulate(EPOCHS, part["epochs"]), ""]
        lines += ["### Energy of the perceptron's weights in their first component", ""]
        lines += [*table(["mapping", "share"], energy), ""]
    return "\n".join(lines)


def _figures(facts: Facts, settings: Facts) -> list[str]:
    lines = []
    for name in dict.fromkeys(row["name"] for row in facts["rows"]):
        cells: list[str] = []
        rows: list[Facts] = []
        for part in settings["shares"]:
            rows = [row for row in facts["rows"] if row["name"] == name and row["share"] == part]
            values = over_folds(rows)
            cells.append(f"{share(float(np.mean(values)))} ± {share(float(np.std(values)))}")
        sizes = [
            f"{np.mean([row[key] for row in rows]):{how}}" for key, how in (("parameters", ",.0f"), ("seconds", ".0f"))
        ]
        lines.append([name, *cells, *sizes])
    heads = [f"{part:g} ↑" for part in settings["shares"]]
    return table(["D, H and mapping of T-MIRA", *heads, "parameters ↓", "time of all fits, s ↓"], lines)
