"""How many topics: by words and coherence in documents held out, and by whether others give the same topics."""

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
TOP = 10
"""Words of a topic that are to belong together."""


class Choice(NamedTuple):
    """What a number of topics reaches.

    Attributes
    ----------
    rank : int
    perplexity : float
        Mean over folds: half of the words of each document held out, given the other half.
    spread : float
        Standard deviation of the perplexity over folds.
    coherence : float
        Mean NPMI of the ten first words of each topic, by the documents held out; mean over folds.
    stability : float
        Mean cosine of matched topics of two folds, over all pairs.
    """

    rank: int
    perplexity: float
    spread: float
    coherence: float
    stability: float


def choose_rank(
    model: TextTopics, counts: csr_array, words: Sequence[str], *, ranks: Sequence[int], folds: int = 3, seed: int = 0
) -> list[Choice]:
    """Fit each number of topics to all folds of documents but one, in turn.

    Fits of two folds differ in documents and in the seed, so that a method without a random start can be unstable too.

    Parameters
    ----------
    model : TextTopics
        Its settings; it is not fitted.
    counts : csr_array of shape (documents, words)
        Leave out documents that are to judge the final model: these choose it.
    words : sequence of str
    ranks : sequence of int
    folds : int
        At least 2.
    seed : int
        Of the folds, the words hidden and, plus the number of the fold, the fits.

    Raises
    ------
    InputError
        If there are no ranks, or more folds than documents.
    """
    counts = counts_by_row(counts)
    check_int("folds", folds, low=2, high=counts.shape[0])
    if not ranks:
        raise InputError("name the numbers of topics to choose from")
    fold = np.random.default_rng(seed).permutation(np.arange(counts.shape[0]) % folds)
    choices = []
    with bar("choosing", total=len(ranks) * folds, unit="fits") as advance:
        for rank in ranks:
            fits, figures, coherent = [], [], []
            for k in range(folds):
                some = clone(model).set_params(rank=rank, seed=seed + k).fit_table(counts[fold != k], words)
                if getattr(some.model_, "interrupted_", False):
                    raise KeyboardInterrupt  # a fit that Ctrl-C ended early cannot be compared
                fits.append(some.model_.components_)
                figures.append(held_out_perplexity(some, counts[fold == k], seed=seed))
                coherent.append(held_out_coherence(some, counts[fold == k]))
                advance(1, note=f"{rank} topics")
            same = np.mean([stability(*pair) for pair in combinations(fits, 2)])
            choices.append(
                Choice(
                    int(rank), float(np.mean(figures)), float(np.std(figures)), float(np.mean(coherent)), float(same)
                )
            )
    return choices


def best(choices: Sequence[Choice], measure: Measure = "perplexity") -> Choice:
    """Give the choice of lowest perplexity, or highest coherence or stability; of equals that with fewer topics."""
    check_choice("measure", measure, get_args(Measure))
    sign = 1 if measure == "perplexity" else -1
    return min(choices, key=lambda choice: (sign * getattr(choice, measure), choice.rank))


def held_out_perplexity(model: TextTopics, counts: csr_array, *, seed: int = 0) -> float:
    """Give the completion perplexity of documents that a model was not fitted to; each word counts once more."""
    seen, hidden = halves(counts, seed=seed)
    mixtures = model.transform_table(seen)
    return completion_perplexity(hidden, mixtures, model.word_weights_, background=model.background_ + 1)


def held_out_coherence(model: TextTopics, counts: csr_array) -> float:
    """Give the mean NPMI of the first words of topics in documents that a model was not fitted to; -1 without two."""
    falling = np.argsort(-model.model_.components_, axis=1, kind="stable")[:, :TOP]
    topics = [[int(at) for at in best if w[at] > 0] for w, best in zip(model.model_.components_, falling, strict=True)]
    topics = [topic for topic in topics if len(topic) > 1]
    if not topics:
        return -1.0
    return float(npmi_coherence(topics, in_documents(counts, [word for topic in topics for word in topic])).mean())
