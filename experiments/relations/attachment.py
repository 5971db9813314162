"""Prepositional phrases: does one belong to the verb or to the noun? A tensor of four words, and backing off."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csr_array, hstack

from experiments.data.clauses import attachment
from experiments.relations.composition import WIDTH, neighbours_ppmi, treebank_tagger
from polyadic.core.linalg import truncated_svd
from polyadic.core.stage_cache import whole
from polyadic.embedding import Embedding
from polyadic.metrics.figures import Figure
from polyadic.relations.attachment import TupleClassifier
from polyadic.text.contexts import contexts
from polyadic.text.corpus import Corpus

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from experiments.data.clauses import Attachment, Phrases, Words
    from experiments.data.tnt_tagger import Tagger
    from polyadic.core.stage_cache import Facts

VERB, NOUN, PREPOSITION, LAST = range(4)
MARKS = ("v", "n", "", "n")
LENGTH = 200
"""Dimension of word vectors."""
DENSE = 3.0
"""Length of a word vector among features that are 0 or 1; chosen with the constant on the validation part."""


def evaluated(lemmas: Path | None, *, seed: int, root: Path | None = None) -> Facts:
    """Return phrases by the tensor, with and without vectors of words, and by its baselines.

    ``lemmas``: The corpus that vectors are made from, of :func:`~experiments.relations.composition.lemmatized` text.
    """
    data, tagger = attachment(root=root), treebank_tagger(root)
    figures = [*simple(data).values(), *back_off(data, tagger).values()]
    known: dict[str, Embedding | None] = {"words alone": None}
    if lemmas is not None:
        known["with vectors"] = vectors(data, tagger, lemmas)
    for name, words in known.items():
        accuracies = tensor(data, tagger, words, model=TupleClassifier(seed=seed)).values()
        figures += [replace(figure, name=f"{figure.name}, {name}") for figure in accuracies]
    return {"figures": [figure.as_dict() for figure in figures]}


def vectors(data: Attachment, tagger: Tagger, lemmas: Path) -> Embedding:
    """Return the words of phrases vectors, by singular values of their PPMI."""
    corpus = Corpus.open(lemmas)
    index = corpus.vocabulary.index
    plain = (plain_words(words, tagger) for part in data for words in part.words)
    marked = {f"{word}/{mark}" for words in plain for word, mark in zip(words, MARKS, strict=True)}
    needed = sorted(marked & {*index})
    table = neighbours_ppmi(contexts(corpus, width=WIDTH), np.array([index[word] for word in needed]))
    U, s, _ = truncated_svd(table, LENGTH, seed=0)
    return Embedding(needed, (U * np.sqrt(s)).astype(np.float32))


def plain_words(words: Words, tagger: Tagger) -> Words:
    """Return words as they are counted: lemmas, years and other numbers alike, and names alike.

    References
    ----------
    Collins, Brooks (1995), section 5.1.
    """
    verb, noun, preposition, last = words
    return _verb(verb, tagger), _noun(noun, tagger), preposition.lower(), _noun(last, tagger)


def features(
    places: Sequence[Sequence[str]], train: Sequence[Words], tagger: Tagger, words: Embedding | None
) -> list[Any]:
    """Return the features of the words of each place: the word, its plain form, and the vector of its lemma.

    ``places``: Words of verbs, nouns, prepositions and last nouns. ``train``: Words not among them have no features of
    their own. ``words``: Of lemmas such as ``"eat/v"`` and ``"pizza/n"``; scaled to length 1.
    """
    plain = [plain_words(x, tagger) for x in train]
    tables = []
    for place, listed in enumerate(places):
        seen, forms = ({x[place] for x in known} for known in (train, plain))
        alike = [_plain(word, place, tagger) for word in listed]
        parts = [_indicators([word if word in seen else None for word in listed])] if place != PREPOSITION else []
        parts.append(_indicators([form if form in forms else None for form in alike]))
        if words is not None and place != PREPOSITION:
            rows = [words.index.get(f"{form}/{MARKS[place]}") for form in alike]
            vectors = np.array([np.zeros(words.rank) if row is None else DENSE * words.unit[row] for row in rows])
            parts.append(csr_array(vectors))
        tables.append(csr_array(hstack(parts)))
    return tables


def tensor(
    data: Attachment, tagger: Tagger, words: Embedding | None, *, model: TupleClassifier | None = None
) -> dict[str, Figure]:
    """Return phrases of the validation and the test part by a low-rank tensor over features.

    ``tagger``, ``words``: See :func:`features`. ``model``: It is fitted; by default with its own settings, which were
    chosen on the validation part.
    """
    places = [sorted({x[place] for part in data for x in part.words}) for place in range(4)]
    numbers = [{word: at for at, word in enumerate(listed)} for listed in places]
    cells = [np.array([[n[w] for n, w in zip(numbers, x, strict=True)] for x in part.words]) for part in data]
    model = TupleClassifier(seed=0) if model is None else model
    whole(model.fit(cells[0], data.train.verbal, features=features(places, data.train.words, tagger, words)))
    return {
        name: accuracy(f"{name}, tensor", model.predict(x), getattr(data, name))
        for name, x in zip(("validation", "test"), cells[1:], strict=True)
    }


def back_off(data: Attachment, tagger: Tagger) -> dict[str, Figure]:
    """Return phrases by the counts of most of their words, of fewer where these were not seen.

    All four words, then triples, then pairs with the preposition among them, then the preposition, then the noun.

    References
    ----------
    Collins, Brooks (1995), Prepositional phrase attachment through a backed-off model, sections 4 and 5.
    """
    counts: Counter[tuple[Any, ...]] = Counter()
    for words, verbal in zip(data.train.words, data.train.verbal.tolist(), strict=True):
        for key in _parts(plain_words(words, tagger)):
            counts[key, verbal] += 1

    def is_verbal(words: Words) -> bool:
        plain = plain_words(words, tagger)
        for size in (4, 3, 2, 1):
            keys = [key for key in _parts(plain) if len(key) == size]
            verbal, nominal = (sum(counts[key, which] for key in keys) for which in (True, False))
            if verbal + nominal:
                return verbal > nominal
        return False

    return {
        name: accuracy(
            f"{name}, back-off", np.array([is_verbal(x) for x in getattr(data, name).words]), getattr(data, name)
        )
        for name in ("validation", "test")
    }


def simple(data: Attachment) -> dict[str, Figure]:
    """Return phrases of the test part as most are, and as most of their preposition are."""
    counts: Counter[tuple[str, bool]] = Counter()
    for words, verbal in zip(data.train.words, data.train.verbal.tolist(), strict=True):
        counts[words[PREPOSITION].lower(), verbal] += 1
    most = bool(data.train.verbal.mean() > 0.5)
    prepositions = [words[PREPOSITION].lower() for words in data.test.words]
    by_preposition = np.array([counts[p, True] > counts[p, False] for p in prepositions])
    return {
        "majority": accuracy("test, majority", np.full(len(prepositions), most), data.test),
        "preposition": accuracy("test, preposition", by_preposition, data.test),
    }


def accuracy(name: str, predicted: NDArray[np.bool_], part: Phrases) -> Figure:
    """Return the accuracy."""
    rows = np.stack([predicted == part.verbal, np.ones(len(predicted))], axis=1).astype(float)
    return Figure(name, rows, len(predicted), len(predicted))


def _parts(plain: Words) -> list[tuple[tuple[int, str], ...]]:
    """Return the sets of words with the preposition among them."""
    places = list(enumerate(plain))
    others = [places[VERB], places[NOUN], places[LAST]]
    return [(places[PREPOSITION], *some) for size in range(4) for some in combinations(others, size)]


def _plain(word: str, place: int, tagger: Tagger) -> str:
    if place == PREPOSITION:
        return word.lower()
    return _verb(word, tagger) if place == VERB else _noun(word, tagger)


def _verb(word: str, tagger: Tagger) -> str:
    word = word.lower()
    ending = next((tag for end, tag in (("ing", "VBG"), ("ed", "VBD"), ("s", "VBZ")) if word.endswith(end)), "VB")
    return tagger.lemma(word, ending if ending != "VB" else tagger.likeliest(word, ("VB", "VBD", "VBN", "VBP")))


def _noun(word: str, tagger: Tagger) -> str:
    if any(letter.isdigit() for letter in word):
        return "<year>" if len(word) == 4 and word.isdigit() else "<number>"
    if word[:1].isupper() and word[1:2].islower():
        return "<name>"
    return tagger.lemma(word, "NNS" if word.endswith("s") else "NN")


def _indicators(words: Sequence[str | None]) -> csr_array:
    """Return a column for each different word, and nothing where there is none."""
    columns = {word: at for at, word in enumerate(sorted({word for word in words if word is not None}))}
    rows = [row for row, word in enumerate(words) if word is not None]
    at = [columns[word] for word in words if word is not None]
    return csr_array((np.ones(len(rows)), (rows, at)), shape=(len(words), len(columns)))
