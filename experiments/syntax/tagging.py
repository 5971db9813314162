"""Chunks and parts of speech: weights of low rank and of any, by loss and by the size of the training part."""

from __future__ import annotations

import time
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from experiments.data.annotated import chunks, web_treebank
from experiments.data.tnt_tagger import Tagger
from polyadic.core.stage_cache import whole
from polyadic.metrics.chunks import span_figures, tag_accuracy
from polyadic.metrics.figures import difference
from polyadic.sequences.sequence_tagger import SequenceTagger
from polyadic.syntax.plain_text import plain_sentences
from polyadic.syntax.tag_features import tag_features
from polyadic.syntax.text_tagger import COLUMNS, TextTagger

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from experiments.data.annotated import Chunked
    from polyadic.core.stage_cache import Facts
    from polyadic.metrics.figures import Figure
    from polyadic.syntax.trees import Tree

HELD_OUT = 0.1
"""Share of the training sentences, the last ones, by which settings were chosen."""
CHUNKERS: dict[str, dict[str, Any]] = {
    "likelihood": {"loss": "likelihood"},
    "likelihood, rank 10": {"loss": "likelihood", "rank": 10},
    "likelihood, rank 5": {"loss": "likelihood", "rank": 5},
    "likelihood, rank 2": {"loss": "likelihood", "rank": 2},
    "hinge": {"loss": "hinge"},
    "hinge, rank 10": {"loss": "hinge", "rank": 10},
    "perceptron": {"loss": "perceptron"},
    "perceptron, rank 10": {"loss": "perceptron", "rank": 10, "learning_rate": 0.03},
}
"""Settings, chosen by what is held out."""
FEW = (0.01, 0.03, 0.1, 0.3)
"""Shares of the training sentences."""
TEXT = "# text = "


def chunk_parts(*, test: bool, root: Path | None = None) -> tuple[list[Chunked], list[Chunked]]:
    """Return training and test sentences: the published parts, or two of the training part."""
    train = chunks("train", root=root)
    if test:
        return train, chunks("test", root=root)
    border = round(len(train) * (1 - HELD_OUT))
    return train[:border], train[border:]


def chunk_rows(
    models: dict[str, dict[str, Any]],
    *,
    test: bool = False,
    shares: Sequence[float] = (1.0,),
    seed: int = 0,
    root: Path | None = None,
) -> list[Facts]:
    """Learn to chunk with several settings, each from several shares of the sentences.

    ``models``: Options of :class:`~polyadic.sequences.sequence_tagger.SequenceTagger`; the others are compared with the
    first. ``test``: Whether to judge by the test part, or else by what is held out of the training part. ``shares``:
    Drawn at random, the same sentences for all.
    """
    train, judged = chunk_parts(test=test, root=root)
    X = [tag_features(sentence.forms, sentence.tags) for sentence in judged]
    gold = [sentence.chunks for sentence in judged]
    order, rows = np.random.default_rng(seed).permutation(len(train)), []
    for share in shares:
        part = [train[at] for at in np.sort(order[: round(share * len(train))])]
        features = [tag_features(sentence.forms, sentence.tags) for sentence in part]
        first: Figure | None = None
        for name, how in models.items():
            start = time.perf_counter()
            model = SequenceTagger(bio=True, min_count=2, seed=seed, **how)
            whole(model.fit(features, [sentence.chunks for sentence in part]))
            seconds, predicted = time.perf_counter() - start, model.predict(X)
            f1 = span_figures(gold, predicted)[0]
            first = first or f1
            minus = difference(f1, first)
            low, high = f1.interval()
            row: Facts = {"name": name, "sentences": len(part), "F1": f1.value, "low": low, "high": high}
            row |= {"accuracy": tag_accuracy(gold, predicted).value, "seconds": seconds}
            rows.append({**row, "minus_first": minus.value, "minus_low": minus.low, "minus_high": minus.high})
    return rows


def text_rows(*, test: bool = False, seed: int = 0, max_iter: int = 5, root: Path | None = None) -> list[Facts]:
    """Learn to tag English web text, and judge each column, the tagger that counts, and how text is cut.

    ``test``: Whether to judge by the test part, or else by the development part.
    """
    train, judged = web_treebank("train", root=root), web_treebank("test" if test else "dev", root=root)
    model = TextTagger(seed=seed, max_iter=max_iter)
    start = time.perf_counter()
    whole(model.fit(train))
    fitted = time.perf_counter()
    predicted = list(model.annotate(judged))
    rate = sum(map(len, judged)) / (time.perf_counter() - fitted)
    rows = []
    for column in COLUMNS:
        figure = tag_accuracy(*([getattr(tree, column) for tree in side] for side in (judged, predicted)), name=column)
        rows.append({**figure.as_dict(), "seconds": fitted - start, "words_a_second": rate})
    counted = Tagger().fit(train)
    start = time.perf_counter()
    tags = counted.tag([tree.forms for tree in judged])
    rate = sum(map(len, judged)) / (time.perf_counter() - start)
    figure = tag_accuracy([tree.xpos for tree in judged], tags, name="xpos, counted")
    return [*rows, {**figure.as_dict(), "words_a_second": rate}, *cut_rows(judged)]


def cut_rows(trees: Iterable[Tree]) -> list[Facts]:
    """Judge how the texts of paragraphs of a treebank are cut into sentences and words: F1 of each, by place."""
    matched, sizes = np.zeros(2), np.zeros(2)
    for paragraph in _paragraphs(trees):
        text = " ".join(
            comment[len(TEXT) :] for tree in paragraph for comment in tree.comments if comment.startswith(TEXT)
        )
        gold, predicted = [tree.forms for tree in paragraph], [sentence.forms for sentence in plain_sentences(text)]
        for at, cut in enumerate((_words, _sentences)):
            a, b = cut(gold), cut(predicted)
            matched[at] += len(a & b)
            sizes[at] += len(a) + len(b)
    return [
        {"name": name, "value": float(2 * m / size)}
        for name, m, size in zip(("words", "sentences"), matched, sizes, strict=True)
    ]


def tagging(*, test: bool = True, seed: int = 0, root: Path | None = None) -> dict[str, list[Facts]]:
    """Return all figures of chunks and of text; see :func:`chunk_rows` and :func:`text_rows`."""
    few = {name: how for name, how in CHUNKERS.items() if how["loss"] == "likelihood"}
    return {
        "chunks": chunk_rows(CHUNKERS, test=test, seed=seed, root=root),
        "chunks_of_few": chunk_rows(few, test=test, shares=FEW, seed=seed, root=root),
        "text": text_rows(test=test, seed=seed, root=root),
    }


def _paragraphs(trees: Iterable[Tree]) -> list[list[Tree]]:
    paragraphs: list[list[Tree]] = []
    for tree in trees:
        if not paragraphs or any(comment.startswith(("# newpar", "# newdoc")) for comment in tree.comments):
            paragraphs.append([])
        paragraphs[-1].append(tree)
    return paragraphs


def _words(sentences: Iterable[Sequence[str]]) -> set[tuple[int, int]]:
    """Return where words begin and end, in letters without spaces."""
    return set(pairwise(accumulate((len(form) for forms in sentences for form in forms), initial=0)))


def _sentences(sentences: Iterable[Sequence[str]]) -> set[tuple[int, int]]:
    return set(pairwise(accumulate((sum(map(len, forms)) for forms in sentences), initial=0)))
