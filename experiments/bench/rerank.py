"""Candidates per second of rerankers, in training and in the choice, on drawn lists.

Features of a candidate follow a power law, costs follow hidden weights. Seconds are of one core; set
OPENBLAS_NUM_THREADS=1.
"""

import statistics
from functools import partial
from itertools import product

import numpy as np
from scipy.sparse import csr_array

from experiments.bench.common import alternate, timed
from polyadic import QueryGroups
from polyadic.ranking.passive_aggressive import Linear, Multilinear, passive_aggressive
from polyadic.ranking.tensor_mira import initial_factors, mode_sizes, places


def made(features: int, lists: int, candidates: int, nonzeros: int, rng: np.random.Generator) -> QueryGroups:
    """Return drawn lists."""
    n = lists * candidates
    columns = (features * rng.random((n, nonzeros)) ** 3).astype(np.int32)
    X = csr_array((np.ones(columns.size), columns.ravel(), np.arange(n + 1) * nonzeros), shape=(n, features))
    X.sum_duplicates()
    s = (X @ rng.standard_normal(features)).reshape(lists, candidates)
    costs = s.max(axis=1, keepdims=True) - s
    return QueryGroups(X, (costs / costs.max()).ravel(), np.arange(lists + 1) * candidates)


def main(
    *,
    features: int = 1_000_000,
    lists: int = 2000,
    candidates: int = 50,
    nonzeros: tuple[int, ...] = (60, 150, 300),
    repeats: int = 3,
) -> None:
    for number in nonzeros:
        groups = made(features, lists, candidates, number, np.random.default_rng(0))
        makers = {
            "perceptron": lambda: Linear(features),
            "MIRA": lambda: Linear(features, C=0.1, augmented=True),
            "MIRA, 5 best": lambda: Linear(features, C=0.1, augmented=True, best=5),
        }
        for (D, H), updates in product(((2, 1), (2, 2), (3, 2)), ("random", "joint")):
            makers[f"T-MIRA, order {D}, rank {H}, {updates}"] = partial(tensor, features, D, H, updates)
        for name, make in makers.items():
            rates = []
            for _ in range(repeats):
                solver = passive_aggressive([groups], make())
                next(solver)
                next(solver)
                rates.append(len(groups.costs) / timed(lambda: next(solver)).processor)  # noqa: B023
            print(f"{number:4} nonzeros  {name:34} {statistics.median(rates):12,.0f} candidates/s in an epoch")
        choice = {"choice": lambda: groups.choice(groups.features @ np.ones(features))}  # noqa: B023
        rate = len(groups.costs) / alternate(choice, repeats)["choice"].processor
        print(f"{number:4} nonzeros  {'choice, any model':34} {rate:12,.0f} candidates/s")


def tensor(V: int, D: int, H: int, updates: str) -> Multilinear:
    """Return a learner in random cells, which are hardest on the cache."""
    sizes = mode_sizes(V, D)
    rng = np.random.default_rng(0)
    return Multilinear(
        initial_factors("signs", sizes, H, rng), places("random", V, sizes, seed=0), C=0.1, updates=updates, rng=rng
    )
