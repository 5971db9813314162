"""Convex factorization: relations in a cycle, outliers, tensors with unknown elements, and several views."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from sklearn.cross_decomposition import CCA

from polyadic.completion.convex_collective import ConvexCollective, RelationMatrix
from polyadic.completion.trace_norm import TraceNormCompletion, choose_penalty
from polyadic.completion.trace_norm_sums import ConvexCCA, TraceNormSum
from polyadic.core.entries import Entries
from polyadic.core.forms import CP
from polyadic.core.losses import Logistic, Squared
from polyadic.core.objective import Objective, Term
from polyadic.core.penalties import L2
from polyadic.core.solvers.quasi_newton import quasi_newton
from polyadic.core.solvers.run import run
from polyadic.metrics.figures import Figure, difference
from polyadic.words.tucker import Tucker

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from experiments.data.ratings import Fold
    from polyadic.core.stage_cache import Facts

    Array = NDArray[np.float64]

Relaxation = Literal["positive", "symmetric"]
RELAXED: tuple[Relaxation, ...] = ("positive", "symmetric")
CYCLE = [("a", "b"), ("b", "c"), ("c", "a")]
SIZES = {"a": 24, "b": 20, "c": 16}
PENALTIES = 0.1, 0.3, 1.0, 3.0
"""Penalties to select from on held-out elements; those of matrices are larger by a factor of three."""
SHAPE, TENSOR_RANK, NOISE = (20, 18, 16), 3, 0.1
SHARES = 0.1, 0.2, 0.3, 0.5, 0.7
CORRUPTED = 0.05
OUTLIER_PENALTIES = 1.0, 1.5, 2.0


def cycle(*, seed: int, runs: int) -> Facts:
    """Fit both relaxations to a cycle of relations: an example worked by hand, and planted factors with unknown cells.

    ``signs`` are planted with factors of which each relation has its own sign of each component, so that no common
    factors exist; ``shared`` without.
    """
    x = np.array([[-1.0, 1.0], [1.0, -1.0]])
    by_hand = []
    for relaxation in RELAXED:
        model = ConvexCollective(0.05, relaxation=relaxation, tol=1e-9, max_iter=20000)
        model.fit([RelationMatrix(*kinds, x) for kinds in CYCLE])
        ends = np.linalg.eigvalsh(model.matrix_.toarray())
        by_hand.append({"relaxation": relaxation, "objective": model.history_[-1], "lowest": float(ends[0])})
    planted = []
    for truth in ("shared", "signs"):
        errors: dict[str, list[float]] = {
            relaxation: [_cycle_error(relaxation, truth, seed + k) for k in range(runs)] for relaxation in RELAXED
        }
        planted.append({"truth": truth, **errors, "gain": _gain(errors["symmetric"], errors["positive"])})
    return {"by_hand": by_hand, "planted": planted}


def _cycle_error(relaxation: Relaxation, truth: str, seed: int) -> float:
    rng = np.random.default_rng(seed)
    factors = {kind: rng.standard_normal((size, 3)) for kind, size in SIZES.items()}
    relations, hidden = [], []
    for r, c in CYCLE:
        signs = rng.choice([-1.0, 1.0], 3) if truth == "signs" else np.ones(3)
        x = (factors[r] * signs) @ factors[c].T + 0.3 * rng.standard_normal((SIZES[r], SIZES[c]))
        known = rng.random(x.shape) < 0.3
        relations.append(RelationMatrix(r, c, np.where(known, x, np.nan)))
        hidden.append(np.where(known, np.nan, x))

    def error(penalty: float, given: list[RelationMatrix], sought: list[Array]) -> float:
        model = ConvexCollective(penalty, relaxation=relaxation).fit(given)
        total, size = 0.0, 0.0
        for k, x in enumerate(sought):
            i, j = np.nonzero(~np.isnan(x))
            total += float(((model.predict(k, i, j) - x[i, j]) ** 2).sum())
            size += float((x[i, j] ** 2).sum())
        return (total / size) ** 0.5

    out = [rng.random(relation.X.shape) < 0.1 for relation in relations]
    train = [r._replace(X=np.where(o, np.nan, r.X)) for r, o in zip(relations, out, strict=True)]
    tried = [np.where(o, r.X, np.nan) for r, o in zip(relations, out, strict=True)]
    best = min(PENALTIES, key=lambda penalty: error(penalty, train, tried))
    return error(best, relations, hidden)


def planted_outliers(*, seed: int, runs: int) -> list[Facts]:
    """Find gross errors, or flipped labels, in a noisy matrix of low rank with a fifth of the cells unknown."""
    rows = []
    for name, loss, penalty, outlying in (("squared", Squared(), 2.0, 0.9), ("logistic", Logistic(), 3.0, 0.7)):
        figures: dict[str, list[float]] = {"precision": [], "recall": [], "with outliers": [], "without": []}
        for k in range(runs):
            rng = np.random.default_rng(seed + k)
            x = 2 * rng.standard_normal((60, 2)) @ rng.standard_normal((2, 50))
            wrong = (rng.random(x.shape) < CORRUPTED) & (np.abs(x) > 2)
            values = x + 0.2 * rng.standard_normal(x.shape) + wrong * rng.choice([-8.0, 8.0], x.shape)
            values = values if name == "squared" else ((x > 0) ^ wrong).astype(float)
            known = np.where(rng.random(x.shape) < 0.8, values, np.nan)
            i, j = np.nonzero(np.isnan(known))
            robust = TraceNormCompletion(penalty, loss=loss, outlier_penalty=outlying).fit(known)
            plain = TraceNormCompletion(penalty, loss=loss).fit(known)
            found, planted = robust.outliers_.toarray() != 0, wrong & ~np.isnan(known)
            figures["precision"].append(float((found & planted).sum() / max(found.sum(), 1)))
            figures["recall"].append(float((found & planted).sum() / planted.sum()))
            for key, model in (("with outliers", robust), ("without", plain)):
                correlation = np.corrcoef(model.predict(i, j), x[i, j])[0, 1]
                figures[key].append(float(correlation))
        rows.append({"loss": name, **figures, "gain": _gain(figures["with outliers"], figures["without"])})
    return rows


def corrupted_ratings(fold: Fold, *, share: float, seed: int) -> list[Facts]:
    """Complete ratings of which a share was reversed (6 - x) before, with and without outliers."""
    rng, X = np.random.default_rng(seed), fold.train
    at = rng.random(len(X)) < share
    at &= X.values != 3  # the middle of the scale is its own reverse
    values = np.where(at, 6 - X.values, X.values)
    given = Entries(X.indices, values, X.shape, unobserved="missing")
    cells = np.zeros(X.shape, bool)
    cells[tuple(np.asarray(X.indices)[at].T)] = True
    i, j = np.asarray(fold.test.indices, np.int64).T
    rows, losses = [], []
    for outlying in (None, *OUTLIER_PENALTIES):
        model = TraceNormCompletion(offsets="biases", bias_ridge=5.0, outlier_penalty=outlying)
        model.set_params(penalty=choose_penalty(model, given, seed=seed).best).fit(given)
        squares = (np.clip(model.predict(i, j), 1, 5) - fold.test.values) ** 2
        losses.append(Figure("error", np.column_stack([squares, np.ones(len(squares))]), len(squares), len(squares)))
        row: Facts = {"name": "no outliers" if outlying is None else f"outlier penalty {outlying:g}"}
        row |= {"rmse": float(squares.mean() ** 0.5), "penalty": model.penalty, "rank": model.rank_}
        if outlying is not None:
            found = model.outliers_.toarray() != 0
            row |= {"found": int(found.sum()), "precision": float((found & cells).sum() / max(found.sum(), 1))}
            row |= {"recall": float((found & cells).sum() / max(cells.sum(), 1))}
            row["gain"] = difference(losses[-1], losses[0])._asdict()
        rows.append(row)
    return rows


def tensors(*, share: float, seed: int, runs: int) -> list[Facts]:
    """Complete planted Tucker tensors with noise by every method, settings selected on a tenth of the elements.

    Errors are relative Frobenius norms over unknown elements.
    """
    errors: dict[str, list[float]] = {name: [] for name in METHODS}
    for k in range(runs):
        rng = np.random.default_rng(seed + k)
        x = rng.standard_normal((TENSOR_RANK,) * 3)
        for mode, size in enumerate(SHAPE):
            factor = rng.standard_normal((size, TENSOR_RANK))
            x = np.moveaxis(np.tensordot(factor, x, (1, mode)), 0, mode)
        x /= x.std()
        y = x + NOISE * rng.standard_normal(SHAPE)
        known = rng.random(SHAPE) < share
        out = known & (rng.random(SHAPE) < 0.1)
        for name, (complete, settings) in METHODS.items():
            kept, best = np.where(known & ~out, y, np.nan), settings[0]
            if len(settings) > 1:
                best = settings[int(np.argmin([_relative(complete(kept, each), y, out) for each in settings]))]
            errors[name].append(_relative(complete(np.where(known, y, np.nan), best), x, ~known))
    return [
        {"name": name, "share": share, "errors": values, "gain": _gain(values, errors["overlapped trace norms"])}
        for name, values in errors.items()
    ]


def _relative(found: Array, x: Array, at: NDArray[np.bool_]) -> float:
    return float(np.linalg.norm((found - x)[at]) / np.linalg.norm(x[at]))


def _trace_norms(form: Any) -> Callable[[Array, float], Array]:
    def complete(known: Array, penalty: float) -> Array:
        return np.asarray(TraceNormSum(penalty, form=form, tol=1e-2).fit(known).array_)

    return complete


def _unfolding(known: Array, penalty: float) -> Array:
    flat = known.reshape(len(known), -1)
    return TraceNormCompletion(penalty, offsets="none", tol=1e-2).fit(flat).matrix_.toarray().reshape(known.shape)


def _cp(known: Array, rank: int) -> Array:
    at = ~np.isnan(known)
    x = Entries(np.argwhere(at), known[at], known.shape, unobserved="missing")
    objective = Objective([Term(x, CP(), Squared(), slots=(0, 1, 2))], [L2(0.1)] * 3)
    rng = np.random.default_rng(0)
    start = [0.5 * rng.standard_normal((size, rank)) for size in known.shape]
    factors = run(quasi_newton(objective, start), max_iter=300, tol=1e-5).factors
    return np.einsum("ir,jr,kr->ijk", *factors)


def _tucker(known: Array, rank: int) -> Array:
    """Fit a Tucker decomposition and fill in its predictions of unknown elements in turns."""
    at, indices = np.isnan(known), np.indices(known.shape).reshape(3, -1).T
    filled = np.where(at, 0.0, known)
    for _ in range(30):
        model = Tucker(rank, start="hosvd", max_iter=3, threads=1).fit(Entries(indices, filled.ravel(), known.shape))
        filled[at] = np.asarray(model.predict(indices), float).reshape(known.shape)[at]
    return np.asarray(model.predict(indices), float).reshape(known.shape)


METHODS: dict[str, tuple[Callable[[Array, Any], Array], Sequence[Any]]] = {
    "overlapped trace norms": (_trace_norms("overlapped"), PENALTIES),
    "latent trace norms": (_trace_norms("latent"), PENALTIES),
    "trace norm of one unfolding": (_unfolding, tuple(3 * penalty for penalty in PENALTIES)),
    "CP, rank selected": (_cp, (3, 6, 9, 12)),
    "Tucker, planted rank": (_tucker, (TENSOR_RANK,)),
}


def views(*, seed: int, runs: int) -> list[Facts]:
    """Recover scores shared by two views beside stronger parts of each view, with and without unknown cells.

    The measure is the share of the variance of the planted scores that is linear in two components of new rows.
    """
    rows = []
    for hidden in (0.0, 0.3):
        shares: dict[str, list[float]] = {"convex CCA": [], "classical CCA": [], "PCA of the joined views": []}
        for k in range(runs):
            rng = np.random.default_rng(seed + k)
            z, given = rng.standard_normal((160, 2)), []
            for size in (40, 30):
                own = 1.5 * rng.standard_normal((160, 3)) @ rng.standard_normal((3, size))
                x = z @ rng.standard_normal((2, size)) + own + 0.5 * rng.standard_normal((160, size))
                given.append(np.where(rng.random(x.shape) < hidden, np.nan, x))
            train, new = ([view[part] for view in given] for part in (slice(80), slice(80, None)))
            convex = ConvexCCA(_view_penalty(train, rng), tol=1e-3).fit(train)
            means = [np.nanmean(view, axis=0) for view in train]
            whole, later = (
                [np.where(np.isnan(view), mean, view) - mean for view, mean in zip(part, means, strict=True)]
                for part in (train, new)
            )
            _, _, V = np.linalg.svd(np.hstack(whole), full_matrices=False)
            scores = {
                "convex CCA": convex.transform(new)[:, :2],
                "classical CCA": sum(CCA(2, max_iter=5000, scale=False).fit(*whole).transform(*later)),
                "PCA of the joined views": np.hstack(later) @ V[:2].T,
            }
            for name, score in scores.items():
                shares[name].append(_explained(score, z[80:]))
        for name, values in shares.items():
            rows.append({"hidden": hidden, "name": name, "shares": values, "gain": _gain(values, shares["convex CCA"])})
    return rows


def _view_penalty(train: list[Array], rng: np.random.Generator) -> float:
    """Return the penalty with the lowest error on a tenth of the known cells, without new rows."""
    out = [rng.random(view.shape) < 0.1 for view in train]
    kept = [np.where(o, np.nan, view) for view, o in zip(train, out, strict=True)]

    def error(penalty: float) -> float:
        found = ConvexCCA(penalty, tol=1e-2).fit(kept).predict(kept)
        return float(sum(np.nansum((view - p)[o] ** 2) for view, p, o in zip(train, found, out, strict=True)))

    return min((3.0, 6.0, 12.0, 24.0), key=error)


def _explained(scores: Array, z: Array) -> float:
    scores, z = scores - scores.mean(axis=0), z - z.mean(axis=0)
    left = z - scores @ np.linalg.lstsq(scores, z, rcond=None)[0]
    return float(1 - (left**2).sum() / (z**2).sum())


def _gain(values: Sequence[float], others: Sequence[float]) -> Facts:
    """Return the mean difference over runs, with a paired interval."""
    figures = [Figure("mean", np.column_stack([v, np.ones(len(v))]), len(v), len(v)) for v in (values, others)]
    return dict(difference(*figures)._asdict())
