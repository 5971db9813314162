r"""RESCAL: factorization of multi-relational data with one shared factor for subjects and objects.

The objective of :class:`RESCAL` is minimized by alternating least squares. With :math:`A = U \,\mathrm{diag}(s)\,
V^\top` the optimal :math:`R_k` has a closed form:

.. math:: R_k = V (P * Z_k) V^\top, \qquad Z_k = U^\top X_k U, \qquad P_{ij} = \frac{s_i s_j}{s_i^2 s_j^2 + \lambda_R}.

In these coordinates :math:`A R_k A^\top = U C_k U^\top` with :math:`C_k = s s^\top * P * Z_k`, so the squared error is
:math:`\|X_k\|^2 - 2 \langle Z_k, C_k \rangle + \|C_k\|^2`, and no dense matrix of entities by entities is formed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import KW_ONLY
from itertools import pairwise
from typing import Any, Self

import numpy as np
from scipy.sparse import csr_array

from polyadic.core.annotations import AnyArray, Array, Ints
from polyadic.core.containers import complete, entries_of, numbers_of
from polyadic.core.errors import InputError, check_int
from polyadic.core.linalg import truncated_eigh
from polyadic.core.model import Amount, Callback, Count, Seed
from polyadic.core.solvers.run import Sweep
from polyadic.relations.bilinear import Slices
from polyadic.relations.link_prediction import TripleModel


class RESCAL(TripleModel):
    r"""RESCAL: one vector per entity and one matrix per relation, with triple scores :math:`a_s^\top R_k\, a_o`.

    .. math:: \min_{A, R} \tfrac12 \sum_k \|X_k - A R_k A^\top\|_F^2
              + \tfrac{\lambda_A}{2} \|A\|_F^2 + \tfrac{\lambda_R}{2} \sum_k \|R_k\|_F^2

    Since an entity has the same vector as subject and as object, information propagates between neighbours; relations
    need not be symmetric. Every unobserved triple counts as zero. See :func:`~polyadic.relations.rescal.rescal`.

    Parameters
    ----------
    rank : int
        Length of the entity vectors, less than the number of entities.
    ridge_A, ridge_R : float
        Strengths :math:`\lambda_A` and :math:`\lambda_R` of the L2 penalties. The default of 10 is that published for
        the kinship data, where 0 and 1 predict held-out triples worse.
    max_iter : int
        Maximum number of sweeps. A sweep updates A and solves for R.

    Attributes
    ----------
    entity_factors_ : ndarray of shape (n, rank)
        Entity vectors A.
    relation_factors_ : ndarray of shape (K, rank, rank)
        Relation matrices R.

    References
    ----------
    Nickel, Tresp, Kriegel (2011), A three-way model for collective learning on multi-relational data, section 4.
    Nickel (2013), Tensor factorization for relational learning, section 4.2 (the singular value form of R).

    Examples
    --------
    Ann and bob like cat and dan; one of the four triples is unobserved.

    >>> from scipy.sparse import csr_array
    >>> likes = csr_array([[0, 0, 1, 1], [0, 0, 1, 0], [0, 0, 0, 0], [0, 0, 0, 0]])
    >>> model = RESCAL(2, ridge_A=0.1, ridge_R=0.1).fit([likes])
    >>> bob, dan = 1, 3
    >>> there, back = model.predict([bob, dan], [0, 0], [dan, bob])
    >>> bool(there > 0.2 > abs(back))
    True
    """

    rank: Count = 10
    _: KW_ONLY
    ridge_A: Amount = 10.0
    ridge_R: Amount = 10.0
    max_iter: Count = 500
    tol: Amount = 1e-4
    seed: Seed = None
    callback: Callback = None

    def fit(self, X: Any, y: object = None) -> Self:
        """Fit the model to all triples, treating unobserved triples as zeros.

        ``X`` are the triples of subject, relation and object, Entries or an array of shape (n, K, n), or a list of K
        matrices of subjects by objects, dense or sparse.
        """
        self.check()
        slices = relation_slices(X)
        rank = check_int("rank", self.rank, low=1, high=slices[0].shape[0] - 1)
        start = rescal_start(slices, rank, seed=self.seed)
        solver = rescal(slices, start, ridge_A=self.ridge_A, ridge_R=self.ridge_R)
        self.entity_factors_, self.relation_factors_ = self._optimize(solver)
        return self

    @property
    def _sizes(self) -> tuple[int, int]:
        return len(self.entity_factors_), len(self.relation_factors_)

    def _triples(self, s: Ints, k: Ints, o: Ints) -> Array:
        queries, _ = Slices().query(self.entity_factors_[s], k, [self.relation_factors_])
        return np.asarray((queries * self.entity_factors_[o]).sum(axis=1))

    def _ask(self, known: Ints, k: Ints, *, backwards: bool) -> Array:
        queries, _ = Slices().query(self.entity_factors_[known], k, [self.relation_factors_], backwards=backwards)
        return np.asarray(queries @ self.entity_factors_.T)


def relation_slices(X: Any) -> list[Any]:
    """Convert triples to a list with one sparse adjacency matrix (subjects by objects) per relation."""
    if not isinstance(X, list | tuple):
        X = entries_of(X, "X", remedy="RESCAL treats unobserved triples as zeros")
        if X.order != 3 or X.shape[0] != X.shape[2] or X.symmetric:
            raise InputError(f"X must be non-symmetric Entries of shape (n, K, n); got shape {X.shape}")
        if X.weights is not None:
            raise InputError("X must have no weights, because RESCAL weights all triples equally")
        n, K, _ = X.shape
        subjects, relations, objects = X.indices.T
        order = np.argsort(relations, kind="stable")
        bounds = np.searchsorted(relations[order], np.arange(K + 1))
        parts = [order[low:high] for low, high in pairwise(bounds)]
        return [csr_array((X.values[p].astype(float), (subjects[p], objects[p])), shape=(n, n)) for p in parts]
    names = [f"the matrix of relation {k}" for k in range(len(X))]
    slices = [csr_array(complete(numbers_of(x, k), k).values, dtype=float) for x, k in zip(X, names, strict=True)]
    if not slices or any(x.shape != (slices[0].shape[0],) * 2 for x in slices):
        about = "X must be a non-empty list of square matrices of the same size, one per relation"
        raise InputError(f"{about}; got shapes {[x.shape for x in slices[:3]]}")
    return slices


MAX_HALVINGS = 40
"""Maximum number of halvings of a step; a share of 1e-12 changes the objective by rounding errors only."""


def rescal_start(slices: Sequence[Any], rank: int, *, seed: int | None = None) -> Array:
    r"""Return the ``rank`` < n leading eigenvectors of :math:`\sum_k X_k + X_k^\top`; the seed is that of Lanczos."""
    total = sum(slices[1:], start=slices[0])
    return np.asarray(truncated_eigh(total + total.T, rank, seed=seed)[1], float)


def rescal(slices: Sequence[Any], start: AnyArray, *, ridge_A: float = 0.0, ridge_R: float = 0.0) -> Iterator[Sweep]:
    r"""Alternate between updating entity factors A (n, R) and solving for relation matrices (K, R, R).

    The published update of A keeps the A on the other side of each relation fixed,

    .. math:: A \leftarrow \Bigl(\sum_k X_k A R_k^\top + X_k^\top A R_k\Bigr)
              \Bigl(\sum_k R_k A^\top A R_k^\top + R_k^\top A^\top A R_k + \lambda_A I\Bigr)^{-1},

    so it need not decrease the objective. Its direction is the negative gradient times a positive semidefinite matrix,
    however, so a fraction of it does: the full step is tried first, then its half, and so on, each with the optimal R.
    """
    squares = float(sum((X.data.astype(float) ** 2).sum() for X in slices))

    def reach(A: AnyArray) -> Sweep:
        R, error = relation_factors(slices, A, ridge_R=ridge_R)
        ridges = ridge_A * float(np.vdot(A, A)) + ridge_R * float(np.vdot(R, R))
        return Sweep([A, R], 0.5 * (squares + error + ridges))

    yield from guarded(np.array(start, float), reach, lambda A, R: _step(slices, A, R, ridge_A))


def guarded(start: Array, reach: Callable[[Array], Sweep], step: Callable[..., Array]) -> Iterator[Sweep]:
    """Update the entity factors A by full or halved steps, until even the smallest step increases the objective.

    ``reach`` returns the sweep for a given A, and ``step`` the update of A from the factors of a sweep.
    """
    now = reach(start)
    yield now
    while True:
        A = now.factors[0]
        whole = step(*now.factors)
        for halving in range(MAX_HALVINGS):
            reached = reach(A + 0.5**halving * whole)
            if reached.objective <= now.objective:
                break
        else:
            return
        now = reached
        yield now


def relation_factors(slices: Sequence[Any], A: AnyArray, *, ridge_R: float = 0.0) -> tuple[Array, float]:
    r"""Return the optimal R of minimum norm for A, and :math:`\sum_k \|X_k - A R_k A^\top\|^2 - \|X_k\|^2`."""
    U, s, Vt = np.linalg.svd(A, full_matrices=False)
    Z = np.stack([U.T @ (X @ U) for X in slices])
    W = np.outer(s, s)
    kept = np.finfo(float).eps * max(A.shape) * W.max() < W
    P = np.where(kept, W / np.where(kept, W**2 + ridge_R, 1.0), 0.0)
    C = W * P * Z
    return Vt.T @ (P * Z) @ Vt, float(np.vdot(C, C) - 2 * np.vdot(Z, C))


def _step(slices: Sequence[Any], A: AnyArray, R: AnyArray, ridge_A: float) -> AnyArray:
    """Return the update step of the entity factors A; zeros if the normal equations are singular."""
    gram = A.T @ A
    right = -ridge_A * A
    H = ridge_A * np.eye(A.shape[1])
    for X, Rk in zip(slices, R, strict=True):
        right += (X @ A) @ Rk.T + (X.T @ A) @ Rk
        term = Rk @ gram @ Rk.T + Rk.T @ gram @ Rk
        right -= A @ term
        H += term
    return np.asarray(right @ np.linalg.pinv(H, hermitian=True), float)
