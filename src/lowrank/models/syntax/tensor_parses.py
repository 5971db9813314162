"""Parsing with a tensor of low rank that has been learned."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Literal, NamedTuple

from lowrank.errors import InputError
from lowrank.kernels.arc_tensor import score_tensor_arcs
from lowrank.kernels.spanning import best_projective_tree, best_spanning_tree
from lowrank.models.syntax.arc_parts import PAIRS, coded, rows_of
from lowrank.models.syntax.arc_relations import best_relations
from lowrank.text.token_features import token_features

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from lowrank.kernels.arc_tensor import ArcParts
    from lowrank.text.trees import Tree

Decoding = Literal["projective", "any"]


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
    decoding: Decoding

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
        return self._parsed(self._table(forms, tags, pos=pos, lemmas=lemmas, features=features))

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
        return score_tensor_arcs(table, self.parts_, PAIRS, gamma=self.gamma).scores

    def annotate(self, trees: Iterable[Tree]) -> Iterator[Tree]:
        """Give sentences with the heads and relations of their best trees; those they had are not looked at.

        Enhanced dependencies, which would be those of another tree, become ``"_"``.

        Parameters
        ----------
        trees : iterable of Tree
        """
        for tree in trees:
            found = self._parsed(coded(rows_of(tree), self.features_))
            yield replace(tree, heads=found.heads, relations=found.relations, enhanced=("_",) * len(tree))

    def _parsed(self, table: NDArray[np.int32]) -> Parse:
        heads = self._decode(score_tensor_arcs(table, self.parts_, PAIRS, gamma=self.gamma).scores)
        if not self.relations_:
            return Parse(heads, ("_",) * len(heads))
        return Parse(heads, best_relations(table, heads, self.relation_weights_, self.relations_))

    def _table(self, forms: Sequence[str], tags: Sequence[str], **columns: Sequence[str] | None) -> NDArray[np.int32]:
        """Give the numbers of features of a sentence."""
        if isinstance(forms, str) or isinstance(tags, str):
            raise InputError("give words and tags as lists of strings, not as one string")
        lengths = {len(column) for column in (forms, tags, *columns.values()) if column is not None}
        if lengths != {len(forms)} or not forms:
            raise InputError(f"a sentence needs words, and as many of all else; got {sorted(lengths)}")
        return coded(token_features(forms, tags, **columns), self.features_)

    def _decode(self, scores: NDArray[np.float64]) -> NDArray[np.int32]:
        """Give the heads of the best tree."""
        return (best_spanning_tree if self.decoding == "any" else best_projective_tree)(scores)[0]
