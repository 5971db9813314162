r"""Senses of a word from its occurrences: how many, how often each is meant, and what could stand in its place.

Contexts of a word that speak of different things are not yet different senses: einstein's life and einstein's physics
are one man. Senses differ in *what could stand in the word's place*. So occurrences are first cut into many small
groups by their contexts, each group is asked for its substitutes, and groups of the same substitutes are put together.

With :math:`\omega_c = a / (a + p_c)` and unit vectors :math:`\hat u`, a context of width :math:`r` is
:math:`x_r = \sum_c \omega_c \hat u_c` over the :math:`r` words to each side in the document. A linear map takes mean
contexts to what stands in their midst; it is learned from all words of the vectors, weighted by :math:`\log n_w`:

.. math:: A = \arg\min_A \sum_w \log n_w\, \| [\bar x_{10}(w), \bar x_2(w)] A - \hat u_w \|^2 + \lambda \|A\|^2 ,

with the :math:`\lambda` by which each word is foretold best from all others, which costs no more than one map.

Occurrences are clustered by the directions of :math:`x_{10}` (less the mean direction of all words) into
:math:`K` groups of :math:`n_k`, each of which has the sense vector :math:`t_k`, the mean of :math:`y = [x_{10}, x_2]
A`. Senses begin as these groups, and are merged while the largest

.. math:: C_{ST} = \sum_{k \in S, l \in T} \frac{n_k n_l}{n_S n_T} \frac{t_k \cdot t_l}{\sqrt{d_k d_l}}
          + \sqrt{\frac{e_S + e_T}{50}}, \qquad d_k = t_k' \cdot t_k'', \qquad
          e_S = \sum_{k \in S} \frac{n_k^2}{n_S^2} \frac{\|t_k\|^2 - d_k}{d_k}

is at least a threshold, where :math:`t', t''` are the means of two random halves of a group: their product is the
squared length free of noise, and the second term allows for the noise that is left. (It is the mean over pairs of
groups that counts. The mean vectors of two senses look the more alike, the more different groups each is made of.)
What remains smaller than the least share joins its nearest. This is done from several random starts; the answer is the
partition in the median number of senses that agrees best with the others, and it is told how many starts found as many.
At last each occurrence goes to the sense whose mean :math:`y` has the largest cosine with its own, and so does one of
other text (:meth:`WordSenses.assign`).

References
----------
Khodak, Saunshi, Liang, Ma, Stewart, Arora (2018), A la carte embedding. arXiv:1805.05388
Arora, Li, Liang, Ma, Risteski (2018), Linear algebraic structure of word senses. TACL 6
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from polyadic.core.errors import InputError, check_int
from polyadic.core.files import whole_file
from polyadic.core.version import __version__
from polyadic.embedding import unit_rows

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from polyadic.embedding import Embedding
    from polyadic.text.corpus import Corpus
    from polyadic.text.lines import ConcordanceLine

WIDE, NEAR = 10, 2
"""Words to each side of the two contexts."""
COMMON = 1e-3
"""The weight of a context word is a / (a + its share of the text); this is a."""
GROUPS = 16
"""Groups at first; 12 and 20 did as well."""
THRESHOLD = 0.15
"""Groups are one sense from this agreement of their substitutes on; chosen on pseudo-words, docs/results/senses.md."""
DIRECTIONS = 50
"""Over which noise spreads as over columns that are not alike: a cosine of noise has the variance 1 / 50."""
LEAST_SHARE = 0.08
"""Of the occurrences; .05 made more senses of one."""
FORMAT = 2
"""Of what is kept."""
RUNS = 7
"""Random starts."""
MOST = 5_000
"""Occurrences that are looked at."""
FEWEST = 50
"""Occurrences; of fewer nothing is said: with 50, half of the words of two senses seem to have one."""
FEW = 200
"""Occurrences below which a sense may be missed, which is told."""
SAMPLED = 100
"""Occurrences of each word that the map is learned from."""
RIDGES = tuple(10.0 ** (power / 2) for power in range(-8, 2))
"""To choose from, of the mean diagonal of the normal equations. On 50 MB 1e-3 is best, on a Bible 3e-2."""
KNOWN = 100
"""A substitute occurs so often in the text."""
LOOKED_AT = 20
"""Times as many lines as are asked for, in search of some that differ."""
REPELLED = 0.5
"""How much a substitute of another sense counts against a word."""


class SenseOfWord(NamedTuple):
    """A sense of a word.

    ``share`` is how often it is meant, ``substitutes`` are words that could stand in its place, ``positions`` where in
    the corpus it stands (of those occurrences that were looked at), the most typical first, ``vector`` its place among
    the word vectors.
    """

    share: float
    substitutes: tuple[str, ...]
    positions: NDArray[np.int64]
    vector: NDArray[np.float64]


class SensesOfWord(NamedTuple):
    """The senses of a word, the most frequent first.

    ``occurrences`` is how often the word stands in the corpus, ``agreement`` the share of random starts that found as
    many senses.
    """

    word: str
    occurrences: int
    agreement: float
    senses: tuple[SenseOfWord, ...]

    @property
    def sure(self) -> bool:
        """Whether there was enough text to tell senses apart."""
        return self.occurrences >= FEW


@dataclass(frozen=True, eq=False)
class WordSenses:
    """What is learned once of a corpus and its vectors, to find the senses of any word.

    Attributes
    ----------
    embedding : Embedding
        Word vectors.
    corpus : Corpus
        Text in which the words stand.
    map : ndarray of shape (2 R, R)
        From contexts, wide and near, to what stands in their midst.
    mean : ndarray of shape (R,)
        The mean direction of contexts.
    fit : float
        How well contexts tell what stands in their midst: the mean cosine of each word's vector with what the other
        words foretell of it.

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
    map: NDArray[np.float32]
    mean: NDArray[np.float32]
    fit: float

    @classmethod
    def learn(cls, embedding: Embedding, corpus: Corpus, *, seed: int = 0, keep: bool = False) -> WordSenses:
        """Learn the map from the contexts of all words that occur often enough.

        Parameters
        ----------
        embedding : Embedding
            Word vectors, best of the same text.
        corpus : Corpus
            Text in which the words stand.
        seed : int
            Of the occurrences that are looked at, where there are many.
        keep : bool
            Whether what is learned stays in the folder of the corpus, and is taken from there the next time.

        Raises
        ------
        InputError
            If the vectors and the corpus share too few words, or what was kept is damaged.
        """
        if keep:
            file = _kept(corpus, embedding, seed)
            if file.is_file():
                return cls(embedding, corpus, *_read(file))
            learned = cls.learn(embedding, corpus, seed=seed)
            if os.access(corpus.path, os.W_OK):
                _write(file, learned)
            return learned
        rng = np.random.default_rng(seed)
        vocabulary = corpus.vocabulary
        rows = _frequent(embedding, corpus)
        if len(rows) < 2:
            raise InputError(
                f"the corpus and the vectors have {len(rows)} words in common that occur {FEWEST} times; senses are"
                " learned from more"
            )
        space = cls(embedding, corpus, np.zeros((0, 0), np.float32), np.zeros(0, np.float32), 0.0)
        positions, words = _sampled(np.asarray(corpus.ids), np.asarray(rows), rng)
        M, usual = space._mean_contexts(positions, words, len(rows))
        U = embedding.unit[[embedding.index[vocabulary.words[number]] for number in rows]].astype(np.float64)
        A, fit = _ridge(M, U, np.log(vocabulary.counts[rows]))
        A /= np.repeat(usual, embedding.rank)[:, None]  # contexts are sums
        mean = unit_rows(unit_rows(M[:, : embedding.rank]).mean(axis=0)[None])[0]
        return cls(embedding, corpus, A.astype(np.float32), mean.astype(np.float32), fit)

    @staticmethod
    def can_learn(embedding: Embedding, corpus: Corpus) -> bool:
        """Tell whether there is enough text to learn from."""
        return len(_frequent(embedding, corpus)) >= 2

    def senses(self, word: str, *, top: int = 10, known: int = KNOWN, seed: int = 0) -> SensesOfWord:
        """Find the senses of a word.

        Parameters
        ----------
        word : str
            The word.
        top : int
            Substitutes of each sense.
        known : int
            How often a substitute occurs in the corpus at least.
        seed : int
            Of the occurrences that are looked at, where there are many, and of the random starts.

        Raises
        ------
        InputError
            If the corpus or the vectors do not know the word, or it occurs too seldom.
        """
        check_int("top", top, low=1)
        self.embedding[word]  # or it is refused
        number = self.corpus.vocabulary.index.get(word)
        if number is None:
            raise InputError(f"{word!r} is not in the vocabulary of the corpus")
        positions = np.flatnonzero(np.asarray(self.corpus.ids) == number)
        if len(positions) < FEWEST:
            raise InputError(f"{word!r} occurs {len(positions)} times; to tell its senses takes {FEWEST}")
        chosen = np.sort(np.random.default_rng(seed).permutation(positions)[:MOST])
        X, Y = self._contexts(self._around(chosen), [number])
        labels, agreement = _agreed(X, Y, seed)
        k = labels.max() + 1
        vectors = np.stack([Y[labels == s].mean(axis=0) for s in range(k)]).astype(np.float64)
        substitutes = self._substitutes(unit_rows(vectors), word, top, known)
        senses = []
        for s in range(k):
            centre = unit_rows(X[labels == s].sum(axis=0)[None])[0]
            typical = np.argsort(-(X[labels == s] @ centre), kind="stable")
            at = chosen[labels == s][typical]
            senses.append(SenseOfWord(float(np.mean(labels == s)), substitutes[s], at, vectors[s]))
        senses.sort(key=lambda sense: -sense.share)
        return SensesOfWord(word, len(positions), agreement, tuple(senses))

    def vector(self, word: str, positions: NDArray[np.int64]) -> NDArray[np.float64]:
        """Give what the contexts of some occurrences of a word say of it: a place among the word vectors.

        So the same word in two parts of a text has two vectors that can be compared, and have neighbours.
        """
        Y = self._contexts(self._around(np.asarray(positions)), [self.corpus.vocabulary[word]])[1]
        return Y.mean(axis=0).astype(np.float64)

    def lines(self, sense: SenseOfWord, number: int) -> list[ConcordanceLine]:
        """Give the most typical lines of a sense that differ: none has most of its words in common with one before."""
        kept: list[tuple[ConcordanceLine, set[str]]] = []
        for at in sense.positions[: LOOKED_AT * number]:
            line = self.corpus.line(at)
            words = {*line.text.lower().split()}
            if all(2 * len(words & other) <= len(words | other) for _, other in kept):
                kept.append((line, words))
            if len(kept) == number:
                break
        return [line for line, _ in kept]

    def divide(self, positions: NDArray[np.int64], words: Sequence[str], *, seed: int = 0) -> NDArray[np.int64]:
        """Say in which sense each of some occurrences is meant, from 0, as if ``words``, which stand there, were one.

        This is how two words that are taken for one are told apart again.
        """
        numbers = [self.corpus.vocabulary[word] for word in words]
        return _agreed(*self._contexts(self._around(np.asarray(positions)), numbers), seed)[0]

    def assign(
        self, senses: SensesOfWord, contexts: Iterable[tuple[Sequence[str], Sequence[str]]]
    ) -> NDArray[np.int64]:
        """Say in which sense a word is meant in other text.

        Parameters
        ----------
        senses : SensesOfWord
            What :meth:`senses` says of the word.
        contexts : iterable of (list of str, list of str)
            The words to its left and to its right, each list in the order of the text.

        Returns
        -------
        ndarray of shape (n,)
            For each context the place in ``senses.senses``, or -1 where no word around it is known.

        Examples
        --------
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
        around = np.array(rows, np.int64).reshape(len(rows), 2 * WIDE)
        Y = self._contexts(around, [number])[1]
        nearest = _nearest(Y, np.stack([sense.vector for sense in senses.senses]))
        return np.where(Y.any(axis=1), nearest, -1)

    def _around(self, positions: NDArray[np.int64]) -> NDArray[np.int64]:
        """Give the words around positions, of shape (n, 2 WIDE), -1 beyond the ends of the document."""
        ids, ends = self.corpus.ids, np.asarray(self.corpus.sentences)[np.asarray(self.corpus.documents)]
        document = np.searchsorted(ends, positions, side="right")
        around = positions[:, None] + np.array([d for d in range(-WIDE, WIDE + 1) if d])
        inside = (around >= ends[document - 1][:, None]) & (around < ends[document][:, None])
        return np.where(inside, ids[np.where(inside, around, 0)].astype(np.int64), -1)

    def _contexts(
        self, around: NDArray[np.int64], numbers: Sequence[int]
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Give the directions of the contexts of a word, and what each says stands in its midst."""
        around = np.where(np.isin(around, numbers), -1, around)
        wide, near = (self._sums(around, width)[0] for width in (WIDE, NEAR))
        X = unit_rows(wide)
        return unit_rows(X - np.outer(X @ self.mean, self.mean)), np.hstack([wide, near]) @ self.map

    def _mean_contexts(
        self, positions: NDArray[np.int64], words: NDArray[np.int64], size: int
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Give the mean contexts of words, of shape (size, 2 R), from positions of each, and the usual sum of weights.

        The latter are two, of wide and of near contexts.
        """
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

    def _sums(self, around: NDArray[np.int64], width: int) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Give the weighted sums of the vectors of the words around, and the sums of the weights."""
        near = around[:, WIDE - width : WIDE + width]
        weights, vectors = self._weighted
        inside = (near >= 0) & (weights[near] > 0)
        columns = near[inside]
        offsets = np.concatenate([[0], np.cumsum(inside.sum(axis=1))])
        table = csr_array((weights[columns], columns, offsets), shape=(len(near), len(weights)))
        return np.asarray(table @ vectors, np.float32), np.asarray(table.sum(axis=1), np.float32)

    @cached_property
    def _weighted(self) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """The weight of each word of the corpus, zero if it has no vector, and its vector of length 1."""
        vocabulary, index = self.corpus.vocabulary, self.embedding.index
        share = vocabulary.counts / vocabulary.counts.sum()
        rows = np.array([index.get(word, -1) for word in vocabulary.words])
        weights = np.where(rows >= 0, COMMON / (COMMON + share), 0).astype(np.float32)
        return weights, np.where(rows[:, None] >= 0, self.embedding.unit[rows], 0).astype(np.float32)

    def _substitutes(self, vectors: NDArray[np.float64], word: str, top: int, known: int) -> list[tuple[str, ...]]:
        """Give the words that are most like each sense and least like the other that they are most like."""
        counts = self.corpus.vocabulary.counts
        frequent = (w for w, n in zip(self.corpus.vocabulary.words, counts, strict=True) if n >= known and w != word)
        rows = [row for other in frequent if (row := self.embedding.index.get(other)) is not None]
        alike = vectors @ self.embedding.unit[rows].T.astype(np.float64)
        named = []
        for s in range(len(vectors)):
            others = np.delete(alike, s, axis=0)
            score = alike[s] - (REPELLED * np.maximum(others.max(axis=0), 0) if len(others) else 0)
            best = np.argsort(-score, kind="stable")[:top]
            named.append(tuple(self.embedding.words[rows[at]] for at in best))
        return named


def _frequent(embedding: Embedding, corpus: Corpus) -> list[int]:
    """Give the numbers of words that have vectors and occur often enough to learn from."""
    known = zip(corpus.vocabulary.words, corpus.vocabulary.counts, strict=True)
    return [number for number, (word, n) in enumerate(known) if n >= FEWEST and word in embedding]


def _digest(*parts: bytes) -> bytes:
    return hashlib.blake2b(b"".join(parts), digest_size=8).digest()


def _kept(corpus: Corpus, embedding: Embedding, seed: int) -> Path:
    """Give the file in which the map of these vectors stays."""
    about = f"{__version__} {FORMAT} {seed} {embedding.words}".encode()
    return corpus.path / f"senses-{_digest(about, embedding.vectors.tobytes()).hex()}.safetensors"


def _write(file: Path, learned: WordSenses) -> None:
    from safetensors.numpy import save

    arrays = {"map": np.ascontiguousarray(learned.map), "mean": learned.mean, "fit": np.array([learned.fit])}
    check = _digest(*(array.tobytes() for array in arrays.values()))
    with whole_file(file) as draft:
        draft.write_bytes(save({**arrays, "check": np.frombuffer(check, np.uint8)}))


def _read(file: Path) -> tuple[NDArray[np.float32], NDArray[np.float32], float]:
    from safetensors import SafetensorError
    from safetensors.numpy import load

    try:
        arrays = load(file.read_bytes())
        A, mean, fit, check = (arrays[name] for name in ("map", "mean", "fit", "check"))
        if check.tobytes() != _digest(A.tobytes(), mean.tobytes(), fit.tobytes()):
            raise ValueError("it holds other numbers than were written")  # noqa: TRY301 # as the other faults
    except (SafetensorError, KeyError, ValueError) as error:
        raise InputError(f"{file} is damaged: {error}; remove it, and it is made again") from None
    return A, mean, float(fit[0])


def _ridge(M: NDArray[Any], U: NDArray[Any], weights: NDArray[Any]) -> tuple[NDArray[np.float64], float]:
    """Solve weighted least squares with the ridge of the smallest error when each row is left out in turn.

    The residual without row i is :math:`r_i / (1 - h_i)`, with the diagonal h of the matrix that gives what is fitted.
    """
    root = np.sqrt(weights)[:, None]
    eigenvalues, Q = np.linalg.eigh((M * root).T @ (M * root))
    eigenvalues = np.maximum(eigenvalues, 0)
    Z = (M * root) @ Q
    B = Z.T @ (U * root)
    best: tuple[float, NDArray[np.float64], float] | None = None
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


def _sampled(
    ids: NDArray[np.integer], rows: NDArray[np.int64], rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Draw positions of each of some words, and say which word stands there, by its place in ``rows``."""
    order = np.argsort(ids, kind="stable")
    ends = np.searchsorted(ids[order], np.column_stack([rows, rows + 1]))
    drawn = [
        order[first:last]
        if last - first <= SAMPLED
        else order[rng.choice(np.arange(first, last), SAMPLED, replace=False)]
        for first, last in ends
    ]
    words = np.repeat(np.arange(len(rows)), [len(some) for some in drawn])
    return np.concatenate(drawn).astype(np.int64), words


def _agreed(X: NDArray[np.float32], Y: NDArray[np.float32], seed: int) -> tuple[NDArray[np.int64], float]:
    """Give the partition in the median number of senses that agrees best with the others, and how many have that."""
    from sklearn.metrics import adjusted_rand_score

    runs = [_partition(X, Y, np.random.default_rng([seed, run])) for run in range(RUNS)]
    numbers = np.array([labels.max() + 1 for labels in runs])
    k = int(np.sort(numbers)[RUNS // 2])
    alike = [run for run, number in zip(runs, numbers, strict=True) if number == k]
    best = max(alike, key=lambda run: sum(adjusted_rand_score(run, other) for other in alike) if k > 1 else 0)
    vectors = np.stack([Y[best == sense].mean(axis=0) for sense in range(k)])
    return np.unique(_nearest(Y, vectors), return_inverse=True)[1].astype(np.int64), float(np.mean(numbers == k))


def _nearest(Y: NDArray[Any], vectors: NDArray[Any]) -> NDArray[np.int64]:
    """Give for each row of Y the vector that has the largest cosine with it."""
    return np.asarray((Y @ unit_rows(vectors).T).argmax(axis=1))


def _partition(X: NDArray[np.float32], Y: NDArray[np.float32], rng: np.random.Generator) -> NDArray[np.int64]:
    """Cluster contexts, and merge clusters whose substitutes agree; give the sense of each, from 0."""
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
            if size[i] >= LEAST_SHARE * len(X):
                break
            j = alike[i].argmax()
        to = np.delete(np.arange(len(size)), j)  # j joins i
        for table in (size, noise, total, total.T):
            table[i] += table[j]
        size, noise, total = size[to], noise[to], total[np.ix_(to, to)]
        sense = np.where(sense == j, i, sense)
        sense = sense - (sense > j)
    return sense[cells]


def _agreement(
    Y: NDArray[np.float32], cells: NDArray[np.int64], rng: np.random.Generator
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Give the cosine, free of noise, of what each two groups foretell, and the noise in each against its square."""
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


def _spherical_means(X: NDArray[np.float32], k: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Cluster directions by k-means with centres of length 1, from starts that lie apart; none is empty."""
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
