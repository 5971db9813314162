"""Factorization machines beside myFM: seconds of a draw and errors, on MovieLens 100K.

Set OPENBLAS_NUM_THREADS=1 and OMP_NUM_THREADS=1. Needs POLYADIC_DATA and `pip install myfm==0.4.0`; without it ours are
alone.
"""

import itertools
import statistics
from functools import partial

from scipy import sparse

from experiments.bench.common import alternate, installed
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
    return {"polyadic": ours} | ({"myFM": theirs} if installed("myfm") else {})


def tables(fold: str):
    return {"user, film": ratings(fold, attributes=False), "with attributes": ratings(fold, attributes=True)}


def draws(*, ranks: tuple[int, ...] = (8, 16), repeats: int = 5) -> None:
    """Seconds of a draw with one thread, ours and myFM's in turn: the difference of 5 and 45 draws."""
    ways = contenders()
    for (name, data), rank in itertools.product(tables("u1").items(), ranks):
        for way in ways.values():
            way(data, rank, 0, 1)
        runs = {(who, n): partial(way, data, rank, 0, n) for who, way in ways.items() for n in (5, 45)}
        times = alternate(runs, repeats)
        each = {who: (times[who, 45].seconds - times[who, 5].seconds) / 40 for who in ways}
        shown = "  ".join(f"{who} {1000 * seconds:.1f} ms" for who, seconds in each.items())
        print(f"{name}, rank {rank:>2}: a draw takes {shown}", flush=True)


def errors(*, folds: tuple[str, ...] = ("u1",), rank: int = 8, seeds: int = 3) -> None:
    """RMSE after as many draws (100 after 20), with the same groups of features, for each seed."""
    ways = contenders()
    for fold in folds:
        for (name, data), (who, way) in itertools.product(tables(fold).items(), ways.items()):
            predict = (way(data, rank, BURN_IN, DRAWS, seed) for seed in range(seeds))
            found = " ".join(f"{rmse(each(data.test), data.test_ratings):.4f}" for each in predict)
            print(f"{fold}, {name}, {who:>7}: {found}", flush=True)


def sweeps(*, ranks: tuple[int, ...] = (8, 16)) -> None:
    """Seconds of a sweep of each solver of point estimates, objective included."""
    for (name, data), rank in itertools.product(tables("u1").items(), ranks):
        shown = []
        for solver in ("als", "adagrad", "sgd"):
            model = FactorizationMachine(rank, solver=solver, max_iter=12, tol=0, seed=0, threads=1)
            seconds = model.fit(data.train, data.train_ratings).result_.seconds
            each = [b - a for a, b in itertools.pairwise(seconds[1:])]
            shown.append(f"{solver} {1000 * statistics.median(each):.1f} ms")
        print(f"{name}, rank {rank:>2}: a sweep takes " + "  ".join(shown), flush=True)


COMMANDS = draws, errors, sweeps
