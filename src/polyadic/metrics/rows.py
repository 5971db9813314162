"""Counts of gold, predicted and matching items for each kind of item."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

from polyadic.core.annotations import Ints
from polyadic.core.errors import InputError

Thing = TypeVar("Thing")


class KindCounts(NamedTuple):
    """Counts of gold, predicted and correct items of one kind, such as arcs with one relation."""

    name: str
    """The kind."""
    gold: int
    found: int
    matched: int
    """Number of gold items, of predicted items, and of predicted items that are correct."""

    @property
    def precision(self) -> float:
        """Share of predicted items that are correct; 0 if nothing was predicted."""
        return self.matched / self.found if self.found else 0.0

    @property
    def recall(self) -> float:
        """Share of gold items that were predicted; 0 if there are no gold items."""
        return self.matched / self.gold if self.gold else 0.0

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall."""
        return 2 * self.matched / (self.gold + self.found) if self.gold + self.found else 0.0


def count_rows(sentences: Iterable[Any], kind: type[Any], what: str = "") -> Ints:
    """Return the counts of each sentence as a row; raise InputError if the first, named ``what``, are all zero."""
    rows = np.array(list(sentences), np.int64).reshape(-1, len(kind._fields))
    if what and not rows[:, 0].sum():
        raise InputError(f"there are no {what} to score")
    return rows


def check_same_number(gold: Sequence[Any], predicted: Sequence[Any]) -> None:
    """Raise InputError unless there are as many predicted as gold sentences."""
    if len(gold) != len(predicted):
        raise InputError(
            f"gold and predicted must have the same number of sentences; got {len(gold)} and {len(predicted)}"
        )


def counts_by_kind(pairs: Iterable[tuple[set[Thing], set[Thing]]], kind: Callable[[Thing], str]) -> list[KindCounts]:
    """Count gold, predicted and matching items of each kind, sorted by number of gold items and then by name.

    Examples
    --------
    >>> counts_by_kind([({"a1", "b1"}, {"a1", "a2"})], lambda name: name[0])[0]
    KindCounts(name='a', gold=1, found=2, matched=1)
    """
    counts: tuple[Counter[str], ...] = (Counter(), Counter(), Counter())
    for gold, predicted in pairs:
        for count, things in zip(counts, (gold, predicted, gold & predicted), strict=True):
            count.update(map(kind, things))
    names = sorted(counts[0].keys() | counts[1].keys(), key=lambda name: (-counts[0][name], name))
    return [KindCounts(name, *(count[name] for count in counts)) for name in names]
