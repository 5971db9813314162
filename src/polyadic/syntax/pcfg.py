r"""A probabilistic context-free grammar of phrases: the best trees of a sentence, and their probabilities.

The probability of a tree is the product of those of its rules; they are relative frequencies in a treebank whose
labels tell more than the category (see :mod:`polyadic.syntax.binarising`), times the scores of tags for words. A
first pass with the plain categories leaves out what is improbable,

.. math:: P(\text{a coarse symbol spans words } i \text{ to } j \mid \text{words}) < \theta,

and the second looks for the best derivations among the rest.
"""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from polyadic.core.errors import InputError, check_int
from polyadic.core.model import Amount, Model, Natural
from polyadic.syntax.binarising import annotate, binarise, without_loops
from polyadic.syntax.brackets import Phrase
from polyadic.syntax.derivations import Parse, Ready, best_trees, plain_scores, word_rows
from polyadic.syntax.grammar import Grammar, count_rules, projected, relative_frequencies
from polyadic.syntax.kernels.chart import inside, span_shares, value_of
from polyadic.syntax.lexicon import Lexicon

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

ROOT = "()"
"""Symbol around each tree; no label of a treebank can be it, so no phrase of the coarse grammar is taken for it."""
SCALE = 13.0
"""Weight of the likeliest tag of a word in the first pass, about what its rules take away: sums stay in range."""


class PCFG(Model):
    r"""Parser of English, learned from trees.

    Parameters
    ----------
    horizontal : int
        How many of the last siblings a rule remembers.
    splits : bool
        Whether categories are divided further: see :func:`~polyadic.syntax.binarising.annotate`.
    threshold : float
        :math:`\theta`; 0 looks for the best derivation of all.

    Attributes
    ----------
    grammar_, coarse_ : Grammar
        Of the second and the first pass.
    lexicon_ : Lexicon
    longest_ : int
        Words of the longest sentence.

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
        """Estimate rules and lexicon.

        Parameters
        ----------
        trees : iterable of Phrase
            Clean: see :func:`~polyadic.syntax.brackets.clean`.

        Raises
        ------
        InputError
            If there are no trees, or a parameter cannot be used.
        """
        self.check()
        prepared = [self.prepared(tree) for tree in trees]
        if not prepared:
            raise InputError("a grammar needs at least one tree")
        counts = count_rules(prepared)
        self.grammar_ = Grammar.of(relative_frequencies(counts))
        self.coarse_ = Grammar.of(relative_frequencies(projected(counts)))
        self.lexicon_ = Lexicon([(tag.word or "", tag.label) for tag in tree.tags()] for tree in prepared)
        self.longest_ = max(len(tree.words()) for tree in prepared)
        self._make_ready()
        return self

    def prepared(self, tree: Phrase) -> Phrase:
        """Give the tree that rules are counted of."""
        annotated = annotate(without_loops(tree), splits=self.splits)
        return binarise(Phrase(ROOT, (annotated,)), horizontal=self.horizontal)

    def k_best(self, words: Sequence[str], *, k: int = 50, tags: Sequence[str] | None = None) -> list[Parse]:
        """Give the ``k`` likeliest trees, best first, all different; fewer if the grammar knows no more.

        Where the grammar has no tree for the words among what is probable enough, all is looked at, unless there are
        more words than in any sentence learned from; where there still is none, trees of the coarse grammar are given,
        and where that has none, one flat tree.

        Parameters
        ----------
        words : sequence of str
            As the treebank splits them.
        k : int
        tags : sequence of str, optional
            Part of speech of each word, where it is known; a tag that the treebank lacks is passed over.

        Raises
        ------
        InputError
            If there are no words, or a text in their place, tags are not as many, or a chart would not fit in memory.
        """
        check_int("k", k, low=1)
        scores = self.word_scores(words, tags)
        plain = plain_scores(scores)
        tries = [(self._fine, scores, self.allowed(plain)), (self._fine, scores, None), (self._plain, plain, None)]
        if tries[0][2] is None or len(words) > self.longest_:
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
        """Give the likeliest tree.

        Parameters
        ----------
        words : sequence of str
        tags : sequence of str, optional
            As for :meth:`k_best`.

        Raises
        ------
        InputError
            As :meth:`k_best`.
        """
        return self.k_best(words, k=1, tags=tags)[0].tree

    def word_scores(self, words: Sequence[str], tags: Sequence[str] | None = None) -> list[dict[str, float]]:
        """Give the logarithm of the probability of each word by its tags; words and tags as for :meth:`k_best`.

        Raises
        ------
        InputError
            As :meth:`k_best`.
        """
        if isinstance(words, str):
            raise InputError("words must be a list; split the text as the treebank does")
        if not words or (tags is not None and len(tags) != len(words)):
            raise InputError(f"a sentence needs words, and as many tags; got {len(words)} and {len(tags or words)}")
        given: Sequence[str | None] = tags or [None] * len(words)
        pairs = enumerate(zip(words, given, strict=True))
        return [self.lexicon_.scores(word, first=i == 0, tag=tag) for i, (word, tag) in pairs]

    def allowed(self, plain: Sequence[dict[str, float]]) -> NDArray[np.bool_] | None:
        """Tell which coarse symbols are probable enough in which cells; None if all are allowed, or none is.

        Parameters
        ----------
        plain : sequence of dict
            Scores of the coarse tags of each word.

        Returns
        -------
        ndarray of bool of shape (2, cells, coarse symbols), or None
            See :func:`~polyadic.syntax.kernels.chart.inside`.
        """
        if self.threshold == 0:
            return None
        places, symbols, values = word_rows(plain, self._plain.number)
        best = np.array([max(word_tags.values()) for word_tags in plain])
        weights = SCALE * np.exp(np.array(values) - best[places])
        shares = span_shares(self._sums, places, symbols, weights, self._plain.number[ROOT], least=self.threshold)
        return None if shares is None else shares >= self.threshold

    def _make_ready(self) -> None:
        """Sort the rules as charts ask for them."""
        self._sums = self.coarse_.sums()
        self._fine, self._plain = Ready.of(self.grammar_), Ready.of(self.coarse_)

    def _restore(self, state: dict[str, Any]) -> None:
        super()._restore(state)
        self._make_ready()
