"""Random batches of entries, read from memory or disk in pieces of consecutive ones, and random cells that are zero."""

from __future__ import annotations

import math
from collections import Counter
from itertools import permutations
from typing import TYPE_CHECKING, Any

import numpy as np

from polyadic import kernels
from polyadic.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from polyadic.data import Entries
    from polyadic.objective import Part, Term

CHUNK = 1024
"""Consecutive entries drawn together, at most: long enough for whole fibres and cheap to copy."""
CHUNKS = 64
"""Chunks of a batch, at least: neighbours in the list share words, so few long chunks would make poor samples."""
SLAB = 1 << 18
"""Consecutive entries whose chunks are drawn while they are likely in memory: some megabytes that a disk reads well."""
SLABS = 32
"""Slabs that are drawn from at the same time."""
LEAVES = 8
"""Zeros drawn with the same prefix: its search and its product are paid once."""


class Batches:
    """Parts of an objective in random order: each entry of each part once an epoch.

    Parameters
    ----------
    parts : list of Part
        Their arrays may be mapped; only slices are read.
    batch : int
        Entries of a step, all parts together.
    """

    def __init__(self, parts: list[Part], batch: int) -> None:
        self.parts = parts
        self.total = sum(len(part.values) for part in parts)
        self.chunk = min(CHUNK, max(1, batch // CHUNKS))
        chunks = sum(-(-len(part.values) // self.chunk) for part in parts)
        self.steps = max(1, min(chunks, round(self.total / batch)))

    def epoch(self, rng: np.random.Generator) -> Iterator[list[Part]]:
        """Draw the batches of an epoch; each holds of each part its share, and parts without any are left out."""
        orders = [self._order(-(-len(part.values) // self.chunk), rng) for part in self.parts]
        of = np.repeat(np.arange(len(orders)), [len(order) for order in orders])
        due = np.concatenate([(np.arange(len(order)) + 0.5) / len(order) for order in orders])
        mixed = np.argsort(due, kind="stable")
        of, chunks = of[mixed], np.concatenate(orders)[mixed]
        for drawn, which in zip(np.array_split(chunks, self.steps), np.array_split(of, self.steps), strict=True):
            yield [self._gather(self.parts[k], drawn[which == k]) for k in np.unique(which)]

    def _order(self, chunks: int, rng: np.random.Generator) -> NDArray[np.int64]:
        """Shuffle chunks, near ones near in time: a few random slabs, all their chunks in random order, and so on."""
        length = max(1, SLAB // self.chunk)
        slabs = rng.permutation(-(-chunks // length))
        order = []
        for pool in np.array_split(slabs, max(1, -(-len(slabs) // SLABS))):
            members = (pool[:, None] * length + np.arange(length)).ravel()
            order.append(rng.permutation(members[members < chunks]))
        return np.concatenate(order)

    def _gather(self, part: Part, chunks: NDArray[np.int64]) -> Part:
        """Copy the entries of chunks side by side."""
        slices = [slice(k * self.chunk, (k + 1) * self.chunk) for k in chunks.tolist()]
        columns = part.indices.T
        return part._replace(
            indices=np.concatenate([columns[:, s] for s in slices], axis=1).T,
            values=np.concatenate([part.values[s] for s in slices]),
            weights=None if part.weights is None else np.concatenate([part.weights[s] for s in slices]),
        )


class Zeros:
    r"""Random cells of a term that are not listed, each of value zero.

    Cells are drawn uniformly, for symmetric entries among the tuples of different words, and those that turn out to be
    listed are dropped. Drawn at a rate of :math:`q` per listed entry, :math:`n` of them, with a weight of :math:`w`,
    they add to the objective in expectation

    .. math:: \frac{q\, n\, w}{C} \sum_{c\ \mathrm{unlisted}} \ell(0, m_c), \qquad C \text{ cells.}

    Drawn beside listed entries, a cell shares all indices but the last with one of them, so its rows are at hand and it
    is a harder question; a fibre :math:`f` of :math:`C_f` cells, :math:`n_f` of them listed, then adds

    .. math:: \frac{q\, n_f\, w}{C_f} \sum_{c \in f\ \mathrm{unlisted}} \ell(0, m_c).

    Parameters
    ----------
    term : Term
        Its entries are in lexicographic order, as symmetric ones always are.
    weight : float
        :math:`w`.
    beside : bool
        Whether zeros are drawn beside listed entries.

    Raises
    ------
    InputError
        If a cell cannot be looked up, or zeros mean nothing here.
    """

    def __init__(self, term: Term, weight: float, *, beside: bool = False) -> None:
        entries = term.entries
        if entries.unlisted == "missing":
            raise InputError("zeros must be 0 where unlisted entries are missing")
        if term.zero_weight:
            raise InputError("zeros must be 0 where zero_weight already counts every zero; set one of them to 0")
        if entries.order < 2 or (entries.symmetric and entries.shape[0] < entries.order):
            raise InputError(
                f"zeros of shape {entries.shape} cannot be drawn: a cell needs two or more different indices"
            )
        if not entries.symmetric and not _in_order(entries):
            raise InputError("zeros need entries in lexicographic order, to look cells up; sort them by np.lexsort")
        self.entries, self.weight, self.alpha, self.beside = entries, weight, term.weight, beside
        self.arrangements = Counter(permutations(term.slots)) if entries.symmetric else Counter([term.slots])
        first = np.zeros(entries.shape[0], np.int64)
        for block in entries.blocks():
            first += np.bincount(entries.indices[block, 0], minlength=len(first))
        self.starts = np.concatenate([[0], np.cumsum(first)])

    def draw(self, number: float, part: Part, rng: np.random.Generator) -> Part:
        """Draw cells for a part of the term: ``number`` in expectation, those that are listed included."""
        prefixes = int(number / LEAVES + rng.random())  # rounded at random, so that the expectation is exact
        cells = self._neighbours(prefixes, part, rng) if self.beside else self._cells(prefixes, rng)
        leaf = rng.random((len(cells), LEAVES))
        # of a falling tuple the last is any index below the last but one; the prefix has come with that probability
        below = cells[:, -2:-1] if self.entries.symmetric else self.entries.shape[-1]
        leaves = (leaf * below).astype(np.int64)
        absent = kernels.absent_cells(self.entries.indices, self.starts, cells[:, :-1], leaves)
        columns = [np.repeat(column, absent.sum(axis=1)) for column in cells[:, :-1].T]
        indices = np.stack([*columns, leaves[absent]]).astype(self.entries.indices.dtype)
        scale = self.alpha * self.weight * self.arrangements[part.slots]
        values = np.zeros(indices.shape[1], part.values.dtype)
        return part._replace(indices=indices.T, values=values, weights=None, scale=scale)

    def _neighbours(self, number: int, part: Part, rng: np.random.Generator) -> NDArray[Any]:
        """Draw listed entries, in the order of the list; of symmetric ones, those whose fibre has a falling tuple."""
        cells = part.indices[np.sort(rng.integers(len(part.values), size=number))]
        if not self.entries.symmetric:
            return cells
        prefixes = cells[:, :-1]
        return cells[(prefixes[:, 1:] < prefixes[:, :-1]).all(axis=1) & (prefixes[:, -1] > 0)]

    def _cells(self, number: int, rng: np.random.Generator) -> NDArray[np.int64]:
        """Draw cells uniformly; of symmetric entries, tuples of different words, falling."""
        shape = self.entries.shape
        cells = rng.integers(shape, size=(number, len(shape)))
        if not self.entries.symmetric:
            return cells
        while True:
            cells = np.sort(cells, axis=1)[:, ::-1]
            again = (cells[:, 1:] == cells[:, :-1]).any(axis=1)
            if not again.any():
                return cells
            cells[again] = rng.integers(shape, size=(int(again.sum()), len(shape)))


def _in_order(entries: Entries) -> bool:
    """Whether rows rise lexicographically."""
    for block in entries.blocks():
        rows: NDArray[Any] = entries.indices[max(block.start - 1, 0) : block.stop].T
        later = np.zeros(rows.shape[1] - 1, bool)
        for column in rows[::-1]:
            later = (column[1:] > column[:-1]) | ((column[1:] == column[:-1]) & later)
        if not later.all():
            return False
    return True


def cells_of(entries: Entries) -> int:
    """Count the cells that :class:`Zeros` draws from."""
    return math.comb(entries.shape[0], entries.order) if entries.symmetric else math.prod(entries.shape)
