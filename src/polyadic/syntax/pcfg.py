r"""Probabilistic context-free grammar with coarse-to-fine parsing.

The probability of a tree is the product of its rule probabilities and the scores of tags for words. Rules are relative
frequencies in a treebank whose labels are refined (:mod:`polyadic.syntax.binarising`). A first pass with the plain
categories prunes spans with

.. math:: P(\text{a coarse symbol spans words } i \text{ to } j \mid \text{words}) < \theta,

and a second pass searches the rest for the best derivations.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import KW_ONLY
from typing import Self

import numpy as np

from polyadic.core.annotations import Array, Mask
from polyadic.core.errors import InputError, check_int
from polyadic.core.model import Amount, Model, Natural
from polyadic.syntax import grammar
from polyadic.syntax.binarising import annotate, binarise, without_loops
from polyadic.syntax.brackets import Phrase
from polyadic.syntax.grammar import Grammar, Parse, PreparedGrammar, best_trees, plain_scores, word_rows
from polyadic.syntax.kernels.chart import inside, span_shares, value_of
from polyadic.syntax.lexicon import Lexicon
from polyadic.syntax.trees import check_words

ROOT = "()"  # symbol above each tree; as it is no treebank label, no phrase of the coarse grammar is mistaken for it
SCALE = 13.0  # weight of the best tag of a word in the first pass: offsets rule probabilities, keeps sums in range


class PCFG(Model):
    r"""Constituency parser for English with a refined treebank grammar.

    Parameters
    ----------
    horizontal : int
        Number of previous siblings in the context of a binarised rule (horizontal Markovization).
    splits : bool
        Whether to refine the categories of the grammar. See :func:`~polyadic.syntax.binarising.annotate`.
    threshold : float
        Minimum probability :math:`\theta` of a span in the first pass; 0 searches all derivations.

    Attributes
    ----------
    grammar_, coarse_ : Grammar
        Grammars of the second and the first pass.
    lexicon_, max_length_ : Lexicon, int
        Scores of tags for words, and number of words of the longest training sentence.

    References
    ----------
    Klein, Manning (2003), Accurate unlexicalized parsing. Charniak, Johnson et al. (2006), Multilevel coarse-to-fine
    PCFG parsing. Huang, Chiang (2005), Better k-best parsing

    Examples
    --------
    >>> from polyadic.syntax.brackets import parse_phrase
    >>> dog = parse_phrase("(S (NP (DT the) (NN dog)) (VP (VBZ barks)))")
    >>> cat = parse_phrase("(S (NP (DT a) (NN cat)) (VP (VBZ sleeps)))")
    >>> parser = PCFG().fit([dog, cat])
    >>> [str(parse.tree) for parse in parser.k_best("a dog sleeps".split(), k=1)]
    ['(S (NP (DT a) (NN dog)) (VP (VBZ sleeps)))']
    """

    _: KW_ONLY
    horizontal: Natural = 1
    splits: bool = True
    threshold: Amount = 1e-5

    def fit(self, trees: Iterable[Phrase]) -> Self:
        """Estimate rules and lexicon from trees, cleaned by :func:`~polyadic.syntax.brackets.clean`.

        InputError is raised if there are no trees, or a parameter is out of range.
        """
        self.check()
        prepared = [self.prepared(tree) for tree in trees]
        if not prepared:
            raise InputError("a grammar requires at least one tree")
        counts = grammar.count_rules(prepared)
        self.grammar_ = Grammar.of(grammar.relative_frequencies(counts))
        self.coarse_ = Grammar.of(grammar.relative_frequencies(grammar.projected(counts)))
        self.lexicon_ = Lexicon([(tag.word or "", tag.label) for tag in tree.tags()] for tree in prepared)
        self.max_length_ = max(len(tree.words()) for tree in prepared)
        self._make_ready()
        return self

    def prepared(self, tree: Phrase) -> Phrase:
        """Return the annotated and binarised form of a treebank tree, from which rules are counted."""
        annotated = annotate(without_loops(tree), splits=self.splits)
        return binarise(Phrase(ROOT, (annotated,)), horizontal=self.horizontal)

    def k_best(self, words: Sequence[str], *, k: int = 50, tags: Sequence[str] | None = None) -> list[Parse]:
        """Return up to ``k`` most probable distinct trees of a sentence with their log-probabilities, best first.

        If pruning leaves no tree, the search is repeated without pruning, unless the sentence is longer than any
        training sentence. If there is still none, trees of the coarse grammar are returned, and finally one flat tree.

        Words are split as in the treebank. ``tags`` are known parts of speech; one that the treebank lacks is ignored.
        InputError is raised if there are no words, a string is passed instead of a list, there are not as many tags, or
        the chart would not fit in memory.
        """
        check_int("k", k, low=1)
        scores = self.word_scores(words, tags)
        plain = plain_scores(scores)
        tries = [(self._fine, scores, self.allowed(plain)), (self._fine, scores, None), (self._plain, plain, None)]
        if tries[0][2] is None or len(words) > self.max_length_:
            del tries[1]
        for ready, word_tags, cells in tries:
            filled = inside(ready.rules, *word_rows(word_tags, ready.number), summed=False, allowed=cells)
            root = ready.number[ROOT]
            if value_of(ready.rules, filled, root) > -np.inf:
                return best_trees(ready, filled, words, root=root, k=k)
        best = [max(word_tags.items(), key=lambda item: item[1])[0] for word_tags in plain]
        flat = Phrase("S", tuple(Phrase(tag, (word,)) for tag, word in zip(best, words, strict=True)))
        return [Parse(flat, float(sum(max(word_tags.values()) for word_tags in plain)))]

    def parse(self, words: Sequence[str], *, tags: Sequence[str] | None = None) -> Phrase:
        """Return the most probable tree of a sentence; arguments and errors are those of :meth:`k_best`."""
        return self.k_best(words, k=1, tags=tags)[0].tree

    def word_scores(self, words: Sequence[str], tags: Sequence[str] | None = None) -> list[dict[str, float]]:
        """Return the log-score of each candidate tag of each word; see :meth:`k_best`."""
        check_words(words, tags)
        given: Sequence[str | None] = tags or [None] * len(words)
        pairs = enumerate(zip(words, given, strict=True))
        return [self.lexicon_.scores(word, first=i == 0, tag=tag) for i, (word, tag) in pairs]

    def allowed(self, plain: Sequence[dict[str, float]]) -> Mask | None:
        """Return a mask of the coarse symbols that are probable enough in each chart cell, or None without pruning.

        ``plain`` are the scores of the coarse tags of each word; see :func:`~polyadic.syntax.kernels.chart.inside`.
        """
        if self.threshold == 0:
            return None
        root, rows = self._plain.number[ROOT], word_weights(plain, self._plain.number)
        shares = span_shares(self._sums, *rows, root, min_share=self.threshold)
        return None if shares is None else shares >= self.threshold

    def _make_ready(self) -> None:
        """Prepare the grammar rules for the chart kernels."""
        self._sums = self.coarse_.sums()
        self._fine, self._plain = PreparedGrammar.of(self.grammar_), PreparedGrammar.of(self.coarse_)


def word_weights(scores: Sequence[dict[str, float]], number: dict[str, int]) -> tuple[list[int], list[int], Array]:
    """Return the positions, symbol ids and weights of all tags, with weight ``SCALE`` for the best tag of a word."""
    places, symbols, values = word_rows(scores, number)
    best = np.array([max(word_tags.values()) for word_tags in scores])
    return places, symbols, SCALE * np.exp(np.array(values) - best[places])
