"""Evaluation of word vectors on published, user-supplied and generated test sets.

A test takes an :class:`~polyadic.embedding.Embedding` and yields named parts. Each part returns
:class:`~polyadic.metrics.figures.Figure` objects, or raises InputError if the vocabulary covers none of its cases.
:func:`compare` restricts several models to their common vocabulary, so that they are compared case by case.
"""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
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
from polyadic.metrics.figures import Difference, Figure, difference
from polyadic.metrics.multiwords import multiwords
from polyadic.metrics.outliers import OutlierGroup, outliers
from polyadic.metrics.phrases import phrases
from polyadic.metrics.recovery import recovery
from polyadic.metrics.senses import Senses
from polyadic.metrics.senses import senses as compare_senses
from polyadic.metrics.sentiment import sentiment
from polyadic.metrics.similarity import similarity
from polyadic.text.tokens import Tokenizer
from polyadic.words.senses import induce

if TYPE_CHECKING:
    from polyadic.datasets import Instance, Pair, Question
    from polyadic.text.tables import TableReading

    Part = tuple[str, Callable[[], list[Figure]]]
    Test = Callable[[Embedding], Iterator[Part]]
    Path_ = str | os.PathLike[str]

PUBLISHED = ("similarity", "outliers", "analogies", "recovery", "sentiment", "senses")
"""Kinds of tests with published test sets."""
MADE = {"completion": "gaps.tsv", "phrases": "phrases.tsv", "names": "names.tsv"}
"""Kinds of tests generated from text by :mod:`polyadic.words.held_out`, with their files."""
QUICK = ("similarity", "outliers", "analogies")  # kinds of tests that run within seconds
ORDERS = (2, 3, 4)
SENSES = {
    "semeval-2013": ("jaccard", "tau", "wndcg_published", "fuzzy_nmi", "fuzzy_bcubed"),
    "senseval": ("v_measure", "paired_f"),
}
"""Measures of each test set, as reported by its shared task."""
N_SENSES = 3
"""Number of clusters if the number of senses is unknown; better than 5 by fuzzy NMI and B-cubed with most vectors."""
METHODS = {"add": "3CosAdd", "mul": "3CosMul"}


def published_tests(kinds: Iterable[str] = QUICK, *, root: Path_ | None = None) -> dict[str, Test]:
    """Load published test sets of the given kinds and return a test function for each kind."""
    makers: dict[str, Callable[[], Test]] = {
        "similarity": lambda: partial(_by_set, "similarity", _correlation, sets=datasets.similarity_sets(root)),
        "outliers": lambda: partial(
            _outliers, sets={name: datasets.outlier_groups(name, root=root) for name in datasets.OUTLIERS}
        ),
        "analogies": lambda: partial(_by_set, "analogies", _answers, sets=_questions(root)),
        "recovery": lambda: partial(_by_set, "recovery", _recovered, sets=_questions(root)),
        "sentiment": lambda: partial(_whole, "sentiment", sentiment, reviews=datasets.polarity(root)),
        "senses": lambda: partial(_by_set, "senses", _induced, sets=_sense_sets(root)),
    }
    return {kind: makers[check_choice("kind", kind, PUBLISHED)]() for kind in kinds}


def own_tests(
    reading: TableReading | None = None,
    *,
    pairs: Iterable[Path_] = (),
    groups: Iterable[Path_] = (),
    questions: Iterable[Path_] = (),
) -> dict[str, Test]:
    """Load the user's own test sets from files and folders and return a test function for each kind."""
    kinds: dict[str, tuple[Callable[..., Iterator[Part]], Callable[[Path], Any], Iterable[Path_]]] = {
        "similarity": (partial(_by_set, "similarity", _correlation), lambda f: datasets.read_pairs(f, reading), pairs),
        "outliers": (_outliers, datasets.read_outlier_groups, groups),
        "analogies": (
            partial(_by_set, "analogies", _answers),
            lambda f: datasets.read_questions(f, reading),
            questions,
        ),
    }
    sets = {kind: {name: read(file) for name, file in _named(files)} for kind, (_, read, files) in kinds.items()}
    return {kind: partial(kinds[kind][0], sets=named) for kind, named in sets.items() if named}


