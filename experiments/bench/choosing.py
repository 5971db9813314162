"""Regret of automatic model selection: against the best point of a grid, which is judged by the test part.

A fifth of the cells of each table is the test part; facts are folders with train.txt, valid.txt and test.txt, documents
folders with train.csv and test.csv, or all.csv, of columns text and label. Printed are the errors with the defaults,
with the selected settings, and of the best point of the grid: RMSE, 1 - NDCG@20, 1 - MRR, share of documents classified
wrongly, perplexity of half of the words of documents given the others, log loss of labels; the regret, in percent of
the error; and the cost of the selection, in fits with the defaults. One thread, processor time. Where the test part is
small, use ``--starts 5``: errors are means over that many seeds.
"""

import itertools
import warnings
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
from sklearn.base import clone

from experiments.bench.common import heading, row, timed
from experiments.data.multilabel import multilabel
from experiments.data.school import school
from experiments.experiment import Option
from polyadic.completion.cells import positive_cells, rmse, split_cells
from polyadic.completion.factorization import MatrixFactorization
from polyadic.completion.implicit import ImplicitFactorization
from polyadic.completion.named_cells import read_cells
from polyadic.completion.pairwise_ranking import PairwiseRanking
from polyadic.core.selection import select
from polyadic.metrics.recommendation import recommendation
from polyadic.relations.facts import read_facts
from polyadic.relations.knowledge import KnowledgeTensor
from polyadic.sentences.classifier import TextClassifier
from polyadic.supervised.multitask import LowRankTasks
from polyadic.text.readers import documents
from polyadic.topics.text_topics import TextTopics, held_out_perplexity

GRIDS = {
    "ratings": {
        "ridge": (22, 16, 11, 8, 5.5),
        "count_power": (0, 0.5),
        "bias_ridge": (1, 3, 5, 10),
        "rank": (0, 5, 10, 20, 40),
    },
    "implicit": {"alpha": (1, 4, 16, 64), "rank": (16, 32, 64, 128), "ridge": (20, 6, 2)},
    "facts": {"strength": (0.05, 0.02, 0.01, 0.005, 0.002), "rank": (50, 100, 200, 400)},
    "matrices": {
        "penalty": ("N3", "DURA"),
        "reciprocal": (True, False),
        "strength": (0.05, 0.02, 0.01),
        "rank": (50, 100, 200),
    },
    "pairs": {"ridge": (0.1, 0.03, 0.01, 0.003), "rank": (16, 32, 64, 128, 256)},
    "classes": {"C": (0.3, 1, 3, 10, 30, 100, 300), "share": (1, 0.75, 0.5, 0.25, 0)},
    "topics": {"n_components": (5, 10, 20, 40, 80, 160)},
    "labels": {"rank": (10, 20, 50, 100), "ridge": (0.3, 1, 3, 10, 30, 100, 300, 1000)},
}
Family = Literal["ratings", "implicit", "facts", "matrices", "pairs", "classes", "topics", "labels"]
TEST = 0.2
DIVISIONS = 5
"""Folds of documents that have no test part; errors are means over them."""


def ratings(path):
    """Return model, training cells and the RMSE of the others."""
    train, test = split_cells(read_cells(path).cells, TEST, seed=1)
    return MatrixFactorization(seed=0, threads=1), train, {}, lambda model: rmse(model, test)


def implicit(path):
    """Return model, training cells and 1 - NDCG@20 of the others."""
    train, test = split_cells(positive_cells(read_cells(path).cells), TEST, seed=1)
    rows = np.arange(train.shape[0])

    def error(model):
        named = model.recommend(rows, 20, without=train).columns
        return 1 - float(np.nanmean(recommendation(named, test.rows, test.columns).ndcg))

    return ImplicitFactorization(seed=0, threads=1), train, {}, error


def pairs(path):
    """Return the same for pairwise ranking."""
    _, train, parts, error = implicit(path)
    return PairwiseRanking(seed=0), train, parts, error


def topics(path):
    """Return model, training documents (lines) and the perplexity of the others."""
    model, lines = TextTopics(seed=0, threads=1), path.read_text(encoding="utf-8").splitlines()
    is_test = np.random.default_rng(1).random(len(lines)) < TEST
    train = [line for line, out in zip(lines, is_test, strict=True) if not out]
    judged = [line for line, out in zip(lines, is_test, strict=True) if out]
    return model, model.corpus(train), {}, lambda fitted: held_out_perplexity(fitted, fitted.table(judged))


