"""Factors of truth values: logistic factorization, of labels or of true things alone."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from polyadic.data import Entries
from polyadic.errors import InputError
from polyadic.forms import CP
from polyadic.losses import Logistic
from polyadic.models.base import Amount, Count, Seed, Threads, Watch
from polyadic.models.completion.cells import Cells, cells_of
from polyadic.models.completion.recommending import Recommending
from polyadic.objective import Objective, Term
from polyadic.penalties import L2
from polyadic.solvers.adaptive import Adagrad
from polyadic.solvers.quasi_newton import quasi_newton
from polyadic.solvers.run import run
from polyadic.solvers.stochastic import stochastic

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


class LogisticFactorization(Recommending):
    r"""Two factors whose products are log-odds of truth values.

    .. math:: \min \sum_{(i, j)\ \mathrm{listed}} \log(1 + e^{m_{ij}}) - x_{ij} m_{ij}
              + \tfrac{\lambda}{2} (\|U\|_F^2 + \|V\|_F^2), \qquad m_{ij} = u_i \cdot v_j

    Where only true things are listed, cells that are not listed are drawn as false ones, anew in each epoch: some for
    each listed cell, of its row, of its column (another subject of the same relation), or of all.

    Parameters
    ----------
    rank : int
    ridge : float
        :math:`\lambda`.
    negatives : float
        Unlisted cells drawn as zeros per listed cell; 0 if both labels are listed, and what is not is unknown.
    within : {"row", "column", "all"}
        Where they are drawn.
    max_iter, tol
        See :func:`~polyadic.solvers.run.run`; a sweep is a step of :func:`~polyadic.solvers.quasi_newton.quasi_newton`,
        or an epoch of :func:`~polyadic.solvers.stochastic.stochastic` if cells are drawn.
    seed : int, optional
        Of the random start, and of what is drawn.
    threads : int, optional
        All cores by default.
    watch : callable, optional
        Called with the :class:`~polyadic.solvers.run.Result` so far after each sweep.

    Attributes
    ----------
    row_factors_, column_factors_ : ndarray of shape (rows, rank) and (columns, rank)
    history_, n_iter_, converged_, interrupted_
        See :class:`~polyadic.models.base.Model`.

    References
    ----------
    Riedel, Yao, McCallum, Marlin (2013), Relation extraction with matrix factorization and universal schemas, section
    3. Johnson (2014), Logistic matrix factorization for implicit feedback data.

    Examples
    --------
    >>> x = np.kron(np.eye(2), np.ones((4, 4)))
    >>> x[0, 3] = np.nan
    >>> LogisticFactorization(2, seed=0).fit(x).predict([0, 0], [3, 4]).round().tolist()
    [1.0, 0.0]
    """

    rank: Count = 10
    _: KW_ONLY
    ridge: Amount = 0.1
    negatives: Amount = 0.0
    within: Literal["row", "column", "all"] = "row"
    max_iter: Count = 200
    tol: Amount = 1e-4
    seed: Seed = None
    threads: Threads = None
    watch: Watch = None

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit to listed labels.

        Parameters
        ----------
        X : Entries, sparse matrix or array with NaN for unknown cells, of shape (rows, columns)
            Zeros and ones; zeros that are listed are false.

        Raises
        ------
        InputError
            If a value is neither 0 nor 1, no true one is listed, only true ones are though none are drawn, or a
            parameter is out of range.
        """
        del y
        self.check()
        cells, rng = labelled(X), np.random.default_rng(self.seed)
        if not self.negatives and cells.values.all():
            raise InputError("only ones are listed, so all would be predicted true; draw negatives, or list zeros")
        start = [rng.standard_normal((size, self.rank)) / np.sqrt(self.rank) for size in cells.shape]
        objective = self._objective(cells)
        if self.negatives:
            beside = self.within != "all"
            rule: Any = Adagrad()
            solver = stochastic(objective, start, rule=rule, zeros=self.negatives, zeros_beside=beside, seed=rng)
        else:
            solver = quasi_newton(objective, start)
        result = run(solver, max_iter=self.max_iter, tol=self.tol, watch=self.watch)
        self.row_factors_, self.column_factors_ = self._keep(result)
        return self

    def predict(self, rows: ArrayLike, columns: ArrayLike) -> NDArray[Any]:
        """Give how likely cells are true; where cells were drawn, true rather than one of those drawn."""
        from scipy.special import expit

        return expit(super().predict(rows, columns))

    def _objective(self, cells: Cells) -> Objective:
        unlisted: Literal["zero", "missing"] = "zero" if self.negatives else "missing"
        turned = self.within == "column"  # the last mode is the one that is drawn
        listed = cells.turned() if turned else cells
        entries = Entries(listed.indices, listed.values, listed.shape, unlisted=unlisted)
        term = Term(entries, CP(), Logistic(), (1, 0) if turned else (0, 1))
        return Objective([term], [L2(self.ridge)] * 2, threads=self.threads)


def labelled(X: Any) -> Cells:
    """Take cells that are 0 or 1, one of them 1.

    Raises
    ------
    InputError
        If a value is another, or all are 0.
    """
    cells = cells_of(X)
    if len(other := cells.values[(cells.values != 0) & (cells.values != 1)]):
        raise InputError(f"labels are 0 or 1; got {other[0]:g} among {len(other):,} others")
    if not cells.values.any():
        raise InputError("every label is 0; there is nothing to learn from")
    return cells