def _named(files: Iterable[Path_]) -> Iterator[tuple[str, Path]]:
    """Yield each file with a display name: the stem if unique, otherwise the full path."""
    paths = [Path(file) for file in files]
    stems = [path.stem for path in paths]
    for path in paths:
        yield path.stem if stems.count(path.stem) == 1 else str(path), path


def made_tests(folder: Path_) -> dict[str, Test]:
    """Load the generated test sets of a folder and return a test function for each kind."""
    readers: dict[str, Callable[[Path], Test]] = {
        "completion": lambda file: partial(_whole, "completion", completion, gaps=datasets.read_gaps(file)),
        "phrases": lambda file: partial(_whole, "phrases", phrases, cases=datasets.read_phrases(file)),
        "names": lambda file: partial(_whole, "names", multiwords, candidates=datasets.read_candidates(file)),
    }
    files = {kind: Path(folder) / name for kind, name in MADE.items()}
    tests = {kind: readers[kind](file) for kind, file in files.items() if file.exists()}
    if not tests:
        what = "contains none of" if Path(folder).is_dir() else "is not a folder; expected one that contains some of"
        raise InputError(f"{folder} {what} {', '.join(MADE.values())}")
    return tests


def evaluate(embedding: Embedding, tests: Mapping[str, Test]) -> tuple[list[Figure], dict[str, str]]:
    """Run tests on word vectors; return all results, and a reason for each test that could not be run."""
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
    """Test scores of several models on the same cases, with differences from the first model."""

    name: str
    used: int
    total: int
    values: tuple[float, ...]
    differences: tuple[Difference, ...]


def compare(models: Mapping[str, Embedding], tests: Mapping[str, Test]) -> tuple[list[Row], dict[str, str]]:
    """Evaluate several models on their shared vocabulary, and compare each model with the first case by case.

    Returns a row per measure that all models have, and the reason for each test that could not be run.

    >>> pairs = {"toy": [("sun", "star", 9.0), ("star", "ice", 2.0), ("sun", "ice", 1.0)]}
    >>> good = Embedding(["sun", "star", "ice"], [[1.0, 0.0], [0.9, 0.1], [0.0, 1.0]])
    >>> poor = Embedding(["ice", "sun", "star"], [[1.0, 0.0], [0.9, 0.1], [0.0, 1.0]])
    >>> test = partial(_by_set, "similarity", _correlation, sets=pairs)
    >>> rows, _ = compare({"a": good, "b": poor}, {"similarity": test})
    >>> [(row.name, row.values) for row in rows]
    [('similarity toy', (1.0, -0.5))]
    """
    if len(models) < 2:
        raise InputError(f"a comparison requires at least two models; got {len(models)}")
    shared = set.intersection(*(set(model.words) for model in models.values()))
    if not shared:
        raise InputError(f"the vocabularies of {', '.join(models)} have no word in common")
    each = [evaluate(_only(model, shared), tests) for model in models.values()]
    named = [{figure.name: figure for figure in figures} for figures, _ in each]
    left_out = {name: why for _, missing in reversed(each) for name, why in missing.items()}
    names = [name for name in named[0] if all(name in figures for figures in named)]
    rows = []
    for first, *others in ([figures[name] for figures in named] for name in names):
        values = tuple(figure.value for figure in (first, *others))
        rows.append(Row(first.name, first.used, first.total, values, tuple(difference(b, first) for b in others)))
    return rows, left_out


def _only(embedding: Embedding, words: set[str]) -> Embedding:
    """Restrict an embedding to the given words, keeping the order of the vocabulary."""
    rows = [row for row, word in enumerate(embedding.words) if word in words]
    counts = None if embedding.counts is None else embedding.counts[rows]
    names, components = [embedding.words[row] for row in rows], embedding.components.rank
    return Embedding(names, embedding.vectors[rows], counts=counts, components=components)


def _whole(name: str, measure: Callable[..., Any], embedding: Embedding, **cases: Any) -> Iterator[Part]:
    """Yield the name of a test and a function that runs the test on all cases."""
    yield name, lambda: measure(embedding, *cases.values()).figures(name)


