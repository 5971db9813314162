"""How the defaults of `polyadic train` were chosen: one setting changed at a time, on a development set.

POLYADIC_DATA=... python -m experiments.bench.defaults CORPUS --rank 100

Outlier detection uses every second group of WikiSem500 (the other half is kept for reports), similarity is the mean
Spearman correlation over the sets of the data folder. Prints rows of a Markdown table.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np

from polyadic import L2, PPMISVD, Corpus, Embedding, NonNegative, SymmetricCP, count, ppmi
from polyadic.datasets import outlier_groups, similarity_sets
from polyadic.metrics.outliers import outliers
from polyadic.metrics.similarity import similarity

STANDARD: dict[str, Any] = {
    "width": 10,
    "min_count": 2,
    "weights": "log",
    "zero_weight": 0.1,
    "zero_power": 0.0,
    "penalty": NonNegative(),
}
CHANGES: tuple[dict[str, Any], ...] = (
    {},
    {"penalty": L2()},
    {"penalty": NonNegative(1.0)},
    {"zero_weight": 0.01},
    {"zero_weight": 1.0},
    {"weights": "uniform"},
    {"weights": "count"},
    {"weights": (50.0, 0.75)},
    {"smoothing": 0.75},
    {"shift": 15.0},
    {"width": 5},
    {"width": 5, "min_count": 1},
    {"min_count": 3},
)


def scores(vectors: Embedding) -> str:
    development = outlier_groups("wikisem500")[::2]
    cells = []
    for order in (2, 3):
        found = outliers(vectors, development, order=order, resamples=2)
        cells += [f"{found.opp:.3f}", f"{found.accuracy:.3f}"]
    agreement = [similarity(vectors, pairs).spearman for pairs in similarity_sets().values()]
    return " | ".join([*cells, f"{np.nanmean(agreement):.3f}"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--rank", type=int, default=100)
    options = parser.parse_args()
    corpus = Corpus.open(options.corpus)
    words = corpus.vocabulary.words
    print("| setting | entries | seconds | sweeps | zeros | OD2 OPP | OD2 acc | OD3 OPP | OD3 acc | similarity |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    pairs = ppmi(count(corpus, order=2, width=5), smoothing=0.75)
    vectors = PPMISVD(options.rank).fit(pairs).embedding(words)
    print(f"| PPMI-SVD, span 5, smoothing .75 | {len(pairs):,} | | | | {scores(vectors)} |", flush=True)
    for change in CHANGES:
        setting = STANDARD | change
        tuples = count(corpus, order=3, width=setting.pop("width"), min_count=setting.pop("min_count"))
        weighting = {name: setting.pop(name) for name in ("weights", "smoothing", "shift") if name in setting}
        entries = ppmi(tuples, **weighting)
        start = time.perf_counter()
        model = SymmetricCP(options.rank, seed=0, **setting).fit(entries)
        seconds = time.perf_counter() - start
        name = ", ".join(f"{key} {value}" for key, value in change.items()) or "standard"
        zeros = float(np.mean(model.factors_[0] == 0))
        row = f"{name} | {len(entries):,} | {seconds:.0f} | {model.n_iter_} | {zeros:.2f}"
        print(f"| {row} | {scores(model.embedding(words))} |", flush=True)


if __name__ == "__main__":
    main()
