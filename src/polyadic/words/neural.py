"""Word2vec vectors, trained by gensim on a polyadic corpus."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

import numpy as np

from polyadic.core.errors import needing
from polyadic.core.model import Amount, Callback, Count, Within
from polyadic.core.resources import check_memory
from polyadic.core.solvers.run import Sweep, run
from polyadic.words.base import SMALLER, WordModel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from polyadic.text.corpus import Corpus

LEARNING_RATES = {"sgns": 0.025, "cbow": 0.05}  # initial values of the reference program
LAST_LEARNING_RATE = 1e-4  # final value, as in the reference program
MAX_SENTENCE = 10_000  # words; longer sentences are split, as gensim would drop the rest
PIECE = 100_000  # tokens between two readings of the loss, which gensim sums in single precision
EXPONENT = 0.75  # exponent of the counts in negative sampling, as published


class Word2Vec(WordModel):
    r"""Skip-gram or continuous bag of words (CBOW) with negative sampling.

    .. math:: \max \sum_{(w, c)} \log \sigma(u_w \cdot v_c) + \sum_{k=1}^{K} \log \sigma(-u_w \cdot v_{n_k}),
              \qquad n_k \sim \#(n)^{3/4}

    ``"sgns"`` predicts each word :math:`c` near :math:`w` from :math:`w`; ``"cbow"`` predicts a word from the mean of
    the vectors of nearby words. The window is measured in kept words, because gensim reads sentences without the words
    that the corpus removes. Its size is drawn at random, frequent words are subsampled before windows are formed, and
    the learning rate decreases linearly over the epochs. The vocabulary is that of the corpus, in its order.

    Parameters
    ----------
    method : {"sgns", "cbow"}
        Skip-gram with negative sampling, or continuous bag of words.
    window : int
        Maximum number of context words on each side.
    epochs : int
        Number of training epochs.
    negative : int
        Number :math:`K` of negative samples per positive pair.
    sample : float
        Relative frequency above which words are subsampled; 0 keeps all.
    learning_rate : float
        Initial learning rate, by default 0.025 for sgns and 0.05 for cbow.
    threads : int
        Number of threads. With 1, the default, results are reproducible. More threads are faster but update the same
        vectors without locks, so no two runs are equal.

    Attributes
    ----------
    vectors_ : ndarray of shape (V, rank)
        Word vectors :math:`u`; rows of words that do not occur are zero.
    history_ : list of float
        Loss per token in nats: at the start for the first 100,000 tokens, then for each epoch; accurate to a few per
        cent.
    converged_ : bool
        Always False: training ends after the last epoch.

    References
    ----------
    Mikolov et al. (2013), Distributed representations of words and phrases and their compositionality, eq. 4.
    Mikolov et al. (2013), Efficient estimation of word representations in vector space, section 3.1.

    Examples
    --------
    >>> from polyadic import Corpus
    >>> corpus = Corpus.build(["red rose", "red rose", "blue sky", "blue rose"] * 9, min_count=1)
    >>> Word2Vec(8, seed=0).fit(corpus).vectors_.shape
    (4, 8)
    """

    _: KW_ONLY
    method: Literal["sgns", "cbow"] = "sgns"
    window: Count = 5
    epochs: Count = 5
    negative: Count = 5
    sample: Amount = 1e-3
    learning_rate: Annotated[float, Within(LAST_LEARNING_RATE, above=True)] | None = None
    seed: Annotated[int, Within(0, (1 << 32) - 1)] | None = None
    threads: Count = 1
    callback: Callback = None

    def fit(self, corpus: Corpus) -> Self:
        """Train word2vec on a corpus for ``epochs`` passes; needs the extra ``gensim``."""
        self.check()
        learning_rate = LEARNING_RATES[self.method] if self.learning_rate is None else self.learning_rate
        solver = _epochs(self._model(corpus), corpus, self.epochs, learning_rate)
        (self.vectors_,) = self._keep(run(solver, max_iter=self.epochs, callback=self.callback))
        return self

    def _model(self, corpus: Corpus) -> Any:  # the gensim model, with exactly the words of the corpus
        words = corpus.vocabulary.words
        check_memory(16.0 * len(words) * self.rank, f"word2vec of {len(words):,} words and rank {self.rank}", SMALLER)
        seed = int(np.random.default_rng(self.seed).integers(1 << 31)) if self.seed is None else self.seed
        with needing("gensim", "gensim", "word2vec"):
            from gensim.models import Word2Vec as Gensim
        model = Gensim(
            vector_size=self.rank,
            sg=int(self.method == "sgns"),
            window=self.window,
            negative=self.negative,
            ns_exponent=EXPONENT,
            sample=self.sample,
            min_count=1,  # the corpus has dropped rare words
            seed=seed,
            workers=self.threads,
        )
        counts = corpus.vocabulary.counts.tolist()
        model.build_vocab_from_freq({word: n for word, n in zip(words, counts, strict=True) if n})
        return model


def _epochs(model: Any, corpus: Corpus, epochs: int, learning_rate: float) -> Iterator[Sweep]:
    """Yield the vectors at the start and after each epoch, with a linearly decreasing learning rate."""
    known = model.wv.key_to_index
    rows = np.array([known.get(word, len(known)) for word in corpus.vocabulary.words])

    def vectors() -> NDArray[np.float32]:
        return np.vstack([model.wv.vectors, np.zeros((1, model.vector_size), np.float32)])[rows]

    def train(piece: list[list[str]], first: float, last: float) -> float:
        size = sum(map(len, piece))
        model.train(piece, total_words=size, epochs=1, start_alpha=first, end_alpha=last, compute_loss=True)
        return float(model.running_training_loss)

    before, piece = vectors(), next(_pieces(corpus))
    at_start = train(piece, np.finfo(float).tiny, np.finfo(float).tiny) / sum(map(len, piece))
    model.min_alpha_yet_reached = learning_rate  # otherwise gensim warns that it increases
    yield Sweep([before], at_start)
    done, total = 0, epochs * len(corpus)
    while True:
        loss = 0.0
        for piece in _pieces(corpus):
            first = learning_rate - (learning_rate - LAST_LEARNING_RATE) * done / total
            done += sum(map(len, piece))
            loss += train(piece, first, learning_rate - (learning_rate - LAST_LEARNING_RATE) * done / total)
        yield Sweep([vectors()], loss / len(corpus))


def _pieces(corpus: Corpus) -> Iterator[list[list[str]]]:
    """Yield sentences as lists of words, in batches of about 100,000 words; overlong sentences are split."""
    words, size = corpus.vocabulary.words, 0
    piece: list[list[str]] = []
    for start, stop in pairwise(corpus.sentences):
        for cut in range(start, stop, MAX_SENTENCE):
            piece.append([words[i] for i in corpus.ids[cut : min(cut + MAX_SENTENCE, stop)].tolist()])
            size += len(piece[-1])
        if size >= PIECE:
            yield piece
            piece, size = [], 0
    if piece:
        yield piece
