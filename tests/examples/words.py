"""Models of words."""

import numpy as np
import pytest

from examples import Example
from polyadic import (
    NNSE,
    PPMISVD,
    AsymmetricCP,
    Corpus,
    GloVe,
    JointCP,
    PoissonCP,
    PositionCBOW,
    RandomVectors,
    SymmetricCP,
    Tucker,
    Word2Vec,
)
from polyadic.core.entries import Entries

WORDS = list("abcdef")
TRIPLES = Entries.collect([[0, 1, 2], [3, 4, 5], [1, 3, 5]], [1.0, 1.0, 0.5], 6)
PAIRS = Entries.collect(
    [[0, 1], [0, 2], [1, 2], [3, 4], [3, 5], [4, 5], [2, 3]], [3.0, 2.0, 2.0, 3.0, 2.0, 1.0, 1.0], 6
)
CELLS = Entries(np.array([[0, 1, 2], [1, 3, 0], [2, 0, 1], [2, 2, 2]]), np.array([3.0, 1.0, 2.0, 1.0]), (3, 4, 3))
CORPUS = Corpus.build(["red rose", "red tulip", "blue sky", "blue rose"] * 5, min_count=1)
SOME = [[0, 1, 2], [0, 1, 0]]


def _vectors(model):
    return [model.embedding(WORDS).vectors, model.vectors_]


EXAMPLES = [
    Example(
        make=lambda: SymmetricCP(2, max_iter=4, tol=0.0, seed=0, threads=1),
        fit=lambda model: model.fit(TRIPLES),
        ask=lambda model: [model.predict(SOME), model.embedding(WORDS).vectors, model.explained_],
    ),
    Example(
        make=lambda: JointCP(4, n_nonnegative=2, max_iter=4, tol=0.0, seed=0, threads=1),
        fit=lambda model: model.fit([PAIRS, TRIPLES]),
        ask=lambda model: [
            model.predict(SOME),
            model.predict([[0, 1]]),
            model.embedding(WORDS).vectors,
            model.embedding(WORDS).components.vectors,
        ],
    ),
    Example(
        make=lambda: AsymmetricCP(2, max_iter=4, tol=0.0, seed=0, threads=1),
        fit=lambda model: model.fit(CELLS),
        ask=lambda model: [model.predict(SOME), model.weights_, model.embedding(list("abc")).vectors],
    ),
    Example(
        make=lambda: Tucker(2, max_iter=4, tol=0.0, seed=0, threads=1),
        fit=lambda model: model.fit(CELLS),
        ask=lambda model: [
            model.predict(SOME),
            model.core_,
            model.singular_values_,
            model.explained_,
            model.embedding(list("abcd"), mode=1).vectors,
        ],
    ),
    Example(
        make=lambda: PoissonCP(2, max_iter=4, tol=0.0, seed=0, threads=1),
        fit=lambda model: model.fit(CELLS),
        ask=lambda model: [
            model.weights_,
            model.components(list("abcd"), top=2, mode=1),
            model.embedding(list("abc"), mode=0).vectors,
        ],
    ),
    Example(
        make=lambda: PPMISVD(2, seed=0),
        fit=lambda model: model.fit(PAIRS),
        ask=lambda model: [*_vectors(model), model.singular_values_],
    ),
    Example(
        make=lambda: NNSE(2, svd_rank=3, max_iter=4, tol=0.0, seed=0, threads=1),
        fit=lambda model: model.fit(PAIRS),
        ask=lambda model: [*_vectors(model), model.dictionary_, model.zeros_],
    ),
    Example(
        make=lambda: GloVe(2, epochs=3, seed=0, threads=1),
        fit=lambda model: model.fit(PAIRS),
        ask=lambda model: [*_vectors(model), model.factors_, model.biases_],
    ),
    Example(
        make=lambda: Word2Vec(2, epochs=2, sample=0, seed=0),
        fit=lambda model: pytest.importorskip("gensim") and model.fit(CORPUS),
        ask=lambda model: [model.embedding(CORPUS.vocabulary.words).vectors, model.history_],
    ),
    Example(
        make=lambda: PositionCBOW(2, width=1, epochs=2, sample=0, min_count=1, seed=0),
        fit=lambda model: model.fit(CORPUS),
        ask=lambda model: [
            model.embedding(CORPUS.vocabulary.words).vectors,
            model.places([[0, 1], [-1, 2]]),
            model.substitutes("a red rose", "red", top=3),
            model.log_noise_,
        ],
    ),
    Example(make=lambda: RandomVectors(2, seed=0), fit=lambda model: model.fit(PAIRS), ask=_vectors),
]
