"""What a model that scores triples can be asked: how true facts are, what completes them, how well it ranks."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from polyadic.errors import InputError
from polyadic.metrics.ranking import MEMORY, Ranking, ranking
from polyadic.models.relations.names import as_names, numbers_of
from polyadic.text.relations.facts import shared, triples_by

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from polyadic.bilinear import Bilinear
    from polyadic.text.relations.facts import Facts

    Names = Sequence[int] | Sequence[str] | Sequence[int | str] | NDArray[Any]


BLOCK = 1 << 16
"""Triples whose scores are computed at once."""


class SeenFactsWarning(UserWarning):
    """Facts to predict are among those that were learned."""


class Links:
    """Scores of triples by a bilinear form.

    Attributes
    ----------
    subject_factors_, object_factors_ : ndarray of shape (n, width)
        Vectors of entities in either place; one array if they are the same.
    relation_factors_ : list of ndarray
        What the form holds of relations; of each reciprocal behind them all, if there are any.
    entities_, relations_ : list of str or None
        Names by number, if the facts had any.
    facts_ : ndarray of shape (m, 3)
        Those that were learned.
    """

    subject_factors_: NDArray[Any]
    object_factors_: NDArray[Any]
    relation_factors_: list[NDArray[Any]]
    entities_: list[str] | None = None
    relations_: list[str] | None = None
    facts_: NDArray[np.int64]
    _form: Bilinear
    _reciprocal = False

    def objects(self, subjects: Names, relations: Names) -> NDArray[Any]:
        """Give the scores of all entities as objects, shape (m, n), of m subjects and relations, by number or name.

        Raises
        ------
        InputError
            If one is unknown, or the lengths differ.
        """
        return self._ask(*_alike(self._ends("subject", subjects), self._kinds(relations)), backwards=False)

    def subjects(self, objects: Names, relations: Names) -> NDArray[Any]:
        """Give the scores of all entities as subjects, shape (m, n), of m objects and relations, likewise."""
        return self._ask(*_alike(self._ends("object", objects), self._kinds(relations)), backwards=True)

    def predict(self, subjects: Names, relations: Names, objects: Names) -> NDArray[np.float64]:
        """Give the scores of m triples, shape (m,).

        Where relations have reciprocals, a triple has two scores, one as its object is asked for and one as its subject
        is; this is their mean. Elsewhere they are the same.

        Raises
        ------
        InputError
            As in :meth:`objects`.
        """
        given = self._ends("subject", subjects), self._kinds(relations), self._ends("object", objects)
        return self._triples(*_alike(*given))

    def relations(self, subjects: Names, objects: Names) -> NDArray[np.float64]:
        """Give the scores of all relations, shape (m, K), between m subjects and objects; see :meth:`predict`."""
        s, o = _alike(self._ends("subject", subjects), self._ends("object", objects))
        K = self._relations_count()
        return self._triples(np.repeat(s, K), np.tile(np.arange(K), len(s)), np.repeat(o, K)).reshape(len(s), K)

    def evaluate(
        self,
        test: Facts | ArrayLike,
        *,
        known: Facts | ArrayLike | None = None,
        relations: bool = False,
        memory: int = MEMORY,
    ) -> Ranking:
        """Rank the true ends of facts among all entities, those of other known facts left out.

        Parameters
        ----------
        test : Facts or array of int of shape (m, 3)
        known : Facts or array of int of shape (f, 3), optional
            What is known to be true besides the facts that were learned and those of ``test``.
        relations : bool
            Whether to rank relations between both ends, too.
        memory : int
            See :func:`~polyadic.metrics.ranking.ranking`.

        Raises
        ------
        InputError
            If triples are malformed or name what the model does not.
        """
        names, sizes = (self.entities_, self.relations_), (len(self.object_factors_), self._relations_count())
        facts = triples_by("test", test, names=names, sizes=sizes)
        if seen := shared(facts, self.facts_):
            warnings.warn(f"{seen:,} of {len(facts):,} facts to predict were learned", SeenFactsWarning, stacklevel=2)
        more = [] if known is None else [triples_by("known", known, names=names, sizes=sizes)]
        true = np.concatenate([facts, *more])
        return self._rank(facts, true, relations=relations, memory=memory)

    def _rank(
        self, facts: NDArray[np.int64], true: NDArray[np.int64], *, relations: bool = False, memory: int = MEMORY
    ) -> Ranking:
        return ranking(
            facts,
            np.concatenate([self.facts_, true]),
            entities=len(self.object_factors_),
            objects=lambda s, r: self._ask(s, r, backwards=False),
            subjects=lambda o, r: self._ask(o, r, backwards=True),
            relations=(self._relations_count(), self.relations) if relations else None,
            memory=memory,
        )

    def number_of(self, what: Literal["entity", "relation"], name: int | str) -> int:
        """Give the number of an entity or a relation.

        Raises
        ------
        InputError
            If there is none of that name.
        """
        return int((self._kinds([name]) if what == "relation" else self._ends(what, [name]))[0])

    def _relations_count(self) -> int:
        return len(self.relation_factors_[0]) // (2 if self._reciprocal else 1)

    def _ask(self, known: NDArray[np.int64], r: NDArray[np.int64], *, backwards: bool) -> NDArray[Any]:
        """Give the scores of all objects, or of all subjects, for what is known of triples."""
        q, sought = self._query(known, r, backwards=backwards)
        return np.asarray(q @ sought.T)

    def _query(
        self, known: NDArray[np.int64], r: NDArray[np.int64], *, backwards: bool
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        """Give queries and the vectors that they meet."""
        ends = self.subject_factors_, self.object_factors_
        if backwards and self._reciprocal:
            r, backwards = r + self._relations_count(), False
        given, sought = ends[::-1] if backwards else ends
        return self._form.query(given[known], r, self.relation_factors_, backwards=backwards)[0], sought

    def _triples(self, s: NDArray[np.int64], r: NDArray[np.int64], o: NDArray[np.int64]) -> NDArray[np.float64]:
        found = np.empty(len(s))
        for low in range(0, len(s), BLOCK):
            part = slice(low, low + BLOCK)
            q, sought = self._query(s[part], r[part], backwards=False)
            found[part] = (q * sought[o[part]]).sum(axis=1)
            if self._reciprocal:
                q, sought = self._query(o[part], r[part], backwards=True)
                found[part] = (found[part] + (q * sought[s[part]]).sum(axis=1)) / 2
        return found

    def _ends(self, what: str, given: Names) -> NDArray[np.int64]:
        return _numbered(what, given, self.entities_, len(self.object_factors_))

    def _kinds(self, given: Names) -> NDArray[np.int64]:
        return _numbered("relation", given, self.relations_, self._relations_count())


def _numbered(what: str, given: Names, names: list[str] | None, size: int) -> NDArray[np.int64]:
    """Give the numbers of names, or of numbers if they are in range."""
    array = as_names(given)
    by_name = names is not None and array is not None and array.dtype.kind == "U"
    return numbers_of(what, given, known=np.array(names) if by_name else None, size=size)


def _alike(*columns: NDArray[np.int64]) -> tuple[NDArray[np.int64], ...]:
    if len({len(column) for column in columns}) > 1:
        raise InputError(f"give as many of each part of a triple; got {' and '.join(str(len(c)) for c in columns)}")
    return columns
