"""Transitive sentences: whether they are plausible (PEP-3K), and how alike two are (ELLDIS, ELLSIM).

Nothing is learned from the tests: text is tagged and lemmatized (:func:`lemmatized`), words are counted with their
neighbours and clauses of subject, verb and object are collected; the rest is :class:`Meanings`. In 64 million words of
Wikipedia the patterns find 364,000 clauses, where the published models had those of a parsed two thousand million.
"""

from __future__ import annotations

from collections import Counter
from functools import lru_cache
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.sparse import coo_array, csr_array

from experiments.data.annotated import read_tagged_trees
from experiments.data.clauses import ellipses, plausible_events
from experiments.data.tnt_tagger import Tagger
from experiments.data.verb_clauses import Clause, clauses_of_tags, tagged_sentences
from polyadic.core.entries import Entries
from polyadic.core.linalg import truncated_svd
from polyadic.core.stage_cache import whole
from polyadic.datasets.place import folder
from polyadic.embedding import unit_rows
from polyadic.metrics.figures import Figure, rank_correlation, ratio
from polyadic.relations.composition import TransitiveVerbs
from polyadic.syntax.trees import read_trees
from polyadic.text.contexts import contexts
from polyadic.text.corpus import Corpus
from polyadic.text.readers import read
from polyadic.topics.nmf import NMF

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from experiments.data.clauses import Elliptical
    from polyadic.core.stage_cache import Facts
    from polyadic.text.readers import Source

    Array = NDArray[np.float64]
    Compose = Callable[[Array, Array, Array], Array]

NOUNS, CONTEXTS, SKIPPED, WIDTH, SMOOTHING = 15_000, 10_000, 200, 5, 0.75
"""Nouns; contexts, which are words less frequent than so many others; how far away they stand, and how much
frequent ones are tamed."""

PENALTY = 1e-3
"""Inverse of the ridge of the regression that learns plausibility."""


def treebank_tagger(root: str | os.PathLike[str] | None = None) -> Tagger:
    """Learn parts of speech and lemmas from the English Web Treebank and the sample of the Penn Treebank."""
    where = folder(root) / "syntax"
    web = read_trees(where / "ud-english-ewt" / "en_ewt-ud-train.conllu")
    penn = sorted((where / "ptb-sample-dependencies").glob("*.dp"))
    return Tagger().fit(chain(web, chain.from_iterable(map(read_tagged_trees, penn))))


def on_text(text: Sequence[str], corpus: Path, *, seed: int, root: Path | None = None) -> Facts:
    """Learn from a text, and measure plausibility and likeness by all models.

    ``text``: Files, folders or globs. ``corpus``: Where the lemmatized text is written, over what may be there.
    """
    tagger = treebank_tagger(root)
    lemmas, clauses = lemma_corpus(text, corpus, tagger)
    events, pairs = plausible_events(root=root), {name: ellipses(name, root=root) for name in ("ELLDIS", "ELLSIM")}
    verbs = {event.verb for event in events[0]}
    verbs |= {clause.verb for some in pairs.values() for pair in some for clause in pair[:2]}
    meanings = Meanings(lemmas, clauses, verbs, seed=seed)
    figures = [*plausibility(meanings, events, tagger).figures("PEP-3K"), supervised(meanings, events, tagger)]
    people = {}
    for name, some in pairs.items():
        for resolved in (False, True):
            scores = alike(meanings, some, tagger, whole=resolved)
            label = f"{name}, ellipsis resolved" if resolved else name
            figures += scores.figures(label)
            people[label] = by_participant(some, scores)
    rows = [figure.as_dict() for figure in figures]
    return {"figures": rows, "participants": people, "clauses": sum(clauses.values()), "kinds": len(clauses)}


def lemma_corpus(text: Sequence[str], folder_: Path, tagger: Tagger) -> tuple[Corpus, Counter[Clause]]:
    """Lemmatize a text into a corpus of words of at least 20 occurrences, and collect its clauses."""
    clauses: Counter[Clause] = Counter()
    documents = chain.from_iterable(lemmatized(source, tagger, clauses) for source in text)
    return Corpus.build(documents, folder_, min_count=20, overwrite=True), clauses


