"""Regret of what data choose by themselves: against the best of a grid, which is judged by what nobody chose by.

    python -m experiments.bench.choosing ratings ratings.csv ...
    python -m experiments.bench.choosing implicit plays.csv ...
    python -m experiments.bench.choosing facts kinship/ umls/ ...
    python -m experiments.bench.choosing matrices kinship/ umls/ ...
    python -m experiments.bench.choosing pairs plays.csv ...
    python -m experiments.bench.choosing classes reviews/ questions/ ...
    python -m experiments.bench.choosing topics news.txt ...
    python -m experiments.bench.choosing labels bibtex/ ...

A fifth of the cells of each table is kept to judge by; facts are folders with train.txt, valid.txt and test.txt,
documents folders with train.csv and test.csv, or all.csv, of columns text and label. Printed are the errors with the
defaults, with what was chosen, and of the best of the grid: RMSE, 1 - NDCG@20, 1 - MRR, documents classified wrongly,
perplexity of half of the words of documents given the others, log loss of labels;
the regret, in percent of the error; and what choosing cost, in fits with the defaults. One thread, processor time. What
a few cells judge is told better by ``--starts 5``: of that many seeds the place of the grid is the best in the mean.
"""

import argparse
import itertools
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.base import clone

from experiments.data.multilabel import multilabel
from experiments.data.school import school
from polyadic.completion.cells import positive_cells, split_cells
from polyadic.completion.factorization import MatrixFactorization
from polyadic.completion.implicit import ImplicitFactorization
from polyadic.completion.named_cells import read_cells
from polyadic.completion.pairwise_ranking import PairwiseRanking
from polyadic.completion.penalty_path import rmse
from polyadic.core.selection import select
from polyadic.metrics.recommendation import recommendation
from polyadic.relations.facts import read_facts
from polyadic.relations.knowledge import KnowledgeTensor
from polyadic.sentences.classifier import TextClassifier
from polyadic.supervised.multitask import LowRankTasks
from polyadic.text.readers import documents
from polyadic.topics.cross_validation import held_out_perplexity
from polyadic.topics.text_topics import TextTopics

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
TEST = 0.2
DIVISIONS = 5
"""Of documents, where the set has no test part: each fifth is one once, and errors are means."""


def ratings(path):
    """Cells to learn from, and the error of the others."""
    train, test = split_cells(read_cells(path).cells, TEST, seed=1)
    return MatrixFactorization(seed=0, threads=1), train, {}, lambda model: rmse(model, test)


def implicit(path):
    """Cells to learn from, and how late the others are recommended."""
    train, test = split_cells(positive_cells(read_cells(path).cells), TEST, seed=1)
    rows = np.arange(train.shape[0])

    def error(model):
        named = model.recommend(rows, 20, without=train).columns
        return 1 - float(np.nanmean(recommendation(named, test.rows, test.columns).ndcg))

    return ImplicitFactorization(seed=0, threads=1), train, {}, error


def pairs(path):
    """The same, for a model of pairs of columns."""
    _, train, parts, error = implicit(path)
    return PairwiseRanking(seed=0), train, parts, error


def topics(path):
    """Documents, one a line, to learn from, and how surprising words of the others are, given half of them."""
    model, lines = TextTopics(seed=0, threads=1), path.read_text(encoding="utf-8").splitlines()
    is_test = np.random.default_rng(1).random(len(lines)) < TEST
    train = [line for line, out in zip(lines, is_test, strict=True) if not out]
    judged = [line for line, out in zip(lines, is_test, strict=True) if out]
    return model, model.corpus(train), {}, lambda fitted: held_out_perplexity(fitted, fitted.table(judged))


def labels(folder):
    """Rows of features with labels, and the log loss of those of the test part; of school.mat, squared errors."""
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
    """Facts to learn from, those given to choose by, and how late those of the test part are named."""
    train = read_facts(folder / "train.txt")
    names = {"entities": train.entities, "relations": train.relations, "unknown": "skip"}
    valid, test = (read_facts(folder / f"{part}.txt", **names) for part in ("valid", "test"))
    parts = {"validation": valid, "known": test}
    model = KnowledgeTensor(form=form, seed=0, threads=1)
    return model, train, parts, lambda model: 1 - model.evaluate(test, known=valid).mean_reciprocal_rank


def matrices(folder):
    """The same, with a matrix for each relation."""
    return facts(folder, "RESCAL")


def classes(folder, division=0):
    """Documents to learn from, the class of each, and the share of the others that are classified wrongly."""
    rows = [[(row.text, row.fields["label"]) for row in documents(file, field="text")] for file in parts_of(folder)]
    if len(rows) == 1:
        order = np.random.default_rng(1).permutation(len(rows[0]))
        is_test = np.arange(len(order)) % DIVISIONS == division
        rows = [[rows[0][at] for at in order[some]] for some in (~is_test, is_test)]
    (texts, y), (judged, right) = (zip(*part, strict=True) for part in rows)
    return TextClassifier(), texts, {"y": y}, lambda model: float(np.mean(model.predict(judged) != np.array(right)))


def parts_of(folder):
    """The files of a set: those of both parts, or one of all documents."""
    every = folder / "all.csv"
    return [every] if every.exists() else [folder / f"{part}.csv" for part in ("train", "test")]


def divisions_of(source):
    """How often a set is divided."""
    return range(DIVISIONS if (source / "all.csv").exists() else 1)


def timed(work):
    """Do some work, and say what it took."""
    start = time.process_time()
    return work(), time.process_time() - start


def main():
    """Print a line for each set."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("family", choices=GRIDS)
    options.add_argument("sources", nargs="+", type=Path)
    options.add_argument("--own", action="store_true", help="facts: hold some out of those to learn from")
    options.add_argument("--starts", type=int, default=1, help="seeds of model and choice; errors are means over them")
    options.add_argument("--budget", type=float, help="seconds after which nothing more is tried")
    asked = options.parse_args()
    warnings.simplefilter("ignore")
    print("| set | defaults | chosen | best of the grid | regret, % | cost, fits | settings |")
    print("|---|---|---|---|---|---|---|")
    regrets = []
    grid = GRIDS[asked.family]
    for source in asked.sources:
        rows, chose, spent = [], [], []
        for division, seed in itertools.product(divisions_of(source), range(asked.starts)):
            some = {"division": division} if division else {}
            model, train, parts, error = globals()[asked.family](source, **some)
            parts = {} if asked.own else parts
            if seed:
                model.set_params(seed=seed)
            plain, one = timed(lambda: clone(model).fit(train, **parts))  # noqa: B023 # called at once
            best, all_ = timed(lambda: select(model, train, seed=seed, budget=asked.budget, **parts))  # noqa: B023 # called at once
            task = model.search(train, seed=seed, **parts)
            errors = [
                error(task.last(clone(model).set_params(**dict(zip(grid, values, strict=True)))))
                for values in itertools.product(*grid.values())
            ]
            rows.append([error(plain), error(best), *errors])
            spent.append(all_ / one)
            chose.append(", ".join(f"{name} {value}" for name, value in best.selection_.settings.items()))
        plain, best, *errors = np.mean(rows, axis=0)
        regrets.append(100 * (best - min(errors)) / min(errors))
        figures = f"{plain:.4f} | {best:.4f} | {min(errors):.4f} | {regrets[-1]:.2f} | {np.mean(spent):.1f}"
        print(f"| {source.stem} | {figures} | {'; '.join(dict.fromkeys(chose))} |", flush=True)
    print(f"median regret {np.median(regrets):.2f} %, largest {max(regrets):.2f} %")


if __name__ == "__main__":
    main()
