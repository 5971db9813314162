"""Rerank lists of parses by T-MIRA, MIRA and perceptron, with growing training sets.

Parsers of our own make the lists.

References
----------
Cao, Khudanpur (2014), Online learning in tensor space, section 5.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, partial
from itertools import product
from typing import TYPE_CHECKING, Annotated, Any, get_args

import numpy as np

from experiments.cao2014 import lists as making
from experiments.cao2014.compared import (
    CHOICES,
    PRINTED,
    Arm,
    Method,
    baselines,
    figure,
    measured,
    methods,
    share_of,
    spectra,
)
from experiments.cao2014.drawing import draw
from experiments.cao2014.report import report
from experiments.cao2014.tasks import TASKS
from experiments.experiment import Experiment, ExperimentSettings, Option, Parts, Run, Seed, Stage, Stages
from polyadic.core.errors import InputError
from polyadic.core.settings import Count, Within
from polyadic.metrics.figures import difference
from polyadic.ranking.tensor_mira import FeatureMapping

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from experiments.cao2014.groups import CandidateGroups
    from experiments.cao2014.lists import Lists
    from polyadic.core.stage_cache import Facts

KEYS = ("kind", "order", "rank", "mapping", "arm")
"""Columns that say what a reranker is."""


@dataclass(frozen=True)
class Settings(ExperimentSettings):
    """The settings of a run."""

    shares: Annotated[tuple[Annotated[float, Within(0, 1, above=True)], ...], Option("Of the training lists.")] = (
        *(0.125, 0.25, 0.5),
        1.0,
    )
    orders: Annotated[tuple[Count, ...], Option("Of tensors.")] = (2, 3, 4)
    ranks: Annotated[tuple[Count, ...], Option("Of tensors.")] = (1, 2, 3)
    mappings: Annotated[tuple[FeatureMapping, ...], Option("Of guided, sequential, random, hashed.")] = (
        "guided",
        "sequential",
    )
    arms: Annotated[tuple[Arm, ...], Option("Settings of this library, as printed, and single choices.")] = (
        *("ours", "printed"),
        "choices",
    )
    epochs: Annotated[Count, Option("At most; the best on lists held out counts.")] = 8
    seeds: Annotated[Count, Option("Training sets of each share below 1.")] = 3
    folds: Annotated[Count, Option("Of all lists, each judged with in turn; 1: parts as they are.")] = 1
    k: Annotated[int, Within(2), Option("Candidates of a sentence.")] = 50
    seed: Seed = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.folds == 2:
            raise InputError(
                "folds must be 1, or at least 3: one to judge with, one to choose by, and the rest; got 2", "folds"
            )


def _task(run: Run[Settings], *, name: str) -> Stages:
    settings, where = run.settings, run.folder / name / "lists"
    made_of = {"k": settings.k, "seed": settings.seed}

    def make() -> Facts:
        lists, facts = TASKS[name](k=settings.k, seed=settings.seed, root=run.root)
        for label in where.parent.glob("*.json"):  # what was learned from other lists is learned anew
            label.unlink()
        making.save_lists(where, lists)
        return facts

    about = yield Stage("lists", made_of, make, target=where)
    lists, rows = making.load_lists(where), []
    for fold in range(settings.folds):
        here = cache(partial(making.crossed, lists, settings.folds, fold))  # made where it is needed first
        for share in settings.shares:
            for seed in range(settings.seed, settings.seed + (settings.seeds if share < 1 else 1)):
                rows += yield from _portion(settings, here, share, seed, fold)
    mappings = get_args(FeatureMapping)
    drawn = yield Stage("spectra", made_of, partial(spectra, lists, mappings=mappings, seed=settings.seed))
    parts = [making.crossed(lists, settings.folds, fold) for fold in range(settings.folds)]
    return {
        "lists": about,
        "baselines": baselines(parts),
        "rows": [{key: value for key, value in row.items() if key not in {"choice", "by_epoch"}} for row in rows],
        "differences": _differences([part.test for part in parts], rows, settings),
        "epochs": _epochs(parts, rows, settings),
        "spectra": {mapping: drawn[mapping] for mapping in mappings},
    }


def _portion(settings: Settings, lists: Callable[[], Lists], share: float, seed: int, fold: int) -> Stages:
    """Fit every reranker to a share of the training lists."""
    part = cache(lambda: making.portion(lists(), share, seed=seed))
    rows, of = [], f"{fold} " if settings.folds > 1 else ""
    kinds: dict[str, Any] = {"orders": settings.orders, "ranks": settings.ranks, "mappings": settings.mappings}
    for method in methods(**kinds, arms=settings.arms, epochs=settings.epochs, seed=seed):
        made_of = {"k": settings.k, "epochs": settings.epochs}  # and of the lists: see _task
        made_of |= {"folds": settings.folds} if settings.folds > 1 else {}
        facts = yield Stage(f"{of}{share:g} {seed} {method.name}", made_of, partial(_measured, method, part))
        row = {**facts, **method.about, "share": share, "seed": seed, "fold": fold, "figure": share_of(facts["test"])}
        rows.append({**row, "held_out_figure": share_of(facts["dev"])})
    return rows


def _measured(method: Method, part: Callable[[], Lists]) -> Facts:
    return measured(method, part())


def _differences(folds: Sequence[CandidateGroups], rows: list[Facts], settings: Settings) -> list[Facts]:
    """Return paired differences between methods, each selected on development lists, over all seeds."""
    comparisons, first = [], [[[0] * len(ranked.groups)] for ranked in folds]
    for share, pair in product(settings.shares, _pairs(settings)):
        here = [[row for row in rows if (row["share"], row["fold"]) == (share, at)] for at in range(len(folds))]
        sides = [[_chosen(some, what) for some in here] if what else first for what in pair]
        if all(side[0] for side in sides):
            one, other = map(_called, pair)
            gap = difference(figure(one, folds, sides[0]), figure(other, folds, sides[1]))
            comparisons.append({"share": share, "one": one, "other": other, **gap._asdict()})
    return comparisons


def _pairs(settings: Settings) -> Iterator[tuple[Facts, Facts]]:
    """Yield what is compared, each as some columns of its rows; no columns are the first candidates of the parser."""
    D, H, Hs = settings.orders[0], settings.ranks[0], settings.ranks[1:]
    for arm in ("ours", "printed"):
        tensor, mira, perceptron = ({"arm": arm, "kind": kind} for kind in ("T-MIRA", "MIRA", "perceptron"))
        yield from ((tensor, mira), (tensor, perceptron), (tensor, {}), (mira, {}), (mira, perceptron))
        yield {**tensor, "mapping": "guided"}, {**tensor, "mapping": "sequential"}
        yield from (({**tensor, "order": D}, {**tensor, "order": other}) for other in settings.orders[1:])
        yield from (({**tensor, "rank": H}, {**tensor, "rank": other}) for other in Hs)
    yield from (({"arm": "ours", "kind": kind}, {"arm": "printed", "kind": kind}) for kind in ("T-MIRA", "MIRA"))
    one = {"kind": "T-MIRA", "order": D, "rank": settings.ranks[:2][-1], "mapping": "guided"}
    yield from (({"arm": name}, {**one, "arm": "printed"}) for name in CHOICES)
    yield from (({"arm": f"{name} {value}"}, {**one, "arm": "ours"}) for name, value in PRINTED.items())


def _called(what: Facts) -> str:
    """Return the name of a side of a comparison.

    Examples
    --------
    >>> _called({"arm": "printed", "kind": "T-MIRA", "order": 2}), _called({})
    ('T-MIRA order 2 printed', 'one best')
    """
    named = {**what, "arm": "" if what.get("arm") == "ours" else what.get("arm", "")}
    parts = [f"{key} {named[key]}" if key in ("order", "rank") else named.get(key, "") for key in KEYS if key in named]
    return " ".join(part for part in parts if part) or "one best"


def _chosen(rows: list[Facts], what: Facts) -> list[list[int]]:
    """Return for each seed the choices of the best method, on development lists, of those with these columns."""
    choices = []
    for seed in sorted({row["seed"] for row in rows}):
        some = [row for row in rows if row["seed"] == seed and what.items() <= row.items()]
        if some:
            choices.append(max(some, key=lambda row: row["held_out_figure"])["choice"])
    return choices


def _epochs(folds: Sequence[Lists], rows: list[Facts], settings: Settings) -> list[Facts]:
    """Return the figures after each epoch of the first seed, and how far T-MIRA is from MIRA after the last.

    Training lists of folds overlap, so the difference on them is that of the first fold.
    """
    lines = []
    drawn = [row for row in rows if "by_epoch" in row and row["seed"] == settings.seed]
    for share in settings.shares:
        here = [row for row in drawn if row["share"] == share]
        for name in dict.fromkeys(row["name"] for row in here):
            some = [row for row in here if row["name"] == name]
            line: Facts = {"share": share, "name": name}
            for part in ("train", "test"):
                counts = [row["by_epoch"][part] for row in some]  # an early end repeats the last epoch
                last = max(map(len, counts))
                filled = np.sum([each + [each[-1]] * (last - len(each)) for each in counts], axis=0)
                line[part] = [share_of(count) for count in filled]
            rival = [row for row in here if (row["kind"], row["arm"]) == ("MIRA", some[0]["arm"])]
            if some[0]["kind"] == "T-MIRA" and rival:
                lists = [making.portion(folds[0], share, seed=settings.seed).train]
                for part, ranked in (("train", lists), ("test", [fold.test for fold in folds])):
                    picks = [
                        [[row["by_epoch"][f"{part}_choice"]] for row in side[: len(ranked)]] for side in (some, rival)
                    ]
                    line[f"{part}_gap"] = difference(*(figure(part, ranked, side) for side in picks))._asdict()
            lines.append(line)
    return lines


STAGES: Parts[Settings] = {name: partial(_task, name=name) for name in TASKS}
EXPERIMENT = Experiment(Settings, STAGES, report, draw, parts="tasks")
