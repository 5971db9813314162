r"""Semantic role labelling: precision, recall and F1 of (predicate, argument, role) triples.

.. math:: P = \frac{\#\text{matched}}{\#\text{found}}, \qquad R = \frac{\#\text{matched}}{\#\text{gold}}, \qquad
          F_1 = \frac{2 \, \#\text{matched}}{\#\text{gold} + \#\text{found}}

over all sentences (micro-averaged), with and without roles. An argument is one word, the head of its phrase, as in the
shared tasks of 2008 and 2009; unlike there, predicate senses are not evaluated. Arguments of a missed predicate count
as missed; arguments of a word that is not a predicate count as wrong.

References
----------
Surdeanu et al. (2008), The CoNLL-2008 shared task on joint parsing of syntactic and semantic dependencies. Hajič et al.
(2009), The CoNLL-2009 shared task: syntactic and semantic dependencies in multiple languages
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from polyadic.core.errors import InputError
from polyadic.metrics.figures import Figure
from polyadic.metrics.rows import KindCounts, check_same_number, count_rows, counts_by_kind


class Framed(Protocol):
    """Predicate with the positions and roles of the arguments."""

    @property
    def place(self) -> int:
        """Position of the predicate in the sentence, starting at 1."""

    @property
    def arguments(self) -> Sequence[tuple[int, str]]:
        """Position and role of each argument."""


class Labelled(Protocol):
    """Sentence annotated with predicates and semantic roles."""

    @property
    def propositions(self) -> Sequence[Framed]:
        """Predicates of the sentence, each with its arguments."""

    def __len__(self) -> int: ...


class MatchedRoles(NamedTuple):
    """Counts of gold, predicted and correct arguments and predicates in a sentence.

    Examples
    --------
    >>> MatchedRoles(4, 3, labelled=2, places=3, gold_predicates=2, found_predicates=2, predicates=2, complete=1).f1
    0.5714285714285714
    """

    gold: int
    found: int
    """Number of annotated and of predicted arguments, once for each predicate."""
    labelled: int
    places: int
    """Number of predicted arguments that are correct with roles, and without."""
    gold_predicates: int
    found_predicates: int
    predicates: int
    """Number of annotated, predicted, and correctly predicted predicates."""
    complete: int
    """Number of predicates whose predicted arguments and roles equal the annotation."""

    @property
    def f1(self) -> float:
        """F1 score of the labelled arguments, or 1 if there are neither gold nor predicted arguments."""
        total = self.gold + self.found
        return 2 * self.labelled / total if total else 1.0


class RoleScore(NamedTuple):
    """Semantic role labelling scores of a corpus."""

    precision: float
    recall: float
    f1: float
    """Scores of arguments with roles."""
    plain_precision: float
    plain_recall: float
    plain_f1: float
    """Scores of arguments without roles."""
    predicate_precision: float
    predicate_recall: float
    predicate_f1: float
    """Scores of predicates; 1 if gold predicates were given."""
    complete: float
    """Share of annotated predicates whose arguments are all correct."""
    arguments: int
    predicates: int
    sentences: int
    """Number of annotated arguments and predicates, and of sentences."""

    def as_dict(self) -> dict[str, Any]:
        """Return the scores as a dictionary for JSON."""
        return dict(self._asdict())


def match_roles(gold: Labelled, predicted: Labelled) -> MatchedRoles:
    """Count the arguments and predicates of a predicted sentence that match the annotation.

    InputError is raised if the numbers of words differ.
    The sentences have ``propositions``, such as those of :class:`~polyadic.syntax.propositions.Sentence`.

    Examples
    --------
    >>> from polyadic.syntax.propositions import Argument, Proposition, Sentence
    >>> from polyadic.syntax.trees import Tree
    >>> none = ("_",) * 3
    >>> tree = Tree(("I", "saw", "it"), none, none, none, none, np.array([2, 0, 2]), none, none, none)
    >>> gold = Proposition(2, "see.01", (Argument(1, "ARG0"), Argument(3, "ARG1")), (2,))
    >>> predicted = Proposition(2, "see.01", (Argument(1, "ARG0"), Argument(3, "ARG2")), (2,))
    >>> match_roles(Sentence(tree, (gold,)), Sentence(tree, (predicted,)))[:4]
    (2, 2, 1, 2)
    """
    if len(gold) != len(predicted):
        raise InputError(f"both sentences must have the same number of words; got {len(gold)} and {len(predicted)}")
    right, others = _triples(gold), _triples(predicted)
    want, have = ({p.place for p in sentence.propositions} for sentence in (gold, predicted))
    wrong = {place for place, *_ in right ^ others}
    places = {triple[:2] for triple in right} & {triple[:2] for triple in others}
    counts = (len(right), len(others), len(right & others), len(places), len(want), len(have), len(want & have))
    return MatchedRoles(*counts, len((want & have) - wrong))


def role_score(sentences: Iterable[MatchedRoles]) -> RoleScore:
    """Compute the role labelling scores of a corpus from the counts of each sentence.

    InputError is raised if the annotation has no arguments.

    Examples
    --------
    >>> role_score([MatchedRoles(4, 3, 2, 3, 2, 2, 2, 1), MatchedRoles(1, 1, 1, 1, 1, 1, 1, 1)])[:3]
    (0.75, 0.6, 0.6666666666666666)
    """
    rows = count_rows(sentences, MatchedRoles, "arguments")
    gold, predicted, labelled, places, gold_p, predicted_p, predicates, complete = rows.sum(axis=0).tolist()
    with_roles = KindCounts("", gold, predicted, labelled)
    plain, heads = with_roles._replace(matched=places), KindCounts("", gold_p, predicted_p, predicates)
    first, second, third = ((row.precision, row.recall, row.f1) for row in (with_roles, plain, heads))
    return RoleScore(*first, *second, *third, complete / gold_p, gold, gold_p, len(rows))


def role_figures(sentences: Iterable[MatchedRoles]) -> list[Figure]:
    """Return precision, recall and F1 of roles as metrics with bootstrap confidence intervals over sentences.

    Parameters and errors are those of :func:`role_score`.

    Examples
    --------
    >>> figures = role_figures([MatchedRoles(4, 3, 2, 3, 2, 2, 2, 1), MatchedRoles(1, 1, 1, 1, 1, 1, 1, 1)])
    >>> {figure.name: round(figure.value, 3) for figure in figures[:3]}
    {'precision': 0.75, 'recall': 0.6, 'F1': 0.667}
    """
    rows = count_rows(sentences, MatchedRoles, "arguments")
    both, n = rows[:, 0] + rows[:, 1], len(rows)
    fractions = {
        "precision": (rows[:, 2], rows[:, 1]),
        "recall": (rows[:, 2], rows[:, 0]),
        "F1": (2 * rows[:, 2], both),
        "F1 without roles": (2 * rows[:, 3], both),
        "F1 of predicates": (2 * rows[:, 6], rows[:, 4] + rows[:, 5]),
        "complete predicates": (rows[:, 7], rows[:, 4]),
    }
    return [Figure(name, np.stack(pair, axis=1).astype(float), used=n, total=n) for name, pair in fractions.items()]


def by_role(gold: Sequence[Labelled], predicted: Sequence[Labelled]) -> list[KindCounts]:
    """Count gold, predicted and correct arguments for each role, the most frequent role first.

    Sentences are as in :func:`match_roles`; InputError is raised if their numbers differ.
    """
    check_same_number(gold, predicted)
    pairs = ((_triples(sentence), _triples(labelled)) for sentence, labelled in zip(gold, predicted, strict=True))
    return counts_by_kind(pairs, lambda triple: triple[2])


def _triples(sentence: Labelled) -> set[tuple[int, int, str]]:
    return {(p.place, place, role) for p in sentence.propositions for place, role in p.arguments}
