"""Updates of fitted models beside new fits, coverage of prediction intervals, and recommendations for all people.

Set OPENBLAS_NUM_THREADS=1. Needs POLYADIC_DATA. One thread, processor time.
"""

import copy
import os
import warnings
from functools import partial
from pathlib import Path

import numpy as np

from experiments.bench.common import alternate, heading, peak, row, timed
from polyadic import (
    BayesianFactorization,
    BayesianMatrixFactorization,
    CollectiveFactorization,
    ImplicitFactorization,
    MatrixFactorization,
    Relation,
    TableCompletion,
    VariationalFactorization,
)
from polyadic.completion.cells import ObservedEntries, split_cells
from polyadic.completion.named_cells import NamedCells, read_cells
from polyadic.completion.recommending import best_columns
from polyadic.metrics.figures import conformal_radius
from polyadic.metrics.recommendation import recommendation

DATA = Path(os.environ.get("POLYADIC_DATA", "data")) / "ratings"
METHODS = "als", "bayesian"
PEOPLE, DAYS, SPLITS, REPEATS = 500, 60, 10, 3
RATED = {
    "als": MatrixFactorization(20, ridge=11.0, count_power=0.25, bias_ridge=5.0, seed=0, threads=1),
    "bayesian": BayesianMatrixFactorization(10, seed=0, threads=1),
}
WARM = {"als": 1, "bayesian": 100, "implicit": 1}
OF_TABLES = {
    "als": CollectiveFactorization(10, seed=0, threads=1),
    "variational": VariationalFactorization(10, seed=0, threads=1),
    "gibbs": BayesianFactorization(10, seed=0, threads=1),
}
HEARD = ImplicitFactorization(64, alpha=2.0, seed=0, threads=1)


def numbers(names):
    """Return names as numbers, by their first occurrence."""
    known = {}
    return np.array([known.setdefault(name, len(known)) for name in names])


def movielens():
    """Return people, films, stars and seconds in the order of time; people and films numbered by first occurrence."""
    table = np.loadtxt(DATA / "ml-100k" / "u.data")
    table = table[np.argsort(table[:, 3], kind="stable")]
    return numbers(table[:, 0]), numbers(table[:, 1]), table[:, 2], table[:, 3]


def lastfm():
    table = np.loadtxt(DATA / "lastfm-2k" / "user_artists.dat", skiprows=1)
    return numbers(table[:, 0]), numbers(table[:, 1]), np.log1p(table[:, 2])


def cells(i, j, x, shape=None):
    order = np.lexsort((j, i))
    return ObservedEntries(i[order], j[order], x[order], shape or (int(i.max()) + 1, int(j.max()) + 1))


def rmse(model, i, j, x):
    return float(np.sqrt(np.mean((model.predict(i, j) - x) ** 2)))


def people(*, seeds: int = 3) -> None:
    """500 people held out of MovieLens and of Last.fm (NDCG@20), folded in, beside a fit with them.

    Four fifths of what each did fold them in, a fifth is the test part.
    """
    heading("set", "model", "folded in", "and swept", "fitted with them", "ms a person", "s of the fit")
    for name in ("als", "bayesian", "implicit"):
        rows = []
        for seed in range(seeds):
            i, j, x = lastfm() if name == "implicit" else movielens()[:3]
            model = copy.deepcopy(HEARD if name == "implicit" else RATED[name])
            out = np.random.default_rng(seed).permutation(i.max() + 1)
            rank = np.argsort(out)  # those held out come last
            i, first = rank[i], int(i.max()) + 1 - PEOPLE
            whole = cells(i, j, x)
            kept = whole.at(np.flatnonzero(whole.rows < first))
            theirs, judged = split_cells(whole.at(np.flatnonzero(whole.rows >= first)), 0.2, seed=seed)
            both = [
                np.concatenate([getattr(one, side) for one in (kept, theirs)]) for side in ("rows", "columns", "values")
            ]
            known = cells(*both, whole.shape)
            before = ObservedEntries(kept.rows, kept.columns, kept.values, (first, whole.shape[1]))
            model.fit(before)
            _, seconds, fitted = timed(partial(copy.deepcopy(model).fit, known))
            swept = copy.deepcopy(model).update(known, sweeps=WARM[name])
            _, folding, model = timed(partial(model.update, known, sweeps=0))
            errors = []
            for one in (model, swept, fitted):
                if name == "implicit":
                    named = one.recommend(np.arange(whole.shape[0]), 20, without=known).columns
                    errors.append(float(np.nanmean(recommendation(named, judged.rows, judged.columns).ndcg)))
                else:
                    errors.append(rmse(one, judged.rows, judged.columns, judged.values))
            rows.append((*errors, 1000 * folding / PEOPLE, seconds))
        a, w, b, ms, s = np.mean(rows, axis=0)
        measured = "Last.fm, NDCG@20" if name == "implicit" else "MovieLens, RMSE"
        row(measured, name, f"{a:.4f}", f"{w:.4f}", f"{b:.4f}", f"{ms:.3f}", f"{s:.2f}")


