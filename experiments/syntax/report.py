"""The report: a table for each part, and learning curves as figures."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from experiments.markdown import Column, Section, certain, sections, share, table, tabulate
from polyadic.plots import curves

if TYPE_CHECKING:
    from pathlib import Path

    from polyadic.core.stage_cache import Facts

SIDES = {"with": "with the tensor", "without": "without"}
SIZE: list[Column] = [("training sentences", "sentences", ","), ("seed", "seed")]
SHARE: list[Column] = [("share", "share", "g"), ("seed", "seed")]
SPEED: list[Column] = [("time, s ↓", "seconds", ".1f"), ("sentences per second ↑", "sentences_a_second", ",.0f")]


def draw(facts: Facts, out: Path) -> None:
    """Draw learning curves: mean, minimum and maximum UAS on the test set over seeds."""
    if "parsing" not in facts:
        return
    rows = _rows(facts["parsing"])
    sizes = sorted({row["sentences"] for row in rows})
    series = {}
    for side, name in SIDES.items():
        values = [[row[side]["test"][0]["value"] for row in rows if row["sentences"] == size] for size in sizes]
        series[name] = [[float(np.mean(some)), min(some), max(some)] for some in values]
    ax = curves(series, sizes, log=True)
    ax.set_xlabel("training sentences")
    ax.set_ylabel("UAS")
    ax.figure.savefig(out / "parsing.png", dpi=150, bbox_inches="tight")


def _rows(part: Facts) -> list[Facts]:
    """Return the rows of all stages of a part."""
    return [row for stage in part.values() for row in stage["rows"]]


def _figures(figures: list[Facts], key: str = "") -> list[Column]:
    """Return a column for each figure, of a list in the row."""
    return [(one["name"], partial(_nested, key, at), certain) for at, one in enumerate(figures)]


def _nested(key: str, at: Any, row: Facts) -> Any:
    return row[key][at]


def _parsing(stages: Facts) -> list[str]:
    rows = _rows(stages)
    figures = rows[0]["with"]["test"]
    columns: list[Column] = [
        *(*SIZE, ("model", "name"), ("passes", "passes")),
        ("development UAS / LAS ↑", lambda row: f"{share(row['dev']['uas'])} / {share(row['dev']['las'])}"),
        *(*_figures(figures, "test"), *SPEED),
    ]
    sides = [
        {**row[side], "sentences": row["sentences"], "seed": row["seed"], "name": name}
        for row in rows
        for side, name in SIDES.items()
    ]
    worth: list[Column] = [(one["name"], partial(_nested, "worth", one["name"]), certain) for one in figures]
    losses: Column = ("with the tensor", lambda row: " ".join(f"{value:.2f}" for value in row["with"]["losses"]))
    lines = [*tabulate(columns, sides), "", "Gain from the tensor, with 95 % intervals of paired differences:", ""]
    lines += [*tabulate([*SIZE, *worth], rows), "", "Mean loss per sentence in each pass:", ""]
    return lines + tabulate([*SIZE, losses], rows)


def _orders(stages: Facts) -> list[str]:
    def gain(name: str) -> Column:
        return f"{name} minus order 1", lambda row: row["gain"][name] if row["order"] > 1 else None, certain

    columns: list[Column] = [
        *(*SIZE, ("gamma", "gamma", "g"), ("order", "order"), ("UAS", "uas", share), ("LAS", "las", share)),
        *(gain("UAS"), gain("LAS"), ("search errors", "search_errors"), *SPEED),
    ]
    rows = [{**row, "sentences": run["sentences"], "seed": run["seed"]} for run in _rows(stages) for row in run["rows"]]
    return tabulate(columns, rows)


def _text(stages: Facts) -> list[str]:
    runs = _rows(stages)
    sides = {"gold": "gold", "found": "predicted", "folds": "predicted, also in training"}
    rows = [{"seed": run["seed"], "name": name, "of": run[side]} for run in runs for side, name in sides.items()]
    return tabulate([("seed", "seed"), ("tags, lemmas, morphology", "name"), *_figures(runs[0]["gold"], "of")], rows)


def _tagging(stages: Facts) -> list[str]:
    def above(row: Facts) -> Facts:
        return {"value": row["minus_first"], "low": row["minus_low"], "high": row["minus_high"]}

    chunks: list[Column] = [
        *(
            ("loss, rank", "name"),
            ("training sentences", "sentences", ","),
            ("F1 ↑", lambda row: {**row, "value": row["F1"]}, certain),
        ),
        *(
            ("accuracy ↑", "accuracy", share),
            ("difference in F1", above, certain),
            ("training time, s ↓", "seconds", ".1f"),
        ),
    ]
    text: list[Column] = [
        ("column", "name"),
        ("accuracy ↑", lambda row: certain(row) if "low" in row else share(row["value"])),
        ("words per second ↑", "words_a_second", ",.0f"),
    ]
    lines: list[str] = []
    for run in _rows(stages):
        lines += [*tabulate(chunks, [*run["chunks"], *run["chunks_of_few"]]), "", *tabulate(text, run["text"])]
    return lines


def _roles(stages: Facts) -> list[str]:
    names = {
        "tensor": "tensor and sparse features",
        "sparse": "sparse features",
        "regression": "logistic regression",
        "found predicates": "tensor, predicted predicates",
    }
    rows = [
        {**row, "name": name, "figures": row[side]["figures"][:4], "above": row["worth"].get(side, {}).get("F1")}
        for row in _rows(stages)
        for side, name in names.items()
    ]
    columns: list[Column] = [*SHARE, ("predicates", "predicates", ","), ("model", "name")]
    columns += _figures(rows[0]["figures"], "figures")
    return tabulate([*columns, ("F1 of the tensor minus this model", "above", certain)], rows)


def _roles_by_parser(stages: Facts) -> list[str]:
    rows = _rows(stages)
    names = list(rows[0]["figures"])
    cells = [
        [f"{row['share']:g}", row["seed"], f"{row['sentences']:,}", *(certain(row["figures"][name]) for name in names)]
        for row in rows
    ]
    gaps = [{**gap, "share": row["share"], "seed": row["seed"]} for row in rows for gap in row["worth"]]
    lines = ["F1 on predicted trees, by the training trees and features:", ""]
    lines += [*table(["share", "seed", "sentences", *names], cells), ""]
    return lines + tabulate(
        [*SHARE, ("models", lambda gap: f"{gap['one']} - {gap['other']}"), ("difference", certain)], gaps
    )


def _treebanks(stages: Facts) -> list[str]:
    rows = [
        {**row, "with": row["with"]["test"], "without": row["without"]["test"], "uas": row["worth"]["UAS"]}
        for row in _rows(stages)
    ]
    columns: list[Column] = [("treebank", "treebank"), ("training sentences", "sentences", ",")]
    columns += [
        (f"{name}, {measure} ↑", partial(_nested, side, at), certain)
        for side, name in SIDES.items()
        for at, measure in enumerate(("UAS", "LAS"))
    ]
    return tabulate([*columns, ("difference in UAS", "uas", certain)], rows)


def _propositions(stages: Facts) -> list[str]:
    rows = [
        {**row, **{side: row[side]["figures"][2] for side in ("tensor", "sparse", "regression")}}
        | {f"minus {side}": row["worth"][side]["F1"] for side in ("sparse", "regression")}
        for row in _rows(stages)
    ]
    columns: list[Column] = [("propositions", "propositions"), ("training sentences", "sentences", ",")]
    columns += [(f"{side}, F1 ↑", side, certain) for side in ("tensor", "sparse", "regression")]
    return tabulate(
        [*columns, *((f"tensor minus {side}", f"minus {side}", certain) for side in ("sparse", "regression"))], rows
    )


SECTIONS: dict[str, Section] = {
    "parsing": ("Parsing with and without a low-rank tensor", _parsing),
    "orders": ("Higher-order parts", _orders),
    "text": ("Parsing with predicted parts of speech, lemmas and morphology", _text),
    "tagging": ("Chunks and parts of speech", _tagging),
    "roles": ("Semantic roles", _roles),
    "roles-by-parser": ("Semantic roles of parsed sentences", _roles_by_parser),
    "treebanks": ("Treebanks of other languages", _treebanks),
    "propositions": ("Semantic roles in other languages", _propositions),
}
report = partial(sections, "Syntax", "", SECTIONS)
