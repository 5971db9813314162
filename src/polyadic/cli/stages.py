"""From what ``polyadic train`` is given to a corpus and to counts, or to those that an earlier run has kept."""

from __future__ import annotations

import contextlib
import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polyadic.cli import show
from polyadic.errors import InputError
from polyadic.files import read_meta, whole_file

if TYPE_CHECKING:
    from collections.abc import Callable

    from polyadic.text.corpus import Corpus
    from polyadic.text.counts import Counts


def kind_of(source: str) -> str:
    """Tell whether ``source`` is a ``"corpus"`` folder, a ``"counts"`` folder, or ``"text"``."""
    if not (Path(source) / "meta.json").is_file():
        return "text"
    kind = str(read_meta(source)["kind"])
    if kind not in {"corpus", "counts"}:
        raise InputError(f"{source} is a folder of kind {kind}; train needs text, a corpus or counts")
    return kind


@dataclass(frozen=True)
class Shelf:
    """The folder in which a run keeps its corpus and counts for the next; with no folder nothing is kept.

    Beside each of the two lies a file that says what it was made of, so that it is used again only for the same.
    """

    folder: Path | None
    force: bool

    def get(self, name: str, origin: dict[str, Any], make: Callable[..., Any], open_: Callable[[Path], Any]) -> Any:
        """Open what is kept as ``name`` if it was made of ``origin``, else make it."""
        if self.folder is None:
            return make(path=None)
        self.folder.mkdir(exist_ok=True)
        target, label = self.folder / name, self.folder / f"{name}.origin.json"
        wanted = json.loads(json.dumps(origin, default=lambda value: getattr(value, "__qualname__", str(value))))
        if target.exists():
            differing = _differing(label, wanted)
            if not differing:
                return open_(target)
            if not self.force:
                raise InputError(
                    f"{target} was made with {differing}; choose another folder to keep things in, or --force"
                )
        label.unlink(missing_ok=True)  # a label never describes what was there before
        try:
            made = make(path=target, overwrite=self.force)
        except BaseException:
            with contextlib.suppress(OSError):
                self.folder.rmdir()  # if it is empty
            raise
        with whole_file(label) as draft:
            draft.write_text(json.dumps(wanted, indent=2) + "\n", encoding="utf-8")
        return made

    def content(self) -> list[str]:
        """Name what is kept so far."""
        kept = ("corpus", *(f"counts-{order}" for order in range(2, 6)))
        places = [self.folder / name for name in kept] if self.folder else []
        return [str(place) for place in places if place.exists()]


def corpus_of(source: str, steps: show.Steps, shelf: Shelf, options: dict[str, Any], threads: int | None) -> Corpus:
    """Take ``source`` as far as a corpus: read it, or open what is kept."""
    from polyadic.text.corpus import Corpus
    from polyadic.text.stopwords import stop_words

    def read(**to: Any) -> Corpus:
        return Corpus.build(source, jobs=threads, **options, **to)

    kind = kind_of(source)
    with steps("corpus") as facts:
        words = {"stop_words": sorted(stop_words(options["stop_words"]))}  # not the name of their file
        origin = {"text": _stamp(source), **options, **words} if kind == "text" else {}
        corpus: Corpus = shelf.get("corpus", origin, read, Corpus.open) if kind == "text" else Corpus.open(source)
        facts.update(show.sizes_of_corpus(corpus))
    return corpus


def counts_of(
    corpus: Corpus, steps: show.Steps, shelf: Shelf, options: dict[str, Any], resources: dict[str, Any]
) -> Counts:
    """Count a corpus, or open what is kept."""
    from polyadic.text.counts import Counts

    def count(**to: Any) -> Counts:
        return counted(corpus, steps, options, **resources, **to)

    name = f"counts-{options['order']}"
    counts: Counts = shelf.get(name, {"corpus": corpus.digest, **options}, count, Counts.open)
    return counts


def contexts_of(corpus: Corpus, steps: show.Steps, settings: dict[str, Any]) -> Any:
    """Count words with the words on one side of them, or at each place."""
    from polyadic.text.contexts import contexts

    with steps("contexts") as facts:
        (width,) = settings["width"]
        table = contexts(corpus, side=settings["contexts"], width=width, positional=settings["positional"])
        facts.update(entries=table.nnz, columns=table.shape[1])
    return table


def counted(
    corpus: Corpus,
    steps: show.Steps,
    options: dict[str, Any],
    *,
    path: Path | None,
    overwrite: bool = False,
    threads: int | None,
    memory: int | None,
) -> Counts:
    """Say what counting will take, then count."""
    from polyadic.text.counts import count, plan

    resources: dict[str, Any] = {"threads": threads, "memory": memory}
    with steps("plan") as facts:
        planned = plan(corpus, **{name: value for name, value in options.items() if name != "min_count"}, **resources)
        facts.update(show.sizes_of_plan(planned))
    with steps("count") as facts:
        counts = count(corpus, path, overwrite=overwrite, **options, **resources)
        facts.update(show.sizes_of_counts(counts))
    return counts


def _stamp(source: str) -> Any:
    """Describe a text well enough to tell it from another or from a later state of itself."""
    from polyadic.text.readers import find_files

    if source == "-":
        return time.time_ns()  # nobody knows whether the same text comes again
    stats = [Path(path).stat() for path in find_files(source) or ()]
    return [str(Path(source).resolve()), sum(s.st_size for s in stats), max(s.st_mtime_ns for s in stats)]


def _differing(label: Path, wanted: dict[str, Any]) -> str:
    """Name the settings of what is kept that are not those wanted now."""
    try:
        found = json.loads(label.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return "unknown settings"
    keys = [key for key in wanted | found if wanted.get(key) != found.get(key)]
    return ", ".join(
        f"another {key}" if key in {"text", "corpus"} else f"{key} {found.get(key)} instead of {wanted.get(key)}"
        for key in keys
    )
