"""Stages from a text to training and test data: the corpus, its two parts, the tests made of it, the counts."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from experiments.bailey2017.models import COUNTS
from experiments.experiment import Stage
from polyadic import datasets
from polyadic.core.errors import InputError
from polyadic.core.files import read_meta, whole_folder, write_meta
from polyadic.text.corpus import Corpus
from polyadic.text.counts import count
from polyadic.text.readers import stamp
from polyadic.words import held_out
from polyadic.words.evaluation import MADE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from experiments.bailey2017.models import Settings
    from experiments.experiment import Run, Stages
    from polyadic.core.stage_cache import Facts

STOP_WORDS = "english"
NEEDS_TITLES = ("phrases", "names")


class Parts(NamedTuple):
    """The training text and the held-out text."""

    train: Corpus
    held: Corpus


def corpus_stage(run: Run[Settings]) -> Stages:
    """Read the text, or open it if it is a corpus already."""
    source, settings = run.settings.source, run.settings
    if (Path(source) / "meta.json").is_file():
        read_meta(source, "corpus")
        corpus = Corpus.open(source)
        yield Stage("corpus", {"text": corpus.digest}, partial(_sizes, corpus))
        return corpus
    if source == "-":
        raise InputError("standard input cannot be read again when a run goes on; name a file, a folder or a corpus")
    how: dict[str, Any] = {"min_count": settings.min_count, "max_size": settings.max_size, "stop_words": STOP_WORDS}
    target = run.folder / "corpus"

    def make() -> Facts:
        return _sizes(Corpus.build(source, target, jobs=settings.threads, overwrite=True, **how))

    yield Stage("corpus", {"text": stamp(source), **how}, make, target)
    return Corpus.open(target)


def split_stage(run: Run[Settings], corpus: Corpus) -> Stages:
    """Divide the documents into training and held-out documents; return both, and their sizes."""
    settings, target = run.settings, run.folder / "split"
    encoding = {key: corpus.settings[key] for key in ("min_count", "max_size", "stop_words", "tokenizer")}

    def make() -> Facts:
        with whole_folder(target, kind="split", overwrite=True) as draft:
            train, held = held_out.split(corpus, settings.share, seed=settings.seed)
            parts = Parts(corpus.select(train, draft / "train"), corpus.select(held, draft / "held"))
            write_meta(draft, "split", 1, share=settings.share, seed=settings.seed)
            return {name: {**_sizes(part), "digest": part.digest} for name, part in parts._asdict().items()} | {
                "encoding": {**encoding, "stop_words": len(encoding["stop_words"])}
            }

    made_of = {"corpus": corpus.digest, "share": settings.share, "seed": settings.seed}
    sizes = yield Stage("split", made_of, make, target)
    return Parts(Corpus.open(target / "train"), Corpus.open(target / "held")), sizes


def tests_stage(run: Run[Settings], parts: Parts) -> Stage:
    """Return the stage of the tests made of the text; its result names those that cannot be made, with the reason."""
    seed, target = run.settings.seed, run.folder / "tests"

    def make() -> Facts:
        facts: Facts = {"left_out": {}}
        with whole_folder(target, kind="tests", overwrite=True) as draft:
            for kind, (cases, write) in _makers(parts, seed).items():
                try:
                    made = cases()
                except InputError as error:
                    facts["left_out"][kind] = str(error)
                else:
                    write(draft / MADE[kind], made)
                    facts[kind] = len(made)
            write_meta(draft, "tests", 1, **facts)
        return facts

    return Stage("tests", {"train": parts.train.digest, "held": parts.held.digest, "seed": seed}, make, target)


def counts_stage(run: Run[Settings], name: str, train: Corpus) -> Stage:
    """Count the tuples of the training text."""
    target = run.folder / "counts" / name

    def make() -> Facts:
        counts = count(train, target, threads=run.settings.threads, overwrite=True, **COUNTS[name])
        return {"entries": len(counts.entries), "events": int(counts.events)}

    return Stage(f"counts/{name}", {"corpus": train.digest, **COUNTS[name]}, make, target)


def _makers(
    parts: Parts, seed: int
) -> dict[str, tuple[Callable[[], list[Any]], Callable[[Path, Iterable[Any]], None]]]:
    train, held = parts
    return {
        "completion": (lambda: held_out.gaps(train, held, seed=seed), datasets.write_gaps),
        "phrases": (lambda: held_out.phrases(train, held, seed=seed), datasets.write_phrases),
        "names": (lambda: held_out.names(train), datasets.write_candidates),
    }


def _sizes(corpus: Corpus) -> Facts:
    return {
        "tokens": len(corpus),
        "words": len(corpus.vocabulary),
        "sentences": len(corpus.sentences) - 1,
        "documents": len(corpus.documents) - 1,
    }
