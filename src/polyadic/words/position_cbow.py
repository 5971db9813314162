"""Word vectors that predict a word from the words at each position around it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY
from typing import TYPE_CHECKING, Self

import numpy as np

from polyadic.core.errors import InputError
from polyadic.core.model import Amount, Callback, Count, Positive
from polyadic.core.resources import check_memory
from polyadic.core.solvers.run import Sweep, run
from polyadic.text.counts import positioned
from polyadic.words.base import SMALLER, WordModel
from polyadic.words.kernels import cbow_epoch

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from polyadic.text.corpus import Corpus

EXPONENT = 0.75  # exponent of the counts in negative sampling
LAST_LEARNING_RATE = 1e-4
DRAWN = 1 << 20  # size of the table from which negative samples are drawn


class PositionCBOW(WordModel):
    r"""Continuous bag of words with a vector of weights for each position.

    A word :math:`w` in a place with the words :math:`c_j` at the positions :math:`j = \pm 1, \dots, \pm m` is predicted
    from the vector :math:`h` of the place:

    .. math:: h = \frac1n \sum_j d_j * v_{c_j}, \qquad
              \max \sum_{(w, h)} \log \sigma(u_w \cdot h) + \sum_{k=1}^{K} \log \sigma(-u_{n_k} \cdot h),
              \qquad n_k \sim \#(n)^{3/4}

    The association of a word, a context word and a position, :math:`\sum_r u_{wr} v_{cr} d_{jr}`, is a CP decomposition
    whose third mode is the position. The window is measured in running words within the sentence; words outside of the
    vocabulary take up a position. Build the corpus with ``stop_words=[]`` (the default in Python), so that the model
    also learns from function words. Frequent words are subsampled as targets, but not as context words. As in the
    reference program of word2vec, the gradient of :math:`v` is not divided by :math:`n`; that of :math:`d` is
    multiplied by 0.05. The learning rate decreases linearly.

    Parameters
    ----------
    width : int
        Number :math:`m` of words on each side.
    epochs : int
        Number of training epochs.
    negative : int
        Number :math:`K` of negative samples.
    sample : float
        Relative frequency above which target words are subsampled; 0 keeps all.
    learning_rate : float
        Initial learning rate.

    Attributes
    ----------
    vectors_ : ndarray of shape (V, rank)
        Word vectors :math:`u`.
    contexts_ : ndarray of shape (V, rank)
        Vectors :math:`v` of context words.
    positions_ : ndarray of shape (2 width, rank)
        Weights :math:`d` of the positions, from the leftmost to the rightmost.
    log_noise_ : ndarray of shape (V,)
        Logarithms of the probabilities of negative samples. The model's probability of word :math:`w` in a place is
        proportional to :math:`\exp(u_w \cdot h + \log q_w)`.
    history_ : list of float
        Mean loss of the predicted words in each epoch, in nats.
    converged_ : bool
        Always False; a sweep is an epoch.

    References
    ----------
    Mikolov, Grave, Bojanowski, Puhrsch, Joulin (2018), Advances in pre-training distributed word representations,
    section 2.2. arXiv:1712.09405
    Levy, Goldberg (2014), Neural word embedding as implicit matrix factorization, section 3.1, for the probabilities

    Examples
    --------
    >>> from polyadic import Corpus
    >>> corpus = Corpus.build(["a red rose", "a red rose", "the blue sky", "a blue rose"] * 9, min_count=1)
    >>> model = PositionCBOW(8, width=2, seed=0).fit(corpus)
    >>> model.vectors_.shape, model.positions_.shape
    ((6, 8), (4, 8))
    """

    _: KW_ONLY
    width: Count = 5
    epochs: Count = 3
    negative: Count = 8
    sample: Amount = 1e-4
    learning_rate: Positive = 0.05
    callback: Callback = None

    def fit(self, corpus: Corpus) -> Self:
        """Train on the running words of a corpus; one thread, so that results are reproducible."""
        self.check()
        ids, sentences = positioned(corpus, "running")
        counts = corpus.vocabulary.counts.astype(np.float64)
        what = f"vectors of rank {self.rank} for {len(counts):,} words"
        check_memory(8.0 * len(counts) * self.rank + 4.0 * len(ids), what, SMALLER)
        noise = counts**EXPONENT / (counts**EXPONENT).sum()
        rng = np.random.default_rng(self.seed)
        solver = self._epochs(ids.astype(np.int32), sentences, counts / len(ids), noise, rng)
        found = self._keep(run(solver, max_iter=self.epochs, callback=self.callback))
        self.vectors_, self.contexts_, self.positions_ = found
        self.log_noise_ = np.log(noise)
        return self

    def _epochs(
        self,
        ids: NDArray[np.int32],
        sentences: NDArray[np.int64],
        frequencies: NDArray[np.float64],
        noise: NDArray[np.float64],
        rng: np.random.Generator,
    ) -> Iterator[Sweep]:
        """Yield the vectors at the start and after each epoch."""
        V = len(noise)
        U = np.zeros((V, self.rank), np.float32)
        C = ((rng.random((V, self.rank), np.float32) - np.float32(0.5)) / np.float32(self.rank)).astype(np.float32)
        D = np.ones((2 * self.width, self.rank), np.float32)
        kept = np.minimum(1, np.sqrt(self.sample / frequencies)) if self.sample else np.ones(V)
        table = np.searchsorted(np.cumsum(noise), (np.arange(DRAWN) + 0.5) / DRAWN).clip(max=V - 1).astype(np.int32)
        loss = (self.negative + 1) * np.log(2)
        for epoch in range(self.epochs + 1):
            yield Sweep([U, C, D], loss)
            rates = [LAST_LEARNING_RATE + self.learning_rate * (1 - k / self.epochs) for k in (epoch, epoch + 1)]
            state = rng.integers(2**64, dtype=np.uint64)
            loss = cbow_epoch(ids, sentences, U, C, D, kept, table, negative=self.negative, rates=rates, state=state)
            if not np.isfinite(loss):
                raise InputError(
                    f"the loss became {loss} with learning_rate={self.learning_rate:g}; lower learning_rate",
                    "learning_rate",
                )

    def places(self, contexts: NDArray[np.integer]) -> NDArray[np.float32]:
        """Return the vectors of places, of shape (n, rank).

        Parameters
        ----------
        contexts : ndarray of shape (n, 2 width)
            Rows of the words at each position, from the leftmost to the rightmost; negative for no known word.
        """
        contexts = np.asarray(contexts)
        if contexts.ndim != 2 or contexts.shape[1] != len(self.positions_):
            raise InputError(f"contexts must have {len(self.positions_)} columns; got an array of {contexts.shape}")
        known = (contexts >= 0) & (contexts < len(self.contexts_))
        h = np.zeros((len(contexts), self.positions_.shape[1]), np.float32)
        for j, d in enumerate(self.positions_):
            h += np.where(known[:, j, None], self.contexts_[np.where(known[:, j], contexts[:, j], 0)] * d, 0)
        return np.asarray(h / np.maximum(known.sum(axis=1), 1, dtype=np.float32)[:, None])


def contexts_of(
    ids: NDArray[np.integer], sentences: NDArray[np.integer], positions: NDArray[np.integer], width: int
) -> NDArray[np.int64]:
    """Return the words around each position of a text within its sentence; -1 outside; shape (n, 2 width)."""
    of = np.searchsorted(sentences, positions, side="right")
    steps = np.array([*range(-width, 0), *range(1, width + 1)])
    at = positions[:, None] + steps
    inside = (at >= np.asarray(sentences)[of - 1][:, None]) & (at < np.asarray(sentences)[of][:, None])
    return np.where(inside, ids[np.where(inside, at, 0)].astype(np.int64), -1)
