"""Tests of trained vectors, and storage of their figures for comparisons case by case."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import load_npz, save_npz

from experiments.bailey2017.models import COUNTS
from experiments.experiment import Stage
from polyadic import datasets
from polyadic.core.errors import InputError, check_choice
from polyadic.core.files import whole_file
from polyadic.core.stage_cache import digest
from polyadic.embedding import Embedding
from polyadic.metrics.analogies import pair_ratio
from polyadic.metrics.figures import Figure, correlation, rank_correlation, ratio
from polyadic.metrics.labels import micro_precision
from polyadic.metrics.phrases import phrases
from polyadic.metrics.senses import harmonic_mean
from polyadic.text.counts import Counts
from polyadic.text.weighting import ppmi
from polyadic.words import evaluation as words
from polyadic.words.phrases import blended, rows_of_pairs

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from experiments.bailey2017.models import Settings, Variant
    from experiments.experiment import Run, Stages
    from polyadic.core.stage_cache import Facts
    from polyadic.datasets import Question
    from polyadic.metrics.outliers import OutlierGroup
    from polyadic.metrics.phrases import PhraseCase
    from polyadic.text.corpus import Corpus
    from polyadic.words.evaluation import Part, Path_, Test

PHRASES = (
    ("pearl", "bombardment"),
    ("pearl", "jam"),
    ("bat", "baseball"),
    ("bat", "creature"),
    ("star", "wars"),
    ("star", "planet"),
)
"""The phrases of Table 3 of the paper."""
NEIGHBOURS = 5
HALF = "wikisem500 (test half)"
"""The groups of odd number, from 0, in the order of their files: settings of models were chosen on the others."""
SPLITS = ("pairs", "questions")
STUDIED = ("outliers", "own outliers", "outliers, test half")
"""The tests of the models that belong to a study."""
KNOWN = (ratio, correlation, rank_correlation, pair_ratio, harmonic_mean, micro_precision)
STATISTICS = {statistic.__name__: statistic for statistic in KNOWN}


def chosen_tests(
    kinds: Iterable[str] = words.PUBLISHED,
    *,
    root: Path_ | None = None,
    pairs: Sequence[Path_] = (),
    groups: Sequence[Path_] = (),
    questions: Sequence[Path_] = (),
) -> tuple[dict[str, Test], dict[str, str]]:
    """Read the tests of a run, published ones and one's own.

    ``kinds``: Of :data:`~polyadic.words.evaluation.PUBLISHED`. ``root``: See :func:`polyadic.datasets.folder`.
    ``pairs``, ``groups``, ``questions``: See :func:`~polyadic.words.evaluation.own_tests`; questions are asked with and
    without training on others.
    """
    own = words.own_tests(pairs=pairs, groups=groups, questions=questions)
    tests: dict[str, Test] = {f"own {kind}": test for kind, test in own.items()}
    if questions:
        tests["own recovery"] = partial(_recovery, sets={"own": _joined(questions)})
    left_out = {}
    for kind in kinds:
        check_choice("kind", kind, words.PUBLISHED)
        try:
            tests |= _published(kind, root)
        except InputError as error:
            left_out[kind] = str(error)
    return tests, left_out


def triples_stage(run: Run[Settings], train: Corpus) -> Stages:
    """Look up the triples that hold both words of each title, and give the test that makes their vectors of them."""
    titles = run.folder / "tests" / words.MADE["phrases"]
    cases = [case for case in datasets.read_phrases(titles) if len(case.words) == 2]
    counts, target = run.folder / "counts" / "triples", run.folder / "tests-rows.npz"

    def make() -> Facts:
        index = train.vocabulary.index
        pairs = np.array([[index[word] for word in case.words] for case in cases])
        with whole_file(target) as draft, draft.open("wb") as file:
            save_npz(file, rows_of_pairs(ppmi(Counts.open(counts), holding=pairs), pairs))
        return {"titles": len(cases)}

    made_of = {"corpus": train.digest, "counts": COUNTS["triples"], "titles": digest(repr([c.words for c in cases]))}
    yield Stage("tests-rows", made_of, make, target)
    return partial(_from_triples, cases=cases, rows=target)


def score_stage(run: Run[Settings], variant: Variant, trained: Facts, tests: Mapping[str, Test]) -> Stage:
    """Test a model, and look up the neighbours of the phrases."""
    target = run.folder / "scores" / f"{variant.name}.npz"
    mine = tests if variant.main else {kind: test for kind, test in tests.items() if kind in STUDIED}

    def make() -> Facts:
        vectors = Embedding.load(run.folder / "models" / variant.name)
        figures, left_out = words.evaluate(vectors, mine)
        write_rows(target, figures)
        by_name = {figure.name: figure.as_dict() | {"statistic": figure.statistic.__name__} for figure in figures}
        nearest = {" * ".join(pair): _phrase(vectors, pair) for pair in PHRASES}
        return {"figures": by_name, "left_out": left_out, "phrases": nearest}

    made_of = {"vectors": trained["vectors"], **{f"test {kind}": _content(test) for kind, test in mine.items()}}
    return Stage(f"scores/{variant.name}", made_of, make, target)


def kept_figure(folder: Path, model: str, figure: Facts) -> Figure:
    """Return a figure back with its cases, so that it can be compared with that of another model."""
    with np.load(folder / "scores" / f"{model}.npz", allow_pickle=False) as rows:
        return Figure(
            figure["name"],
            rows[figure["name"]],
            used=figure["used"],
            total=figure["total"],
            statistic=STATISTICS[figure["statistic"]],
        )


def write_rows(target: Path, figures: Sequence[Figure]) -> None:
    """Write the cases of figures, for :func:`kept_figure`."""
    with whole_file(target) as draft:
        np.savez_compressed(draft, **{figure.name: figure.rows for figure in figures})  # type: ignore[arg-type]


def _content(test: Test) -> str:
    """Return a fingerprint of a test set, independent of its path."""
    if not isinstance(test, partial):
        return digest(test.__qualname__)
    return digest(repr(sorted((key, v.name if isinstance(v, Path) else v) for key, v in test.keywords.items())))


def _phrase(vectors: Embedding, pair: Sequence[str]) -> list[str] | str:
    unknown = [word for word in pair if vectors.find(word) is None]
    if unknown:
        return f"unknown: {', '.join(unknown)}"
    return [word for word, _ in vectors.neighbours(vectors.product(*pair), top=NEIGHBOURS, exclude=pair)]


def _published(kind: str, root: Path_ | None) -> dict[str, Test]:
    if kind == "recovery":
        sets = {name: datasets.analogy_questions(name, root=root) for name in datasets.ANALOGIES}
        return {kind: partial(_recovery, sets=sets)}
    tests = words.published_tests([kind], root=root)
    if kind == "outliers":
        groups = datasets.outlier_groups("wikisem500", root=root)
        tests = {"outliers, test half": partial(_half, groups=groups), **tests}
    return tests


def _half(embedding: Embedding, groups: Sequence[OutlierGroup]) -> Iterator[Part]:
    for order in words.ORDERS:
        yield f"outliers {HALF} OD{order}", partial(words.ordered, embedding, groups[1::2], order, HALF)


def _from_triples(embedding: Embedding, cases: list[PhraseCase], rows: Path) -> Iterator[Part]:
    """Rank words by the vectors of titles that are made of the triples they occur in; the words are the training's."""
    looked_up, place = load_npz(rows), {case.words: row for row, case in enumerate(cases)}

    def make(titles: list[tuple[str, ...]]) -> NDArray[np.float64]:
        pairs = np.array([[embedding.index[word] for word in title] for title in titles])
        return blended(looked_up[[place[title] for title in titles]], pairs, embedding.unit)

    yield "phrases from triples", lambda: phrases(embedding, cases, make=make).figures("phrases from triples")


def _recovery(embedding: Embedding, sets: Mapping[str, Mapping[str, list[Question]]]) -> Iterator[Part]:
    """Evaluate analogies with both splits: held-out word pairs, and held-out questions as in the paper."""
    for name, sections in sets.items():
        for split in SPLITS:
            called = f"{name} recovery by {split}"
            yield called, partial(words.recovered, embedding, sections, split, called)


def _joined(files: Sequence[Path_]) -> dict[str, list[Any]]:
    sections: dict[str, list[Any]] = {}
    for file in files:
        for name, questions in datasets.read_questions(file).items():
            sections.setdefault(name, []).extend(questions)
    return sections
