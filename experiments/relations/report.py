"""The report: a table for each part."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from experiments.markdown import Column, Section, chosen, interval, sections, share, spread, table, tabulate
from experiments.relations.universal import PAIRED, difference_of_terms

if TYPE_CHECKING:
    from collections.abc import Iterable

    from polyadic.core.stage_cache import Facts

SAME = ("form", "n_negatives", "batch")
"""Settings that are the same everywhere."""
RANKS: list[Column] = [
    ("MRR ↑", "mrr", share),
    ("hits@1 ↑", "hits_1", share),
    ("hits@3 ↑", "hits_3", share),
    ("hits@10 ↑", "hits_10", share),
]
CHOSEN: Column = ("selected settings", lambda row: chosen(row.get("chosen", {}), without=SAME))
MAPS: list[Column] = [("MAP ↑", "map", share), ("weighted MAP ↑", "weighted_map", share)]


def _small(facts: Facts) -> list[str]:
    columns: list[Column] = [("model", "name"), ("validation MRR ↑", "validation", share), *RANKS, CHOSEN]
    columns.append(("time, s ↓", "seconds", ".1f"))
    return [line for name, rows in facts.items() for line in (f"### {name}", "", *tabulate(columns, rows), "")]


def _large(rows: list[Facts]) -> list[str]:
    lines = tabulate([("model", "name"), *RANKS, CHOSEN, ("time, s ↓", "seconds", ".0f")], rows)
    for row in rows:
        if "interval" in row:
            lines += ["", f"MRR of {row['name']}: {interval(row['interval'])}."]
        if "answering" in row:
            lines += [f"Answering the test queries took {row['answering']:.0f} s."]
        if "tried" in row:
            lines += ["", f"{row['name']}, MRR on 2,000 facts of the validation set:", ""]
            lines += _curve("", row["tried"])
        if "curve" in row:
            lines += ["", "MRR on 2,000 facts of the validation set during training:", ""]
            lines += _curve("time, s", ((f"{at:.0f}", score) for at, score in row["curve"][::5]))
    return lines


def _curve(name: str, points: Iterable[tuple[str, float]]) -> list[str]:
    places, scores = zip(*points, strict=True)
    return table([name, *places], [["MRR", *map(share, scores)]])


def _rescal(facts: Facts) -> list[str]:
    folds: list[Column] = [
        *(("raw scores ↑", "raw", share), ("scaled to unit length over relations ↑", "normalised", share)),
        ("time per fold, s ↓", "fold_seconds", ".2f"),
    ]
    lines = ["Kinship, ten folds over all cells, rank 100, penalties 10; area under the precision-recall curve:", ""]
    lines += [*tabulate(folds, [facts["folds"]]), ""]
    typed: list[Column] = [
        *(("data set", "set"), ("variant", "name"), ("MRR ↑", "reciprocal_rank", share), ("hits@10 ↑", "hits", share)),
        *(
            ("average precision ↑", "precision", share),
            ("share of test facts possible", "possible", share),
            ("time, s ↓", "seconds", ".2f"),
        ),
    ]
    return lines + tabulate(typed, facts["typed"])


def _nyt(facts: Facts) -> list[str]:
    by_model: dict[tuple[str, str], list[Facts]] = {}
    for rows in facts["models"].values():
        for row in rows:
            by_model.setdefault((row["features"], row["loss"]), []).append(row)
    cells = [
        [*model, *(_over(rows, name) for name in ("validation", "map", "weighted_map")), _ridges(rows)]
        for model, rows in by_model.items()
    ]
    lines = table(["terms", "loss", "validation MAP ↑", "MAP ↑", "weighted MAP ↑", "ridges"], cells)
    lines += ["", "Published rankings of three systems, evaluated with the public judgements:", ""]
    return lines + tabulate([("system", "system"), *MAPS], facts["published"])


def _schemas(rows: list[Facts]) -> list[str]:
    terms: Column = ("terms", lambda row: row["features"] + ("" if "loss" in row else ", pairs folded in"))
    return tabulate([terms, *MAPS, ("time, s ↓", "seconds", ".0f")], rows)


def _terms(facts: Facts) -> list[str]:
    columns: list[Column] = [
        *(("terms", "name"), ("validation MAP ↑", "validation", share), ("MAP ↑", "map", share)),
        *(("ridge", "ridge"), ("time, s ↓", "seconds", ".0f")),
    ]
    compared: list[Column] = [("terms", "name"), ("MAP ↑, or difference", "value", share), ("95 % interval", interval)]
    lines: list[str] = []
    for name, runs in facts.items():
        lines += [f"### {name}", "", *tabulate(columns, (row for rows in runs for row in rows)), ""]
        lines += [*tabulate(compared, difference_of_terms(runs, PAIRED)), ""]
    return lines


def _rules(facts: Facts) -> list[str]:
    lines = ["MAP (higher is better) by the share of the relations' facts that are given in training.", ""]
    lines += ["### Planted", "", *_by_share(facts["planted"]), ""]
    newswire = list(facts["newswire"].values())
    names = [row["name"] for row in newswire[0]]
    rows = [
        [measure, *(_over([run[at] for run in newswire], measure) for at in range(len(names)))]
        for measure in ("map", "weighted")
    ]
    lines += [
        "### Newswire, no facts given",
        "",
        *table(["measure ↑", *names], rows),
        "",
        "### FB15k-237, mined rules",
        "",
    ]
    return lines + _by_share({fraction: [rows] for fraction, rows in facts["freebase"].items()})


def _by_share(shares: dict[str, list[list[Facts]]]) -> list[str]:
    names = [row["name"] for row in next(iter(shares.values()))[0]]
    rows = [
        [fraction, *(_over([run[at] for run in runs], "map") for at in range(len(names)))]
        for fraction, runs in shares.items()
    ]
    return table(["facts given", *names], rows)


def _figures(facts: Facts) -> list[str]:
    columns: list[Column] = [("test", "name"), ("figure ↑", "value", share), ("95 % interval", interval)]
    return tabulate([*columns, ("cases", lambda row: f"{row['used']} of {row['total']}")], facts["figures"])


def _over(rows: list[Facts], name: str) -> str:
    """Return a mean over seeds, with the standard deviation where there are several."""
    return spread([float(row[name]) for row in rows], "{} ({})")


def _ridges(rows: list[Facts]) -> str:
    return " and ".join(sorted({f"{row['ridge']:g}" for row in rows}))


SECTIONS: dict[str, Section] = {
    "knowledge": ("Small knowledge graphs", _small),
    "FB15k-237": ("FB15k-237", _large),
    "WN18RR": ("WN18RR", _large),
    "rescal": ("RESCAL by alternating least squares", _rescal),
    "nyt": ("Universal schema: paths hidden from pairs of the New York Times", _nyt),
    "freebase": ("Universal schema: relations hidden from pairs of FB15k-237", _schemas),
    "terms": ("Universal schema: matrix and tensor, and negatives of all columns", _terms),
    "rules": ("Rules", _rules),
    "composition": ("Transitive sentences", _figures),
    "attachment": ("Attachment of prepositional phrases", _figures),
}
ABOUT = "Settings are selected on validation sets. Times include the fits of all settings tried."
report = partial(sections, "Knowledge graphs and relations", ABOUT, SECTIONS)
