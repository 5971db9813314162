"""Word sense induction as a test of word vectors: contexts are clustered, and the clusters compared with labels."""

from __future__ import annotations

import re
from collections import defaultdict
from itertools import chain
from typing import TYPE_CHECKING

from polyadic.metrics.senses import senses
from polyadic.text.tokens import Tokenizer
from polyadic.words.senses import induce

if TYPE_CHECKING:
    from polyadic.datasets import Instance, SenseSet
    from polyadic.embedding import Embedding
    from polyadic.metrics.senses import Senses

NUMBER = 3
"""Senses for every word whose number is not known: of 3 and 5 the better by fuzzy NMI and B-cubed with most vectors."""


def induction(
    embedding: Embedding, test: SenseSet, *, number: int | None = NUMBER, rule: str = "sum", seed: int = 0
) -> Senses:
    """Cluster the contexts of each word, as :func:`~polyadic.words.senses.induce`, and compare with the labels.

    Parameters
    ----------
    embedding : Embedding
        Its own policy for unknown words plays no part here.
    test : SenseSet
        Contexts and labels.
    number : int, optional
        Senses for each word; without it, as many as the labels have.
    rule : {"sum", "product"}
        What stands for a context.
    seed : int
        Of the clustering and of the folds of the measures.
    """
    contexts: dict[str, list[Instance]] = defaultdict(list)
    for instance in test.instances:
        contexts[instance.lemma].append(instance)
    tokenizer = Tokenizer()
    labels: dict[str, dict[str, float]] = {}
    for lemma, mine in contexts.items():
        word = re.split("[.-]", lemma)[0]  # "add.v" and "line-n"
        size = len({sense for context in mine for sense in test.gold[context.id]}) if number is None else number
        words = [list(chain.from_iterable(tokenizer(f"{context.left}\n{context.right}"))) for context in mine]
        if rule == "product" and embedding.find(word) is None:
            continue  # its instances stay without an answer, which the measures count as such
        clusters = induce(embedding, word, words, number=size, rule=rule, seed=seed)
        labels |= {
            context.id: {str(sense): 1.0} for context, sense in zip(mine, clusters.tolist(), strict=True) if sense >= 0
        }
    return senses(test.gold, labels, {context.id: context.lemma for context in test.instances}, seed=seed)
