"""Facts about entities: universal schemas, rules, tensors of knowledge, transitive verbs, attachment; on real data.

References
----------
Bouchard, Naradowsky, Riedel, Rocktäschel, Vlachos (2015), Matrix and tensor factorization methods for natural language
processing, tutorial at ACL, sections 3 and 4.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from polyadic.errors import InputError, check_int
from polyadic.models.relations.asking import FORMS
from polyadic.suites.relations import knowledge, logic, typed, universal
from polyadic.suites.relations.report import report
from polyadic.suites.store import Store, write_report

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from polyadic.suites.store import Facts, Steps

PARTS = ("knowledge", "FB15k-237", "WN18RR", "rescal", "nyt", "freebase", "rules", "composition", "attachment")
LARGE: dict[str, Facts] = {
    "FB15k-237": {"form": "ComplEx", "rank": 200, "strength": 0.05, "candidates": 1000, "batch": 200},
    "WN18RR": {"form": "ComplEx", "rank": 100, "strength": 0.1, "candidates": 1000, "batch": 200},
}
"""Settings of the large sets, chosen on their validation parts."""


@dataclass(frozen=True)
class Settings:
    """The settings of a run.

    Attributes
    ----------
    parts : tuple of str
        Of :data:`PARTS`.
    forms : tuple of str
        Of tensors, on the small sets.
    epochs : int
        On the large sets, at most.
    seeds : int
        Of what is drawn: divisions of the newswire, planted schemas, from ``seed`` on.
    seed : int

    Raises
    ------
    InputError
        If one is out of range.
    """

    parts: tuple[str, ...] = PARTS
    forms: tuple[str, ...] = tuple(FORMS)
    epochs: int = 50
    seeds: int = 2
    seed: int = 0

    def __post_init__(self) -> None:
        if not self.parts or not {*self.parts} <= {*PARTS}:
            raise InputError(f"parts are {', '.join(PARTS)}; got {', '.join(self.parts) or 'none'}")
        if not self.forms or not {*self.forms} <= {*FORMS}:
            raise InputError(f"forms are {', '.join(FORMS)}; got {', '.join(self.forms) or 'none'}")
        for name in ("epochs", "seeds"):
            check_int(name, getattr(self, name), low=1)


def run(
    out: Path,
    *,
    settings: Settings,
    steps: Steps,
    root: Path | None = None,
    text: tuple[str, ...] = (),
    force: bool = False,
) -> Facts:
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
    text : tuple of str
        From which verbs and nouns are learned: files, folders or globs; without any, that part is left out.
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
    makers: dict[str, Callable[..., Any]] = {
        "knowledge": _small,
        "FB15k-237": _large,
        "WN18RR": _large,
        "rescal": _rescal,
        "nyt": _nyt,
        "freebase": _freebase,
        "rules": _rules,
        "composition": partial(_composition, text=text),
        "attachment": partial(_attachment, text=text),
    }
    found = {part: makers[part](store, part, settings, root) for part in PARTS if part in settings.parts}
    return write_report(
        out, {"settings": asdict(settings), **{part: one for part, one in found.items() if one}}, report
    )


def _small(store: Store, part: str, settings: Settings, root: Path | None) -> Facts:
    (store.folder / part).mkdir(exist_ok=True)
    seed, found = settings.seed, {}
    for name in knowledge.SMALL:
        keep = partial(_keep, store, f"{part}/{name}", {"seed": seed})
        rows = [keep("frequencies", partial(knowledge.frequencies, name, root=root))]
        for mode in (1, 2, 3):
            make = partial(knowledge.squares, name, mode, seed=seed, root=root)
            rows.append(keep(f"Tucker {mode} squares", make))
        rows += [keep(form, partial(knowledge.by_form, name, form, seed=seed, root=root)) for form in settings.forms]
        found[name] = rows
    return found


def _large(store: Store, part: str, settings: Settings, root: Path | None) -> list[Facts]:
    made_of = {"options": LARGE[part], "epochs": settings.epochs, "seed": settings.seed}
    make = partial(knowledge.large, part, LARGE[part], epochs=settings.epochs, seed=settings.seed, root=root)
    (store.folder / part).mkdir(exist_ok=True)
    return [
        _keep(store, part, {}, "frequencies", partial(knowledge.frequencies, part, root=root)),
        _keep(store, part, made_of, str(LARGE[part]["form"]), make),
    ]


def _rescal(store: Store, part: str, settings: Settings, root: Path | None) -> Facts:
    (store.folder / part).mkdir(exist_ok=True)
    keep = partial(_keep, store, part, {"seed": settings.seed})
    return {
        "folds": keep("folds", partial(knowledge.published_rescal, seed=settings.seed, root=root)),
        "typed": keep("typed", partial(_rows, partial(typed.compared, seed=settings.seed, root=root)))["rows"],
    }


def _nyt(store: Store, part: str, settings: Settings, root: Path | None) -> Facts:
    (store.folder / part).mkdir(exist_ok=True)
    found = {}
    for seed in range(settings.seed, settings.seed + settings.seeds):
        split = universal.nyt_split(seed=seed, root=root)
        rows = []
        for features in universal.FEATURES:
            for loss in universal.LOSSES:
                make = partial(universal.compared, split, seed=seed, features=[features], losses=[loss])
                name = f"{seed} {features} {loss}"
                rows += _keep(store, part, {"seed": seed}, name, partial(_rows, make))["rows"]
        found[str(seed)] = rows
    published = _keep(store, part, {}, "published", partial(_rows, partial(universal.published, root=root)))["rows"]
    return {"models": found, "published": published}


def _freebase(store: Store, part: str, settings: Settings, root: Path | None) -> list[Facts]:
    (store.folder / part).mkdir(exist_ok=True)
    split = universal.freebase_split(seed=settings.seed, root=root)
    how: dict[str, Any] = {"seed": settings.seed, "max_iter": 20}
    keep = partial(_keep, store, part, how)
    rows: list[Facts] = []
    for features in universal.FEATURES:
        one: dict[str, Any] = {
            "features": [features],
            "losses": ["logistic"],
            "ridges": [0.01],
            "weight_ridges": [0.001],
        }
        rows += keep(features, partial(_rows, partial(universal.compared, split, **one, **how)))["rows"]
    return [*rows, keep("F folded in", partial(universal.folded_in, split, **how))]


def _rules(store: Store, part: str, settings: Settings, root: Path | None) -> Facts:
    (store.folder / part).mkdir(exist_ok=True)
    found: Facts = {"planted": {}, "newswire": {}}
    seeds = range(settings.seed, settings.seed + settings.seeds)
    for told in logic.TOLD:
        for seed in seeds:
            name = f"planted {told:g} {seed}"
            make = partial(logic.on_planted, told=told, seed=seed)
            rows = _keep(store, part, {"seed": seed}, name, partial(_rows, make))["rows"]
            found["planted"].setdefault(f"{told:g}", []).append(rows)
    for seed in seeds:
        make = partial(logic.on_newswire, seed=seed, root=root)
        rows = _keep(store, part, {"seed": seed}, f"newswire {seed}", partial(_rows, make))["rows"]
        found["newswire"][str(seed)] = rows
    found["freebase"] = {}
    for told in (0.0, 0.1, 1.0):
        make = partial(logic.on_freebase, told=told, seed=settings.seed, root=root)
        name = f"FB15k-237 {told:g}"
        found["freebase"][f"{told:g}"] = _keep(store, part, {"seed": settings.seed}, name, partial(_rows, make))["rows"]
    return found


def _composition(store: Store, part: str, settings: Settings, root: Path | None, *, text: tuple[str, ...]) -> Facts:
    from polyadic.suites.relations.composition import on_text
    from polyadic.suites.store import stamp

    if not text:
        return {}
    made_of = {"seed": settings.seed, "text": [stamp(one) for one in text]}
    return store.keep(part, made_of, lambda _: on_text(text, store.folder / "lemmas", seed=settings.seed, root=root))


def _attachment(store: Store, part: str, settings: Settings, root: Path | None, *, text: tuple[str, ...]) -> Facts:
    from polyadic.suites.relations.attachment import evaluated
    from polyadic.suites.relations.composition import lemma_corpus, treebank_tagger
    from polyadic.suites.store import stamp

    made_of = {"seed": settings.seed, "text": [stamp(one) for one in text]}
    folder = store.folder / "lemmas"

    def make(_: Path | None) -> Facts:
        if text and not folder.exists():
            lemma_corpus(text, folder, treebank_tagger(root))
        return evaluated(folder if text else None, seed=settings.seed, root=root)

    return store.keep(part, made_of, make)


def _keep(store: Store, folder: str, made_of: Facts, name: str, make: Callable[[], Facts]) -> Facts:
    """Keep a stage of a part."""
    (store.folder / folder).mkdir(parents=True, exist_ok=True)
    return store.keep(f"{folder}/{name}", made_of, lambda _: make())


def _rows(make: Callable[[], list[Facts]]) -> Facts:
    return {"rows": make()}
