"""Word vectors by kernel correspondence analysis of words and their contexts."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import KW_ONLY
from typing import TYPE_CHECKING, Annotated, Any, Self

import numpy as np
from scipy.sparse import csr_array

from polyadic.core.errors import InputError
from polyadic.core.model import Amount, Count, Model, Positive, Seed, Within
from polyadic.embedding import Embedding
from polyadic.tables.correspondence import Side
from polyadic.tables.kernel_correspondence import CASES, KernelCorrespondenceAnalysis, ResidualName
from polyadic.tables.similarities import stop_word_kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray


class CorrespondenceVectors(Model):
    r"""One vector per word, its coordinates in a kernel correspondence analysis of words and contexts.

    Parameters
    ----------
    rank : int
        Length of a word vector.
    residual : str
        Of :data:`~polyadic.tables.kernel_correspondence.CASES`: ``"ca"``, ``"g-test"``, ``"sgns"``, ...
    side : {"rows", "columns"}
        Vectors of words, :math:`F`, or of contexts, :math:`G`; in a symmetric table they are the same up to signs.
    power, count_exponent : float
        See :class:`~polyadic.tables.correspondence.CorrespondenceAnalysis`.
    shift, smoothing : float
        Of case ``"sgns"``: see :func:`~polyadic.tables.residuals.shifted_pmi`.
    stop_weight : float
        :math:`\alpha` of the stop-word kernel; 0 treats all words alike. Only with ``residual="ca"``.
    stop_words : collection of str
        The words that it weighs.
    scores : collection of (str, str, float), optional
        Pairs of words with their similarity, for the word-similarity kernel; scores are divided by the largest. Do not
        test on the pairs that are given here. Only with ``residual="ca"``, and not with ``stop_weight``.
    score_weight : float
        :math:`\alpha` of that kernel, where :math:`\beta = 1`.
    words : sequence of str, optional
        Of the rows; needed by the two kernels.
    seed : int, optional
        Of the decomposition.

    Attributes
    ----------
    vectors_ : ndarray of shape (V, rank)
    analysis_ : KernelCorrespondenceAnalysis
    singular_values_ : ndarray of shape (rank,)

    References
    ----------
    Niitsuma, Lee (2018), section 5. arXiv:1605.05087

    Examples
    --------
    >>> from polyadic import Corpus
    >>> from polyadic.text.contexts import contexts
    >>> corpus = Corpus.build(["red rose", "red tulip", "fast car", "fast bus", "blue rose", "blue tulip"], min_count=1)
    >>> vectors = CorrespondenceVectors(2).fit(contexts(corpus, side="left")).embedding(corpus.vocabulary.words)
    >>> vectors.neighbours("rose", top=1)[0][0]
    'tulip'
    """

    rank: Count = 300
    _: KW_ONLY
    residual: ResidualName = "ca"
    side: Side = "rows"
    power: Amount = 0.5
    count_exponent: Positive = 1.0
    shift: Annotated[float, Within(1)] = 1.0
    smoothing: Positive = 1.0
    stop_weight: Annotated[float, Within(-1, above=True)] = 0.0
    stop_words: Collection[str] = ()
    scores: Collection[tuple[str, str, float]] | None = None
    score_weight: Amount = 1.0
    words: Sequence[str] | None = None
    seed: Seed = None

    def fit(self, table: Any) -> Self:
        """Decompose a table of words and contexts.

        Parameters
        ----------
        table : sparse array or Entries of order 2, of shape (V, V) or (V, places * V)
            Such as :func:`~polyadic.text.contexts.contexts` counts.

        Raises
        ------
        InputError
            If the rank does not fit, a setting is out of range or has no effect, or no word is weighed.
        """
        self.check()
        settings = {**CASES[self.residual], **self._kernels(table.shape)}
        same = {name: getattr(self, name) for name in ("power", "count_exponent", "shift", "smoothing", "seed")}
        analysis = KernelCorrespondenceAnalysis(self.rank, **same, **settings)
        self.analysis_ = analysis.fit(table)
        self.singular_values_ = analysis.singular_values_
        self.vectors_ = analysis.coordinates(self.side).astype(np.float32)
        return self

    def embedding(self, words: Sequence[str], *, counts: NDArray[np.integer] | None = None) -> Embedding:
        """Give the vectors their words, and how often these occur.

        Raises
        ------
        InputError
            If there are as many vectors as words not: those of positional contexts are of a word at a place.
        """
        if len(self.vectors_) != len(words):
            raise InputError(f"the {len(self.vectors_):,} {self.side} are places of words, not {len(words):,} words")
        return Embedding(words, self.vectors_, counts=counts)

    def check(self) -> None:
        """Refuse settings out of range, and those that do not go together."""
        super().check()
        if self.scores is None and self.score_weight != 1:
            raise InputError("score_weight has no effect without scores")
        if self.residual != "sgns" and (self.shift, self.smoothing) != (1, 1):
            raise InputError(f"shift and smoothing are options of residual 'sgns'; got residual {self.residual!r}")
        stopped = self.stop_weight != 0
        if (stopped or self.scores is not None) and self.residual != "ca":
            raise InputError(f"stop_weight and scores are kernels of residual 'ca'; got residual {self.residual!r}")
        if stopped and self.scores is not None:
            raise InputError("stop_weight and scores are two kernels; give one of them")

    def _kernels(self, shape: tuple[int, ...]) -> dict[str, Any]:
        if not self.stop_weight and self.scores is None:
            return {}
        words = tuple(self.words or ())
        if len(words) != shape[0]:
            raise InputError(f"the kernel needs the {shape[0]:,} words of the table; got {len(words):,}")
        places = shape[1] // shape[0]
        if self.scores is not None:
            T = csr_array(self.score_weight * _matrix(self.scores, words))
            return {"difference": "similarity", "row_scores": T, "column_scores": T if places == 1 else None}
        if not set(words) & set(self.stop_words):
            raise InputError("none of the stop words is in the vocabulary: keep them in the text")
        kernels = [
            stop_word_kernel(names, self.stop_weight, stop_words=self.stop_words) for names in (words, words * places)
        ]
        return dict(zip(("row_kernel", "column_kernel"), kernels, strict=True))


def _matrix(scores: Collection[tuple[str, str, float]], words: Sequence[str]) -> csr_array:
    """Give the scores of known pairs of different words, divided by the largest, on both sides of the diagonal."""
    index = {word: row for row, word in enumerate(words)}
    known = {frozenset((index[u], index[v])): float(s) for u, v, s in scores if u in index and v in index and u != v}
    if not known or not max(known.values()) > 0 or min(known.values()) < 0:
        raise InputError("scores must be at least 0, and one above 0 of two different words of the vocabulary")
    i, j = np.array([sorted(pair) for pair in known]).T
    values = np.array([*known.values()]) / max(known.values())
    both = np.concatenate([values, values]), (np.concatenate([i, j]), np.concatenate([j, i]))
    return csr_array(both, shape=(len(words), len(words)))
