"""Test sets generated from held-out documents: unseen word tuples, phrases and names.

They measure what tuples of words add to pairs, for models that are trained on the other documents.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import csr_array

from polyadic.core.annotations import Ints, Mask
from polyadic.core.errors import InputError, check_int, check_number
from polyadic.core.progress import tracked
from polyadic.metrics.completion import Gap
from polyadic.metrics.multiwords import Candidate
from polyadic.metrics.phrases import PhraseCase
from polyadic.text.counts import count
from polyadic.text.tokens import Tokenizer
from polyadic.text.weighting import ppmi

if TYPE_CHECKING:
    from polyadic.core.entries import Entries
    from polyadic.text.corpus import Corpus
    from polyadic.text.vocabulary import Vocabulary

    Unseen = Callable[[Ints, Ints], Mask]

WRONG = 8  # words drawn for each case; the first that is valid is used
MATCHED = 16  # words drawn among those seen with each given word; the one nearest in frequency is used
RIVALS = 20  # maximum number of articles with a similar title whose words serve as distractors
MAX_OWN_WORDS, MIN_OWN_WORDS, MIN_OWN_COUNT = 20, 10, 3
"""Maximum and minimum number of words characteristic of an article, and their minimum frequency in it."""


def split(corpus: Corpus, share: float = 0.1, *, seed: int = 0) -> tuple[Ints, Ints]:
    """Split the documents at random; return the indices of training and held-out documents."""
    total = len(corpus.documents) - 1
    size = round(check_number("share", share) * total)
    if not 0 < size < total:
        what = f"holding out a fraction of {share:g} of {total:,} documents"
        raise InputError(f"{what} leaves the training or held-out set empty; change the fraction")
    drawn = np.random.default_rng(seed).permutation(total)
    return np.sort(drawn[size:]), np.sort(drawn[:size])


def gaps(
    train: Corpus,
    held: Corpus,
    *,
    order: int = 3,
    width: int = 10,
    min_count: int = 10,
    size: int = 20_000,
    seed: int = 0,
) -> list[Gap]:
    """Generate tuple completion questions from tuples that are frequent in held-out text but absent from training text.

    Frequent means at least ``min_count`` times within a span of ``width``, and with positive PMI. The wrong completions
    form tuples that occur in neither text. There may be fewer than ``size`` cases: they are skipped if the answer did
    not occur with each given word in training, or no drawn word is valid.
    """
    check_int("order", order, low=3, high=5)
    check_int("min_count", min_count, low=1)
    check_int("size", size, low=1)
    rng = np.random.default_rng(seed)
    seen, other = count(train, order=order, width=width).entries, count(held, order=order, width=width)
    x = other.entries
    often = np.flatnonzero(x.values >= min_count)
    if not len(often):
        what = f"no tuple of {order} words within a span of {width} occurs at least {min_count} times"
        raise InputError(f"{what} in the held-out text; lower min_count or use more text", "min_count")
    kept = replace(x, indices=np.asfortranarray(x.indices[often]), values=x.values[often])
    associations = ppmi(replace(other, entries=kept))
    place = np.array([train.vocabulary.index.get(word, -1) for word in held.vocabulary.words])
    tuples = place[associations.indices.astype(np.int64)]
    new = np.flatnonzero((tuples >= 0).all(axis=1))
    new = new[seen.find(tuples[new]) < 0]
    if not len(new):
        what = f"no tuple of {order} words occurs at least {min_count} times in the held-out text"
        advice = "use more text, or lower min_count"
        raise InputError(f"{what} and never in the training text; {advice}", "min_count")
    new = rng.permutation(new)[:size]
    rows = rng.permuted(tuples[new], axis=1)  # the last is the answer
    back = np.full(len(train.vocabulary), -1)
    back[place[place >= 0]] = np.flatnonzero(place >= 0)
    unseen = partial(_unseen, seen, x, back)
    share = train.vocabulary.counts / train.vocabulary.counts.sum()
    drawn = rng.choice(len(share), (len(rows), WRONG), p=share)
    wrong = _first(drawn, unseen(rows[:, :-1], drawn))
    matched = _matched(train, rows, unseen, rng, width)
    words = train.vocabulary.words
    cases = [
        Gap(tuple(words[w] for w in row[:-1]), words[row[-1]], words[a], words[b], float(value))
        for row, a, b, value in zip(rows, wrong, matched, associations.values[new], strict=True)
        if a >= 0 and b >= 0
    ]
    if not cases:
        raise InputError(f"no wrong answer was found for any of {len(rows):,} tuples; use more text")
    return cases


def _unseen(seen: Entries, other: Entries, back: Ints, given: Ints, words: Ints) -> Mask:
    """Return a mask of the candidates for which the completed tuple occurs in neither training nor held-out text."""
    n, m = words.shape
    rows = np.concatenate([np.repeat(given, m, axis=0), words.reshape(-1, 1)], axis=1)
    new = (words[:, :, None] != given[:, None]).all(axis=2).ravel() & (rows[:, -1] >= 0)
    new[new] = seen.find(rows[new]) < 0
    there = back[rows]
    at = np.flatnonzero(new & (there >= 0).all(axis=1))
    new[at] = other.find(there[at]) < 0
    return np.asarray(new.reshape(n, m))


def _first(words: Ints, fits: Mask) -> Ints:
    """Return the first valid word in each row, or -1 if there is none."""
    at = fits.argmax(axis=1)
    rows = np.arange(len(words))
    return np.where(fits[rows, at], words[rows, at], -1)


def _matched(train: Corpus, rows: Ints, unseen: Unseen, rng: np.random.Generator, width: int) -> Ints:
    """Sample a wrong answer to each question from words that, like the answer, co-occur with all given words; or -1."""
    pairs = count(train, order=2, width=width).entries
    size = len(train.vocabulary)
    i, j = pairs.indices.T.astype(np.int32)
    together = csr_array((np.ones(2 * len(i), bool), (np.concatenate([i, j]), np.concatenate([j, i]))), (size, size))
    frequency = np.log(train.vocabulary.counts)
    drawn = np.full((len(rows), MATCHED), -1)
    for k, row in enumerate(tracked(rows, "matching words")):
        common = together.indices[slice(*together.indptr[row[0] : row[0] + 2])]
        for word in row[1:-1]:
            others = together.indices[slice(*together.indptr[word : word + 2])]
            common = np.intersect1d(common, others, assume_unique=True)
        if row[-1] in common:
            some = rng.choice(common, min(MATCHED, len(common)), replace=False)
            drawn[k, : len(some)] = some[np.argsort(np.abs(frequency[some] - frequency[row[-1]]), kind="stable")]
    return _first(drawn, unseen(rows[:, :-1], drawn) & (drawn != rows[:, -1:]))


def phrases(train: Corpus, held: Corpus, *, seed: int = 0) -> list[PhraseCase]:
    r"""Generate phrase tests from held-out articles with two-word titles: characteristic words and distractors.

    Characteristic are the words :math:`w`, other than those of the title, with the largest :math:`n_w \log \frac{n_w}{N
    p_w}`, where :math:`n_w` of the :math:`N` words of the article are :math:`w`, and :math:`p_w` is its share of the
    training text, whose vocabulary is used. Distractors are characteristic words of at most twenty articles, of either
    text, whose titles share a word. Titles are tokenized by ``Tokenizer()`` in lower case.
    """
    known = train.vocabulary
    own = _own(held, known)
    every = sorted([*own.items(), *(_own(train, known).items() if train is not held else ())])
    sharing: dict[str, set[int]] = defaultdict(set)
    for number, (title, _) in enumerate(every):
        for word in title:
            sharing[word].add(number)
    rng = np.random.default_rng(seed)
    cases = []
    for title, mine in own.items():
        rivals = sorted(n for n in set.union(*(sharing[word] for word in title)) if every[n][0] != title)
        drawn = rng.choice(rivals, min(RIVALS, len(rivals)), replace=False)
        others = sorted({word for n in drawn for word in every[int(n)][1]} - {*mine, *title})
        if len(others) >= MIN_OWN_WORDS:
            cases.append(PhraseCase(title, mine, tuple(others)))
    if not cases:
        raise InputError(
            "no phrase test could be generated: a held-out article must have a title of two known words, one of which"
            " occurs in another title; use more text"
        )
    return cases


def _own(corpus: Corpus, known: Vocabulary) -> dict[tuple[str, ...], tuple[str, ...]]:
    """Return the characteristic words of each article whose title consists of two known words."""
    place = np.array([known.index.get(word, -1) for word in corpus.vocabulary.words])
    edges = corpus.sentences[corpus.documents]
    log_share = np.log(known.counts / known.counts.sum())
    own = {}
    for document, title in _titles(corpus, 2, known.index).items():
        ids = place[corpus.ids[edges[document] : edges[document + 1]]]
        words, n = np.unique(ids := ids[ids >= 0], return_counts=True)
        score = n * (np.log(n / max(len(ids), 1)) - log_share[words])
        fits = (n >= MIN_OWN_COUNT) & ~np.isin(words, [known.index[w] for w in title]) & (score > 0)
        words = words[fits][np.argsort(-score[fits], kind="stable")[:MAX_OWN_WORDS]]
        if len(words) >= MIN_OWN_WORDS:
            own[title] = tuple(known.words[w] for w in words)
    return own


def names(corpus: Corpus, *, order: int = 3, min_count: int = 5) -> list[Candidate]:
    """Return the frequent n-grams of ``order`` words, and whether each n-gram is a document title.

    Words are adjacent in the corpus, which may have dropped words between them. Titles with a disambiguation in
    brackets, *Mercury (planet)*, do not count as names.
    """
    check_int("order", order, low=2)
    check_int("min_count", min_count, low=1)
    titled = set(_titles(corpus, order, corpus.vocabulary.index, bracketed=False).values())
    sentence = np.repeat(np.arange(len(corpus.sentences) - 1), np.diff(corpus.sentences))
    ids = np.asarray(corpus.ids)
    last = max(len(ids) - order + 1, 0)
    inside = sentence[:last] == sentence[order - 1 :]
    runs = np.stack([ids[d : last + d][inside] for d in range(order)], axis=1)
    runs = runs[(np.diff(np.sort(runs, axis=1), axis=1) > 0).all(axis=1)]
    at = np.lexsort(runs.T[::-1])
    first = np.flatnonzero(np.concatenate([[True], (runs[at][1:] != runs[at][:-1]).any(axis=1)]))
    often = np.diff(np.append(first, len(at))) >= min_count
    words = corpus.vocabulary.words
    frequent = [tuple(words[w] for w in run) for run in runs[at[first[often]]].tolist()]
    if titled.isdisjoint(frequent):
        what = f"no document title is a sequence of {order} words that occurs at least {min_count} times"
        raise InputError(f"{what}; lower min_count or use more documents", "min_count")
    return [Candidate(run, run in titled) for run in frequent]


def _titles(
    corpus: Corpus, length: int, known: dict[str, int], *, bracketed: bool = True
) -> dict[int, tuple[str, ...]]:
    """Return the document titles that consist of ``length`` different known words, by document index."""
    if corpus.titles is None:
        what = "the documents of this corpus have no titles"
        raise InputError(f"{what}; use documents from a Wikipedia dump or WikiExtractor")
    tokenizer = Tokenizer()
    titles: dict[tuple[str, ...], int] = {}
    for document, title in enumerate(corpus.titles):
        words = tuple(chain.from_iterable(tokenizer(title))) if bracketed or "(" not in title else ()
        if len(set(words)) == len(words) == length and all(word in known for word in words):
            titles.setdefault(words, document)
    return {document: words for words, document in titles.items()}