def lemmatized(source: Source, tagger: Tagger, clauses: Counter[Clause]) -> Iterator[list[list[str]]]:
    """Return each document as sentences of lemmas, ``"dog/n"`` and ``"chase/v"``, other words as they are.

    ``source``: See :func:`polyadic.text.readers.read`. ``clauses``: What is found is added to it.
    """
    quick = _Remembered(tagger)
    for document in read(source):
        sentences = []
        for forms, tags in tagged_sentences(document, tagger):
            clauses.update(clauses_of_tags(forms, tags, quick))
            words = zip(forms, tags, strict=True)
            sentences.append([_marked(form, tag, quick) for form, tag in words if form[0].isalnum()])
        yield sentences


class Meanings:
    """Vectors of nouns and verbs, and matrices of verbs, from one corpus.

    ``corpus``: Of :func:`lemmatized` text. ``clauses``: Found in it. ``verbs``: Those that matter; each verb is learned
    by itself. ``rank``, ``latent``: Length of word vectors, by singular values of PPMI; and of the non-negative factors
    of nouns. ``seed``, ``max_iter``: Of the non-negative factorization.
    """

    def __init__(
        self,
        corpus: Corpus,
        clauses: Counter[Clause],
        verbs: Iterable[str],
        *,
        rank: int = 300,
        latent: int = 100,
        seed: int = 0,
        max_iter: int = 200,
    ) -> None:
        index = corpus.vocabulary.index
        self.nouns = _numbered([word[:-2] for word in index if word.endswith("/n")][:NOUNS])
        self.verbs = _numbered(sorted({verb for verb in verbs if f"{verb}/v" in index}))
        rows = [index[f"{noun}/n"] for noun in self.nouns] + [index[f"{verb}/v"] for verb in self.verbs]
        table = neighbours_ppmi(contexts(corpus, width=WIDTH), np.array(rows))
        U, s, _ = truncated_svd(table, rank, seed=seed)
        words = unit_rows(np.asarray(U * np.sqrt(s), float))
        self.noun_vectors, self.verb_vectors = words[: len(self.nouns)], words[len(self.nouns) :]
        nmf = whole(NMF(latent, max_iter=max_iter, seed=seed, threads=1).fit(table[: len(self.nouns)]))
        # A component counts by what it explains, not by how its two sides share its size.
        self.latent = nmf.row_factors_ * np.linalg.norm(nmf.components_, axis=1)
        self.clauses = self._entries(clauses)
        self.model = TransitiveVerbs().fit(self.clauses, nouns=self.latent)

    def numbers(self, clauses: Sequence[Clause], tagger: Tagger) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Return the numbers of known clauses, shape (m, 3), and which of all are known; plurals are lemmatized."""
        triples = [self._number(clause, tagger) for clause in clauses]
        known = [numbers for numbers in triples if numbers is not None]
        return np.array(known, np.int64).reshape(-1, 3), np.array([numbers is not None for numbers in triples])

    def _number(self, clause: Clause, tagger: Tagger) -> tuple[int, int, int] | None:
        ends = [word.lower() for word in (clause.subject, clause.object)]
        nouns = [word if word in self.nouns else tagger.lemma(word, "NNS") for word in ends]
        if clause.verb not in self.verbs or not all(noun in self.nouns for noun in nouns):
            return None
        return self.nouns[nouns[0]], self.verbs[clause.verb], self.nouns[nouns[1]]

    def _entries(self, clauses: Counter[Clause]) -> Entries:
        known = [c for c in clauses if c.subject in self.nouns and c.verb in self.verbs and c.object in self.nouns]
        numbers = [(self.nouns[c.subject], self.verbs[c.verb], self.nouns[c.object]) for c in known]
        shape = len(self.nouns), len(self.verbs), len(self.nouns)
        return Entries(np.array(numbers), np.array([clauses[c] for c in known], float), shape)


class Scores(NamedTuple):
    """Scores of models and human judgements of the same cases: truth values, or mean ratings.

    ``known``: Which of all cases they are: those of known words.
    """

    truth: Array
    by_model: dict[str, Array]
    known: NDArray[np.bool_]

    def figures(self, name: str) -> list[Figure]:
        """Return the correlation of each model with the people (of ranks), or the area under its curve.

        Intervals draw pairs of sentences, or true events, as if they were independent; they share words, so that
        intervals are too narrow.
        """
        n, total = len(self.truth), len(self.known)
        if set(self.truth.tolist()) <= {0.0, 1.0}:
            return [
                Figure(f"{name}, {model}", _won(self.truth, scores), n, total, statistic=ratio, chance=0.5)
                for model, scores in self.by_model.items()
            ]
        rows = {model: np.stack([self.truth, scores], axis=1) for model, scores in self.by_model.items()}
        return [Figure(f"{name}, {m}", r, n, total, statistic=rank_correlation, chance=0.0) for m, r in rows.items()]


def plausibility(meanings: Meanings, events: tuple[list[Clause], NDArray[np.bool_]], tagger: Tagger) -> Scores:
    """Score events without having seen one judged: by matrices of verbs, by vectors, and by counts."""
    numbers, known = meanings.numbers(events[0], tagger)
    s, v, o = numbers.T
    N, W, V = meanings.noun_vectors, meanings.verb_vectors, meanings.model.verb_factors_
    size = np.linalg.norm(V, axis=(1, 2))[v]
    fit = meanings.model.predict(s, v, o)
    counts = meanings.clauses
    seen = [_counted(counts, places, numbers) for places in ([0, 1, 2], [0, 1], [1, 2], [1])]
    return Scores(
        events[1][known].astype(float),
        {
            "matrix of the verb": fit / np.maximum(size, 1e-12),
            "cosines of the three words": (N[s] * W[v] + W[v] * N[o] + N[s] * N[o]).sum(axis=1),
            "pairs seen": np.log1p(seen[1]) + np.log1p(seen[2]),
            "clause seen": seen[0],
            "verb seen": seen[3],
        },
        known,
    )


def alike(meanings: Meanings, pairs: Sequence[Elliptical], tagger: Tagger, *, whole: bool = False) -> Scores:
    """Compare sentences by cosines of their composed meanings, by several rules.

    ``whole``: Whether the ellipsis is resolved, and what it says added: *child write word* plus *father write word*.
    """
    clauses = [clause for pair in pairs for clause in (pair.first, pair.second)]
    numbers, known = meanings.numbers(clauses, tagger)
    both = np.asarray(known.reshape(-1, 2).all(axis=1))
    at = np.cumsum(known).reshape(-1, 2)[both] - 1
    others = [Clause(name, c.verb, c.object) for pair in pairs for name, c in zip(pair.others, pair[:2], strict=True)]
    too, resolvable = meanings.numbers(others, tagger)
    resolved = np.full((len(others), 3), -1)
    resolved[resolvable] = too
    resolved = resolved.reshape(-1, 2, 3)[both]
    scores = {}
    for rule, compose in _rules(meanings).items():
        composed = []
        for side in range(2):
            x = compose(*numbers[at[:, side]].T)
            if whole:
                more = resolved[:, side, 0] >= 0
                x[more] += compose(*resolved[more, side].T)
            composed.append(x)
        scores[rule] = (unit_rows(composed[0]) * unit_rows(composed[1])).sum(axis=1)
    return Scores(np.array([pair.mean for pair, kept in zip(pairs, both, strict=True) if kept]), scores, both)


def by_participant(pairs: Sequence[Elliptical], scores: Scores) -> dict[str, float]:
    """Return the mean over participants of the rank correlation of each one's ratings with those of each model."""
    kept = [pair for pair, known in zip(pairs, scores.known, strict=True) if known]
    people = sorted({person for pair in kept for person in pair.ratings})
    correlations = {}
    for model, given in scores.by_model.items():
        each = []
        for person in people:
            rows = np.array(
                [(pair.ratings[person], x) for pair, x in zip(kept, given, strict=True) if person in pair.ratings]
            )
            each.append(rank_correlation(rows, np.ones((1, len(rows)), np.int64))[0])
        correlations[model] = float(np.nanmean(each))
    return correlations


