"""Word vectors by kernel correspondence analysis of words and their contexts."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import KW_ONLY
from typing import TYPE_CHECKING, Annotated, Any, Self

import numpy as np
from scipy.sparse import csr_array

from polyadic.core.containers import numbers_of
from polyadic.core.errors import InputError
from polyadic.core.model import Amount, Count, Model, Positive, Seed, Within
from polyadic.embedding import Embedding
from polyadic.tables.correspondence import Side
from polyadic.tables.kernel_correspondence import CASES, KernelCorrespondenceAnalysis, ResidualName
from polyadic.tables.residuals import stop_word_kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray


class CorrespondenceVectors(Model):
    r"""Word vectors from a kernel correspondence analysis of words and their contexts.

    Parameters
    ----------
    rank : int
        Length of the word vectors.
    residual : {"ca", "gini", "g-test", "sgns", "glove", "categorical-pca"}
        Residuals from independence and kernels, given as the name of a known method. See
        :data:`~polyadic.tables.kernel_correspondence.CASES`.
    side : {"rows", "columns"}
        Vectors to return: of words (rows) or of contexts (columns). They are :math:`F` or :math:`G`. For a symmetric
        table they are equal up to signs.
    power : float
        Exponent of the singular values in the vectors.
    count_exponent : float
        Power to which counts are raised before the analysis.
    shift, smoothing, positive : float, float, bool
        Number of negative samples :math:`k` of ``residual="sgns"``, exponent of the context frequencies, and whether
        negative values are replaced by 0; see :func:`~polyadic.tables.residuals.shifted_pmi`.
    stop_weight : float
        Weight :math:`\alpha` of the stop-word kernel, which multiplies the kernels of ``residual`` by
        :math:`1 + \alpha` for stop words; 0 treats all words alike. Excludes ``residual="categorical-pca"``.
    stop_words : collection of str
        Words weighted by the stop-word kernel.
    scores : collection of (str, str, float), optional
        Pairs of words with their similarity, for the word-similarity kernel. Scores are divided by the largest. Do not
        evaluate on the pairs given here. Requires ``residual="ca"`` and excludes ``stop_weight``.
    score_weight : float
        Weight :math:`\alpha` of the word-similarity kernel. It has :math:`\beta = 1`.
    words : sequence of str, optional
        Word of each row of the table. The stop-word and word-similarity kernels need them.

    Attributes
    ----------
    vectors_, analysis_ : ndarray of shape (V, rank), KernelCorrespondenceAnalysis
        Word vectors, and the fitted analysis, with the singular values ``singular_values_``.

    References
    ----------
    Niitsuma, Lee (2018), section 5. arXiv:1605.05087

    Examples
    --------
    >>> from polyadic import Corpus
    >>> from polyadic.text.contexts import contexts
    >>> corpus = Corpus.build(["red rose", "red tulip", "fast car", "fast bus", "blue rose", "blue tulip"], min_count=1)
    >>> vectors = CorrespondenceVectors(2).fit(contexts(corpus)).embedding(corpus.vocabulary.words)
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
    positive: bool = True
    stop_weight: Annotated[float, Within(-1, above=True)] = 0.0
    stop_words: Collection[str] = ()
    scores: Collection[tuple[str, str, float]] | None = None
    score_weight: Amount = 1.0
    words: Sequence[str] | None = None
    seed: Seed = None

    def fit(self, table: Any) -> Self:
        """Fit word vectors to counts of words in contexts, a sparse array or Entries of order 2.

        The shape is (V, V) or (V, positions * V), as of :func:`~polyadic.text.contexts.contexts`. InputError is raised
        if the rank is too large, a setting is out of range or has no effect, or no word is a stop word.
        """
        self.check()
        shape = getattr(table, "shape", None) or numbers_of(table, "table").values.shape
        settings = {**CASES[self.residual], **self._kernels(shape)}
        names = ("power", "count_exponent", "shift", "smoothing", "positive", "seed")
        same = {name: getattr(self, name) for name in names}
        analysis = KernelCorrespondenceAnalysis(self.rank, **same, **settings)
        self.analysis_ = analysis.fit(table)
        self.singular_values_ = analysis.singular_values_
        self.vectors_ = analysis.coordinates(self.side).astype(np.float32)
        return self

    def embedding(self, words: Sequence[str], *, counts: NDArray[np.integer] | None = None) -> Embedding:
        """Return the word vectors as an :class:`~polyadic.embedding.Embedding`, given the word of each vector.

        Vectors of positional contexts belong to a word at a position.
        """
        if len(self.vectors_) != len(words):
            about = f"words must contain one word for each of the {len(self.vectors_):,}"
            raise InputError(f"{about} vectors of the {self.side}; got {len(words):,} words", "words")
        return Embedding(words, self.vectors_, counts=counts)

    def check(self) -> None:
        """Raise InputError if a setting is out of range, or if settings are mutually exclusive."""
        super().check()
        if self.scores is None and self.score_weight != 1:
            raise InputError("score_weight requires scores; set both, or leave out score_weight", "score_weight")
        if self.residual != "sgns" and (self.shift, self.smoothing, self.positive) != (1, 1, True):
            needs = f"shift, smoothing and positive require residual='sgns'; got residual={self.residual!r}"
            raise InputError(needs, "residual", "shift", "smoothing", "positive")
        stopped = self.stop_weight != 0
        if self.scores is not None and self.residual != "ca":
            raise InputError(f"scores require residual='ca'; got residual={self.residual!r}", "residual", "scores")
        if stopped and self.residual == "categorical-pca":
            about = "stop_weight requires a residual with diagonal"
            raise InputError(f"{about} kernels; got residual='categorical-pca'", "residual", "stop_weight")
        if stopped and self.scores is not None:
            raise InputError("stop_weight and scores are mutually exclusive; give one of them", "scores", "stop_weight")

    def _kernels(self, shape: tuple[int, ...]) -> dict[str, Any]:
        if not self.stop_weight and self.scores is None:
            return {}
        words = tuple(self.words or ())
        if len(words) != shape[0]:
            about = f"words must contain one word for each of the {shape[0]:,}"
            raise InputError(f"{about} rows of the table; got {len(words):,} words", "words")
        places = shape[1] // shape[0]
        if self.scores is not None:
            T = csr_array(self.score_weight * _matrix(self.scores, words))
            return {"difference": "similarity", "row_scores": T, "column_scores": T if places == 1 else None}
        if not set(words) & set(self.stop_words):
            advice = "build the corpus without removing stop words"
            raise InputError(f"none of the stop words is in the vocabulary; {advice}")
        how = {"stop_words": self.stop_words, "kernel": CASES[self.residual].get("row_kernel", "margins")}
        kernels = [stop_word_kernel(names, self.stop_weight, **how) for names in (words, words * places)]
        return dict(zip(("row_kernel", "column_kernel"), kernels, strict=True))


def _matrix(scores: Collection[tuple[str, str, float]], words: Sequence[str]) -> csr_array:
    """Return a symmetric matrix of the scores of known, different words, scaled to a maximum of 1."""
    index = {word: row for row, word in enumerate(words)}
    known = {frozenset((index[u], index[v])): float(s) for u, v, s in scores if u in index and v in index and u != v}
    if not known or not max(known.values()) > 0 or min(known.values()) < 0:
        about = "scores must be non-negative,"
        raise InputError(f"{about} with a positive score for at least one pair of different vocabulary words", "scores")
    i, j = np.array([sorted(pair) for pair in known]).T
    values = np.array([*known.values()]) / max(known.values())
    both = np.concatenate([values, values]), (np.concatenate([i, j]), np.concatenate([j, i]))
    return csr_array(both, shape=(len(words), len(words)))
