"""Retrieval in MED, CISI and CRAN by topics and terms together, as Wang and others (2011) evaluate RLSI."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array
from sklearn.preprocessing import normalize

from polyadic.core.linalg import truncated_svd
from polyadic.datasets.place import text
from polyadic.metrics.recommendation import recommendation
from polyadic.metrics.topics import in_documents, npmi_coherence
from polyadic.text.corpus import Corpus
from polyadic.text.documents import document_table, table_of_texts
from polyadic.text.tokens import Tokenizer
from polyadic.topics.text_topics import TextTopics

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from numpy.typing import NDArray

    from polyadic.core.stage_cache import Facts

    Array = NDArray[np.float64]

FILES = {
    "med": ("MED.ALL", "MED.QRY", "MED.REL"),
    "cisi": ("CISI.ALL", "CISI.QRY", "CISI.REL"),
    "cran": ("cran.all.1400", "cran.qry", "cranqrel"),
}
"""Documents, queries and judgements of each collection, in a folder of its name, in the format of the SMART system."""
JUDGED = {"med": 2, "cisi": 1, "cran": 1}
"""Column of the document in a line of judgements; the query is in column 0, and in CRAN a grade from 1 to 4, or 5 and
-1 for documents that are not relevant, in column 2."""
PAIRS = [(words, documents) for words in ("l1", "l2") for documents in ("l1", "l2")]
STRENGTHS = (0.01, 0.03, 0.1, 0.3, 1.0)
"""Penalties of RLSI to select from; words and documents have the same."""
SHARES = tuple(np.linspace(0, 1, 11).round(1).tolist())
"""Weights of topics against terms to select from."""
FOLDS, TOP, WORDS = 5, 10, 10
K1, B = 1.2, 0.75


class Judged(NamedTuple):
    """Abstracts, queries and judgements: counts of words, and pairs of query and relevant abstract."""

    counts: csr_array
    words: tuple[str, ...]
    queries: csr_array
    relevant: NDArray[np.int64]


def read(folder: Path, name: str) -> Judged:
    """Read a collection; queries without a relevant abstract are left out."""
    documents, queries, judgements = (text(folder / name / file) for file in FILES[name])
    pairs = {
        (int(line[0]) - 1, int(line[JUDGED[name]]) - 1)
        for line in map(str.split, judgements.splitlines())
        if line and not (name == "cran" and line[2] in {"5", "-1"})
    }
    tokenizer = Tokenizer(digits="drop")
    corpus = Corpus.build([*_texts(documents)], min_count=2, stop_words="english", tokenizer=tokenizer, language="en")
    words = corpus.vocabulary.words
    asked = table_of_texts(_texts(queries), {word: k for k, word in enumerate(words)}, tokenizer)
    kept, numbers = np.unique([query for query, _ in sorted(pairs)], return_inverse=True)
    relevant = np.column_stack([numbers, [document for _, document in sorted(pairs)]])
    return Judged(document_table(corpus), words, csr_array(asked[kept]), relevant)


def _texts(records: str) -> Iterator[str]:
    """Yield title and text of each record; both begin after a line with a full stop and a letter."""
    for record in ("\n" + records).split("\n.I ")[1:]:
        fields = ("\n" + record.partition("\n")[2]).split("\n.")
        yield "\n".join(field[1:] for field in fields[1:] if field[:1] in {"T", "W"})


def evaluate(judged: Judged, method: str, *, rank: int, seed: int) -> Facts:
    """Return NDCG of each query by a method alone and with BM25, and coherence and zeros of its topics.

    The share of topics in the score and the penalty are selected on four fifths of the queries for each fifth.
    """
    terms = bm25(judged)
    if method in {"bm25", "tf-idf"}:
        scores = terms if method == "bm25" else _cosines(*(_tfidf(judged, x) for x in (judged.queries, judged.counts)))
        return {"name": method, "alone": _ndcg(judged, scores).tolist(), "both": _ndcg(judged, scores).tolist()}
    terms = terms / np.maximum(terms.max(axis=1, keepdims=True), 1e-12)
    tried = list(_fitted(judged, method, rank, seed))
    figures = np.array([[_ndcg(judged, a * topics + (1 - a) * terms) for a in SHARES] for _, topics, _ in tried])
    fold = np.random.default_rng(seed).permutation(figures.shape[2]) % FOLDS
    alone, both = np.empty(len(fold)), np.empty(len(fold))
    for k in range(FOLDS):
        means = figures[:, :, fold != k].mean(axis=2)
        alone[fold == k] = figures[means[:, -1].argmax(), -1, fold == k]
        setting, share = np.unravel_index(means.argmax(), means.shape)
        both[fold == k] = figures[setting, share, fold == k]
    setting, share = np.unravel_index(figures.mean(axis=2).argmax(), figures.shape[:2])
    means = figures.mean(axis=2)
    settings = [
        {"penalty": penalty, "alone": float(means[n, -1]), "both": float(means[n].max()), **about}
        for n, (penalty, _, about) in enumerate(tried)
    ]
    chosen = {"share": SHARES[share], **settings[setting]}
    return {"name": method, "alone": alone.tolist(), "both": both.tolist(), "chosen": chosen, "settings": settings}


def _fitted(judged: Judged, method: str, rank: int, seed: int) -> Iterator[tuple[float | None, Array, Facts]]:
    """Yield the setting, the cosines of queries and abstracts, and what the topics are like."""
    if method == "lsi":
        X = _tfidf(judged, judged.counts)
        V = truncated_svd(X, rank, seed=seed)[2]
        yield None, _cosines(_tfidf(judged, judged.queries) @ V, X @ V), {}
        return
    for strength in STRENGTHS if method.startswith("rlsi") else (None,):
        options: Any = None
        if strength is not None:
            norms = dict(zip(("word_norm", "document_norm"), method.split()[1:], strict=True))
            options = {**norms, "word_penalty": strength, "document_penalty": strength, "max_iter": 200}
        name: Any = method.partition(" ")[0]
        model = TextTopics(name, n_components=rank, seed=seed, options=options)
        model.fit_table(judged.counts, judged.words)
        W, H = model.model_.row_factors_, model.model_.components_
        index = {word: k for k, word in enumerate(judged.words)}
        topics = [[index[word] for word in topic] for topic in model.top_words(WORDS) if len(topic) > 1]
        seen = in_documents(judged.counts, [word for topic in topics for word in topic])
        about = {
            "npmi": npmi_coherence(topics, seen).tolist() if topics else [],
            "zeros_of_words": float((H == 0).mean()),
            "zeros_of_documents": float((W == 0).mean()),
        }
        yield strength, _cosines(model.transform_table(judged.queries), W), about


METHODS = ("bm25", "tf-idf", "lsi", "nmf", "plsa", "lda", *(f"rlsi {words} {documents}" for words, documents in PAIRS))


def bm25(judged: Judged) -> Array:
    """Return the BM25 score of each abstract for each query."""
    n = csr_array(judged.counts, dtype=float)
    length = n.sum(axis=1)
    present = np.bincount(n.indices, minlength=n.shape[1])
    norm = K1 * (1 - B + B * length / length.mean())
    n.data = n.data * (K1 + 1) / (n.data + np.repeat(norm, np.diff(n.indptr)))
    idf = np.log1p((n.shape[0] - present + 0.5) / (present + 0.5))
    return np.asarray((csr_array(judged.queries * idf[None, :]) @ n.T).toarray())


def _tfidf(judged: Judged, counts: csr_array) -> csr_array:
    documents = judged.counts.shape[0]
    idf = 1 + np.log((1 + documents) / (1 + np.bincount(judged.counts.indices, minlength=judged.counts.shape[1])))
    return csr_array(normalize(csr_array(counts * idf[None, :])))


def _cosines(Q: Any, D: Any) -> Array:
    product = normalize(Q) @ normalize(D).T
    return np.asarray(product.toarray() if hasattr(product, "toarray") else product, float)


def _ndcg(judged: Judged, scores: Array) -> Array:
    best = np.argsort(-scores, axis=1, kind="stable")[:, :TOP]
    return recommendation(best, *judged.relevant.T).ndcg
