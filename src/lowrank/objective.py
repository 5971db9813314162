"""Objectives: losses of listed entries, and of all cells, over shared factors."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from lowrank import kernels, resources
from lowrank.errors import InputError, check_int, check_number
from lowrank.forms import CP, Factors, Form
from lowrank.losses import Loss, Squared

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from lowrank.data import Entries
    from lowrank.penalties import Penalty

BATCH = 4096
"""Entries whose predictions are held at once on the general path."""


@dataclass(frozen=True, eq=False)
class Term:
    r"""One table of observations explained by some of the factors.

    .. math:: \alpha \Big[ \sum_{e\ \mathrm{listed}} w_e\, \ell(x_e, m_e)
              + \tfrac{z}{2} \sum_{c\ \mathrm{unlisted}} m_c^2 \Big]

    The second sum, over the cells that are not listed and count as zeros, is exact and costs nothing per cell: it is
    the sum over all cells, which Gram matrices give (:meth:`lowrank.forms.CP.all_cells`), less that over the listed.
    A symmetric entry stands for all its permutations.

    Parameters
    ----------
    entries : Entries
        The observations :math:`x_e` and weights :math:`w_e`.
    form : Form
        How :math:`m_e` comes from factors.
    loss : Loss
        :math:`\ell`.
    slots : tuple of int
        Which factor explains each mode; a factor named twice is shared.
    weight : float
        :math:`\alpha`.
    zero_weight : float
        :math:`z`; 0 if unlisted cells say nothing, 1 for plain least squares.

    Raises
    ------
    InputError
        If the slots do not fit, or zeros are weighted where the cells are missing or the loss is not squared.
    """

    entries: Entries
    form: Form
    loss: Loss
    slots: tuple[int, ...]
    weight: float = 1.0
    zero_weight: float = 0.0

    def __post_init__(self) -> None:
        check_number("weight", self.weight)
        check_number("zero_weight", self.zero_weight)
        if len(self.slots) != self.entries.order:
            raise InputError(f"slots must name a factor per mode; got {self.slots} for order {self.entries.order}")
        if self.entries.symmetric and len(set(self.slots)) > 1:
            raise InputError(f"symmetric entries share one factor; got slots {self.slots}")
        if self.zero_weight and self.entries.unlisted == "missing":
            raise InputError("zero_weight must be 0 where unlisted entries are missing")
        if self.zero_weight and not (isinstance(self.form, CP) and isinstance(self.loss, Squared)):
            raise InputError("zero_weight needs the squared loss and a CP form; use sampled zeros for others")
        if self.zero_weight and not self.entries.symmetric and _lists_a_cell_twice(self.entries):
            raise InputError("zero_weight needs each cell to be listed once; add the values of cells listed twice")


class Objective:
    r"""Sum of terms and penalties, :math:`f(U_1, \dots) = \sum_t \mathrm{term}_t + \sum_k \mathrm{penalty}_k(U_k)`.

    Parameters
    ----------
    terms : sequence of Term
        They may share factors.
    penalties : sequence of Penalty
        One per factor.
    threads : int, optional
        Threads for the compiled path; all cores by default.
    compiled : bool
        Use the fused kernel where it applies (symmetric CP, squared loss); the general path gives the same result.

    Examples
    --------
    >>> from lowrank.data import Entries
    >>> from lowrank.penalties import L2
    >>> x = Entries.collect([[0, 1], [1, 1]], [2.0, 1.0], 2)
    >>> f = Objective([Term(x, CP(), Squared(), (0, 0), zero_weight=1.0)], [L2()])
    >>> f.value([np.array([[1.0], [1.0]])])
    1.5
    """

    def __init__(
        self,
        terms: Sequence[Term],
        penalties: Sequence[Penalty],
        *,
        threads: int | None = None,
        compiled: bool = True,
    ) -> None:
        self.terms = tuple(terms)
        self.penalties = tuple(penalties)
        self.threads = resources.cores() if threads is None else check_int("threads", threads, low=1)
        named = {slot for term in self.terms for slot in term.slots}
        if named != set(range(len(self.penalties))):
            raise InputError(f"penalties must be one per factor; got {len(self.penalties)} for slots {sorted(named)}")
        self._parts = [part for term in self.terms for part in _equal_multiplicity(term)]
        self._compiled = compiled

    def value(self, factors: Factors) -> float:
        """Give the objective."""
        return self.value_and_gradient(factors)[0]

    def value_and_gradient(self, factors: Factors) -> tuple[float, Factors]:
        """Give the objective and the gradient of all of it that is smooth, one array per factor."""
        for term in self.terms:
            _check_fit(term, factors)
        value = 0.0
        gradients = [penalty.grad(u) for penalty, u in zip(self.penalties, factors, strict=True)]
        for term, copies in self._parts:
            fast = self._compiled and _is_cp_squared(term)
            loss, more = self._fused(term, copies, factors) if fast else _listed(term, copies, factors)
            value += loss
            _add(gradients, term.slots, more)
        for term in self.terms:
            if term.zero_weight:
                total, pullback = CP().all_cells([factors[s] for s in term.slots])
                value += 0.5 * term.weight * term.zero_weight * total
                _add(gradients, term.slots, pullback(0.5 * term.weight * term.zero_weight))
        value += sum(penalty.value(u) for penalty, u in zip(self.penalties, factors, strict=True))
        return value, gradients

    def _fused(self, term: Term, copies: int, factors: Factors) -> tuple[float, Factors]:
        entries = term.entries
        value, gradient = kernels.cp_squared(
            entries.indices,
            entries.values,
            entries.weights,
            factors[term.slots[0]],
            zero_weight=term.zero_weight,
            scale=term.weight * copies,
            threads=self.threads,
        )
        return value, [gradient]


def _check_fit(term: Term, factors: Factors) -> None:
    """Refuse factors that are no matrices of one rank with a row per index: compiled loops would read beyond them."""
    shapes = [factors[s].shape for s in term.slots]
    if any(len(s) != 2 or s[0] != n or s[1] != shapes[0][1] for s, n in zip(shapes, term.entries.shape, strict=True)):
        raise InputError(f"entries of shape {term.entries.shape} need a factor row per index; got factors of {shapes}")


def _lists_a_cell_twice(entries: Entries) -> bool:
    """Whether two entries share all indices; symmetric entries never do."""
    order = np.lexsort(entries.indices.T)
    return bool((entries.indices[order][1:] == entries.indices[order][:-1]).all(axis=1).any())


def _is_cp_squared(term: Term) -> bool:
    return (
        term.entries.symmetric
        and term.entries.order > 1
        and isinstance(term.form, CP)
        and isinstance(term.loss, Squared)
    )


def _equal_multiplicity(term: Term) -> list[tuple[Term, int]]:
    """Split a term so that all entries of a part stand for equally many permutations."""
    entries = term.entries
    if not entries.symmetric:
        return [(term, 1)]
    columns = entries.indices.T
    if not any((columns[d] == columns[d - 1]).any() for d in range(1, entries.order)):
        return [(term, math.factorial(entries.order))]
    multiplicity = entries.multiplicity()
    parts = []
    for copies in np.unique(multiplicity):
        of = np.flatnonzero(multiplicity == copies)
        weights = None if entries.weights is None else entries.weights[of]
        part = replace(entries, indices=columns[:, of].T, values=entries.values[of], weights=weights)
        parts.append((replace(term, entries=part), int(copies)))
    return parts


def _listed(term: Term, copies: int, factors: Factors) -> tuple[float, Factors]:
    """Loss of the listed entries less their share of the all-cells sum; one gradient per mode."""
    entries, mine = term.entries, [factors[s] for s in term.slots]
    value, gradients = 0.0, [np.zeros_like(u) for u in mine]
    for start in range(0, len(entries), BATCH):
        batch = slice(start, start + BATCH)
        x: NDArray[Any] = entries.values[batch].astype(mine[0].dtype)
        w = 1.0 if entries.weights is None else entries.weights[batch]
        m, pullback = term.form(mine, entries.indices[batch])
        scale = term.weight * copies
        value += scale * float(np.sum(w * term.loss.value(x, m) - 0.5 * term.zero_weight * m**2, dtype=float))
        derivatives = scale * (w * term.loss.grad(x, m) - term.zero_weight * m)
        for d, more in enumerate(pullback(derivatives.astype(m.dtype))):
            gradients[d] += more
    return value, gradients


def _add(gradients: Factors, slots: tuple[int, ...], more: Factors) -> None:
    for slot, gradient in zip(slots, more, strict=False):  # the fused kernel adds over modes itself
        gradients[slot] += gradient
