"""Models of sequences and topics learned from moments, each beside what it is to be compared with."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from polyadic.datasets.pautomac import pautomac_problem
from polyadic.datasets.treebanks import web_treebank
from polyadic.errors import InputError, check_int
from polyadic.suites.spectral import automata, grammars, hidden, topics
from polyadic.suites.spectral.report import report
from polyadic.suites.store import Store, run_stages

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from polyadic.suites.store import Facts, Stage, Steps

PARTS = ("pautomac", "completion", "tags", "hidden", "topics", "grammars")
PROBLEMS = (1, 3, 7, 24, 29, 42)
RANKS = (6, 10, 16, 25, 40, 60)
CHOICES: tuple[dict[str, Any], ...] = (
    {"rank": RANKS, "starts": 2},
    {"rank": RANKS, "starts": 2, "scaling": 0.25, "basis": 150, "longest": 3},
)
"""Settings of automata that held-out strings choose among."""
LARGE: dict[int, tuple[dict[str, Any], ...]] = {1: ({"rank": (20, 40)},), 3: ({"rank": (25, 40), "starts": 2},)}
"""Those of problems whose automata have many states and take long."""
STRINGS = (25, 50, 100, 200, 1000)
PLANTED = 20
PENALTIES = (0.003, 0.01, 0.03, 0.1)
SIZES = (1000, 4000, 16_000, 64_000)
COLUMNS: dict[str, dict[str, Any]] = {
    "upos": {"states": (10, 14, 18), "seeds": 2},
    "xpos": {"states": (24, 45), "seeds": 1},
}


@dataclass(frozen=True)
class Settings:
    """The settings of a run.

    Attributes
    ----------
    parts : tuple of str
        Of :data:`PARTS`.
    problems : tuple of int
        Of PAutomaC.
    planted : int
        Automata whose Hankel matrices are completed.
    starts : int
        Random starts of Baum-Welch beside a spectral one.
    seed : int

    Raises
    ------
    InputError
        If one is out of range.
    """

    parts: tuple[str, ...] = PARTS
    problems: tuple[int, ...] = PROBLEMS
    planted: int = PLANTED
    starts: int = 20
    seed: int = 0

    def __post_init__(self) -> None:
        if not self.parts or not {*self.parts} <= {*PARTS}:
            raise InputError(f"parts are {', '.join(PARTS)}; got {', '.join(self.parts) or 'none'}")
        if not {*self.problems} <= {*PROBLEMS} or not self.problems:
            raise InputError(f"problems are {', '.join(map(str, PROBLEMS))}; got {self.problems}")
        check_int("planted", self.planted, low=1)
        check_int("starts", self.starts, low=1)


def run(out: Path, *, settings: Settings, steps: Steps, root: Path | None = None, force: bool = False) -> Facts:
    """Do all of it, and report.

    Parameters
    ----------
    out : Path
        The folder of the run. Finished stages in it are used again.
    settings : Settings
    steps : callable
        Told of each stage.
    root : Path, optional
        Of the test sets: see :func:`polyadic.datasets.folder`.
    force : bool
        Whether stages made with other settings are replaced instead of refused.

    Returns
    -------
    dict
        The content of ``report.json``.

    Raises
    ------
    InputError
        If a test set cannot be read, or stages in the folder were made with other settings.
    """
    stages = {part: STAGES[part](settings, root) for part in PARTS if part in settings.parts}
    return run_stages(Store(out, steps=steps, force=force), settings, stages, report=report)


def _pautomac(settings: Settings, root: Path | None) -> Iterator[Stage]:
    for number in settings.problems:
        choices = LARGE.get(number, CHOICES)
        yield str(number), {"seed": settings.seed}, partial(_problem, number, choices, settings.seed, root)


def _problem(number: int, choices: tuple[dict[str, Any], ...], seed: int, root: Path | None) -> Facts:
    return automata.pautomac_figures(pautomac_problem(number, root=root), choices, seed=seed)


def _completion(settings: Settings, root: Path | None) -> Iterator[Stage]:
    del root
    seeds = range(settings.seed, settings.seed + settings.planted)
    made_of = {"seed": settings.seed, "planted": settings.planted}
    for strings in STRINGS:
        for least in (0, 1):
            yield f"{strings} {least}", made_of, partial(_completed, strings, least, seeds)


def _completed(strings: int, least: int, seeds: range) -> Facts:
    rows = [automata.completion_figures(strings, penalties=PENALTIES, least=least, seed=seed) for seed in seeds]
    return {"strings": strings, "least": least, "rows": rows}


def _tags(settings: Settings, root: Path | None) -> Iterator[Stage]:
    made_of = {"seed": settings.seed}
    yield "automaton", made_of, partial(_next_tags, settings.seed, root)
    for column, how in COLUMNS.items():
        yield column, made_of, partial(hidden.next_tags, column, **how, root=root)


def _next_tags(seed: int, root: Path | None) -> Facts:
    train, test = ([tree.upos for tree in web_treebank(part, root=root)] for part in ("train", "test"))
    return automata.next_tag_figures(train, test, seed=seed)


def _hidden(settings: Settings, root: Path | None) -> Iterator[Stage]:
    made_of = {"seed": settings.seed, "starts": settings.starts}
    yield "recovery", made_of, partial(hidden.recovery, SIZES)
    for states in (4, 8):
        yield f"starts {states}", made_of, partial(_starts, states, settings.starts, settings.seed)
    yield "starts upos", made_of, partial(_tag_starts, settings.starts, root)


def _starts(states: int, seeds: int, seed: int) -> Facts:
    chain = hidden.planted_chain(states, 5 * states, seed=seed)
    data = hidden.drawn(chain, 5000, 10, seed=seed)
    sequences = data.symbols.reshape(-1, 10).tolist()
    return {"true": hidden.true_log_probability(chain, data), **hidden.starts(sequences, states, seeds=seeds)}


def _tag_starts(seeds: int, root: Path | None) -> Facts:
    return hidden.starts([tree.upos for tree in web_treebank("train", root=root)[:2000]], 8, seeds=seeds)


def _topics(settings: Settings, root: Path | None) -> Iterator[Stage]:
    made_of = {"seed": settings.seed}
    yield "recovery", made_of, partial(topics.recovery, SIZES[:3], seed=settings.seed)
    yield "news", made_of, partial(topics.news, seed=settings.seed, root=root)


def _grammars(settings: Settings, root: Path | None) -> Iterator[Stage]:
    yield "penn", {"seed": settings.seed}, partial(grammars.grammars, root=root)


STAGES: dict[str, Callable[[Settings, Path | None], Iterator[Stage]]] = {
    "pautomac": _pautomac,
    "completion": _completion,
    "tags": _tags,
    "hidden": _hidden,
    "topics": _topics,
    "grammars": _grammars,
}
