"""Objective functions: losses of observed entries and of all cells, with shared factors, plus penalties."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import permutations
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from polyadic.core import kernels, resources
from polyadic.core.annotations import AnyArray
from polyadic.core.entries import Entries, blocks
from polyadic.core.errors import InputError, check_number
from polyadic.core.executor import Sum, get_executor
from polyadic.core.forms import CP, Factors, Form
from polyadic.core.kernels.common import PARTS, thick_parts
from polyadic.core.losses import Loss, Squared

if TYPE_CHECKING:
    from polyadic.core.penalties import Penalty

COMPILE_SECONDS = 30.0  # seconds that the first call of a kernel may take to compile it
BATCH = 4096  # entries whose predictions are held at once for forms other than CP
MAX_PIECE = 1 << 21
"""Maximum number of entries of a piece, unless there are ``MAX_PIECES``: a fifth of a second at rank 300."""
MIN_PIECE = 1 << 14  # minimum number of entries of a piece: a millisecond
MAX_PIECES = 64  # maximum number of pieces of a term: each has its own gradient, and as many workers can share them

Slot = int | tuple[int, ...]
"""Index of a factor, or indices of several side by side."""


@dataclass(frozen=True, eq=False)
class Term:
    r"""Term of an objective: the weighted loss of one set of observations, modelled by some of the factors.

    .. math:: \alpha \Big[ \sum_{e\ \mathrm{listed}} w_e\, \ell(x_e, m_e)
              + \sum_{c\ \mathrm{unobserved}} z_c\, \ell(0, m_c) \Big], \qquad z_c = z \prod_d q_{c_d}

    The second sum, over cells that are not listed and count as zeros, is exact and costs nothing per cell. It is the
    sum over all cells minus that over the listed ones; the former has a closed form for a CP form with squared loss
    (:meth:`polyadic.core.forms.CP.all_cells`) or Poisson loss (:meth:`polyadic.core.forms.CP.total`). The importance
    :math:`q` of an index scales its row there. A symmetric entry stands for all its permutations.

    Parameters
    ----------
    entries : Entries
        Observations :math:`x_e` and weights :math:`w_e`.
    form : Form
        Form of the predictions :math:`m_e`.
    loss : Loss
        Loss :math:`\ell` of an entry.
    slots : tuple of int or of tuples of int
        Index of the factor that explains each mode; a repeated index is a shared factor. A tuple of indices puts
        several factors side by side: their columns explain the mode together.
    weight : float
        Weight :math:`\alpha` of the term.
    zero_weight : float
        Weight :math:`z` of cells that are not listed: 0 ignores them, 1 is plain least squares.
    importance : dict of int to ndarray, optional
        Importance :math:`q` by slot: a weight for each row of its factor in ``zero_weight``. Ones by default.

    Raises
    ------
    InputError
        If the slots do not fit, or zeros are weighted although cells are missing or form and loss have no closed form.
    """

    entries: Entries
    form: Form
    loss: Loss
    slots: tuple[Slot, ...]
    weight: float = 1.0
    zero_weight: float = 0.0
    importance: Mapping[Slot, AnyArray] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_number("weight", self.weight)
        check_number("zero_weight", self.zero_weight)
        if len(self.slots) != self.entries.order:
            raise InputError(
                f"slots must name one factor for each mode; got {self.slots} for order {self.entries.order}", "slots"
            )
        for slot, q in self.importance.items():
            sizes = {n for s, n in zip(self.slots, self.entries.shape, strict=True) if s == slot}
            if sizes != {len(q)} or q.ndim != 1 or not (np.isfinite(q).all() and (q >= 0).all()):
                raise InputError(
                    f"the importance of slot {slot} must contain a non-negative number for each row of its factor"
                )
        if self.zero_weight and self.entries.unobserved == "missing":
            raise InputError("zero_weight must be 0 if unobserved entries are treated as missing", "zero_weight")
        if self.zero_weight and not (isinstance(self.form, CP) and self.loss.zeros):
            raise InputError(
                "zero_weight requires a squared or Poisson loss and a CP form; otherwise, use sampled zeros",
                "zero_weight",
            )
        if self.zero_weight and not self.entries.symmetric:  # symmetric entries are distinct
            cells = self.entries.indices[np.lexsort(self.entries.indices.T)]
            if (cells[1:] == cells[:-1]).all(axis=1).any():
                raise InputError(
                    "zero_weight requires each cell to be listed only once; sum duplicates with Entries.collect",
                    "zero_weight",
                )

    @property
    def side_by_side(self) -> bool:
        """Whether any slot of the term combines several factors."""
        return not all(isinstance(slot, int) for slot in self.slots)


class Objective:
    r"""Sum of losses and penalties, :math:`f(U_1, \dots) = \sum_t \mathrm{term}_t + \sum_k \mathrm{penalty}_k(U_k)`.

    Parameters
    ----------
    terms : sequence of Term
        Terms, which may share factors.
    penalties : sequence of Penalty
        Penalty of each factor.
    threads : int, optional
        Number of threads for compiled kernels; all cores by default.
    compiled : bool
        Whether to use compiled kernels where they apply (CP forms); the numpy path gives the same result.
    within : callable, optional
        Progress callback, called with the completed share of an evaluation.

    Examples
    --------
    >>> from polyadic.core.entries import Entries
    >>> from polyadic.core.penalties import L2
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
        within: Callable[[float], None] | None = None,
    ) -> None:
        self.terms = tuple(terms)
        self.penalties = tuple(penalties)
        self.threads = resources.thread_count(threads)
        named = {number for term in self.terms for slot in term.slots for number in _numbers(slot)}
        if named != set(range(len(self.penalties))):
            raise InputError(
                f"penalties must contain one penalty per factor; got {len(self.penalties)} for slots {sorted(named)}",
                "penalties",
            )
        parts = [part for number, term in enumerate(self.terms) for part in parts_of(term, number)]
        self._pieces = [piece for part in parts for piece in _pieces(part, self.terms[part.number].entries.shape)]
        self._executor = get_executor(self.threads)
        self._held: Any = None
        self._compiled = compiled
        self._within = within

    def seconds(self, factors: Factors) -> float:
        """Measure the time of an evaluation in seconds; a short one is repeated, as the first may compile kernels."""
        for _ in range(2):
            start = time.perf_counter()
            self.value_and_gradient(factors)
            took = time.perf_counter() - start
            if took > COMPILE_SECONDS:
                break
        return took

    def value(self, factors: Factors) -> float:
        """Compute the value of the objective."""
        return self.value_and_gradient(factors)[0]

    def value_and_gradient(self, factors: Factors) -> tuple[float, Factors]:
        """Compute the objective, and the gradient of its smooth part as one array per factor."""
        seen = slot_factors(self.terms, factors)
        if self._held is None:
            self._held = self._executor.hold(
                [piece._replace(number=0) for piece in self._pieces], cost=lambda piece: work_of(piece.indices)
            )
        done = 0

        def advance() -> None:
            nonlocal done
            done += 1
            if self._within is not None:
                self._within(done / len(self._pieces))

        work = Evaluation(compiled=self._compiled)
        value, listed = self._executor.reduce(work, self._held, list(factors), callback=advance)
        gradients = [penalty.grad(u) for penalty, u in zip(self.penalties, factors, strict=True)]
        for gradient, part in zip(gradients, listed, strict=True):
            if part is not None:
                np.add(gradient, part, out=gradient)
        grams: dict[int, AnyArray] = {}
        for term in self.terms:
            if term.zero_weight:
                loss, more = _all_zero(term, seen, grams)
                value += loss
                for number, gradient in _by_factor(more, factors):
                    gradients[number] += gradient
        value += sum(penalty.value(u) for penalty, u in zip(self.penalties, factors, strict=True))
        return value, gradients


