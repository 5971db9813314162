"""Rerank lists of parses by T-MIRA, MIRA and perceptron, with growing training sets.

Parsers of our own make the lists.

References
----------
Cao, Khudanpur (2014), Online learning in tensor space, section 5.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, partial
from typing import TYPE_CHECKING, Annotated, get_args

from experiments.cao2014 import lists as making
from experiments.cao2014.compared import Method, baselines, figure, measured, methods, share_of, spectra
from experiments.cao2014.drawing import draw
from experiments.cao2014.report import report
from experiments.cao2014.tasks import TASKS
from experiments.experiment import Experiment, ExperimentSettings, Option, Parts, Run, Seed, Stage, Stages
from polyadic.core.errors import InputError
from polyadic.core.settings import Count, Within
from polyadic.metrics.figures import difference
from polyadic.ranking.tensor_mira import FeatureMapping

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from experiments.cao2014.groups import CandidateGroups
    from experiments.cao2014.lists import Lists
    from polyadic.core.stage_cache import Facts


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
        "rows": [{key: value for key, value in row.items() if key != "choice"} for row in rows],
        "differences": _differences([part.test for part in parts], rows, settings),
        "spectra": {mapping: drawn[mapping] for mapping in mappings},
    }


def _portion(settings: Settings, lists: Callable[[], Lists], share: float, seed: int, fold: int) -> Stages:
    """Fit every reranker to a share of the training lists."""
    part = cache(lambda: making.portion(lists(), share, seed=seed))
    rows, of = [], f"{fold} " if settings.folds > 1 else ""
    for method in methods(
        orders=settings.orders, ranks=settings.ranks, mappings=settings.mappings, epochs=settings.epochs, seed=seed
    ):
        made_of = {"k": settings.k, "epochs": settings.epochs}  # and of the lists: see _task
        made_of |= {"folds": settings.folds} if settings.folds > 1 else {}
        facts = yield Stage(f"{of}{share:g} {seed} {method.name}", made_of, partial(_measured, method, part))
        test, dev = share_of(facts["test"]), share_of(facts["dev"])
        rows.append({**facts, "share": share, "seed": seed, "fold": fold, "figure": test, "held_out_figure": dev})
    return rows


def _measured(method: Method, part: Callable[[], Lists]) -> Facts:
    return measured(method, part())


def _differences(folds: Sequence[CandidateGroups], rows: list[Facts], settings: Settings) -> list[Facts]:
    """Return paired differences between T-MIRA, selected on development lists, and other methods, over all seeds."""
    comparisons = []
    for share in settings.shares:
        here = [[row for row in rows if (row["share"], row["fold"]) == (share, at)] for at in range(len(folds))]

        def chosen(fits: Callable[[str], bool], by_fold: list[list[Facts]] = here) -> list[list[list[int]]]:
            return [_chosen(some, fits) for some in by_fold]

        sides = {
            "T-MIRA": chosen(_like(0, "T-MIRA")),
            **{mapping: chosen(_like(-1, mapping)) for mapping in ("guided", "sequential", "published")},
            **{f"order {D}": chosen(_like(1, D)) for D in settings.orders},
            **{f"rank {H}": chosen(_like(2, H)) for H in settings.ranks},
            **{name: chosen(name.__eq__) for name in ("MIRA", "MIRA published", "perceptron")},
            "one best": [[[0] * len(ranked.groups)] for ranked in folds],
        }
        pairs = [("T-MIRA", name) for name in ("MIRA", "perceptron", "one best")]
        pairs += [
            ("MIRA", "one best"),
            ("published", "MIRA published"),
            ("guided", "sequential"),
            ("guided", "published"),
        ]
        pairs += [(f"order {settings.orders[0]}", f"order {D}") for D in settings.orders[1:]]
        pairs += [(f"rank {settings.ranks[0]}", f"rank {H}") for H in settings.ranks[1:]]
        for first, other in pairs:
            if sides[first][0] and sides[other][0]:
                a, b = (figure(name, folds, sides[name]) for name in (first, other))
                gap = difference(a, b)
                comparisons.append({"share": share, "one": first, "other": other, **gap._asdict()})
    return comparisons


def _like(place: int, wanted: object) -> Callable[[str], bool]:
    """Return a predicate for names of T-MIRA with an order, rank or mapping, without the published one."""
    return lambda name: (
        name.startswith("T-MIRA")
        and name.split()[place] == str(wanted)
        and ("published" not in name or wanted in {"published", "T-MIRA"})
    )


def _chosen(rows: list[Facts], fits: Callable[[str], bool]) -> list[list[int]]:
    """Return for each seed the choices of the method that was best on the development lists."""
    choices = []
    for seed in sorted({row["seed"] for row in rows}):
        some = [row for row in rows if row["seed"] == seed and fits(row["name"])]
        if some:
            choices.append(max(some, key=lambda row: row["held_out_figure"])["choice"])
    return choices


STAGES: Parts[Settings] = {name: partial(_task, name=name) for name in TASKS}
EXPERIMENT = Experiment(Settings, STAGES, report, draw, parts="tasks")
