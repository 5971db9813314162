"""Factorization machines, reduced-rank regression and tasks of low rank, on real data, beside their baselines.

Settings are chosen within training parts.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated

from experiments.experiment import Experiment, ExperimentSettings, Option, Parts, Run, Seed, Stages, table_stage
from experiments.predictors import labels, machines, schools
from experiments.predictors.report import report
from polyadic.core.settings import Count, Within

if TYPE_CHECKING:
    from collections.abc import Callable

    from polyadic.core.stage_cache import Facts


@dataclass(frozen=True)
class Settings(ExperimentSettings):
    """The settings of a run."""

    folds: Annotated[int, Within(1, 5), Option("Of MovieLens, from the first.")] = 5
    splits: Annotated[Count, Option("Of the pupils.")] = 10
    seed: Seed = 0


def _machines(run: Run[Settings]) -> Stages:
    rows: list[Facts] = []
    made_of = {"seed": run.settings.seed}
    for fold in machines.FOLDS[: run.settings.folds]:
        for attributes in (False, True):
            how: Facts = {"attributes": attributes, "seed": run.settings.seed, "root": run.root}
            fits: dict[str, Callable[[], Facts]] = {"mcmc": partial(machines.drawn, fold, **how)}
            fits |= {solver: partial(machines.descended, fold, solver, **how) for solver in machines.EPOCHS}
            for name, fit in fits.items():
                stage = f"{fold} {name}{' attributes' if attributes else ''}"
                rows += (yield table_stage(stage, made_of, fit))["rows"]
    return rows


def _labels(run: Run[Settings]) -> Stages:
    rows = {}
    for name in labels.SETS:
        make = partial(labels.compared, name, seed=run.settings.seed, root=run.root)
        rows[name] = (yield table_stage(name, {"seed": run.settings.seed}, make))["rows"]
    return rows


def _schools(run: Run[Settings]) -> Stages:
    splits = run.settings.splits
    make = partial(schools.compared, splits=splits, seed=run.settings.seed, root=run.root)
    return (yield table_stage(str(splits), {"seed": run.settings.seed}, make))["rows"]


STAGES: Parts[Settings] = {"machines": _machines, "labels": _labels, "schools": _schools}
EXPERIMENT = Experiment(Settings, STAGES, report)
