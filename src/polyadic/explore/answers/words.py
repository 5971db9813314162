"""Endpoints for words, word senses, phrases, non-negative components, and the map of words."""

from __future__ import annotations

import functools
import time
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from polyadic.core.errors import InputError
from polyadic.core.settings import Count, Natural, Within
from polyadic.embedding import components, unit_rows
from polyadic.embedding.components import components_of
from polyadic.explore.answers.common import Answer, Top, Width, frequencies, known_word, line_of, lists, rows, short
from polyadic.text.occurrences import sample
from polyadic.text.usage import literal
from polyadic.words.occurrences import MIN_OCCURRENCES, SensesOfWord
from polyadic.words.phrases import BLEND

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from polyadic.explore.workspace import Workspace

OCCURRENCES = 100_000  # maximum number of occurrences of a phrase to examine; of more, a sample is used
WINDOWS = 5_000  # maximum number of occurrences around which triples are counted, as each has hundreds
SHOWN = ("log_likelihood", "pmi", "log_dice")  # measures by which collocates are chosen
PARTS = 60  # number of parts of the text in the dispersion plot of a word
SECONDS, SUBSTITUTES = 8.0, 6  # time to look up senses for the home page, and number of substitutes per sense
MAX_OCCURRENCES = 1_000
"""Words that are more frequent are not looked up for the home page: they take longer and say less."""
SPAN = 10  # maximum distance of the words of a triple, as in the counts that the vectors are trained on


def words(workspace: Workspace, start: str, top: Top = 12) -> Answer:
    """Return the most frequent words that start with a prefix, for autocompletion."""
    begun = start.lower()
    found = [at for at, word in enumerate(_lowered(workspace)) if word.startswith(begun)][:top]
    vocabulary = workspace.corpus.vocabulary
    return {"words": [[vocabulary.words[at], int(vocabulary.counts[at])] for at in found]}


