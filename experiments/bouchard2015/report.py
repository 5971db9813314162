"""The report: a table for each part, and the figure of stochastic gradients."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

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


def _certain(figure: Facts | None) -> str:
    """Return a difference with its interval, with four digits."""
    return "{value:+.4f} ({low:+.4f} to {high:+.4f})".format(**figure) if figure else ""


def _posteriors(methods: list[Facts]) -> list[str]:
    return tabulate(POSTERIORS, methods)


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


POSTERIORS: list[Column] = [
    *(("method", "name"), ("RMSE ↓", "rmse", ".4f"), ("difference (95 % interval)", "rmse_difference", _certain)),
    *(("MAE ↓", "mae", ".4f"), ("log probability ↑", "log", ".4f")),
    ("difference (95 % interval)", "log_difference", _certain),
    *(("coverage of 90 % intervals", "coverage", share), ("effective samples per CPU second ↑", "rate", ".2f")),
    *(("effective samples", "samples", ".0f"), ("CPU time, s ↓", "seconds", ".1f")),
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
    "posteriors": ("MovieLens 100K: predictive distributions, differences from Gibbs sampling", _posteriors),
    "subset": ("A subset of MovieLens 100K: predictive distributions, differences from Gibbs sampling", _posteriors),
    "listens": ("Last.fm: RMSE of logarithms of listening counts, a fifth held out", _errors),
    "lastfm": ("Last.fm: recommended artists, a fifth of the cells held out", _recommended),
    "citeulike": ("CiteULike-a: recommended articles, a fifth of the bookmarks held out", _recommended),
    "bbc": ("BBC news", _topics),
    "kos": ("KOS blog", _topics),
    "enron": ("Enron: labels of messages", _labels),
    "medical": ("Medical: labels of reports", _labels),
    "bibtex": ("Bibtex: tags of bookmarks", _labels),
}
ABOUT = "Settings are selected within the training sets. Intervals are 95 %. Times include the selection."
report = partial(sections, "Matrix methods (Bouchard and others, 2015)", ABOUT, SECTIONS)
