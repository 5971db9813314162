"""Logistic matrix factorization of binary data."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np
from scipy.special import expit

from polyadic.completion.cells import ObservedEntries, cells_of
from polyadic.completion.recommending import Recommender
from polyadic.core.annotations import AnyArray, Array, Ints
from polyadic.core.entries import Entries
from polyadic.core.errors import InputError
from polyadic.core.forms import CP, Factors
from polyadic.core.losses import Logistic
from polyadic.core.model import Amount, Callback, Count, Seed, Threads
from polyadic.core.objective import Objective, Term
from polyadic.core.penalties import L2
from polyadic.core.solvers.quasi_newton import quasi_newton
from polyadic.core.solvers.saga import saga_factors
from polyadic.core.solvers.sgd import descend_labels

if TYPE_CHECKING:
    from polyadic.core.selection import SearchSpace
    from polyadic.core.solvers.run import Sweep


class LogisticFactorization(Recommender):
    r"""Logistic matrix factorization of binary labels.

    .. math:: \min \sum_{(i, j)\ \mathrm{observed}} \log(1 + e^{m_{ij}}) - x_{ij} m_{ij}
              + \tfrac{\lambda}{2} (\|U\|_F^2 + \|V\|_F^2), \qquad m_{ij} = u_i \cdot v_j

    Labels are 0 or 1, and explicit zeros are negative labels. Predictions are probabilities. If only positive cells are
    observed, unobserved cells are sampled as negatives in each epoch, from the same row, the same column (another
    subject of the same relation), or all cells; predictions are then those of a positive against a sampled cell.

    Parameters
    ----------
    n_negatives : float
        Number of unobserved cells sampled as zeros per observed cell. 0 if both labels are observed and others unknown.
    sampling_axis : {"row", "column", "all"}
        Cells from which negatives are sampled: the same row, the same column, or all.
    solver : {"quasi-newton", "sag", "saga"}
        Solver if both labels are observed: L-BFGS, or stochastic average gradients, in alternating epochs over rows and
        columns (:mod:`polyadic.core.solvers.saga`).
    max_iter : int
        Maximum number of quasi-Newton steps, or of epochs of the stochastic solvers.

    Attributes
    ----------
    row_factors_, column_factors_ : ndarray of shape (rows, rank) and (columns, rank)
        Factors :math:`u` and :math:`v`.

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
    n_negatives: Amount = 0.0
    sampling_axis: Literal["row", "column", "all"] = "row"
    solver: Literal["quasi-newton", "sag", "saga"] = "quasi-newton"
    max_iter: Count = 200
    tol: Amount = 1e-4
    seed: Seed = None
    threads: Threads = None
    callback: Callback = None
    _grid: ClassVar[Any] = {"ridge": (30.0, 10.0, 3.0, 1.0, 0.3, 0.1, 0.03), "rank": (2, 5, 10, 20, 50, 100)}

    def _read(self, X: Any, *, empty: bool = False) -> ObservedEntries:  # noqa: ARG002 # no label may be known
        return labelled(X)

    def _fit(self, cells: ObservedEntries) -> Self:
        rng = np.random.default_rng(self.seed)
        if not self.n_negatives and cells.values.all():
            advice = "set n_negatives above 0 to sample zeros"
            raise InputError(f"X must contain observed zeros if n_negatives=0; {advice}", "n_negatives")
        if self.n_negatives and self.solver != "quasi-newton":
            advice = "sampled zeros have a solver of their own"
            raise InputError(f"solver={self.solver!r} requires n_negatives=0; {advice}", "solver", "n_negatives")
        turned = self.sampling_axis == "column"
        cells = cells.turned() if turned else cells
        start = [rng.standard_normal((size, self.rank)) / np.sqrt(self.rank) for size in cells.shape]
        if self.n_negatives:
            how: dict[str, Any] = {"negatives": self.n_negatives, "threads": self._threads}
            how["beside"] = self.sampling_axis != "all"
            listed = cells.rows, cells.columns, cells.starts
            solver = descend_labels(listed, cells.values, start, ridge=self.ridge, rng=rng, **how)
        else:
            entries = Entries(cells.indices, cells.values, cells.shape, unobserved="missing")
            term = Term(entries, CP(), Logistic(), (0, 1))
            objective = Objective([term], [L2(self.ridge)] * 2, threads=self.threads)
            averaging = self.solver != "quasi-newton"
            solver = self._saga(objective, start, rng) if averaging else quasi_newton(objective, start)
        factors = self._optimize(solver)
        self.row_factors_, self.column_factors_ = factors[::-1] if turned else factors
        return self

    def _saga(self, objective: Objective, start: Factors, rng: np.random.Generator) -> Iterator[Sweep]:
        (term,), sag = objective.terms, self.solver == "sag"
        how: dict[str, Any] = {"objective": lambda U, V: objective.value([U, V]), "rng": rng, "threads": self._threads}
        how |= {"loss": term.loss, "penalties": (np.full(self.rank, self.ridge), np.zeros(self.rank))}
        listed = *term.entries.indices.T, term.entries.values
        return saga_factors(listed, start, count_power=0, biased=False, sag=sag, **how)

    def _search(self, cells: ObservedEntries, seed: int | None) -> SearchSpace:
        if self.n_negatives:
            return super()._search(cells, seed)  # sampled cells are unknown

        def losses(model: LogisticFactorization, out: ObservedEntries) -> Array:
            return Logistic().value(out.values, model._products(out.rows, out.columns))

        return self._searched(cells, seed, losses, measure="log loss")

    def _predict(self, i: Ints, j: Ints) -> AnyArray:
        return np.asarray(expit(self._products(i, j)))


def labelled(X: Any) -> ObservedEntries:
    """Return the cells of a binary matrix; raise InputError unless all are 0 or 1 and at least one is 1."""
    cells = cells_of(X)
    if len(other := cells.values[(cells.values != 0) & (cells.values != 1)]):
        raise InputError(f"labels must be 0 or 1; got {other[0]:g} ({len(other):,} invalid)")
    if not cells.values.any():
        raise InputError("at least one label must be 1; all labels are 0")
    return cells