def word(workspace: Workspace, word: str, *, width: Width = 5, top: Top = 30, min_count: Count = 3) -> Answer:
    """Return the profile of a word: frequency, dispersion, nearest words, collocates, and non-negative components.

    Collocates occur at least ``min_count`` times within ``width`` running words of it in the sentence; each token
    counts once, even if it is near several occurrences of the word.
    """
    _, word = known_word(workspace, word)
    corpus, query = workspace.corpus, literal(word)
    (frequency,) = frequencies(workspace, [word])
    positions, n = corpus.lines.matches(query).starts, frequency["count"]
    near = corpus.collocates(query, left=width, right=width, min_count=min_count)
    best = {k for name in SHOWN for k in sorted(range(len(near)), key=lambda k: -getattr(near[k], name))[:top]}
    return {
        **frequency,
        "rank": int((corpus.text.word_counts > n).sum()) + 1,
        "of_documents": corpus.n_documents,
        "spread": np.bincount(positions * PARTS // len(corpus.text), minlength=PARTS).tolist(),
        "neighbours": lists(workspace.vectors.neighbours(word, top=top)),
        "collocates": [
            {"word": row.pop("item"), "together": row.pop("together"), "count": row.pop("frequency"), **row}
            for row in rows(near[k] for k in sorted(best))
        ],
        "looked_at": n,
        "components": [
            {"column": each.column, "words": [other for other, _ in each.words]}
            for each in components_of(workspace.vectors, word, n_components=5, top=8)
        ],
        "senses": n >= MIN_OCCURRENCES and workspace.senses is not None,
    }


def senses(workspace: Workspace, word: str, *, lines: Natural = 3, triples: Natural = 8, top: Top = 10) -> Answer:
    """Return the induced senses of a word with frequencies, substitutes, co-occurring word pairs and example lines."""
    _, word = known_word(workspace, word)
    found, space = senses_of(workspace, word, top), workspace.senses
    assert space is not None  # checked by senses_of
    return {
        "word": word,
        "count": found.occurrences,
        "agreement": found.agreement,
        "sure": found.sure,
        "senses": [
            {
                "share": short(sense.share),
                "words": list(sense.substitutes),
                "triples": _triples(workspace, word, sense.positions, triples),
                "lines": [line_of(line) for line in space.lines(sense, lines)] if lines else [],
            }
            for sense in found.senses
        ],
    }


def ambiguous(workspace: Workspace, top: Top = 12) -> Answer:
    """Return words of medium frequency with several reliable senses; the search stops after a few seconds."""
    found: list[Answer] = []
    vocabulary, end, looked_up = workspace.corpus.vocabulary, time.monotonic() + SECONDS, 0
    for word, n in zip(vocabulary.words, vocabulary.counts, strict=True):
        if workspace.senses is None or n < MIN_OCCURRENCES or len(found) == top or time.monotonic() > end:
            break
        if n > MAX_OCCURRENCES:
            continue
        looked_up += 1
        its = senses_of(workspace, word, SUBSTITUTES)
        if its.sure and len(its.senses) > 1:
            senses = [{"share": short(sense.share), "words": list(sense.substitutes)} for sense in its.senses]
            found.append({"word": word, "senses": senses})
    return {"words": found, "looked_up": looked_up}


def phrase(workspace: Workspace, words: list[str], *, top: Top = 15, lines: Natural = 10) -> Answer:
    """Return the words nearest to a phrase by the sum and the product of the word vectors, and by triple counts."""
    known = dict(known_word(workspace, word)[::-1] for word in words)
    if len(known) < 2:
        raise InputError(f"a phrase must have at least two different words; got {' '.join(words)!r}")
    numbers, words = [*known.values()], [*known]
    vectors = workspace.vectors
    positions = workspace.occurrences.together(numbers, SPAN)
    joined = unit_rows(sum(vectors.unit[vectors.index[word]].astype(np.float64) for word in words)[None])[0]
    ways: dict[str, NDArray[Any]] = {"sum": joined}
    product = vectors.product(*words)
    if product.any():
        ways["product"] = product
    third, counts, weights = _third_words(workspace, numbers, positions)
    if len(third):
        rows = [vectors.index[workspace.corpus.vocabulary.words[at]] for at in third]
        ways["triples"] = unit_rows((weights @ vectors.unit[rows].astype(np.float64))[None])[0] + BLEND * joined
    nearest = {name: vectors.neighbours(vector, top=top, exclude=words) for name, vector in ways.items()}
    best = np.argsort(-counts * weights, kind="stable")[:top]
    return {
        "words": words,
        "together": len(positions),
        "nearest": {name: lists(some) for name, some in nearest.items()},
        "third": [[workspace.corpus.vocabulary.words[third[at]], int(counts[at])] for at in best],
        "count": workspace.corpus.lines.count(*words),
        "lines": [line_of(line) for line in workspace.corpus.lines.find(*words, top=lines)] if lines else [],
    }


def places(workspace: Workspace, top: Annotated[int, Within(2, 100_000)] = 100_000) -> Answer:
    """Return the map coordinates, the count and the dominant component of each of the most frequent words."""
    vectors = workspace.vectors
    number = min(top, len(workspace.places))
    at = np.asarray(workspace.places[:number], float)
    low, high = at.min(axis=0), at.max(axis=0)
    at = 2 * (at - low) / np.maximum(high - low, 1e-9).max() - (high - low) / np.maximum(high - low, 1e-9).max()
    found = vectors.components.vectors
    strength = np.abs(found[:number]) / np.maximum(np.linalg.norm(found, axis=0), 1e-12)
    counts = np.zeros(number) if vectors.counts is None else vectors.counts[:number]
    return {
        "words": list(vectors.words[:number]),
        "x": at[:, 0].round(4).tolist(),
        "y": at[:, 1].round(4).tolist(),
        "counts": counts.astype(int).tolist(),
        "components": strength.argmax(axis=1).tolist(),
        "names": [[c.column, [w for w, _ in c.words]] for c in components(vectors, top=4)],
    }


def component(workspace: Workspace, column: Natural, top: Top = 30) -> Answer:
    """Return the words with the largest weights in a non-negative component."""
    if column >= (number := workspace.vectors.components.rank):
        raise InputError(f"column must be below {number}, the number of components; got {column}", "column")
    found = components(workspace.vectors, [column], top=top)
    return {"column": column, "words": lists([pair for each in found for pair in each.words])}


@functools.lru_cache(maxsize=4)
def _lowered(workspace: Workspace) -> list[str]:
    return [word.lower() for word in workspace.corpus.vocabulary.words]


@functools.lru_cache(maxsize=512)
def senses_of(workspace: Workspace, word: str, top: int) -> SensesOfWord:
    """Return the induced senses of a word from a cache."""
    if workspace.senses is None:
        raise InputError("the text is too short to induce word senses")
    return workspace.senses.senses(word, top=top)


def _triples(workspace: Workspace, word: str, positions: NDArray[np.int64], top: int) -> list[list[Any]]:
    r"""Return the word pairs that co-occur with given occurrences of a word far more often than by chance.

    With c windows that contain both words, of T pairs in all, and the expected number :math:`e = 2 T p_u p_v`, they are
    those of the largest Poisson evidence :math:`c \log(c / e) - (c - e)`; no word is in more than two pairs.
    """
    if not top or not len(positions):
        return []
    pairs, counts = workspace.occurrences.triples(sample(np.sort(positions), WINDOWS), SPAN)
    vocabulary = workspace.corpus.vocabulary
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
    workspace: Workspace, numbers: list[int], positions: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    r"""Return the words that co-occur with all given words, with counts and association weights.

    With :math:`c_w` occurrences within the span of all of them, the weight is
    :math:`\max(0, \log (c_w / \sum_v c_v) - \log p_w)`, the PPMI of the third word with the others.
    """
    words, counts = workspace.occurrences.pairs(sample(positions, OCCURRENCES), SPAN)
    others = ~np.isin(words, numbers)
    words, counts = words[others], counts[others]
    vocabulary = workspace.corpus.vocabulary
    share = vocabulary.counts[words] / vocabulary.counts.sum()
    weights = np.log(counts / max(counts.sum(), 1) / share) if len(words) else np.zeros(0)
    kept = weights > 0
    return words[kept], counts[kept], weights[kept]
