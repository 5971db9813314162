"""Learn automata, hidden Markov models and topics from moments, beside n-grams, Baum-Welch and anchors."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from experiments.data.annotated import web_treebank
from experiments.data.pautomac import pautomac_problem
from experiments.data.pronunciations import PRONUNCIATIONS
from experiments.experiment import Experiment, ExperimentSettings, Option, Parts, Run, Seed, Stage, Stages
from experiments.spectral import automata, grammars, hidden, string_grammars, topics, transducers
from experiments.spectral.report import report
from polyadic.core.progress import note
from polyadic.core.settings import Count
from polyadic.datasets.place import folder

if TYPE_CHECKING:
    from collections.abc import Callable

    from polyadic.core.stage_cache import Facts

RANKS = (6, 10, 16, 25, 40, 60)
CHOICES: tuple[dict[str, Any], ...] = (
    {"rank": RANKS, "starts": 2},
    {"rank": RANKS, "starts": 2, "scaling": 0.25, "basis": 150, "max_length": 3},
)
"""Settings of automata that held-out strings choose among."""
TAGS = ("upos", 4), ("upos", 8), ("upos", 12), ("upos", 16), ("xpos", 12)
"""Columns of the treebank and numbers of states of which it is asked where Baum-Welch ends."""
LARGE: dict[int, tuple[dict[str, Any], ...]] = {1: ({"rank": (20, 40)},), 3: ({"rank": (25, 40), "starts": 2},)}
"""Settings of problems whose automata have many states and take long."""
STRINGS = (25, 50, 100, 200, 1000)
PENALTIES = (0.003, 0.01, 0.03, 0.1)
PAIRS = (200, 1000, 5000)
"""Pairs drawn from planted transducers, and strings drawn from planted grammars."""
SIZES = (1000, 4000, 16_000, 64_000)
COLUMNS: dict[str, dict[str, Any]] = {
    "upos": {"states": (10, 14, 18), "seeds": 2},
    "xpos": {"states": (24, 45), "seeds": 1},
}


@dataclass(frozen=True)
class Settings(ExperimentSettings):
    """The settings of a run."""

    problems: Annotated[tuple[Literal[1, 3, 7, 24, 29, 42], ...], Option("Of PAutomaC: 1, 3, 7, 24, 29, 42.")] = (
        1,
        3,
        7,
        24,
        29,
        42,
    )
    planted: Annotated[Count, Option("Automata whose Hankel matrices are completed.")] = 20
    languages: Annotated[tuple[str, ...], Option("Of SIGMORPHON 2020 task 1, whose pronunciations are predicted.")] = (
        "ady",
        "gre",
    )
    pronunciations: Annotated[
        str, Option("Folder with their files.", shown="sequences/sigmorphon2020 in POLYADIC_DATA")
    ] = ""
    starts: Annotated[Count, Option("Random starts of Baum-Welch beside those that are estimated.")] = 20
    seed: Seed = 0


def _pautomac(run: Run[Settings]) -> Stages:
    for number in run.settings.problems:
        choices = LARGE.get(number, CHOICES)
        yield Stage(
            str(number), {"seed": run.settings.seed}, partial(_problem, number, choices, run.settings.seed, run.root)
        )


def _problem(number: int, choices: tuple[dict[str, Any], ...], seed: int, root: Path | None) -> Facts:
    return automata.pautomac_figures(pautomac_problem(number, root=root), choices, seed=seed)


def _completion(run: Run[Settings]) -> Stages:
    seeds = range(run.settings.seed, run.settings.seed + run.settings.planted)
    made_of = {"seed": run.settings.seed, "planted": run.settings.planted}
    for strings in STRINGS:
        for least in (0, 1):
            yield Stage(f"{strings} {least}", made_of, partial(_completed, strings, least, seeds))


def _completed(strings: int, least: int, seeds: range) -> Facts:
    rows = [automata.completion_figures(strings, penalties=PENALTIES, least=least, seed=seed) for seed in seeds]
    return {"strings": strings, "least": least, "rows": rows}


def _tags(run: Run[Settings]) -> Stages:
    made_of = {"seed": run.settings.seed}
    yield Stage("automaton", made_of, partial(_next_tags, run.settings.seed, run.root))
    for column, how in COLUMNS.items():
        yield Stage(column, made_of, partial(hidden.next_tags, column, **how, root=run.root))


def _next_tags(seed: int, root: Path | None) -> Facts:
    train, test = ([tree.upos for tree in web_treebank(part, root=root)] for part in ("train", "test"))
    return automata.next_tag_figures(train, test, seed=seed)


def _hidden(run: Run[Settings]) -> Stages:
    made_of = {"seed": run.settings.seed, "starts": run.settings.starts}
    yield Stage("recovery", made_of, partial(hidden.recovery, SIZES))
    for states in (4, 8):
        yield Stage(f"ends {states}", made_of, partial(_starts, states, run.settings.starts, run.settings.seed))
    for column, states in TAGS:
        yield Stage(
            f"ends {states} {column}", made_of, partial(_tag_starts, column, states, run.settings.starts, run.root)
        )


def _starts(states: int, seeds: int, seed: int) -> Facts:
    chain = hidden.planted_chain(states, 5 * states, seed=seed)
    data = hidden.drawn(chain, 5000, 10, seed=seed)
    sequences = data.symbols.reshape(-1, 10).tolist()
    return {"true": hidden.true_log_probability(chain, data), **hidden.starts(sequences, states, seeds=seeds)}


def _tag_starts(column: str, states: int, seeds: int, root: Path | None) -> Facts:
    trees = web_treebank("train", root=root)[:2000]
    return hidden.starts([getattr(tree, column) for tree in trees], states, seeds=seeds)


def _topics(run: Run[Settings]) -> Stages:
    made_of = {"seed": run.settings.seed}
    yield Stage("recovery", made_of, partial(topics.recovery, SIZES[:3], seed=run.settings.seed))
    yield Stage("news", made_of, partial(topics.news, seed=run.settings.seed, root=run.root))


def _grammars(run: Run[Settings]) -> Stages:
    yield Stage("penn", {"seed": run.settings.seed}, partial(grammars.grammars, root=run.root))


def _transducers(run: Run[Settings]) -> Stages:
    settings = run.settings
    made_of = {"seed": settings.seed, "planted": settings.planted}
    seeds = range(settings.seed, settings.seed + settings.planted)
    for many in PAIRS:
        yield Stage(f"planted {many}", made_of, partial(_each_seed, transducers.recovery, many, seeds))
    place = Path(settings.pronunciations) if settings.pronunciations else folder(run.root) / PRONUNCIATIONS
    if not settings.pronunciations and not place.is_dir():
        note(f"there is no folder {place}, so transducers of pronunciations are left out")
        return
    for language in settings.languages:
        yield Stage(language, {}, partial(transducers.sounds, language, place=place))


def _each_seed(recovery: Callable[..., Facts], many: int, seeds: range) -> Facts:
    return {"many": many, "rows": [recovery(many, seed=seed) for seed in seeds]}


def _strings(run: Run[Settings]) -> Stages:
    made_of = {"seed": run.settings.seed, "planted": run.settings.planted}
    seeds = range(run.settings.seed, run.settings.seed + run.settings.planted)
    for many in PAIRS:
        yield Stage(f"planted {many}", made_of, partial(_each_seed, string_grammars.recovery, many, seeds))
    yield Stage("noun phrases", {}, partial(string_grammars.phrases, root=run.root))


STAGES: Parts[Settings] = {
    "pautomac": _pautomac,
    "completion": _completion,
    "tags": _tags,
    "hidden": _hidden,
    "topics": _topics,
    "grammars": _grammars,
    "transducers": _transducers,
    "strings": _strings,
}
EXPERIMENT = Experiment(Settings, STAGES, report)
