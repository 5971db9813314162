"""Document classification by a linear model of words, bigrams and character n-grams, with naive Bayes weights."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import KW_ONLY, replace
from itertools import chain, compress
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, Self

import numpy as np
from scipy.sparse import csr_array, hstack
from sklearn.base import ClassifierMixin, clone
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import normalize
from sklearn.utils.validation import check_is_fitted

from polyadic.core.errors import InputError, warn_unknown
from polyadic.core.explanation import Explanation
from polyadic.core.frames import refuse_named
from polyadic.core.model import Model, Positive, Share, Within
from polyadic.core.selection import SearchSpace
from polyadic.text.corpus import Corpus
from polyadic.text.documents import counts_by_row
from polyadic.text.pieces import Content, checked, nested
from polyadic.text.tokens import Tokenizer

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Documents = Iterable[Content]

TOKENIZER = Tokenizer(punctuation="keep")  # punctuation marks are tokens: exclamation marks are informative
MIN_PIECE_DOCUMENTS = 2  # minimum number of documents with a character n-gram; words and bigrams need one
TOLERANCE = 1e-2
"""Tolerance of the logistic regression; a smaller one changed no result in docs/results/classes.md by .001."""
VALUES = {"C": (0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0), "share": (1.0, 0.75, 0.5, 0.25, 0.0)}
"""Candidates for model selection."""
FOLDS = 5  # number of cross-validation folds


class _Numbered(NamedTuple):
    """Documents encoded as word ids, where document ``d`` has the ids ``ids[starts[d]:starts[d + 1]]``."""

    words: Sequence[str]
    ids: NDArray[np.int64]
    starts: NDArray[np.int64]


class _Weights(NamedTuple):
    """Parameters of one class against the rest: logistic regression weights, log-count ratios and their scale."""

    w: NDArray[np.float64]
    b: float
    r: NDArray[np.float64]
    odds: float
    k: float


class TextClassifier(ClassifierMixin, Model):  # type: ignore[misc]
    r"""Document classifier: logistic regression interpolated with naive Bayes log-count ratios.

    A document is a vector of two parts, each of unit length: its words and bigrams, and the character n-grams of its
    words of 2 to ``characters`` characters. Both are weighted by :math:`x_f = (1 + \log n_f) (1 + \log \frac{1 + D}{1 +
    D_f})` for :math:`n_f` occurrences, and :math:`D_f` of D documents with the feature. For each class, against all
    others, a logistic regression gives weights w and b, and the log-count ratios are

    .. math:: r_f = \log \frac{p_f / \|p\|_1}{q_f / \|q\|_1}, \qquad \rho = \log \frac{D_+}{D_-},

    with p, q the numbers of documents of the class and of others with a feature, plus ``alpha``. The decision function
    is

    .. math:: (1 - s)\, (w^\top x + b) + s\, k\, (r^\top x + \rho), \qquad k = \overline{|w|} \,/\, \overline{|r|}

    with s the ``share``.

    Parameters
    ----------
    C : float
        Inverse regularization strength of the logistic regression.
    share : float
        Weight of the naive Bayes log-count ratios relative to the logistic regression, from 0 to 1.
    characters : int
        Maximum length of character n-grams; 0 uses none.
    alpha : float
        Pseudo-count for smoothing the log-count ratios.
    language : str
        Language code of the documents, such as de; auto detects it.

    Attributes
    ----------
    classes_ : ndarray of shape (classes,)
        The classes.
    coef_ : ndarray of shape (classes, features), or (1, features) if there are two
        Weights of words, bigrams, then character n-grams.
    intercept_ : ndarray of shape (classes,), or (1,)
        Intercepts.
    words_, pairs_, pieces_ : tuple of str, ndarray of int, tuple of str
        The features; a bigram of words i and j is ``i * len(words_) + j``.
    idf_ : ndarray of shape (features,)
        Inverse document frequencies.
    language_ : str
        Language code of the training documents.

    References
    ----------
    Wang, Manning (2012), Baselines and bigrams: simple, good sentiment and topic classification, sections 2.1 to 2.3:
    the ratios, and what is between them and a linear model; there the ratios are factors of the features.

    Examples
    --------
    >>> model = TextClassifier().fit(["a good film", "good fun", "a bad film", "so bad"], ["+", "+", "-", "-"])
    >>> model.predict(["good!", "a bad one"]).tolist()
    ['+', '-']
    >>> model.explain("a bad one").parts[0][0]
    'bad'
    """

    _: KW_ONLY
    C: Positive = 30.0
    share: Share = 0.5
    characters: Annotated[int, Within(0, 16)] = 5
    alpha: Positive = 1.0
    language: str = "auto"

    def fit(self, documents: Corpus | Documents, y: ArrayLike) -> Self:
        """Fit the classifier to labelled documents.

        A document is a text or a list of words. Its class in ``y`` is a name or a number; at least two must occur.
        """
        self.check()
        X, labels = self._tables(documents, y)
        classes = np.unique(labels)
        return self._mixed(classes, self._weights_of(X, labels, classes))

    def search(self, documents: Corpus | Documents, *, y: ArrayLike, seed: int | None = 0) -> SearchSpace:
        """Return the search space of ``share`` and ``C``, evaluated by cross-validation.

        The vocabulary is that of all documents. A single held-out tenth of some thousand documents is too noisy, see
        docs/results/choosing.md. Arguments are those of :meth:`fit`, and the ``seed`` of the folds.
        """
        base = type(self)(**self.get_params(deep=False))
        X, labels = base._tables(documents, y)  # noqa: SLF001 # of the same class
        classes, right = np.unique(labels, return_inverse=True)
        fold = folds(labels, FOLDS, seed)
        last: dict[int, tuple[float, list[_Weights]]] = {}

        def learned(model: TextClassifier, k: int) -> TextClassifier:
            """Train on all folds except fold ``k``, using cached weights if ``C`` is unchanged."""
            model._restore(base._state())  # noqa: SLF001
            if last.get(k, (None,))[0] != model.C:
                last[k] = model.C, model._weights_of(X[fold != k], labels[fold != k], classes)
            return model._mixed(classes, last[k][1])

        def losses(model: TextClassifier) -> NDArray[np.float64]:
            p = np.ones((len(labels), len(classes)))
            for k in range(FOLDS):
                p[fold == k] = learned(clone(model), k)._probabilities(X[fold == k])  # noqa: SLF001
            return -np.log(p[np.arange(len(right)), right][fold >= 0])

        return SearchSpace(
            values=VALUES,
            fit=lambda model: learned(model, FOLDS),
            last=lambda model: learned(model, FOLDS),
            losses=losses,
            units="documents",
            measure="log loss",
            whole=True,
        )

    def decision_function(self, documents: Documents) -> NDArray[np.float64]:
        """Return the decision values, of shape (documents, classes), or (documents,) for two classes."""
        values = self._decisions(self._features(self._numbered(documents)))
        return values[:, 0] if values.shape[1] == 1 else values

    def predict_proba(self, documents: Documents) -> NDArray[np.float64]:
        """Return class probabilities, (documents, classes), normalized one-vs-rest for more than two classes."""
        return self._probabilities(self._features(self._numbered(documents)))

    def predict(self, documents: Documents) -> NDArray[Any]:
        """Return the most likely class of each document; see :meth:`predict_proba`."""
        return np.asarray(self.classes_[self.predict_proba(documents).argmax(axis=1)])

    def explain(self, document: Content, label: Any = None) -> Explanation:
        """Attribute the decision value of a class to the words of a document, including unknown words.

        A bigram contributes half to each word, a character n-gram to the words that contain it. The base is the
        intercept. With two classes the value is the log-odds of the class; with more, the log-odds against the rest
        before normalization.

        ``document`` is a text or its words, and ``label`` one of ``classes_``, by default the most likely.
        """
        check_is_fitted(self)
        numbered = self._numbered([document])
        x = self._features(numbered)
        at = int(self._probabilities(x).argmax()) if label is None else self._place(label)
        w = self._of(self.coef_, at)
        counts = self._counts(numbered)
        each = csr_array((x.data * w[x.indices] / counts.data, x.indices, x.indptr), shape=x.shape).toarray().ravel()
        ids, known = numbered.ids, self._known(numbered.words)[numbered.ids]
        added = np.where(known >= 0, each[known], 0.0)
        pairs, places = self._pairs(known, numbered.starts)
        for offset in (0, 1):
            np.add.at(added, places + offset, each[len(self.words_) + pairs] / 2)
        added += (self._spelled(numbered.words) @ each[len(self.words_) + len(self.pairs_) :])[ids]
        parts = np.bincount(ids, added, len(numbered.words))
        value = float(self._of(self._decisions(x)[0], at))
        return Explanation.of(value, zip(numbered.words, parts.tolist(), strict=True))

    def top_features(self, label: Any, top: int = 10) -> list[tuple[str, float]]:
        r"""Return the words and bigrams that best distinguish a class from the other classes, in decreasing order.

        The score is the weight times the standard deviation of the binary feature in the training documents,
        :math:`\sqrt{p (1 - p)}`. Weights alone would select features of a single document, and sums over documents
        features of all.
        """
        check_is_fitted(self)
        V = len(self.words_)
        p = np.exp(1 - self.idf_)
        weights = (self._of(self.coef_, self._place(label)) * self.idf_ * np.sqrt(p * (1 - p)))[: V + len(self.pairs_)]
        best = np.argsort(-weights, kind="stable")[:top]

        def name(at: int) -> str:
            return self.words_[at] if at < V else " ".join(self.words_[i] for i in divmod(int(self.pairs_[at - V]), V))

        return [(name(at), float(weights[at])) for at in best.tolist() if weights[at] > 0]

    def _place(self, label: Any) -> int:
        places = np.flatnonzero(self.classes_ == label)
        if not len(places):
            raise InputError(f"unknown class {label!r}; the classes are {', '.join(map(str, self.classes_))}"[:300])
        return int(places[0])

    def _of(self, values: NDArray[np.float64], at: int) -> Any:
        """Return the one-vs-rest value of a class or, for two classes, the binary value with the sign of the class."""
        return values[at] if len(values) > 1 else values[0] * (1 if at else -1)

    def _tables(self, documents: Corpus | Documents, y: ArrayLike) -> tuple[csr_array, NDArray[Any]]:
        """Build the feature matrix of the training documents and return the matrix and the labels."""
        corpus = documents
        if not isinstance(corpus, Corpus):
            corpus = Corpus.build(corpus, tokenizer=TOKENIZER, min_count=1, language=self.language)
        labels = np.asarray(y)
        starts = np.asarray(corpus.sentences)[np.asarray(corpus.documents)].astype(np.int64)
        if labels.shape != (len(starts) - 1,):
            wanted = f"one class label for each of the {len(starts) - 1:,} documents"
            raise InputError(f"y must contain {wanted}; got shape {labels.shape}", "y")
        if len(np.unique(labels)) < 2:
            what = f"all documents have the class {str(labels[0])!r:.60}"
            raise InputError(f"y must contain at least two classes; {what}", "y")
        self.language_ = str(corpus.settings["language"])
        numbered = _Numbered(corpus.vocabulary.words, np.asarray(corpus.ids).astype(np.int64), starts)
        self.pairs_ = np.unique(_neighbours(numbered.ids, starts, len(numbered.words))[0])
        pieces = dict.fromkeys(chain.from_iterable(map(self._pieces, numbered.words)))
        self._name(numbered.words, pieces)
        counts = self._counts(numbered)
        having = np.bincount(counts.indices, minlength=counts.shape[1])
        first = len(self.words_) + len(self.pairs_)
        kept = having >= np.where(np.arange(len(having)) < first, 1, MIN_PIECE_DOCUMENTS)
        self._name(self.words_, compress(pieces, kept[first:]))
        self.idf_ = 1 + np.log((1 + len(labels)) / (1 + having[kept]))
        return self._weighted(counts[:, kept]), labels

    def _name(self, words: Iterable[str], pieces: Iterable[str]) -> None:
        """Set the vocabularies, and the dictionaries that map words and character n-grams to indices."""
        self.words_, self.pieces_ = tuple(words), tuple(pieces)
        self._word_index = {name: at for at, name in enumerate(self.words_)}
        self._piece_index = {name: at for at, name in enumerate(self.pieces_)}

    def _make_ready(self) -> None:
        self._name(self.words_, self.pieces_)

    def _weights_of(self, X: csr_array, y: NDArray[Any], classes: NDArray[Any]) -> list[_Weights]:
        """Train a one-vs-rest model for each class, or a single model if there are two classes."""
        return [self._against(X, y == label) for label in (classes[1:] if len(classes) == 2 else classes)]

    def _mixed(self, classes: NDArray[Any], weights: list[_Weights]) -> Self:
        """Set the coefficients to the interpolation of logistic regression and naive Bayes weights."""
        s = self.share
        self.classes_ = classes
        self.coef_ = np.stack([(1 - s) * each.w + s * each.k * each.r for each in weights])
        self.intercept_ = np.array([(1 - s) * each.b + s * each.k * each.odds for each in weights])
        return self

    def _against(self, X: csr_array, positive: NDArray[np.bool_]) -> _Weights:
        """Train the weights of one class against the rest."""
        model = LogisticRegression(C=self.C, solver="liblinear", dual=True, tol=TOLERANCE, random_state=0)
        model.fit(X, positive)
        w, b = model.coef_[0], float(model.intercept_[0])
        p, q = (self.alpha + np.bincount(X[is_].indices, minlength=X.shape[1]) for is_ in (positive, ~positive))
        r = np.log(p / p.sum()) - np.log(q / q.sum())
        k = float(np.abs(w).mean() / max(np.abs(r).mean(), np.finfo(float).tiny))
        return _Weights(w, b, r, float(np.log(positive.sum() / (~positive).sum())), k)

    def _decisions(self, X: csr_array) -> NDArray[np.float64]:
        return np.asarray(X @ self.coef_.T) + self.intercept_

    def _probabilities(self, X: csr_array) -> NDArray[np.float64]:
        chances = 1 / (1 + np.exp(-self._decisions(X)))
        if chances.shape[1] == 1:
            return np.hstack([1 - chances, chances])
        return np.asarray(chances / chances.sum(axis=1, keepdims=True))

    def _numbered(self, documents: Documents) -> _Numbered:
        """Encode new documents as word ids, including unknown words."""
        check_is_fitted(self)
        if isinstance(documents, str | bytes):
            raise InputError("documents must be a list of documents; got a single string: pass [document]", "documents")
        refuse_named(documents, "documents")
        index, ids, cut = dict[str, int](), [], replace(TOKENIZER, language=self.language_)
        for number, document in enumerate(documents):
            content = checked(document, f"document {number}")
            words = chain.from_iterable(cut(content) if isinstance(content, str) else nested(content))
            ids.append([index.setdefault(word, len(index)) for word in words])
        starts = np.cumsum([0, *map(len, ids)])
        return _Numbered(list(index), np.fromiter(chain.from_iterable(ids), np.int64, starts[-1]), starts)

    def _known(self, words: Sequence[str]) -> NDArray[np.int64]:
        """Return the id of each word in the vocabulary of the model, or -1 for unknown words."""
        return np.array([self._word_index.get(word, -1) for word in words], np.int64)

    def _pairs(self, known: NDArray[np.int64], starts: NDArray[np.int64]) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return the id and position of each known bigram."""
        pairs, places = _neighbours(known, starts, len(self.words_))
        at = np.minimum(np.searchsorted(self.pairs_, pairs), max(len(self.pairs_) - 1, 0))
        found = np.zeros(len(pairs), bool) if not len(self.pairs_) else self.pairs_[at] == pairs
        return at[found], places[found]

    def _counts(self, numbered: _Numbered) -> csr_array:
        """Count the words, bigrams and character n-grams of documents."""
        ids, starts = numbered.ids, numbered.starts
        document = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
        known = self._known(numbered.words)[ids]
        pairs, places = self._pairs(known, starts)
        size = len(starts) - 1
        words = _table(document[known >= 0], known[known >= 0], (size, len(self.words_)))
        both = _table(document[places], pairs, (size, len(self.pairs_)))
        every = _table(document, ids, (size, len(numbered.words)))
        return counts_by_row(hstack([words, both, every @ self._spelled(numbered.words)], format="csr"))

    def _spelled(self, words: Sequence[str]) -> csr_array:
        """Count the known character n-grams of each word in a matrix of shape (words, n-grams)."""
        index = self._piece_index
        known = [[index[piece] for piece in self._pieces(word) if piece in index] for word in words]
        row = np.repeat(np.arange(len(words)), [len(some) for some in known])
        return _table(row, np.fromiter(chain.from_iterable(known), np.int64, len(row)), (len(words), len(index)))

    def _pieces(self, word: str) -> Iterator[str]:
        """Yield the character n-grams of a word padded with spaces, or the whole word if it is shorter."""
        edged = f" {word} "
        for length in range(2, self.characters + 1):
            for at in range(max(1, len(edged) - length + 1)):
                yield edged[at : at + length]
            if length >= len(edged):
                return

    def _features(self, numbered: _Numbered) -> csr_array:
        """Return the feature vectors of documents."""
        warn_unknown(counts := self._counts(numbered))
        return self._weighted(counts)

    def _weighted(self, counts: csr_array) -> csr_array:
        """Return TF-IDF features, where word features and character features are normalized separately."""
        X = counts.copy()
        X.data = (1 + np.log(X.data)) * self.idf_[X.indices]
        first = len(self.words_) + len(self.pairs_)
        X = hstack([normalize(part) for part in (X[:, :first], X[:, first:]) if part.shape[1]], format="csr")
        X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)  # liblinear takes no others
        return X


