"""How the joint models (JCP-S, JCP-SN) depend on order weights, bound, zero weight and start, on a development set.

LOWRANK_DATA=... python bench/joint.py CORPUS --rank 100

Pairs and triples of the corpus share one factor. Outlier detection uses every second group of WikiSem500 (the other
half is kept for reports), similarity is the mean Spearman correlation over the sets of the data folder. ``fit`` is
1 - |X - M| / |X| over the listed cells of each order, weighted as in training. Prints rows of a Markdown table.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np
from defaults import scores

from lowrank import L2, PPMISVD, Corpus, NonNegative, SymmetricCP, count, ppmi

CHANGES: tuple[dict[str, Any], ...] = (
    {"orders": (2,)},
    {"orders": (3,)},
    {},
    {"order_weights": (10.0, 1.0)},
    {"order_weights": (0.1, 1.0)},
    {"penalty": L2()},
    {"penalty": L2(), "order_weights": (10.0, 1.0)},
    {"penalty": L2(), "order_weights": (0.1, 1.0)},
    {"penalty": L2(), "start": "eigenvectors"},
    {"start": "eigenvectors"},
    {"zero_weight": 0.01},
    {"zero_weight": 1.0},
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--rank", type=int, default=100)
    parser.add_argument("--threads", type=int, default=None)
    parser.add_argument("--only", type=int, nargs="*")
    options = parser.parse_args()
    corpus = Corpus.open(options.corpus)
    words = corpus.vocabulary.words
    tensors = {
        2: ppmi(count(corpus, order=2, width=10), weights="log"),
        3: ppmi(count(corpus, order=3, width=10, min_count=2), weights="log"),
    }
    eigenvectors = PPMISVD(options.rank, seed=0).fit(tensors[2]).vectors_
    columns = "entries | seconds | sweeps | zeros | fit | OD2 OPP | OD2 acc | OD3 OPP | OD3 acc | similarity"
    print(f"| setting | {columns} |\n{'|---' * 11}|", flush=True)
    for change in [CHANGES[k] for k in options.only] if options.only else CHANGES:
        setting = {"zero_weight": 0.1, "penalty": NonNegative(), "orders": (2, 3)} | change
        lists = [tensors[order] for order in setting.pop("orders")]
        if "start" in setting:
            setting["start"] = eigenvectors
        began = time.perf_counter()
        model = SymmetricCP(options.rank, seed=0, threads=options.threads, **setting).fit(lists)
        seconds = time.perf_counter() - began
        fits = [1 - np.sqrt(_squares(x, model.predict(x.indices)) / x.squares()) for x in lists]
        fit = " ".join(f"{value:.3f}" for value in fits)
        name = ", ".join(f"{key} {value}" for key, value in change.items()) or "standard: orders 2 and 3, non-negative"
        row = f"{name} | {sum(map(len, lists)):,} | {seconds:.0f} | {model.n_iter_}"
        zeros = float(np.mean(model.factors_[0] == 0))
        print(f"| {row} | {zeros:.2f} | {fit} | {scores(model.embedding(words))} |", flush=True)


def _squares(x: Any, m: Any) -> float:
    return float(np.sum(x.weights * (x.values - m).astype(float) ** 2))


if __name__ == "__main__":
    main()
