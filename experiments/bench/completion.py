"""Completion beside other libraries: seconds and errors.

Set OPENBLAS_NUM_THREADS=1. Needs POLYADIC_DATA and `pip install implicit==0.7.3 scikit-surprise==1.1.5 smurff==1.1
cmfrec==3.5.1`; packages that are not installed are left out.
"""

import contextlib
import dataclasses
import io
import itertools
import warnings
from functools import partial

import numpy as np
from scipy import sparse
from sklearn.metrics import roc_auc_score

from experiments.bench.common import alternate, installed, timed
from experiments.data.ratings import citeulike, lastfm, movielens, movielens_fold
from polyadic.completion.bayesian import BayesianMatrixFactorization
from polyadic.completion.cells import ObservedEntries, cells_of, positive_cells, rmse, split_cells
from polyadic.completion.factorization import MatrixFactorization
from polyadic.completion.implicit import ImplicitFactorization
from polyadic.completion.logistic import LogisticFactorization
from polyadic.completion.pairwise_ranking import PairwiseRanking
from polyadic.core.kernels import absent_columns
from polyadic.core.selection import select
from polyadic.metrics.figures import Figure, difference
from polyadic.metrics.recommendation import recommendation

ALPHA = 10.0
PASSES = 10
RIDGES = (1.0, 10.0, 100.0)


# ---- implicit feedback


def counts() -> dict[str, sparse.csr_array]:
    """Return the matrices: logarithms of listens, bookmarks, and drawn counts with a long tail."""
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


def implicit(*, ranks: tuple[int, ...] = (32, 64, 128), threads: int = 1, repeats: int = 5) -> None:
    """Implicit feedback: seconds of a pass, recall and NDCG, beside implicit.

    Medians of seconds of ten passes, in turn, by conjugate gradients and exactly, on Last.fm, CiteULike-a and drawn
    counts; then recall and NDCG of the first 20 columns for a fifth of the cells, the penalty of each library selected
    on a tenth of the others.
    """
    warnings.simplefilter("ignore")
    fits = {"polyadic": ours} | ({"implicit": theirs} if installed("implicit") else {})
    for name, x in counts().items():
        print(f"\n{name}: {x.shape[0]:,} x {x.shape[1]:,}, {x.nnz:,} listed, {threads} threads")
        for rank, steps in itertools.product(ranks, (3, None)):
            if steps is None and (rank > 64 or name == "drawn"):
                continue
            how = {"threads": threads, "steps": steps}
            for fit in fits.values():
                fit(x, rank, 10.0, passes=1, **how)
            timings = alternate({who: partial(fit, x, rank, 10.0, **how) for who, fit in fits.items()}, repeats)
            medians = {who: timing.seconds / PASSES for who, timing in timings.items()}
            way = "exact" if steps is None else f"{steps} steps"
            shown = "  ".join(f"{who} {median:.4f} s" for who, median in medians.items())
            ratio = medians["polyadic"] / medians.get("implicit", np.nan)
            print(f"  rank {rank:>3}, {way}: a pass takes {shown}; ratio {ratio:.2f}", flush=True)
        if name != "drawn":
            for rank, (who, fit) in itertools.product(ranks, fits.items()):
                judge(x, who, partial(fit, threads=threads, passes=15), rank)


def judge(x, who: str, fit, rank: int) -> None:
    rest, test = split_cells(positive_cells(x), 0.2, seed=0)
    train, held = split_cells(rest, 0.1, seed=1)

    def judged(cells: ObservedEntries, ridge: float, others: ObservedEntries) -> tuple[float, float]:
        return quality(fit(matrix(cells).tocsr(), rank, ridge), cells, others)

    best = max(RIDGES, key=lambda ridge: judged(train, ridge, held)[1])
    recall, ndcg = judged(rest, best, test)
    print(f"  rank {rank:>3}, {who:<8} ridge {best:>5g}: recall {recall:.4f}, NDCG {ndcg:.4f}", flush=True)


# ---- pairs and labels by stochastic steps


def steppers() -> dict:
    """Return functions that fit a matrix of ones, with their grids of settings, by name."""
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


