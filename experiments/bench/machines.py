"""Factorization machines beside myFM: seconds of a draw and errors, on MovieLens 100K.

    OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 python -m experiments.bench.machines draws [--ranks 8 16] [--repeats 5]
    OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 python -m experiments.bench.machines errors [--folds u1] [--seeds 3]
    OPENBLAS_NUM_THREADS=1 python -m experiments.bench.machines sweeps [--ranks 8 16]

POLYADIC_DATA names the folder of test sets. Needs `pip install myfm==0.4.0`; without it ours are alone.

draws: medians of seconds of a draw with one thread, ours and myFM's in turn: the difference of 5 and 45 draws.

errors: root mean squared errors of as many draws (100 after 20), with the same groups of features, for each seed.

sweeps: seconds of a sweep of each solver of one best set of parameters, objective included.
"""

from __future__ import annotations

import argparse
import importlib.util
import statistics
import time
import warnings
from itertools import pairwise

from scipy import sparse

from experiments.predictors.machines import Ratings, ratings, rmse
from polyadic.supervised.factorization_machines import FactorizationMachine
from polyadic.supervised.fm_gibbs import BayesianFactorizationMachine

BURN_IN, DRAWS = 20, 100


def ours(data: Ratings, rank: int, burn_in: int, draws: int, seed: int = 0):
    model = BayesianFactorizationMachine(rank, burn_in=burn_in, draws=draws, seed=seed, threads=1)
    model.fit(data.train, data.train_ratings, groups=data.groups)
    return model.predict


def theirs(data: Ratings, rank: int, burn_in: int, draws: int, seed: int = 0):
    import numpy as np
    from myfm import MyFMRegressor

    model = MyFMRegressor(rank=rank, random_seed=seed)
    shapes = np.bincount(data.groups).tolist()
    X = sparse.csr_matrix(data.train)
    how = {"n_iter": burn_in + draws, "n_kept_samples": draws, "group_shapes": shapes}
    model.fit(X, data.train_ratings, **how, callback=lambda *_: (False, ""))
    return lambda X: model.predict(sparse.csr_matrix(X))


def contenders():
    if importlib.util.find_spec("myfm") is None:
        print("myfm is not installed")
        return {"polyadic": ours}
    return {"polyadic": ours, "myFM": theirs}


def tables(fold: str):
    return {"user, film": ratings(fold, attributes=False), "with attributes": ratings(fold, attributes=True)}


def draws(options: argparse.Namespace) -> None:
    ways = contenders()
    for name, data in tables("u1").items():
        for rank in options.ranks:
            times: dict[str, list[float]] = {who: [] for who in ways}
            for way in ways.values():
                way(data, rank, 0, 1)
            for _ in range(options.repeats):
                for who, way in ways.items():
                    ends = []
                    for number in (5, 45):
                        start = time.perf_counter()
                        way(data, rank, 0, number)
                        ends.append(time.perf_counter() - start)
                    times[who].append((ends[1] - ends[0]) / 40)
            shown = "  ".join(f"{who} {1000 * statistics.median(each):.1f} ms" for who, each in times.items())
            print(f"{name}, rank {rank:>2}: a draw takes {shown}", flush=True)


def errors(options: argparse.Namespace) -> None:
    ways = contenders()
    for fold in options.folds:
        for name, data in tables(fold).items():
            for who, way in ways.items():
                found = [
                    rmse(way(data, options.ranks[0], BURN_IN, DRAWS, seed)(data.test), data.test_ratings)
                    for seed in range(options.seeds)
                ]
                print(f"{fold}, {name}, {who:>7}: " + " ".join(f"{one:.4f}" for one in found), flush=True)


def sweeps(options: argparse.Namespace) -> None:
    for name, data in tables("u1").items():
        for rank in options.ranks:
            shown = []
            for solver in ("als", "adagrad", "sgd"):
                model = FactorizationMachine(rank, solver=solver, max_iter=12, tol=0, seed=0, threads=1)
                seconds = model.fit(data.train, data.train_ratings).result_.seconds
                each = [b - a for a, b in pairwise(seconds[1:])]
                shown.append(f"{solver} {1000 * statistics.median(each):.1f} ms")
            print(f"{name}, rank {rank:>2}: a sweep takes " + "  ".join(shown), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["draws", "errors", "sweeps"])
    parser.add_argument("--ranks", type=int, nargs="+", default=[8, 16])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--folds", nargs="+", default=["u1"])
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    {"draws": draws, "errors": errors, "sweeps": sweeps}[options.what](options)


if __name__ == "__main__":
    main()
