r"""Base class for semantic role labellers that assign the roles of a predicate jointly.

.. math:: \max_y \sum_a s(a, y_a), \qquad \#\{a : y_a = r\} \le 1 \text{ for each role } r \text{ that occurs once}

For each word the best of no role and of the repeatable roles is found first; the gain of a unique role over it is the
weight of an edge between word and role, and a maximum-weight matching gives the rest.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import KW_ONLY
from typing import TYPE_CHECKING, Annotated, Literal, Self

import numpy as np
from scipy.optimize import linear_sum_assignment

from polyadic.core.annotations import Array, Ints, Mask
from polyadic.core.errors import InputError
from polyadic.core.model import Model, Within
from polyadic.syntax.predicates import PredicateFinder
from polyadic.syntax.propositions import Argument, Proposition, Sentence
from polyadic.syntax.role_features import Frame, Known, frames_of, role_names

if TYPE_CHECKING:
    from polyadic.syntax.trees import Tree

Bits = Annotated[int, Within(4, 30)]
Once = Literal["core", "all", "none"]
CORE = re.compile(r"(ARG|A)[0-9A](-DSP)?")  # names of core roles, in both naming conventions


class RoleLabels(Model, ABC):
    """Base class for semantic role labellers.

    Parameters
    ----------
    near : bool
        Whether candidate arguments are limited to the ancestors of the predicate and the children of both.
    once : {"core", "all", "none"}
        Roles that a predicate may assign to at most one word: core roles (core), all roles (all) or no roles (none).

    Attributes
    ----------
    known_, roles_ : Known, list of str
        Ids of the features of words and of paths, and names of the roles.
    predicates_ : PredicateFinder
        Classifier that finds predicates where they are not given.
    """

    _: KW_ONLY
    near: bool
    once: Once
    bits: Bits

    def fit(self, sentences: Iterable[Sentence]) -> Self:
        """Fit the labeller to sentences with trees, predicates and arguments.

        InputError is raised if no predicate has an argument among its candidate words, or a parameter is out of range.
        """
        self.check()
        corpus = list(sentences)
        if not any(proposition.arguments for sentence in corpus for proposition in sentence.propositions):
            raise InputError("the training sentences must contain a predicate with at least one argument")
        names, finder = role_names(corpus), PredicateFinder().fit(corpus)
        known = self._learn(corpus, names)
        self.known_, self.roles_, self.predicates_ = known, names, finder
        return self

    @abstractmethod
    def _learn(self, sentences: list[Sentence], names: list[str]) -> Known:
        """Learn the parameters of the role scores and return the ids of the features."""

    def scores(self, tree: Tree, predicate: int) -> tuple[list[int], Array]:
        """Return the candidate arguments of a predicate and their role scores, of shape (candidates, roles).

        A word has no role if no score is above 0. ``predicate`` is the number of the predicate's word, from 1.
        """
        words, frame = next(frames_of(tree, [predicate], self.known_, near=self.near, bits=self.bits))
        return words, self._scores(frame)

    def arguments(self, tree: Tree, predicates: Iterable[int]) -> list[tuple[Argument, ...]]:
        """Return the arguments of each predicate, given by the number of its word from 1, in the order of the words."""
        once = played_once(self.roles_, self.once)
        result = []
        for words, frame in frames_of(tree, predicates, self.known_, near=self.near, bits=self.bits):
            pairs = zip(words, best_roles(self._scores(frame), once=once).tolist(), strict=True)
            result.append(tuple(Argument(word, self.roles_[role]) for word, role in pairs if role >= 0))
        return result

    def annotate(self, sentences: Iterable[Sentence], *, find: bool = False) -> Iterator[Sentence]:
        """Yield each sentence with predicted semantic roles in place of the given roles.

        With ``find`` predicates and senses are predicted too. Otherwise those of the sentence are used, and a sentence
        without annotated predicates is returned unchanged.
        """
        for sentence in sentences:
            if not find and not sentence.annotated:
                yield sentence
                continue
            given: Sequence[Proposition] = sentence.propositions
            if find:
                given = [Proposition(at, sense, (), (at,)) for at, sense in self.predicates_.find(sentence.tree)]
            labelled = self.arguments(sentence.tree, [proposition.place for proposition in given])
            replaced = []
            for proposition, arguments in zip(given, labelled, strict=True):
                places = {argument.place for argument in arguments}
                marks = tuple(mark for mark in proposition.marks if mark not in places)
                replaced.append(proposition._replace(arguments=arguments, marks=marks))
            yield sentence.with_propositions(replaced)

    @abstractmethod
    def _scores(self, frame: Frame) -> Array:
        """Return the score of each role for each word of a frame, relative to the score of no role."""


def played_once(roles: Sequence[str], once: Once) -> Mask:
    """Return a mask of the roles that at most one word per predicate may have."""
    return np.array([once == "all" or (once == "core" and bool(CORE.fullmatch(role))) for role in roles], bool)


def best_roles(scores: Array, none: Array | None = None, *, once: Mask) -> Ints:
    """Return the highest-scoring assignment of roles to words (Hungarian method, Kuhn 1955), with -1 for no role.

    ``none`` holds the scores of no role, 0 by default, and ``once`` marks the roles that at most one word may have.

    >>> scores = np.array([[3.0, 1.0, 0.0], [2.0, 0.5, 1.0]])
    >>> best_roles(scores, once=np.array([True, True, False])).tolist()
    [0, 2]
    """
    n, rows = len(scores), np.arange(len(scores))
    free = np.flatnonzero(~once)
    best, roles = np.zeros(n) if none is None else none.copy(), np.full(n, -1, np.int64)
    if len(free) and n:
        at = free[scores[:, free].argmax(axis=1)]
        better = scores[rows, at] > best
        best[better], roles[better] = scores[rows, at][better], at[better]
    single = np.flatnonzero(once)
    gain = np.maximum(scores[:, single] - best[:, None], 0)
    words, columns = (np.flatnonzero((gain > 0).any(axis=axis)) for axis in (1, 0))
    if len(words):
        gain = gain[np.ix_(words, columns)]
        a, r = linear_sum_assignment(gain, maximize=True)
        taken = gain[a, r] > 0
        roles[words[a[taken]]] = single[columns[r[taken]]]
    return roles
