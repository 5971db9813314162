r"""Baselines for the senses of words: AdaGram's idea, and clusters of a word's neighbours.

**AdaGram** (Bartunov, Kondrashkin, Osokin and Vetrov 2016, Breaking sticks and ambiguities with adaptive skip-gram): a
skip-gram with a vector for each sense, their number under a prior. A word :math:`v` of a context comes from sense
:math:`k` by hierarchical softmax, :math:`p(v \mid k) = \prod_n \sigma(\pm u_k \cdot o_n)` over the nodes :math:`n` of
its path, and sense :math:`k` by breaking sticks, :math:`p(k \mid \beta) = \beta_k \prod_{r<k} (1 - \beta_r)`,
:math:`\beta_r \sim \text{Beta}(1, \alpha)`. Online variational inference: at each of :math:`N` occurrences

.. math:: q_k \propto \exp\Big(\mathbb{E} \log \beta_k + \sum_{r<k} \mathbb{E} \log (1 - \beta_r)
                               + \sum_{v} \log p(v \mid k)\Big),

then :math:`n_k \leftarrow n_k + \lambda (N q_k - n_k)` and :math:`u_k \leftarrow u_k + \lambda q_k \sum_v \nabla \log
p(v \mid k)`. Here the vectors :math:`o` of nodes are learned first, by gensim's skip-gram with one for each word. They
stay: of a word that is made up only the senses are fitted, over several passes, which can only help them. (Its authors'
program takes one pass over the text, with all vectors from random.)

**Neighbours** (Pelevina, Arefiev, Biemann and Panchenko 2016, Making sense of word embeddings): the nearest words of a
word's vector, linked to those nearest to one another among them, are clustered by Chinese Whispers, and a context goes
to the cluster whose mean is nearest. The vector of a word that is made up is what its contexts foretell in the mean.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numba
import numpy as np
from scipy.special import digamma

from polyadic.embedding import unit_rows

if TYPE_CHECKING:
    from polyadic import Corpus, WordSenses

DIMENSION, WINDOW, RATE = 100, 5, 0.025
SENSES, ALPHA, SEEN = 5, 0.1, 1e-3
"""Of AdaGram, as in its authors' program; a sense of a smaller share than the last is none."""
NEIGHBOURS, LINKS, LEAST = 200, 50, 5
"""Words around a word, of which each is linked to so many, in clusters of so many at least."""


