"""The matrix methods of the tutorial of Bouchard and others (2015), each on a real table, beside its baselines.

References
----------
Bouchard, Naradowsky, Riedel, Rocktäschel, Vlachos (2015), Matrix and tensor factorization methods for natural language
processing, tutorial at ACL.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from polyadic import datasets
from polyadic.errors import InputError, check_int
from polyadic.suites.bouchard2015 import databases, demonstrations, labels, ratings, topics
from polyadic.suites.bouchard2015.report import draw, report
from polyadic.suites.store import Store, write_report

if TYPE_CHECKING:
    from pathlib import Path

    from polyadic.suites.store import Facts, Steps

PARTS = ("demonstrations", "ratings", "listens", "lastfm", "citeulike", "bbc", "kos", "enron", "medical")


@dataclass(frozen=True)
class Settings:
    """The settings of a run.

    Attributes
    ----------
    parts : tuple of str
        Of :data:`PARTS`.
    folds : int
        Folds of MovieLens, from the first; and divisions of listens.
    rank : int
        Of models that learn their penalties.
    named_rank : int
        Of those that recommend.
    topics : int
        Number of them.
    hidden : tuple of float
        Shares of the features that are hidden from those that tell labels.
    seed : int

    Raises
    ------
    InputError
        If one is out of range.
    """

    parts: tuple[str, ...] = PARTS
    folds: int = 5
    rank: int = 10
    named_rank: int = 64
    topics: int = 20
    hidden: tuple[float, ...] = (0.0, 0.5)
    seed: int = 0

    def __post_init__(self) -> None:
        if not self.parts or not {*self.parts} <= {*PARTS}:
            raise InputError(f"parts are {', '.join(PARTS)}; got {', '.join(self.parts) or 'none'}")
        check_int("folds", self.folds, low=1, high=5)
        for name in ("rank", "named_rank", "topics"):
            check_int(name, getattr(self, name), low=1)


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
    makers: dict[str, Any] = {
        "demonstrations": _demonstrations,
        "ratings": _ratings,
        "listens": _listens,
        "lastfm": _recommended,
        "citeulike": _recommended,
        "bbc": _topics,
        "kos": _topics,
        "enron": _labels,
        "medical": _labels,
    }
    found = {part: makers[part](store, part, settings, root) for part in PARTS if part in settings.parts}
    facts = write_report(out, {"settings": asdict(settings), **found}, report)
    draw(facts, out)
    return facts


def _demonstrations(store: Store, part: str, settings: Settings, root: Path | None) -> Facts:  # noqa: ARG001
    seed = settings.seed
    return store.keep(
        part, {"seed": seed}, lambda _: {**demonstrations.descent(seed=seed), "signs": demonstrations.signs(seed=seed)}
    )


def _ratings(store: Store, part: str, settings: Settings, root: Path | None) -> Facts:
    (store.folder / part).mkdir(exist_ok=True)
    about, found = datasets.movielens(root=root), {}
    for number in range(1, settings.folds + 1):
        name = f"u{number}"
        fold = datasets.movielens_fold(name, root=root)

        def make(_: Path | None, fold: Any = fold) -> Facts:
            return {"methods": ratings.evaluate(fold, about, rank=settings.rank, seed=settings.seed)}

        made_of = {"rank": settings.rank, "seed": settings.seed}
        found[name] = store.keep(f"{part}/{name}", made_of, make)["methods"]
    return found


def _listens(store: Store, part: str, settings: Settings, root: Path | None) -> Facts:
    (store.folder / part).mkdir(exist_ok=True)
    data, found = datasets.lastfm(root=root), {}
    for seed in range(settings.seed, settings.seed + settings.folds):

        def make(_: Path | None, seed: int = seed) -> Facts:
            return {"methods": databases.listens(data, rank=settings.rank, seed=seed)}

        found[str(seed)] = store.keep(f"{part}/{seed}", {"rank": settings.rank, "seed": seed}, make)["methods"]
    return found


def _recommended(store: Store, part: str, settings: Settings, root: Path | None) -> list[Facts]:
    def make(_: Path | None) -> Facts:
        how = {"rank": settings.named_rank, "seed": settings.seed}
        if part == "lastfm":
            data = datasets.lastfm(root=root)
            return {"methods": databases.recommended(data.listens, databases.lastfm_choices(data), **how)}
        kept = datasets.citeulike(root=root)
        return {"methods": databases.recommended(kept.kept, databases.citeulike_choices(kept), **how)}

    found = store.keep(part, {"rank": settings.named_rank, "seed": settings.seed}, make)
    return list(found["methods"])


def _topics(store: Store, part: str, settings: Settings, root: Path | None) -> list[Facts]:
    (store.folder / part).mkdir(exist_ok=True)
    collection = topics.bbc(root) if part == "bbc" else topics.kos(root)
    found = []
    for method in topics.METHODS:
        made_of = {"topics": settings.topics, "seed": settings.seed}

        def make(_: Path | None, method: str = method) -> Facts:
            return topics.evaluate(collection, method, rank=settings.topics, seed=settings.seed)

        found.append(store.keep(f"{part}/{method}", made_of, make))
    return found


def _labels(store: Store, part: str, settings: Settings, root: Path | None) -> Facts:
    (store.folder / part).mkdir(exist_ok=True)
    train, test = datasets.multilabel(part, root=root)
    found = {}
    for hidden in settings.hidden:

        def make(_: Path | None, hidden: float = hidden) -> Facts:
            return {"methods": labels.evaluate(train, test, hidden=hidden, seed=settings.seed)}

        stage = f"{part}/{hidden:g} hidden"
        found[f"{hidden:g}"] = store.keep(stage, {"hidden": hidden, "seed": settings.seed}, make)["methods"]
    return found
