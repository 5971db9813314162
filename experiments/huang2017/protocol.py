r"""Huang and Anandkumar (2017): find planted filters, and test vectors of sentences made from scratch.

Nothing is trained on but the training part of each set, and settings are chosen within it. The paper says neither which
settings it took nor how it divided the sets. Here MR and SUBJ have ten folds, and settings chosen on a fifth of each
training part; MSRP its training and test parts, and settings chosen by five folds of the former; and of STS 2012 the
sets with a training part are trained on it, the two others on all three training parts, with settings chosen on a
fifth, and again by ten folds of their own, with no settings to choose but the strength of the penalty and the pooling.

References
----------
Huang, Anandkumar (2016), Unsupervised learning of word-sequence representations from scratch via convolutional tensor
decomposition, section 3 and appendix B. arXiv:1606.03153
"""

from __future__ import annotations

import warnings
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from experiments import data
from experiments.experiment import Experiment, ExperimentSettings, Option, Parts, Run, Seed, Stage, Stages
from experiments.huang2017 import dimensions, labelled, paired, synthetic
from experiments.huang2017.choosing import CLASSES, SCORES
from experiments.huang2017.encoders import Grid
from experiments.huang2017.printed import VARIANTS
from experiments.huang2017.report import draw, report
from experiments.huang2017.tables import figures
from polyadic.core.settings import Count, Within
from polyadic.core.stage_cache import digest
from polyadic.sentences.base import EmptySentencesWarning

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from polyadic.core.stage_cache import Facts

OWN = ("surprise.OnWN", "surprise.SMTnews")
"""Sets without a training part: they are trained on all others, and once more on nine tenths of themselves."""
LENGTH, STARTS, MOST = 8, 10, 100_000
"""Of planted filters; random starts; samples that alternating minimisation is given at most."""
FEW = 1000
"""Samples of figure 4, where alternating minimisation has as many starts."""


@dataclass(frozen=True)
class Settings(ExperimentSettings):
    """The settings of a run."""

    folds: Annotated[int, Within(2, 100), Option("Of MR and SUBJ.")] = 10
    """And of the sets of STS that have no training part."""
    grid: Grid = field(default_factory=Grid)
    """Grid of settings."""
    samples: tuple[Count, ...] = (1_000, 10_000, 100_000, 1_000_000)
    """Samples of planted filters."""
    filters: tuple[Count, ...] = (1, 2, 3, 4)
    """Numbers of planted filters, at the third of the samples."""
    trials: Annotated[int, Within(1, 1000), Option("Planted problems of each size.")] = 5
    tries: Annotated[Count, Option("Problems of each case of exact cumulants.")] = 20
    dimensions: Annotated[tuple[Count, ...], Option("Numbers k of principal components to choose from.")] = (
        *(50, 100, 300),
        1000,
    )
    sweeps: Count = 400
    """Iterations of alternating minimisation."""
    seed: Seed = 0


def _planted(run: Run[Settings]) -> Stages:
    settings = run.settings
    at = settings.samples[min(2, len(settings.samples) - 1)]
    sizes = [(2, number) for number in settings.samples] + [(L, at) for L in settings.filters if L != 2]
    facts: Facts = {"synthetic": {}, "recovery": {}}
    for L, number in sizes:
        made_of = {"filters": L, "samples": number, "trials": settings.trials, "sweeps": settings.sweeps}
        made_of |= {"seed": settings.seed, "length": LENGTH, "starts": STARTS}
        name = f"{L} filters, {number} samples"
        facts["synthetic"][name] = yield Stage(name, made_of, partial(_filters, settings, L, number))
    for case in synthetic.CASES:
        made_of = {"tries": settings.tries, "seed": settings.seed}
        facts["recovery"][str(case)] = yield Stage(str(case), made_of, partial(_recovery, case, made_of))
    return facts


