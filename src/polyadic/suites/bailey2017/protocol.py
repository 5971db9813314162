"""One command from text to report: the stages of a run, in order, each skipped where it is there already."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyadic.errors import InputError, MissingExtraError
from polyadic.files import made_folder
from polyadic.suites import words
from polyadic.suites.bailey2017.models import variants
from polyadic.suites.bailey2017.report import report_stage
from polyadic.suites.bailey2017.scoring import score_stage, triples_stage
from polyadic.suites.bailey2017.stages import corpus_stage, counts_stage, split_stage, tests_stage
from polyadic.suites.bailey2017.tables import Found
from polyadic.suites.bailey2017.training import model_stage
from polyadic.suites.store import RefusedError, Store

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from polyadic.suites.bailey2017.models import Settings, Variant
    from polyadic.suites.store import Facts, Steps
    from polyadic.suites.words import Test
    from polyadic.text.corpus import Corpus


def run(
    source: str,
    out: Path,
    *,
    settings: Settings,
    tests: Mapping[str, Test],
    steps: Steps,
    left_out: Mapping[str, str] | None = None,
    tell: Callable[[str], None] = lambda _: None,
    force: bool = False,
    alone: bool = True,
) -> Facts:
    """Train and test all models on a text, and report.

    Parameters
    ----------
    source : str
        Text (a file, folder or glob) or a corpus folder.
    out : Path
        The folder of the run, which is made if it is not there. Finished stages in it are used again.
    settings : Settings
        What is trained, and how.
    tests, left_out : mapping
        As :func:`~polyadic.suites.bailey2017.scoring.chosen_tests` gives them; those made of the text are added.
    steps : callable
        Told of each stage.
    tell : callable, optional
        Takes a sentence on what is left out, and why.
    force : bool
        Whether stages made with other settings are replaced instead of refused.
    alone : bool
        Whether each model is trained in a process of its own, where its memory can be measured.

    Returns
    -------
    dict
        The content of ``report.json``.

    Raises
    ------
    InputError
        If the source cannot be used, or stages in the folder were made with others.
    """
    store = Store(out, steps=steps, force=force)
    with made_folder(out):
        corpus, _ = corpus_stage(source, store, settings)
    parts, sizes = split_stage(corpus, store, settings)
    made = tests_stage(parts, store, settings)
    text = {**sizes["train"], "encoding": sizes["encoding"]}
    found = Found(out, settings, text, left_out={**(left_out or {}), **made["left_out"]})
    every = {**tests, **(words.made_tests(out / "tests") if set(words.MADE) & set(made) else {})}
    for what, why in found.left_out.items():
        tell(f"left out: {what}: {why}")
    _models(found, parts.train, every, store, alone=alone, tell=tell)
    return report_stage(found, steps)


def _models(
    found: Found,
    train: Corpus,
    tests: Mapping[str, Test],
    store: Store,
    *,
    alone: bool,
    tell: Callable[[str], None],
) -> None:
    """Train and test one model after another; nothing of one is held when the next begins."""
    chosen = variants(found.settings)
    for name in dict.fromkeys(name for variant in chosen for name in variant.row.counts):
        found.counts[name] = counts_stage(name, train, store, found.settings)
    titles = found.folder / "tests" / words.MADE["phrases"]
    if "triples" in found.counts and "phrases" in tests:
        tests = {**tests, "phrases from triples": triples_stage(train, titles, store)}
    for variant in chosen:
        try:
            _model(variant, found, train, tests, store, alone=alone)
        except RefusedError:
            raise
        except (InputError, MissingExtraError) as error:
            found.left_out[variant.name] = str(error)
            tell(f"left out: {variant.name}: {error}")


def _model(
    variant: Variant, found: Found, train: Corpus, tests: Mapping[str, Test], store: Store, *, alone: bool
) -> None:
    trained = model_stage(variant, train, store, found.settings, alone=alone)
    found.trained[variant.name] = trained
    found.scores[variant.name] = scores = score_stage(variant, trained, tests, store)
    if variant.main:
        found.left_out.update({f"{variant.name}, {kind}": why for kind, why in scores["left_out"].items()})
