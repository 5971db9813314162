"""Word vectors that predict a word from the words at each position around it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple, Self

import numpy as np

from polyadic.core.errors import InputError, check_int, counted, meant
from polyadic.core.model import Amount, Callback, Count, Positive
from polyadic.core.resources import check_memory
from polyadic.core.solvers.run import Sweep, run
from polyadic.embedding import unit_rows
from polyadic.text.tokens import Tokenizer
from polyadic.words.base import SMALLER, WordModel
from polyadic.words.kernels import cbow_epoch

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from polyadic.text.store import TextStore

EXPONENT = 0.75  # exponent of the counts in negative sampling
LAST_LEARNING_RATE = 1e-4
DRAWN = 1 << 20  # size of the table from which negative samples are drawn
MIN_WORDS = 3
PIECE = 1 << 13  # number of sentences in a call of the kernel
READ, MIN_EPOCHS, MAX_EPOCHS = 10_000_000, 3, 30  # number of words to read in all epochs, and limits of the epochs
PLACES, NEAREST = 500, 20  # numbers of places, and of similar words for each, from which scales_ is estimated


class Substitute(NamedTuple):
    """Word that could replace a word in a sentence."""

    word: str
    score: float  # sum of similarity and fit, each divided by its standard deviation
    similarity: float  # similarity to the replaced word
    place_fit: float  # fit to the other words of the sentence


class PositionCBOW(WordModel):
    r"""Continuous bag of words with a vector of weights for each position.

    A word :math:`w` is predicted from the vector :math:`h` of its place in a sentence, which is computed from the
    :math:`n` known words :math:`c_j` at the positions :math:`j = \pm 1, \dots, \pm m` around the word:

    .. math:: h = \frac1n \sum_j d_j * v_{c_j}, \qquad
              \max \sum_{(w, h)} \log \sigma(u_w \cdot h) + \sum_{k=1}^{K} \log \sigma(-u_{n_k} \cdot h),
              \qquad n_k \sim \#(n)^{3/4}

    where :math:`*` is the elementwise product and :math:`\#(n)` is the frequency of the word :math:`n`. The association
    of a word, a context word and a position, :math:`\sum_r u_{wr} v_{cr} d_{jr}`, is a CP decomposition whose third
    mode is the position. All words of the text are used, including stop words. A word that occurs less than
    ``min_count`` times takes up a position, but is not used. Frequent words are subsampled as targets, but not as
    context words. As in the reference implementation of word2vec, the gradient of :math:`v` is not divided by
    :math:`n`. The gradient of :math:`d` is multiplied by 0.05. The learning rate decreases linearly.

    Parameters
    ----------
    width : int
        Number :math:`m` of words on each side.
    min_count : int
        Minimum frequency of a word.
    epochs : int, optional
        Number of training epochs (default: ten million divided by the number of words, but from 3 to 30).
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
    words_ : list of str
        Word of each row.
    language_ : str
        Language of the corpus.
    scales_ : ndarray of shape (2,)
        Standard deviations of the similarity and of the fit, estimated from similar words at random places of the text.
    log_noise_ : ndarray of shape (V,)
        Logarithm of the probability :math:`q` of each word as a negative sample. According to the model, the
        probability of the word :math:`w` in a place is proportional to :math:`\exp(u_w \cdot h + \log q_w)`.
    history_ : list of float
        Mean loss of the predicted words in each epoch, in nats.
    converged_ : bool
        Always False: training ends after ``epochs``.

    References
    ----------
    Mikolov, Grave, Bojanowski, Puhrsch, Joulin (2018), Advances in pre-training distributed word representations,
    section 2.2. arXiv:1712.09405
    Levy, Goldberg (2014), Neural word embedding as implicit matrix factorization, section 3.1, for the probabilities

    Examples
    --------
    >>> from polyadic import Corpus
    >>> corpus = Corpus.build(["a red rose", "a red rose", "the blue sky", "a blue rose"] * 9, min_count=1)
    >>> model = PositionCBOW(8, width=2, epochs=50, sample=0, seed=0).fit(corpus)  # min_count is 5
    >>> model.vectors_.shape, model.positions_.shape
    ((6, 8), (4, 8))
    >>> [each.word for each in model.substitutes("a red rose", "red", candidates=["sky", "blue"])]
    ['blue', 'sky']
    """

    _: KW_ONLY
    width: Count = 5
    min_count: Count = 5
    epochs: Count | None = None
    negative: Count = 8
    sample: Amount = 1e-4
    learning_rate: Positive = 0.05
    callback: Callback = None

    def fit(self, corpus: TextStore) -> Self:
        """Train on the text of a corpus, in one thread so that results are reproducible.

        InputError is raised if fewer than three words occur ``min_count`` times, or if the loss is infinite or NaN.
        """
        self.check()
        text = corpus.text
        text.verify()
        of_form = text.word_of
        counts = np.bincount(of_form + 1, text.form_counts, minlength=1)[1:]
        counts = counts[counts >= self.min_count]  # words are in descending order of frequency
        if len(counts) < MIN_WORDS:
            raise InputError(
                f"{counted(len(counts), 'word')} of the text {'occurs' if len(counts) == 1 else 'occur'} at least"
                f" {counted(self.min_count, 'time')}; lower min_count, or use a larger text",
                "min_count",
            )
        ids = np.where(of_form < len(counts), of_form, -1).astype(np.int32)[text.forms]
        sentences = np.asarray(text.sentences)
        what = f"vectors of rank {self.rank} for {len(counts):,} words"
        check_memory(24.0 * len(counts) * self.rank + 4.0 * len(ids), what, SMALLER)
        epochs = self.epochs or int(np.clip(READ // len(ids), MIN_EPOCHS, MAX_EPOCHS))
        noise = counts**EXPONENT / (counts**EXPONENT).sum()
        rng = np.random.default_rng(self.seed)
        solver = self._epochs(epochs, ids, sentences, counts / len(ids), noise, rng)
        found = self._keep(run(solver, max_iter=epochs, callback=self.callback))
        self.vectors_, self.contexts_, self.positions_ = found
        self.log_noise_ = np.log(noise)
        self.words_ = text.words[: len(counts)]
        self.language_ = corpus.settings["language"]
        at = np.flatnonzero(ids >= 0)
        at = at[rng.integers(0, len(at), PLACES)]
        similarity, fit = self._scored(contexts_of(ids, sentences, at, self.width), ids[at])
        near = np.argsort(-similarity, axis=1)[:, 1 : NEAREST + 1]
        some = [np.take_along_axis(each, near, axis=1).std() for each in (similarity, fit)]
        self.scales_ = np.maximum(some, np.finfo(np.float32).tiny)
        return self

    def _epochs(
        self,
        epochs: int,
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
        loss = (self.negative + 1) * float(np.log(2))
        for epoch in range(epochs + 1):
            yield Sweep([U.copy(), C.copy(), D.copy()], loss)  # which an interrupted epoch does not change
            losses, words = 0.0, 0
            for start in range(0, len(sentences) - 1, PIECE):  # so that Ctrl-C is handled
                some = sentences[start : start + PIECE + 1]
                done = ((epoch + each / sentences[-1]) / epochs for each in (some[0], some[-1]))
                rates = [LAST_LEARNING_RATE + self.learning_rate * (1 - share) for share in done]
                state = rng.integers(2**64, dtype=np.uint64)
                piece = cbow_epoch(ids, some, U, C, D, kept, table, negative=self.negative, rates=rates, state=state)
                losses, words = losses + piece[0], words + piece[1]
            loss = losses / max(words, 1)
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
            Row of the word at each position, from the leftmost to the rightmost; -1 if there is no known word.
        """
        contexts = np.asarray(contexts)
        if contexts.ndim != 2 or contexts.shape[1] != len(self.positions_):
            message = f"contexts must have {len(self.positions_)} columns; got an array of {contexts.shape}"
            raise InputError(message, "contexts")
        known = (contexts >= 0) & (contexts < len(self.contexts_))
        h = np.zeros((len(contexts), self.positions_.shape[1]), np.float32)
        for j, d in enumerate(self.positions_):
            h += np.where(known[:, j, None], self.contexts_[np.where(known[:, j], contexts[:, j], 0)] * d, 0)
        return np.asarray(h / np.maximum(known.sum(axis=1), 1, dtype=np.float32)[:, None])

    def substitutes(
        self, sentence: str | Sequence[str], word: str, *, candidates: Sequence[str] | None = None, top: Count = 10
    ) -> list[Substitute]:
        r"""Return the words that could best replace a word in a sentence.

        .. math:: s(w) = \frac{1}{2 \sigma_1} \Big( \frac{u_w \cdot u_t}{\|u_w\| \|u_t\|}
                  + \frac{v_w \cdot v_t}{\|v_w\| \|v_t\|} \Big) + \frac{1}{\sigma_2} \frac{u_w \cdot h}{\|u_w\|}

        The first term is the similarity to the replaced word :math:`t`, the second the fit to its place, that is, to
        the words around it. :math:`\sigma_1` and :math:`\sigma_2` are ``scales_``.

        Parameters
        ----------
        sentence : str or sequence of str
            Sentence, or its words.
        word : str
            Word to replace; the first occurrence if it occurs several times.
        candidates : sequence of str, optional
            Words to rank (default: all). Unknown words are left out.
        top : int
            Maximum number of words.
        """
        tokens = sentence
        if isinstance(sentence, str):
            tokens = list(chain.from_iterable(Tokenizer(language=self.language_)(sentence)))
        index = {each: row for row, each in enumerate(self.words_)}
        word = word if word in index else word.lower()
        if word not in index:
            raise InputError(f"the word {word!r} is not in the vocabulary{meant(word, self.words_)}", "word")
        if word not in tokens:
            raise InputError(f"the sentence does not contain the word {word!r}", "word")
        at = list(tokens).index(word)
        ids = np.array([index.get(token, len(index)) for token in tokens])
        context = contexts_of(ids, np.array([0, len(ids)]), np.array([at]), len(self.positions_) // 2)
        similarity, place_fit = (each[0] for each in self._scored(context, ids[[at]]))
        score = similarity / self.scales_[0] + place_fit / self.scales_[1]
        rows = range(len(index)) if candidates is None else [index[each] for each in candidates if each in index]
        kept = sorted((row for row in rows if row != index[word]), key=lambda row: -score[row])
        return [
            Substitute(self.words_[row], float(score[row]), float(similarity[row]), float(place_fit[row]))
            for row in kept[: check_int("top", top, low=1)]
        ]

    def _scored(
        self, contexts: NDArray[np.integer], targets: NDArray[np.integer]
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return the similarity of all words to each target and their fit to its place, both of shape (n, V)."""
        U, C = unit_rows(self.vectors_), unit_rows(self.contexts_)
        return (U[targets] @ U.T + C[targets] @ C.T) / 2, self.places(contexts) @ U.T


def contexts_of(
    ids: NDArray[np.integer], sentences: NDArray[np.integer], positions: NDArray[np.integer], width: int
) -> NDArray[np.int64]:
    """Return the word ids around each position, shape (n, 2 width); -1 outside the sentence of the position."""
    of = np.searchsorted(sentences, positions, side="right")
    steps = np.array([*range(-width, 0), *range(1, width + 1)])
    at = positions[:, None] + steps
    inside = (at >= np.asarray(sentences)[of - 1][:, None]) & (at < np.asarray(sentences)[of][:, None])
    return np.where(inside, ids[np.where(inside, at, 0)].astype(np.int64), -1)
