"""Parsing with a tensor of low rank that has been learned."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Literal, NamedTuple

from polyadic.errors import InputError, check_int
from polyadic.kernels.syntax.arc_tensor import score_tensor_arcs
from polyadic.kernels.syntax.eisner import best_arcs
from polyadic.kernels.syntax.spanning import best_projective_tree, best_spanning_tree
from polyadic.models.syntax.arc_parts import PAIRS, coded_tree
from polyadic.models.syntax.arc_relations import best_relations
from polyadic.models.syntax.arc_vectors import vector_rows
from polyadic.solvers.syntax.arc_tensor import ArcLearner
from polyadic.text.syntax.token_features import TAG, TokenCoder

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from polyadic.embedding import Embedding
    from polyadic.kernels.syntax.arc_tensor import ArcParts
    from polyadic.solvers.syntax.arc_tensor import Updates
    from polyadic.text.syntax.trees import Tree

Decoding = Literal["projective", "any"]


class UnknownTagsWarning(UserWarning):
    """Most words have parts of speech that a parser did not learn."""


class Parse(NamedTuple):
    """Heads of the words of a sentence, from 1 and 0 for the root, and relations to them, ``"_"`` if not learned."""

    heads: NDArray[np.int32]
    relations: tuple[str, ...]


class TensorParses:
    """What a fitted parser does with sentences.

    Attributes
    ----------
    parts_ : ArcParts
        theta, of shape (cells,), U and V, of shape (features, R), and W, of shape (distances, R).
    relation_weights_ : ndarray of shape (cells, relations)
    relations_ : list of str
    features_ : dict of str to int
        Rows of U and V.
    """

    parts_: ArcParts
    relation_weights_: NDArray[np.float32]
    relations_: list[str]
    features_: dict[str, int]
    gamma: float
    C: float
    decoding: Decoding
    updates: Updates
    one_root: bool
    vectors: Embedding | None
    _coding: tuple[dict[str, int], TokenCoder] | None = None

    def parse(
        self,
        forms: Sequence[str],
        tags: Sequence[str],
        *,
        pos: Sequence[str] | None = None,
        lemmas: Sequence[str] | None = None,
        features: Sequence[str] | None = None,
    ) -> Parse:
        """Give the best tree of a sentence.

        Parameters
        ----------
        forms, tags : sequence of str
            Words, and their parts of speech in the treebank.
        pos, lemmas, features : sequence of str, optional
            As the columns of CoNLL-U; what is left out is ``"_"`` for each word.

        Raises
        ------
        InputError
            If there are no words, or another number of anything else.
        """
        return self._parsed(forms, self._table(forms, tags, pos=pos, lemmas=lemmas, features=features))

    def scores(
        self,
        forms: Sequence[str],
        tags: Sequence[str],
        *,
        pos: Sequence[str] | None = None,
        lemmas: Sequence[str] | None = None,
        features: Sequence[str] | None = None,
    ) -> NDArray[np.float64]:
        """Give the score of each arc, from each word (row) and the root (row 0) to each word (column).

        Parameters
        ----------
        forms, tags, pos, lemmas, features
            As in :meth:`parse`.

        Raises
        ------
        InputError
            As in :meth:`parse`.
        """
        table = self._table(forms, tags, pos=pos, lemmas=lemmas, features=features)
        return self._scores(forms, table)

    def annotate(self, trees: Iterable[Tree]) -> Iterator[Tree]:
        """Give sentences with the heads and relations of their best trees; those they had are not looked at.

        What belongs to the trees that they had is taken out: see :meth:`~polyadic.text.syntax.trees.Tree.with_heads`.
        At the
        end, an :class:`UnknownTagsWarning` tells if the parser knew the parts of speech of less than half of the words.

        Parameters
        ----------
        trees : iterable of Tree
        """
        words = unknown = 0
        for tree in trees:
            table = coded_tree(tree, self._coder())
            words, unknown = words + len(tree), unknown + int((table[1:, TAG] < 0).sum())
            yield tree.with_heads(*self._parsed(tree.forms, table))
        if 2 * unknown > words:
            said = "parts of speech that the parser does not know, without which it parses badly"
            warnings.warn(f"{unknown:,} of {words:,} words have {said}", UnknownTagsWarning, stacklevel=2)

    def candidates(self, tree: Tree, *, k: int) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """Give the best projective trees of a sentence, as far as there are so many, and their scores, best first.

        Parameters
        ----------
        tree : Tree
            Its heads are not looked at.
        k : int

        Returns
        -------
        heads : ndarray of int32 of shape (trees, n)
        scores : ndarray of shape (trees,)
        """
        scores = self._scores(tree.forms, coded_tree(tree, self._coder()))
        return best_arcs(scores, check_int("k", k, low=1), single_root=self.one_root)

    def _scores(self, forms: Sequence[str], table: NDArray[np.int32]) -> NDArray[np.float64]:
        dense = vector_rows(forms, self.vectors)
        return score_tensor_arcs(table, self.parts_, PAIRS, gamma=self.gamma, dense=dense).scores

    def _best(self, forms: Sequence[str], table: NDArray[np.int32]) -> NDArray[np.int32]:
        return self._decode(self._scores(forms, table))

    def _parsed(self, forms: Sequence[str], table: NDArray[np.int32]) -> Parse:
        heads = self._best(forms, table)
        if not self.relations_:
            return Parse(heads, ("_",) * len(heads))
        return Parse(heads, best_relations(table, heads, self.relation_weights_, self.relations_))

    def _table(self, forms: Sequence[str], tags: Sequence[str], **columns: Sequence[str] | None) -> NDArray[np.int32]:
        """Give the numbers of features of a sentence."""
        given = [column for column in (forms, tags, *columns.values()) if column is not None]
        if any(isinstance(column, str) for column in given):
            raise InputError("give words and tags as lists of strings, not as one string")
        lengths = {len(column) for column in given}
        if len(lengths) > 1 or 0 in lengths:
            raise InputError(f"a sentence needs words, and as many of all else; got {sorted(lengths)}")
        return self._coder()(forms, tags, **columns)

    def _coder(self) -> TokenCoder:
        """Give what numbers features; made anew after a fit."""
        if self._coding is None or self._coding[0] is not self.features_:
            self._coding = (self.features_, TokenCoder(self.features_))
        return self._coding[1]

    def _decode(self, scores: NDArray[np.float64]) -> NDArray[np.int32]:
        """Give the heads of the best tree."""
        best = best_spanning_tree if self.decoding == "any" else best_projective_tree
        return best(scores, single_root=self.one_root)[0]

    def _learner(self, parts: ArcParts, _: np.random.Generator) -> ArcLearner:
        """Give what learns to score, from some parts."""
        return ArcLearner(parts, PAIRS, gamma=self.gamma, C=self.C, decode=self._decode, updates=self.updates)
