"""Topics of BBC news and of the KOS blog, by every method."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from polyadic import datasets
from polyadic.metrics.topics import c_v_coherence, diversity, in_documents, in_windows, npmi_coherence
from polyadic.text.corpus import Corpus
from polyadic.text.documents import document_table
from polyadic.text.tokens import Tokenizer
from polyadic.topics.text_topics import TextTopics, held_out_perplexity

if TYPE_CHECKING:
    from pathlib import Path

    from polyadic.core.stage_cache import Facts

METHODS = ("nmf", "kl", "plsa", "lda", "anchors", "rlsi")
LEAST, TOP, HELD = 5, 10, 0.2
"""Documents that a word must be in; words of a topic that are judged; documents that are held out."""
TRIED = {"rlsi": (0.001, 0.003, 0.01, 0.03, 0.1, 0.3), "anchors": (0.01, 0.02, 0.05, 0.1)}
"""Penalties of words in topics (that of documents only changes the scale), and shares of the documents that a word must
be in to be an anchor. What tells the words of documents best that the fit does not see, of those to learn from, is
chosen."""
WINDOWS = {"npmi": 10, "c_v": 110}


class Collection(NamedTuple):
    """Documents as counts.

    ``texts``: The words in order; None where only counts are published. ``groups``: What people filed documents under.
    """

    table: csr_array
    words: tuple[str, ...]
    texts: list[list[str]] | None
    groups: list[str] | None


def bbc(root: Path | None = None) -> Collection:
    """Read BBC news."""
    articles = datasets.bbc(root)
    tokenizer = Tokenizer(digits="drop")
    corpus = Corpus.build([a.text for a in articles], min_count=LEAST, stop_words="english", tokenizer=tokenizer)
    texts = [[word for sentence in corpus.document(d) for word in sentence] for d in range(len(articles))]
    return Collection(document_table(corpus), corpus.vocabulary.words, texts, [article.label for article in articles])


def kos(root: Path | None = None) -> Collection:
    """Read the KOS blog; its words are numbers, as no list of them is there."""
    table = datasets.kos(root)
    kept = csr_array(table[:, np.bincount(table.indices, minlength=table.shape[1]) >= LEAST])
    return Collection(kept, tuple(map(str, range(kept.shape[1]))), None, None)


def evaluate(collection: Collection, method: Any, *, rank: int, seed: int) -> Facts:
    """Find topics, and judge them."""

    def fitted(table: csr_array, setting: float | None) -> TextTopics:
        options = _options(method, setting, table.shape[0])
        return TextTopics(method, n_components=rank, seed=seed, options=options).fit_table(table, collection.words)

    rng = np.random.default_rng(seed)
    out = rng.random(collection.table.shape[0]) < HELD
    rest = collection.table[~out]
    chosen = None
    if method in TRIED:
        judges = rng.random(rest.shape[0]) < HELD
        tried = {setting: fitted(rest[~judges], setting) for setting in TRIED[method]}
        chosen = min(tried, key=lambda setting: held_out_perplexity(tried[setting], rest[judges], seed=seed))
    start = time.perf_counter()
    model = fitted(collection.table, chosen)
    seconds = time.perf_counter() - start
    first = model.top_words(TOP)
    topics = [topic for topic in first if len(topic) > 1]
    other = fitted(rest, chosen)
    W, H = model.model_.row_factors_, model.model_.components_
    return {
        "name": method,
        **_coherence(collection, topics),
        "diversity": diversity(topics),
        "perplexity": held_out_perplexity(other, collection.table[out], seed=seed),
        "zeros_of_words": float((H == 0).mean()),
        "zeros_of_documents": float((W == 0).mean()),
        "seconds": seconds,
        "nmi": _agreement(W, collection.groups),
        "topics": [" ".join(topic[:6]) for topic in first],
        **({} if chosen is None else {"chosen": chosen}),
    }


def _options(method: str, setting: float | None, documents: int) -> dict[str, float] | None:
    """Return the selected options of a method."""
    if setting is None:
        return None
    return {"word_penalty": setting} if method == "rlsi" else {"min_documents": max(3, int(setting * documents))}


def _coherence(collection: Collection, topics: list[list[str]]) -> dict[str, float]:
    if collection.texts is None:
        numbers = [[int(word) for word in topic] for topic in topics]
        seen = in_documents(collection.table, [word for topic in numbers for word in topic])
        scores = npmi_coherence(numbers, seen), c_v_coherence(numbers, seen)
    else:
        words = [word for topic in topics for word in topic]
        windows = [in_windows(collection.texts, words, window=WINDOWS[key]) for key in ("npmi", "c_v")]
        scores = npmi_coherence(topics, windows[0]), c_v_coherence(topics, windows[1])
    return {"npmi": float(scores[0].mean()), "c_v": float(scores[1].mean())}


def _agreement(W: Any, groups: list[str] | None) -> float | None:
    from sklearn.metrics import normalized_mutual_info_score

    return None if groups is None else float(normalized_mutual_info_score(groups, W.argmax(axis=1)))