Seen = Mapping[Slot, AnyArray]
"""Factor matrix of each slot."""


def _numbers(slot: Slot) -> tuple[int, ...]:
    return (slot,) if isinstance(slot, int) else slot


def slot_factors(terms: Sequence[Term], factors: Factors) -> dict[Slot, AnyArray]:
    """Return the factor matrix of each slot; raise InputError if the shapes do not match the entries."""
    seen = _seen([slot for term in terms for slot in term.slots], factors)
    for term in terms:
        shapes = [seen[s].shape for s in term.slots]
        sizes = term.entries.shape
        if any(len(s) != 2 or s[0] != n or s[1] != shapes[0][1] for s, n in zip(shapes, sizes, strict=True)):
            raise InputError(
                f"the factor matrices must have {' and '.join(map(str, sizes))} rows, like the modes of the entries,"
                f" and equal rank; got shapes {shapes}"
            )
    return seen


def _seen(slots: Iterable[Slot], factors: Factors) -> dict[Slot, AnyArray]:
    seen: dict[Slot, AnyArray] = {}
    for slot in dict.fromkeys(slots):
        numbers = _numbers(slot)
        seen[slot] = factors[numbers[0]] if len(numbers) == 1 else np.hstack([factors[n] for n in numbers])
    return seen


class Fit(NamedTuple):
    r"""Goodness of fit, :math:`1 - \|X - M\| / \|X\|`; 0 if no better than predicting zeros."""

    listed: float  # over listed cells
    all_cells: float | None  # with unobserved ones as zeros; None where they are missing or have no closed form


