"""Bouchard and others (2015): completion, databases, topics and labels by matrix factorization.

The matrix methods of the tutorial, each on a real table, beside its baselines.

References
----------
Bouchard, Naradowsky, Riedel, Rocktäschel, Vlachos (2015), Matrix and tensor factorization methods for natural language
processing, tutorial at ACL.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from experiments import data
from experiments.bouchard2015 import (
    binary,
    convex,
    databases,
    demonstrations,
    labels,
    posteriors,
    ratings,
    retrieval,
    solvers,
    topics,
    triangle,
)
from experiments.bouchard2015.report import draw, report
from experiments.experiment import Experiment, ExperimentSettings, Option, Parts, Run, Seed, Stage, Stages, table_stage
from polyadic.core.settings import Count, Share, Within

if TYPE_CHECKING:
    from collections.abc import Callable

    from polyadic.core.stage_cache import Facts


methods_stage = partial(table_stage, called="methods")


@dataclass(frozen=True)
class Settings(ExperimentSettings):
    """The settings of a run."""

    folds: Annotated[int, Within(1, 5), Option("Of MovieLens, and divisions of listens.")] = 5
    rank: Annotated[Count, Option("Of models that learn their penalties.")] = 10
    named_rank: Count = 64
    """Rank of models that recommend."""
    size: Count = 300
    """Number of users and of films of the subset for Hamiltonian Monte Carlo."""
    topics: Annotated[Count, Option("Number of topics.")] = 20
    hidden: tuple[Share, ...] = (0.0, 0.5)
    """Shares of the features that are hidden from those that tell labels."""
    runs: Annotated[Count, Option("Planted cases of convex methods.")] = 20
    retrieval_topics: Annotated[Count, Option("Number of topics for retrieval.")] = 50
    labelled: Annotated[tuple[Count, ...], Option("Numbers of labelled documents per label.")] = (1, 2, 5, 10)
    draws: Annotated[Count, Option("Random sets of labelled documents.")] = 10
    collections: Annotated[str, Option("Folder with med, cisi and cran, test collections for retrieval.")] = ""
    newsgroups: Annotated[str, Option("Folder with 20news-bydate-train and 20news-bydate-test.")] = ""
    seed: Seed = 0


def _demonstrations(run: Run[Settings]) -> Stages:
    seed = run.settings.seed

    def make() -> Facts:
        return {**demonstrations.descent(seed=seed), "signs": demonstrations.signs(seed=seed)}

    yield Stage("", {"seed": seed}, make)


def _ratings(run: Run[Settings]) -> Stages:
    how = {"rank": run.settings.rank, "seed": run.settings.seed}
    about, folds = data.movielens(root=run.root), {}
    for number in range(1, run.settings.folds + 1):
        fold = data.movielens_fold(f"u{number}", root=run.root)
        stage = yield methods_stage(f"u{number}", how, partial(ratings.evaluate, fold, about, **how))
        folds[f"u{number}"] = stage["methods"]
    return folds


def _posteriors(run: Run[Settings], *, size: int | None) -> Stages:
    how: Facts = {"rank": run.settings.rank, "seed": run.settings.seed, "size": size}
    about, folds = data.movielens(root=run.root), {}
    for number in range(1, run.settings.folds + 1):
        fold = data.movielens_fold(f"u{number}", root=run.root)
        stage = yield methods_stage(f"u{number}", how, partial(posteriors.evaluate, fold, about, **how))
        folds[f"u{number}"] = stage["methods"]
    return posteriors.pooled(folds)


def _listens(run: Run[Settings]) -> Stages:
    listens, divisions = data.lastfm(root=run.root), {}
    for seed in range(run.settings.seed, run.settings.seed + run.settings.folds):
        how = {"rank": run.settings.rank, "seed": seed}
        stage = yield methods_stage(str(seed), how, partial(databases.listens, listens, **how))
        divisions[str(seed)] = stage["methods"]
    return divisions


def _lastfm(run: Run[Settings]) -> Stages:
    def make() -> list[Facts]:
        lastfm = data.lastfm(root=run.root)
        return databases.recommended(lastfm.listens, databases.lastfm_choices(lastfm), **_named(run))

    return (yield methods_stage("", _named(run), make))["methods"]


def _citeulike(run: Run[Settings]) -> Stages:
    def make() -> list[Facts]:
        citeulike = data.citeulike(root=run.root)
        return databases.recommended(citeulike.kept, databases.citeulike_choices(citeulike), **_named(run))

    return (yield methods_stage("", _named(run), make))["methods"]


def _topics(run: Run[Settings], *, collection: str) -> Stages:
    documents = getattr(topics, collection)(run.root)
    number, seed, rows = run.settings.topics, run.settings.seed, []
    for method in topics.METHODS:
        make = partial(topics.evaluate, documents, method, rank=number, seed=seed)
        made_of: Facts = {"topics": number, "seed": seed}
        if method in topics.TRIED:
            made_of["tried"] = topics.TRIED[method]
        rows.append((yield Stage(method, made_of, make)))
    return rows


def _labels(run: Run[Settings], *, collection: str, penalties: tuple[float, ...] = (20.0, 10.0)) -> Stages:
    parts, shares = data.multilabel(collection, root=run.root), {}
    for hidden in run.settings.hidden:
        how: Facts = {"hidden": hidden, "penalties": penalties, "seed": run.settings.seed}
        stage = yield methods_stage(f"{hidden:g} hidden", how, partial(labels.evaluate, *parts, **how))
        shares[f"{hidden:g}"] = stage["methods"]
    return shares


def _convex(run: Run[Settings]) -> Stages:
    how = {"seed": run.settings.seed, "runs": run.settings.runs}
    yield Stage("cycle", how, partial(convex.cycle, **how))
    yield table_stage("outliers", how, partial(convex.planted_outliers, **how))
    yield table_stage("views", how, partial(convex.views, **how))


def _tensors(run: Run[Settings]) -> Stages:
    rows = []
    for share in convex.SHARES:
        how: Facts = {"share": share, "seed": run.settings.seed, "runs": min(5, run.settings.runs)}
        rows += (yield table_stage(f"{share:g}", how, partial(convex.tensors, **how)))["rows"]
    return rows


def _corrupted(run: Run[Settings]) -> Stages:
    shares = {}
    for share in (0.0, 0.05, 0.1):
        how: Facts = {"share": share, "seed": run.settings.seed}
        fold = data.movielens_fold("u1", root=run.root)
        stage = yield methods_stage(f"{share:g}", how, partial(convex.corrupted_ratings, fold, **how))
        shares[f"{share:g}"] = stage["methods"]
    return shares


def _retrieval(run: Run[Settings], *, collection: str) -> Stages:
    if not run.settings.collections:
        return None
    judged, rows = retrieval.read(Path(run.settings.collections), collection), []
    how = {"rank": run.settings.retrieval_topics, "seed": run.settings.seed}
    for method in retrieval.METHODS:
        row = yield Stage(method, how, partial(retrieval.evaluate, judged, method, **how))
        rows.append(row)
    return rows


def _triangle(run: Run[Settings], *, collection: str) -> Stages:
    if collection == "newsgroups" and not run.settings.newsgroups:
        return None
    bbc = collection == "bbc"
    data = triangle.news(run.root) if bbc else triangle.newsgroups(Path(run.settings.newsgroups))
    rows: list[Facts] = []
    for number in run.settings.labelled:
        for seed in range(run.settings.seed, run.settings.seed + run.settings.draws):
            how = {"per_label": number, "rank": triangle.RANK, "seed": seed}
            rows.append((yield Stage(f"{number} documents, draw {seed}", how, partial(triangle.evaluate, data, **how))))
    return rows


def _solvers(run: Run[Settings]) -> Stages:
    how = {"rank": run.settings.rank, "seed": run.settings.seed}
    fold, about = data.movielens_fold("u1", root=run.root), data.movielens(root=run.root)
    found: Facts = {}
    labels = data.multilabel("enron", root=run.root)[0]
    makes: dict[str, Callable[[], Facts]] = {
        f"Enron, logistic regression, {solvers.LINEAR_EPOCHS} epochs": lambda: {
            "solvers": solvers.linear(labels, seed=how["seed"])
        },
        "MovieLens 100K": lambda: solvers.factors(fold, **how),
        "MovieLens 100K, coupled": lambda: {"coupled tables": solvers.coupled(fold, about, **how)},
    }
    for name, make in makes.items():
        stage = yield Stage(name, {**how, "gaps": solvers.GAPS}, make)
        found |= {f"{name}: {what}": rows for what, rows in stage.items() if isinstance(rows, list)}
    return found


def _sparse(run: Run[Settings]) -> Stages:
    how, folds = {"rank": run.settings.rank, "seed": run.settings.seed}, {}
    for number in range(1, run.settings.folds + 1):
        fold = data.movielens_fold(f"u{number}", root=run.root)
        made_of = {**how, "l1": solvers.L1, "ridges": solvers.RIDGES}
        stage = yield methods_stage(f"u{number}", made_of, partial(solvers.sparse, fold, **how))
        folds[f"u{number}"] = stage["methods"]
    return folds


def _binary(run: Run[Settings]) -> Stages:
    found: Facts = {}
    for name, read in binary.SETS.items():
        table = cache(partial(read, run.root))
        for rank in binary.RANKS:
            for seed in binary.SEEDS:
                how: Facts = {"rank": rank, "seed": seed}
                made_of = how | {"ridges": binary.RIDGES, "negatives": binary.NEGATIVES}
                make = partial(_compared, table, **how)
                stage = yield methods_stage(f"{name}, rank {rank}, seed {seed}", made_of, make)
                found.setdefault(name, {}).setdefault(f"{rank}", []).append(stage["methods"])
    return found


def _compared(table: Callable[[], binary.Binary], **how: int) -> list[Facts]:
    return binary.compare(table(), **how)


def _named(run: Run[Settings]) -> Facts:
    return {"rank": run.settings.named_rank, "seed": run.settings.seed}


STAGES: Parts[Settings] = {
    "demonstrations": _demonstrations,
    "convex": _convex,
    "tensors": _tensors,
    "corrupted": _corrupted,
    "ratings": _ratings,
    "posteriors": partial(_posteriors, size=None),
    "subset": lambda run: _posteriors(run, size=run.settings.size),
    "listens": _listens,
    "lastfm": _lastfm,
    "citeulike": _citeulike,
    "bbc": partial(_topics, collection="bbc"),
    "kos": partial(_topics, collection="kos"),
    **{name: partial(_retrieval, collection=name) for name in retrieval.FILES},
    "labelled-words-bbc": partial(_triangle, collection="bbc"),
    "labelled-words-newsgroups": partial(_triangle, collection="newsgroups"),
    "enron": partial(_labels, collection="enron"),
    "medical": partial(_labels, collection="medical"),
    "binary": _binary,
    "solvers": _solvers,
    "sparse": _sparse,
    "bibtex": partial(_labels, collection="bibtex", penalties=(40.0, 20.0)),
}
EXPERIMENT = Experiment(Settings, STAGES, report, draw)
