"""Reranking in tensor space against perceptron and MIRA, with growing training sets, on lists of our own.

References
----------
Cao, Khudanpur (2014), Online learning in tensor space, section 5.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import partial
from typing import TYPE_CHECKING, get_args

from polyadic.errors import InputError, check_int
from polyadic.metrics.figures import difference
from polyadic.models.predictors.mapping import Mapping
from polyadic.suites.cao2014 import lists as making
from polyadic.suites.cao2014.compared import Method, baselines, figure, measured, methods, share_of, spectra
from polyadic.suites.cao2014.drawing import draw
from polyadic.suites.cao2014.report import report
from polyadic.suites.cao2014.tasks import TASKS
from polyadic.suites.store import Store, write_report

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from polyadic.suites.cao2014.lists import Lists
    from polyadic.suites.store import Facts, Steps

SHARES = (0.125, 0.25, 0.5, 1.0)


@dataclass(frozen=True)
class Settings:
    """The settings of a run.

    Attributes
    ----------
    tasks : tuple of str
        ``"penn"``, constituents of the Penn Treebank sample; ``"ewt"``, dependencies of the English Web Treebank.
    shares : tuple of float
        Of the training lists.
    orders, ranks : tuple of int
        Of the tensors, D and H.
    mappings : tuple of str
        Of :data:`~polyadic.models.predictors.mapping.Mapping`.
    epochs : int
        At most; the best on the lists held out counts.
    seeds : int
        Training sets of each share below 1; of all lists there is one.
    k : int
        Candidates of a sentence.
    seed : int

    Raises
    ------
    InputError
        If one is out of range.
    """

    tasks: tuple[str, ...] = tuple(TASKS)
    shares: tuple[float, ...] = SHARES
    orders: tuple[int, ...] = (2, 3, 4)
    ranks: tuple[int, ...] = (1, 2, 3)
    mappings: tuple[Mapping, ...] = ("guided", "sequential")
    epochs: int = 8
    seeds: int = 3
    k: int = 50
    seed: int = 0

    def __post_init__(self) -> None:
        allowed = {"tasks": tuple(TASKS), "mappings": get_args(Mapping)}
        for name, known in allowed.items():
            given = getattr(self, name)
            if not given or not {*given} <= {*known}:
                raise InputError(f"{name} are {', '.join(known)}; got {', '.join(given) or 'none'}")
        if not self.shares or not all(0 < share <= 1 for share in self.shares):
            raise InputError(f"shares are above 0 and at most 1; got {self.shares}")
        for number in (*self.orders, *self.ranks):
            check_int("orders and ranks", number, low=1)
        for name in ("epochs", "seeds", "k"):
            check_int(name, getattr(self, name), low=1)


def run(out: Path, *, settings: Settings, steps: Steps, root: Path | None = None, force: bool = False) -> Facts:
    """Make the lists, fit all rerankers, and report.

    Parameters
    ----------
    out : Path
        The folder of the run. Finished stages in it are used again.
    settings : Settings
    steps : callable
        Told of each stage.
    root : Path, optional
        Of the treebanks: see :func:`polyadic.datasets.folder`.
    force : bool
        Whether stages made with other settings are replaced instead of refused.

    Returns
    -------
    dict
        The content of ``report.json``.

    Raises
    ------
    InputError
        If a treebank cannot be read, or stages in the folder were made with other settings.
    """
    store = Store(out, steps=steps, force=force)
    found = {task: _task(store, task, settings, root) for task in settings.tasks}
    facts = write_report(out, {"settings": asdict(settings), **found}, report)
    draw(facts, out)
    return facts


def _task(store: Store, task: str, settings: Settings, root: Path | None) -> Facts:
    (store.folder / task).mkdir(exist_ok=True)
    made_of = {"k": settings.k, "seed": settings.seed}
    where = store.folder / task / "lists"

    def make(target: Path | None) -> Facts:
        lists, facts = TASKS[task](k=settings.k, seed=settings.seed, root=root)
        for label in where.parent.glob("*.json"):  # what was learned from other lists is learned anew
            label.unlink()
        making.save_lists(target or where, lists)
        return facts

    described_lists = store.keep(f"{task}/lists", made_of, make, target=where)
    whole = making.load_lists(where)
    rows = [
        row
        for share in settings.shares
        for seed in range(settings.seed, settings.seed + (settings.seeds if share < 1 else 1))
        for row in _portion(store, task, whole, share, seed, settings)
    ]
    drawn = store.keep(
        f"{task}/spectra", made_of, lambda _: spectra(whole, mappings=get_args(Mapping), seed=settings.seed)
    )
    found = {name: {part: share_of(counts) for part, counts in one.items()} for name, one in baselines(whole).items()}
    return {
        "lists": described_lists,
        "baselines": found,
        "rows": [{key: value for key, value in row.items() if key != "choice"} for row in rows],
        "differences": _differences(whole, rows, settings),
        "spectra": {mapping: drawn[mapping] for mapping in get_args(Mapping)},
    }


def _portion(store: Store, task: str, whole: Lists, share: float, seed: int, settings: Settings) -> list[Facts]:
    """Fit every reranker to a share of the training lists."""
    part: list[Lists] = []  # made where it is needed first

    def make(method: Method, _: Path | None) -> Facts:
        part[:] = part or [making.portion(whole, share, seed=seed)]
        return measured(method, part[0])

    rows = []
    for method in methods(
        orders=settings.orders, ranks=settings.ranks, mappings=settings.mappings, epochs=settings.epochs, seed=seed
    ):
        made_of = {"k": settings.k, "epochs": settings.epochs}  # and of the lists: see _task
        facts = store.keep(f"{task}/{share:g} {seed} {method.name}", made_of, partial(make, method))
        test, dev = share_of(facts["test"]), share_of(facts["dev"])
        rows.append({**facts, "share": share, "seed": seed, "figure": test, "held_out_figure": dev})
    return rows


def _differences(lists: Lists, rows: list[Facts], settings: Settings) -> list[Facts]:
    """Compare what T-MIRA chose on the lists held out with others, over the same sentences and all seeds."""
    found = []
    for share in settings.shares:
        here = [row for row in rows if row["share"] == share]
        choices = {
            name: [row["choice"] for row in here if row["name"] == name] for name in {row["name"] for row in here}
        }
        tensor = partial(_chosen, here)
        sides = {
            "T-MIRA": tensor(_like(0, "T-MIRA")),
            "guided": tensor(_like(-1, "guided")),
            "sequential": tensor(_like(-1, "sequential")),
            "published": tensor(_like(-1, "published")),
            **{f"order {D}": tensor(_like(1, D)) for D in settings.orders},
            **{f"rank {H}": tensor(_like(2, H)) for H in settings.ranks},
            **{name: choices[name] for name in ("MIRA", "MIRA published")},
            "perceptron": choices["perceptron"],
            "one best": [[0] * len(lists.test.groups)],
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
        for one, other in pairs:
            if sides[one] and sides[other]:
                a, b = (figure(name, lists.test, sides[name]) for name in (one, other))
                gap = difference(a, b)
                found.append({"share": share, "one": one, "other": other, **gap._asdict()})
    return found


def _like(place: int, wanted: object) -> Callable[[str], bool]:
    """Tell names of T-MIRA with this order, rank or mapping; what is published has but one order and one mapping."""
    return lambda name: (
        name.startswith("T-MIRA")
        and name.split()[place] == str(wanted)
        and ("published" not in name or wanted in {"published", "T-MIRA"})
    )


def _chosen(rows: list[Facts], fits: Callable[[str], bool]) -> list[list[int]]:
    """Give the choices, seed by seed, of the method among some that was best on the lists held out."""
    found = []
    for seed in sorted({row["seed"] for row in rows}):
        some = [row for row in rows if row["seed"] == seed and fits(row["name"])]
        if some:
            found.append(max(some, key=lambda row: row["held_out_figure"])["choice"])
    return found
