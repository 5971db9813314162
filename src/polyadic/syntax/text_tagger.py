"""Parts of speech, morphology and lemmas of sentences and of plain text, learned from a treebank.

Three chains over the same features of words tell the columns upos, xpos and features of CoNLL-U, morphology as one tag
of all that is told of a word; lemmas come from word and xpos.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import KW_ONLY, replace
from itertools import islice
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from polyadic.core.errors import InputError
from polyadic.core.model import Count, Model, Seed
from polyadic.core.solvers.run import Result
from polyadic.sequences.sequence_tagger import SequenceTagger, coded, learned_features
from polyadic.syntax.lemmas import Lemmas
from polyadic.syntax.plain_text import plain_trees
from polyadic.syntax.tag_features import tag_features
from polyadic.syntax.trees import Tree

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence


SETTINGS: dict[str, dict[str, Any]] = {
    "upos": {"loss": "likelihood"},
    "xpos": {"loss": "likelihood"},
    "features": {"rank": 20, "loss": "hinge"},
}
"""How each column is learned; chosen by the development part of the English Web Treebank."""
COLUMNS = (*SETTINGS, "lemmas")
"""What is told."""
BLOCK = 1000
"""Sentences tagged together."""


class TextTagger(Model):
    """Tagger of all columns of CoNLL-U before the heads.

    Parameters
    ----------
    max_iter : int
        Passes over the sentences, for each column.
    min_count : int
        Times that a feature must be seen to be known.
    seed : int, optional
        Of the order of the sentences.
    callback : callable, optional
        Called with the name of a column, and a :class:`~polyadic.core.solvers.run.Result` after each pass.

    Attributes
    ----------
    taggers_ : dict of str to SequenceTagger
        By column, of sentences coded by ``features_``.
    features_ : dict of str to int
    lemmas_ : Lemmas
    interrupted_ : bool
        Whether Ctrl-C stopped the fit of the last column.

    Examples
    --------
    >>> from polyadic.syntax.trees import Tree
    >>> two, none = np.zeros(2, np.int32), ("_", "_")
    >>> dogs = Tree(("Dogs", "bark"), ("dog", "bark"), ("NOUN", "VERB"), ("NNS", "VBP"), none, two, none, none, none)
    >>> [pigs] = TextTagger(min_count=1).fit([dogs]).trees(["Pigs bark"])
    >>> pigs.upos, pigs.lemmas
    (('NOUN', 'VERB'), ('pig', 'bark'))
    """

    _: KW_ONLY
    max_iter: Count = 5
    min_count: Count = 2
    seed: Seed = 0
    callback: Callable[[str, Result], None] | None = None

    def fit(self, trees: Iterable[Tree]) -> Self:
        """Learn from the sentences of a treebank.

        Ctrl-C keeps what was reached once the last column has been gone through; before, it leaves all as it was.

        Parameters
        ----------
        trees : iterable of Tree
            A column that says nothing is learned as that.

        Raises
        ------
        InputError
            If there are no words, or a parameter is out of range.
        """
        self.check()
        bank = list(trees)
        if not any(map(len, bank)):
            raise InputError("a tagger needs at least one word")
        sentences, known = learned_features((tag_features(tree.forms) for tree in bank), min_count=self.min_count)
        taggers = {}
        for column, how in SETTINGS.items():
            tagger = SequenceTagger(max_iter=self.max_iter, min_count=self.min_count, seed=self.seed, **how)
            if self.callback is not None:
                tagger.callback = functools.partial(self.callback, column)
            tagger.fit_coded(sentences, len(known), [getattr(tree, column) for tree in bank])
            if tagger.interrupted_ and (not tagger.n_iter_ or column != [*SETTINGS][-1]):
                raise KeyboardInterrupt
            tagger.callback = None  # it belongs to this run
            taggers[column] = tagger
        rows = (zip(tree.forms, tree.xpos, tree.lemmas, strict=True) for tree in bank)
        self.lemmas_ = Lemmas.counted(row for tree in rows for row in tree if row[2] != "_" or row[0] == "_")
        self.taggers_, self.features_, self.interrupted_ = taggers, known, tagger.interrupted_
        return self

    def annotate(self, trees: Iterable[Tree]) -> Iterator[Tree]:
        """Give sentences with these columns filled anew; all others stay.

        Parameters
        ----------
        trees : iterable of Tree
        """
        stream = iter(trees)
        while block := list(islice(stream, BLOCK)):
            sentences = coded((tag_features(tree.forms) for tree in block), self.features_)
            columns = [tagger.predict_coded(sentences) for tagger in self.taggers_.values()]
            for tree, upos, xpos, features in zip(block, *columns, strict=True):
                lemmas = tuple(map(self.lemmas_.lemma, tree.forms, xpos))
                yield replace(tree, lemmas=lemmas, upos=tuple(upos), xpos=tuple(xpos), features=tuple(features))

    def trees(self, texts: Iterable[str], *, by_line: bool = False) -> Iterator[Tree]:
        """Cut plain English text into sentences of tagged words; heads are 0.

        Parameters
        ----------
        texts : iterable of str
            No sentence goes from one to the next.
        by_line : bool
            Whether each line ends a sentence; else an empty line does.
        """
        return self.annotate(plain_trees(texts, by_line=by_line))

    def tag(self, forms: Sequence[str]) -> Tree:
        """Tag one sentence of words."""
        none = ("_",) * len(forms)
        heads = np.zeros(len(forms), np.int32)
        return next(self.annotate([Tree(tuple(forms), none, none, none, none, heads, none, none, none)]))
