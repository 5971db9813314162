r"""The experiments of Huang and Anandkumar (2017): planted filters, and sentences from scratch.

Nothing is trained on but the training part of each set, and settings are chosen within it. The paper says neither which
settings it took nor how it divided the sets; what is done here is what :func:`run` says.

References
----------
Huang, Anandkumar (2016), Unsupervised learning of word-sequence representations from scratch via convolutional tensor
decomposition, section 3 and appendix B. arXiv:1606.03153
"""

from __future__ import annotations

import warnings
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from polyadic import datasets
from polyadic.errors import InputError, check_int
from polyadic.models.sentences.base import EmptySentencesWarning
from polyadic.suites.huang2017 import labelled, paired, synthetic
from polyadic.suites.huang2017.choosing import CLASSES, SCORES
from polyadic.suites.huang2017.encoders import Grid
from polyadic.suites.huang2017.report import draw, report
from polyadic.suites.huang2017.tables import figures
from polyadic.suites.store import Store, digest, write_report

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from polyadic.suites.store import Facts, Steps

PARTS = ("synthetic", "mr", "subj", "msrp", "sts2012")
OWN = ("surprise.OnWN", "surprise.SMTnews")
"""Sets without a training part: they are trained on all others, and once more on nine tenths of themselves."""


@dataclass(frozen=True)
class Settings:
    """The settings of a run.

    Attributes
    ----------
    parts : tuple of str
        Of :data:`PARTS`.
    folds : int
        Of MR and SUBJ, and of the sets of STS that have no training part.
    grid : Grid
        What settings are chosen from.
    samples : tuple of int
        Of planted filters.
    filters : tuple of int
        Numbers of planted filters, at the third of the samples.
    trials, tries : int
        Problems of each size; and those of each case of exact cumulants.
    sweeps : int
        Of alternating minimisation.
    seed : int

    Raises
    ------
    InputError
        If one is out of range.
    """

    parts: tuple[str, ...] = PARTS
    folds: int = 10
    grid: Grid = field(default_factory=Grid)
    samples: tuple[int, ...] = (1_000, 10_000, 100_000, 1_000_000)
    filters: tuple[int, ...] = (1, 2, 3, 4)
    trials: int = 5
    tries: int = 20
    sweeps: int = 400
    seed: int = 0

    def __post_init__(self) -> None:
        if not self.parts or not {*self.parts} <= {*PARTS}:
            raise InputError(f"parts are {', '.join(PARTS)}; got {', '.join(self.parts) or 'none'}")
        check_int("folds", self.folds, low=2)
        for name in ("trials", "tries", "sweeps"):
            check_int(name, getattr(self, name), low=1)


LENGTH, STARTS, MOST = 8, 10, 100_000
"""Of planted filters; random starts; samples that alternating minimisation is given at most."""


