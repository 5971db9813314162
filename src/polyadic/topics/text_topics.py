"""Topic modelling of texts, from documents to topics and top words.

The number of topics is cross-validated by held-out perplexity, held-out coherence and stability.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, fields, replace
from itertools import combinations
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self, get_args

import numpy as np
from sklearn.base import clone
from sklearn.preprocessing import normalize
from sklearn.utils.validation import check_is_fitted

from polyadic.core.annotations import AnyArray, Array
from polyadic.core.errors import InputError, check_choice, check_int, warn_unknown
from polyadic.core.model import Count, Seed, Threads, Transformer
from polyadic.core.progress import Advance, bar
from polyadic.core.selection import SearchSpace, held_out_share
from polyadic.metrics.topics import completion_perplexity, halves, in_documents, npmi_coherence, stability, surprise
from polyadic.text.corpus import Corpus
from polyadic.text.documents import counts_by_row, document_table, table_of_texts
from polyadic.text.tokens import Tokenizer
from polyadic.topics.anchors import AnchorTopics
from polyadic.topics.lda import LDA
from polyadic.topics.nmf import NMF
from polyadic.topics.plsa import PLSA
from polyadic.topics.rlsi import RLSI, Norm
from polyadic.topics.spectral import SpectralLDA

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from polyadic.topics.base import Topics

TFIDF_METHODS = ("nmf", "rlsi")  # least-squares methods, which use TF-IDF: on raw counts, frequent words would dominate
TOKENIZER = Tokenizer(digits="drop")
MODELS: dict[str, tuple[Any, dict[str, Any]]] = {
    "nmf": (NMF, {"loss": "squared"}),
    "kl": (NMF, {"loss": "kl"}),
    "plsa": (PLSA, {}),
    "lda": (LDA, {}),
    "anchors": (AnchorTopics, {}),
    "spectral": (SpectralLDA, {}),
    "rlsi": (RLSI, {}),
}
"""Model class and fixed settings of each method."""
N_COMPONENTS = 5, 10, 20, 40, 80, 160  # numbers of topics that model selection compares
Measure = Literal["perplexity", "coherence", "stability"]
TOP_K = 10  # number of top words of a topic whose coherence is measured


class TextTopics(Transformer):
    r"""Topic model of texts that tokenizes documents, fits a topic model and lists the top words of topics.

    Least-squares methods (``"nmf"``, ``"rlsi"``) are fitted to TF-IDF, :math:`n_{dw} (1 + \log \frac{1 + D}{1 + D_w})`
    with rows of length 1; the other methods are fitted to counts :math:`n_{dw}`.

    Parameters
    ----------
    method : {"nmf", "kl", "plsa", "lda", "anchors", "spectral", "rlsi"}
        Topic model: NMF with squared loss (nmf) or Kullback-Leibler divergence (kl), PLSA, LDA, anchor words (anchors),
        spectral LDA (spectral), or regularized latent semantic indexing (rlsi). See :class:`~polyadic.topics.nmf.NMF`,
        :class:`~polyadic.topics.plsa.PLSA`, :class:`~polyadic.topics.lda.LDA`,
        :class:`~polyadic.topics.anchors.AnchorTopics`, :class:`~polyadic.topics.spectral.SpectralLDA` and
        :class:`~polyadic.topics.rlsi.RLSI`.
    n_components : int
        Number of topics.
    min_count : int
        Minimum frequency of a word. Words are lower-cased and contain no digits.
    max_size : int, optional
        Maximum number of words; the most frequent are kept (default: all).
    language : str
        Language code of the documents, such as de; auto detects it.
    stop_words : str, path, collection of str or None
        Words to leave out: see :meth:`~polyadic.text.corpus.Corpus.build`.
    word_norm, document_norm : {"l1", "l2"}, optional
        Penalties of the topics and of the document factors; only for ``"rlsi"`` (default: l1 and l2).
    options : mapping, optional
        Further settings of the topic model, by name, such as ``{"word_penalty": 0.03}`` for ``"rlsi"``.

    Attributes
    ----------
    model_ : estimator
        The fitted topic model.
    language_ : str
        Language code of the documents.
    words_ : tuple of str
        Words of the columns of ``model_.components_``.
    idf_ : ndarray of shape (words,)
        Inverse document frequencies that counts are multiplied by; ones for methods fitted to counts.
    background_ : ndarray of shape (words,)
        Number of occurrences of each word in the documents.

    Examples
    --------
    >>> texts = ["the sun and the sky", "a sky of sun", "tax and law", "the law on tax"]
    >>> model = TextTopics(n_components=2, min_count=1, seed=0).fit(texts)
    >>> sorted(sorted(topic) for topic in model.top_words(2))
    [['law', 'tax'], ['sky', 'sun']]
    >>> model.transform(["sky", "law", "fish"]).argmax(axis=1).tolist() != [0, 0, 0]
    True
    """

    method: Literal["nmf", "kl", "plsa", "lda", "anchors", "spectral", "rlsi"] = "nmf"
    _: KW_ONLY
    n_components: Count = 20
    min_count: Count = 5
    max_size: Count | None = None
    language: str = "auto"
    stop_words: str | os.PathLike[str] | Collection[str] | None = "language"
    word_norm: Norm | None = None
    document_norm: Norm | None = None
    options: Mapping[str, float | str] | None = None
    seed: Seed = None
    threads: Threads = None

    def fit(self, documents: Corpus | Iterable[str], y: Any = None) -> Self:
        """Fit the topic model to documents.

        A corpus keeps the vocabulary that it was built with. InputError is raised if no words remain, or a parameter is
        out of range.
        """
        self.check()
        corpus = documents if isinstance(documents, Corpus) else self.corpus(documents)
        with bar("finding topics", unit="sweeps") as advance:
            self.language_ = str(corpus.settings["language"])
            return self._fitted(document_table(corpus), corpus.vocabulary.words, advance)

    def check(self) -> None:
        """Raise InputError if a setting is out of range or the topic model rejects an option."""
        super().check()
        self._new().check()

    def search(self, documents: Corpus | Iterable[str], *, seed: int | None = 0) -> SearchSpace:
        """Return a search space of the number of topics, evaluated by document completion on held-out documents."""
        corpus = documents if isinstance(documents, Corpus) else self.corpus(documents)
        counts, words = document_table(corpus), corpus.vocabulary.words
        out = np.random.default_rng(seed).random(counts.shape[0]) < held_out_share(counts.shape[0])
        seen, hidden = halves(counts[out], seed=seed)
        judged = hidden.sum(axis=1) > 0
        if not judged.any() or out.all():
            about = f"the {len(out):,} documents are too few or too short"
            raise InputError(f"{about} to hold out some of them for validation")
        seen, hidden = seen[judged], hidden[judged]
        mean = hidden.sum(dtype=float) / hidden.shape[0]

        def losses(model: TextTopics) -> Array:
            mixtures, background = model.transform_table(seen), model.background_ + 1
            return surprise(hidden, mixtures, model.word_weights_, background=background) / mean

        return SearchSpace(
            values={"n_components": N_COMPONENTS},
            fit=lambda model: model.fit_table(counts[~out], words),
            last=lambda model: model.fit(corpus),
            losses=losses,
            units="documents",
            measure="perplexity",
            figure=lambda loss: float(np.exp(loss)),
            size="n_components",
        )

    def corpus(self, source: Any, **reading: Any) -> Corpus:
        """Build a corpus with the settings of the model; see :meth:`~polyadic.text.corpus.Corpus.build`."""
        names = ("min_count", "max_size", "language", "stop_words")
        return Corpus.build(source, tokenizer=TOKENIZER, **{name: getattr(self, name) for name in names}, **reading)

    def fit_table(self, counts: csr_array, words: Sequence[str]) -> Self:
        """Fit the topic model to a table of word counts with one row per document and ``words`` as column names."""
        self.check()
        self.language_ = "en" if self.language == "auto" else self.language
        return self._fitted(counts, words, None)

    def _fitted(self, counts: csr_array, words: Sequence[str], advance: Advance | None) -> Self:
        counts = counts_by_row(counts)
        if len(words) != counts.shape[1]:
            about = f"words must contain one word for each of the {counts.shape[1]:,} columns"
            raise InputError(f"{about}; got {len(words):,}", "words")
        idf = np.ones(len(words))
        if self.method in TFIDF_METHODS:
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

    def transform(self, texts: Iterable[str]) -> AnyArray:
        """Return the topic weights of new documents; unknown words are ignored."""
        return self.transform_table(self.table(texts))

    @property
    def _n_features_out(self) -> int:
        return int(self.model_.components_.shape[0])

    def table(self, texts: Iterable[str]) -> csr_array:
        """Count the words of new documents, one row per document; unknown words are ignored."""
        check_is_fitted(self)
        index = {word: column for column, word in enumerate(self.words_)}
        return table_of_texts(texts, index, replace(TOKENIZER, language=self.language_))

    def transform_table(self, counts: csr_array) -> AnyArray:
        """Return the topic weights of new documents, given their word counts."""
        check_is_fitted(self)
        if not counts.shape[0]:
            raise InputError("at least one document is required; got none")
        warn_unknown(counts)
        return self.model_.transform(self._weighted(counts_by_row(counts), self.idf_))

    def top_words(self, top: int = 10) -> list[list[str]]:
        """Return the words with the largest weights in each topic; words with zero weight are left out."""
        check_is_fitted(self)
        falling = np.argsort(-self.model_.components_, axis=1, kind="stable")[:, : check_int("top", top, low=1)]
        topics = zip(self.model_.components_, falling, strict=True)
        return [[self.words_[at] for at in order if weights[at] > 0] for weights, order in topics]

    @property
    def word_weights_(self) -> AnyArray:
        """Word weights of each topic, divided by the inverse document frequencies of TF-IDF."""
        check_is_fitted(self)
        return np.asarray(self.model_.components_ / self.idf_)

    def _weighted(self, counts: csr_array, idf: AnyArray) -> csr_array:
        return counts if self.method not in TFIDF_METHODS else normalize(counts * idf[None, :].astype(np.float32))

    def _new(self) -> Topics:
        """Create the topic model from its settings and :attr:`options`."""
        kind, fixed = MODELS[self.method]
        names, options = {each.name for each in fields(kind) if each.init}, self.options or {}
        settled = {name: getattr(self, name) for name in ("n_components", "seed", "threads") if name in names} | fixed
        for name in ("word_norm", "document_norm"):
            if (norm := getattr(self, name)) is not None:
                if name not in names:
                    raise InputError(f"{name} requires method='rlsi'; got method={self.method!r}", name, "method")
                settled[name] = norm
        free = names - {*settled, "callback"}
        if not {*options} <= free:
            unknown = ", ".join(sorted({*options} - free))
            raise InputError(f"unknown options of {self.method}: {unknown}; choose from {', '.join(sorted(free))}")
        return kind(**settled, **options)


class FoldScores(NamedTuple):
    """Cross-validated scores for a number of topics: means over folds or, for stability, over pairs of folds."""

    n_components: int
    perplexity: float
    spread: float
    coherence: float
    stability: float


def cross_validate(
    model: TextTopics,
    counts: csr_array,
    words: Sequence[str],
    *,
    n_components: Sequence[int],
    folds: int = 3,
    seed: int = 0,
) -> list[FoldScores]:
    """Evaluate several numbers of topics by cross-validation over documents, with another seed for each fold."""
    counts = counts_by_row(counts)
    check_int("folds", folds, low=2, high=counts.shape[0])
    if not n_components:
        raise InputError("n_components must contain at least one number of topics", "n_components")
    fold = np.random.default_rng(seed).permutation(np.arange(counts.shape[0]) % folds)
    choices = []
    with bar("choosing", total=len(n_components) * folds, unit="fits") as advance:
        for number in n_components:
            fits, figures, coherent = [], [], []
            for k in range(folds):
                some = clone(model).set_params(n_components=number, seed=seed + k).fit_table(counts[fold != k], words)
                if getattr(some.model_, "interrupted_", False):
                    raise KeyboardInterrupt  # an interrupted fit cannot be compared
                fits.append(some.model_.components_)
                figures.append(held_out_perplexity(some, counts[fold == k], seed=seed))
                coherent.append(held_out_coherence(some, counts[fold == k]))
                advance(1, note=f"{number} topics")
            same = np.mean([stability(*pair) for pair in combinations(fits, 2)])
            means = map(float, (np.mean(figures), np.std(figures), np.mean(coherent), same))
            choices.append(FoldScores(int(number), *means))
    return choices


def best(choices: Sequence[FoldScores], measure: Measure = "perplexity") -> FoldScores:
    """Return the scores with the lowest perplexity, or the highest coherence or stability; ties go to fewer topics."""
    check_choice("measure", measure, get_args(Measure))
    sign = 1 if measure == "perplexity" else -1
    return min(choices, key=lambda choice: (sign * getattr(choice, measure), choice.n_components))


def held_out_perplexity(model: TextTopics, counts: csr_array, *, seed: int = 0) -> float:
    """Return the document-completion perplexity of unseen documents, with add-one smoothed background frequencies."""
    seen, hidden = halves(counts, seed=seed)
    mixtures = model.transform_table(seen)
    return completion_perplexity(hidden, mixtures, model.word_weights_, background=model.background_ + 1)


def held_out_coherence(model: TextTopics, counts: csr_array) -> float:
    """Return the mean NPMI of the top words of topics in unseen documents; -1 if no topic has two words."""
    index = {word: column for column, word in enumerate(model.words_)}
    topics = [[index[word] for word in words] for words in model.top_words(TOP_K) if len(words) > 1]
    if not topics:
        return -1.0
    return float(npmi_coherence(topics, in_documents(counts, [word for topic in topics for word in topic])).mean())
