"""Tables of what was found and what there is, with a row for each kind."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, TypeVar

from polyadic.metrics.dependencies import Row

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    Thing = TypeVar("Thing")


def rows_by_kind(pairs: Iterable[tuple[set[Thing], set[Thing]]], kind: Callable[[Thing], str]) -> list[Row]:
    """Give a row for each kind of thing, the most frequent of what there is first, then by name.

    Parameters
    ----------
    pairs : iterable of (set, set)
        What a sentence has, and what was found in it.
    kind : callable
        Tells the kind of a thing.

    Examples
    --------
    >>> rows_by_kind([({"a1", "b1"}, {"a1", "a2"})], lambda name: name[0])[0]
    Row(name='a', gold=1, found=2, matched=1)
    """
    counts: tuple[Counter[str], ...] = (Counter(), Counter(), Counter())
    for gold, found in pairs:
        for count, things in zip(counts, (gold, found, gold & found), strict=True):
            count.update(map(kind, things))
    names = sorted(counts[0].keys() | counts[1].keys(), key=lambda name: (-counts[0][name], name))
    return [Row(name, *(count[name] for count in counts)) for name in names]
