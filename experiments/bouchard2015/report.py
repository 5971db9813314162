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


def _recommended(methods: list[Facts]) -> list[str]:
    def figure(row: Facts, key: str) -> Figure:
        values = np.array(row[key])
        return Figure(key, np.column_stack([values, np.ones(len(values))]), used=len(values), total=len(values))

    rows = []
    for row in methods:
        cells = []
        for key in ("recall", "ndcg"):
            gain = difference(figure(row, key), figure(methods[0], key))
            more = f" ({share(gain.low)} to {share(gain.high)} more)" if row is not methods[0] else ""
            cells.append(share(figure(row, key).value) + more)
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
LABELS: list[Column] = [
    *(("features hidden", "hidden"), ("method", "name"), ("micro-F1 ↑", "f1", share), ("micro-AP ↑", "ap", share)),
    *(("macro-AP ↑", "macro_ap", share), ("gain in micro-AP ↑ (95 % interval)", "gain", certain)),
    *(("selected settings", "chosen"), ("time, s ↓", "seconds", ".0f")),
]
SECTIONS: dict[str, Section] = {
    "demonstrations": ("Stochastic gradients and the truncated SVD", _demonstrations),
    "ratings": ("MovieLens 100K: RMSE, predictions clipped to 1 to 5", _errors),
    "listens": ("Last.fm: RMSE of logarithms of listening counts, a fifth held out", _errors),
    "lastfm": ("Last.fm: recommended artists, a fifth of the cells held out", _recommended),
    "citeulike": ("CiteULike-a: recommended articles, a fifth of the bookmarks held out", _recommended),
    "bbc": ("BBC news", _topics),
    "kos": ("KOS blog", _topics),
    "enron": ("Enron: labels of messages", _labels),
    "medical": ("Medical: labels of reports", _labels),
    "binary": ("Squared and logistic loss on binary matrices, mean of three seeds", _binary),
    "solvers": ("Epochs and processor time to one objective", _solvers),
    "sparse": ("MovieLens 100K: L1 penalty on the factors, mean of the folds", _sparse),
    "bibtex": ("Bibtex: tags of bookmarks", _labels),
}
ABOUT = "Settings are selected within the training sets. Intervals are 95 %. Times include the selection."
report = partial(sections, "Matrix methods (Bouchard and others, 2015)", ABOUT, SECTIONS)
