"""Universal schemas, rules, tensors of knowledge, transitive verbs and attachment, on real data.

References
----------
Bouchard, Naradowsky, Riedel, Rocktäschel, Vlachos (2015), Matrix and tensor factorization methods for natural language
processing, tutorial at ACL, sections 3 and 4.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, get_args

from experiments.experiment import (
    Argument,
    Experiment,
    ExperimentSettings,
    Option,
    Parts,
    Run,
    Seed,
    Stage,
    Stages,
    table_stage,
)
from experiments.relations import knowledge, logic, typed, universal
from experiments.relations.report import report
from polyadic.core.settings import Count
from polyadic.relations.knowledge import Form
from polyadic.text.readers import stamp

if TYPE_CHECKING:
    from collections.abc import Callable

    from polyadic.core.stage_cache import Facts

LARGE: dict[str, Facts] = {
    "FB15k-237": {"form": "ComplEx", "rank": 300, "strength": 0.05, "n_negatives": 4000, "batch": 500},
    "WN18RR": {"form": "ComplEx", "rank": 100, "strength": 0.1, "n_negatives": 1000, "batch": 200},
}
RULES: dict[str, Facts] = {"FB15k-237": {"max_length": 2}, "WN18RR": {"max_length": 3}}
"""Settings of the large sets, chosen on their validation parts."""


@dataclass(frozen=True)
class Settings(ExperimentSettings):
    """The settings of a run."""

    text: Annotated[
        tuple[str, ...],
        Argument(
            "From which verbs and nouns are learned; without any that part is left out.",
            metavar="[TEXT]...",
            empty=True,
        ),
    ] = ()
    forms: Annotated[tuple[Form, ...], Option("Of tensors, on small sets.")] = get_args(Form)
    epochs: Annotated[Count, Option("On large sets, at most.")] = 50
    seeds: Annotated[Count, Option("Divisions of the newswire, and planted schemas.")] = 2
    seed: Seed = 0


def _small(run: Run[Settings]) -> Stages:
    seed, root = run.settings.seed, run.root
    by_set: dict[str, list[Facts]] = {}
    for name in knowledge.SMALL:
        makers: dict[str, Callable[[], Facts]] = {"frequencies": partial(knowledge.frequencies, name, root=root)}
        for mode in (1, 2, 3):
            makers[f"Tucker {mode} squares"] = partial(knowledge.squares, name, mode, seed=seed, root=root)
        for form in run.settings.forms:
            makers[form] = partial(knowledge.by_form, name, form, seed=seed, root=root)
        by_set[name] = []
        for model, make in makers.items():
            by_set[name].append((yield Stage(f"{name}/{model}", {"seed": seed}, make)))
    return by_set


def _large(run: Run[Settings], *, name: str) -> Stages:
    options, epochs, seed = LARGE[name], run.settings.epochs, run.settings.seed
    chance = yield Stage("frequencies", {}, partial(knowledge.frequencies, name, root=run.root))
    how: dict[str, Any] = {"seed": seed, "root": run.root}
    mined = {"options": RULES[name], "seed": seed}
    rules = yield Stage("rules", mined, partial(knowledge.mined, name, RULES[name], **how))
    folder = run.folder / f"{name}-tensor"
    made_of = {"options": options, "epochs": epochs, "seed": seed}
    make = partial(knowledge.large, name, options, epochs=epochs, out=folder, **how)
    tensor = yield Stage(options["form"], made_of, make, folder)

    def both() -> Facts:
        best = {key: rules["chosen"][key] for key in (*RULES[name], "aggregation", "k")}
        return knowledge.together(name, best, tensor=folder, **how)

    of_both = {"rules": mined, "tensor": made_of, "weights": knowledge.WEIGHTS}
    return [chance, rules, tensor, (yield Stage("both", of_both, both))]


def _rescal(run: Run[Settings]) -> Stages:
    how: Any = {"seed": run.settings.seed, "root": run.root}
    made_of = {"seed": run.settings.seed}
    folds = yield Stage("folds", made_of, partial(knowledge.published_rescal, **how))
    kinds = yield table_stage("typed", made_of, partial(typed.compared, **how))
    return {"folds": folds, "typed": kinds["rows"]}


def _nyt(run: Run[Settings]) -> Stages:
    models: Facts = {}
    for seed in _seeds(run):
        split = universal.nyt_split(seed=seed, root=run.root)
        models[str(seed)] = []
        for features in universal.FEATURES:
            for loss in universal.LOSSES:
                make = partial(universal.compared, split, seed=seed, features=[features], losses=[loss])
                models[str(seed)] += (yield table_stage(f"{seed} {features} {loss}", {"seed": seed}, make))["rows"]
    published = yield table_stage("published", {}, partial(universal.published, root=run.root))
    return {"models": models, "published": published["rows"]}


def _freebase(run: Run[Settings]) -> Stages:
    split = universal.freebase_split(seed=run.settings.seed, root=run.root)
    how: dict[str, Any] = {"seed": run.settings.seed, "max_iter": 20}
    loss: dict[str, Any] = {"losses": ["logistic"], "ridges": [0.01], "weight_ridges": [0.001]}
    rows: list[Facts] = []
    for features in universal.FEATURES:
        make = partial(universal.compared, split, features=[features], **loss, **how)
        rows += (yield table_stage(features, how, make))["rows"]
    return [*rows, (yield Stage("F folded in", how, partial(universal.folded_in, split, **how)))]


def _terms(run: Run[Settings]) -> Stages:
    """Matrix and tensor together, and negatives of the same column or of all."""
    models: Facts = {}
    for name, how in universal.TENSOR_SETS.items():
        models[name] = []
        for seed in _seeds(run):
            split = universal.tensor_split(name, seed=seed, root=run.root)
            rows: list[Facts] = []
            for called, given in universal.TENSOR_MODELS.items():
                options = {"seed": seed, **how, **given}
                make = partial(universal.compared, split, **options)
                found = yield table_stage(f"{name} {seed} {called}", options, make)
                rows += [{**row, "name": called} for row in found["rows"]]
            models[name].append(rows)
    return models


def _rules(run: Run[Settings]) -> Stages:
    facts: Facts = {"planted": {}, "newswire": {}, "freebase": {}}
    for share in logic.TOLD:
        facts["planted"][f"{share:g}"] = runs = []
        for seed in _seeds(run):
            make = partial(logic.on_planted, share=share, seed=seed)
            runs.append((yield table_stage(f"planted {share:g} {seed}", {"seed": seed}, make))["rows"])
    for seed in _seeds(run):
        make = partial(logic.on_newswire, seed=seed, root=run.root)
        facts["newswire"][str(seed)] = (yield table_stage(f"newswire {seed}", {"seed": seed}, make))["rows"]
    seed = run.settings.seed
    for share in (0.0, 0.1, 1.0):
        make = partial(logic.on_freebase, share=share, seed=seed, root=run.root)
        facts["freebase"][f"{share:g}"] = (yield table_stage(f"FB15k-237 {share:g}", {"seed": seed}, make))["rows"]
    return facts


def _composition(run: Run[Settings]) -> Stages:
    from experiments.relations.composition import on_text

    text, seed = run.settings.text, run.settings.seed
    if text:
        make = partial(on_text, text, run.folder / "lemmas", seed=seed, root=run.root)
        yield Stage("", _of_text(run), make)


def _attachment(run: Run[Settings]) -> Stages:
    from experiments.relations.attachment import evaluated
    from experiments.relations.composition import lemma_corpus, treebank_tagger

    text, folder = run.settings.text, run.folder / "lemmas"

    def make() -> Facts:
        if text and not folder.exists():
            lemma_corpus(text, folder, treebank_tagger(run.root))
        return evaluated(folder if text else None, seed=run.settings.seed, root=run.root)

    yield Stage("", _of_text(run), make)


def _of_text(run: Run[Settings]) -> Facts:
    return {"seed": run.settings.seed, "text": [stamp(source) for source in run.settings.text]}


def _seeds(run: Run[Settings]) -> range:
    return range(run.settings.seed, run.settings.seed + run.settings.seeds)


STAGES: Parts[Settings] = {
    "knowledge": _small,
    "FB15k-237": partial(_large, name="FB15k-237"),
    "WN18RR": partial(_large, name="WN18RR"),
    "rescal": _rescal,
    "nyt": _nyt,
    "freebase": _freebase,
    "terms": _terms,
    "rules": _rules,
    "composition": _composition,
    "attachment": _attachment,
}
EXPERIMENT = Experiment(Settings, STAGES, report)
