r"""First-order dependency parsing with perceptron learning.

.. math:: s(y) = \sum_{(h, m) \in y} w \cdot f(h, m), \qquad w \mathrel{+}= f(y) - f(\hat y)

where :math:`\hat y` is the highest-scoring projective tree, if it is wrong. The final weights are the mean of those at
the start and after each sentence. Features are hashed words and tags at, around and between the ends of an arc.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import KW_ONLY
from typing import Annotated, Self

import numpy as np

from polyadic.core.annotations import Array, Ints, Ints32
from polyadic.core.errors import InputError, check_int
from polyadic.core.model import Callback, Count, Model, Seed, Within
from polyadic.core.progress import tracked
from polyadic.core.solvers.run import Sweep, run
from polyadic.syntax.arc_features import check_trees
from polyadic.syntax.kernels.arcs import score_arcs, step_arcs
from polyadic.syntax.kernels.best_trees import best_arcs, best_projective_tree
from polyadic.syntax.trees import Tree, check_words

ROOT, END, UNKNOWN = 1, 2, 3  # ids of the root, of the end mark, and of words seen once


class ArcFactored(Model):
    """First-order dependency parser with hashed features, trained by the averaged perceptron.

    Words seen fewer than twice share one id. Tags must be given.

    Parameters
    ----------
    bits : int
        Base-2 logarithm of the number of hashed weights.

    Attributes
    ----------
    history_, weights_ : list of float, ndarray of float32
        Share of words with a wrong head in each pass, and averaged weights.
    words_, tags_ : dict of str to int
        Ids of the words seen at least twice, and of the tags.

    References
    ----------
    McDonald, Crammer, Pereira (2005), Online large-margin training of dependency parsers, for the features. Collins
    (2002), Discriminative training methods for hidden Markov models

    Examples
    --------
    >>> from polyadic.syntax.trees import Tree
    >>> none, heads = ("_", "_"), np.array([2, 0], np.int32)
    >>> dogs = Tree(("Dogs", "bark"), none, none, ("NNS", "VBP"), none, heads, none, none, none)
    >>> ArcFactored(max_iter=2, seed=0).fit([dogs] * 3).parse(["Cats", "sleep"], ["NNS", "VBP"]).tolist()
    [2, 0]
    """

    _: KW_ONLY
    max_iter: Count = 5
    bits: Annotated[int, Within(8, 30)] = 22
    seed: Seed = None
    callback: Callback = None

    def fit(self, trees: Iterable[Tree]) -> Self:
        """Fit the parser to the words, treebank tags and heads of sentences.

        InputError is raised without sentences, trees or tags, or if a parameter is out of range.
        """
        self.check()
        treebank = list(trees)
        check_trees(treebank)
        often = [word for word, count in Counter(word for tree in treebank for word in tree.forms).items() if count > 1]
        tags = dict.fromkeys(tag for tree in treebank for tag in tree.xpos)
        if set(tags) == {"_"}:
            about = "the training sentences must have tags in column 5 (xpos); if only column 4 has tags, copy them"
            raise InputError(about)
        known = [{name: at for at, name in enumerate(names, UNKNOWN + 1)} for names in (often, tags)]
        sentences = [(_coded(tree.forms, known[0]), _coded(tree.xpos, known[1]), tree.heads) for tree in treebank]
        [weights] = self._keep(run(self._epochs(sentences), max_iter=self.max_iter, callback=self.callback))
        (self.words_, self.tags_), self.weights_ = known, weights
        return self

    def _epochs(self, sentences: Sequence[tuple[Ints, Ints, Ints32]]) -> Iterator[Sweep]:
        """Yield the averaged weights and the share of wrong heads after each pass over the sentences."""
        rng = np.random.default_rng(self.seed)
        weights, sums = np.zeros(1 << self.bits, np.float32), np.zeros(1 << self.bits)
        total = sum(len(heads) for *_, heads in sentences)
        yield Sweep([weights.copy()], 1.0)
        time = 0
        while True:
            wrong = 0
            for at in tracked(rng.permutation(len(sentences)).tolist(), "learning arcs"):
                words, tags, heads = sentences[at]
                best, _ = best_projective_tree(score_arcs(words, tags, weights))
                time += 1
                if missed := int((best != heads).sum()):
                    wrong += missed
                    for tree, step in ((heads, 1.0), (best, -1.0)):
                        step_arcs(words, tags, tree, step=step, time=time, weights=weights, sums=sums)
            yield Sweep([(weights - sums / (time + 1)).astype(np.float32)], wrong / total)

    def scores(self, words: Sequence[str], tags: Sequence[str]) -> Array:
        """Return the matrix of arc scores, with heads in the rows (row 0 is the root) and dependents in the columns."""
        check_words(words, tags)
        return score_arcs(_coded(words, self.words_), _coded(tags, self.tags_), self.weights_)

    def k_best(self, words: Sequence[str], tags: Sequence[str], *, k: int = 50) -> tuple[Ints32, Array]:
        """Return the heads, of shape (trees, n), and scores of the ``k`` best projective trees, in decreasing order."""
        check_int("k", k, low=1)
        return best_arcs(self.scores(words, tags), k)

    def candidates(self, tree: Tree, *, k: int) -> tuple[Ints32, Array]:
        """Return the ``k`` highest-scoring trees for the words and tags of a sentence, whose heads are ignored."""
        return self.k_best(tree.forms, tree.xpos, k=k)

    def parse(self, words: Sequence[str], tags: Sequence[str]) -> Ints32:
        """Return the head of each word in the best projective tree, from 1 (0 is the root); see :meth:`k_best`."""
        return best_projective_tree(self.scores(words, tags))[0]


def _coded(names: Sequence[str], known: dict[str, int]) -> Ints:
    return np.array([ROOT, *(known.get(name, UNKNOWN) for name in names), END])
