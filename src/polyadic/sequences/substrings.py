"""Counts of all substrings of strings, stored as a tree in one sorted array."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csr_array

from polyadic.core import resources
from polyadic.core.annotations import Ints
from polyadic.core.errors import check_int

if TYPE_CHECKING:
    from polyadic.sequences.symbols import Coded

ANYWHERE, AT_START, AT_END, WHOLE = range(4)  # columns of counts: anywhere, as prefix, suffix and whole string
BYTES = 60  # bytes per node, or per position of a string, while counting


@dataclass(frozen=True, eq=False)
class Substrings:
    """Trie of substrings with counts, ordered by length and then by symbols.

    Node 0 is the empty string. Other nodes are identified by their key, the parent node (without the last symbol) times
    ``size`` plus the last symbol; keys increase, so that a child is found by bisection.
    """

    keys: Ints  # -1 for the empty string
    counts: Ints  # shape (n, 4), see ANYWHERE
    lengths: Ints
    size: int
    strings: int

    def __len__(self) -> int:
        return len(self.keys)

    @cached_property
    def parent(self) -> Ints:
        """The parent of each node, or -1 for the empty string; a parent is a substring without its last symbol."""
        return np.where(self.keys < 0, -1, self.keys // self.size)

    @cached_property
    def last(self) -> Ints:
        """The last symbol of each node; -1 for the empty string."""
        return np.where(self.keys < 0, -1, self.keys % self.size)

    @cached_property
    def kinds(self) -> Ints:
        """The number of distinct symbols, including the end, that follow each substring anywhere or as a prefix."""
        kinds = (self.counts[:, [AT_END, WHOLE]] > 0).astype(np.int64)
        for column, counted in enumerate((ANYWHERE, AT_START)):
            seen = self.counts[1:, counted] > 0
            kinds[:, column] += np.bincount(self.parent[1:][seen], minlength=len(self))
        return kinds

    def child(self, nodes: Any, symbols: Any) -> Ints:
        """Return the child of each node for a symbol, or -1 if the substring was not seen or the node is -1."""
        keys = np.asarray(nodes) * self.size + symbols
        at = np.minimum(np.searchsorted(self.keys, keys), len(self) - 1)
        return np.where((np.asarray(nodes) >= 0) & (self.keys[at] == keys), at, -1)

    def find(self, string: Sequence[int]) -> int:
        """Return the node of a string, or -1 if the string was not seen."""
        node = 0
        for symbol in string:
            node = int(self.child(node, symbol))
        return node

    def spell(self, node: int) -> tuple[int, ...]:
        """Return the string that a node represents."""
        symbols: list[int] = []
        while node > 0:
            symbols.append(int(self.last[node]))
            node = int(self.parent[node])
        return tuple(symbols[::-1])

    def table(self, rows: Ints, suffixes: list[tuple[int, ...]], column: int) -> Any:
        """Return the mean count per string of each substring followed by each suffix, as a sparse array."""
        path: list[tuple[Any, Any]] = [(np.flatnonzero(rows >= 0), rows[rows >= 0])]
        before: tuple[int, ...] = ()
        where, which, values = [], [], []
        # sorted, so that common prefixes of suffixes are followed once
        for place in sorted(range(len(suffixes)), key=lambda s: suffixes[s]):
            suffix = suffixes[place]
            shared = next((d for d, (a, b) in enumerate(zip(before, suffix, strict=False)) if a != b), len(before))
            del path[shared + 1 :]
            for symbol in suffix[shared:]:
                at, nodes = path[-1]
                nodes = self.child(nodes, symbol)
                path.append((at[nodes >= 0], nodes[nodes >= 0]))
            at, nodes = path[-1]
            count = self.counts[nodes, column]
            where.append(at[count > 0])
            which.append(np.full(len(where[-1]), place))
            values.append(count[count > 0] / self.strings)
            before = suffix
        cells = (np.concatenate(values), (np.concatenate(where), np.concatenate(which)))
        return csr_array(cells, shape=(len(rows), len(suffixes)))


def count_substrings(data: Coded, size: int, *, max_length: int | None = None, anywhere: bool = True) -> Substrings:
    """Count all substrings of strings up to ``max_length``, or only prefixes if ``anywhere`` is false."""
    check_int("size", size, low=1)
    symbols, edges = data
    lengths = np.diff(edges)
    limit = int(lengths.max(initial=0))
    if max_length is not None:
        limit = min(limit, check_int("max_length", max_length, low=0))
    many = len(lengths)
    nodes = (limit + 4.0) * (len(symbols) + many) if anywhere else len(symbols) + 4.0 * many
    resources.check_memory(BYTES * nodes, "the table of substrings", "count shorter substrings")
    string = np.repeat(np.arange(many), lengths + 1) if anywhere else np.arange(many)
    place = np.arange(len(symbols) + many) - string if anywhere else edges[:-1]
    first, high = place == edges[:-1][string], edges[1:][string]
    node, keys, counts, base = np.zeros(len(place), np.int64), [np.array([-1])], [], 0
    for length in range(limit + 1):
        if length:
            inside = place + length <= high
            place, high, first, node = place[inside], high[inside], first[inside], node[inside]
            if not len(place):
                break
            base += len(keys[-1])
            level, node = np.unique(node * size + symbols[place + length - 1], return_inverse=True)
            node += base
            keys.append(level)
        end = place + length == high
        chosen = ((node - base)[which] for which in (slice(None), first, end, first & end))
        counts.append(np.stack([np.bincount(at, minlength=len(keys[-1])) for at in chosen], axis=1))
    depth = np.repeat(np.arange(len(keys)), list(map(len, keys)))
    return Substrings(np.concatenate(keys), np.concatenate(counts), depth, size, many)
