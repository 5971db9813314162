"""From text to what models are fitted to and tested on: the corpus, its two parts, the tests made of it, the counts."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from polyadic import datasets
from polyadic.errors import InputError
from polyadic.files import read_meta, whole_folder, write_meta
from polyadic.suites import held_out
from polyadic.suites.bailey2017.models import COUNTS
from polyadic.suites.store import stamp
from polyadic.suites.words import MADE
from polyadic.text.corpus import Corpus
from polyadic.text.counts import count

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from polyadic.suites.bailey2017.models import Settings
    from polyadic.suites.store import Facts, Store

STOP_WORDS = "english"
NEEDS_TITLES = ("phrases", "names")


class Parts(NamedTuple):
    """The text that models are trained on, and the text held out."""

    train: Corpus
    held: Corpus


def corpus_stage(source: str, store: Store, settings: Settings) -> tuple[Corpus, Facts]:
    """Read the text, or open it if it is a corpus already.

    Raises
    ------
    InputError
        If it is neither, or comes from standard input, which a run that goes on could not read again.
    """
    if (Path(source) / "meta.json").is_file():
        read_meta(source, "corpus")
        corpus = Corpus.open(source)
        return corpus, store.keep("corpus", {"text": corpus.digest}, lambda _: _sizes(corpus))
    if source == "-":
        raise InputError("standard input cannot be read again when a run goes on; name a file, a folder or a corpus")
    how: dict[str, Any] = {"min_count": settings.min_count, "max_size": settings.max_size, "stop_words": STOP_WORDS}

    def make(target: Path) -> Facts:
        return _sizes(Corpus.build(source, target, jobs=settings.threads, overwrite=True, **how))

    target = store.folder / "corpus"
    facts = store.keep("corpus", {"text": stamp(source), **how}, _into(make), target=target)
    return Corpus.open(target), facts


def split_stage(corpus: Corpus, store: Store, settings: Settings) -> tuple[Parts, Facts]:
    """Divide the documents into those to train on and those held out."""

    def make(target: Path) -> Facts:
        with whole_folder(target, kind="split", overwrite=True) as draft:
            train, held = held_out.split(corpus, settings.share, seed=settings.seed)
            parts = Parts(corpus.select(train, draft / "train"), corpus.select(held, draft / "held"))
            write_meta(draft, "split", 1, share=settings.share, seed=settings.seed)
            return {name: {**_sizes(part), "digest": part.digest} for name, part in parts._asdict().items()} | {
                "encoding": {**encoding, "stop_words": len(encoding["stop_words"])}
            }

    encoding = {key: corpus.settings[key] for key in ("min_count", "max_size", "stop_words", "tokenizer")}
    target = store.folder / "split"
    made_of = {"corpus": corpus.digest, "share": settings.share, "seed": settings.seed}
    facts = store.keep("split", made_of, _into(make), target=target)
    return Parts(Corpus.open(target / "train"), Corpus.open(target / "held")), facts


def tests_stage(parts: Parts, store: Store, settings: Settings) -> Facts:
    """Make tests of the text; the facts name those that it cannot give, with the reason."""

    def make(target: Path) -> Facts:
        facts: Facts = {"left_out": {}}
        with whole_folder(target, kind="tests", overwrite=True) as draft:
            for kind, (cases, write) in _makers(parts, settings.seed).items():
                try:
                    made = cases()
                except InputError as error:
                    facts["left_out"][kind] = str(error)
                else:
                    write(draft / MADE[kind], made)
                    facts[kind] = len(made)
            write_meta(draft, "tests", 1, **facts)
        return facts

    made_of = {"train": parts.train.digest, "held": parts.held.digest, "seed": settings.seed}
    return store.keep("tests", made_of, _into(make), target=store.folder / "tests")


def counts_stage(name: str, train: Corpus, store: Store, settings: Settings) -> Facts:
    """Count the tuples of the training text."""
    folder = store.folder / "counts"
    folder.mkdir(exist_ok=True)

    def make(target: Path) -> Facts:
        counts = count(train, target, threads=settings.threads, overwrite=True, **COUNTS[name])
        return {"entries": len(counts.entries), "events": int(counts.events)}

    made_of = {"corpus": train.digest, **COUNTS[name]}
    return store.keep(f"counts/{name}", made_of, _into(make), target=folder / name)


def _makers(
    parts: Parts, seed: int
) -> dict[str, tuple[Callable[[], list[Any]], Callable[[Path, Iterable[Any]], None]]]:
    train, held = parts
    return {
        "completion": (lambda: held_out.gaps(train, held, seed=seed), datasets.write_gaps),
        "phrases": (lambda: held_out.phrases(train, held, seed=seed), datasets.write_phrases),
        "names": (lambda: held_out.names(train), datasets.write_candidates),
    }


def _into(make: Callable[[Path], Facts]) -> Callable[[Path | None], Facts]:
    """Say that a stage has a target."""

    def made(target: Path | None) -> Facts:
        assert target is not None
        return make(target)

    return made


def _sizes(corpus: Corpus) -> Facts:
    return {
        "tokens": len(corpus),
        "words": len(corpus.vocabulary),
        "sentences": len(corpus.sentences) - 1,
        "documents": len(corpus.documents) - 1,
    }
