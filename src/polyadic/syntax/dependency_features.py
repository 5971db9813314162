"""What a reranker sees of a dependency tree: arcs, neighbouring dependents, grandparents, numbers of dependents.

The second-order parts of McDonald & Pereira (2006) and Carreras (2007), with words and with tags. A feature is a tuple
that begins with the name of its kind, and its value is how often it occurs.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from polyadic.syntax.rerank_features import Feature

ROOT = "ROOT"
NONE = "-"
FAR = 7
"""Distances and numbers from here on count as one."""


@dataclass(frozen=True, slots=True)
class Head:
    """A word and what depends on it: numbers from 1; 0 is the root.

    Attributes
    ----------
    words, tags : sequence of str
        With ``ROOT`` in front.
    at, above : int
        The word, and its own head; -1 above the root.
    left, right : tuple of int
        Dependents before and after it, from left to right.
    """

    words: Sequence[str]
    tags: Sequence[str]
    at: int
    above: int
    left: tuple[int, ...]
    right: tuple[int, ...]


def arcs(head: Head) -> Iterator[Feature]:
    """Give words and tags at both ends, with direction and distance."""
    words, tags, h = head.words, head.tags, head.at
    for m in (*head.left, *head.right):
        far = max(-FAR, min(m - h, FAR))
        yield "arc tags", tags[h], tags[m], far
        yield "arc words", words[h], words[m]
        yield "arc word tag", words[h], tags[m], m > h
        yield "arc tag word", tags[h], words[m], m > h


def siblings(head: Head) -> Iterator[Feature]:
    """Give two neighbouring dependents on one side, the nearest one with nothing."""
    words, tags, h = head.words, head.tags, head.at
    for side in (head.left[::-1], head.right):
        for a, b in pairwise((0, *side)):
            name, word = (tags[a], words[a]) if a else (NONE, NONE)
            yield "siblings", tags[h], name, tags[b], b > h
            yield "siblings word", words[h], name, tags[b], b > h
            yield "siblings words", word, words[b], b > h
        if side:
            yield "last", tags[h], tags[side[-1]], side[-1] > h


def grandparents(head: Head) -> Iterator[Feature]:
    """Give a dependent, its head, and the head of that."""
    if head.above < 0:
        return
    words, tags, h, g = head.words, head.tags, head.at, head.above
    for m in (*head.left, *head.right):
        sides = g < h, h < m
        yield "grandparent", tags[g], tags[h], tags[m], *sides
        yield "grandparent word", words[g], tags[h], tags[m], *sides
        yield "grandparent low word", tags[g], tags[h], words[m], *sides
        yield "grandparent words", words[g], words[m], *sides


def numbers(head: Head) -> Iterator[Feature]:
    """Tell how many dependents a word has on each side."""
    sides = min(len(head.left), FAR), min(len(head.right), FAR)
    yield "number", head.tags[head.at], *sides
    yield "number word", head.words[head.at], *sides


def frames(head: Head) -> Iterator[Feature]:
    """Give the tags of all dependents."""
    tags = head.tags
    below = tuple(tags[m] for m in head.left), tuple(tags[m] for m in head.right)
    yield "frame", tags[head.at], *below[0], NONE, *below[1]
    yield "frame left", tags[head.at], *below[0]
    yield "frame right", tags[head.at], *below[1]


KINDS: tuple[Callable[[Head], Iterator[Feature]], ...] = (arcs, siblings, grandparents, numbers, frames)


def tree_heads(heads: Sequence[int]) -> list[tuple[int, int, tuple[int, ...], tuple[int, ...]]]:
    """Give each word with its head and its dependents on both sides, the root first.

    Examples
    --------
    >>> tree_heads([2, 0, 2])
    [(0, -1, (), (2,)), (1, 2, (), ()), (2, 0, (1,), (3,)), (3, 2, (), ())]
    """
    below: list[list[int]] = [[] for _ in range(len(heads) + 1)]
    for m, h in enumerate(heads, 1):
        below[h].append(m)
    above = (-1, *heads)
    return [
        (h, above[h], tuple(m for m in row if m < h), tuple(m for m in row if m > h)) for h, row in enumerate(below)
    ]
