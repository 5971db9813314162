"""Syntax with factors of low rank on free treebanks, each model beside what it is to be compared with."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from polyadic.errors import InputError, check_int
from polyadic.suites.store import Store, run_stages
from polyadic.suites.syntax import higher_order, parsing, roles, tagging
from polyadic.suites.syntax.report import draw, report

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from polyadic.suites.store import Facts, Stage, Steps

PARTS = ("parsing", "orders", "text", "tagging", "roles")
SIZES = (250, 1000, 4000, 12_544)
"""Sentences of the English Web Treebank to learn from; the last is all."""
FEW = (1000, 4000)
SHARES = (0.25, 1.0)


@dataclass(frozen=True)
class Settings:
    """The settings of a run.

    Attributes
    ----------
    parts : tuple of str
        Of :data:`PARTS`.
    sizes : tuple of int
        Sentences to learn from, of parsers of first order.
    few : tuple of int
        Sentences to learn from, of parsers of each order.
    shares : tuple of float
        Of the sentences with semantic roles.
    seeds : int
        Draws of sentences, from seed 0.

    Raises
    ------
    InputError
        If one is out of range.
    """

    parts: tuple[str, ...] = PARTS
    sizes: tuple[int, ...] = SIZES
    few: tuple[int, ...] = FEW
    shares: tuple[float, ...] = SHARES
    seeds: int = 2

    def __post_init__(self) -> None:
        if not self.parts or not {*self.parts} <= {*PARTS}:
            raise InputError(f"parts are {', '.join(PARTS)}; got {', '.join(self.parts) or 'none'}")
        if not (self.sizes and self.few and self.shares):
            raise InputError("give at least one number of sentences to learn from, and one share")
        for name in ("sizes", "few"):
            for size in getattr(self, name):
                check_int(name, size, low=1)
        if not all(0 < share <= 1 for share in self.shares):
            raise InputError(f"shares must be above 0 and at most 1; got {self.shares}")
        check_int("seeds", self.seeds, low=1)


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
    told = run_stages(Store(out, steps=steps, force=force), settings, stages, report=report)
    draw(told, out)
    return told


def _stage(part: str, name: str, rows: Callable[[], list[Facts]]) -> Stage:
    """Give a stage that keeps the rows of a table; its name says all that they are made of."""
    return name, {"stage": f"{part}/{name}"}, lambda: {"rows": rows()}


def _parsing(settings: Settings, root: Path | None) -> Iterator[Stage]:
    for seed in range(settings.seeds):
        for size in settings.sizes:
            yield _stage("parsing", f"{size} {seed}", partial(parsing.curve, [size], seed=seed, root=root))


def _orders(settings: Settings, root: Path | None) -> Iterator[Stage]:
    for seed in range(settings.seeds):
        for size in settings.few:
            make = partial(higher_order.higher_orders, size, seed=seed, part="test", root=root)
            yield _stage("orders", f"{size} {seed}", partial(_row, make))


def _text(settings: Settings, root: Path | None) -> Iterator[Stage]:
    del settings
    yield _stage("text", "0", partial(_row, partial(parsing.tagged, seed=0, root=root)))


def _tagging(settings: Settings, root: Path | None) -> Iterator[Stage]:
    del settings
    yield _stage("tagging", "0", partial(_row, partial(tagging.tagging, root=root)))


def _roles(settings: Settings, root: Path | None) -> Iterator[Stage]:
    for seed in range(settings.seeds):
        for share in settings.shares:
            yield _stage("roles", f"{share:g} {seed}", partial(roles.curve, [share], seeds=[seed], root=root))


def _row(make: Callable[[], Facts]) -> list[Facts]:
    return [make()]


STAGES: dict[str, Callable[[Settings, Path | None], Iterator[Stage]]] = {
    "parsing": _parsing,
    "orders": _orders,
    "text": _text,
    "tagging": _tagging,
    "roles": _roles,
}