def _by_set(
    kind: str, measure: Callable[..., list[Figure]], embedding: Embedding, sets: Mapping[str, Any]
) -> Iterator[Part]:
    """Yield, for each test set, the name of the test and a function that runs the test."""
    for name, cases in sets.items():
        yield f"{kind} {name}", partial(measure, embedding, cases, name)


def _correlation(embedding: Embedding, pairs: list[Pair], name: str) -> list[Figure]:
    figure = similarity(embedding, pairs).figure(f"similarity {name}")
    if np.isnan(figure.value):
        what = "at least two word pairs with different scores in the vocabulary"
        raise InputError(f"a similarity test requires {what} of {len(embedding):,} words")
    return [figure]


def _outliers(embedding: Embedding, sets: Mapping[str, list[OutlierGroup]]) -> Iterator[Part]:
    for name, groups in sets.items():
        for order in ORDERS:
            yield f"outliers {name} OD{order}", partial(ordered, embedding, groups, order, name)


def ordered(embedding: Embedding, groups: Sequence[OutlierGroup], order: int, name: str) -> list[Figure]:
    """Detect outliers by comparing ``order`` words at a time, and return the metrics."""
    return outliers(embedding, groups, order=order).figures(name)


def _questions(root: Path_ | None) -> dict[str, dict[str, list[Question]]]:
    return {name: datasets.analogy_questions(name, root=root) for name in datasets.ANALOGIES}


def _answers(embedding: Embedding, sections: dict[str, list[Question]], name: str) -> list[Figure]:
    results = ((called, analogies(embedding, sections, method=method)) for method, called in METHODS.items())
    return [figure for called, result in results for figure in result.figures(f"{name} {called}")]


def _recovered(embedding: Embedding, sections: Mapping[str, list[Question]], name: str) -> list[Figure]:
    return recovered(embedding, sections, "pairs", f"{name} recovery")


def recovered(embedding: Embedding, sections: Mapping[str, list[Question]], split: str, name: str) -> list[Figure]:
    """Evaluate supervised analogy recovery on held-out questions or word pairs, and return the metrics."""
    return recovery(embedding, sections, split=split).figures(name)


def _sense_sets(root: Path_ | None) -> dict[str, SenseSet]:
    """Return the test set of SemEval 2013, and the test sets of Senseval merged into one."""
    semeval, sets = datasets.semeval2013(root), datasets.senseval(root).values()
    labels = {name: label for test in sets for name, label in test.gold.items()}
    together = SenseSet([instance for test in sets for instance in test.instances], labels)
    return {"semeval-2013": semeval, "senseval": together}


def _induced(embedding: Embedding, test: SenseSet, name: str) -> list[Figure]:
    """Return the measures of a shared task, with N_SENSES senses per word for SemEval 2013, else the gold number."""
    figures = induction(embedding, test, number=N_SENSES if name == "semeval-2013" else None).figures()
    return [replace(figure, name=f"{name} {figure.name}") for figure in figures if figure.name in SENSES[name]]


def induction(
    embedding: Embedding, test: SenseSet, *, number: int | None = N_SENSES, rule: str = "sum", seed: int = 0
) -> Senses:
    """Cluster the contexts of each word and compare the clusters with the gold senses.

    Without a number, a word has as many clusters as senses among its labels.
    """
    contexts: dict[str, list[Instance]] = defaultdict(list)
    for instance in test.instances:
        contexts[instance.lemma].append(instance)
    tokenizer = Tokenizer()
    labels: dict[str, dict[str, float]] = {}
    for lemma, mine in contexts.items():
        word = re.split("[.-]", lemma)[0]  # "add.v" and "line-n"
        size = len({sense for context in mine for sense in test.gold[context.id]}) if number is None else number
        if rule == "product" and embedding.find(word) is None:
            continue  # its instances stay without an answer, which the measures count as such
        words = [list(chain.from_iterable(tokenizer(f"{context.left}\n{context.right}"))) for context in mine]
        clusters = induce(embedding, word, words, number=size, rule=rule, seed=seed).tolist()
        labels |= {one.id: {str(sense): 1.0} for one, sense in zip(mine, clusters, strict=True) if sense >= 0}
    return compare_senses(test.gold, labels, {context.id: context.lemma for context in test.instances}, seed=seed)