def _filters(settings: Settings, L: int, number: int) -> Facts:
    problems = [synthetic.planted(L, LENGTH, settings.seed + trial) for trial in range(settings.trials)]
    ours = [synthetic.by_cumulants(problem, number, starts=STARTS) for problem in problems]
    theirs: list[Any] = []
    if number <= MOST:
        theirs = [synthetic.by_alternation(problem, number, sweeps=settings.sweeps) for problem in problems]
    return {"filters": L, "samples": number, "cumulants": ours, "alternation": theirs}


def _recovery(case: synthetic.Case, how: dict[str, int]) -> Facts:
    rates = {
        method: [synthetic.recovery(case, method, starts=starts, **how) for starts in (1, STARTS)]
        for method in synthetic.METHODS
    }
    return {"case": str(case), "rates": rates}


def _printed(run: Run[Settings]) -> Stages:
    """Recover planted filters by the printed algorithm, and with each of its errors corrected."""
    made_of = {"tries": run.settings.tries, "seed": run.settings.seed}
    for case in synthetic.CASES[:1] + synthetic.CASES[3:]:

        def make(case: synthetic.Case = case) -> Facts:
            return {str(v): synthetic.printed_recovery(case, v, starts=STARTS, **made_of) for v in VARIANTS}

        yield Stage(str(case).removesuffix(", support known"), made_of, make)