def labels(folder):
    """Return model, features, labels and log loss of the test part; squared error for school.mat."""
    if folder.suffix == ".mat":
        X, scores, schools = school(root=folder.parents[1])
        Y = np.full((len(X), schools.max() + 1), np.nan)
        Y[np.arange(len(X)), schools] = scores
        is_test = np.random.default_rng(1).random(len(X)) < TEST
        X = (X - X[~is_test].mean(axis=0)) / X[~is_test].std(axis=0)
        return LowRankTasks(50), X[~is_test], {"y": Y[~is_test]}, lambda fitted: -fitted.score(X[is_test], Y[is_test])
    train, test = multilabel(folder.name, folder.parents[1])
    model = LowRankTasks(50, loss="logistic")
    return model, train.features, {"y": train.labels}, lambda fitted: -fitted.score(test.features, test.labels)


def facts(folder, form="ComplEx"):
    """Return model, training facts, validation facts and 1 - MRR of the test part."""
    train = read_facts(folder / "train.txt")
    names = {"entities": train.entities, "relations": train.relations, "unknown": "skip"}
    valid, test = (read_facts(folder / f"{part}.txt", **names) for part in ("valid", "test"))
    parts = {"validation": valid, "known": test}
    model = KnowledgeTensor(form=form, seed=0, threads=1)
    return model, train, parts, lambda model: 1 - model.evaluate(test, known=valid).mean_reciprocal_rank


def matrices(folder):
    """Return the same for RESCAL."""
    return facts(folder, "RESCAL")


def classes(folder, division=0):
    """Return model, training documents, classes and the error rate of the others."""
    rows = [[(row.text, row.fields["label"]) for row in documents(file, field="text")] for file in parts_of(folder)]
    if len(rows) == 1:
        order = np.random.default_rng(1).permutation(len(rows[0]))
        is_test = np.arange(len(order)) % DIVISIONS == division
        rows = [[rows[0][at] for at in order[some]] for some in (~is_test, is_test)]
    (texts, y), (judged, right) = (zip(*part, strict=True) for part in rows)
    return TextClassifier(), texts, {"y": y}, lambda model: float(np.mean(model.predict(judged) != np.array(right)))


def parts_of(folder):
    """Return the files of both parts, or the one file of all documents."""
    every = folder / "all.csv"
    return [every] if every.exists() else [folder / f"{part}.csv" for part in ("train", "test")]


def divisions_of(source):
    """Return the folds of a set."""
    return range(DIVISIONS if (source / "all.csv").exists() else 1)


def main(
    family: Family,
    sources: tuple[Path, ...],
    *,
    own: Annotated[bool, Option("Facts: use a part of the training facts for validation.")] = False,
    starts: Annotated[int, Option("Seeds of model and selection; errors are means over them.")] = 1,
    budget: Annotated[float | None, Option("Seconds after which no further settings are tried.")] = None,
) -> None:
    warnings.simplefilter("ignore")
    heading("set", "defaults", "chosen", "best of the grid", "regret, %", "cost, fits", "settings")
    regrets = []
    grid = GRIDS[family]
    for source in sources:
        rows, chose, spent = [], [], []
        for division, seed in itertools.product(divisions_of(source), range(starts)):
            some = {"division": division} if division else {}
            model, train, parts, error = globals()[family](source, **some)
            parts = {} if own else parts
            if seed:
                model.set_params(seed=seed)
            plain = timed(lambda: clone(model).fit(train, **parts))  # noqa: B023 # called at once
            best = timed(lambda: select(model, train, seed=seed, budget=budget, **parts))  # noqa: B023 # called at once
            task = model.search(train, seed=seed, **parts)
            errors = [
                error(task.last(clone(model).set_params(**dict(zip(grid, values, strict=True)))))
                for values in itertools.product(*grid.values())
            ]
            rows.append([error(plain.result), error(best.result), *errors])
            spent.append(best.processor / plain.processor)
            chose.append(", ".join(f"{name} {value}" for name, value in best.result.selection_.settings.items()))
        defaults, best, *errors = np.mean(rows, axis=0)
        regrets.append(100 * (best - min(errors)) / min(errors))
        figures = [f"{x:.4f}" for x in (defaults, best, min(errors))]
        cost = f"{regrets[-1]:.2f}", f"{np.mean(spent):.1f}"
        row(source.stem, *figures, *cost, "; ".join(dict.fromkeys(chose)))
    print(f"median regret {np.median(regrets):.2f} %, largest {max(regrets):.2f} %")
