"""Knowledge bases completed by tensors: forms side by side, the large sets, and RESCAL by its published protocol."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np

from experiments.data.knowledge import Knowledge, knowledge
from polyadic.core.serialization import load
from polyadic.core.stage_cache import whole
from polyadic.metrics.figures import Figure
from polyadic.metrics.ranking import Ranking, precision_recall, ranking
from polyadic.relations.horn_rules import HornRules
from polyadic.relations.knowledge import KnowledgeTensor
from polyadic.relations.rescal import RESCAL
from polyadic.words.tucker import Tucker

if TYPE_CHECKING:
    import os
    from pathlib import Path

    from numpy.typing import NDArray

    from polyadic.core.entries import Entries
    from polyadic.core.stage_cache import Facts

    Root = str | os.PathLike[str] | None

SMALL = ("kinship", "umls", "nations")
LARGE = ("FB15k-237", "WN18RR")
FOLDS = 10
CHOICES: tuple[dict[str, Any], ...] = (
    *({"loss": "softmax", "penalty": "N3", "strength": strength} for strength in (0.005, 0.02)),
    *({"loss": "softmax", "penalty": "DURA", "strength": strength} for strength in (0.01, 0.05)),
    *({"loss": "logistic", "penalty": "N3", "strength": strength} for strength in (0.001, 0.005)),
)
"""Settings tried for each form on the validation parts of the small sets."""
EPOCHS = 60
JUDGED = 2000
"""Facts of the validation part by which rules, and their weight beside a tensor, are judged."""
CONCLUDED: tuple[dict[str, Any], ...] = (
    *({"aggregation": "noisy-or", "k": k} for k in (1, 2, 3, 5)),
    {"aggregation": "maximum", "k": 3},
)
"""How the rules that conclude an answer are counted."""
WEIGHTS = (0.0, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0)
"""Weights of the scores of rules beside those of a tensor."""


def by_form(name: str, form: str, *, seed: int, root: Root = None) -> Facts:
    """Fit a form to a small set with each choice; give the ranks of the test part by the best on the validation part.

    ``name``: Of a set of :func:`~experiments.data.knowledge.knowledge`. ``form``: Of
    :data:`~polyadic.relations.knowledge.FORMS`.
    """
    data = knowledge(name, root=root)
    matrices = form in {"RESCAL", "Tucker2", "TuckER", "Tucker3"}
    tried = []
    began = time.perf_counter()
    for reciprocal in (True, False):
        for choice in CHOICES:
            model = KnowledgeTensor(
                50 if matrices else 128,
                form=form,  # type: ignore[arg-type] # of FORMS
                reciprocal=reciprocal,
                max_iter=EPOCHS,
                seed=seed,
                **choice,
            ).fit(data.train, validation=data.validation, known=data.test)
            score = whole(model).evaluate(data.validation, known=data.test).mean_reciprocal_rank
            tried.append((score, {"reciprocal": reciprocal, **choice}, model))
    score, chosen, model = max(tried, key=lambda trial: trial[0])
    row: Facts = {"name": form, "validation": score, **measured(model.evaluate(data.test, known=data.validation))}
    row |= {"chosen": chosen | {"epochs": model.result_.best}}
    return row | {"fit_seconds": model.result_.seconds[-1], "seconds": time.perf_counter() - began}


def measured(ranks: Ranking) -> Facts:
    """Return the usual measures of ranks."""
    return {"mrr": ranks.mean_reciprocal_rank, **{f"hits_{k}": ranks.hits_at(k) for k in (1, 3, 10)}}


def frequencies(name: str, *, root: Root = None) -> Facts:
    """Rank entities by their frequency as object or subject of the relation."""
    data = knowledge(name, root=root)
    n, K = len(data.entities), len(data.relations)
    began = time.perf_counter()
    counts = [np.zeros((K, n)) for _ in range(2)]
    for count, end in zip(counts, (2, 0), strict=True):
        np.add.at(count, (data.train[:, 1], data.train[:, end]), 1)
    known = np.concatenate([data.train, data.validation, data.test])
    ranks = ranking(data.test, known, entities=n, objects=lambda _, r: counts[0][r], subjects=lambda _, r: counts[1][r])
    return {"name": "frequencies", **measured(ranks), "seconds": time.perf_counter() - began}


def squares(name: str, mode: int, *, seed: int, root: Root = None) -> Facts:
    """Fit Tucker 1, 2 or 3 to a small set by least squares over all cells; ranks as the others.

    A mode that is not compressed has its own length as rank. The rank of entities is the best on the validation part.
    """
    data = knowledge(name, root=root)
    n, K = len(data.entities), len(data.relations)
    known = np.concatenate([data.train, data.validation, data.test])
    began, tried = time.perf_counter(), []
    for rank in sorted({min(rank, n - 1) for rank in (5, 10, 20, 40, 80)}):
        ranks = {1: (rank, K, n), 2: (rank, K, rank), 3: (rank, min(rank, K), rank)}[mode]
        model = Tucker(ranks, seed=seed).fit(entries(data))
        A, W, B = whole(model).factors_
        slices = np.einsum("kr,irj->kij", W, model.core_)
        cells = np.stack([A @ core @ B.T for core in slices])
        ranks_of = [_by_cells(cells, facts, known) for facts in (data.validation, data.test)]
        tried.append((ranks_of[0].mean_reciprocal_rank, rank, ranks_of[1]))
    score, rank, test_ranks = max(tried, key=lambda trial: trial[0])
    row = {"name": f"Tucker {mode}, squares", "validation": score, **measured(test_ranks), "chosen": {"rank": rank}}
    return row | {"seconds": time.perf_counter() - began}


def _by_cells(cells: NDArray[Any], facts: NDArray[np.int64], known: NDArray[np.int64]) -> Ranking:
    """Rank by scores of all triples, shape (relations, entities, entities)."""
    return ranking(
        facts, known, entities=cells.shape[1], objects=lambda s, r: cells[r, s], subjects=lambda o, r: cells[r, :, o]
    )


def entries(data: Knowledge) -> Entries:
    """List the facts to learn from as ones."""
    from polyadic.core.entries import Entries

    n, K = len(data.entities), len(data.relations)
    return Entries(data.train, np.ones(len(data.train)), (n, K, n))


def large(name: str, options: Facts, *, epochs: int, seed: int, out: Path, root: Root = None) -> Facts:
    """Fit a large set, keeping the epoch that is best on the validation part; with the curve of that part.

    ``options``: Of :class:`~polyadic.relations.knowledge.KnowledgeTensor`. ``epochs``: At most. ``out``: The folder of
    the model.
    """
    data = knowledge(name, root=root)
    model = KnowledgeTensor(**options, max_iter=epochs, seed=seed).fit(
        data.train, validation=data.validation, known=data.test
    )
    row: Facts = {"name": options["form"], **measured(whole(model).evaluate(data.test, known=data.validation))}
    model.save(out, overwrite=True)
    curve = zip(model.result_.seconds, (-score for score in model.result_.measured), strict=True)
    row |= {"chosen": options | {"epochs": model.result_.best}, "seconds": model.result_.seconds[-1]}
    return row | {"curve": [[round(at, 1), round(score, 4)] for at, score in curve]}


def mined(name: str, options: Facts, *, seed: int, root: Root = None) -> Facts:
    """Mine rules of a large set; how rules for an answer are combined is selected on the validation part.

    ``options``: Of :class:`~polyadic.relations.horn_rules.HornRules`.
    """
    data = knowledge(name, root=root)
    began = time.perf_counter()
    model = HornRules(**options, seed=seed).fit(data.train)
    mining, judged = time.perf_counter() - began, _judged(data, seed)
    true = np.concatenate([data.validation, data.test])
    tried = [model.set_params(**how).evaluate(judged, known=true).mean_reciprocal_rank for how in CONCLUDED]
    best = CONCLUDED[int(np.argmax(tried))]
    began = time.perf_counter()
    ranks = model.set_params(**best).evaluate(data.test, known=data.validation)
    row: Facts = {"name": "Horn rules", **measured(ranks), "interval": _interval(ranks)}
    row |= {"tried": [[f"{how['aggregation']}, {how['k']}", mrr] for how, mrr in zip(CONCLUDED, tried, strict=True)]}
    row |= {"chosen": options | best, "seconds": mining, "answering": time.perf_counter() - began}
    return row | {"paths": len(model.paths_), "properties": len(model.properties_)}


def together(name: str, options: Facts, *, tensor: Path, seed: int, root: Root = None) -> Facts:
    """Add the scores of rules to those of a tensor, with the weight selected on the validation part.

    ``options``: Of rules. ``tensor``: The folder of a model.
    """
    data = knowledge(name, root=root)
    models = load(tensor, KnowledgeTensor), HornRules(**options, seed=seed).fit(data.train)
    known = np.concatenate([data.train, data.validation, data.test])

    def ranks(facts: NDArray[np.int64], weight: float) -> Ranking:
        one, other = models
        return ranking(
            facts,
            known,
            entities=len(data.entities),
            objects=lambda s, r: one.objects(s, r) + weight * other.objects(s, r),
            subjects=lambda o, r: one.subjects(o, r) + weight * other.subjects(o, r),
        )

    began, judged = time.perf_counter(), _judged(data, seed)
    tried = [ranks(judged, weight).mean_reciprocal_rank for weight in WEIGHTS]
    weight = WEIGHTS[int(np.argmax(tried))]
    found = ranks(data.test, weight)
    row: Facts = {"name": "both", **measured(found), "interval": _interval(found), "chosen": {"weight": weight}}
    row |= {"tried": [[f"{weight:g}", mrr] for weight, mrr in zip(WEIGHTS, tried, strict=True)]}
    return row | {"seconds": time.perf_counter() - began}


def _judged(data: Knowledge, seed: int) -> NDArray[np.int64]:
    return np.random.default_rng(seed).permutation(data.validation)[:JUDGED]


def _interval(ranks: Ranking) -> dict[str, float]:
    """Return the 95 % interval of the mean reciprocal rank over facts, by resampling."""
    both = (1 / ranks.objects + 1 / ranks.subjects) / 2
    rows = np.column_stack([both, np.ones(len(both))])
    low, high = Figure("MRR", rows, used=len(rows), total=len(rows)).interval()
    return {"low": low, "high": high}


def published_rescal(*, seed: int, root: Root = None) -> Facts:
    """Ten folds over all cells of the kinship tensor, held-out ones zero; area under precision and recall.

    Scores as they are, and with those of a pair scaled to unit length over relations, which suits the one relation that
    a pair has there.
    """
    from polyadic.core.entries import Entries

    data = knowledge("alyawarra", root=root)
    n, K = len(data.entities), len(data.relations)
    truth = np.zeros((n, K, n), bool)
    truth[tuple(data.train.T)] = True
    parts = np.array_split(np.random.default_rng(seed).permutation(truth.size), FOLDS)
    areas, seconds = [], []
    for held in parts:
        left = truth.copy().reshape(-1)
        left[held] = False
        cells = np.argwhere(left.reshape(truth.shape))
        began = time.perf_counter()
        model = RESCAL(100, tol=1e-3, seed=seed).fit(Entries(cells, np.ones(len(cells)), truth.shape))
        seconds.append(time.perf_counter() - began)
        every = np.indices((n, K)).reshape(2, -1)
        scores = whole(model).objects(*every).reshape(n, K, n)
        scaled = scores / np.linalg.norm(scores, axis=1, keepdims=True)
        areas.append(
            [precision_recall(truth.reshape(-1)[held], array.reshape(-1)[held]).trapezoid for array in (scores, scaled)]
        )
    raw, normalised = np.mean(areas, axis=0).tolist()
    spread = np.std(areas, axis=0, ddof=1).tolist()
    figures: Facts = {"name": "RESCAL", "raw": raw, "normalised": normalised, "spread": spread}
    return figures | {"fold_seconds": float(np.median(seconds))}
