"""Every test of word vectors, on any vectors: figures, each with the cases that it covers.

A test takes an :class:`~polyadic.embedding.Embedding` and names its parts, of which each gives
:class:`~polyadic.metrics.figures.Figure` objects, or says why it cannot: the vocabulary covers no case of it. Models
that know the same words are tested on the same cases, so that their figures can be compared case by case; hence
:func:`compare` first takes the words that all of them know.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from polyadic import datasets
from polyadic.core.errors import InputError, check_choice
from polyadic.core.progress import tracked
from polyadic.datasets import SenseSet
from polyadic.embedding import Embedding
from polyadic.metrics.analogies import analogies
from polyadic.metrics.completion import completion
from polyadic.metrics.figures import Difference, difference
from polyadic.metrics.multiwords import multiwords
from polyadic.metrics.outliers import outliers
from polyadic.metrics.phrases import phrases
from polyadic.metrics.recovery import recovery
from polyadic.metrics.sentiment import sentiment
from polyadic.metrics.similarity import similarity
from polyadic.words.induction import NUMBER, induction

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from polyadic.datasets import Pair, Question, Review
    from polyadic.metrics.completion import Gap
    from polyadic.metrics.figures import Figure
    from polyadic.metrics.multiwords import Candidate
    from polyadic.metrics.outliers import OutlierGroup
    from polyadic.metrics.phrases import PhraseCase

    Part = tuple[str, Callable[[], list[Figure]]]
    Test = Callable[[Embedding], Iterator[Part]]
    Path_ = str | os.PathLike[str]

PUBLISHED = ("similarity", "outliers", "analogies", "recovery", "sentiment", "senses")
"""Kinds of tests on published sets."""
MADE = {"completion": "gaps.tsv", "phrases": "phrases.tsv", "names": "names.tsv"}
"""Kinds of tests made of text by :mod:`polyadic.words.held_out`, and their files."""
QUICK = ("similarity", "outliers", "analogies")
"""What takes seconds."""
ORDERS = (2, 3, 4)
SENSES = {
    "semeval-2013": ("jaccard", "tau", "wndcg_published", "fuzzy_nmi", "fuzzy_bcubed"),
    "senseval": ("v_measure", "paired_f"),
}
"""The measures of each set, as their tasks report them."""
METHODS = {"add": "3CosAdd", "mul": "3CosMul"}


def published_tests(kinds: Iterable[str] = QUICK, *, root: Path_ | None = None) -> dict[str, Test]:
    """Read published test sets of some kinds, and say what each does with vectors; by kind.

    Parameters
    ----------
    kinds : iterable of str
        Of :data:`PUBLISHED`.
    root : path, optional
        See :func:`polyadic.datasets.folder`.

    Raises
    ------
    InputError
        If a kind is another, or a set is absent or malformed.
    """
    makers: dict[str, Callable[[], Test]] = {
        "similarity": lambda: partial(_similarity, sets=datasets.similarity_sets(root)),
        "outliers": lambda: partial(
            _outliers, sets={name: datasets.outlier_groups(name, root=root) for name in datasets.OUTLIERS}
        ),
        "analogies": lambda: partial(_analogies, sets=_questions(root)),
        "recovery": lambda: partial(_recovery, sets=_questions(root)),
        "sentiment": lambda: partial(_sentiment, reviews=datasets.polarity(root)),
        "senses": lambda: partial(
            _senses, sets={"semeval-2013": datasets.semeval2013(root), "senseval": _together(datasets.senseval(root))}
        ),
    }
    return {kind: makers[check_choice("kind", kind, PUBLISHED)]() for kind in kinds}


def own_tests(
    *, pairs: Iterable[Path_] = (), groups: Iterable[Path_] = (), questions: Iterable[Path_] = ()
) -> dict[str, Test]:
    """Read test sets of one's own, and say what each does with vectors; by kind.

    Parameters
    ----------
    pairs, questions : iterable of path
        Files of scored word pairs, and of analogy questions; see :mod:`polyadic.datasets.words`.
    groups : iterable of path
        Folders of outlier groups, of which each is a ``.txt`` file.

    Raises
    ------
    InputError
        If a file is absent or malformed.
    """
    sets: dict[str, dict[str, Any]] = {
        "similarity": {name: datasets.read_pairs(file) for name, file in _named(pairs)},
        "outliers": {name: datasets.read_outlier_groups(folder) for name, folder in _named(groups)},
        "analogies": {name: datasets.read_questions(file) for name, file in _named(questions)},
    }
    runners: dict[str, Callable[..., Iterator[Part]]] = {
        "similarity": _similarity,
        "outliers": _outliers,
        "analogies": _analogies,
    }
    return {kind: partial(runners[kind], sets=named) for kind, named in sets.items() if named}


def _named(files: Iterable[Path_]) -> Iterator[tuple[str, Path]]:
    """Call each file by its name without the ending, or by its whole path where others are called so too."""
    paths = [Path(file) for file in files]
    stems = [path.stem for path in paths]
    for path in paths:
        yield path.stem if stems.count(path.stem) == 1 else str(path), path


def made_tests(folder: Path_) -> dict[str, Test]:
    """Read the tests made of text that lie in a folder, and say what each does with vectors; by kind.

    Raises
    ------
    InputError
        If the folder holds none of them, or a file is malformed.
    """
    readers: dict[str, Callable[[Path], Test]] = {
        "completion": lambda file: partial(_completion, gaps=datasets.read_gaps(file)),
        "phrases": lambda file: partial(_phrases, cases=datasets.read_phrases(file)),
        "names": lambda file: partial(_names, candidates=datasets.read_candidates(file)),
    }
    files = {kind: Path(folder) / name for kind, name in MADE.items()}
    tests = {kind: readers[kind](file) for kind, file in files.items() if file.exists()}
    if not tests:
        what = "holds none of" if Path(folder).is_dir() else "is no folder; one is needed that holds some of"
        raise InputError(f"{folder} {what} {', '.join(MADE.values())}")
    return tests


def evaluate(embedding: Embedding, tests: Mapping[str, Test]) -> tuple[list[Figure], dict[str, str]]:
    """Run tests on vectors.

    Returns
    -------
    figures : list of Figure
        Of all tests, in their order.
    left_out : dict of str to str
        Why a part of a test gave none, by its name: the vocabulary covers no case.
    """
    figures: list[Figure] = []
    left_out = {}
    for kind in tracked(tests, "testing", total=len(tests)):
        for name, part in tests[kind](embedding):
            try:
                figures += part()
            except InputError as error:
                left_out[name] = str(error)
    return figures, left_out


class Row(NamedTuple):
    """A figure of several models over the same cases, and how much each is above the first."""

    name: str
    used: int
    total: int
    values: tuple[float, ...]
    differences: tuple[Difference, ...]


def compare(models: Mapping[str, Embedding], tests: Mapping[str, Test]) -> tuple[list[Row], dict[str, str]]:
    """Test several models on the words that all of them know, and compare each with the first, case by case.

    Returns
    -------
    rows : list of Row
        One per figure that all models have.
    left_out : dict of str to str
        Why a part of a test gave none, by its name.

    Raises
    ------
    InputError
        If there are fewer than two models, or they share no word.

    Examples
    --------
    >>> pairs = {"toy": [("sun", "star", 9.0), ("star", "ice", 2.0), ("sun", "ice", 1.0)]}
    >>> good = Embedding(["sun", "star", "ice"], [[1.0, 0.0], [0.9, 0.1], [0.0, 1.0]])
    >>> poor = Embedding(["ice", "sun", "star"], [[1.0, 0.0], [0.9, 0.1], [0.0, 1.0]])
    >>> rows, _ = compare({"a": good, "b": poor}, {"similarity": partial(_similarity, sets=pairs)})
    >>> [(row.name, row.values) for row in rows]
    [('similarity toy', (1.0, -0.5))]
    """
    if len(models) < 2:
        raise InputError(f"comparing needs at least two models; got {len(models)}")
    shared = set.intersection(*(set(model.words) for model in models.values()))
    if not shared:
        raise InputError(f"{', '.join(models)} share no word")
    each = [evaluate(_only(model, shared), tests) for model in models.values()]
    named = [{figure.name: figure for figure in figures} for figures, _ in each]
    left_out = {name: why for _, missing in reversed(each) for name, why in missing.items()}
    names = [name for name in named[0] if all(name in figures for figures in named)]
    return [_row([figures[name] for figures in named]) for name in names], left_out


def _row(figures: Sequence[Figure]) -> Row:
    first = figures[0]
    differences = tuple(difference(figure, first) for figure in figures[1:])
    return Row(first.name, first.used, first.total, tuple(figure.value for figure in figures), differences)


def _only(embedding: Embedding, words: set[str]) -> Embedding:
    """Give the embedding of some of its words, in its own order."""
    rows = [row for row, word in enumerate(embedding.words) if word in words]
    counts = None if embedding.counts is None else embedding.counts[rows]
    names, components = [embedding.words[row] for row in rows], embedding.components.rank
    return Embedding(names, embedding.vectors[rows], counts=counts, components=components)


def _similarity(embedding: Embedding, sets: Mapping[str, list[Pair]]) -> Iterator[Part]:
    for name, pairs in sets.items():
        yield f"similarity {name}", partial(_correlation, embedding, pairs, f"similarity {name}")


def _correlation(embedding: Embedding, pairs: list[Pair], name: str) -> list[Figure]:
    figure = similarity(embedding, pairs).figure(name)
    if np.isnan(figure.value):
        raise InputError(f"the vocabulary of {len(embedding):,} words knows no two pairs of different scores")
    return [figure]


def _outliers(embedding: Embedding, sets: Mapping[str, list[OutlierGroup]]) -> Iterator[Part]:
    for name, groups in sets.items():
        for order in ORDERS:
            yield f"outliers {name} OD{order}", partial(ordered, embedding, groups, order, name)


def ordered(embedding: Embedding, groups: Sequence[OutlierGroup], order: int, name: str) -> list[Figure]:
    """Give the figures of outlier detection of an order."""
    return outliers(embedding, groups, order=order).figures(name)


def _questions(root: Path_ | None) -> dict[str, dict[str, list[Question]]]:
    return {name: datasets.analogy_questions(name, root=root) for name in datasets.ANALOGIES}


def _analogies(embedding: Embedding, sets: Mapping[str, dict[str, list[Question]]]) -> Iterator[Part]:
    for name, sections in sets.items():
        yield f"analogies {name}", partial(_answers, embedding, sections, name)


def _answers(embedding: Embedding, sections: dict[str, list[Question]], name: str) -> list[Figure]:
    return [
        figure
        for method, called in METHODS.items()
        for figure in analogies(embedding, sections, method=method).figures(f"{name} {called}")
    ]


def _recovery(embedding: Embedding, sets: Mapping[str, dict[str, list[Question]]]) -> Iterator[Part]:
    for name, sections in sets.items():
        yield f"recovery {name}", partial(recovered, embedding, sections, "pairs", f"{name} recovery")


def recovered(embedding: Embedding, sections: Mapping[str, list[Question]], split: str, name: str) -> list[Figure]:
    """Give the figures of supervised analogies with some of the questions or word pairs held out."""
    return recovery(embedding, sections, split=split).figures(name)


def _sentiment(embedding: Embedding, reviews: list[Review]) -> Iterator[Part]:
    yield "sentiment", lambda: sentiment(embedding, reviews).figures("sentiment")


def _together(sets: Mapping[str, SenseSet]) -> SenseSet:
    """Make one set of several."""
    labels = {name: label for test in sets.values() for name, label in test.gold.items()}
    return SenseSet([instance for test in sets.values() for instance in test.instances], labels)


def _senses(embedding: Embedding, sets: Mapping[str, SenseSet]) -> Iterator[Part]:
    for name, test in sets.items():
        yield f"senses {name}", partial(_induced, embedding, test, name)


def _induced(embedding: Embedding, test: SenseSet, name: str) -> list[Figure]:
    """Induce as many senses as the labels have where they are few and hard, and the same number everywhere else."""
    figures = induction(embedding, test, number=NUMBER if name == "semeval-2013" else None).figures()
    return [replace(figure, name=f"{name} {figure.name}") for figure in figures if figure.name in SENSES[name]]


def _completion(embedding: Embedding, gaps: list[Gap]) -> Iterator[Part]:
    yield "completion", lambda: completion(embedding, gaps).figures()


def _phrases(embedding: Embedding, cases: list[PhraseCase]) -> Iterator[Part]:
    yield "phrases", lambda: phrases(embedding, cases).figures()


def _names(embedding: Embedding, candidates: list[Candidate]) -> Iterator[Part]:
    yield "names", lambda: multiwords(embedding, candidates).figures()
