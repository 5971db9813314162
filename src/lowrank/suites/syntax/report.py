"""The report of a run: ``report.md`` with tables, and learning curves as pictures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from lowrank.errors import MissingExtraError
from lowrank.plots import curves, new_axes
from lowrank.suites.numbers import share, table

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from lowrank.suites.store import Facts

SIDES = {"with": "with the tensor", "without": "without"}


def report(facts: Facts) -> str:
    """Write the tables."""
    lines = ["# Syntax", ""]
    writers: dict[str, tuple[str, Callable[[Any], list[str]]]] = {
        "parsing": ("Parsing with a tensor of low rank and without", _parsing)
    }
    for part, (title, write) in writers.items():
        if part in facts:
            lines += [f"## {title}", "", *write(facts[part]), ""]
    return "\n".join(lines)


def draw(facts: Facts, out: Path) -> None:
    """Draw learning curves into a folder, where matplotlib is installed."""
    try:
        new_axes()
    except MissingExtraError:
        return
    if "parsing" in facts:
        rows = facts["parsing"]
        sizes = sorted({row["sentences"] for row in rows})
        ax = curves({name: [_reached(rows, side, size) for size in sizes] for side, name in SIDES.items()}, sizes)
        ax.set_xscale("log")
        ax.set_xticks(sizes, [f"{size:,}" for size in sizes])
        ax.minorticks_off()
        ax.set_xlabel("sentences to learn from")
        ax.set_ylabel("UAS")
        ax.figure.savefig(out / "parsing.png", dpi=150, bbox_inches="tight")


def _parsing(rows: list[Facts]) -> list[str]:
    names = [figure["name"] for figure in rows[0]["with"]["test"]]
    lines = []
    for row in rows:
        for side, name in SIDES.items():
            found = row[side]
            figures = [f"{share(one['value'])} ({share(one['low'])} to {share(one['high'])})" for one in found["test"]]
            dev = f"{share(found['dev']['uas'])} / {share(found['dev']['las'])}"
            speed = [f"{found['seconds']:.1f}", f"{found['sentences_a_second']:,.0f}"]
            lines.append([f"{row['sentences']:,}", row["seed"], name, found["passes"], dev, *figures, *speed])
    headings = ["sentences", "seed", "", "passes", "development UAS / LAS", *names, "seconds", "sentences a second"]
    worth = [[f"{row['sentences']:,}", row["seed"], *(_gap(row["worth"][name]) for name in names)] for row in rows]
    losses = [[f"{row['sentences']:,}", row["seed"], " ".join(_rounded(row["with"]["losses"]))] for row in rows]
    lines = [*table(headings, lines), "", "What the tensor is worth, with intervals of paired differences:", ""]
    lines += [*table(["sentences", "seed", *names], worth), "", "Mean loss of a sentence in each pass:", ""]
    return lines + table(["sentences", "seed", "with the tensor"], losses)


def _gap(found: Facts) -> str:
    return f"{share(found['value'])} ({share(found['low'])} to {share(found['high'])})"


def _rounded(values: list[float]) -> list[str]:
    return [f"{value:.2f}" for value in values]


def _reached(rows: list[Facts], side: str, size: int) -> list[float]:
    """Give mean, least and largest UAS on the test part over seeds."""
    values = [row[side]["test"][0]["value"] for row in rows if row["sentences"] == size]
    return [float(np.mean(values)), min(values), max(values)]