def fit(term: Term, factors: Factors, *, threads: int | None = None) -> Fit:
    """Compute the goodness of fit of a term, without the weights of its entries."""
    threads = resources.thread_count(threads)
    seen = slot_factors([term], factors)
    size = product = error = 0.0
    for part in parts_of(replace(term, weight=1.0)):
        U, offsets = stacked(seen, part.slots)
        for block in blocks(len(part.values)):
            if isinstance(term.form, CP):
                m = kernels.cp_predict(part.indices[block], U, offsets=offsets, threads=threads).astype(float)
            else:
                m = term.form([seen[s] for s in part.slots], part.indices[block])[0].astype(float)
            x = part.values[block].astype(float)
            size += part.scale * float(x @ x)
            product += part.scale * float(x @ m)
            error += part.scale * float(np.sum((x - m) ** 2))
    if not size:
        raise InputError("all observed values are zero, so the goodness of fit is undefined")
    total = None
    if isinstance(term.form, CP) and term.entries.unobserved == "zero":
        squares, _ = CP().all_cells([seen[s] for s in term.slots])
        total = 1 - math.sqrt(max(size - 2 * product + squares, 0) / size)
    return Fit(1 - math.sqrt(error / size), total)


class Part(NamedTuple):
    """Part of the term ``number``: entries, loss and assignment of factors to modes, with the weight ``scale``."""

    indices: AnyArray
    values: AnyArray
    weights: AnyArray | None
    slots: tuple[Slot, ...]
    scale: float
    form: Form
    loss: Loss
    zero_weight: float
    importance: Mapping[Slot, AnyArray]
    number: int


FIBRE = 3.7
"""Cost of the gradient of a fibre (entries that share all indices but the last) relative to that of an entry; measured.
"""


def work_of(indices: AnyArray) -> float:
    """Estimate the cost of a gradient from the numbers of entries and fibres, in units of an entry of a fibre."""
    shared = indices[:, :-1]
    return float(len(indices) + FIBRE * np.count_nonzero((shared[1:] != shared[:-1]).any(axis=1)))


class Laid(NamedTuple):
    """Factors stacked in one matrix for the kernels, with the row offset of each mode and reusable buffers."""

    U: AnyArray
    offsets: list[int]
    spare: list[AnyArray]


