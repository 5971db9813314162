"""Matrix factorization of implicit feedback, with unobserved cells as zeros of low weight."""

from __future__ import annotations

import math
import warnings
from dataclasses import KW_ONLY
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from polyadic.completion.base import AlternatingModel
from polyadic.completion.recommending import Recommender
from polyadic.core.annotations import AnyArray, Array, Ints
from polyadic.core.errors import InputWarning
from polyadic.core.executor import RowBlock, RowBlocks, get_executor
from polyadic.core.kernels import RowEntries, conjugate_rows, cp_predict, posterior_rows
from polyadic.core.model import Amount, Callback, Count, Positive, Seed, Threads

if TYPE_CHECKING:
    from polyadic.completion.cells import ObservedEntries

VANISHED = 0.01
"""Bound of the products of all factors, which should approach 1, below which they count as zero."""


class ImplicitFactorization(AlternatingModel, Recommender):
    r"""Matrix factorization of implicit feedback (weighted alternating least squares).

    .. math:: \min \sum_{(i, j)\ \mathrm{observed}} (1 + \alpha r_{ij} / \bar r) (1 - u_i \cdot v_j)^2
              + z \sum_{(i, j)\ \mathrm{unobserved}} (u_i \cdot v_j)^2
              + (1 + \alpha) \lambda (\|U\|_F^2 + \|V\|_F^2)

    with :math:`\bar r` the mean of the observed values, so that :math:`\alpha` does not depend on their unit. The
    second sum is exact at no extra cost: it is the sum over all cells, :math:`\langle U^\top U, V^\top V \rangle`,
    minus the observed ones. Values must not be negative; zeros, and NaN of an array, are unobserved. Rows, then
    columns, are solved for exactly or by a few conjugate gradient steps; neither increases the objective. For counts
    with a long tail, ``log1p(counts)`` gives slightly better results.

    Parameters
    ----------
    alpha : float
        Confidence :math:`\alpha` added for an observed cell of average value.
    zero_weight : float
        Weight :math:`z` of an unobserved cell. 1 in the paper.
    ridge : float
        Ridge penalty :math:`\lambda` on the factors, relative to the confidence of an average value.
    steps : int, optional
        Number of conjugate gradient steps, in single precision. None solves exactly, in double precision.

    Attributes
    ----------
    row_factors_, column_factors_, mean_ : ndarray of shape (rows, rank) and (columns, rank), float
        Factors, float32, or float64 if solved exactly; and mean :math:`\bar r` of the observed values.

    References
    ----------
    Hu, Koren, Volinsky (2008), Collaborative filtering for implicit feedback datasets, equations 3 to 5.
    Takács, Pilászy, Tikk (2011), Applications of the conjugate gradient method for implicit feedback collaborative
    filtering.

    Examples
    --------
    >>> heard = np.kron(np.eye(2), np.ones((4, 4)))
    >>> heard[0, 3] = 0
    >>> model = ImplicitFactorization(2, ridge=1.0, seed=0).fit(heard)
    >>> model.recommend([0], 1, without=heard).columns.tolist()
    [[3]]
    """

    rank: Count = 32
    _: KW_ONLY
    alpha: Amount = 4.0
    zero_weight: Positive = 1.0
    ridge: Positive = 6.0
    steps: Count | None = 3
    max_iter: Count = 50
    tol: Amount = 1e-3
    seed: Seed = None
    threads: Threads = None
    callback: Callback = None
    _grid: ClassVar[Any] = {
        "alpha": (0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0),
        "rank": (4, 8, 16, 32, 64, 128, 256),
        "ridge": (200.0, 60.0, 20.0, 6.0, 2.0, 0.6, 0.2, 0.06, 0.02),
    }

    def _fit(self, cells: ObservedEntries) -> Self:
        self.mean_ = float(cells.values.mean())
        self._learn(self._sweeps(cells), self.max_iter, self.tol)
        factors = self.row_factors_, self.column_factors_
        largest = math.prod(float(np.linalg.norm(F, axis=1).max()) for F in factors)
        if largest < VANISHED:
            text = f"all factors are nearly zero (products of at most {largest:.1g}); lower ridge (now {self.ridge:g})"
            warnings.warn(InputWarning(text, "ridge"), stacklevel=3)
        return self

    def _place(self, U: AnyArray, V: AnyArray) -> None:
        self.row_factors_, self.column_factors_ = U, V

    def _factors(self) -> tuple[AnyArray, AnyArray]:
        return self.row_factors_, self.column_factors_

    @property
    def _n_features_out(self) -> int:
        return int(self.column_factors_.shape[1])

    def _exactly(self, cells: ObservedEntries, V: AnyArray) -> AnyArray:
        U = posterior_rows(self._entries(cells), V, precision=self._precision(V), threads=self._threads)
        return U.astype(V.dtype, copy=False)

    def _row_equations(self, cells: ObservedEntries, V: AnyArray) -> tuple[RowEntries, AnyArray, AnyArray]:
        return self._entries(cells), V, self._precision(V)

    def _base(self, j: Ints) -> Array:
        return np.zeros(len(j))

    def _start(self, shape: tuple[int, int]) -> tuple[AnyArray, AnyArray]:
        rng = np.random.default_rng(self.seed)
        U, V = (np.zeros((size, self.rank), np.float64 if self.steps is None else np.float32) for size in shape)
        V[:] = rng.standard_normal(V.shape) / np.sqrt(self.rank)
        return U, V

    def _entries(self, cells: ObservedEntries, kind: Any = np.float64) -> RowEntries:
        c = 1 + self.alpha / self.mean_ * cells.values
        weights, right = (c - self.zero_weight).astype(kind), c.astype(kind)
        return RowEntries(cells.starts, cells.columns.astype(np.int32), weights, right)

    @property
    def _ridge(self) -> float:
        return (1 + self.alpha) * self.ridge

    def _precision(self, V: AnyArray) -> AnyArray:
        return self.zero_weight * (V.T @ V) + self._ridge * np.eye(V.shape[1])

    def _blocks(self, cells: ObservedEntries, kind: Any) -> RowBlocks:
        starts, columns, *listed = self._entries(cells, kind)
        return RowBlocks(RowBlock(starts, columns, tuple(listed)), cells.shape[1], get_executor(self._threads))

    def _solved(self, blocks: RowBlocks, V: AnyArray, U: AnyArray) -> AnyArray:
        return blocks.map(_solved_rows, V, given=(self._precision(V), self.steps), before=U)

    def _objective(self, cells: ObservedEntries, U: AnyArray, V: AnyArray) -> float:
        at = cells.indices
        m = cp_predict(at, np.concatenate([U, V]), offsets=[0, len(U)], threads=self._threads).astype(float)
        listed = (1 + self.alpha / self.mean_ * cells.values) @ (1 - m) ** 2 - self.zero_weight * (m @ m)
        grams = [(F.T @ F).astype(float) for F in (U, V)]
        return float(listed + self.zero_weight * np.vdot(*grams) + self._ridge * sum(np.trace(G) for G in grams))


def _solved_rows(block: RowBlock, V: AnyArray, given: Any, U: AnyArray, threads: int) -> AnyArray:
    """Solve for the rows of a factor given the other factor, exactly or by conjugate gradient steps."""
    precision, steps = given
    entries = RowEntries(block.starts, block.columns, *block.listed)
    if steps is None:
        return posterior_rows(entries, V, precision=precision, threads=threads)
    U = U.copy()
    conjugate_rows(entries, V, U, precision=precision, steps=steps, threads=threads)
    return U
