"""Predictors of low rank on real tables, each beside its baselines, with settings chosen within training parts."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from polyadic.errors import InputError, check_int
from polyadic.suites.predictors import labels, machines, schools
from polyadic.suites.predictors.report import report
from polyadic.suites.store import Store, write_report

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from polyadic.suites.store import Facts, Steps

PARTS = ("machines", "labels", "schools")


@dataclass(frozen=True)
class Settings:
    """The settings of a run.

    Attributes
    ----------
    parts : tuple of str
        Of :data:`PARTS`.
    folds : int
        Of MovieLens, from the first.
    splits : int
        Of the pupils.
    seed : int

    Raises
    ------
    InputError
        If one is out of range.
    """

    parts: tuple[str, ...] = PARTS
    folds: int = 5
    splits: int = 10
    seed: int = 0

    def __post_init__(self) -> None:
        if not self.parts or not {*self.parts} <= {*PARTS}:
            raise InputError(f"parts are {', '.join(PARTS)}; got {', '.join(self.parts) or 'none'}")
        check_int("folds", self.folds, low=1, high=5)
        check_int("splits", self.splits, low=1)


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
    store = Store(out, steps=steps, force=force)
    makers: dict[str, Callable[..., Any]] = {"machines": _machines, "labels": _labels, "schools": _schools}
    found = {part: makers[part](store, settings, root) for part in PARTS if part in settings.parts}
    return write_report(out, {"settings": asdict(settings), **found}, report)


def _machines(store: Store, settings: Settings, root: Path | None) -> list[Facts]:
    rows = []
    for fold in machines.FOLDS[: settings.folds]:
        for attributes in (False, True):
            how: Facts = {"attributes": attributes, "seed": settings.seed, "root": root}
            fits: dict[str, Callable[[], Facts]] = {"mcmc": partial(machines.drawn, fold, **how)}
            fits |= {solver: partial(machines.descended, fold, solver, **how) for solver in machines.EPOCHS}
            for name, make in fits.items():
                stage = f"machines/{fold} {name}{' attributes' if attributes else ''}"
                rows += _keep(store, stage, settings.seed, partial(_row, make))
    return rows


def _row(make: Callable[[], Facts]) -> list[Facts]:
    return [make()]


def _labels(store: Store, settings: Settings, root: Path | None) -> Facts:
    compared = partial(labels.compared, seed=settings.seed, root=root)
    return {name: _keep(store, f"labels/{name}", settings.seed, partial(compared, name)) for name in labels.SETS}


def _schools(store: Store, settings: Settings, root: Path | None) -> list[Facts]:
    make = partial(schools.compared, splits=settings.splits, seed=settings.seed, root=root)
    return _keep(store, f"schools/{settings.splits}", settings.seed, make)


def _keep(store: Store, name: str, seed: int, make: Callable[[], list[Facts]]) -> list[Facts]:
    """Keep the rows of a table as a stage."""
    (store.folder / name).parent.mkdir(parents=True, exist_ok=True)
    rows: list[Facts] = store.keep(name, {"seed": seed}, lambda _: {"rows": make()})["rows"]
    return rows
