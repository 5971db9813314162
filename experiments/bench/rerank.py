"""Rerankers: candidates per second, in training and in the choice, on lists made up.

    python -m experiments.bench.rerank [--features 1000000] [--lists 2000] [--candidates 50] [--nonzeros 60 150 300]

Features of a candidate are drawn by a power law, and costs follow hidden weights. Loops are compiled before. Seconds
are those of one core, so that neighbours count for little; set OPENBLAS_NUM_THREADS=1.
"""

import argparse
import statistics
import time

import numpy as np
from scipy.sparse import csr_array

from polyadic import QueryGroups
from polyadic.ranking.passive_aggressive import Linear, Multilinear, passive_aggressive
from polyadic.ranking.tensor_mira import mode_sizes, places, random_sign_factors


def made(features: int, lists: int, candidates: int, nonzeros: int, rng: np.random.Generator) -> QueryGroups:
    """Draw lists."""
    n = lists * candidates
    columns = (features * rng.random((n, nonzeros)) ** 3).astype(np.int32)
    X = csr_array((np.ones(columns.size), columns.ravel(), np.arange(n + 1) * nonzeros), shape=(n, features))
    X.sum_duplicates()
    s = (X @ rng.standard_normal(features)).reshape(lists, candidates)
    costs = s.max(axis=1, keepdims=True) - s
    return QueryGroups(X, (costs / costs.max()).ravel(), np.arange(lists + 1) * candidates)


def main() -> None:
    """Time two epochs of each learner, the first of which compiles."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--features", type=int, default=1_000_000)
    parser.add_argument("--lists", type=int, default=2000)
    parser.add_argument("--candidates", type=int, default=50)
    parser.add_argument("--nonzeros", type=int, nargs="*", default=[60, 150, 300])
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    V = options.features
    for nonzeros in options.nonzeros:
        rng = np.random.default_rng(0)
        groups = made(V, options.lists, options.candidates, nonzeros, rng)
        makers = {
            "perceptron": lambda: Linear(V),
            "MIRA": lambda: Linear(V, C=0.1, augmented=True),
            "MIRA, 5 best": lambda: Linear(V, C=0.1, augmented=True, best=5),
        }
        for D, H in ((2, 1), (2, 2), (3, 2)):
            for updates in ("random", "joint"):
                makers[f"T-MIRA, order {D}, rank {H}, {updates}"] = lambda D=D, H=H, updates=updates: tensor(
                    V, D, H, updates
                )
        for name, make in makers.items():
            rates = []
            for _ in range(options.repeats):
                solver = passive_aggressive([groups], make())
                next(solver)
                next(solver)
                start = time.process_time()
                next(solver)
                rates.append(len(groups.costs) / (time.process_time() - start))
            print(f"{nonzeros:4} nonzeros  {name:34} {statistics.median(rates):12,.0f} candidates/s in an epoch")
        w, rates = np.ones(V), []
        for _ in range(options.repeats):
            start = time.process_time()
            groups.choice(groups.features @ w)
            rates.append(len(groups.costs) / (time.process_time() - start))
        print(f"{nonzeros:4} nonzeros  {'choice, any model':34} {statistics.median(rates):12,.0f} candidates/s")


def tensor(V: int, D: int, H: int, updates: str) -> Multilinear:
    """Give a learner in random cells, which are hardest on the cache."""
    sizes = mode_sizes(V, D)
    rng = np.random.default_rng(0)
    return Multilinear(
        random_sign_factors(sizes, H, rng), places("random", V, sizes, seed=0), C=0.1, updates=updates, rng=rng
    )


if __name__ == "__main__":
    main()