def _figure4(run: Run[Settings]) -> Stages:
    """Measure errors by sweep, and times by the number of filters and of samples, with equal numbers of starts."""
    settings = run.settings
    sizes = {(L, FEW) for L in (1, 2, *settings.filters)} | {(2, number) for number in (FEW // 4, FEW * 4)}
    for L, number in sorted(sizes):
        made_of = {"trials": settings.trials, "sweeps": settings.sweeps, "seed": settings.seed, "starts": STARTS}
        yield Stage(f"{L} filters, {number} samples", made_of, partial(_curves, settings, L, number))


def _curves(settings: Settings, L: int, number: int) -> Facts:
    problems = [synthetic.planted(L, LENGTH, settings.seed + trial) for trial in range(settings.trials)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # more filters than can be identified, for the time
        return {
            "filters": L,
            "samples": number,
            "cumulants": [synthetic.by_sweep(each, number, sweeps=100, starts=STARTS) for each in problems],
            "alternation": [
                synthetic.by_alternation(each, number, sweeps=settings.sweeps, starts=STARTS) for each in problems
            ],
        }


def _fourth(run: Run[Settings]) -> Stages:
    """Recover filters of symmetric activations, whose third cumulants are zero, from fourth cumulants."""
    settings = run.settings
    for filters, samples in product((1, 2), (20_000, 100_000)):
        how = {"samples": samples, "starts": STARTS}
        made_of = {**how, "trials": settings.trials, "seed": settings.seed}

        def make(filters: int = filters, how: dict[str, int] = how) -> Facts:
            seeds = range(settings.seed, settings.seed + settings.trials)
            return {
                **how,
                "filters": filters,
                "errors": [synthetic.fourth_order(filters, 6, **how, seed=seed) for seed in seeds],
            }

        yield Stage(f"{filters} filters, {samples} samples", made_of, make)


def _dimensions(run: Run[Settings], *, name: str) -> Stages:
    settings, cases = run.settings, data.labelled_sentences(name, root=run.root)
    labels = np.array([case.label for case in cases])
    made_of = {
        "data": digest(repr(cases)),
        "folds": settings.folds,
        "seed": settings.seed,
        "ranks": settings.dimensions,
    }
    facts: Facts = {}
    for number, split in enumerate(labelled.folds(labels, settings.folds, settings.seed)):
        for kind in dimensions.KINDS:
            how: dict[str, Any] = {"ranks": settings.dimensions, "seed": settings.seed}
            make = _quiet(partial(dimensions.evaluate, kind, cases, split, **how))
            found = yield Stage(f"fold {number}, {kind}", {**made_of, "fold": number}, make)
            facts.setdefault(str(number), {}).update({k: v for k, v in found.items() if k != "stage_seconds"})
    return facts


def _labelled(run: Run[Settings], *, name: str) -> Stages:
    settings, cases = run.settings, data.labelled_sentences(name, root=run.root)
    labels = np.array([case.label for case in cases])
    made_of = {"data": digest(repr(cases)), "folds": settings.folds, **_given(settings)}
    for number, split in enumerate(labelled.folds(labels, settings.folds, settings.seed)):
        make = partial(labelled.evaluate, cases, split, settings.grid, settings.seed)
        yield Stage(f"fold {number}", {**made_of, "fold": number}, _quiet(make))


def _msrp(run: Run[Settings]) -> Stages:
    train, test = (data.paraphrases(part, root=run.root) for part in ("train", "test"))
    return (yield from _paired("", train, {"msrp": test}, CLASSES, run.settings))


def _sts(run: Run[Settings]) -> Stages:
    settings, (train, test) = run.settings, (data.sts2012(part, root=run.root) for part in ("train", "test"))
    grid = settings.grid
    settings = replace(settings, grid=replace(grid, filters=grid.filters[:1]))
    least = replace(grid, words=grid.words[:1], ranks=grid.ranks[:1], filters=grid.filters[:1], a=grid.a[-1:])
    facts = {}
    for name, pairs in train.items():
        facts[name] = yield from _paired(name, pairs, {name: test[name]}, SCORES, settings)
    every = [pair for pairs in train.values() for pair in pairs]
    others = {name: test[name] for name in OWN}
    facts["all"] = yield from _paired("all", every, others, SCORES, settings)
    rng = np.random.default_rng(settings.seed)
    for name in OWN:
        order = rng.permutation(len(test[name]))
        for number, part in enumerate(np.array_split(order, settings.folds)):
            rest = [test[name][at] for at in np.setdiff1d(order, part)]
            tested = {name: [test[name][at] for at in part]}
            stage = f"{name}, fold {number}"
            facts[f"{name} {number}"] = yield from _paired(stage, rest, tested, SCORES, replace(settings, grid=least))
    return facts


def _paired(
    name: str,
    train: Sequence[data.Compared],
    tests: Mapping[str, Sequence[data.Compared]],
    rule: Any,
    settings: Settings,
) -> Stages:
    rounds = 5 if rule is CLASSES else 1
    make = partial(paired.evaluate, train, tests, rule, settings.grid, settings.seed, rounds=rounds)
    methods = yield Stage(name, {"data": digest(repr((train, tests))), **_given(settings)}, _quiet(make))
    return {"methods": methods, "gold": {key: [pair.score for pair in pairs] for key, pairs in tests.items()}}


def _given(settings: Settings) -> Facts:
    return {"grid": asdict(settings.grid), "seed": settings.seed}


def _quiet(make: Callable[[], Facts]) -> Callable[[], Facts]:
    """Suppress the warning of sentences without a known word."""

    def made() -> Facts:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", EmptySentencesWarning)
            return make()

    return made


def _summary(facts: Facts) -> Facts:
    """Return the figures of each part; planted filters are reported beside exact cumulants."""
    facts = {**facts.pop("synthetic", {}), **facts}
    return {part: figures(part, stages) for part, stages in facts.items()}


STAGES: Parts[Settings] = {
    "synthetic": _planted,
    "printed": _printed,
    "figure4": _figure4,
    "fourth": _fourth,
    **{f"{name}-dimensions": partial(_dimensions, name=name) for name in ("mr", "subj")},
    "mr": partial(_labelled, name="mr"),
    "subj": partial(_labelled, name="subj"),
    "msrp": _msrp,
    "sts2012": _sts,
}
EXPERIMENT = Experiment(Settings, STAGES, report, draw, summary=_summary)
