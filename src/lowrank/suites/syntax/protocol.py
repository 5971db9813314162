"""Syntax with factors of low rank on free treebanks, each model beside what it is to be compared with."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from lowrank.errors import InputError, check_int
from lowrank.suites.store import Store, write_report
from lowrank.suites.syntax import parsing
from lowrank.suites.syntax.report import draw, report

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from lowrank.suites.store import Facts, Steps

PARTS = ("parsing",)
SIZES = (250, 1000, 4000, 12_544)
"""Sentences of the English Web Treebank to learn from; the last is all."""


@dataclass(frozen=True)
class Settings:
    """The settings of a run.

    Attributes
    ----------
    parts : tuple of str
        Of :data:`PARTS`.
    sizes : tuple of int
        Sentences to learn from.
    seeds : int
        Draws of sentences, from seed 0.

    Raises
    ------
    InputError
        If one is out of range.
    """

    parts: tuple[str, ...] = PARTS
    sizes: tuple[int, ...] = SIZES
    seeds: int = 2

    def __post_init__(self) -> None:
        if not self.parts or not {*self.parts} <= {*PARTS}:
            raise InputError(f"parts are {', '.join(PARTS)}; got {', '.join(self.parts) or 'none'}")
        if not self.sizes:
            raise InputError("give at least one number of sentences to learn from")
        for size in self.sizes:
            check_int("sizes", size, low=1)
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
        Of the test sets: see :func:`lowrank.datasets.folder`.
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
    store = Store(out, steps=steps, force=force)
    makers: dict[str, Callable[..., Any]] = {"parsing": _parsing}
    found = {part: makers[part](store, settings, root) for part in PARTS if part in settings.parts}
    told = write_report(out, {"settings": asdict(settings), **found}, report)
    draw(told, out)
    return told


def _parsing(store: Store, settings: Settings, root: Path | None) -> list[Facts]:
    rows = []
    for seed in range(settings.seeds):
        for size in settings.sizes:
            made_of = {"size": size, "seed": seed}
            name = f"parsing/{size} {seed}"
            (store.folder / name).parent.mkdir(parents=True, exist_ok=True)
            rows += store.keep(
                name, made_of, lambda _, size=size, seed=seed: {"rows": parsing.curve([size], seed=seed, root=root)}
            )["rows"]
    return rows
