"""The report of a run: ``report.md`` with tables."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from experiments.markdown import Section, chosen, interval, sections, share, table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polyadic.core.stage_cache import Facts

SAME = ("form", "n_negatives", "batch")
"""Settings that are the same everywhere."""
RANKS = ("mrr", "hits_1", "hits_3", "hits_10")


def _small(facts: Facts) -> list[str]:
    lines: list[str] = []
    for name, rows in facts.items():
        lines += [f"### {name}", ""]
        cells = [
            [
                row["name"],
                share(row.get("validation")),
                *(share(row[measure]) for measure in RANKS),
                chosen(row.get("chosen", {}), without=SAME),
                f"{row['seconds']:.1f}",
            ]
            for row in rows
        ]
        lines += [*table(["", "validation MRR", "MRR", "hits 1", "3", "10", "chosen", "seconds"], cells), ""]
    return lines


def _large(rows: list[Facts]) -> list[str]:
    cells = [
        [
            row["name"],
            *(share(row[m]) for m in RANKS),
            chosen(row.get("chosen", {}), without=SAME),
            f"{row['seconds']:.0f}",
        ]
        for row in rows
    ]
    lines = table(["", "MRR", "hits 1", "3", "10", "chosen", "seconds"], cells)
    for row in rows:
        if "interval" in row:
            lines += ["", f"MRR of {row['name']}: {interval(row['interval'])}."]
        if "answering" in row:
            lines += [f"Answering the test part took {row['answering']:.0f} s."]
        if "tried" in row:
            lines += ["", f"{row['name']}, MRR of (2,000 facts of) the validation part:", ""]
            lines += table(
                ["", *(name for name, _ in row["tried"])], [["MRR", *(share(mrr) for _, mrr in row["tried"])]]
            )
        if "curve" in row:
            points = [[f"{at:.0f}", share(score)] for at, score in row["curve"][::5]]
            lines += ["", "MRR of (2,000 facts of) the validation part after so many seconds:", ""]
            lines += table(["seconds", *(at for at, _ in points)], [["MRR", *(score for _, score in points)]])
    return lines


def _rescal(facts: Facts) -> list[str]:
    folds = facts["folds"]
    raw, scaled, seconds = (folds[name] for name in ("raw", "normalised", "fold_seconds"))
    lines = ["Kinship, ten folds over all cells, rank 100, penalties 10; area under precision and recall:", ""]
    headings = ["raw scores", "scaled to unit length over relations", "seconds a fold"]
    lines += [*table(headings, [[share(raw), share(scaled), f"{seconds:.2f}"]]), ""]
    rows = [
        [
            row["set"],
            row["name"],
            *(share(row[name]) for name in ("reciprocal_rank", "hits", "precision", "possible")),
            f"{row['seconds']:.2f}",
        ]
        for row in facts["typed"]
    ]
    return lines + table(["", "", "MRR", "hits 10", "average precision", "possible", "seconds"], rows)


def _nyt(facts: Facts) -> list[str]:
    by_model: dict[tuple[str, str], list[Facts]] = {}
    for rows in facts["models"].values():
        for row in rows:
            by_model.setdefault((row["features"], row["loss"]), []).append(row)
    cells = [
        [features, loss, *(_over(rows, name) for name in ("validation", "map", "weighted_map")), _ridges(rows)]
        for (features, loss), rows in by_model.items()
    ]
    lines = table(["terms", "loss", "validation MAP", "MAP", "weighted MAP", "ridges"], cells)
    lines += ["", "The public rankings of three systems, by the public judgements:", ""]
    rows = [[row["system"], share(row["map"]), share(row["weighted_map"])] for row in facts["published"]]
    return lines + table(["", "MAP", "weighted MAP"], rows)


def _schemas(rows: list[Facts]) -> list[str]:
    cells = [
        [
            row["features"] + ("" if "loss" in row else ", pairs folded in"),
            share(row["map"]),
            share(row["weighted_map"]),
            f"{row['seconds']:.0f}",
        ]
        for row in rows
    ]
    return table(["terms", "MAP", "weighted MAP", "seconds"], cells)


def _rules(facts: Facts) -> list[str]:
    lines = ["MAP by the share of the facts of relations that are told.", ""]
    lines += ["### Planted", "", *_by_told(facts["planted"]), ""]
    newswire = list(facts["newswire"].values())
    lines += ["### Newswire, nothing told", ""]
    names = [row["name"] for row in newswire[0]]
    for measure in ("map", "weighted"):
        row = [_over([rows[at] for rows in newswire], measure) for at in range(len(names))]
        lines += table(["", *names], [[measure, *row]]) if measure == "map" else [f"| {measure} | {' | '.join(row)} |"]
    lines += ["", "### FB15k-237, mined rules", ""]
    return lines + _by_told({fraction: [rows] for fraction, rows in facts["freebase"].items()})


def _by_told(by_told: dict[str, list[list[Facts]]]) -> list[str]:
    names = [row["name"] for row in next(iter(by_told.values()))[0]]
    rows = [
        [fraction, *(_over([run[at] for run in runs], "map") for at in range(len(names)))]
        for fraction, runs in by_told.items()
    ]
    return table(["told", *names], rows)


def _figures(facts: Facts) -> list[str]:
    rows = [
        [
            row["name"],
            share(row["value"]),
            interval(row),
            f"{row['used']} of {row['total']}",
        ]
        for row in facts["figures"]
    ]
    return table(["", "", "95 %", "cases"], rows)


def _over(rows: Sequence[Facts], name: str) -> str:
    """Write a mean over seeds, with the standard deviation where there are several."""
    values = [float(row[name]) for row in rows]
    spread = f" ({share(float(np.std(values, ddof=1)))})" if len(values) > 1 else ""
    return share(float(np.mean(values))) + spread


def _ridges(rows: Sequence[Facts]) -> str:
    return " and ".join(sorted({f"{row['ridge']:g}" for row in rows}))


SECTIONS: dict[str, Section] = {
    "knowledge": ("Small knowledge bases, forms side by side", _small),
    "FB15k-237": ("FB15k-237", _large),
    "WN18RR": ("WN18RR", _large),
    "rescal": ("RESCAL by alternating least squares", _rescal),
    "nyt": ("Universal schema: paths hidden from pairs of the New York Times", _nyt),
    "freebase": ("Universal schema: relations hidden from pairs of FB15k-237", _schemas),
    "rules": ("Rules", _rules),
    "composition": ("Transitive sentences", _figures),
    "attachment": ("Attachment of prepositional phrases", _figures),
}
ABOUT = "Settings are chosen on validation parts. Seconds hold the fits of all settings that were tried."
report = partial(sections, "Facts about entities", ABOUT, SECTIONS)