def _neighbours(
    ids: NDArray[np.int64], starts: NDArray[np.int64], words: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the id and position of each bigram within documents, skipping unknown words (id -1)."""
    within = np.ones(max(len(ids) - 1, 0), bool)
    edges = starts[1:-1]
    within[edges[(edges > 0) & (edges < len(ids))] - 1] = False
    places = np.flatnonzero(within & (ids[:-1] >= 0) & (ids[1:] >= 0))
    return ids[places] * words + ids[places + 1], places


def _table(rows: NDArray[Any], columns: NDArray[Any], shape: tuple[int, int]) -> csr_array:
    """Return a sparse matrix that counts the occurrences of each pair of row and column indices."""
    return csr_array((np.ones(len(rows)), (rows, columns)), shape=shape)


def held_out(labels: NDArray[Any], share: float, seed: int | None) -> NDArray[np.bool_]:
    """Return a mask that selects a random share of the documents of each class, rounded down, to hold out."""
    rng = np.random.default_rng(seed)
    out = np.zeros(len(labels), bool)
    for label in np.unique(labels):
        members = rng.permutation(np.flatnonzero(labels == label))
        out[members[: int(share * len(members))]] = True
    if not out.any():
        what = f"none of the {len(labels):,} documents can be held out"
        raise InputError(f"{what}, because each class has too few documents")
    return out


def folds(labels: NDArray[Any], number: int, seed: int | None) -> NDArray[np.int64]:
    """Assign each document to a stratified fold, or to -1 if no other document has the same class."""
    rng = np.random.default_rng(seed)
    fold = np.full(len(labels), -1)
    for label in np.unique(labels):
        members = rng.permutation(np.flatnonzero(labels == label))
        if len(members) > 1:
            fold[members] = (rng.integers(number) + np.arange(len(members))) % number
    if (fold < 0).all():
        what = "cross-validation requires a class with at least two documents"
        raise InputError(f"{what}; each of the {len(labels):,} classes has only one")
    return fold
