r"""Non-negative CP decomposition of counts with Poisson likelihood.

CP-APR (alternating Poisson regression) with multiplicative updates. If the columns of all other modes sum to one,
:math:`B = A_n \Lambda` of mode n minimizes the convex function :math:`\sum B - \sum_e x_e \log m_e`, and the update
:math:`B \leftarrow B * \Phi` never increases it, where
:math:`\Phi_{ir} = \sum_{e:\, e_n = i} (x_e / m_e) \prod_{d \ne n} A^{(d)}_{e_d r}`. At the optimum :math:`\Phi` is 1
where B is positive, and at most 1 where B is zero.

Rows of the products are computed fibre by fibre while the entries are read; the published algorithm stores one row per
entry.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY
from functools import partial
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from polyadic.core.entries import Entries, blocks
from polyadic.core.errors import InputError, check_int, check_number
from polyadic.core.forms import CP, Factors
from polyadic.core.losses import Poisson
from polyadic.core.model import Count
from polyadic.core.objective import Objective, Term, slot_factors, stacked
from polyadic.core.penalties import NonNegative
from polyadic.core.resources import check_memory
from polyadic.core.solvers.run import Sweep, run
from polyadic.embedding import Embedding
from polyadic.words.base import SMALLER, IterativeModel, listed
from polyadic.words.kernels import cp_poisson

if TYPE_CHECKING:
    from numpy.typing import DTypeLike, NDArray


class PoissonCP(IterativeModel):
    r"""Non-negative CP decomposition of counts: a mixture of components with a word distribution in every mode.

    .. math:: x_e \sim \mathrm{Poisson}(m_e), \qquad m_e = \sum_r \lambda_r \prod_d A^{(d)}_{e_d r}, \qquad
              \lambda, A \ge 0, \quad \sum_i A^{(d)}_{ir} = 1

    :math:`\lambda_r` is the number of counted tuples that component r explains, and :math:`A^{(d)}_{ir}` the
    probability of word i in place d of such a tuple, so this is a topic model of tuples. It needs raw counts, not
    association scores.

    Parameters
    ----------
    rank : int
        Number of components.
    inner : int
        Number of updates of each mode before the next mode is updated. See :func:`~polyadic.words.poisson.apr`. With
        equal work on counted text, 1 and 2 reached a better fit than 3, 5 and 10.

    Attributes
    ----------
    factors_ : list of ndarray of shape (size of the mode, rank)
        :math:`A^{(d)}`, one per mode.
    weights_ : ndarray of shape (rank,)
        :math:`\lambda` in decreasing order.
    history_ : list of float
        The divergence :math:`\sum m - x + x \log(x / m)` over all cells, at the start and after each sweep.

    References
    ----------
    Chi, Kolda (2012), On tensors, sparsity, and nonnegative factorizations, section 3 and algorithms 2 and 3.
    arXiv:1112.2414.

    Examples
    --------
    >>> from polyadic.core.entries import Entries
    >>> x = Entries.collect([[0, 1, 2], [3, 4, 5]], [4.0, 2.0], 6)
    >>> model = PoissonCP(2, seed=1).fit(x)
    >>> model.weights_.round(1).tolist()
    [24.0, 12.0]
    >>> sorted(word for word, _ in model.components(["sun", "moon", "star", "actor", "film", "role"], top=3)[1])
    ['actor', 'film', 'role']
    """

    rank: Count = 100
    _: KW_ONLY
    max_iter: Count = 100
    inner: Count = 2

    def fit(self, entries: Any) -> Self:
        """Factorize counts of order two or more, Entries or an array or sparse array.

        They are such as :attr:`polyadic.text.counts.Counts.entries`. A symmetric list stands for all permutations of
        its tuples. Every mode has a factor of its own; those of counted text come out similar. InputError is raised if
        there are no counts, a count is negative, or a setting is out of range.
        """
        self.check()
        entries = listed(entries, remedy="lower min_count")
        if not entries.values.any():
            raise InputError("all counts are zero, so there is nothing to factorize")
        rows, largest = sum(entries.shape), max(entries.shape)
        copied = 4 if entries.symmetric else 4 + 8 + entries.indices.itemsize * entries.order  # sorted, with an order
        needed = 4.0 * self.rank * (5 * rows + (2 * self._threads + 3) * largest) + float(copied) * len(entries)
        sizes = " x ".join(f"{n:,}" for n in entries.shape)
        check_memory(needed, f"a model of {len(entries):,} counts, {sizes}, and rank {self.rank}", SMALLER)
        term = Term(entries, CP(), Poisson(), tuple(range(entries.order)), zero_weight=1.0)
        objective = Objective([term], [NonNegative()] * entries.order, threads=self.threads)
        solver = apr(objective, _start(entries, self.rank, np.random.default_rng(self.seed)), inner=self.inner)
        factors = self._keep(run(solver, max_iter=self.max_iter, tol=self.tol, callback=self.callback))
        sums = np.array([u.sum(axis=0, dtype=float) for u in factors])
        falling = np.argsort(-sums.prod(axis=0), kind="stable")
        self.weights_ = sums.prod(axis=0)[falling]
        whole = np.where(sums > 0, sums, 1).astype(np.float32)
        self.factors_ = [(u / s)[:, falling] for u, s in zip(factors, whole, strict=True)]
        return self

    def components(
        self, words: Sequence[str], *, top: int = 10, mode: int | None = None
    ) -> list[list[tuple[str, float]]]:
        """Return the ``top`` words of each component with their probabilities, heaviest component first.

        ``words`` is the vocabulary of the mode with the index ``mode``. By default probabilities are the means of all
        modes, which must then have the same vocabulary.
        """
        A = self._factor(words, mode)
        check_int("top", top, low=1)
        best = np.argsort(-A, axis=0, kind="stable")[:top].T
        return [[(words[i], float(A[i, r])) for i in rows] for r, rows in enumerate(best.tolist())]

    def embedding(
        self, words: Sequence[str], *, counts: NDArray[np.integer] | None = None, mode: int | None = None
    ) -> Embedding:
        r"""Return word vectors, the square roots of each word's weighted component probabilities, as an Embedding.

        The squared elements :math:`\lambda_r A_{ir}` are proportional to the probabilities of the components given the
        word. So the cosine of two words is the Bhattacharyya coefficient :math:`\sum_r \sqrt{p_r q_r}` of these
        distributions, which is 1 if they are equal. If all modes contain words, their mean gives more stable vectors
        than a single mode. ``words`` and ``mode`` are as for :meth:`components`; ``counts`` are the frequencies of the
        words.
        """
        return Embedding(words, np.sqrt(self._factor(words, mode) * self.weights_).astype(np.float32), counts=counts)

    def _factor(self, words: Sequence[str], mode: int | None) -> NDArray[np.float64]:
        """Return the word probabilities of each component in one mode, or the mean over all modes."""
        if mode is not None:
            check_int("mode", mode, low=0, high=len(self.factors_) - 1)
        chosen = self.factors_ if mode is None else [self.factors_[mode]]
        if any(len(A) != len(words) for A in chosen):
            got = f"{len(words)} words for factors with {[len(A) for A in chosen]} rows: set mode to select one factor"
            raise InputError(f"words must contain one word for each row of the factor; got {got}", "words")
        return np.mean(chosen, axis=0, dtype=float)


def _start(entries: Entries, rank: int, rng: np.random.Generator) -> Factors:
    """Return random factors around the word frequencies, scaled to the total count, since ``tol`` is relative."""
    total = float(entries.values.sum(dtype=float)) * (math.factorial(entries.order) if entries.symmetric else 1)
    frequencies = [np.zeros(n) for n in entries.shape]
    for block in entries.blocks():
        for d, n in enumerate(entries.shape):
            frequencies[d] += np.bincount(entries.indices[block, d], weights=entries.values[block], minlength=n)
    if entries.symmetric:
        frequencies = [np.sum(frequencies, axis=0)] * entries.order
    start = [rng.random((len(f), rank)) * f[:, None] for f in frequencies]
    return [(u * (abs(total / rank) ** (1 / entries.order) / u.sum(axis=0))).astype(np.float32) for u in start]


GONE = 1e-16  # share of its column below which an element is set to zero, to avoid slow subnormal numbers


def apr(
    objective: Objective, start: Factors, *, inner: int = 10, kappa: float = 1e-10, inner_tol: float = 1e-4
) -> Iterator[Sweep]:
    r"""Fit a non-negative CP model to counts by alternating Poisson regression (CP-APR).

    The objective has one term with a CP form, a Poisson loss (its ``floor`` guards the division), a factor for each
    mode, ``zero_weight=1`` and penalties ``NonNegative()``; it never increases. A mode is skipped if no element of
    :math:`|\min(B, 1 - \Phi)|` exceeds ``inner_tol``; sweeps end when every mode is. One difference to the paper: an
    element stuck at zero although :math:`\Phi > 1` is raised to ``kappa`` times the sum of its column and grows by
    products from there, with the current :math:`\Phi`. The paper adds .01, which may increase the objective where
    columns are long.
    """
    check_int("inner", inner, low=1)
    check_number("kappa", kappa)
    check_number("inner_tol", inner_tol)
    model = _Model(_checked(objective), start, objective.threads)
    sweep, phi = model.measured()
    yield sweep
    while True:
        moved = False
        for n in range(len(model.modes)):
            B = model.modes[n]
            if n:  # the first mode was evaluated to measure the last sweep
                B *= model.weights.astype(B.dtype)
                _, phi = model.explain(mode=n)
            floor = (kappa * model.weights).astype(B.dtype)
            np.copyto(B, floor, where=(floor > B) & (phi > 1))  # raises what is stuck at zero
            for step in range(inner):
                if float(np.abs(np.minimum(B, 1 - phi)).max(initial=0)) <= inner_tol:
                    break
                moved = True
                B *= phi
                if step + 1 < inner:
                    _, phi = model.explain(mode=n)
            model.weights = model.normalized(n)
        if not moved:
            return
        sweep, phi = model.measured()
        yield sweep


class _Model:
    """State of CP-APR: normalized factor matrices, component weights, and the counts."""

    def __init__(self, term: Term, start: Factors, threads: int) -> None:
        self.term = term
        U, offsets = stacked(slot_factors([term], start), term.slots)
        if not (U >= 0).all():
            raise InputError(f"the initial factors for CP-APR must be non-negative; the smallest element is {U.min()}")
        U = np.array(U, order="C")
        self.modes = np.split(U, offsets[1:])  # views: what is written there is written to U
        indices, values = _in_fibres(term.entries, U.dtype)
        floor = term.loss.floor  # type: ignore[attr-defined]
        how: dict[str, Any] = {"offsets": offsets, "permuted": term.entries.symmetric, "threads": threads}
        self.explain = partial(cp_poisson, indices, values, U, floor=floor, **how)
        self.constant = _of_counts_alone(term.entries)
        self.weights = np.ones(U.shape[1])
        for n in range(len(self.modes)):
            self.weights = self.weights * self.normalized(n)

    def normalized(self, n: int) -> NDArray[np.float64]:
        """Normalize the columns of one factor matrix to sum to one, in place; return the previous sums."""
        u = self.modes[n]
        u[u < GONE * u.sum(axis=0)] = 0
        sums = u.sum(axis=0, dtype=float)
        u /= np.where(sums > 0, sums, 1).astype(u.dtype)
        return sums

    def measured(self) -> tuple[Sweep, NDArray[Any]]:
        r"""Return the factors with their objective, and :math:`\Phi` of the first mode, which contains the weights."""
        dtype = self.modes[0].dtype
        factors = [u * (self.weights ** (1 / len(self.modes))).astype(dtype) for u in self.modes]
        self.modes[0] *= self.weights.astype(dtype)
        log_likelihood, phi = self.explain(mode=0, measured=True)
        value = self.term.weight * (float(self.weights.sum()) - log_likelihood + self.constant)
        return Sweep([factors[self.term.slots.index(s)] for s in range(len(factors))], value), phi


def _checked(objective: Objective) -> Term:
    """Return the single term of an objective; raise InputError if CP-APR cannot fit the objective."""
    terms, penalties = objective.terms, objective.penalties
    if len(terms) != 1 or not (isinstance(terms[0].form, CP) and isinstance(terms[0].loss, Poisson)):
        raise InputError("CP-APR supports only a single CP term with Poisson loss; use quasi_newton for other models")
    term = terms[0]
    if len(set(term.slots)) < len(term.slots) or term.side_by_side:
        raise InputError(
            "CP-APR requires a separate factor for each mode, because updating a shared factor may increase the"
            " objective; for shared factors, use quasi_newton with Poisson loss"
        )
    if term.zero_weight != 1 or term.entries.weights is not None or term.importance:
        advice = "remove the entry weights and set zero_weight=1, or use quasi_newton"
        raise InputError(f"CP-APR does not support weights; {advice}", "zero_weight")
    if any(penalty != NonNegative() for penalty in penalties):
        raise InputError(
            "CP-APR requires the penalty NonNegative() for each factor; use quasi_newton for other penalties"
        )
    x = term.entries.values
    if len(x) and x.min() < 0:
        raise InputError(f"counts must not be negative; entry {int(np.argmin(x))} is {x.min()}")
    return term


def _in_fibres(entries: Entries, dtype: DTypeLike) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the entry indices sorted by fibre, and the values, scaled down for tuples with repeated indices."""
    if not entries.symmetric:
        order = np.lexsort(entries.indices.T[::-1])
        return entries.indices.T[:, order].T, entries.values[order].astype(dtype)
    values = entries.values.astype(dtype)
    if _repeats(entries):
        values *= (entries.multiplicity() / math.factorial(entries.order)).astype(dtype)
    return entries.indices, values


def _of_counts_alone(entries: Entries) -> float:
    """Return the part of the Poisson log-likelihood that depends only on the counts, the sum of ``x log x - x``."""
    from scipy.special import xlogy

    copies = entries.multiplicity() if _repeats(entries) else None
    total = 0.0
    for block in blocks(len(entries)):
        x = entries.values[block].astype(float)
        total += float(((xlogy(x, x) - x) * (1 if copies is None else copies[block])).sum())
    return total if copies is not None or not entries.symmetric else total * math.factorial(entries.order)


def _repeats(entries: Entries) -> bool:
    """Return whether any tuple of a symmetric tensor contains an index more than once."""
    columns = entries.indices.T
    return entries.symmetric and any((columns[d] == columns[d - 1]).any() for d in range(1, entries.order))
