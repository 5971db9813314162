r"""Word sense induction from contexts: the number of senses of each word, their frequencies and substitutes.

Contexts about different topics are not yet different senses: texts on Einstein's life and on his physics mean the same
man. Senses differ in the words that could be *substituted*. Occurrences are therefore clustered by context into many
small groups, substitutes are predicted for each group, and groups with the same substitutes are merged.

With :math:`\omega_c = a / (a + p_c)` and unit vectors :math:`\hat u`, a context of width :math:`r` is
:math:`x_r = \sum_c \omega_c \hat u_c` over the :math:`r` words to each side in the document. A linear map from mean
contexts to the vector of the word in the middle is learned from all words, weighted by :math:`\log n_w`:

.. math:: A = \arg\min_A \sum_w \log n_w\, \| [\bar x_{10}(w), \bar x_2(w)] A - \hat u_w \|^2 + \lambda \|A\|^2 .

:math:`\lambda` minimizes the leave-one-out error, which costs no more than one fit.

Occurrences are clustered by the directions of :math:`x_{10}` (minus the mean direction of all words) into
:math:`K` groups of :math:`n_k`. Each group has a sense vector :math:`t_k`, the mean of :math:`y = [x_{10}, x_2] A`.
Senses start as these groups, and are merged while the largest

.. math:: C_{ST} = \sum_{k \in S, l \in T} \frac{n_k n_l}{n_S n_T} \frac{t_k \cdot t_l}{\sqrt{d_k d_l}}
          + \sqrt{\frac{e_S + e_T}{50}}, \qquad d_k = t_k' \cdot t_k'', \qquad
          e_S = \sum_{k \in S} \frac{n_k^2}{n_S^2} \frac{\|t_k\|^2 - d_k}{d_k}

is at least a threshold. Here :math:`t', t''` are the means of two random halves of a group: their product is the
squared length without noise, and the second term allows for the remaining noise. :math:`C` is a mean over pairs of
groups, because the mean vectors of two senses become more similar the more different groups they contain. A sense below
the minimum share joins its nearest. The procedure runs from several random starts. The result is the partition with the
median number of senses that agrees best with the others; the share of starts with this number is reported. Finally each
occurrence is assigned to the sense whose mean :math:`y` has the largest cosine with its own, and so are occurrences in
other text (:meth:`WordSenses.assign`).

References
----------
Khodak, Saunshi, Liang, Ma, Stewart, Arora (2018), A la carte embedding. arXiv:1805.05388
Arora, Li, Liang, Ma, Risteski (2018), Linear algebraic structure of word senses. TACL 6
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from polyadic.core.annotations import AnyArray, Array, Floats, Ints
from polyadic.core.errors import InputError, check_int, counted
from polyadic.core.files import whole_file
from polyadic.core.version import __version__
from polyadic.embedding import Embedding, unit_rows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from polyadic.text.concordance import ConcordanceLine
    from polyadic.text.corpus import Corpus

WIDE, NEAR = 10, 2  # words on each side in the wide and the near context
COMMON = 1e-3  # constant a of the weight a / (a + relative frequency) of a context word
GROUPS = 16  # number of groups before merging; 12 and 20 gave equal results
THRESHOLD = 0.15
"""Agreement of substitutes above which groups are merged; tuned on pseudo-words, see docs/results/senses.md."""
DIRECTIONS = 50  # effective number of dimensions of noise: the cosine of two noise vectors has variance 1 / 50
MIN_SHARE = 0.08  # minimum share of the occurrences in a sense; 0.05 split single senses more often
FORMAT = 2  # version of the cache format
RUNS = 7  # number of random starts
MAX_OCCURRENCES = 5_000  # maximum number of occurrences that are clustered
MIN_OCCURRENCES = 50  # minimum number of occurrences; with 50, half of the words with two senses seem to have one
RELIABLE_OCCURRENCES = 200
"""Number of occurrences below which a sense may be missed; the result is then marked as unreliable."""
SAMPLED = 100  # maximum number of occurrences of a word from which the map is learned
RIDGES = tuple(10.0 ** (power / 2) for power in range(-8, 2))
"""Candidates for the ridge, relative to the mean eigenvalue. On 50 MB 1e-3 is best, on a Bible 3e-2."""
MIN_SUBSTITUTE_COUNT = 100  # minimum frequency of a substitute in the text
LOOKED_AT = 20  # lines examined per line returned, in the search for dissimilar ones
REPELLED = 0.5  # weight of the similarity to other senses in the penalty of a substitute


class SenseOfWord(NamedTuple):
    """One sense of a word."""

    share: float  # of the occurrences
    substitutes: tuple[str, ...]  # words that could replace it
    positions: Ints  # in the corpus, among the occurrences that were clustered, most typical first
    vector: Array  # in the space of the word vectors


class SensesOfWord(NamedTuple):
    """All induced senses of a word, most frequent first."""

    word: str
    occurrences: int  # in the corpus
    agreement: float  # share of random starts that found the same number of senses
    senses: tuple[SenseOfWord, ...]

    @property
    def sure(self) -> bool:
        """Whether the word occurs often enough for reliable sense induction."""
        return self.occurrences >= RELIABLE_OCCURRENCES


@dataclass(frozen=True, eq=False)
class WordSenses:
    """Word sense induction from a corpus and word vectors.

    Attributes
    ----------
    embedding : Embedding
        Word vectors.
    corpus : Corpus
        Text in which the words occur.
    map : ndarray of shape (2 R, R)
        Linear map from wide and near contexts to the vector of the word in the middle.
    mean : ndarray of shape (R,)
        Mean direction of contexts.
    fit : float
        Mean cosine of each word's vector with its leave-one-out prediction from contexts.

    Examples
    --------
    >>> from polyadic import Corpus, train
    >>> texts = [f"bank {a} {b} {c}" for a in "abcd" for b in "efgh" for c in "ijkl"] * 4
    >>> corpus = Corpus.build(texts, min_count=1)
    >>> senses = WordSenses.learn(train(corpus, method="ppmi-svd", rank=4), corpus)
    >>> found = senses.senses("bank", known=1)
    >>> found.occurrences, found.sure
    (256, True)
    """

    embedding: Embedding
    corpus: Corpus
    map: Floats
    mean: Floats
    fit: float

    @classmethod
    def learn(cls, embedding: Embedding, corpus: Corpus, *, seed: int = 0, keep: bool = False) -> WordSenses:
        """Learn a linear map from contexts to word vectors on all sufficiently frequent words.

        The vectors are preferably trained on the same text. ``seed`` is that of the sample of occurrences. With
        ``keep``, the result is cached in the folder of the corpus, and loaded from there if it exists. InputError is
        raised if the vectors and the corpus share too few words, or the cache is damaged.
        """
        if keep:
            about = f"{__version__} {FORMAT} {seed} {embedding.words}".encode()
            file = corpus.path / f"senses-{_digest(about, embedding.vectors.tobytes()).hex()}.safetensors"
            if file.is_file():
                return cls(embedding, corpus, *_read(file))
            learned = cls.learn(embedding, corpus, seed=seed)
            if os.access(corpus.path, os.W_OK):
                _write(file, learned)
            return learned
        rows = _frequent(embedding, corpus)
        if len(rows) < 2:
            what = f"only {counted(len(rows), 'word')} in common with a count of at least {MIN_OCCURRENCES}"
            raise InputError(f"the corpus and the vectors have {what}; at least 2 are required to learn senses")
        space = cls(embedding, corpus, np.zeros((0, 0), np.float32), np.zeros(0, np.float32), 0.0)
        positions, words = _sampled(np.asarray(corpus.ids), np.asarray(rows), np.random.default_rng(seed))
        M, usual = space._mean_contexts(positions, words, len(rows))
        U = embedding.unit[[embedding.index[corpus.vocabulary.words[number]] for number in rows]].astype(np.float64)
        A, fit = _ridge(M, U, np.log(corpus.vocabulary.counts[rows]))
        A /= np.repeat(usual, embedding.rank)[:, None]  # contexts are sums
        mean = unit_rows(unit_rows(M[:, : embedding.rank]).mean(axis=0)[None])[0]
        return cls(embedding, corpus, A.astype(np.float32), mean.astype(np.float32), fit)

    @staticmethod
    def can_learn(embedding: Embedding, corpus: Corpus) -> bool:
        """Return whether the corpus has enough text to learn word senses."""
        return len(_frequent(embedding, corpus)) >= 2

    def senses(self, word: str, *, top: int = 10, known: int = MIN_SUBSTITUTE_COUNT, seed: int = 0) -> SensesOfWord:
        """Return the induced senses of a word, with ``top`` substitutes each that occur ``known`` times in the corpus.

        ``seed`` is that of the sample of occurrences and of the random starts. InputError is raised if the word is not
        in the corpus or the vectors, or occurs too rarely.
        """
        check_int("top", top, low=1)
        self.embedding[word]  # raises InputError if it is unknown
        number = self.corpus.vocabulary.index.get(word)
        if number is None:
            raise InputError(f"{word!r} is not in the vocabulary of the corpus")
        positions = np.flatnonzero(np.asarray(self.corpus.ids) == number)
        if len(positions) < MIN_OCCURRENCES:
            what = f"{word!r} must occur at least {MIN_OCCURRENCES} times in the corpus to find its senses"
            raise InputError(f"{what}; got {counted(len(positions), 'occurrence')}")
        chosen = np.sort(np.random.default_rng(seed).permutation(positions)[:MAX_OCCURRENCES])
        X, Y = self._contexts(self._around(chosen), [number])
        labels, agreement = _agreed(X, Y, seed)
        k = labels.max() + 1
        vectors = np.stack([Y[labels == s].mean(axis=0) for s in range(k)]).astype(np.float64)
        substitutes = self._substitutes(unit_rows(vectors), word, top, known)
        senses = []
        for s in range(k):
            own = labels == s
            centre = unit_rows(X[own].sum(axis=0)[None])[0]
            at = chosen[own][np.argsort(-(X[own] @ centre), kind="stable")]
            senses.append(SenseOfWord(float(np.mean(own)), substitutes[s], at, vectors[s]))
        senses.sort(key=lambda sense: -sense.share)
        return SensesOfWord(word, len(positions), agreement, tuple(senses))

    def vector(self, word: str, positions: Ints) -> Array:
        """Return the mean of the word vectors predicted from the contexts of a word at some positions in the corpus.

        So the same word in two parts of a text has two vectors that can be compared, and that have neighbours.
        """
        Y = self._contexts(self._around(np.asarray(positions)), [self.corpus.vocabulary[word]])[1]
        return Y.mean(axis=0).astype(np.float64)

    def lines(self, sense: SenseOfWord, number: int) -> list[ConcordanceLine]:
        """Return at most ``number`` of the most typical concordance lines of a sense, without near-duplicates."""
        kept: list[tuple[ConcordanceLine, set[str]]] = []
        for line in map(self.corpus.line, sense.positions[: LOOKED_AT * number]):
            words = {*line.text.lower().split()}
            if all(2 * len(words & other) <= len(words | other) for _, other in kept):
                kept.append((line, words))
            if len(kept) == number:
                break
        return [line for line, _ in kept]

    def divide(self, positions: Ints, words: Sequence[str], *, seed: int = 0) -> Ints:
        """Return the index of the sense of each position in the corpus, treating the words there as one word.

        This separates two words again that were merged into one, as in pseudo-word evaluation.
        """
        numbers = [self.corpus.vocabulary[word] for word in words]
        return _agreed(*self._contexts(self._around(np.asarray(positions)), numbers), seed)[0]

    def assign(self, senses: SensesOfWord, contexts: Iterable[tuple[Sequence[str], Sequence[str]]]) -> Ints:
        """Return the index into ``senses.senses`` for each new context of a word, or -1 if it has no known word.

        ``senses`` are those of :meth:`senses`. A context is the words to the left and those to the right, in order.

        >>> from polyadic import Corpus, train
        >>> rivers = [f"bank {a} {b} {c}" for a in "abcd" for b in "efgh" for c in "ijkl"]
        >>> money = [f"bank {a} {b} {c}" for a in "mnop" for b in "qrst" for c in "uvwx"]
        >>> rest = [f"{word} {line[5:]}" for word, some in (("shore", rivers), ("purse", money)) for line in some]
        >>> corpus = Corpus.build((rivers + money + rest) * 3, min_count=1)
        >>> space = WordSenses.learn(train(corpus, method="ppmi-svd", rank=8), corpus)
        >>> senses = space.senses("bank", known=1)
        >>> [sense.substitutes[0] for sense in senses.senses]
        ['purse', 'shore']
        >>> space.assign(senses, [([], ["a", "e"]), ([], ["q", "u", "m"]), ([], ["unheard"])])
        array([ 1,  0, -1])
        """
        index, number = self.corpus.vocabulary.index, self.corpus.vocabulary[senses.word]
        rows = []
        for left, right in contexts:
            sides = [[index[word] for word in side if word in index] for side in (left, right)]
            before, after = sides[0][-WIDE:], sides[1][:WIDE]
            rows.append([-1] * (WIDE - len(before)) + before + after + [-1] * (WIDE - len(after)))
        Y = self._contexts(np.array(rows, np.int64).reshape(len(rows), 2 * WIDE), [number])[1]
        return np.where(Y.any(axis=1), _nearest(Y, np.stack([sense.vector for sense in senses.senses])), -1)

    def _around(self, positions: Ints) -> Ints:
        """Return the ids of the words around each position, one row per position; -1 outside the document."""
        ids, ends = self.corpus.ids, np.asarray(self.corpus.sentences)[np.asarray(self.corpus.documents)]
        document = np.searchsorted(ends, positions, side="right")
        around = positions[:, None] + np.array([d for d in range(-WIDE, WIDE + 1) if d])
        inside = (around >= ends[document - 1][:, None]) & (around < ends[document][:, None])
        return np.where(inside, ids[np.where(inside, around, 0)].astype(np.int64), -1)

    def _contexts(self, around: Ints, numbers: Sequence[int]) -> tuple[Floats, Floats]:
        """Return the centred unit vector of each context of a word, and the word vector predicted from each context."""
        around = np.where(np.isin(around, numbers), -1, around)
        wide, near = (self._sums(around, width)[0] for width in (WIDE, NEAR))
        X = unit_rows(wide)
        return unit_rows(X - np.outer(X @ self.mean, self.mean)), np.hstack([wide, near]) @ self.map

    def _mean_contexts(self, positions: Ints, words: Ints, size: int) -> tuple[Array, Array]:
        """Return the mean context of each word, (size, 2 * rank), and the mean weights of wide and of near contexts."""
        totals = np.zeros((2, size, self.embedding.rank))
        weights = np.zeros((2, size))
        for start in range(0, len(positions), 1 << 16):
            part = slice(start, start + (1 << 16))
            around = self._around(positions[part])
            ones = np.ones(len(around), np.float32)
            by_word = csr_array((ones, (words[part], np.arange(len(around)))), shape=(size, len(around)))
            for which, width in enumerate((WIDE, NEAR)):
                sums, weight = self._sums(around, width)
                totals[which] += by_word @ sums
                weights[which] += by_word @ weight
        means = totals / np.maximum(weights, 1e-9)[..., None]
        return np.hstack(list(means)), np.maximum(weights.sum(axis=1) / len(positions), 1e-9)

    def _sums(self, around: Ints, width: int) -> tuple[Floats, Floats]:
        """Return the weighted sum of the vectors of the surrounding words, and the sum of the weights."""
        near = around[:, WIDE - width : WIDE + width]
        weights, vectors = self._weighted
        inside = (near >= 0) & (weights[near] > 0)
        columns = near[inside]
        offsets = np.concatenate([[0], np.cumsum(inside.sum(axis=1))])
        table = csr_array((weights[columns], columns, offsets), shape=(len(near), len(weights)))
        return np.asarray(table @ vectors, np.float32), np.asarray(table.sum(axis=1), np.float32)

    @cached_property
    def _weighted(self) -> tuple[Floats, Floats]:
        """Weight and unit vector of each corpus word; words without a vector have zero weight."""
        vocabulary, index = self.corpus.vocabulary, self.embedding.index
        share = vocabulary.counts / vocabulary.counts.sum()
        rows = np.array([index.get(word, -1) for word in vocabulary.words])
        weights = np.where(rows >= 0, COMMON / (COMMON + share), 0).astype(np.float32)
        return weights, np.where(rows[:, None] >= 0, self.embedding.unit[rows], 0).astype(np.float32)

    def _substitutes(self, vectors: Array, word: str, top: int, known: int) -> list[tuple[str, ...]]:
        """Return the words that are similar to each sense and dissimilar to all other senses."""
        counts = self.corpus.vocabulary.counts
        frequent = (w for w, n in zip(self.corpus.vocabulary.words, counts, strict=True) if n >= known and w != word)
        rows = [row for other in frequent if (row := self.embedding.index.get(other)) is not None]
        alike = vectors @ self.embedding.unit[rows].T.astype(np.float64)
        named = []
        for s in range(len(vectors)):
            others = np.delete(alike, s, axis=0)
            score = alike[s] - (REPELLED * np.maximum(others.max(axis=0), 0) if len(others) else 0)
            named.append(tuple(self.embedding.words[rows[at]] for at in np.argsort(-score, kind="stable")[:top]))
        return named


def _frequent(embedding: Embedding, corpus: Corpus) -> list[int]:
    """Return the ids of words that have vectors and occur often enough in the corpus."""
    known = zip(corpus.vocabulary.words, corpus.vocabulary.counts, strict=True)
    return [number for number, (word, n) in enumerate(known) if n >= MIN_OCCURRENCES and word in embedding]


def _digest(*parts: bytes) -> bytes:
    return hashlib.blake2b(b"".join(parts), digest_size=8).digest()


def _write(file: Path, learned: WordSenses) -> None:
    from safetensors.numpy import save

    arrays = {"map": np.ascontiguousarray(learned.map), "mean": learned.mean, "fit": np.array([learned.fit])}
    check = _digest(*(array.tobytes() for array in arrays.values()))
    with whole_file(file) as draft:
        draft.write_bytes(save({**arrays, "check": np.frombuffer(check, np.uint8)}))


def _read(file: Path) -> tuple[Floats, Floats, float]:
    from safetensors import SafetensorError
    from safetensors.numpy import load

    try:
        arrays = load(file.read_bytes())
        A, mean, fit, check = (arrays[name] for name in ("map", "mean", "fit", "check"))
        if check.tobytes() != _digest(A.tobytes(), mean.tobytes(), fit.tobytes()):
            raise ValueError("the checksum does not match")  # noqa: TRY301 # handled with the other errors
    except (SafetensorError, KeyError, ValueError) as error:
        raise InputError(f"{file} is damaged: {error}; delete the file to recompute it") from None
    return A, mean, float(fit[0])


def _ridge(M: AnyArray, U: AnyArray, weights: AnyArray) -> tuple[Array, float]:
    """Solve weighted ridge regression with the penalty of the smallest leave-one-out error, of ``r_i / (1 - h_i)``."""
    root = np.sqrt(weights)[:, None]
    eigenvalues, Q = np.linalg.eigh((M * root).T @ (M * root))
    eigenvalues = np.maximum(eigenvalues, 0)
    Z = (M * root) @ Q
    B = Z.T @ (U * root)
    best: tuple[float, Array, float] | None = None
    for ridge in RIDGES:
        shrunk = 1 / (eigenvalues + ridge * eigenvalues.mean() + np.finfo(float).tiny)
        leverage = np.minimum((Z * Z) @ shrunk, 1 - 1e-9)
        left_out = (U * root - Z @ (shrunk[:, None] * B)) / (1 - leverage)[:, None]
        error = float((left_out * left_out).sum())
        if best is None or error < best[0]:
            foretold = unit_rows(U * root - left_out)
            best = error, Q @ (shrunk[:, None] * B), float((foretold * U).sum(axis=1).mean())
    assert best is not None
    return best[1], best[2]


def _sampled(ids: NDArray[np.integer], rows: Ints, rng: np.random.Generator) -> tuple[Ints, Ints]:
    """Sample corpus positions of each word, and return them with the index of the word in ``rows``."""
    order = np.argsort(ids, kind="stable")
    ends = np.searchsorted(ids[order], np.column_stack([rows, rows + 1]))
    places = (np.arange(first, last) for first, last in ends)
    drawn = [order[some if len(some) <= SAMPLED else rng.choice(some, SAMPLED, replace=False)] for some in places]
    return np.concatenate(drawn).astype(np.int64), np.repeat(np.arange(len(rows)), [len(some) for some in drawn])


def _agreed(X: Floats, Y: Floats, seed: int) -> tuple[Ints, float]:
    """Return the labels of the random start with the median number of senses that agrees best, and the agreement."""
    from sklearn.metrics import adjusted_rand_score

    runs = [_partition(X, Y, np.random.default_rng([seed, run])) for run in range(RUNS)]
    numbers = np.array([labels.max() + 1 for labels in runs])
    k = int(np.sort(numbers)[RUNS // 2])
    alike = [run for run, number in zip(runs, numbers, strict=True) if number == k]
    best = max(alike, key=lambda run: sum(adjusted_rand_score(run, other) for other in alike) if k > 1 else 0)
    vectors = np.stack([Y[best == sense].mean(axis=0) for sense in range(k)])
    return np.unique(_nearest(Y, vectors), return_inverse=True)[1].astype(np.int64), float(np.mean(numbers == k))


def _nearest(Y: AnyArray, vectors: AnyArray) -> Ints:
    """Return the index of the vector with the highest cosine similarity for each row of Y."""
    return np.asarray((Y @ unit_rows(vectors).T).argmax(axis=1))


def _partition(X: Floats, Y: Floats, rng: np.random.Generator) -> Ints:
    """Cluster contexts and merge clusters with similar substitutes; return the sense label of each context."""
    cells = _spherical_means(X, max(min(GROUPS, len(X) // 10), 1), rng)
    n = np.bincount(cells).astype(np.float64)
    C, e = _agreement(Y, cells, rng)
    sense, size = np.arange(len(n)), n.copy()
    total, noise = C * np.outer(n, n), e * n**2  # of each pair of senses, and of each sense
    while len(size) > 1:
        share = noise / size**2
        alike = total / np.outer(size, size) + np.sqrt((share[:, None] + share) / DIRECTIONS)
        np.fill_diagonal(alike, -np.inf)
        i, j = np.unravel_index(alike.argmax(), alike.shape)
        if alike[i, j] < THRESHOLD:
            i = size.argmin()
            if size[i] >= MIN_SHARE * len(X):
                break
            j = alike[i].argmax()
        to = np.delete(np.arange(len(size)), j)  # j joins i
        for table in (size, noise, total, total.T):
            table[i] += table[j]
        size, noise, total = size[to], noise[to], total[np.ix_(to, to)]
        sense = np.where(sense == j, i, sense)
        sense = sense - (sense > j)
    return sense[cells]


def _agreement(Y: Floats, cells: Ints, rng: np.random.Generator) -> tuple[Array, Array]:
    """Return the noise-corrected cosine similarity of each pair of clusters, and the relative noise of each cluster."""
    k = int(cells.max()) + 1
    at = (rng.random(len(Y)) < 0.5) * k + cells
    N = np.bincount(at, minlength=2 * k).reshape(2, k)
    S = np.stack([np.bincount(at, y, minlength=2 * k) for y in Y.T], axis=-1).reshape(2, k, -1)
    halves = S / np.maximum(N, 1)[..., None]
    t = S.sum(axis=0) / N.sum(axis=0)[:, None]
    products = t @ t.T
    squares = np.diag(products)
    d = np.maximum((halves[0] * halves[1]).sum(axis=1), 0.1 * squares + np.finfo(float).tiny)
    return products / np.sqrt(np.outer(d, d)), np.maximum(squares - d, 0) / d


def _spherical_means(X: Floats, k: int, rng: np.random.Generator) -> Ints:
    """Cluster unit vectors by spherical k-means with k-means++ initialization; no cluster is empty."""
    centres = [X[rng.integers(len(X))]]
    distance = 1 - X @ centres[0]
    for _ in range(k - 1):
        chances = np.maximum(distance, 0) + 1e-9
        centres.append(X[rng.choice(len(X), p=chances / chances.sum())])
        distance = np.minimum(distance, 1 - X @ centres[-1])
    C, labels = np.array(centres), np.full(len(X), -1)
    for _ in range(20):
        new = (X @ C.T).argmax(axis=1)
        if np.mean(new != labels) < 1e-3:
            break
        labels = new
        members = csr_array((np.ones(len(X), np.float32), (labels, np.arange(len(X)))), shape=(k, len(X)))
        C = unit_rows(members @ X)
    return np.unique(labels, return_inverse=True)[1].astype(np.int64)
