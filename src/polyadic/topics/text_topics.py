"""Topics of text: from documents to words that belong together, by any of the methods of this package."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping
from dataclasses import KW_ONLY, fields, replace
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from sklearn.preprocessing import normalize
from sklearn.utils.validation import check_is_fitted

from polyadic.core.errors import InputError, check_int
from polyadic.core.model import Count, Seed, Threads, Transformer
from polyadic.core.progress import bar
from polyadic.core.selection import SearchSpace, held_out_share
from polyadic.metrics.topics import halves, surprise
from polyadic.text.corpus import Corpus
from polyadic.text.documents import counts_by_row, document_table, table_of_texts
from polyadic.text.tokens import Tokenizer
from polyadic.topics.anchors import AnchorTopics
from polyadic.topics.lda import LDA
from polyadic.topics.nmf import NMF
from polyadic.topics.plsa import PLSA
from polyadic.topics.rlsi import RLSI
from polyadic.topics.spectral import SpectralLDA

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray
    from scipy.sparse import csr_array

    from polyadic.core.progress import Advance
    from polyadic.topics.base import Topics

OF_TFIDF = ("nmf", "rlsi")
"""Methods of squares: counts of frequent words would be all that they explain."""
TOKENIZER = Tokenizer(digits="drop")
KINDS: dict[str, tuple[Any, dict[str, Any]]] = {
    "nmf": (NMF, {"loss": "squared"}),
    "kl": (NMF, {"loss": "kl"}),
    "plsa": (PLSA, {}),
    "lda": (LDA, {}),
    "anchors": (AnchorTopics, {}),
    "spectral": (SpectralLDA, {}),
    "rlsi": (RLSI, {}),
}
"""The model of each method, and what of it is settled."""
RANKS = 5, 10, 20, 40, 80, 160
"""Numbers of topics from which documents held out choose."""


class TextTopics(Transformer):
    r"""Topics of documents, and the words of each.

    Methods of squares see TF-IDF, :math:`n_{dw} (1 + \log \frac{1 + D}{1 + D_w})` with rows of length 1; the others
    see counts :math:`n_{dw}`.

    Parameters
    ----------
    method : {"nmf", "kl", "plsa", "lda", "anchors", "spectral", "rlsi"}
        :class:`~polyadic.topics.nmf.NMF` of squares, or of the Kullback-Leibler divergence,
        :class:`~polyadic.topics.plsa.PLSA`, :class:`~polyadic.topics.lda.LDA`,
        :class:`~polyadic.topics.anchors.AnchorTopics`, :class:`~polyadic.topics.spectral.SpectralLDA` or
        :class:`~polyadic.topics.rlsi.RLSI`.
    rank : int
        Topics.
    min_count, max_size, language, stop_words
        Which words count: see :meth:`~polyadic.text.corpus.Corpus.build`. Words in lower case, without numbers.
    options : mapping, optional
        More settings of the method's model, by name: ``{"l1": 0.03}`` for ``"rlsi"``.
    seed, threads : int, optional
        Of the random start; all cores by default.

    Attributes
    ----------
    model_ : estimator
        The fitted model of the method.
    language_ : str
        The code of the language that the documents are in.
    words_ : tuple of str
        Of the columns of ``model_.components_``.
    idf_ : ndarray of shape (words,)
        What counts are multiplied by; ones for methods of counts.
    background_ : ndarray of shape (words,)
        How often each word occurs in the documents.

    Examples
    --------
    >>> texts = ["the sun and the sky", "a sky of sun", "tax and law", "the law on tax"]
    >>> model = TextTopics(rank=2, min_count=1, seed=0).fit(texts)
    >>> sorted(sorted(topic) for topic in model.top_words(2))
    [['law', 'tax'], ['sky', 'sun']]
    >>> model.transform(["sky", "law", "fish"]).argmax(axis=1).tolist() != [0, 0, 0]
    True
    """

    method: Literal["nmf", "kl", "plsa", "lda", "anchors", "spectral", "rlsi"] = "nmf"
    _: KW_ONLY
    rank: Count = 20
    min_count: Count = 5
    max_size: Count | None = None
    language: str = "auto"
    stop_words: str | os.PathLike[str] | Collection[str] | None = "language"
    options: Mapping[str, float | str] | None = None
    seed: Seed = None
    threads: Threads = None

    def fit(self, documents: Corpus | Iterable[str], y: Any = None) -> Self:
        """Find topics.

        Parameters
        ----------
        documents : Corpus or iterable of str
            Of a corpus the words are those that it was built with.

        Raises
        ------
        InputError
            If no words are left, or a parameter is out of range.
        """
        del y
        self.check()
        corpus = documents if isinstance(documents, Corpus) else self.corpus(documents)
        with bar("finding topics", unit="sweeps") as advance:
            self.language_ = str(corpus.settings["language"])
            return self._fitted(document_table(corpus), corpus.vocabulary.words, advance)

    def check(self) -> None:
        """Refuse settings out of range, and options that the method's model has not or does not take.

        Raises
        ------
        InputError
        """
        super().check()
        self._new().check()

    def search(self, documents: Corpus | Iterable[str], *, seed: int | None = 0) -> SearchSpace:
        """Judge the number of topics by a tenth of the documents: by half of their words, given the other half."""
        corpus = documents if isinstance(documents, Corpus) else self.corpus(documents)
        counts, words = document_table(corpus), corpus.vocabulary.words
        out = np.random.default_rng(seed).random(counts.shape[0]) < held_out_share(counts.shape[0])
        seen, hidden = halves(counts[out], seed=seed)
        told = hidden.sum(axis=1) > 0
        if not told.any() or out.all():
            raise InputError(f"the {len(out):,} documents are too few, or too short, to hold any out")
        seen, hidden = seen[told], hidden[told]
        mean = hidden.sum(dtype=float) / hidden.shape[0]

        def losses(model: TextTopics) -> NDArray[np.float64]:
            mixtures, background = model.transform_table(seen), model.background_ + 1
            return surprise(hidden, mixtures, model.word_weights_, background=background) / mean

        return SearchSpace(
            values={"rank": RANKS},
            fit=lambda model: model.fit_table(counts[~out], words),
            last=lambda model: model.fit(corpus),
            losses=losses,
            units="documents",
            measure="perplexity",
            figure=lambda loss: float(np.exp(loss)),
        )

    def corpus(self, source: Any, **reading: Any) -> Corpus:
        """Read documents as :meth:`fit` does; see :meth:`~polyadic.text.corpus.Corpus.build`."""
        names = ("min_count", "max_size", "language", "stop_words")
        return Corpus.build(source, tokenizer=TOKENIZER, **{name: getattr(self, name) for name in names}, **reading)

    def fit_table(self, counts: csr_array, words: Sequence[str]) -> Self:
        """Find topics in counts of words, a row for each document; ``words`` name the columns."""
        self.check()
        self.language_ = "en" if self.language == "auto" else self.language
        return self._fitted(counts, words, None)

    def _fitted(self, counts: csr_array, words: Sequence[str], advance: Advance | None) -> Self:
        counts = counts_by_row(counts)
        if len(words) != counts.shape[1]:
            raise InputError(f"a table of {counts.shape[1]} columns needs as many words; got {len(words)}")
        idf = np.ones(len(words))
        if self.method in OF_TFIDF:
            idf += np.log((1 + counts.shape[0]) / (1 + np.bincount(counts.indices, minlength=len(words))))
        model: Any = self._new()
        if advance is not None and hasattr(model, "callback"):
            model.callback = lambda result: advance(1, note=f"objective {result.history[-1]:,.6g}")
        model.fit(self._weighted(counts, idf))
        if hasattr(model, "callback"):
            model.callback = None
        self.model_, self.words_, self.idf_ = model, tuple(words), idf
        self.background_ = np.asarray(counts.sum(axis=0, dtype=float))
        return self

    def transform(self, texts: Iterable[str]) -> NDArray[Any]:
        """Give the weights of topics in other documents; words that are not known are left out."""
        return self.transform_table(self.table(texts))

    @property
    def _n_features_out(self) -> int:
        return int(self.model_.components_.shape[0])

    def table(self, texts: Iterable[str]) -> csr_array:
        """Count the words of other documents, a row for each; words that are not known are left out."""
        check_is_fitted(self)
        index = {word: column for column, word in enumerate(self.words_)}
        return table_of_texts(texts, index, replace(TOKENIZER, language=self.language_))

    def transform_table(self, counts: csr_array) -> NDArray[Any]:
        """Give the weights of topics in other documents, by counts of the same words."""
        check_is_fitted(self)
        if not counts.shape[0]:
            raise InputError("there are no documents to find topics in")
        return self.model_.transform(self._weighted(counts_by_row(counts), self.idf_))

    def top_words(self, top: int = 10) -> list[list[str]]:
        """Give the words of largest weight of each topic; those of no weight are left out."""
        check_is_fitted(self)
        falling = np.argsort(-self.model_.components_, axis=1, kind="stable")[:, : check_int("top", top, low=1)]
        topics = zip(self.model_.components_, falling, strict=True)
        return [[self.words_[at] for at in best if weights[at] > 0] for weights, best in topics]

    @property
    def word_weights_(self) -> NDArray[Any]:
        """Weights by which topics predict how often words occur; of TF-IDF, less the second factor."""
        check_is_fitted(self)
        return np.asarray(self.model_.components_ / self.idf_)

    def _weighted(self, counts: csr_array, idf: NDArray[Any]) -> csr_array:
        return counts if self.method not in OF_TFIDF else normalize(counts * idf[None, :].astype(np.float32))

    def _new(self) -> Topics:
        """Make the model of the method, of its settings and those of :attr:`options`."""
        kind, fixed = KINDS[self.method]
        names, options = {each.name for each in fields(kind) if each.init}, self.options or {}
        settled = {name: getattr(self, name) for name in ("rank", "seed", "threads") if name in names} | fixed
        free = names - {*settled, "callback"}
        if not {*options} <= free:
            unknown = ", ".join(sorted({*options} - free))
            raise InputError(f"options of {self.method} are {', '.join(sorted(free))}; got {unknown}")
        return kind(**settled, **options)