class AdaGram:
    """Vectors of the nodes of a Huffman tree, and the path of each word of a corpus.

    Parameters
    ----------
    space : WordSenses
        Its corpus.
    tokens : int
        The first of the text, which the vectors are learned from.
    """

    def __init__(self, space: WordSenses, tokens: int) -> None:
        from gensim.models import Word2Vec

        corpus: Corpus = space.corpus
        self.space = space
        ids, edges = np.asarray(corpus.ids[:tokens]), np.asarray(corpus.sentences)[np.asarray(corpus.documents)]
        edges = np.minimum(edges, len(ids))
        longest = 10_000  # of gensim
        cuts = [(at, min(at + longest, end)) for start, end in pairwise(edges) for at in range(start, end, longest)]
        texts = [list(map(str, ids[start:end].tolist())) for start, end in cuts]
        how = {"vector_size": DIMENSION, "window": WINDOW, "alpha": RATE, "epochs": 1, "workers": 1, "seed": 1}
        model = Word2Vec(texts, sg=1, hs=1, negative=0, sample=0, min_count=1, **how)
        codes: list[np.ndarray] = [np.zeros(0)] * len(corpus.vocabulary)
        points = [*codes]
        for key, row in model.wv.key_to_index.items():
            codes[int(key)] = np.asarray(model.wv.get_vecattr(row, "code"))
            points[int(key)] = np.asarray(model.wv.get_vecattr(row, "point"))[: len(codes[int(key)])]
        ends = np.concatenate([[0], np.cumsum([len(code) for code in codes])])
        signs = (1 - 2 * np.concatenate(codes)).astype(np.float32)
        self.tree = np.asarray(model.syn1, np.float32), ends, np.concatenate(points).astype(np.int64), signs

    def divide(self, positions: np.ndarray, words: list[str], *, epochs: int = 5, seed: int = 0) -> np.ndarray:
        """Give the likeliest sense of each occurrence, from 0."""
        numbers = [self.space.corpus.vocabulary[word] for word in words]
        wide = self.space._around(positions)  # noqa: SLF001
        contexts = wide[:, wide.shape[1] // 2 - WINDOW : wide.shape[1] // 2 + WINDOW]
        contexts = np.where(np.isin(contexts, numbers), -1, contexts)
        rng = np.random.default_rng(seed)
        U = ((rng.random((SENSES, DIMENSION)) - 0.5) / DIMENSION).astype(np.float32)
        n = np.zeros(SENSES)
        n[0] = N = len(contexts)
        for epoch in range(epochs):
            for at, row in enumerate(rng.permutation(N)):
                rate = RATE * max(1 - (epoch * N + at) / (epochs * N), 1e-4)
                _step(U, n, contexts[row], rate, _log_prior(n), *self.tree)
        prior = _log_prior(n)
        prior[np.exp(prior) < SEEN] = -np.inf
        found = np.array([np.argmax(prior + _likelihood(U, row, *self.tree)) for row in contexts])
        return np.unique(found, return_inverse=True)[1]


def neighbours(space: WordSenses, positions: np.ndarray, words: list[str], *, seed: int = 0) -> np.ndarray:
    """Give the cluster of neighbours that each occurrence goes with, from 0."""
    numbers = [space.corpus.vocabulary[word] for word in words]
    Y = space._contexts(space._around(positions), numbers)[1]  # noqa: SLF001
    unit = space.embedding.unit
    cosines = unit @ unit_rows(Y.mean(axis=0)[None])[0]
    cosines[[space.embedding.index[word] for word in words]] = -np.inf
    near = np.argsort(-cosines, kind="stable")[:NEIGHBOURS]
    alike = unit[near] @ unit[near].T
    np.fill_diagonal(alike, -np.inf)
    least = np.sort(alike, axis=1)[:, -LINKS][:, None]
    links = np.where(alike >= least, np.maximum(alike, 0), 0)
    labels = _chinese_whispers(np.maximum(links, links.T), np.random.default_rng(seed))
    groups = [near[labels == k] for k in np.unique(labels) if (labels == k).sum() >= LEAST] or [near]
    means = unit_rows(np.stack([unit[group].mean(axis=0) for group in groups]))
    return np.unique((Y @ means.T).argmax(axis=1), return_inverse=True)[1]


def _chinese_whispers(links: np.ndarray, rng: np.random.Generator, sweeps: int = 15) -> np.ndarray:
    """Give each node, in random order and again, the label that its links have most of."""
    labels = np.arange(len(links))
    for _ in range(sweeps):
        before = labels.copy()
        for node in rng.permutation(len(links)):
            votes = np.bincount(labels, weights=links[node], minlength=len(links))
            if votes.max() > 0:
                labels[node] = votes.argmax()
        if np.array_equal(before, labels):
            break
    return labels


def _log_prior(n: np.ndarray) -> np.ndarray:
    behind = n[::-1].cumsum()[::-1] - n
    a, b = 1 + n, ALPHA + behind
    log_stick, log_rest = digamma(a) - digamma(a + b), digamma(b) - digamma(a + b)
    log_stick[-1] = 0.0  # the last takes what is left
    return log_stick + np.concatenate([[0.0], np.cumsum(log_rest[:-1])])


@numba.njit(cache=True, fastmath=True)
def _likelihood(U, context, vectors, ends, points, signs):
    total = np.zeros(len(U))
    for v in context:
        if v < 0:
            continue
        for at in range(ends[v], ends[v + 1]):
            for k in range(len(U)):
                total[k] -= np.log1p(np.exp(-signs[at] * np.dot(U[k], vectors[points[at]])))
    return total


@numba.njit(cache=True, fastmath=True)
def _step(U, n, context, rate, prior, vectors, ends, points, signs):
    q = prior + _likelihood(U, context, vectors, ends, points, signs)
    q = np.exp(q - q.max())
    q /= q.sum()
    N = n.sum()
    n += rate * (N * q - n)
    for v in context:
        if v < 0:
            continue
        for at in range(ends[v], ends[v + 1]):
            for k in range(len(U)):
                if q[k] > 1e-10:
                    o = vectors[points[at]]
                    U[k] += np.float32(rate * q[k] * signs[at] / (1 + np.exp(signs[at] * np.dot(U[k], o)))) * o
