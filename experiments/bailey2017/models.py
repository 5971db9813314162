"""Models to train: methods of :mod:`polyadic.words.methods` with their counts and weights."""

from __future__ import annotations

import inspect
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

import polyadic
from experiments.experiment import ExperimentSettings, Option, Seed, Source, Threads
from polyadic.core.errors import InputError
from polyadic.core.settings import Count, Within
from polyadic.words.evaluation import PUBLISHED
from polyadic.words.evaluation import QUICK as QUICKLY
from polyadic.words.methods import METHODS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from polyadic.core.stage_cache import Facts

STUDIES, TESTS = "Studies", "Tests"

FittedTo = Literal["text", "counts", "ppmi"]
COUNTS: dict[str, dict[str, Any]] = {
    "pairs": {"order": 2, "window": "span", "width": 10, "min_count": 1},
    "near pairs": {"order": 2, "window": "span", "width": 5, "min_count": 1},
    "nearest pairs": {"order": 2, "window": "span", "width": 2, "min_count": 1},
    "triples": {"order": 3, "window": "span", "width": 10, "min_count": 2},
    "chunk pairs": {"order": 2, "window": "chunk", "width": 5, "min_count": 1},
    "chunk triples": {"order": 3, "window": "chunk", "width": 5, "min_count": 1},
}
"""Counts that the models share: arguments of :func:`~polyadic.text.counts.count`."""


@dataclass(frozen=True)
class Model:
    """A row of the table.

    ``make``: Takes the settings and gives a model. ``fitted_to``: The sentences, or some counts, or their associations.
    ``counts``: Which of :data:`COUNTS`; the model is fitted to all of them at once where there are several.
    ``settings``: Keyword arguments of ``make``; those not named have its defaults. ``weights``: Keyword arguments of
    :func:`~polyadic.text.weighting.ppmi`, by counts; those not named have its defaults. ``pairwise``: Whether it is a
    pairwise baseline, of which the best is what every model is compared with.
    """

    make: Callable[..., Any]
    fitted_to: FittedTo
    counts: tuple[str, ...] = ()
    settings: dict[str, Any] = field(default_factory=dict)
    weights: dict[str, dict[str, Any]] = field(default_factory=dict)
    pairwise: bool = False

    def arguments(self, *, rank: int, seed: int, quick: bool = False) -> dict[str, Any]:
        """Return the arguments of the model: settings of the row, rank and seed, and few sweeps for a quick run."""
        has = inspect.signature(self.make).parameters
        given = {"rank": rank, "seed": seed, **self.settings, **(QUICK if quick else {})}
        return {name: value for name, value in given.items() if name in has}


def row(name: str, *, pairwise: bool = False) -> Model:
    """Return the row of a method as :data:`~polyadic.words.methods.METHODS` has it, with its counts by name."""
    method = METHODS[name]
    settings = dict(method.fixed)
    if method.strength:
        settings["penalty"] = method.penalty()
    if method.fitted_to == "corpus":
        return Model(getattr(polyadic, method.model), "text", settings=settings, pairwise=pairwise)
    counts, weights = [], {}
    for order in range(2, method.order + 1) if method.joint else (method.order,):
        window = {"order": order, "window": "span", "width": method.default("width", order)}
        window["min_count"] = method.default("tuple_min_count", order)
        counts += [called for called, counted in COUNTS.items() if counted == window]
        if (smoothing := method.default("smoothing", order)) != 1:
            weights[counts[-1]] = {"smoothing": smoothing}
    fitted_to: FittedTo = "ppmi" if method.fitted_to == "associations" else "counts"
    return Model(getattr(polyadic, method.model), fitted_to, tuple(counts), settings, weights, pairwise)


BASELINES = ("cbow", "sgns", "glove", "ppmi-svd", "root-ca", "nnse")
MODELS = {
    "random": row("random"),
    **{name: row(name, pairwise=True) for name in BASELINES},
    **{name: row(name) for name in ("cp", "cp-s", "cp-sn", "jcp-s", "jcp-sn", "jcp")},
}

SHIFTED, RANKED = "cp-s", "jcp-s"
"""The models of the study of shifts (Table 2) and of that of ranks (Figure 4)."""

QUICK: dict[str, Any] = {"max_iter": 10, "tol": 0.0, "epochs": 2}
"""Settings that take the place of a row's, where its model has them, in a quick run."""
SMALL: dict[str, Any] = {"rank": 50, "shifts": (1, 15), "shift_rank": 25, "ranks": (10, 25, 50), "kinds": QUICKLY}
"""Settings of a quick run."""


