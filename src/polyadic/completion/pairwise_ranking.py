"""Matrix factorization for ranking, fitted to pairs of observed and unobserved cells."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np

from polyadic.completion.recommending import Recommender
from polyadic.core.errors import InputError
from polyadic.core.model import Amount, Callback, Count, Positive, Seed, Threads
from polyadic.core.solvers.sgd import LearningRate, descend_pairs

if TYPE_CHECKING:
    from polyadic.completion.cells import ObservedEntries


class PairwiseRanking(Recommender):
    r"""Matrix factorization by Bayesian personalised ranking (BPR).

    .. math:: \min \sum_{(i, j)\ \mathrm{observed},\ (i, k)\ \mathrm{not}} -\log \sigma(u_i \cdot (v_j - v_k))
              + \tfrac{\lambda}{2} (\|u_i\|^2 + \|v_j\|^2 + \|v_k\|^2)

    by stochastic gradient descent over random pairs of an observed and an unobserved cell. Cells with a positive value
    are observed, whatever its size. In a universal schema, with a row for each entity pair and a column for each
    relation, the unobserved cell is of the same column: another pair, the same relation. If it may be any cell
    :math:`(l, k)`, the loss of two cells is :math:`-\log \sigma(u_i \cdot v_j - u_l \cdot v_k)`, and scores of other
    rows and columns can be compared, too.

    Parameters
    ----------
    n_negatives : int
        Number of unobserved cells sampled per observed cell and epoch.
    sampling_axis : {"row", "column", "all"}
        Cells from which unobserved cells are sampled: the same row, the same column, or all (on one thread).
    learning_rate : float
        Initial learning rate :math:`\eta`. Epoch :math:`t`, from 0, uses :math:`\eta / (1 + d t)`.
    decay : float
        Decay :math:`d` of the learning rate.

    Attributes
    ----------
    row_factors_, column_factors_ : ndarray of shape (rows, rank) and (columns, rank)
        Factors :math:`u` and :math:`v`.
    history_, n_iter_, converged_, interrupted_
        See :class:`~polyadic.core.model.Model`. The objective has one unobserved cell per observed, sampled once.

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
    n_negatives: Count = 3
    sampling_axis: Literal["row", "column", "all"] = "row"
    learning_rate: Positive = 0.2
    decay: Amount = 0.1
    max_iter: Count = 100
    tol: Amount = 0.0
    seed: Seed = None
    threads: Threads = None
    callback: Callback = None
    _grid: ClassVar[Any] = {"ridge": (0.3, 0.1, 0.03, 0.01, 0.003, 0.001), "rank": (8, 32, 128, 256)}

    def _fit(self, cells: ObservedEntries) -> Self:
        turned, everywhere = self.sampling_axis == "column", self.sampling_axis == "all"
        cells = cells.turned() if turned else cells
        if everywhere and len(cells.rows) == cells.shape[0] * cells.shape[1]:
            raise InputError("at least one cell must be unobserved")
        if not everywhere and np.isin(np.diff(cells.starts), (0, cells.shape[1])).all():
            raise InputError(f"at least one {self.sampling_axis} must have both observed and unobserved cells")
        rng = np.random.default_rng(self.seed)
        start = [0.1 * rng.standard_normal((size, self.rank)) for size in cells.shape]
        listed, steps = (cells.rows, cells.columns, cells.starts), LearningRate(self.learning_rate, self.decay)
        how: dict[str, Any] = {"negatives": self.n_negatives, "ridge": self.ridge, "threads": self._threads}
        how["everywhere"] = everywhere
        solver = descend_pairs(listed, start, steps=steps, rng=rng, **how)
        factors = self._optimize(solver)
        self.row_factors_, self.column_factors_ = factors[::-1] if turned else factors
        return self
