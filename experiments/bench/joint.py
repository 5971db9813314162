"""How joint models (JCP-S, JCP-SN) depend on start, order weights, zero weight and penalty, on a development set.

POLYADIC_DATA=... python -m experiments.bench.joint CORPUS --rank 300 [--only "JCP-SN" ...]

Pairs seen twice and triples seen five times share one factor. Outlier detection uses every second group of WikiSem500
(the other half is kept for reports), similarity is the mean Spearman correlation over the sets of the data folder.
Each setting is one run, looked at after some sweeps; the objective is relative to that of its start. Prints rows of a
Markdown table.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np
from defaults import scores

from polyadic import L2, PPMISVD, Corpus, Embedding, NonNegative, SymmetricCP, count, ppmi

MARKS = (5, 10, 20, 40, 80)
SETTINGS: dict[str, dict[str, Any]] = {
    "JCP-S, eigenvectors": {"penalty": L2(), "start": np.asarray, "sweeps": 20},
    "JCP-S, eigenvectors, zero weight 1": {"penalty": L2(), "start": np.asarray, "zero_weight": 1.0, "sweeps": 20},
    "JCP-S, eigenvectors, ridge 100": {"penalty": L2(100.0), "start": np.asarray, "sweeps": 20},
    "JCP-S, eigenvectors, order weights .1, 1": {
        "penalty": L2(),
        "start": np.asarray,
        "order_weights": (0.1, 1.0),
        "sweeps": 20,
    },
    "JCP-SN": {},
    "JCP-SN, zero weight 1": {"zero_weight": 1.0},
    "JCP-SN, start |eigenvectors|": {"start": np.abs},
    "JCP-SN, start eigenvectors, negative ones zero": {"start": lambda V: np.maximum(V, 0)},
    "JCP-SN, order weights .1, 1": {"order_weights": (0.1, 1.0)},
    "JCP-SN, order weights 10, 1": {"order_weights": (10.0, 1.0)},
    "JCP-SN, l1 10": {"penalty": NonNegative(10.0)},
    "JCP-SN, l1 100": {"penalty": NonNegative(100.0)},
    "CP-SN of pairs": {"orders": (2,)},
    "CP-SN of triples": {"orders": (3,)},
    "CP-S of triples, eigenvectors": {"penalty": L2(), "start": np.asarray, "orders": (3,), "sweeps": 20},
    "CP-S of pairs, eigenvectors": {"penalty": L2(), "start": np.asarray, "orders": (2,), "sweeps": 20},
}


class Looks:
    """Prints a row after the sweeps of ``MARKS``; its own time is not counted."""

    def __init__(self, name: str, words: tuple[str, ...]) -> None:
        self.name, self.words, self.looking, self.began = name, words, 0.0, time.perf_counter()

    def __call__(self, result: Any) -> None:
        if result.n_iter not in MARKS:
            return
        at = time.perf_counter()
        (U,) = result.factors
        facts = f"{at - self.began - self.looking:.0f} | {result.history[-1] / result.history[0]:.3f}"
        zeros = f"{np.mean(U == 0):.2f}"
        print(f"| {self.name} | {result.n_iter} | {facts} | {zeros} | {scores(Embedding(self.words, U))} |", flush=True)
        self.looking += time.perf_counter() - at


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--rank", type=int, default=300)
    parser.add_argument("--threads", type=int, default=None)
    parser.add_argument("--only", nargs="*", choices=list(SETTINGS), default=list(SETTINGS))
    options = parser.parse_args()
    corpus = Corpus.open(options.corpus)
    words = corpus.vocabulary.words
    tensors = {order: ppmi(count(corpus, order=order, width=10, min_count=n)) for order, n in ((2, 2), (3, 5))}
    eigenvectors = PPMISVD(options.rank, seed=0).fit(tensors[2]).vectors_
    columns = "sweeps | seconds | objective | zeros | OD2 OPP | OD2 acc | OD3 OPP | OD3 acc | similarity"
    print(f"| setting | {columns} |\n{'|---' * 10}|")
    print(f"| the eigenvectors (PPMI-SVD) | | | | 0.00 | {scores(Embedding(words, eigenvectors))} |", flush=True)
    for name in options.only:
        setting = {
            "zero_weight": 0.1,
            "zero_power": 0.0,
            "penalty": NonNegative(),
            "orders": (2, 3),
            "sweeps": MARKS[-1],
        } | SETTINGS[name]
        lists = [tensors[order] for order in setting.pop("orders")]
        if "start" in setting:
            setting["start"] = setting["start"](eigenvectors)
        how = {"max_iter": setting.pop("sweeps"), "tol": 0, "seed": 0, "threads": options.threads}
        SymmetricCP(options.rank, callback=Looks(name, words), **how, **setting).fit(lists)


if __name__ == "__main__":
    main()
