"""Factors that order the columns of a row: those listed before those that are not."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from polyadic.completion.cells import positive_cells
from polyadic.completion.recommending import Recommending, search_listed
from polyadic.core.errors import InputError
from polyadic.core.model import Amount, Callback, Count, Positive, Seed, Threads
from polyadic.core.solvers.run import run
from polyadic.core.solvers.sgd import Steps, descend_pairs

if TYPE_CHECKING:
    from polyadic.core.selection import SearchSpace

VALUES = {"ridge": (0.3, 0.1, 0.03, 0.01, 0.003, 0.001), "rank": (8, 32, 128, 256)}
"""What cells held out choose from."""


class PairwiseRanking(Recommending):
    r"""Bayesian personalised ranking: the product of a listed cell is to be larger than that of an unlisted one.

    .. math:: \min \sum_{(i, j)\ \mathrm{listed},\ (i, k)\ \mathrm{not}} -\log \sigma(u_i \cdot (v_j - v_k))
              + \tfrac{\lambda}{2} (\|u_i\|^2 + \|v_j\|^2 + \|v_k\|^2)

    by stochastic gradient descent over random pairs. In a universal schema, with a row for each pair of entities and a
    column for each relation, the unlisted cell is one of the same column: another pair, the same relation.

    Parameters
    ----------
    rank : int
    ridge : float
        :math:`\lambda`.
    negatives : int
        Unlisted cells drawn for each listed one in an epoch.
    within : {"row", "column"}
        Where they are drawn.
    step, decay : float
        Epoch :math:`t` from 0 takes steps of :math:`\eta / (1 + d t)`.
    max_iter, tol
        See :func:`~polyadic.core.solvers.run.run`; a sweep is an epoch.
    seed : int, optional
    threads : int, optional
        All cores by default; they do not change what comes out.
    callback : callable, optional
        Called with the :class:`~polyadic.core.solvers.run.Result` so far after each sweep.

    Attributes
    ----------
    row_factors_, column_factors_ : ndarray of shape (rows, rank) and (columns, rank)
    history_, n_iter_, converged_, interrupted_
        See :class:`~polyadic.core.model.Model`; the objective is that of one unlisted cell
        for each listed one, drawn once.

    References
    ----------
    Rendle, Freudenthaler, Gantner, Schmidt-Thieme (2009), BPR: Bayesian personalized ranking from implicit feedback,
    section 4.3.1. Riedel, Yao, McCallum, Marlin (2013), Relation extraction with matrix factorization and universal
    schemas, section 3.2, for columns.

    Examples
    --------
    >>> x = np.kron(np.eye(2), np.ones((6, 6)))
    >>> x[0, 3] = 0
    >>> model = PairwiseRanking(2, seed=0).fit(x)
    >>> model.recommend([0], 1, without=x).columns.tolist()
    [[3]]
    """

    rank: Count = 32
    _: KW_ONLY
    ridge: Amount = 0.01
    negatives: Count = 3
    within: Literal["row", "column"] = "row"
    step: Positive = 0.2
    decay: Amount = 0.1
    max_iter: Count = 100
    tol: Amount = 0.0
    seed: Seed = None
    threads: Threads = None
    callback: Callback = None

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit to what is listed.

        Parameters
        ----------
        X : Entries, sparse matrix or array, of shape (rows, columns)
            What is above 0 is listed, however large.

        Raises
        ------
        InputError
            If nothing is listed, or everything, a value is negative, or a parameter is out of range.
        """
        del y
        self.check()
        cells = positive_cells(X)
        cells = cells if self.within == "row" else cells.turned()
        if np.isin(np.diff(cells.starts), (0, cells.shape[1])).all():
            raise InputError(
                f"every cell is listed of each {self.within} that lists one; there is none to be ranked below"
            )
        rng = np.random.default_rng(self.seed)
        start = [0.1 * rng.standard_normal((size, self.rank)) for size in cells.shape]
        listed, steps = (cells.rows, cells.columns, cells.starts), Steps(self.step, self.decay)
        how: dict[str, Any] = {"negatives": self.negatives, "ridge": self.ridge, "threads": self._threads}
        solver = descend_pairs(listed, start, steps=steps, rng=rng, **how)
        factors = self._keep(run(solver, max_iter=self.max_iter, tol=self.tol, callback=self.callback))
        self.row_factors_, self.column_factors_ = factors if self.within == "row" else factors[::-1]
        return self

    def search(self, X: Any, *, seed: int | None = 0) -> SearchSpace:
        """Judge ridge and rank by a tenth of the cells: how early they are recommended, by row."""
        return search_listed(positive_cells(X), VALUES, seed=seed)