def days() -> None:
    """MovieLens by its time stamps: each of the last days is predicted, then learned, with and without updates."""
    i, j, x, at = movielens()
    day = ((at - at[0]) // 86400).astype(int)
    last = np.unique(day)[-DAYS:]
    begin = int(np.searchsorted(day, last[0]))
    ways = {"never": None, "folded in": 0, "one sweep": 1, "three sweeps": 3, "fitted anew": "fit"}
    start = copy.deepcopy(RATED["als"]).fit(cells(i[:begin], j[:begin], x[:begin]))
    models = {way: copy.deepcopy(start) for way in ways}
    squares, seconds, away = ({way: [] for way in ways} for _ in range(3))
    for today in last:
        low, high = np.searchsorted(day, [today, today + 1])
        known = cells(i[:high], j[:high], x[:high])
        for way, how in ways.items():
            model = models[way]
            sizes = len(model.row_factors_), len(model.column_factors_)
            inside = (i[low:high] < len(start.row_factors_) if way == "never" else i[low:high] < sizes[0]) & (
                j[low:high] < sizes[1]
            )
            a, b = i[low:high][inside], j[low:high][inside]
            for person, film, stars in zip(a, b, x[low:high][inside], strict=True):
                squares[way].append((today, person, film, (model.predict([person], [film])[0] - stars) ** 2))
            if how is None:
                continue
            if how == "fit":
                _, cost, models[way] = timed(partial(copy.deepcopy(RATED["als"]).fit, known))
            else:
                cost = timed(partial(model.update, known, sweeps=how)).processor
            seconds[way].append(cost)
        fitted = models["fitted anew"].predict(known.rows, known.columns)
        for way, how in ways.items():
            if how is not None:
                away[way].append(np.sqrt(np.mean((models[way].predict(known.rows, known.columns) - fitted) ** 2)))
    common = {row[:3] for row in squares["never"]}
    other = copy.deepcopy(RATED["als"]).set_params(seed=1).fit(known)
    floor = np.sqrt(np.mean((other.predict(known.rows, known.columns) - fitted) ** 2))
    print(f"{len(last)} days, {len(x) - begin:,} ratings after {begin:,}; fits from two starts are {floor:.4f} apart\n")
    heading(
        "model", "RMSE of all it could predict", "of names known at first", "ratings", "ms a day", "distance at last"
    )
    for way in ways:
        every = np.sqrt(np.mean([row[3] for row in squares[way]]))
        same = np.sqrt(np.mean([row[3] for row in squares[way] if row[:3] in common]))
        cost = f"{1000 * np.median(seconds[way]):.0f}" if seconds[way] else ""
        distance = f"{away[way][-1]:.4f}" if away[way] else ""
        row(way, f"{every:.4f}", f"{same:.4f}", f"{len(squares[way]):,}", cost, distance)


def intervals(tables: tuple[Path, ...] = ()) -> None:
    """Coverage of 90 % prediction intervals on MovieLens and on further tables, over ten divisions."""
    warnings.simplefilter("ignore")  # columns that no training part has
    heading(
        "set",
        "method",
        "covered at .9, mean (least, most)",
        "width",
        "columns of fewer than 10 cells",
        "of others",
        "tenth of rows least covered",
    )
    i, j, x = movielens()[:3]
    sets = {"MovieLens 100K": cells(i, j, x), **{table.stem: read_cells(table).cells for table in tables}}
    for name, known in sets.items():
        for method in (*METHODS, "als, one width"):
            rows = []
            for seed in range(SPLITS):
                train, test = split_cells(known, 0.2, seed=seed)
                low, high = (one_width if "," in method else by_method)(method, train, test, seed)
                inside = (low <= test.values) & (test.values <= high)
                few = np.bincount(train.columns, minlength=known.shape[1])[test.columns] < 10
                number = np.bincount(test.rows)
                shares = np.bincount(test.rows, inside)[number >= 20] / number[number >= 20]
                rows.append(
                    (
                        inside.mean(),
                        (high - low).mean(),
                        inside[few].mean() if few.any() else np.nan,
                        inside[~few].mean(),
                        np.quantile(shares, 0.1) if len(shares) else np.nan,
                    )
                )
            rows = np.array(rows)
            m = rows.mean(axis=0)
            spread = f"{m[0]:.3f} ({rows[:, 0].min():.3f}, {rows[:, 0].max():.3f})"
            row(name, method, spread, f"{m[1]:.2f}", *(f"{share:.3f}" for share in m[2:]))


def by_method(method, train, test, seed):
    """Return the intervals of a method."""
    named = NamedCells(train, [*range(train.shape[0])], [*range(train.shape[1])], valued=True)
    model = TableCompletion(method, hold_out=0.1, choose=False, seed=seed, threads=1).fit(named)
    return model.predict_interval(test.rows.tolist(), test.columns.tolist())


def one_width(_method, train, test, seed):
    """Return intervals of least squares that are as wide for all cells, but for the ends of the scale."""
    kept, out = split_cells(train, 0.1, seed=seed)
    before, model = (MatrixFactorization(seed=seed, threads=1).fit(part) for part in (kept, train))
    width = conformal_radius(np.sort(np.abs(before.predict(out.rows, out.columns) - out.values)), 0.9)
    mean = model.predict(test.rows, test.columns)
    return (np.clip(mean + sign * width, train.values.min(), train.values.max()) for sign in (-1, 1))


def described():
    """Return the ratings of MovieLens, the genres of its films, and age, sex and occupation of its people, by name."""
    folder = DATA / "ml-100k"
    table = np.loadtxt(folder / "u.data", dtype=int)
    films = [line.split("|") for line in (folder / "u.item").read_text("latin1").splitlines()]
    folk = [line.split("|") for line in (folder / "u.user").read_text("latin1").splitlines()]
    kinds = [(int(film[0]), f"genre {k}") for film in films for k, has in enumerate(film[5:]) if has == "1"]
    traits = [(int(one[0]), trait) for one in folk for trait in (one[3], one[2], f"aged {int(one[1]) // 10}0")]
    return {
        "ratings": dict(zip(("user", "film", "stars"), table[:, :3].T, strict=True)),
        "kinds": dict(zip(("film", "genre"), map(np.array, zip(*kinds, strict=True)), strict=True)),
        "traits": dict(zip(("user", "trait"), map(np.array, zip(*traits, strict=True)), strict=True)),
    }


def related(data):
    """Return the relation of each frame."""
    truths = {"loss": "logistic", "unobserved": "zero"}
    return {
        "ratings": Relation(data["ratings"], ("user", "film"), value="stars"),
        "kinds": Relation(data["kinds"], ("film", "genre"), **truths),
        "traits": Relation(data["traits"], ("user", "trait"), **truths),
    }


def where(frame, which):
    return {column: values[which] for column, values in frame.items()}


def tables() -> None:
    """New films or people of MovieLens, added from their attributes alone and with half of their ratings.

    Models of all tables, beside fits with the new entities. Errors are means over entities, each with its ratings.
    """
    data, rng = described(), np.random.default_rng(0)
    heading("new", "model", "how", "attributes alone", "with half of their ratings", "s", "s of a fit")
    for new, beside in (("film", "kinds"), ("user", "traits")):
        ids = np.unique(data["ratings"][new])
        absent = rng.permutation(ids)[: len(ids) // 10]
        theirs = where(data["ratings"], np.isin(data["ratings"][new], absent))
        old = {name: where(f, ~np.isin(f[new], absent)) if new in f else f for name, f in data.items()}
        order = rng.permutation(len(theirs["stars"]))
        theirs = where(theirs, order)
        known = rng.random(len(order)) < 0.5
        known[np.unique(theirs[new], return_index=True)[1]] = True  # one of each at least
        judged = where(theirs, ~known)
        added = {beside: where(data[beside], np.isin(data[beside][new], absent))}
        rated = added | {"ratings": where(theirs, known)}
        _, at, count = np.unique(judged[new], return_inverse=True, return_counts=True)

        def error(predicted, judged=judged, at=at, count=count):
            return f"{np.sqrt(np.mean(np.bincount(at, (predicted - judged['stars']) ** 2) / count)):.4f}"

        other = "user" if new == "film" else "film"
        names, number = np.unique(old["ratings"][other], return_inverse=True)
        means = dict(zip(names, np.bincount(number, old["ratings"]["stars"]) / np.bincount(number), strict=True))
        overall = old["ratings"]["stars"].mean()
        row(
            new,
            f"mean of each {other}",
            "",
            error(np.array([means.get(o, overall) for o in judged[other]])),
            "",
            "",
            "",
        )
        for name, model in OF_TABLES.items():
            _, seconds, fitted = timed(partial(copy.deepcopy(model).fit, related(old)))
            folded, cost = [], []
            for news in (added, rated):
                _, s, more = timed(partial(copy.deepcopy(fitted).update, news))
                folded.append(error(more.predict("ratings", judged)))
                cost.append(f"{s:.2f}")
            whole = []
            for news in (added, rated):
                both = {
                    key: {c: np.concatenate([v, news[key][c]]) for c, v in f.items()} if key in news else f
                    for key, f in old.items()
                }
                whole.append(error(copy.deepcopy(model).fit(related(both)).predict("ratings", judged)))
            row(new, name, "folded in", *folded, ", ".join(cost), "")
            row(new, name, "fitted with them", *whole, "", f"{seconds:.1f}")


def top(*, threads: int = 1) -> None:
    """The best 10 columns for all people, ours and implicit's in turn (`pip install implicit==0.7.3`)."""
    from implicit.cpu.topk import topk
    from scipy.sparse import csr_matrix

    rng = np.random.default_rng(0)
    heading("people, columns, rank", "ours, people a second", "implicit", "ratio", "same columns", "peak, MB")
    for people, columns, rank in (
        (1_892, 17_632, 64),
        (20_000, 17_632, 64),
        (60_000, 26_000, 64),
        (20_000, 100_000, 128),
    ):
        U, V = (rng.standard_normal((n, rank), dtype=np.float32) for n in (people, columns))
        i = np.repeat(np.arange(people), 50)
        keys = np.unique(i * columns + rng.integers(0, columns, len(i)))
        known = cells(keys // columns, keys % columns, np.ones(len(keys)), (people, columns))
        listed = csr_matrix((known.values.astype(np.float32), (known.rows, known.columns)), shape=known.shape)
        ours = partial(best_columns, U, V, 10, without=known)
        theirs = partial(topk, V, U, 10, filter_query_items=listed, num_threads=threads)
        best, other = alternate({"ours": ours, "theirs": theirs}, REPEATS).values()
        a, b = best.processor, other.processor
        same = (np.sort(best.result.columns) == np.sort(other.result[0])).mean()
        sizes = f"{people:,}, {columns:,}, {rank}"
        row(sizes, f"{people / a:,.0f}", f"{people / b:,.0f}", f"{b / a:.2f}", f"{same:.4f}", f"{peak():.0f}")


def items() -> None:
    """Recommendations for 500 new people given by their items, ours and implicit's with the same factors of columns."""
    from implicit.cpu.als import AlternatingLeastSquares
    from scipy.sparse import csr_matrix

    warnings.simplefilter("ignore")  # people and columns without cells
    heading("set", "largest difference of scores", "same ten columns, %", "ours, ms a person", "implicit, ms a person")
    i, j, x = movielens()[:3]
    sets = {"MovieLens, 4 and 5 stars": cells(i[x > 3], j[x > 3], x[x > 3]), "Last.fm": cells(*lastfm())}
    for name, known in sets.items():
        first = known.shape[0] - PEOPLE
        old, new = known.take(np.arange(first)), known.take(np.arange(first, known.shape[0]))
        model = copy.deepcopy(HEARD).fit(old)
        V, scale = model.column_factors_, model.alpha / model.mean_
        other = AlternatingLeastSquares(V.shape[1], regularization=(1 + model.alpha) * model.ridge, num_threads=1)
        other.item_factors, other.user_factors = V, np.zeros((PEOPLE, V.shape[1]), V.dtype)
        confidence = csr_matrix((1 + scale * new.values, (new.rows, new.columns)), shape=new.shape)
        theirs = partial(other.recommend, np.arange(PEOPLE), confidence, N=10, recalculate_user=True)

        def ours(model=model, new=new):
            return model.fold_in(new).recommend(np.arange(PEOPLE), without=new)

        best, peer = alternate({"ours": ours, "theirs": theirs}, REPEATS).values()
        judged = best.result.columns[:, 0] >= 0  # the others like only columns that nobody else does
        same = np.mean(np.sort(best.result.columns[judged]) == np.sort(peer.result[0][judged]))
        apart = np.abs(best.result.scores - peer.result[1])[judged].max()
        ms, other_ms = (1000 * each.processor / PEOPLE for each in (best, peer))
        row(f"{name} ({judged.sum()} people)", f"{apart:.1e}", f"{100 * same:.2f}", f"{ms:.3f}", f"{other_ms:.3f}")


COMMANDS = people, days, intervals, tables, top, items