def supervised(
    meanings: Meanings,
    events: tuple[list[Clause], NDArray[np.bool_]],
    tagger: Tagger,
    *,
    folds: int = 10,
    seed: int = 0,
) -> Figure:
    """Return plausible events by a logistic regression that learns from the other folds, which share words with it."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import StratifiedKFold, cross_val_predict

    numbers, known = meanings.numbers(events[0], tagger)
    s, v, o = numbers.T
    N, W = meanings.noun_vectors, meanings.verb_vectors
    pairs = [N[s] * W[v], W[v] * N[o], N[s] * N[o]]
    # Elements of vectors of length 1 are small; so large, the penalty leaves weights of about one.
    features = N.shape[1] ** 0.5 * np.hstack([N[s], W[v], N[o], *(N.shape[1] ** 0.5 * pair for pair in pairs)])
    truth = events[1][known]
    parts = StratifiedKFold(folds, shuffle=True, random_state=seed)
    predicted = cross_val_predict(LogisticRegression(C=PENALTY, max_iter=1000), features, truth, cv=parts)
    rows = np.stack([predicted == truth, np.ones(len(truth))], axis=1).astype(float)
    return Figure("accuracy, learned from events", rows, len(truth), len(known), chance=0.5)


def neighbours_ppmi(counts: csr_array, rows: NDArray[np.int64]) -> csr_array:
    """Return the positive PMI of words (rows) with contexts of middling frequency, smoothed."""
    contexts_ = np.arange(SKIPPED, min(SKIPPED + CONTEXTS, counts.shape[1]))
    table = coo_array(counts[rows][:, contexts_]).astype(float)
    shares = counts.sum(axis=0) ** SMOOTHING
    expected = counts.sum(axis=1)[rows][table.row] * (shares / shares.sum())[contexts_][table.col]
    pmi = np.log(table.data / expected)
    kept = pmi > 0
    return csr_array((pmi[kept].astype(np.float32), (table.row[kept], table.col[kept])), shape=table.shape)


def _rules(meanings: Meanings) -> dict[str, Compose]:
    N, W, model = meanings.noun_vectors, meanings.verb_vectors, meanings.model
    return {
        "composed": lambda s, v, o: model.compose(s, v, o).reshape(len(s), -1).astype(float),
        "matrix of the verb alone": lambda s, v, o: model.verb_factors_[v].reshape(len(s), -1).astype(float),  # noqa: ARG005
        "addition": lambda s, v, o: N[s] + W[v] + N[o],
        "multiplication": lambda s, v, o: N[s] * W[v] * N[o],
        "verb alone": lambda s, v, o: W[v],  # noqa: ARG005
    }


class _Remembered(Tagger):
    """A tagger that looks up each lemma once."""

    def __init__(self, tagger: Tagger) -> None:
        self.lemma = lru_cache(maxsize=1 << 20)(tagger.lemma)  # type: ignore[method-assign]


def _marked(form: str, tag: str, tagger: Tagger) -> str:
    if tag in {"NN", "NNS"}:
        return f"{tagger.lemma(form, tag)}/n"
    return f"{tagger.lemma(form, tag)}/v" if tag.startswith("VB") else form.lower()


def _numbered(words: list[str]) -> dict[str, int]:
    return {word: number for number, word in enumerate(words)}


def _counted(counts: Entries, places: list[int], cells: NDArray[np.int64]) -> Array:
    """Return how often each cell was counted, if only these places matter."""
    total: Counter[tuple[int, ...]] = Counter()
    for cell, count in zip(counts.indices[:, places].tolist(), counts.values.tolist(), strict=True):
        total[tuple(cell)] += count
    return np.array([total[tuple(cell)] for cell in cells[:, places].tolist()], float)


def _won(truth: Array, scores: Array) -> Array:
    """Return for each true case how many false ones score below it, ties counting half, and how many there are."""
    false = np.sort(scores[truth == 0])
    true = scores[truth == 1]
    below = (np.searchsorted(false, true, "left") + np.searchsorted(false, true, "right")) / 2
    return np.stack([below, np.full(len(true), float(len(false)))], axis=1)
