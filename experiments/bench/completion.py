"""Completion beside other libraries: seconds and errors.

    OPENBLAS_NUM_THREADS=1 python -m experiments.bench.completion implicit [--ranks 32 64 128] [--threads 1]
    [--repeats 5] OPENBLAS_NUM_THREADS=1 python -m experiments.bench.completion ratings [--folds u1 u2 u3 u4 u5]
    OPENBLAS_NUM_THREADS=1 python -m experiments.bench.completion steps [--ranks 32 128] [--repeats 3]
    OPENBLAS_NUM_THREADS=1 python -m experiments.bench.completion bayesian [--ranks 10 32] [--repeats 3]

POLYADIC_DATA names the folder of test sets. Needs `pip install implicit==0.7.3 scikit-surprise==1.1.5 smurff==1.1
cmfrec==3.5.1`; who is not installed is left out.

implicit: medians of seconds of ten passes, ours and implicit's in turn, by conjugate gradients and exactly, on Last.fm,
CiteULike-a and drawn counts; then recall and NDCG of the first 20 columns for a fifth of the cells held out, the
penalty of each library chosen on a tenth of the others.

steps: pairwise ranking and logistic factorization beside implicit's: settings of each chosen on a tenth, then seconds
of a fit with one thread and two, recall and NDCG of the first 20 columns for a fifth held out.

ratings: root mean squared errors on MovieLens 100K. What is chosen is chosen on a tenth of the training part of each
fold.

bayesian: seconds of a draw with one thread, ours and smurff's in turn.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import importlib.util
import io
import itertools
import statistics
import time
import warnings

import numpy as np
from scipy import sparse

from experiments.data.ratings import citeulike, lastfm, movielens, movielens_fold
from polyadic.completion.bayesian import BayesianMatrixFactorization
from polyadic.completion.cells import ObservedEntries, cells_of, positive_cells, split_cells
from polyadic.completion.factorization import MatrixFactorization
from polyadic.completion.implicit import ImplicitFactorization
from polyadic.completion.logistic import LogisticFactorization
from polyadic.completion.pairwise_ranking import PairwiseRanking
from polyadic.completion.penalty_path import rmse
from polyadic.core.selection import select
from polyadic.metrics.recommendation import recommendation

ALPHA = 10.0
PASSES = 10
RIDGES = (1.0, 10.0, 100.0)


def installed(name: str) -> bool:
    if importlib.util.find_spec(name) is None:
        print(f"{name} is not installed")
        return False
    return True


# ---- implicit feedback


def counts() -> dict[str, sparse.csr_array]:
    """Give the matrices: listens as logarithms, articles kept, and drawn counts of a long tail."""
    heard, kept = lastfm().listens, citeulike().kept
    rng = np.random.default_rng(0)
    rows, columns = (
        rng.permutation(size)[(size ** rng.random(2_000_000)).astype(int) - 1] for size in (50_000, 20_000)
    )
    drawn = sparse.csr_array((np.ones(len(rows)), (rows, columns)), shape=(50_000, 20_000))
    drawn.sum_duplicates()
    drawn.data = np.log1p(drawn.data)
    listens = heard.to_coo().tocsr()
    listens.data = np.log1p(listens.data)
    return {"Last.fm": listens, "CiteULike-a": kept.to_coo().tocsr(), "drawn": drawn}


def ours(x, rank: int, ridge: float, *, threads: int, steps: int | None = 3, passes: int = PASSES):
    alpha = ALPHA * x.data.mean()
    how = {
        "alpha": alpha,
        "ridge": ridge / (1 + alpha),
        "steps": steps,
        "max_iter": passes,
        "tol": 0,
        "seed": 0,
        "threads": threads,
    }
    return ImplicitFactorization(rank, **how).fit(x)


def theirs(x, rank: int, ridge: float, *, threads: int, steps: int | None = 3, passes: int = PASSES):
    from implicit.cpu.als import AlternatingLeastSquares

    confidence = sparse.csr_matrix(x, dtype=np.float32)
    confidence.data = 1 + np.float32(ALPHA) * confidence.data
    how = {"iterations": passes, "num_threads": threads, "random_state": 0, "use_cg": steps is not None}
    model = AlternatingLeastSquares(factors=rank, regularization=ridge, **how)
    model.fit(confidence, show_progress=False)
    return model


def named(model, x, rows) -> np.ndarray:
    if hasattr(model, "column_factors_"):
        return model.recommend(rows, 20, without=x).columns
    return model.recommend(rows, sparse.csr_matrix(x)[rows], N=20)[0]


def quality(model, train: ObservedEntries, held: ObservedEntries) -> tuple[float, float]:
    found = recommendation(named(model, matrix(train).tocsr(), np.arange(train.shape[0])), held.rows, held.columns)
    return float(np.nanmean(found.recall)), float(np.nanmean(found.ndcg))


def implicit(options: argparse.Namespace) -> None:
    fits = {"polyadic": ours} | ({"implicit": theirs} if installed("implicit") else {})
    for name, x in counts().items():
        print(f"\n{name}: {x.shape[0]:,} x {x.shape[1]:,}, {x.nnz:,} listed, {options.threads} threads")
        for rank in options.ranks:
            for steps in (3, None):
                if steps is None and (rank > 64 or name == "drawn"):
                    continue
                seconds: dict[str, list[float]] = {who: [] for who in fits}
                for fit in fits.values():
                    fit(x, rank, 10.0, threads=options.threads, steps=steps, passes=1)
                for _ in range(options.repeats):
                    for who, fit in fits.items():
                        start = time.perf_counter()
                        fit(x, rank, 10.0, threads=options.threads, steps=steps)
                        seconds[who].append(time.perf_counter() - start)
                medians = {who: statistics.median(each) / PASSES for who, each in seconds.items()}
                way = "exact" if steps is None else f"{steps} steps"
                shown = "  ".join(f"{who} {median:.4f} s" for who, median in medians.items())
                ratio = medians["polyadic"] / medians.get("implicit", np.nan)
                print(f"  rank {rank:>3}, {way}: a pass takes {shown}; ratio {ratio:.2f}", flush=True)
        if name != "drawn":
            judge(x, fits, options)


def judge(x, fits, options: argparse.Namespace) -> None:
    rest, test = split_cells(positive_cells(x), 0.2, seed=0)
    train, held = split_cells(rest, 0.1, seed=1)
    for rank in options.ranks:
        for who, fit in fits.items():

            def fitted(cells: ObservedEntries, ridge: float, *, fit=fit, rank=rank):
                return fit(matrix(cells).tocsr(), rank, ridge, threads=options.threads, passes=15)

            best = max(RIDGES, key=lambda ridge: quality(fitted(train, ridge), train, held)[1])
            recall, ndcg = quality(fitted(rest, best), rest, test)
            print(f"  rank {rank:>3}, {who:<8} ridge {best:>5g}: recall {recall:.4f}, NDCG {ndcg:.4f}", flush=True)


# ---- pairs and labels by stochastic steps


def steppers() -> dict:
    """Give what makes a model of a matrix of ones, by name: of rank, settings and threads; and its settings."""
    penalties = {"ridge": (0.003, 0.01, 0.03, 0.1)}
    makers = {
        "polyadic pairs": (
            lambda x, rank, threads, **how: PairwiseRanking(rank, seed=0, threads=threads, **how).fit(x),
            {**penalties, "max_iter": (30, 100)},
        ),
        "polyadic labels": (
            lambda x, rank, threads, **how: LogisticFactorization(
                rank, n_negatives=10, seed=0, threads=threads, tol=0, **how
            ).fit(x),
            {"ridge": (0.3, 1.0, 3.0, 10.0), "max_iter": (10, 30)},
        ),
    }
    if installed("implicit"):
        from implicit.cpu.bpr import BayesianPersonalizedRanking
        from implicit.cpu.lmf import LogisticMatrixFactorization

        def of_implicit(kind):
            def fit(x, rank, threads, **how):
                model = kind(factors=rank, num_threads=threads, random_state=0, **how)
                model.fit(sparse.csr_matrix(x, dtype=np.float32), show_progress=False)
                return model

            return fit

        makers["implicit pairs"] = (
            of_implicit(BayesianPersonalizedRanking),
            {"regularization": penalties["ridge"], "iterations": (100, 300), "learning_rate": (0.01, 0.05)},
        )
        makers["implicit labels"] = (
            of_implicit(LogisticMatrixFactorization),
            {"regularization": (0.3, 1.0, 3.0, 10.0), "iterations": (30, 100), "learning_rate": (0.3, 1.0)},
        )
    return makers


def steps(options: argparse.Namespace) -> None:
    for name, x in counts().items():
        cells = positive_cells(x)
        rest, test = split_cells(cells, 0.2, seed=0)
        train, held = split_cells(rest, 0.1, seed=1)
        given = {which: matrix(part).tocsr() for which, part in (("train", train), ("rest", rest))}
        for part in given.values():
            part.data[:] = 1
        for rank in options.ranks:
            for who, (fit, grid) in steppers().items():
                settings = [dict(zip(grid, values, strict=True)) for values in itertools.product(*grid.values())]
                best = settings[len(settings) // 2]
                if name != "drawn":
                    of = [
                        quality(fit(given["train"], rank, options.threads, **how), train, held)[1] for how in settings
                    ]
                    best = settings[int(np.argmax(of))]
                shown = []
                for threads in (1, 2):
                    spent = []
                    for _ in range(options.repeats):
                        start = time.perf_counter(), time.process_time()
                        model = fit(given["rest"], rank, threads, **best)
                        spent.append((time.perf_counter() - start[0], time.process_time() - start[1]))
                    shown.append("{:.2f} s, {:.2f} of the processor".format(*np.median(spent, axis=0)))
                recall, ndcg = quality(model, rest, test) if name != "drawn" else (np.nan, np.nan)
                print(
                    f"{name}, rank {rank}, {who}: {best}, one thread {shown[0]}, two {shown[1]};"
                    f" recall {recall:.4f}, NDCG {ndcg:.4f}",
                    flush=True,
                )


# ---- ratings


def matrix(cells: ObservedEntries) -> sparse.coo_matrix:
    return sparse.coo_matrix((cells.values, (cells.rows, cells.columns)), shape=cells.shape)


class Surprise:
    """SVD or baselines of surprise; the penalty of SVD is chosen."""

    def __init__(self, model) -> None:
        self.model = model

    def fit(self, cells: ObservedEntries):
        import pandas as pd
        from surprise import Dataset, Reader

        rows, columns, values, _ = dataclasses.astuple(cells)
        frame = pd.DataFrame({"user": rows, "item": columns, "rating": values})
        self.model.fit(Dataset.load_from_df(frame, Reader(rating_scale=(1, 5))).build_full_trainset())
        return self

    def predict(self, rows, columns) -> np.ndarray:
        return np.array([self.model.predict(*pair).est for pair in zip(rows.tolist(), columns.tolist(), strict=True)])


class Cmfrec:
    """Alternating least squares of cmfrec."""

    def __init__(self, **how) -> None:
        self.how = how

    def fit(self, cells: ObservedEntries):
        from cmfrec import CMF

        self.model = CMF(method="als", nthreads=1, verbose=False, random_state=0, **self.how).fit(matrix(cells))
        return self

    def predict(self, rows, columns) -> np.ndarray:
        return np.asarray(self.model.predict(rows.astype(np.int32), columns.astype(np.int32)))


class Smurff:
    """Bayesian factorization of smurff, the noise adapted; it predicts a test set given beforehand."""

    def __init__(self, rank: int, burn_in: int, draws: int) -> None:
        self.rank, self.burn_in, self.draws = rank, burn_in, draws

    def errors(self, train: ObservedEntries, test: ObservedEntries) -> float:
        import smurff

        how = {"num_latent": self.rank, "burnin": self.burn_in, "nsamples": self.draws}
        centre = float(np.mean(train.values))
        with contextlib.redirect_stderr(io.StringIO()):
            session = smurff.TrainSession(priors=["normal", "normal"], num_threads=1, verbose=0, seed=1, **how)
            session.addTrainAndTest(matrix(train.less(centre)), matrix(test.less(centre)), smurff.AdaptiveNoise())
            found = session.run()
        return float(np.sqrt(np.mean([(one.pred_avg - one.val) ** 2 for one in found])))


def chosen_among(make, values, train: ObservedEntries):
    """Choose a setting of another library as ours are chosen."""
    kept, held = split_cells(train, 0.1, seed=1)
    best = min(values, key=lambda value: rmse(make(value).fit(kept), held))
    return make(best).fit(train)


def rivals() -> dict:
    """Give what makes a fitted model of cells, by name."""
    found = {
        "polyadic biases": lambda cells: MatrixFactorization(0, threads=1).fit(cells),
        "polyadic ALS": lambda cells: MatrixFactorization(seed=0, threads=1).fit(cells),
        "polyadic ALS, chosen": lambda cells: select(MatrixFactorization(seed=0, threads=1), cells, seed=1),
        "polyadic Bayesian rank 10": lambda cells: BayesianMatrixFactorization(10, seed=0, threads=1).fit(cells),
        "polyadic Bayesian rank 32": lambda cells: BayesianMatrixFactorization(32, seed=0, threads=1).fit(cells),
    }
    if installed("surprise"):
        from surprise import SVD, BaselineOnly

        found["surprise baselines"] = lambda cells: Surprise(BaselineOnly(verbose=False)).fit(cells)
        found["surprise SVD"] = lambda cells: Surprise(SVD(random_state=0)).fit(cells)
        found["surprise SVD, 50 epochs, penalty chosen"] = lambda cells: chosen_among(
            lambda ridge: Surprise(SVD(n_epochs=50, reg_all=ridge, random_state=0)), (0.05, 0.08, 0.12), cells
        )
    if installed("cmfrec"):
        found["cmfrec rank 40"] = lambda cells: Cmfrec(k=40).fit(cells)
        found["cmfrec rank 40, penalty chosen"] = lambda cells: chosen_among(
            lambda ridge: Cmfrec(k=40, lambda_=ridge), (5.0, 7.5, 10.0, 15.0), cells
        )
    return found


def ratings(options: argparse.Namespace) -> None:
    table: dict[str, list[float]] = {}
    seconds: dict[str, float] = {}
    smurff = installed("smurff")
    for fold in options.folds:
        parts = movielens_fold(fold)
        train, test = cells_of(parts.train), cells_of(parts.test)
        for name, fit in rivals().items():
            start = time.perf_counter()
            model = fit(train)
            seconds[name] = seconds.get(name, 0.0) + time.perf_counter() - start
            table.setdefault(name, []).append(rmse(model, test))
            if name.endswith("ALS, chosen"):
                settings = {key: model.get_params()[key] for key in ("rank", "ridge", "bias_ridge", "count_power")}
                print(f"{fold}: chosen {settings}, {table[name][-1]:.4f}", flush=True)
        for rank in (10, 32) if smurff else ():
            start = time.perf_counter()
            table.setdefault(f"smurff rank {rank}", []).append(Smurff(rank, 20, 80).errors(train, test))
            seconds[f"smurff rank {rank}"] = seconds.get(f"smurff rank {rank}", 0.0) + time.perf_counter() - start
    print(f"\n{'':<42}" + "".join(f"{fold:>8}" for fold in options.folds) + "    mean  seconds")
    for name, errors in table.items():
        row = "".join(f"{error:8.4f}" for error in errors)
        print(f"{name:<42}{row}{np.mean(errors):8.4f}{seconds[name]:9.1f}")


def bayesian(options: argparse.Namespace) -> None:
    cells = cells_of(movielens().ratings)
    train, test = split_cells(cells, 0.1, seed=0)
    for rank in options.ranks:
        times: dict[str, list[float]] = {"polyadic": [], "smurff": []}
        ways = {
            "polyadic": lambda draws, rank=rank: BayesianMatrixFactorization(
                rank, burn_in=5, draws=draws, seed=0, threads=1
            ).fit(train),
            "smurff": lambda draws, rank=rank: Smurff(rank, 5, draws).errors(train, test),
        }
        if not installed("smurff"):
            del ways["smurff"]
        for way in ways.values():
            way(1)
        for _ in range(options.repeats):
            for who, way in ways.items():
                ends = []
                for draws in (5, 45):
                    start = time.perf_counter()
                    way(draws)
                    ends.append(time.perf_counter() - start)
                times[who].append((ends[1] - ends[0]) / 40)
        shown = "  ".join(f"{who} {1000 * statistics.median(each):.1f} ms" for who, each in times.items() if each)
        print(f"rank {rank:>3}: a draw takes {shown}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["implicit", "steps", "ratings", "bayesian"])
    parser.add_argument("--ranks", type=int, nargs="+", default=[32, 64, 128])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--folds", nargs="+", default=["u1", "u2", "u3", "u4", "u5"])
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    {"implicit": implicit, "steps": steps, "ratings": ratings, "bayesian": bayesian}[options.what](options)


if __name__ == "__main__":
    main()
