"""Stochastic gradient descent on random batches of entries, in memory or on disk, and on sampled zeros.

A step adds up the gradient of a batch and moves only the rows that the batch touches. Penalties and the exact sum over
zeros reach a row when it is touched, with their share of an epoch since the last time. So the cost of a step is
proportional to its batch, and the gradients of an epoch without steps would add up to the full gradient exactly.

References
----------
Bailey, Aeron (2017), Word embeddings via tensor factorization, section 4.2. arXiv:1704.02686.
Kolda, Hong (2020), Stochastic gradients for large-scale tensor decomposition, algorithm 3.1: epochs that fail.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from itertools import permutations

import numpy as np

from polyadic.core import kernels
from polyadic.core.annotations import AnyArray, Ints
from polyadic.core.entries import Entries, blocks, rising
from polyadic.core.errors import InputError, check_int, check_number
from polyadic.core.forms import CP, Factors
from polyadic.core.losses import Squared
from polyadic.core.objective import (
    Objective,
    Part,
    Slot,
    Term,
    _all_zero,
    _losses,
    parts_of,
    slot_factors,
    stacked_importance,
)
from polyadic.core.penalties import L1, L2, NonNegative, Penalty
from polyadic.core.resources import check_memory
from polyadic.core.solvers.adaptive import Adam, StepRule
from polyadic.core.solvers.run import Sweep

CHUNK = 1024  # maximum number of consecutive entries drawn together: enough for whole fibres, and cheap to copy
CHUNKS = 64  # minimum number of chunks of a batch: neighbours share indices, so few long chunks would be poor samples
SLAB = 1 << 18
"""Consecutive entries whose chunks are drawn at about the same time: some megabytes, read sequentially from disk."""
SLABS = 32  # slabs that are drawn from at the same time
LEAVES = 8  # zeros drawn with the same prefix, which share its search and product


class Batches:
    """Sampler of random batches of about ``batch`` entries that visits every entry once per epoch."""

    def __init__(self, parts: list[Part], batch: int) -> None:
        self.parts = parts
        self.total = sum(len(part.values) for part in parts)
        self.chunk = min(CHUNK, max(1, batch // CHUNKS))
        chunks = sum(-(-len(part.values) // self.chunk) for part in parts)
        self.steps = max(1, min(chunks, round(self.total / batch)))

    def epoch(self, rng: np.random.Generator) -> Iterator[list[Part]]:
        """Yield the random batches of an epoch, each of which contains entries of all parts of the objective."""
        orders = [self._order(-(-len(part.values) // self.chunk), rng) for part in self.parts]
        of = np.repeat(np.arange(len(orders)), [len(order) for order in orders])
        due = np.concatenate([(np.arange(len(order)) + 0.5) / len(order) for order in orders])
        mixed = np.argsort(due, kind="stable")
        of, chunks = of[mixed], np.concatenate(orders)[mixed]
        for drawn, which in zip(np.array_split(chunks, self.steps), np.array_split(of, self.steps), strict=True):
            yield [self._gather(self.parts[k], drawn[which == k]) for k in np.unique(which)]

    def _order(self, chunks: int, rng: np.random.Generator) -> Ints:
        """Return the chunks in random order, with nearby chunks close together for fast reading from disk."""
        length = max(1, SLAB // self.chunk)
        slabs = rng.permutation(-(-chunks // length))
        order = []
        for pool in np.array_split(slabs, max(1, -(-len(slabs) // SLABS))):
            members = (pool[:, None] * length + np.arange(length)).ravel()
            order.append(rng.permutation(members[members < chunks]))
        return np.concatenate(order)

    def _gather(self, part: Part, chunks: Ints) -> Part:
        """Copy the entries of the given chunks into one part."""
        slices = [slice(k * self.chunk, (k + 1) * self.chunk) for k in chunks.tolist()]
        columns = part.indices.T
        return part._replace(
            indices=np.concatenate([columns[:, s] for s in slices], axis=1).T,
            values=np.concatenate([part.values[s] for s in slices]),
            weights=None if part.weights is None else np.concatenate([part.weights[s] for s in slices]),
        )


class Zeros:
    r"""Sampler of unobserved cells, which are treated as zeros of weight :math:`w`.

    Cells are drawn uniformly (for symmetric entries, among tuples of different indices), and listed ones are dropped.
    Drawn at a rate of :math:`q` per listed entry, :math:`n` of them, they add to the objective in expectation

    .. math:: \frac{q\, n\, w}{C} \sum_{c\ \mathrm{unobserved}} \ell(0, m_c), \qquad C \text{ cells.}

    Drawn ``beside`` listed entries, a cell shares all indices but the last with one of them, which makes a harder
    negative; a fibre :math:`f` of :math:`C_f` cells, :math:`n_f` of them listed, then adds

    .. math:: \frac{q\, n_f\, w}{C_f} \sum_{c \in f\ \mathrm{unobserved}} \ell(0, m_c).

    The entries must be in lexicographic order.
    """

    def __init__(self, term: Term, weight: float, *, beside: bool = False) -> None:
        entries = term.entries
        if entries.unobserved == "missing":
            raise InputError("the setting zeros must be 0 if unobserved entries are treated as missing")
        if term.zero_weight:
            raise InputError(
                "the settings zeros and zero_weight are mutually exclusive; set one of them to 0", "zero_weight"
            )
        if entries.order < 2 or (entries.symmetric and entries.shape[0] < entries.order):
            raise InputError(
                f"zeros cannot be sampled from entries of shape {entries.shape}: a cell must have at least two"
                " different indices"
            )
        runs = (slice(max(block.start - 1, 0), block.stop) for block in entries.blocks())
        if not entries.symmetric and not all(rising(entries.indices[run].T).all() for run in runs):
            raise InputError("sampling of zeros requires entries in lexicographic order; sort them with np.lexsort")
        self.entries, self.weight, self.alpha, self.beside = entries, weight, term.weight, beside
        self.arrangements = Counter(permutations(term.slots)) if entries.symmetric else Counter([term.slots])
        first = np.zeros(entries.shape[0], np.int64)
        for block in entries.blocks():
            first += np.bincount(entries.indices[block, 0], minlength=len(first))
        self.starts = np.concatenate([[0], np.cumsum(first)])

    def draw(self, number: float, part: Part, rng: np.random.Generator) -> Part:
        """Sample unobserved cells: draw ``number`` cells in expectation, and discard observed cells."""
        prefixes = int(number / LEAVES + rng.random())  # stochastic rounding: exact in expectation
        cells = self._neighbours(prefixes, part, rng) if self.beside else self._cells(prefixes, rng)
        leaf = rng.random((len(cells), LEAVES))
        # the last index of a descending tuple is below the last but one; prefixes were drawn in that proportion
        below = cells[:, -2:-1] if self.entries.symmetric else self.entries.shape[-1]
        leaves = (leaf * below).astype(np.int64)
        absent = kernels.absent_cells(self.entries.indices, self.starts, cells[:, :-1], leaves)
        columns = [np.repeat(column, absent.sum(axis=1)) for column in cells[:, :-1].T]
        indices = np.stack([*columns, leaves[absent]]).astype(self.entries.indices.dtype)
        scale = self.alpha * self.weight * self.arrangements[part.slots]
        values = np.zeros(indices.shape[1], part.values.dtype)
        return part._replace(indices=indices.T, values=values, weights=None, scale=scale)

    def _neighbours(self, number: int, part: Part, rng: np.random.Generator) -> AnyArray:
        """Sample observed entries, if symmetric with distinct leading indices, which are reused for negative cells."""
        cells = part.indices[np.sort(rng.integers(len(part.values), size=number))]
        if not self.entries.symmetric:
            return cells
        prefixes = cells[:, :-1]
        return cells[(prefixes[:, 1:] < prefixes[:, :-1]).all(axis=1) & (prefixes[:, -1] > 0)]

    def _cells(self, number: int, rng: np.random.Generator) -> Ints:
        """Sample cells uniformly; for symmetric entries, sample tuples of distinct indices in descending order."""
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


def cells_of(entries: Entries) -> int:
    """Return the number of cells from which :class:`Zeros` samples."""
    return math.comb(entries.shape[0], entries.order) if entries.symmetric else math.prod(entries.shape)


REFRESHES = (8, 32)  # minimum and maximum number of times per epoch that the gradient of the exact zeros is recomputed
STEPS = 256  # default number of steps of an epoch
BATCHES = (256, 65_536)
"""Minimum and maximum default batch size: smaller ones move rows too often, larger ones gain nothing."""
DECREASE = 0.3  # factor of the learning rate after an epoch that failed
INCREASE = 1.1  # factor of the learning rate after one that did not, up to its initial value
MIN_PACE = 1e-3  # relative learning rate at which to stop
SAMPLE = 1 << 18  # maximum number of zeros sampled once to measure their loss after each epoch


def stochastic(
    objective: Objective,
    start: Factors,
    *,
    rule: StepRule = Adam(),  # noqa: B008 frozen
    batch: int | None = None,
    zeros: float = 0.0,
    zeros_weight: float = 1.0,
    zeros_beside: bool = False,
    seed: int | np.random.Generator | None = None,
) -> Iterator[Sweep]:
    """Minimize an objective by stochastic gradient descent on random batches; yield the start and each epoch.

    An epoch uses each observed entry once. An epoch that raises the objective is undone and repeated with a smaller
    learning rate, so the objective never rises; the run ends when failed epochs have reduced the rate to a thousandth.
    The objective includes the loss of a fixed sample of zeros if zeros are drawn.

    Terms must have CP forms, and factors one rank. The default ``batch``, over all terms, is a 256th of all listed
    entries, from 256 to 65,536 (best or within noise of it for 30 thousand, 1 and 18 million entries, ranks 50 to 300).
    ``zeros`` are drawn per listed entry, each of weight ``zeros_weight``, among all cells or, if ``zeros_beside``,
    those that share all indices but the last with a listed entry (:class:`Zeros`).
    """
    number = sum(len(term.entries) for term in objective.terms)
    batch = int(np.clip(number // STEPS, *BATCHES)) if batch is None else check_int("batch", batch, low=1)
    check_number("zeros", zeros)
    check_number("zeros_weight", zeros_weight)
    if any(not isinstance(term.form, CP) for term in objective.terms):
        raise InputError("stochastic descent supports only the CP form; use quasi_newton for other forms")
    for penalty in objective.penalties:
        if penalty.kinked and not isinstance(penalty, L1 | NonNegative):
            raise InputError(
                f"the only non-smooth penalties that stochastic descent supports are L1 and NonNegative; got {penalty}"
            )
    if len({(u.shape[1:], u.dtype) for u in start}) != 1 or start[0].ndim != 2 or start[0].dtype.kind != "f":
        shapes = [f"{u.dtype} {u.shape}" for u in start]
        raise InputError(f"start must contain matrices of the same rank and floating-point type; got {shapes}", "start")
    if not number:
        raise InputError("there are no entries to fit")
    if any(term.side_by_side for term in objective.terms):
        raise InputError(
            "stochastic descent supports only one factor per slot; use quasi_newton for several factors per slot"
        )
    slot_factors(objective.terms, start)  # validates the shapes
    rng = np.random.default_rng(seed)
    sampled = enumerate(objective.terms) if zeros else ()
    zeros_of = {number: Zeros(term, zeros_weight, beside=zeros_beside) for number, term in sampled}
    return _Descent(objective, start, rule, batch=batch, zeros=zeros, zeros_of=zeros_of, rng=rng).sweeps()


class _Descent:
    """State of stochastic gradient descent: a table of all factors, and the optimizer state of each row."""

    def __init__(
        self,
        objective: Objective,
        start: Factors,
        rule: StepRule,
        *,
        batch: int,
        zeros: float,
        zeros_of: dict[int, Zeros],
        rng: np.random.Generator,
    ) -> None:
        rows, rank = sum(map(len, start)), start[0].shape[1]
        check_memory(
            (2 * (2 + rule.layers) + 2) * rows * rank * start[0].itemsize,
            f"stochastic descent of {rows:,} rows and rank {rank}",
            "lower the rank, or use Adagrad with one sum per row (whole_rows)",
        )
        self.objective, self.rule, self.rng, self.rate = objective, rule, rng, zeros
        U = np.concatenate(start)
        self.T = kernels.table(U, *[np.zeros_like(U)] * (1 + rule.layers))
        self.U, self.dU = self.T[:, 0, :rank], self.T[:, 1, :rank]
        self.at = np.cumsum([0, *map(len, start)]).tolist()
        self.factors = [self.U[a:b] for a, b in zip(self.at, self.at[1:], strict=False)]
        self.batches = Batches(
            [part for number, term in enumerate(objective.terms) for part in parts_of(term, number)], batch
        )
        self.exact = [term for term in objective.terms if term.zero_weight]
        self.seen: dict[Slot, AnyArray] = dict(enumerate(self.factors))
        slots = range(len(start))
        self.importance = [stacked_importance(term, self.seen, slots) for term in objective.terms]
        # a refresh costs rows times rank squared, an epoch entries times rank: about half as much for the refreshes
        self.refreshes = int(np.clip(4 * self.batches.total / self.U.size, *REFRESHES))
        self.pull = np.zeros_like(U[: len(U) if self.exact else 0])
        self.penalties, self.others = _row_penalties(objective.penalties, self.factors)
        self.ridged = bool(self.penalties.ridge.any())
        self.zeros_of = zeros_of
        self.sample = [self._draw(part, min(len(part.values) * zeros, SAMPLE)) for part in self.batches.parts if zeros]
        self.stamp, self.now = np.zeros(rows, np.int64), 0
        self.paid, self.clock = np.zeros(rows, np.int64), 0

    def sweeps(self) -> Iterator[Sweep]:
        """Yield the factors at the start and after each successful epoch."""
        state, pace, value = self.rule.start(self.T), 1.0, self.value()
        yield Sweep([u.copy() for u in self.factors], value)
        while pace >= MIN_PACE:
            before = self.T.copy(), state.copy()
            self.epoch(state, pace)
            reached = self.value()
            if reached <= value:
                value, pace = reached, min(1.0, pace * INCREASE)
                yield Sweep([u.copy() for u in self.factors], value)
                continue
            self.T[:], state[:] = before
            self.rule.forget(self.T)
            pace *= DECREASE

    def epoch(self, state: AnyArray, pace: float) -> None:
        """Run one epoch, with a gradient step for each batch."""
        steps = self.batches.steps
        paces = self.U.dtype.type(pace) * self.scales()
        for step, parts in enumerate(self.batches.epoch(self.rng)):
            if self.exact and step % max(1, steps // self.refreshes) == 0:
                self.refresh()
            touched = self.gradient(parts, last=step + 1 == steps)
            self.rule.move(touched, self.penalties, self.T, state, pace=paces, rank=self.U.shape[1])

    def gradient(self, parts: list[Part], *, last: bool) -> kernels.Touched:
        """Add the gradient of a batch and of the penalties of its rows, or of all if ``last``; return the rows."""
        rows = np.empty(0, np.int64)
        self.now += 1
        self.clock += sum(len(part.values) for part in parts)
        drawn = [self._draw(part, len(part.values) * self.rate) for part in parts if self.rate]
        for part in [*parts, *drawn]:
            offsets = [self._at(slot) for slot in part.slots]
            rows = kernels.touch_rows(part.indices, offsets, stamp=self.stamp, now=self.now, rows=rows)
            self._add_part(part, offsets)
        if last and (self.exact or self.others or self.ridged or self.penalties.lasso.any()):
            rows = np.concatenate([rows, np.flatnonzero((self.paid < self.clock) & (self.stamp != self.now))])
        shares = ((self.clock - self.paid[rows]) / self.batches.total).astype(self.U.dtype)
        self.paid[rows] = self.clock
        touched = kernels.Touched(rows, shares)
        if self.exact or self.ridged:
            kernels.pull_rows(touched, self.penalties.ridge, self.pull, self.T)
        for slot in self.others:
            mine = (rows >= self.at[slot]) & (rows < self.at[slot + 1])
            grad = self.objective.penalties[slot].grad(self.U[rows[mine]])
            self.dU[rows[mine]] += shares[mine, None] * grad
        return touched

    def scales(self) -> AnyArray:
        """Return the root mean square of the factor to which each row belongs; 1 if the factor is zero."""
        sizes = [float(np.sqrt(np.mean(np.square(u, dtype=float)))) or 1.0 for u in self.factors]
        return np.repeat(np.array(sizes, self.U.dtype), [len(u) for u in self.factors])

    def refresh(self) -> None:
        """Recompute the gradient of the loss over all zero cells."""
        self.pull[:] = 0
        for term in self.exact:
            for slot, gradient in _all_zero(term, self.seen)[1]:
                start = self._at(slot)
                self.pull[start : start + len(gradient)] += gradient

    def value(self) -> float:
        """Compute the objective, including the loss of a fixed sample of zeros."""
        value = sum(penalty.value(u) for penalty, u in zip(self.objective.penalties, self.factors, strict=True))
        value += sum(_all_zero(term, self.seen)[0] for term in self.exact)
        for part in self.batches.parts:
            value += sum(self._loss(part, block) for block in blocks(len(part.values)))
        for part, drawn in zip(self.batches.parts, self.sample, strict=False):
            value += max(1.0, len(part.values) * self.rate / SAMPLE) * self._loss(drawn, slice(None))
        return value

    def _at(self, slot: Slot) -> int:
        """Return the index of a factor's first row in the table of all factors."""
        assert isinstance(slot, int)  # validated before
        return self.at[slot]

    def _loss(self, part: Part, block: slice) -> float:
        m = self._predict(part._replace(indices=part.indices[block]), [self._at(slot) for slot in part.slots])
        return _losses(part, block, m)[0]

    def _draw(self, part: Part, number: float) -> Part:
        return self.zeros_of[part.number].draw(number, part, self.rng)

    def _add_part(self, part: Part, offsets: list[int]) -> None:
        if isinstance(part.loss, Squared):
            weights = np.ones(len(part.values), self.U.dtype) if part.weights is None else part.weights
            kernels.add_cp_squared(
                part.indices,
                part.values,
                weights,
                self.T,
                offsets=offsets,
                zero_weight=part.zero_weight,
                importance=self.importance[part.number],
                scale=part.scale,
            )
            return
        _, derivatives = _losses(part, slice(None), self._predict(part, offsets))
        kernels.add_cp_pullback(part.indices, derivatives, self.T, offsets=offsets)

    def _predict(self, part: Part, offsets: list[int]) -> AnyArray:
        return kernels.cp_predict(part.indices, self.T, offsets=offsets, threads=self.objective.threads)


def _row_penalties(penalties: tuple[Penalty, ...], factors: Factors) -> tuple[kernels.RowPenalties, list[int]]:
    """Return the penalties of each row, and the indices of factors whose penalties kernels do not support."""
    numbers, others = [], []
    for slot, penalty in enumerate(penalties):
        ridge, lasso = 0.0, 0.0
        if isinstance(penalty, L2):
            ridge = penalty.strength
        elif isinstance(penalty, L1):
            lasso = penalty.strength
        elif isinstance(penalty, NonNegative):
            lasso = penalty.l1
        else:
            others.append(slot)
        numbers.append((ridge, lasso, isinstance(penalty, NonNegative)))
    ridges, lassos, bounded = (
        np.repeat(np.array(column), [len(u) for u in factors]) for column in zip(*numbers, strict=True)
    )
    kind = factors[0].dtype
    return kernels.RowPenalties(ridges.astype(kind), lassos.astype(kind), bounded.astype(bool)), others
