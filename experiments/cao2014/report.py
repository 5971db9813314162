"""The report of a run: ``report.md`` with tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from experiments.cao2014.compared import over_folds
from experiments.markdown import interval, share, table

if TYPE_CHECKING:
    from polyadic.core.stage_cache import Facts

TITLES = {"penn": "Constituents of the Penn Treebank sample", "ewt": "Dependencies of the English Web Treebank"}
FIGURES = {"penn": "F", "ewt": "UAS"}


def report(facts: Facts) -> str:
    """Write the tables."""
    lines = ["# Reranking in tensor space", ""]
    lines += ["Settings and epochs are chosen on lists held out. Figures are means over training sets.", ""]
    for task in facts["settings"]["tasks"]:
        part, name = facts[task], FIGURES[task]
        lines += [f"## {TITLES[task]}", "", *_lists(part, name), ""]
        lines += [f"### {name} by share of the training lists", "", *_figures(part, facts["settings"]), ""]
        lines += ["### Differences, with intervals of 95 % over sentences", "", *_differences(part), ""]
        lines += ["### Energy of the perceptron's weights in their first component", "", *_energy(part), ""]
    return "\n".join(lines)


def _lists(facts: Facts, name: str) -> list[str]:
    rows = [
        [baseline, share(figures["dev"]), share(figures["test"])] for baseline, figures in facts["baselines"].items()
    ]
    return table(["lists", f"{name} held out", f"{name} of the test part"], rows)


def _figures(facts: Facts, settings: Facts) -> list[str]:
    lines = []
    for name in dict.fromkeys(row["name"] for row in facts["rows"]):
        cells: list[str] = []
        rows: list[Facts] = []
        for part in settings["shares"]:
            rows = [row for row in facts["rows"] if row["name"] == name and row["share"] == part]
            values = over_folds(rows)
            cells.append(f"{share(float(np.mean(values)))} ± {share(float(np.std(values)))}")
        cells += [
            f"{np.mean([row['parameters'] for row in rows]):,.0f}",
            f"{np.mean([row['seconds'] for row in rows]):.0f}",
        ]
        lines.append([name, *cells])
    heads = [f"{part:g}" for part in settings["shares"]]
    return table(["D, H and mapping of T-MIRA", *heads, "parameters", "seconds of all fits"], lines)


def _differences(facts: Facts) -> list[str]:
    rows = [
        [
            f"{row['share']:g}",
            f"{row['one']} - {row['other']}",
            share(row["value"]),
            interval(row),
        ]
        for row in facts["differences"]
    ]
    return table(["share", "", "difference", "interval"], rows)


def _energy(facts: Facts) -> list[str]:
    return table(["mapping", "share"], [[name, share(values[0] ** 2)] for name, values in facts["spectra"].items()])
