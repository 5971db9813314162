"""Completion of a matrix by two factors and biases, found by stochastic gradient descent over the known cells."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from polyadic.errors import InputError
from polyadic.models.base import Amount, Count, Positive
from polyadic.models.completion.factorization import MatrixFactorization
from polyadic.solvers.sgd import Steps, descend_cells

if TYPE_CHECKING:
    from collections.abc import Iterator

    from polyadic.models.completion.cells import Cells
    from polyadic.solvers.run import Sweep


class StochasticMatrixFactorization(MatrixFactorization):
    r"""The model of :class:`~polyadic.models.completion.factorization.MatrixFactorization`, by another way.

    Each known cell in turn pulls at its row and column; penalties are due at each cell, which is what ``count_power=1``
    says there. It needs no equations to be solved, but many more sweeps, and steps that fit the data.

    Parameters
    ----------
    rank, ridge, bias_ridge
        As those of :class:`~polyadic.models.completion.factorization.MatrixFactorization`.
    step, decay : float
        Sweep :math:`t` from 0 takes steps of :math:`\eta / (1 + d t)`; with :math:`d = 0` it does not settle.
    max_iter, tol, seed, threads, watch
        As there; only ``transform`` has work for threads.

    References
    ----------
    Koren, Bell, Volinsky (2009), Matrix factorization techniques for recommender systems.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> x = np.outer(rng.standard_normal(30), rng.standard_normal(20))
    >>> known = np.where(rng.random(x.shape) < 0.5, x, np.nan)
    >>> model = StochasticMatrixFactorization(1, ridge=1e-4, max_iter=200, tol=0, seed=0).fit(known)
    >>> i, j = np.nonzero(np.isnan(known))
    >>> bool(np.abs(model.predict(i, j) - x[i, j]).mean() < 0.1)
    True
    """

    count_power: ClassVar[float] = 1.0  # type: ignore[misc] # no setting here: penalties are due at each cell
    step: Positive = 0.02
    decay: Amount = 0.02
    max_iter: Count = 200

    def check(self) -> None:
        """Refuse settings out of range, and steps too long for the penalties."""
        super().check()
        if self.step * max(self.ridge, self.bias_ridge) >= 1:
            raise InputError(f"a step of {self.step:g} with these penalties turns factors around; take a shorter one")

    def _sweeps(self, cells: Cells) -> Iterator[Sweep]:
        rng = np.random.default_rng(self.seed)
        start = [np.zeros((size, self.rank + 1)) for size in cells.shape]
        for F in start:
            F[:, :-1] = 0.1 * rng.standard_normal((len(F), self.rank))
        listed = cells.rows, cells.columns, cells.values
        return descend_cells(
            listed,
            start,
            ridges=self._ridges(),
            objective=lambda U, V: self._objective(cells, U, V),
            steps=Steps(self.step, self.decay),
            rng=rng,
        )