class Evaluation:
    """Callable that evaluates a part of the objective and its gradient, with cached buffers."""

    def __init__(self, *, compiled: bool = True) -> None:
        self.compiled = compiled
        self._laid: dict[tuple[Slot, ...], Laid] = {}

    def __getstate__(self) -> dict[str, Any]:
        """Return the state to pickle, without the cached buffers."""
        return {"compiled": self.compiled, "_laid": {}}

    def __call__(self, part: Part, factors: Factors, threads: int) -> Sum:
        """Compute the value of one part of the objective, and its gradient with respect to each factor."""
        seen = _seen(part.slots, factors)
        fast = self.compiled and isinstance(part.form, CP)
        value, gradients = _compiled(part, seen, self._of(part, seen), threads) if fast else _listed(part, seen)
        total: list[AnyArray | None] = [None] * len(factors)
        for number, more in _by_factor(gradients, factors):
            before = total[number]
            total[number] = more if before is None else before + more
        return Sum(value, total)

    def _of(self, part: Part, seen: Seen) -> Laid:
        if part.slots not in self._laid:
            self._laid.setdefault(part.slots, Laid(*stacked(seen, part.slots), []))
        return self._laid[part.slots]


def parts_of(term: Term, number: int = 0) -> list[Part]:
    """Split a term into parts, each with a fixed assignment of factors to modes.

    An entry of a symmetric list stands for its permutations. Modes that share a factor may be exchanged, so only
    different arrangements of slots need a part of their own: one if all share, n! if none do.
    """
    entries = term.entries
    how: tuple[Any, ...] = (term.form, term.loss, term.zero_weight, term.importance, number)
    if not entries.symmetric:
        return [Part(entries.indices, entries.values, entries.weights, term.slots, term.weight, *how)]
    arrangements = Counter(permutations(term.slots))
    return [
        Part(*arrays, slots, term.weight * copies * times / math.factorial(entries.order), *how)
        for arrays, copies in _equal_multiplicity(entries)
        for slots, times in arrangements.items()
    ]


