"""The number k of principal components, chosen on training data, as printed, corrected, and for our word vectors.

Principal components of one-hot vectors are the indicators of the k most frequent words.
"""

from __future__ import annotations

import warnings
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from experiments.huang2017.choosing import BAYES, CLASSES, FEW, Choice, choose
from experiments.huang2017.encoders import POOLINGS, Candidate, changed, first
from experiments.huang2017.labelled import folds, joined, judged
from experiments.huang2017.printed import Variant, embeddings, templates
from polyadic.sentences.bayes import LogCountRatio
from polyadic.sentences.convolutional import ConvolutionalSentences
from polyadic.sentences.mean import MeanSentences
from polyadic.sentences.words import corpus_of, vectors_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from experiments.data.sentences import Labelled
    from experiments.huang2017.labelled import Split
    from polyadic.embedding import Embedding

    Texts = Sequence[Sequence[str]]

RANKS = (50, 100, 300, 1000)
FILTERS, LENGTH = 2, 6
"""Templates of each coordinate, as printed, and their length; the paper states neither."""
POOLS = (1, 3)
"""Largest activations of a coordinate; the paper states no number."""
RULE = CLASSES._replace(strengths=FEW)
SHARE = 0.1
"""Scale of vectors beside naive Bayes features."""


KINDS = {
    "as printed": ("one-hot", "step 12"),
    "printed, Psi and step 12 corrected": ("one-hot", "theorem A.1"),
    "one-hot words, no filters": ("one-hot", "means"),
    "convolutional": ("ppmi-svd", "convolutional"),
    "mean of words": ("ppmi-svd", "means"),
}
"""Word vectors, and what is made of them."""


def evaluate(
    kind: str, cases: Sequence[Labelled], split: Split, *, ranks: tuple[int, ...], seed: int
) -> dict[str, dict[str, Any]]:
    """Train one kind of vectors on one part and test it on the other, with k chosen on a fifth of the first.

    Naive Bayes features are tested alone, and beside the printed vectors.
    """
    train, test = ([cases[at] for at in part] for part in split)
    texts, others = ([case.words for case in part] for part in (train, test))
    y, z = (np.array([case.label for case in part]) for part in (train, test))
    inner = folds(y, 5, seed)[:1]
    corpus = corpus_of(texts, min_count=2)
    ranks = tuple(rank for rank in ranks if rank < len(corpus.vocabulary))
    source, made = KINDS[kind]
    words = vectors_of(corpus, source, rank=ranks[-1], seed=seed)  # type: ignore[arg-type]
    tried: dict[int, float] = {}
    best: Choice | None = None
    for candidate in _candidates(made, texts, words, ranks):
        X = candidate.encode(texts)
        one = choose([(candidate.settings, X)], lambda X: X, y, RULE, inner)._replace(candidate=candidate)
        tried[candidate.settings["rank"]] = max(one.score, tried.get(candidate.settings["rank"], 0.0))
        best = one if best is None or one.score > best.score else best
    assert best is not None, "candidates are never none"
    X, Z = best.candidate.encode(texts), best.candidate.encode(others)
    results = {kind: {**judged(RULE, best.settings, X, y, Z, z), "held_out": tried}}
    if kind == "as printed":
        bayes, scale = LogCountRatio().fit(texts, y), X.std(axis=0) + 1e-9
        F, G = bayes.transform(texts), bayes.transform(others)
        both = (joined(features, (V - X.mean(axis=0)) / scale, SHARE) for features, V in ((F, X), (G, Z)))
        results["NB features"] = judged(BAYES, {"C": 0.3}, F, y, G, z)
        results["NB features, as printed"] = judged(BAYES, {"C": 0.3}, next(both), y, next(both), z)
    return results


def _candidates(made: str, texts: Texts, words: Embedding, ranks: tuple[int, ...]) -> Iterator[Candidate]:
    if made == "means":
        return _means(texts, words, ranks)
    if made == "convolutional":
        return _convolutional(texts, words, ranks)
    return _printed(texts, words, ranks, Variant() if made == "step 12" else Variant("corrected", "theorem A.1"))


def _printed(texts: Texts, words: Embedding, ranks: tuple[int, ...], variant: Variant) -> Iterator[Candidate]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        f = templates(texts, words, FILTERS, LENGTH, variant)
    known: dict[int, NDArray[Any]] = {}

    def encode(rank: int, pool: int, some: Texts) -> NDArray[Any]:
        if id(some) not in known:
            known[id(some)] = embeddings(f, words, some, max(POOLS))
        return known[id(some)][:, :rank, :pool].reshape(len(some), -1)

    for rank, pool in product(ranks, POOLS):
        yield Candidate({"rank": rank, "pool": pool}, partial(encode, rank, pool))


def _means(texts: Texts, words: Embedding, ranks: tuple[int, ...]) -> Iterator[Candidate]:
    model = MeanSentences(words=words).fit(texts)
    for rank in ranks:
        yield Candidate({"rank": rank}, partial(first, model, rank))


def _convolutional(texts: Texts, words: Embedding, ranks: tuple[int, ...]) -> Iterator[Candidate]:
    model = ConvolutionalSentences(1, length=4, words=words, starts=1, seed=0).fit(texts)
    for rank, pooling in product(ranks, (POOLINGS[0], POOLINGS[2])):
        yield Candidate({"rank": rank, **pooling}, partial(first, changed(model, pooling), rank))
