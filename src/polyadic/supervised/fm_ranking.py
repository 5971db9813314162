"""Factorization machines that rank: rows that were chosen above those that were not."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from scipy.sparse import block_diag, hstack, vstack

from polyadic.core.errors import InputError
from polyadic.core.kernels import absent_columns
from polyadic.core.model import Amount, Callback, Count, Positive, Seed, Threads
from polyadic.core.solvers.run import run
from polyadic.core.solvers.sgd import Steps
from polyadic.supervised.base import PointMachine, Rank, canonical
from polyadic.supervised.fm_coordinate_descent import Machine
from polyadic.supervised.fm_sgd import Pairs, Stepper, descend_row_pairs
from polyadic.supervised.kernels import FeatureTable

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray


class FactorizationMachineRanker(PointMachine):
    r"""Scores that put the better row of a group above the worse one, by Bayesian personalised ranking.

    .. math:: \min \sum_{(a, b)} -\log \sigma(m(x_a) - m(x_b)) + \tfrac12 \sum_j n_j^\gamma (\lambda_w w_j^2 + \lambda
              \|v_j\|^2)

    over drawn pairs of rows of which a is better, by Adagrad. Each row that is better than some of its group meets
    ``n_negatives`` of these in an epoch.

    Parameters
    ----------
    rank, order, ridge, linear_ridge, count_power, scale, learning_rate, decay, seed, threads, callback
        As those of :class:`~polyadic.supervised.factorization_machines.FactorizationMachine`, with Adagrad.
    n_negatives : int
    batch : int
        Pairs of a step.
    max_iter, tol
        See :func:`~polyadic.core.solvers.run.run`; a sweep is an epoch.

    Attributes
    ----------
    V_, weights_, factors_
        As those of :class:`~polyadic.supervised.factorization_machines.FactorizationMachine`.
    result_, history_, n_iter_, converged_, interrupted_
        See :class:`~polyadic.core.model.Model`; the objective is that of pairs drawn once.

    References
    ----------
    Rendle, Freudenthaler, Gantner, Schmidt-Thieme (2009), BPR: Bayesian personalized ranking from implicit feedback,
    section 4. Rendle (2010), Factorization machines, section III.B.

    Examples
    --------
    >>> people, things = np.eye(6), np.eye(6)
    >>> chosen = np.kron(np.eye(2), np.ones((3, 3)))
    >>> chosen[0, 2] = 0
    >>> model = FactorizationMachineRanker(2, max_iter=100, seed=0).fit_choices(people, things, chosen)
    >>> rows = np.hstack([np.tile(people[0], (6, 1)), things])
    >>> int((model.predict(rows) - 100 * chosen[0]).argmax())
    2
    """

    rank: Rank = 8
    _: KW_ONLY
    order: Count = 2
    ridge: Amount = 0.1
    linear_ridge: Amount = 0.1
    count_power: Amount = 0.5
    n_negatives: Count = 1
    scale: Amount = 0.1
    learning_rate: Positive = 0.1
    decay: Amount = 0.0
    batch: Count = 256
    max_iter: Count = 50
    tol: Amount = 0.0
    seed: Seed = None
    threads: Threads = None
    callback: Callback = None

    def fit(self, X: Any, y: ArrayLike, *, groups: ArrayLike) -> Self:
        """Fit to rows of features with grades, of which those of a group are comparable.

        Parameters
        ----------
        X : csr or array of shape (rows, features)
        y : array of shape (rows,)
            The higher the better.
        groups : array of shape (rows,)
            What a row is of, such as a query or a user.

        Raises
        ------
        InputError, ValueError
            If no group has two grades, shapes do not fit, or a parameter is out of range.
        """
        self.check()
        table, grades = self._table_and_targets(X, y, reset=True, numeric=True)
        of = np.asarray(groups)
        if of.shape != grades.shape:
            raise InputError(f"groups must be one for each of {len(grades)} rows; got shape {of.shape}")
        of = np.unique(of, return_inverse=True)[1]
        order = np.lexsort((grades, of))
        g, v = of[order], grades[order]
        new = np.r_[True, g[1:] != g[:-1]]
        start = np.flatnonzero(new)[np.cumsum(new) - 1]  # of the group of each
        step = np.r_[True, new[1:] | (v[1:] != v[:-1])]
        below = np.flatnonzero(step)[np.cumsum(step) - 1] - start  # how many of the group have lower grades
        better = np.repeat(np.flatnonzero(below), self.n_negatives)
        if not len(better):
            raise InputError("no group has rows of two grades; there is nothing to rank")

        def drawn(rng: np.random.Generator) -> Pairs:
            worse = start[better] + (rng.random(len(better)) * below[better]).astype(np.int64)
            return Pairs(table, order[better], order[worse])

        return self._fit(drawn, table)

    def fit_choices(self, contexts: Any, items: Any, chosen: Any) -> Self:
        """Fit to items chosen in contexts, against drawn items that were not; rows are ``[context, item]``.

        Parameters
        ----------
        contexts : csr or array of shape (contexts, features of contexts)
        items : csr or array of shape (items, features of items)
        chosen : csr or array of shape (contexts, items)
            What is not zero was chosen.

        Raises
        ------
        InputError
            If shapes do not fit, nothing is chosen, or everything.
        """
        self.check()
        A, B, N = canonical(contexts), canonical(items), canonical(chosen)
        if not A.ndim == B.ndim == N.ndim == 2 or N.shape != (A.shape[0], B.shape[0]):
            raise InputError(f"chosen must be of shape ({A.shape[0]}, {B.shape[0]}); got {N.shape}")
        if not all(np.isfinite(part.data).all() for part in (A, B, N)):
            raise InputError("a value is not finite")
        rows = np.repeat(np.arange(N.shape[0]), np.diff(N.indptr))
        free = np.flatnonzero(np.diff(N.indptr)[rows] < N.shape[1])
        if not len(free):
            raise InputError("nothing is chosen, or everything; there is nothing to rank")
        at = np.repeat(free, self.n_negatives)

        def drawn(rng: np.random.Generator) -> Pairs:
            worse = absent_columns(N.indptr, N.indices, rows[at], number=N.shape[1], rng=rng)
            parts = [hstack([A[rows[at]], B[which]], format="csr") for which in (N.indices[at], worse)]
            n = np.arange(len(at))
            return Pairs(FeatureTable(canonical(vstack(parts, format="csr"))), n, n + len(at))

        self._forget()
        self.n_features_in_ = A.shape[1] + B.shape[1]
        return self._fit(drawn, FeatureTable(canonical(block_diag([A[np.unique(rows[free])], B], format="csr"))))

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Give the score of each row; scores of a group compare."""
        return self._scores(X)

    def _fit(self, drawn: Callable[[np.random.Generator], Pairs], table: FeatureTable) -> Self:
        """Fit to drawn pairs; the table has the features that they may have."""
        rng, steps = np.random.default_rng(self.seed), Steps(self.learning_rate, self.decay)
        how: dict[str, Any] = {"orders": self._orders, "ridge": self._ridge}
        start = Machine(0.0, self._started(table, rng))
        stepper = Stepper(start, steps=steps, batch=self.batch, adagrad=True, **how)
        solver = descend_row_pairs(stepper, drawn, rng=rng, **how)
        (self.V_,) = self._keep(run(solver, max_iter=self.max_iter, tol=self.tol, callback=self.callback))
        return self