def pieces_of(n: int, rows: int) -> int:
    """Return the number of chunks to split ``n`` entries into, given the number of rows of the gradient."""
    most = max(PARTS, min(MAX_PIECES, -(-n // MAX_PIECE)))
    return thick_parts(n, rows, most=max(1, min(most, n // MIN_PIECE)))


def _pieces(part: Part, rows: Sequence[int]) -> Iterator[Part]:
    """Split a part into chunks of entries, given the length of each mode."""
    tall = sum(dict(zip(part.slots, rows, strict=True)).values())
    for piece in blocks(len(part.values), max(1, -(-len(part.values) // pieces_of(len(part.values), tall)))):
        weights = None if part.weights is None else part.weights[piece]
        yield part._replace(indices=part.indices[piece], values=part.values[piece], weights=weights)


Listed = tuple[AnyArray, AnyArray, AnyArray | None]
"""Indices, values and weights."""


def _equal_multiplicity(entries: Entries) -> Iterator[tuple[Listed, int]]:
    """Yield groups of symmetric entries that have the same number of distinct permutations."""
    columns, values, weights = entries.indices.T, entries.values, entries.weights
    if not any((columns[d] == columns[d - 1]).any() for d in range(1, entries.order)):
        yield (columns.T, values, weights), math.factorial(entries.order)
        return
    copies = entries.multiplicity()
    for number in np.unique(copies):
        of = np.flatnonzero(copies == number)
        yield (columns[:, of].T, values[of], None if weights is None else weights[of]), int(number)


Gradients = list[tuple[Slot, AnyArray]]
"""Slots, and what to add to the gradients of their factors."""


def _all_zero(term: Term, seen: Seen, grams: dict[int, AnyArray] | None = None) -> tuple[float, Gradients]:
    """Return the loss and gradient of all cells, as if every observed value were zero."""
    squares = term.loss.zeros == "squares"
    scale = term.weight * term.zero_weight * (0.5 if squares else 1)
    scales: dict[Slot, AnyArray] = {
        s: (np.sqrt(q) if squares else q).astype(seen[s].dtype)[:, None] for s, q in term.importance.items()
    }
    weighed = {s: seen[s] * scales[s] if s in scales else seen[s] for s in term.slots}
    mine = [weighed[s] for s in term.slots]
    if squares:  # the cache is keyed by identity, so not for temporaries
        total, pullback = CP().all_cells(mine, None if scales else grams)
    else:
        total, pullback = CP().total(mine)
    gradients = zip(term.slots, pullback(scale), strict=True)
    return scale * total, [(s, g * scales[s] if s in scales else g) for s, g in gradients]


def _compiled(part: Part, seen: Seen, laid: Laid, threads: int) -> tuple[float, Gradients]:
    """Return loss and gradient of the observed entries of a CP model, less their share in the loss of all zeros."""
    U, offsets, spare = laid
    if isinstance(part.loss, Squared):
        value, gradient = kernels.cp_squared(
            part.indices,
            part.values,
            part.weights,
            U,
            offsets=offsets,
            zero_weight=part.zero_weight,
            importance=stacked_importance(part, seen, part.slots),
            scale=part.scale,
            threads=threads,
            spare=spare,
        )
    else:
        derivatives = kernels.cp_predict(part.indices, U, offsets=offsets, threads=threads)
        value = 0.0
        for block in blocks(len(part.values)):
            more, derivatives[block] = _losses(part, block, derivatives[block])
            value += more
        gradient = kernels.cp_pullback(part.indices, derivatives, U, offsets=offsets, threads=threads, spare=spare)
    starts = dict(zip(part.slots, offsets, strict=True))
    return value, [(slot, gradient[at : at + len(seen[slot])]) for slot, at in starts.items()]


def stacked(seen: Seen, slots: Sequence[Slot]) -> tuple[AnyArray, list[int]]:
    """Return the factors stacked in one matrix, and the row offset of each mode."""
    named = list(dict.fromkeys(slots))
    starts = np.cumsum([0, *(len(seen[s]) for s in named)]).tolist()
    U = seen[named[0]] if len(named) == 1 else np.concatenate([seen[s] for s in named])
    return U, [starts[named.index(s)] for s in slots]


def stacked_importance(of: Term | Part, seen: Seen, slots: Sequence[Slot]) -> AnyArray | None:
    """Return the importance weight of each row of the stacked factors, or None if all weights are one."""
    if not of.importance:
        return None
    return np.concatenate([of.importance.get(s, np.ones(len(seen[s]))) for s in dict.fromkeys(slots)])


def _listed(part: Part, seen: Seen) -> tuple[float, Gradients]:
    """Compute what :func:`_compiled` does with numpy, for any model form."""
    mine = [seen[s] for s in part.slots]
    value, gradients = 0.0, [np.zeros_like(u) for u in mine]
    for batch in blocks(len(part.values), BATCH):
        m, pullback = part.form(mine, part.indices[batch])
        more, derivatives = _losses(part, batch, m)
        value += more
        for d, gradient in enumerate(pullback(derivatives)):
            gradients[d] += gradient
    return value, list(zip(part.slots, gradients, strict=True))


def _losses(part: Part, batch: slice, m: AnyArray) -> tuple[float, AnyArray]:
    """Return the loss of a batch of entries and its derivatives with respect to the predictions."""
    loss, z = part.loss, part.zero_weight
    x = part.values[batch].astype(m.dtype)
    w = m.dtype.type(1) if part.weights is None else part.weights[batch].astype(m.dtype)
    losses, derivatives = w * loss.value(x, m), w * loss.grad(x, m)
    if z:
        zeros = np.full(len(x), z)
        for index, slot in zip(part.indices[batch].T, part.slots, strict=True):
            if slot in part.importance:
                zeros *= part.importance[slot][index]
        zeros, zero = zeros.astype(m.dtype), np.zeros_like(x)
        losses -= zeros * loss.value(zero, m)
        derivatives -= zeros * loss.grad(zero, m)
    return part.scale * float(np.sum(losses, dtype=float)), derivatives * m.dtype.type(part.scale)


def _by_factor(gradients: Gradients, factors: Factors) -> Iterator[tuple[int, AnyArray]]:
    """Split the gradient of each slot by factor, and yield the index and gradient of each factor."""
    for slot, gradient in gradients:
        at = 0
        for number in _numbers(slot):
            width = factors[number].shape[1]
            yield number, gradient[:, at : at + width]
            at += width