def steps(*, ranks: tuple[int, ...] = (32, 64, 128), repeats: int = 5) -> None:
    """Pairwise ranking and logistic factorization beside implicit's.

    Settings of each are selected on a tenth, then come seconds of a fit with one thread and two, and recall and NDCG of
    the first 20 columns for a fifth held out.
    """
    warnings.simplefilter("ignore")
    for name, x in counts().items():
        rest, test = split_cells(positive_cells(x), 0.2, seed=0)
        train, held = split_cells(rest, 0.1, seed=1)
        given = {which: matrix(part).tocsr() for which, part in (("train", train), ("rest", rest))}
        for part in given.values():
            part.data[:] = 1
        for rank, (who, (fit, grid)) in itertools.product(ranks, steppers().items()):
            settings = [dict(zip(grid, values, strict=True)) for values in itertools.product(*grid.values())]
            best = settings[len(settings) // 2]
            if name != "drawn":
                of = [quality(fit(given["train"], rank, 1, **how), train, held)[1] for how in settings]
                best = settings[int(np.argmax(of))]
            shown = []
            for threads in (1, 2):
                run = {who: partial(fit, given["rest"], rank, threads, **best)}
                clock, processor, model = alternate(run, repeats)[who]
                shown.append(f"{clock:.2f} s, {processor:.2f} of the processor")
            recall, ndcg = quality(model, rest, test) if name != "drawn" else (np.nan, np.nan)
            print(f"{name}, rank {rank}, {who}: {best}, one thread {shown[0]}, two {shown[1]};"
                  f" recall {recall:.4f}, NDCG {ndcg:.4f}", flush=True)  # fmt: skip


def axes(*, rank: int = 32, passes: int = 30) -> None:
    """Pairwise ranking with unobserved cells of the same row, the same column or anywhere.

    NDCG of the first 20 columns of a row for a fifth held out, and area under the ROC curve over held-out and sampled
    unobserved cells of all rows together; the penalty is selected by NDCG on a tenth of the others. Paired bootstrap
    intervals over rows.
    """
    warnings.simplefilter("ignore")
    for name, x in {"MovieLens": movielens().ratings.to_coo().tocsr(), "Last.fm": counts()["Last.fm"]}.items():
        rest, test = split_cells(positive_cells(x), 0.2, seed=0)
        train, held = split_cells(rest, 0.1, seed=1)
        rng = np.random.default_rng(0)
        rows, listed = np.repeat(test.rows, 5), positive_cells(x)
        false = absent_columns(listed.starts, listed.columns, rows, number=x.shape[1], rng=rng)
        found: dict[str, Figure] = {}
        for axis in ("row", "column", "all"):
            how = {"sampling_axis": axis, "max_iter": passes, "seed": 0, "threads": 1}
            fits = [PairwiseRanking(rank, ridge=ridge, **how).fit(train) for ridge in (0.001, 0.003, 0.01, 0.03)]
            best = max(fits, key=lambda model: quality(model, train, held)[1]).ridge
            model = PairwiseRanking(rank, ridge=best, **how).fit(rest)
            every = np.arange(x.shape[0])
            ndcg = recommendation(model.recommend(every, 20, without=rest).columns, test.rows, test.columns).ndcg
            ndcg = ndcg[~np.isnan(ndcg)]
            units = np.column_stack([ndcg, np.ones(len(ndcg))])
            found[axis] = Figure(axis, units, used=len(ndcg), total=len(ndcg))
            scores = model.predict(test.rows, test.columns), model.predict(rows, false)
            truth = np.repeat([1, 0], [len(scores[0]), len(scores[1])])
            area = roc_auc_score(truth, np.concatenate(scores))
            low, high = found[axis].interval()
            print(f"{name}, {axis}: ridge {best:g}, NDCG {found[axis].value:.4f} ({low:.4f} to {high:.4f}),"
                  f" AUC over all rows {area:.4f}", flush=True)  # fmt: skip
        for a, b in (("all", "row"), ("all", "column"), ("column", "row")):
            value, low, high = difference(found[a], found[b])
            print(f"{name}, NDCG of {a} minus {b}: {value:.4f} ({low:.4f} to {high:.4f})")


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
    """Select a setting of another library as ours are selected."""
    kept, held = split_cells(train, 0.1, seed=1)
    best = min(values, key=lambda value: rmse(make(value).fit(kept), held))
    return make(best).fit(train)


def rivals() -> dict:
    """Return functions that fit a model to cells, by name."""
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


def ratings(*, folds: tuple[str, ...] = ("u1", "u2", "u3", "u4", "u5")) -> None:
    """RMSE on MovieLens 100K; settings are selected on a tenth of the training part of each fold."""
    warnings.simplefilter("ignore")
    table: dict[str, list[float]] = {}
    spent: dict[str, float] = {}
    for fold in folds:
        parts = movielens_fold(fold)
        train, test = cells_of(parts.train), cells_of(parts.test)
        methods = {name: partial(fit_and_judge, fit, train, test) for name, fit in rivals().items()}
        if installed("smurff"):
            methods |= {f"smurff rank {rank}": partial(Smurff(rank, 20, 80).errors, train, test) for rank in (10, 32)}
        for name, method in methods.items():
            seconds, _, error = timed(method)
            spent[name] = spent.get(name, 0.0) + seconds
            table.setdefault(name, []).append(error)
    print(f"\n{'':<42}" + "".join(f"{fold:>8}" for fold in folds) + "    mean  seconds")
    for name, errors in table.items():
        row = "".join(f"{error:8.4f}" for error in errors)
        print(f"{name:<42}{row}{np.mean(errors):8.4f}{spent[name]:9.1f}")


def fit_and_judge(fit, train: ObservedEntries, test: ObservedEntries) -> float:
    return rmse(fit(train), test)


def bayesian(*, ranks: tuple[int, ...] = (32, 64, 128), repeats: int = 5) -> None:
    """Seconds of a draw of Bayesian factorization with one thread, ours and smurff's in turn."""
    train, test = split_cells(cells_of(movielens().ratings), 0.1, seed=0)

    def ours(rank: int, draws: int) -> None:
        BayesianMatrixFactorization(rank, burn_in=5, draws=draws, seed=0, threads=1).fit(train)

    ways = {"polyadic": ours}
    if installed("smurff"):
        ways["smurff"] = lambda rank, draws: Smurff(rank, 5, draws).errors(train, test)
    for rank in ranks:
        for way in ways.values():
            way(rank, 1)
        runs = {(who, draws): partial(way, rank, draws) for who, way in ways.items() for draws in (5, 45)}
        times = alternate(runs, repeats)
        each = {who: (times[who, 45].seconds - times[who, 5].seconds) / 40 for who in ways}
        shown = "  ".join(f"{who} {1000 * seconds:.1f} ms" for who, seconds in each.items())
        print(f"rank {rank:>3}: a draw takes {shown}", flush=True)


COMMANDS = implicit, steps, axes, ratings, bayesian
