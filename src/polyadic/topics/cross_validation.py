"""Cross-validation of the number of topics: held-out perplexity, held-out coherence and stability."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Literal, NamedTuple, get_args

import numpy as np
from sklearn.base import clone

from polyadic.core.errors import InputError, check_choice, check_int
from polyadic.core.progress import bar
from polyadic.metrics.topics import completion_perplexity, halves, in_documents, npmi_coherence, stability
from polyadic.text.documents import counts_by_row

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scipy.sparse import csr_array

    from polyadic.topics.text_topics import TextTopics

Measure = Literal["perplexity", "coherence", "stability"]
TOP_K = 10
"""Number of top words of a topic whose coherence is measured."""


class FoldScores(NamedTuple):
    """Cross-validated scores of one number of topics: means over folds or, for stability, over pairs of folds."""

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
    """Fit each number of topics to all folds of documents but one, in turn, and score it on the fold left out.

    Fold k is fitted with ``seed + k``, so that methods without a random start can show instability, too.
    """
    counts = counts_by_row(counts)
    check_int("folds", folds, low=2, high=counts.shape[0])
    if not n_components:
        raise InputError("n_components must list at least one number of topics", "n_components")
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
    """Return the document-completion perplexity of unseen documents, with add-one smoothing of the background."""
    seen, hidden = halves(counts, seed=seed)
    mixtures = model.transform_table(seen)
    return completion_perplexity(hidden, mixtures, model.word_weights_, background=model.background_ + 1)


def held_out_coherence(model: TextTopics, counts: csr_array) -> float:
    """Return the mean NPMI of the top words of topics in unseen documents; -1 if no topic has two words."""
    falling = np.argsort(-model.model_.components_, axis=1, kind="stable")[:, :TOP_K]
    topics = [[int(at) for at in best if w[at] > 0] for w, best in zip(model.model_.components_, falling, strict=True)]
    topics = [topic for topic in topics if len(topic) > 1]
    if not topics:
        return -1.0
    return float(npmi_coherence(topics, in_documents(counts, [word for topic in topics for word in topic])).mean())
