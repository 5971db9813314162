"""The report of a run: ``report.md`` with tables, and the picture of stochastic gradients."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from polyadic.errors import MissingExtraError
from polyadic.metrics.figures import Figure, difference
from polyadic.plots.completion import descent
from polyadic.suites.markdown import share, table

if TYPE_CHECKING:
    from pathlib import Path

    from polyadic.suites.store import Facts

TITLES = {
    "ratings": "MovieLens 100K: root mean squared error, predictions cut to 1 to 5",
    "listens": "Last.fm: root mean squared error of the logarithm of listens, a fifth held out",
    "lastfm": "Last.fm: artists recommended, a fifth of the listens held out",
    "citeulike": "CiteULike-a: articles recommended, a fifth of the bookmarks held out",
    "bbc": "BBC news",
    "kos": "KOS blog",
    "enron": "Enron: labels of messages",
    "medical": "Medical: labels of reports",
}


def report(facts: Facts) -> str:
    """Write the tables."""
    lines = ["# Matrix methods (Bouchard and others, 2015)", ""]
    lines += ["Settings are chosen within training parts; intervals are 95 %. Seconds hold the choice of settings.", ""]
    if "demonstrations" in facts:
        lines += _demonstrations(facts["demonstrations"])
    for parts, write in (
        (("ratings", "listens"), _errors),
        (("lastfm", "citeulike"), _recommended),
        (("bbc", "kos"), _topics),
        (("enron", "medical"), _labels),
    ):
        for part in parts:
            if part in facts:
                lines += [f"## {TITLES[part]}", "", *write(facts[part]), ""]
    return "\n".join(lines)


def draw(facts: Facts, out: Path) -> None:
    """Draw how stochastic gradients come near the truncated SVD, where matplotlib is installed."""
    if "demonstrations" not in facts:
        return
    shown = facts["demonstrations"]
    try:
        ax = descent(shown["histories"], shown["optimum"])
    except MissingExtraError:
        return
    ax.figure.savefig(out / "descent.png", dpi=150)


def _demonstrations(facts: Facts) -> list[str]:
    last = {name: errors[-1] / facts["optimum"] - 1 for name, errors in facts["histories"].items()}
    lines = ["## Stochastic gradients and the truncated SVD", ""]
    lines += table(["", "squared error above the optimum"], [[name, f"{value:.1e}"] for name, value in last.items()])
    lines += ["", "## Wrong signs of 900", ""]
    rows = [[one["matrix"], one["rank"], one["svd"], one["logistic"]] for one in facts["signs"]]
    return [*lines, *table(["ones on or above the", "rank", "SVD", "logistic"], rows), ""]


def _errors(folds: Facts) -> list[str]:
    names = [one["name"] for one in next(iter(folds.values()))]
    rows = []
    for k, name in enumerate(names):
        errors = [methods[k]["rmse"] for methods in folds.values()]
        seconds = np.mean([methods[k]["seconds"] for methods in folds.values()])
        cells = [f"{error:.4f}".lstrip("0") for error in (*errors, float(np.mean(errors)))]
        rows.append([name, *cells, f"{seconds:.1f}"])
    return table(["", *folds, "mean", "seconds"], rows)


def _recommended(methods: list[Facts]) -> list[str]:
    def figure(one: Facts, key: str) -> Figure:
        values = np.array(one[key])
        return Figure(key, np.column_stack([values, np.ones(len(values))]), used=len(values), total=len(values))

    rows = []
    for one in methods:
        cells = []
        for key in ("recall", "ndcg"):
            gain = difference(figure(one, key), figure(methods[0], key))
            more = f" ({share(gain.low)} to {share(gain.high)} more)" if one is not methods[0] else ""
            cells.append(share(figure(one, key).value) + more)
        chosen = ", ".join(f"{key.replace('_', ' ')} {one[key]:g}" for key in ("zero_weight", "ridge", "weight"))
        rows.append([one["name"], *cells, chosen, f"{one['seconds']:.0f}"])
    return table(["", "recall at 20", "NDCG at 20", "chosen", "seconds"], rows)


def _topics(methods: list[Facts]) -> list[str]:
    rows = []
    for one in methods:
        shares = [share(one[key]) for key in ("npmi", "c_v", "diversity")]
        zeros = [share(one[key]) for key in ("zeros_of_words", "zeros_of_documents", "nmi")]
        rows.append([one["name"], *shares, f"{one['perplexity']:.0f}", *zeros, f"{one['seconds']:.1f}"])
    heads = [
        "",
        "NPMI",
        "C_V",
        "diversity",
        "perplexity",
        "zeros, words",
        "zeros, documents",
        "NMI with groups",
        "seconds",
    ]
    lines = table(heads, rows)
    for one in methods:
        lines += ["", f"{one['name']}: " + "; ".join(one["topics"][:5])]
    return lines


def _labels(shares: Facts) -> list[str]:
    rows = []
    for hidden, methods in shares.items():
        for one in methods:
            figures = [share(one[key]) for key in ("f1", "ap", "macro_ap")]
            rows.append([hidden, one["name"], *figures, one["chosen"], f"{one['seconds']:.0f}"])
    heads = ["features hidden", "", "micro-F1", "micro-AP", "macro-AP", "chosen", "seconds"]
    return table(heads, rows)
