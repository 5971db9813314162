"""Factorization machines for ranking."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from scipy.sparse import block_diag, hstack, vstack

from polyadic.core.annotations import Array
from polyadic.core.errors import InputError
from polyadic.core.kernels import absent_columns
from polyadic.core.model import Amount, Count, Positive
from polyadic.core.solvers.sgd import LearningRate
from polyadic.supervised.base import PointMachine, canonical
from polyadic.supervised.fm_solvers import Machine, Pairs, Stepper, descend_row_pairs
from polyadic.supervised.kernels import FeatureTable

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


class FactorizationMachineRanker(PointMachine):
    r"""Factorization machine for ranking, by Bayesian personalised ranking (BPR).

    .. math:: \min \sum_{(a, b)} -\log \sigma(m(x_a) - m(x_b)) + \tfrac12 \sum_j n_j^\gamma (\lambda_w w_j^2 + \lambda
              \|v_j\|^2)

    over random pairs of rows of the same group, the first of which has the higher grade, by Adagrad. In each epoch
    every row is paired with ``n_negatives`` lower-graded rows of its group.

    Parameters
    ----------
    n_negatives : int
        Number of lower-graded rows sampled per row and epoch.
    learning_rate : float
        Initial Adagrad learning rate :math:`\eta`. Epoch :math:`t`, from 0, uses :math:`\eta / (1 + d t)`.
    batch : int
        Number of pairs in a mini-batch.

    Attributes
    ----------
    V_, weights_, factors_
        As for :class:`~polyadic.supervised.factorization_machines.FactorizationMachine`.
    result_, history_, n_iter_, converged_, interrupted_
        See :class:`~polyadic.core.model.Model`. The objective is that of pairs sampled once.

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

    _: KW_ONLY
    ridge: Amount = 0.1
    linear_ridge: Amount = 0.1
    n_negatives: Count = 1
    learning_rate: Positive = 0.1
    batch: Count = 256
    max_iter: Count = 50
    tol: Amount = 0.0

    def fit(self, X: Any, y: ArrayLike, *, groups: ArrayLike) -> Self:
        """Fit the model to graded feature vectors, comparing rows within each group.

        InputError or ValueError is raised if no group has two different grades, shapes do not match, or a parameter is
        out of range. ``y`` are grades, higher is better, and ``groups`` the group of each row, such as its query or
        user; only rows of the same group are compared.
        """
        self.check()
        table, grades = self._table_and_targets(X, y, reset=True, numeric=True)
        of = np.asarray(groups)
        if of.shape != grades.shape:
            about = f"groups must have one element for each of the {len(grades)} rows"
            raise InputError(f"{about}; got shape {of.shape}", "groups")
        of = np.unique(of, return_inverse=True)[1]
        order = np.lexsort((grades, of))
        g, v = of[order], grades[order]
        new = np.r_[True, g[1:] != g[:-1]]
        start = np.flatnonzero(new)[np.cumsum(new) - 1]  # start of each row's group
        step = np.r_[True, new[1:] | (v[1:] != v[:-1])]
        below = np.flatnonzero(step)[np.cumsum(step) - 1] - start  # number of lower grades in the group
        better = np.repeat(np.flatnonzero(below), self.n_negatives)
        if not len(better):
            raise InputError("at least one group must have rows with different grades")

        def drawn(rng: np.random.Generator) -> Pairs:
            worse = start[better] + (rng.random(len(better)) * below[better]).astype(np.int64)
            return Pairs(table, order[better], order[worse])

        return self._fit(drawn, table)

    def fit_choices(self, contexts: Any, items: Any, chosen: Any) -> Self:
        """Fit the model to items chosen in contexts, with randomly sampled unchosen items as negatives.

        Feature vectors are ``[context, item]``, rows of the matrices ``contexts`` and ``items``, sparse or dense.
        ``chosen``, of shape (contexts, items), is non-zero where the item was chosen in the context. InputError is
        raised if no context has both chosen and other items.
        """
        self.check()
        A, B, N = canonical(contexts), canonical(items), canonical(chosen)
        if not A.ndim == B.ndim == N.ndim == 2 or N.shape != (A.shape[0], B.shape[0]):
            about = f"the argument chosen must have shape ({A.shape[0]}, {B.shape[0]}), contexts by items"
            raise InputError(f"{about}; got {N.shape}", "chosen")
        if not all(np.isfinite(part.data).all() for part in (A, B, N)):
            raise InputError("contexts, items and chosen must contain only finite values")
        rows = np.repeat(np.arange(N.shape[0]), np.diff(N.indptr))
        free = np.flatnonzero(np.diff(N.indptr)[rows] < N.shape[1])
        if not len(free):
            raise InputError("at least one context must have both chosen and unchosen items")
        at = np.repeat(free, self.n_negatives)

        def drawn(rng: np.random.Generator) -> Pairs:
            worse = absent_columns(N.indptr, N.indices, rows[at], number=N.shape[1], rng=rng)
            parts = [hstack([A[rows[at]], B[which]], format="csr") for which in (N.indices[at], worse)]
            n = np.arange(len(at))
            return Pairs(FeatureTable(canonical(vstack(parts, format="csr"))), n, n + len(at))

        self._forget()
        self.n_features_in_ = A.shape[1] + B.shape[1]
        return self._fit(drawn, FeatureTable(canonical(block_diag([A[np.unique(rows[free])], B], format="csr"))))

    def predict(self, X: Any) -> Array:
        """Return the score of each row; scores are comparable within a group."""
        return self._scores(X)

    def _fit(self, drawn: Callable[[np.random.Generator], Pairs], table: FeatureTable) -> Self:
        """Fit the parameters to pairs of rows sampled anew in each epoch; ``table`` has all features that can occur."""
        rng, steps = np.random.default_rng(self.seed), LearningRate(self.learning_rate, self.decay)
        how: dict[str, Any] = {"orders": self._orders, "ridge": self._ridge, "batch": self.batch}
        stepper = Stepper(Machine(0.0, self._started(table, rng)), steps=steps, adagrad=True, **how)
        solver = descend_row_pairs(stepper, drawn, rng=rng)
        (self.V_,) = self._optimize(solver)
        return self
