"""Tables of what was found and what there is, with a row for each kind."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    Thing = TypeVar("Thing")


class KindCounts(NamedTuple):
    """Things of one kind: arcs, chunks, roles.

    Attributes
    ----------
    name : str
    gold, found, matched : int
        How many there are, how many were predicted, and how many of those are right.
    """

    name: str
    gold: int
    found: int
    matched: int

    @property
    def precision(self) -> float:
        """Share of what was predicted that is right; 0 if there is nothing."""
        return self.matched / self.found if self.found else 0.0

    @property
    def recall(self) -> float:
        """Share of what there is that was predicted; 0 if there is nothing."""
        return self.matched / self.gold if self.gold else 0.0

    @property
    def f1(self) -> float:
        """Harmonic mean of both."""
        return 2 * self.matched / (self.gold + self.found) if self.gold + self.found else 0.0


def counts_by_kind(pairs: Iterable[tuple[set[Thing], set[Thing]]], kind: Callable[[Thing], str]) -> list[KindCounts]:
    """Give a row for each kind of thing, the most frequent of what there is first, then by name.

    Parameters
    ----------
    pairs : iterable of (set, set)
        What a sentence has, and what was found in it.
    kind : callable
        Tells the kind of a thing.

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
