"""Words, their senses, phrases, themes, and the map of all words."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from polyadic.core.errors import InputError
from polyadic.core.settings import Count, Natural, Within
from polyadic.embedding import components, unit_rows
from polyadic.embedding.components import components_of
from polyadic.explore.answers.common import OCCURRENCES, Top, Width, known_word, line_of, lists, short
from polyadic.metrics.association import log_dice, log_likelihood, pmi
from polyadic.text.occurrences import sample
from polyadic.words.occurrences import FEWEST
from polyadic.words.phrases import BLEND

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from polyadic.explore.answers.common import Answer
    from polyadic.explore.workspace import Shelf
    from polyadic.words.occurrences import SensesOfWord

WINDOWS = 5_000
"""Occurrences around which triples are counted, since each has hundreds."""
PARTS = 60
"""Of the text, in which the spread of a word is shown."""
SPAN = 10
"""Consecutive words less one that hold a triple; as in the counts of which the vectors are made."""


def words(shelf: Shelf, start: str, top: Top = 12) -> Answer:
    """Give the most frequent words with a beginning, to choose from while one types."""
    begun = start.lower()
    lowered = _lowered(shelf)
    found = [at for at, word in enumerate(lowered) if word.startswith(begun)][:top]
    vocabulary = shelf.corpus.vocabulary
    return {"words": [[vocabulary.words[at], int(vocabulary.counts[at])] for at in found]}


def word(shelf: Shelf, word: str, *, width: Width = 5, top: Top = 30, least: Count = 3) -> Answer:
    """Tell of a word: how often it stands where, its nearest words, what stands around it, and its themes.

    Collocates stand within ``width`` words of it in the sentence and do so ``least`` times.
    """
    number, word = known_word(shelf, word)
    where, vocabulary = shelf.occurrences, shelf.corpus.vocabulary
    positions = where.positions(number)
    n, N = len(positions), len(shelf.corpus.ids)
    documents, counts = np.unique(where.documents(positions), return_counts=True)
    size = where.lengths()[documents] / N
    spread = np.bincount(positions * PARTS // N, minlength=PARTS)
    looked = sample(positions, OCCURRENCES)
    others, together = where.pairs(looked, width)
    around = together.sum()
    kept = (together >= least) & (others != number)
    others, together = others[kept], together[kept]
    frequent = vocabulary.counts[others]
    measures = {
        "log_likelihood": log_likelihood(together, around, frequent, N),
        "pmi": pmi(together, around, frequent, N),
        "log_dice": log_dice(together * (n / len(looked)), n, frequent),
    }
    best = {name: np.argsort(-values, kind="stable")[:top] for name, values in measures.items()}
    shown = np.unique(np.concatenate([*best.values()]))
    return {
        "word": word,
        "count": n,
        "per_million": 1e6 * n / N,
        "rank": int((vocabulary.counts > n).sum()) + 1,
        "documents": len(documents),
        "of_documents": len(where.lengths()),
        "deviation": float((np.abs(counts / n - size).sum() + 1 - size.sum()) / 2),
        "spread": spread.tolist(),
        "neighbours": lists(shelf.vectors.neighbours(word, top=top)),
        "collocates": [
            {"word": vocabulary.words[others[at]], "together": int(together[at]), "count": int(frequent[at])}
            | {name: short(values[at]) for name, values in measures.items()}
            for at in shown
        ],
        "looked_at": len(looked),
        "themes": _themes(shelf, word),
        "senses": n >= FEWEST and shelf.senses is not None,
    }


def senses(shelf: Shelf, word: str, *, lines: Natural = 3, triples: Natural = 8, top: Top = 10) -> Answer:
    """Tell the senses of a word: how often each is meant, what could stand in its place, its triples, and lines."""
    _, word = known_word(shelf, word)
    found, space = senses_of(shelf, word, top), shelf.senses
    assert space is not None  # or it was refused
    return {
        "word": word,
        "count": found.occurrences,
        "agreement": found.agreement,
        "sure": found.sure,
        "senses": [
            {
                "share": short(sense.share),
                "words": list(sense.substitutes),
                "triples": _triples(shelf, word, sense.positions, triples),
                "lines": [line_of(line) for line in space.lines(sense, lines)] if lines else [],
            }
            for sense in found.senses
        ],
    }


def phrase(shelf: Shelf, words: list[str], *, top: Top = 15, lines: Natural = 10) -> Answer:
    """Tell what two words or more mean together by their triples, by the product and by the sum of their vectors."""
    numbers, words = _several(shelf, words)
    vectors = shelf.vectors
    positions = shelf.occurrences.together(numbers, SPAN)
    joined = unit_rows(sum(vectors.unit[vectors.index[word]].astype(np.float64) for word in words)[None])[0]
    ways: dict[str, NDArray[Any]] = {"sum": joined}
    product = vectors.product(*words)
    if product.any():
        ways["product"] = product
    third, counts, weights = _third_words(shelf, numbers, positions)
    if len(third):
        known = [vectors.index[shelf.corpus.vocabulary.words[at]] for at in third]
        ways["triples"] = unit_rows((weights @ vectors.unit[known].astype(np.float64))[None])[0] + BLEND * joined
    nearest = {name: vectors.neighbours(vector, top=top, exclude=words) for name, vector in ways.items()}
    best = np.argsort(-counts * weights, kind="stable")[:top]
    return {
        "words": words,
        "together": len(positions),
        "nearest": {name: lists(some) for name, some in nearest.items()},
        "third": [[shelf.corpus.vocabulary.words[third[at]], int(counts[at])] for at in best],
        "count": shelf.corpus.lines.count(*words),
        "lines": [line_of(line) for line in shelf.corpus.lines.find(*words, top=lines)] if lines else [],
    }


def places(shelf: Shelf, top: Annotated[int, Within(2, 100_000)] = 100_000) -> Answer:
    """Place the most frequent words on the map; tell how frequent they are, and the theme that each has most of."""
    vectors = shelf.vectors
    number = min(top, len(shelf.places))
    at = np.asarray(shelf.places[:number], float)
    low, high = at.min(axis=0), at.max(axis=0)
    at = 2 * (at - low) / np.maximum(high - low, 1e-9).max() - (high - low) / np.maximum(high - low, 1e-9).max()
    themes = vectors.components
    strength = np.abs(themes.vectors[:number]) / np.maximum(np.linalg.norm(themes.vectors, axis=0), 1e-12)
    counts = np.zeros(number) if vectors.counts is None else vectors.counts[:number]
    return {
        "words": list(vectors.words[:number]),
        "x": at[:, 0].round(4).tolist(),
        "y": at[:, 1].round(4).tolist(),
        "counts": counts.astype(int).tolist(),
        "themes": strength.argmax(axis=1).tolist(),
        "names": [[c.column, [w for w, _ in c.words]] for c in components(vectors, top=4)],
    }


def theme(shelf: Shelf, column: Natural, top: Top = 30) -> Answer:
    """Give a theme: the words that have most of it."""
    if column >= shelf.vectors.components.rank:
        raise InputError(f"column must be below {shelf.vectors.components.rank}, the number of themes; got {column}")
    found = components(shelf.vectors, [column], top=top)
    return {"column": column, "words": lists([pair for each in found for pair in each.words])}


@functools.lru_cache(maxsize=4)
def _lowered(shelf: Shelf) -> list[str]:
    return [word.lower() for word in shelf.corpus.vocabulary.words]


@functools.lru_cache(maxsize=512)
def senses_of(shelf: Shelf, word: str, top: int) -> SensesOfWord:
    """Give the senses of a word, which are found once."""
    if shelf.senses is None:
        raise InputError("the text is too short to tell senses apart")
    return shelf.senses.senses(word, top=top)


def _several(shelf: Shelf, words: list[str]) -> tuple[list[int], list[str]]:
    known = dict(known_word(shelf, word)[::-1] for word in words)
    if len(known) < 2:
        raise InputError(f"a phrase has two different words or more; got {' '.join(words)!r}")
    return [*known.values()], [*known]


def _triples(shelf: Shelf, word: str, positions: NDArray[np.int64], top: int) -> list[list[Any]]:
    r"""Give the pairs of words that stand with some occurrences of a word far more often than by chance.

    With c windows that hold both, of T pairs in all, and :math:`e = 2 T p_u p_v`, they are those of the largest
    :math:`c \log(c / e) - (c - e)`, the evidence against chance of Poisson counts; no word in more than two.
    """
    if not top or not len(positions):
        return []
    pairs, counts = shelf.occurrences.triples(sample(np.sort(positions), WINDOWS), SPAN)
    vocabulary = shelf.corpus.vocabulary
    number = vocabulary[word]
    p = vocabulary.counts / vocabulary.counts.sum()
    e = 2 * counts.sum() * p[pairs[:, 0]] * p[pairs[:, 1]]
    score = np.where(counts > e, counts * np.log(np.maximum(counts, 1) / e) - (counts - e), 0)
    score[(pairs == number).any(axis=1) | (counts < 2)] = 0
    shown: list[list[Any]] = []
    seen: dict[int, int] = {}
    for at in np.argsort(-score, kind="stable"):
        u, v = pairs[at].tolist()
        if len(shown) == top or score[at] <= 0:
            break
        if max(seen.get(u, 0), seen.get(v, 0)) < 2:
            seen |= {u: seen.get(u, 0) + 1, v: seen.get(v, 0) + 1}
            shown.append([vocabulary.words[u], vocabulary.words[v], int(counts[at])])
    return shown


def _third_words(
    shelf: Shelf, numbers: list[int], positions: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    r"""Give words that stand with all of some words, how often, and their associations with them.

    With :math:`c_w` of the words within the span of all of them, the weight is
    :math:`\max(0, \log (c_w / \sum_v c_v) - \log p_w)`, the PPMI of the third word with the others.
    """
    words, counts = shelf.occurrences.pairs(sample(positions, OCCURRENCES), SPAN)
    others = ~np.isin(words, numbers)
    words, counts = words[others], counts[others]
    vocabulary = shelf.corpus.vocabulary
    share = vocabulary.counts[words] / vocabulary.counts.sum()
    weights = np.log(counts / max(counts.sum(), 1) / share) if len(words) else np.zeros(0)
    kept = weights > 0
    return words[kept], counts[kept], weights[kept]


def _themes(shelf: Shelf, word: str) -> list[Answer]:
    return [
        {"column": each.column, "words": [word for word, _ in each.words]}
        for each in components_of(shelf.vectors, word, n_components=5, top=8)
    ]