def run(out: Path, *, settings: Settings, steps: Steps, root: Path | None = None, force: bool = False) -> Facts:
    """Repeat the experiments, and report.

    MR and SUBJ: ten folds, and settings chosen on a fifth of each training part. MSRP: its training and test parts,
    and settings chosen by five folds of the former. STS 2012: sets with a training part are trained on it, the two
    others on all three training parts, with settings chosen on a fifth, and again by ten folds of their own, with no
    settings to choose but the strength of the penalty and the pooling.

    Parameters
    ----------
    out : Path
        The folder of the run. Finished stages in it are used again.
    settings : Settings
        What is done, and how.
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
    with warnings.catch_warnings():
        # the report says that sentences without a known word are zero
        warnings.simplefilter("ignore", EmptySentencesWarning)
        found = _found(Store(out, steps=steps, force=force), settings, root)
    facts = write_report(
        out, {"settings": asdict(settings), **{key: figures(key, part) for key, part in found.items()}}, report
    )
    draw(facts, out)
    return facts


def _found(store: Store, settings: Settings, root: Path | None) -> Facts:
    found: Facts = {}
    if "synthetic" in settings.parts:
        found["synthetic"] = _synthetic(store, settings)
        found["recovery"] = _recovery(store, settings)
    for name in ("mr", "subj"):
        if name in settings.parts:
            found[name] = _labelled(store, name, datasets.labelled_sentences(name, root=root), settings)
    if "msrp" in settings.parts:
        train, test = (datasets.paraphrases(part, root=root) for part in ("train", "test"))
        found["msrp"] = _paired(store, "msrp", train, {"msrp": test}, CLASSES, settings)
    if "sts2012" in settings.parts:
        sets = datasets.sts2012("train", root=root), datasets.sts2012("test", root=root)
        found["sts2012"] = _sts(store, *sets, settings)
    return found


def _synthetic(store: Store, settings: Settings) -> Facts:
    (store.folder / "synthetic").mkdir(exist_ok=True)
    at = settings.samples[min(2, len(settings.samples) - 1)]
    sizes = [(2, number) for number in settings.samples] + [(L, at) for L in settings.filters if L != 2]
    found = {}
    for L, number in sizes:
        made_of = {"filters": L, "samples": number, "trials": settings.trials, "sweeps": settings.sweeps}
        made_of |= {"seed": settings.seed, "length": LENGTH, "starts": STARTS}

        def make(_: Path | None, L: int = L, number: int = number) -> Facts:
            problems = [synthetic.planted(L, LENGTH, settings.seed + trial) for trial in range(settings.trials)]
            ours = [synthetic.by_cumulants(problem, number, starts=STARTS) for problem in problems]
            theirs: list[Any] = []
            if number <= MOST:
                theirs = [synthetic.by_alternation(problem, number, sweeps=settings.sweeps) for problem in problems]
            return {"filters": L, "samples": number, "cumulants": ours, "alternation": theirs}

        name = f"synthetic/{L} filters, {number} samples"
        found[name] = store.keep(name, made_of, make)
    return found


def _recovery(store: Store, settings: Settings) -> Facts:
    found = {}
    for case in synthetic.CASES:
        made_of = {"tries": settings.tries, "seed": settings.seed}

        def make(_: Path | None, case: synthetic.Case = case) -> Facts:
            how = {"tries": settings.tries, "seed": settings.seed}
            rates = {
                method: [synthetic.recovery(case, method, starts=starts, **how) for starts in (1, STARTS)]
                for method in synthetic.METHODS
            }
            return {"case": str(case), "rates": rates}

        found[str(case)] = store.keep(f"synthetic/{case}", made_of, make)
    return found


def _labelled(store: Store, name: str, cases: list[datasets.Labelled], settings: Settings) -> Facts:
    (store.folder / name).mkdir(exist_ok=True)
    labels = np.array([case.label for case in cases])
    splits = labelled.folds(labels, settings.folds, settings.seed)
    made_of = {"data": digest(repr(cases)), "folds": settings.folds, **_given(settings)}
    found = {}
    for number, split in enumerate(splits):

        def make(_: Path | None, split: labelled.Split = split) -> Facts:
            return labelled.evaluate(cases, split, settings.grid, settings.seed)

        found[str(number)] = store.keep(f"{name}/fold {number}", {**made_of, "fold": number}, make)
    return found


def _paired(
    store: Store,
    name: str,
    train: Sequence[datasets.Compared],
    tests: Mapping[str, Sequence[datasets.Compared]],
    rule: Any,
    settings: Settings,
) -> Facts:
    made_of = {"data": digest(repr((train, tests))), **_given(settings)}
    rounds = 5 if rule is CLASSES else 1

    def make(_: Path | None) -> Facts:
        return paired.evaluate(train, tests, rule, settings.grid, settings.seed, rounds=rounds)

    found = store.keep(name, made_of, make)
    return {"methods": found, "gold": {key: [pair.score for pair in pairs] for key, pairs in tests.items()}}


def _sts(store: Store, train: dict[str, Any], test: dict[str, Any], settings: Settings) -> Facts:
    (store.folder / "sts2012").mkdir(exist_ok=True)
    grid = settings.grid
    settings = replace(settings, grid=replace(grid, filters=grid.filters[:1]))
    least = replace(grid, words=grid.words[:1], ranks=grid.ranks[:1], filters=grid.filters[:1], a=grid.a[-1:])
    found = {}
    for name, pairs in train.items():
        found[name] = _paired(store, f"sts2012/{name}", pairs, {name: test[name]}, SCORES, settings)
    every = [pair for pairs in train.values() for pair in pairs]
    others = {name: test[name] for name in OWN}
    found["all"] = _paired(store, "sts2012/all", every, others, SCORES, settings)
    rng = np.random.default_rng(settings.seed)
    for name in OWN:
        order = rng.permutation(len(test[name]))
        for number, part in enumerate(np.array_split(order, settings.folds)):
            rest = [test[name][at] for at in np.setdiff1d(order, part)]
            tested = {name: [test[name][at] for at in part]}
            stage = f"sts2012/{name}, fold {number}"
            found[f"{name} {number}"] = _paired(store, stage, rest, tested, SCORES, replace(settings, grid=least))
    return found


def _given(settings: Settings) -> Facts:
    return {"grid": asdict(settings.grid), "seed": settings.seed}
