"""The report of a run: ``report.md`` with tables, and learning curves as pictures."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from experiments.markdown import Section, certain, sections, share, table
from polyadic.plots import curves

if TYPE_CHECKING:
    from pathlib import Path

    from polyadic.core.stage_cache import Facts

SIDES = {"with": "with the tensor", "without": "without"}


def draw(facts: Facts, out: Path) -> None:
    """Draw learning curves into a folder, where matplotlib is installed."""
    if "parsing" in facts:
        rows = _rows(facts["parsing"])
        sizes = sorted({row["sentences"] for row in rows})
        series = {name: [_reached(rows, side, size) for size in sizes] for side, name in SIDES.items()}
        ax = curves(series, sizes, log=True)
        ax.set_xlabel("sentences to learn from")
        ax.set_ylabel("UAS")
        ax.figure.savefig(out / "parsing.png", dpi=150, bbox_inches="tight")


def _rows(part: Facts) -> list[Facts]:
    """Give the rows of all stages of a part."""
    return [row for stage in part.values() for row in stage["rows"]]


def _parsing(stages: Facts) -> list[str]:
    rows = _rows(stages)
    names = [figure["name"] for figure in rows[0]["with"]["test"]]
    cells = []
    for row in rows:
        for side, name in SIDES.items():
            run = row[side]
            figures = [certain(figure) for figure in run["test"]]
            dev = f"{share(run['dev']['uas'])} / {share(run['dev']['las'])}"
            speed = [f"{run['seconds']:.1f}", f"{run['sentences_a_second']:,.0f}"]
            cells.append([f"{row['sentences']:,}", row["seed"], name, run["passes"], dev, *figures, *speed])
    headings = ["sentences", "seed", "", "passes", "development UAS / LAS", *names, "seconds", "sentences a second"]
    worth = [[f"{row['sentences']:,}", row["seed"], *(certain(row["worth"][name]) for name in names)] for row in rows]
    losses = [[f"{row['sentences']:,}", row["seed"], " ".join(_rounded(row["with"]["losses"]))] for row in rows]
    lines = [*table(headings, cells), "", "What the tensor is worth, with intervals of paired differences:", ""]
    lines += [*table(["sentences", "seed", *names], worth), "", "Mean loss of a sentence in each pass:", ""]
    return lines + table(["sentences", "seed", "with the tensor"], losses)


def _orders(stages: Facts) -> list[str]:
    runs = _rows(stages)
    lines = []
    for run in runs:
        for row in run["rows"]:
            gains = [certain(row["gain"][name]) if row["order"] > 1 else "" for name in ("UAS", "LAS")]
            figures = [share(row["uas"]), share(row["las"]), *gains]
            speed = [row.get("search_errors", ""), f"{row['seconds']:.1f}", f"{row['sentences_a_second']:,.0f}"]
            lines.append([f"{run['sentences']:,}", run["seed"], f"{row['gamma']:g}", row["order"], *figures, *speed])
    headings = ["sentences", "seed", "gamma", "order", "UAS", "LAS", "UAS above order 1", "LAS above order 1"]
    return table([*headings, "search errors", "seconds", "sentences a second"], lines)


def _text(stages: Facts) -> list[str]:
    runs = _rows(stages)
    sides = {"gold": "the treebank's", "found": "found", "folds": "found, and in learning too"}
    lines = [[run["seed"], name, *map(certain, run[side])] for run in runs for side, name in sides.items()]
    return table(["seed", "columns", *(figure["name"] for figure in runs[0]["gold"])], lines)


def _tagging(stages: Facts) -> list[str]:
    runs = _rows(stages)
    lines: list[str] = []
    for run in runs:
        chunked = [_chunked(figure) for figure in (*run["chunks"], *run["chunks_of_few"])]
        headings = ["", "sentences", "F1", "accuracy", "F1 above the first", "seconds"]
        cells = [
            [
                figure["name"],
                certain(figure) if "low" in figure else share(figure["value"]),
                _rate(figure.get("words_a_second")),
            ]
            for figure in run["text"]
        ]
        lines += [*table(headings, chunked), "", *table(["", "accuracy", "words a second"], cells)]
    return lines


def _chunked(row: Facts) -> list[str]:
    above = {"value": row["minus_first"], "low": row["minus_low"], "high": row["minus_high"]}
    figures = [certain({**row, "value": row["F1"]}), share(row["accuracy"]), certain(above)]
    return [row["name"], f"{row['sentences']:,}", *figures, f"{row['seconds']:.1f}"]


def _roles(stages: Facts) -> list[str]:
    rows = _rows(stages)
    names = {
        "tensor": "tensor and sparse features",
        "sparse": "sparse features",
        "regression": "logistic regression",
        "found predicates": "tensor, predicates found",
    }
    lines = []
    for row in rows:
        size = [f"{row['share']:g}", row["seed"], f"{row['predicates']:,}"]
        for side, name in names.items():
            figures = [certain(figure) for figure in row[side]["figures"][:4]]
            worth = certain(row["worth"][side]["F1"]) if side in row["worth"] else ""
            lines.append([*size, name, *figures, worth])
    figures = [figure["name"] for figure in rows[0]["tensor"]["figures"][:4]]
    return table(["share", "seed", "predicates", "", *figures, "F1 of the tensor above"], lines)


def _roles_by_parser(stages: Facts) -> list[str]:
    rows = _rows(stages)
    names = list(rows[0]["figures"])
    cells = [
        [f"{row['share']:g}", row["seed"], f"{row['sentences']:,}", *(certain(row["figures"][name]) for name in names)]
        for row in rows
    ]
    gaps = [
        [f"{row['share']:g}", row["seed"], f"{gap['one']} - {gap['other']}", certain(gap)]
        for row in rows
        for gap in row["worth"]
    ]
    lines = ["F1 on trees of a parser, by the trees and the features learned from:", ""]
    lines += [*table(["share", "seed", "sentences", *names], cells), ""]
    return lines + table(["share", "seed", "", "difference"], gaps)


def _rate(value: float | None) -> str:
    return "" if value is None else f"{value:,.0f}"


def _rounded(values: list[float]) -> list[str]:
    return [f"{value:.2f}" for value in values]


def _reached(rows: list[Facts], side: str, size: int) -> list[float]:
    """Give mean, least and largest UAS on the test part over seeds."""
    values = [row[side]["test"][0]["value"] for row in rows if row["sentences"] == size]
    return [float(np.mean(values)), min(values), max(values)]


SECTIONS: dict[str, Section] = {
    "parsing": ("Parsing with a tensor of low rank and without", _parsing),
    "orders": ("Parsing by parts of one, two and three arcs", _orders),
    "text": ("Parsing with parts of speech, lemmas and morphology that are found", _text),
    "tagging": ("Chunks and parts of speech", _tagging),
    "roles": ("Semantic roles", _roles),
    "roles-by-parser": ("Semantic roles of parsed sentences", _roles_by_parser),
}
report = partial(sections, "Syntax", "", SECTIONS)