@dataclass(frozen=True)
class Settings(ExperimentSettings):
    """The settings of a run."""

    source: Source = ""
    models: Annotated[tuple[str, ...], Option("Train only these.", metavar="A,B...", shown="all", panel="Model")] = (
        tuple(MODELS)
    )
    rank: Annotated[Count, Option("Length of the vectors.", panel="Model")] = 300
    seed: Seed = 0
    """Seed of the split, of the tests made of the text and of the models."""
    min_count: Annotated[Count, Option("Drop words that are rarer.", panel="Corpus")] = 10
    max_size: Annotated[Count | None, Option("Keep only the most frequent words.", panel="Corpus")] = 20_000
    share: Annotated[float, Within(0, 1), Option("Share of the documents to hold out.", panel="Corpus")] = 0.1
    quick: Annotated[bool, Option("Try the path: rank 50, few sweeps, few studies, and only the quick tests.")] = False
    shifts: Annotated[
        tuple[Annotated[float, Within(1)], ...],
        Option("Shifts of the PPMI, for Table 2.", metavar="K,K...|none", panel=STUDIES, empty=True),
    ] = (1, 5, 10, 15, 20, 25, 50)
    shift_rank: Annotated[Count, Option("Rank of that study.", panel=STUDIES)] = 100
    ranks: Annotated[
        tuple[Count, ...], Option("Ranks, for Figure 4.", metavar="R,R...|none", panel=STUDIES, empty=True)
    ] = (25, 50, 100, 200, 300)
    kinds: Annotated[
        tuple[str, ...],
        Option(
            f"Published sets: {', '.join(PUBLISHED)}; or all. Repeatable.",
            flag="--kind",
            metavar="KIND",
            shown="all; the first three if quick",
            panel=TESTS,
            empty=True,
        ),
    ] = PUBLISHED
    pairs: Annotated[
        tuple[Path, ...], Option("Word pairs with scores, of your own.", metavar="FILE", panel=TESTS, empty=True)
    ] = ()
    groups: Annotated[
        tuple[Path, ...], Option("Outlier groups of your own, one a .txt file.", metavar="DIR", panel=TESTS, empty=True)
    ] = ()
    questions: Annotated[
        tuple[Path, ...],
        Option("Analogy questions of your own, four words a line.", metavar="FILE", panel=TESTS, empty=True),
    ] = ()
    threads: Threads = None
    """A run may go on with another number."""
    alone: bool = True
    """Whether each model is trained in a process of its own, where its memory can be measured."""

    @classmethod
    def given(cls, options: Mapping[str, Any]) -> Self:
        """Return the settings for the given options, over those of a quick run with ``quick``."""
        if (Path(options["source"]) / "meta.json").is_file() and {"min_count", "max_size"} & set(options):
            raise InputError(f"--min-count and --max-size come too late: {options['source']} is encoded already")
        if options.get("kinds") == ("all",):
            options = {**options, "kinds": PUBLISHED}
        return cls(**{**(SMALL if options.get("quick") else {}), **options})

    def __post_init__(self) -> None:
        super().__post_init__()
        check_models(self.models)
        if not 0 < self.share < 1:
            raise InputError(f"share must lie between 0 and 1; got {self.share!r}", "share")

    def described(self) -> Facts:
        """Return the settings for the report: all but the text, the tests and the threads."""
        names = ("models", "rank", "seed", "share", "shifts", "shift_rank", "ranks", "quick")
        return {name: getattr(self, name) for name in names}


@dataclass(frozen=True)
class Variant:
    """A model to train: its name, its row and its own settings.

    ``name``: Of its folder. ``row``: With the shift, if there is one. ``rank``: Length of the vectors. ``main``:
    Whether it is compared with the others by all tests; those of the studies are not.
    """

    name: str
    row: Model
    rank: int
    main: bool = False


def check_models(names: Sequence[str]) -> None:
    """Refuse names that are not in the table.

    Examples
    --------
    >>> check_models(["cp-x"])
    Traceback (most recent call last):
    polyadic.core.errors.InputError: there is no model 'cp-x'; there are random, cbow, sgns, ...
    """
    for name in names:
        if name not in MODELS:
            raise InputError(f"there is no model {name!r}; there are {', '.join(MODELS)}")
    if not names or len(set(names)) < len(names):
        raise InputError(f"name each model once, and at least one of {', '.join(MODELS)}; got {', '.join(names)}")


def shifts_of(settings: Settings) -> dict[float, Variant]:
    """Return the models of the study of shifts, by shift; none if its model is not asked for."""
    if SHIFTED not in settings.models:
        return {}
    return {shift: _shifted(shift, settings.shift_rank) for shift in sorted(set(settings.shifts))}


def ranks_of(settings: Settings) -> dict[int, Variant]:
    """Return the models of the study of ranks, by rank; that of the main rank is the main model."""
    if RANKED not in settings.models:
        return {}
    row = MODELS[RANKED]
    return {
        rank: Variant(RANKED, row, rank, main=True)
        if rank == settings.rank
        else Variant(f"{RANKED}-rank-{rank}", row, rank)
        for rank in sorted(set(settings.ranks))
    }


def variants(settings: Settings) -> list[Variant]:
    """Return all models of a run, in the order of the table, those of the studies last."""
    main = [Variant(name, MODELS[name], settings.rank, main=True) for name in MODELS if name in settings.models]
    studies = [*shifts_of(settings).values(), *ranks_of(settings).values()]
    return main + [variant for variant in studies if not variant.main]


def _shifted(shift: float, rank: int) -> Variant:
    from dataclasses import replace

    row = MODELS[SHIFTED]
    weights = {name: {**row.weights.get(name, {}), "shift": float(shift)} for name in row.counts}
    return Variant(f"{SHIFTED}-shift-{shift:g}", replace(row, weights=weights), rank)
