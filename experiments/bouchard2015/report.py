"""The report: a table for each part, and the figure of stochastic gradients."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from experiments.bouchard2015 import binary
from experiments.markdown import Column, Section, certain, rmses, sections, share, table, tabulate
from polyadic.metrics.figures import Figure, difference
from polyadic.plots import descent

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from polyadic.core.stage_cache import Facts


def draw(facts: Facts, out: Path) -> None:
    """Draw the convergence of stochastic gradients to the truncated SVD."""
    if "demonstrations" not in facts:
        return
    shown = facts["demonstrations"]
    descent(shown["histories"], shown["optimum"]).figure.savefig(out / "descent.png", dpi=150)


def _demonstrations(facts: Facts) -> list[str]:
    last = {name: errors[-1] / facts["optimum"] - 1 for name, errors in facts["histories"].items()}
    lines = table(
        ["learning rate", "squared error above the optimum ↓"], [[name, f"{value:.1e}"] for name, value in last.items()]
    )
    lines += ["", "## Wrong signs of 900", ""]
    rows = [[row["matrix"], row["rank"], row["svd"], row["logistic"]] for row in facts["signs"]]
    return [*lines, *table(["position of the ones", "rank", "SVD ↓", "logistic factorization ↓"], rows)]


def _errors(folds: Facts) -> list[str]:
    names = [row["name"] for row in next(iter(folds.values()))]
    rows = []
    for k, name in enumerate(names):
        errors = [methods[k]["rmse"] for methods in folds.values()]
        seconds = np.mean([methods[k]["seconds"] for methods in folds.values()])
        rows.append([name, *rmses(errors), f"{seconds:.1f}"])
    return table(["model", *(f"{fold} ↓" for fold in folds), "mean ↓", "time, s ↓"], rows)


def _certain(figure: Facts | None) -> str:
    """Return a difference with its interval, with four digits."""
    return "{value:+.4f} ({low:+.4f} to {high:+.4f})".format(**figure) if figure else ""


def _posteriors(methods: list[Facts]) -> list[str]:
    return tabulate(POSTERIORS, methods)


def _recommended(methods: list[Facts]) -> list[str]:
    rows = []
    for row in methods:
        cells = []
        for key in ("recall", "ndcg"):
            gain = difference(_figure(key, row[key]), _figure(key, methods[0][key]))
            more = f" ({share(gain.low)} to {share(gain.high)} more)" if row is not methods[0] else ""
            cells.append(share(float(np.mean(row[key]))) + more)
        chosen = ", ".join(f"{key.replace('_', ' ')} {row[key]:g}" for key in ("zero_weight", "ridge", "weight"))
        rows.append([row["name"], *cells, chosen, f"{row['seconds']:.0f}"])
    return table(["tables", "recall@20 ↑", "NDCG@20 ↑", "selected settings", "time, s ↓"], rows)


def _topics(methods: list[Facts]) -> list[str]:
    lines = tabulate(TOPICS, methods)
    for row in methods:
        lines += ["", f"{row['name']}: " + "; ".join(row["topics"][:5])]
    return lines


def _labels(shares: Facts) -> list[str]:
    return tabulate(LABELS, [{"hidden": hidden, **row} for hidden, methods in shares.items() for row in methods])


def _convex(stages: Facts) -> list[str]:
    cycle = stages["cycle"]
    rows = [[row["relaxation"], f"{row['objective']:.5f}", f"{row['lowest']:.2f}"] for row in cycle["by_hand"]]
    lines = ["A cycle worked by hand:", "", *table(["relaxation", "objective", "smallest eigenvalue"], rows)]
    lines += ["", "Planted cycles:", "", *tabulate(CYCLES, cycle["planted"])]
    lines += ["", "Planted outliers:", "", *tabulate(OUTLIERS, stages["outliers"]["rows"])]
    return [*lines, "", "Two views:", "", *tabulate(VIEWS, stages["views"]["rows"])]


def _corrupted(shares: Facts) -> list[str]:
    rows = [{"share": share, **row} for share, methods in shares.items() for row in methods]
    return tabulate(CORRUPTED, rows)


def _mean(key: str) -> Callable[[Facts], float]:
    return lambda row: float(np.mean(row[key]))


CYCLES: list[Column] = [
    *(("planted factors", "truth"), ("error, positive ↓", _mean("positive"), share)),
    *(("error, symmetric ↓", _mean("symmetric"), share), ("difference (95 % interval)", "gain", certain)),
]
OUTLIERS: list[Column] = [
    *(("loss", "loss"), ("precision ↑", _mean("precision"), share), ("recall ↑", _mean("recall"), share)),
    *(("correlation, with outliers ↑", _mean("with outliers"), share), ("without ↑", _mean("without"), share)),
    ("gain (95 % interval)", "gain", certain),
]
VIEWS: list[Column] = [
    *(("cells hidden", "hidden"), ("method", "name"), ("share of variance ↑", _mean("shares"), share)),
    ("difference from convex CCA (95 % interval)", "gain", certain),
]
TENSORS: list[Column] = [
    *(("elements known", "share"), ("method", "name"), ("error ↓", _mean("errors"), share)),
    ("difference from overlapped norms (95 % interval)", "gain", certain),
]
CORRUPTED: list[Column] = [
    *(("share reversed", "share"), ("model", "name"), ("RMSE ↓", "rmse", ".4f"), ("rank", "rank")),
    *(("outliers", lambda row: row.get("found", "")), ("reversed among them", lambda row: row.get("precision"), share)),
    *(("found of reversed", lambda row: row.get("recall"), share),),
    ("difference in squared error (95 % interval)", lambda row: row.get("gain"), certain),
]


def _figure(name: str, values: list[float]) -> Figure:
    return Figure(name, np.column_stack([values, np.ones(len(values))]), used=len(values), total=len(values))


def _retrieval(methods: list[Facts]) -> list[str]:
    by_name = {row["name"]: row for row in methods}
    rows, pairs = [], []
    for row in methods:
        beside = {
            f"above {name}": difference(_figure("", row["both"]), _figure("", by_name[name]["both"]))._asdict()
            for name in ("bm25", "rlsi l1 l2")
            if name in by_name and name != row["name"]
        }
        chosen = row.get("chosen", {})
        rows.append({**row, **chosen, **beside, "alone": np.mean(row["alone"]), "both": np.mean(row["both"])})
        pairs += [
            {"name": row["name"], **each, "npmi": _coherence(each["npmi"])}
            for each in row.get("settings", [])
            if each["penalty"] is not None and row["name"].startswith("rlsi")
        ]
    return [*tabulate(RETRIEVAL, rows), "", "Pairs of norms by penalty:", "", *tabulate(PAIRS, pairs)]


def _coherence(values: list[float]) -> Facts | None:
    """Return the mean NPMI with its interval over topics."""
    if len(values) < 2:
        return None
    figure = _figure("NPMI", values)
    return {"value": figure.value, **dict(zip(("low", "high"), figure.interval(), strict=True))}


def _triangle(draws: list[Facts]) -> list[str]:
    rows = []
    for number in sorted({row["per_label"] for row in draws}):
        some = [row["accuracy"] for row in draws if row["per_label"] == number]
        for name in some[0]:
            plain = name.removesuffix(", labelled words")
            figures = [_figure(each, [one[each] for one in some]) for each in (name, plain, COLLECTIVE)]
            gains = [difference(figures[0], other)._asdict() if other.name != name else None for other in figures[1:]]
            rows.append([number, name, share(figures[0].value), *map(certain, gains)])
    return table(["documents per label", "method", "accuracy ↑", "gain by labelled words", "above collective"], rows)


COLLECTIVE = "collective, labelled words"
POSTERIORS: list[Column] = [
    *(("method", "name"), ("RMSE ↓", "rmse", ".4f"), ("difference (95 % interval)", "rmse_difference", _certain)),
    *(("MAE ↓", "mae", ".4f"), ("log probability ↑", "log", ".4f")),
    ("difference (95 % interval)", "log_difference", _certain),
    *(("coverage of 90 % intervals", "coverage", share), ("effective samples per CPU second ↑", "rate", ".2f")),
    *(("effective samples", "samples", ".0f"), ("CPU time, s ↓", "seconds", ".1f")),
]


def _binary(sets: Facts) -> list[str]:
    rows = []
    for name, ranks in sets.items():
        for rank, seeds in ranks.items():
            row = [name, rank]
            for key in ("average precision", "AUC", "log loss"):
                means = [share(float(np.mean([losses[k][key] for losses in seeds]))) for k in (0, 1)]
                gains = [losses[1][f"difference in {key}"] for losses in seeds]
                row += [*means, certain(binary.mean_difference(gains))]
            row += [share(float(np.mean([losses[k]["wrong"] for losses in seeds]))) for k in (0, 1)]
            ridges = ["/".join(f"{losses[k]['ridge']:g}" for losses in seeds) for k in (0, 1)]
            rows.append([*row, "; ".join(ridges)])
    measures = [h for m in ("AP ↑", "AUC ↑", "log loss ↓") for h in (f"{m}, squared", "logistic", "difference")]
    wrong = ["wrong in training ↓, squared", "logistic"]
    return table(["matrix", "rank", *measures, *wrong, "ridges, squared; logistic"], rows)


def _solvers(tables: Facts) -> list[str]:
    lines = []
    for name, rows in tables.items():
        lines += [name, "", *tabulate(SOLVERS, rows), ""]
    return lines


def _sparse(folds: Facts) -> list[str]:
    keys = ("held", "rmse", "zeros_of_users", "zeros_of_films", "components")
    columns = list(zip(*folds.values(), strict=True))
    means = [{key: float(np.mean([row[key] for row in rows])) for key in keys} for rows in columns]
    return tabulate(SPARSE, [rows[0] | mean for rows, mean in zip(columns, means, strict=True)])


SOLVERS: list[Column] = [
    *(("solver", "solver"), ("objective ↓", "objective", ".1f"), ("epochs to .01 ↓", "epochs to 0.01")),
    *(("time, s ↓", "seconds to 0.01", ".2f"), ("epochs to .001 ↓", "epochs to 0.001")),
    ("time, s ↓", "seconds to 0.001", ".2f"),
]
SPARSE: list[Column] = [
    *(("ridge", "ridge"), ("l1", "l1"), ("RMSE, held-out ↓", "held", ".4f"), ("RMSE, test ↓", "rmse", ".4f")),
    *(("zeros, users", "zeros_of_users", share), ("zeros, films", "zeros_of_films", share)),
    ("components", "components", ".1f"),
]
TOPICS: list[Column] = [
    *(("model", "name"), ("NPMI ↑", "npmi", share), ("C_V ↑", "c_v", share), ("diversity ↑", "diversity", share)),
    *(("perplexity ↓", "perplexity", ".0f"), ("zeros, words", "zeros_of_words", share)),
    *(("zeros, documents", "zeros_of_documents", share), ("NMI with groups ↑", "nmi", share)),
    *(("selected settings", "chosen"), ("time, s ↓", "seconds", ".1f")),
]
RETRIEVAL: list[Column] = [
    *(("method", "name"), ("NDCG@10, topics alone ↑", "alone", share), ("with BM25 ↑", "both", share)),
    *(("above BM25", lambda row: row.get("above bm25"), certain), ("share of topics", lambda row: row.get("share"))),
    *(("above RLSI l1 l2", lambda row: row.get("above rlsi l1 l2"), certain), ("penalty", "penalty")),
]
PAIRS: list[Column] = [
    *(("words, documents", "name"), ("penalty", "penalty"), ("NPMI ↑", "npmi", certain)),
    *(("zeros, words", "zeros_of_words", share), ("zeros, documents", "zeros_of_documents", share)),
    *(("NDCG@10, topics alone ↑", "alone", share), ("with BM25 ↑", "both", share)),
]
LABELS: list[Column] = [
    *(("features hidden", "hidden"), ("method", "name"), ("micro-F1 ↑", "f1", share), ("micro-AP ↑", "ap", share)),
    *(("macro-AP ↑", "macro_ap", share), ("gain in micro-AP ↑ (95 % interval)", "gain", certain)),
    *(("selected settings", "chosen"), ("time, s ↓", "seconds", ".0f")),
]
SECTIONS: dict[str, Section] = {
    "demonstrations": ("Stochastic gradients and the truncated SVD", _demonstrations),
    "convex": ("Convex models on planted data", _convex),
    "tensors": ("Planted tensors of shape 20 x 18 x 16", lambda rows: tabulate(TENSORS, rows)),
    "corrupted": ("MovieLens 100K, first fold, with reversed training ratings", _corrupted),
    "ratings": ("MovieLens 100K: RMSE, predictions clipped to 1 to 5", _errors),
    "posteriors": ("MovieLens 100K: predictive distributions, differences from Gibbs sampling", _posteriors),
    "subset": ("A subset of MovieLens 100K: predictive distributions, differences from Gibbs sampling", _posteriors),
    "listens": ("Last.fm: RMSE of logarithms of listening counts, a fifth held out", _errors),
    "lastfm": ("Last.fm: recommended artists, a fifth of the cells held out", _recommended),
    "citeulike": ("CiteULike-a: recommended articles, a fifth of the bookmarks held out", _recommended),
    "bbc": ("BBC news", _topics),
    "kos": ("KOS blog", _topics),
    "med": ("MED: retrieval by topics and terms", _retrieval),
    "cisi": ("CISI: retrieval by topics and terms", _retrieval),
    "cran": ("CRAN: retrieval by topics and terms", _retrieval),
    "labelled-words-bbc": ("BBC news: labels of documents with labelled words", _triangle),
    "labelled-words-newsgroups": ("20 newsgroups: labels of documents with labelled words", _triangle),
    "enron": ("Enron: labels of messages", _labels),
    "medical": ("Medical: labels of reports", _labels),
    "binary": ("Squared and logistic loss on binary matrices, mean of three seeds", _binary),
    "solvers": ("Epochs and processor time to one objective", _solvers),
    "sparse": ("MovieLens 100K: L1 penalty on the factors, mean of the folds", _sparse),
    "bibtex": ("Bibtex: tags of bookmarks", _labels),
}
ABOUT = "Settings are selected within the training sets. Intervals are 95 %. Times include the selection."
report = partial(sections, "Matrix methods (Bouchard and others, 2015)", ABOUT, SECTIONS)
