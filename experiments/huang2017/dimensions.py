"""The number k of principal components, chosen on training data, as printed, corrected, and for our word vectors.

Principal components of one-hot vectors are the indicators of the k most frequent words.
"""

from __future__ import annotations

import warnings
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from experiments.huang2017.choosing import BAYES, CLASSES, FEW, choose
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


def evaluate(cases: Sequence[Labelled], split: Split, *, ranks: tuple[int, ...], seed: int) -> dict[str, Any]:
    """Train every method on one part and test it on the other, with k chosen on a fifth of the first."""
    train, test = ([cases[at] for at in part] for part in split)
    texts, others = ([case.words for case in part] for part in (train, test))
    y, z = (np.array([case.label for case in part]) for part in (train, test))
    inner = folds(y, 5, seed)[:1]
    corpus = corpus_of(texts, min_count=2)
    ranks = tuple(rank for rank in ranks if rank < len(corpus.vocabulary))
    one_hot, ppmi = (vectors_of(corpus, words, rank=ranks[-1], seed=seed) for words in ("one-hot", "ppmi-svd"))
    kinds = {
        "as printed": _printed(texts, one_hot, ranks, Variant()),
        "printed, Psi and step 12 corrected": _printed(texts, one_hot, ranks, Variant("corrected", "theorem A.1")),
        "one-hot words, no filters": _means(texts, one_hot, ranks),
        "convolutional": _convolutional(texts, ppmi, ranks),
        "mean of words": _means(texts, ppmi, ranks),
    }
    results, F = {}, LogCountRatio().fit(texts, y)
    for name, candidates in kinds.items():
        tried: dict[int, float] = {}
        choice = None
        for candidate in candidates:
            X = candidate.encode(texts)
            one = choose([(candidate.settings, X)], lambda X: X, y, RULE, inner)._replace(candidate=candidate)
            tried[candidate.settings["rank"]] = max(one.score, tried.get(candidate.settings["rank"], 0.0))
            choice = one if choice is None or one.score > choice.score else choice
        assert choice is not None, "candidates are never none"
        X, Z = choice.candidate.encode(texts), choice.candidate.encode(others)
        results[name] = {**judged(RULE, choice.settings, X, y, Z, z), "held_out": tried}
        if name == "as printed":
            scale = X.std(axis=0) + 1e-9
            G, H = (
                joined(F.transform(some), (V - X.mean(axis=0)) / scale, SHARE) for some, V in ((texts, X), (others, Z))
            )
            results["NB features, as printed"] = judged(BAYES, {"C": 0.3}, G, y, H, z)
    results["NB features"] = judged(BAYES, {"C": 0.3}, F.transform(texts), y, F.transform(others), z)
    return results


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
