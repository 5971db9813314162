"""Parse, tag and find semantic roles with factors of low rank and without, from few sentences and from all."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Annotated

from experiments.experiment import Experiment, ExperimentSettings, Option, Parts, Run, Stages, table_stage
from experiments.syntax import higher_order, languages, parsing, roles, tagging
from experiments.syntax.report import draw, report
from polyadic.core.settings import Count, Within


@dataclass(frozen=True)
class Settings(ExperimentSettings):
    """The settings of a run."""

    sizes: Annotated[tuple[Count, ...], Option("Sentences to learn from, of parsers of first order.")] = (
        *(250, 1000, 4000),
        12_544,  # all of the English Web Treebank
    )
    few: Annotated[tuple[Count, ...], Option("Sentences to learn from, of parsers of each order.")] = (1000, 4000)
    shares: Annotated[
        tuple[Annotated[float, Within(0, 1, above=True)], ...], Option("Of the sentences with semantic roles.")
    ] = (0.01, 0.05, 0.25, 1.0)
    seeds: Annotated[Count, Option("Draws of sentences, each learned from anew.")] = 2


def _parsing(run: Run[Settings]) -> Stages:
    for seed in range(run.settings.seeds):
        for size in run.settings.sizes:
            make = partial(parsing.curve, [size], seed=seed, root=run.root)
            yield table_stage(f"{size} {seed}", {}, make)


def _orders(run: Run[Settings]) -> Stages:
    for seed in range(run.settings.seeds):
        for size in run.settings.few:
            make = partial(higher_order.higher_orders, size, seed=seed, part="test", root=run.root)
            yield table_stage(f"{size} {seed}", {}, make)


def _text(run: Run[Settings]) -> Stages:
    yield table_stage("0", {}, partial(parsing.tagged, seed=0, root=run.root))


def _tagging(run: Run[Settings]) -> Stages:
    yield table_stage("0", {}, partial(tagging.tagging, root=run.root))


def _roles(run: Run[Settings]) -> Stages:
    for seed in range(run.settings.seeds):
        for share in run.settings.shares:
            make = partial(roles.curve, [share], seeds=[seed], root=run.root)
            yield table_stage(f"{share:g} {seed}", {}, make)


def _roles_by_parser(run: Run[Settings]) -> Stages:
    for seed in range(run.settings.seeds):
        make = partial(roles.by_parser, run.settings.shares, seeds=[seed], root=run.root)
        yield table_stage(f"{seed}", {"shares": list(run.settings.shares)}, make)


def _treebanks(run: Run[Settings]) -> Stages:
    for name in languages.names("treebanks", run.root):
        yield table_stage(name, {}, partial(languages.parsed, name, seed=0, root=run.root))


def _propositions(run: Run[Settings]) -> Stages:
    for name in languages.names("propositions", run.root):
        yield table_stage(name, {}, partial(languages.labelled, name, seed=0, root=run.root))


STAGES: Parts[Settings] = {
    "parsing": _parsing,
    "orders": _orders,
    "text": _text,
    "tagging": _tagging,
    "roles": _roles,
    "roles-by-parser": _roles_by_parser,
    "treebanks": _treebanks,
    "propositions": _propositions,
}
EXPERIMENT = Experiment(Settings, STAGES, report, draw)
