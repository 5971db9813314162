"""Bailey and Aeron (2017): train all their models and baselines, test them, and write a report.

What is trained, and with which settings, is the table in :mod:`experiments.bailey2017.models`. The parts
``printed`` and ``ablation`` train the models as the paper describes them, see :mod:`experiments.bailey2017.printed`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from experiments.bailey2017.drawing import draw
from experiments.bailey2017.models import Settings, variants
from experiments.bailey2017.printed import ablation_stages, printed_stages
from experiments.bailey2017.report import report, report_facts
from experiments.bailey2017.scoring import chosen_tests, score_stage, triples_stage
from experiments.bailey2017.stages import corpus_stage, counts_stage, split_stage, tests_stage
from experiments.bailey2017.tables import Results
from experiments.bailey2017.training import model_stage
from experiments.experiment import Experiment, Parts, Run, Stages
from polyadic.core.errors import InputError, MissingExtraError
from polyadic.core.stage_cache import RefusedError
from polyadic.words import evaluation as words

if TYPE_CHECKING:
    from collections.abc import Mapping

    from experiments.bailey2017.models import Variant
    from polyadic.text.corpus import Corpus
    from polyadic.words.evaluation import Test


def _text(run: Run[Settings]) -> Stages:
    """Train and test all models on a text."""
    settings = run.settings
    tests, left_out = chosen_tests(
        settings.kinds, root=run.root, pairs=settings.pairs, groups=settings.groups, questions=settings.questions
    )
    corpus = yield from corpus_stage(run)
    parts, sizes = yield from split_stage(run, corpus)
    made = yield tests_stage(run, parts)
    text = {**sizes["train"], "encoding": sizes["encoding"]}
    results = Results(run.folder, settings, text, left_out={**left_out, **made["left_out"]})
    for what, why in results.left_out.items():
        run.warn(f"left out: {what}: {why}")
    if set(words.MADE) & set(made):
        tests |= words.made_tests(run.folder / "tests")
    yield from _models(run, results, parts.train, tests)
    return (yield from report_facts(results))


def _models(run: Run[Settings], results: Results, train: Corpus, tests: Mapping[str, Test]) -> Stages:
    """Train and test one model after another, with only one in memory."""
    chosen = variants(run.settings)
    for name in dict.fromkeys(name for variant in chosen for name in variant.row.counts):
        results.counts[name] = yield counts_stage(run, name, train)
    if "triples" in results.counts and "phrases" in tests:
        tests = {**tests, "phrases from triples": (yield from triples_stage(run, train))}
    for variant in chosen:
        try:
            yield from _model(run, variant, results, train, tests)
        except RefusedError:
            raise
        except (InputError, MissingExtraError) as error:
            results.left_out[variant.name] = str(error)
            run.warn(f"left out: {variant.name}: {error}")


def _model(run: Run[Settings], variant: Variant, results: Results, train: Corpus, tests: Mapping[str, Test]) -> Stages:
    results.trained[variant.name] = trained = yield model_stage(run, variant, train)
    results.scores[variant.name] = scores = yield score_stage(run, variant, trained, tests)
    if variant.main:
        results.left_out.update({f"{variant.name}, {kind}": why for kind, why in scores["left_out"].items()})


STAGES: Parts[Settings] = {"": _text, "printed": printed_stages, "ablation": ablation_stages}
EXPERIMENT = Experiment(Settings, STAGES, report, draw)
