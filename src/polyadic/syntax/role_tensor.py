r"""Passive-aggressive learning of semantic role scores.

.. math:: s(p, a, r) = \gamma \, (\theta \cdot \phi(p, a) + \theta_r \cdot \phi(p, a))
          + (1 - \gamma) \sum_{k=1}^K (P^\top \phi_p)_k (Q^\top \phi_a)_k (R^\top \phi_{pa})_k (S_0 + S_r)_k

The cost-augmented best roles are compared with the correct ones:

.. math:: \text{loss} = \text{cost}(\hat y) + s(\hat y) - s(y), \qquad \hat y = \arg\max_{y'} s(y') + \text{cost}(y')

theta, P, Q, R and S are updated together with a step size that removes the loss to first order, at most ``C``:

.. math:: \alpha = \min\Big(C, \frac{\text{loss}}{\gamma^2 \|\Delta\phi\|^2
          + (1 - \gamma)^2 (\|\partial P\|^2 + \|\partial Q\|^2 + \|\partial R\|^2 + \|\partial S\|^2)}\Big)

The final parameters are averages of each factor by itself, as in :mod:`polyadic.syntax.arc_tensor`.

References
----------
Lei, Zhang, Marquez, Moschitti, Barzilay (2015), High-order low-rank tensors for semantic role labeling, sections 3, 4
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from polyadic.core.kernels.common import mean_weights
from polyadic.core.kernels.triples import summed_rows
from polyadic.syntax.kernels.role_cells import score_cells

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    Decoder = Callable[[NDArray[np.float64], NDArray[np.float64]], NDArray[np.int64]]


class RoleParts(NamedTuple):
    """Parameters of the role scores (float32), or their running sums for averaging (float64).

    Attributes
    ----------
    theta : ndarray of shape (cells + roles + 1,)
        Hashed weights, shared by all roles and per role.
    P, Q : ndarray of shape (features, K)
        Factors of predicates and of words.
    R : ndarray of shape (path features, K)
        Factor of paths.
    S : ndarray of shape (roles + 1, K)
        Factor of roles; row 0 is shared by all roles.
    """

    theta: NDArray[Any]
    P: NDArray[Any]
    Q: NDArray[Any]
    R: NDArray[Any]
    S: NDArray[Any]


class Frame(NamedTuple):
    """A predicate and its candidate arguments, as feature ids with -1 for a missing feature.

    Attributes
    ----------
    predicate : ndarray of int32 of shape (1, word features)
    words : ndarray of int32 of shape (n, word features)
    paths : ndarray of int32 of shape (n, path features)
    cells : ndarray of int32 of shape (n, pairs)
        See :func:`~polyadic.syntax.kernels.role_cells.hashed_cells`.
    """

    predicate: NDArray[np.int32]
    words: NDArray[np.int32]
    paths: NDArray[np.int32]
    cells: NDArray[np.int32]


class Costs(NamedTuple):
    """Costs of a spurious argument, a wrong role and a missed argument."""

    extra: float = 1.0
    wrong: float = 1.0
    missed: float = 1.0


class RoleScores(NamedTuple):
    """Scores of shape (words, roles), and the feature sums of P, Q and R from which they are computed."""

    scores: NDArray[np.float64]
    sums: tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.float32]]


def score_roles(frame: Frame, parts: RoleParts, *, gamma: float) -> RoleScores:
    """Return the score of each role for each word of a frame."""
    roles = len(parts.S) - 1
    scores = np.zeros((len(frame.words), roles))
    if gamma > 0:
        scores += gamma * score_cells(frame.cells, parts.theta, roles=roles)
    tables = zip((frame.predicate, frame.words, frame.paths), (parts.P, parts.Q, parts.R), strict=True)
    p, q, r = (_row_sums(table, factor) for table, factor in tables)
    if gamma < 1:
        scores += (1 - gamma) * ((p * q * r) @ (parts.S[0] + parts.S[1:]).T)
    return RoleScores(scores, (p, q, r))


def total_score(scores: NDArray[np.float64], roles: NDArray[np.int64]) -> float:
    """Return the total score of an assignment of roles; -1 means no role and scores 0."""
    chosen = np.flatnonzero(roles >= 0)
    return float(scores[chosen, roles[chosen]].sum())


class RoleLearner:
    """Parameters during learning, with the running sums for averaging.

    Parameters
    ----------
    parts : RoleParts
        Updated in place.
    decode : callable
        Maps role scores and the scores of no role to the best roles.
    """

    def __init__(self, parts: RoleParts, *, gamma: float, C: float, costs: Costs, decode: Decoder) -> None:
        self.parts = parts
        self.gamma = gamma
        self.C = C
        self.costs = costs
        self.decode = decode
        self.clock = 0
        self._sums = RoleParts(*(np.zeros(part.shape) for part in parts))

    def learn(self, frame: Frame, roles: NDArray[np.int64]) -> tuple[NDArray[np.int64], float]:
        """Update on one predicate; return the predicted roles and the loss."""
        scored = score_roles(frame, self.parts, gamma=self.gamma)
        predicted, loss = self.worst(scored.scores, roles)
        self.clock += 1
        if loss > 0 and (predicted != roles).any():
            self._step(frame, scored, roles, predicted, loss)
            return predicted, loss
        return predicted, 0.0

    def worst(self, scores: NDArray[np.float64], roles: NDArray[np.int64]) -> tuple[NDArray[np.int64], float]:
        """Return the roles with the highest sum of score and cost, and their margin over the correct roles."""
        cost, none = self._costs(roles)
        predicted = self.decode(scores + cost, none)
        paid = total_score(cost, predicted) + float(none[predicted < 0].sum())
        return predicted, paid + total_score(scores, predicted) - total_score(scores, roles)

    def loss_of_zero(self, choices: Sequence[NDArray[np.int64]]) -> float:
        """Return the mean loss of predicates under zero weights."""
        width = len(self.parts.S) - 1
        return float(np.mean([self.worst(np.zeros((len(roles), width)), roles)[1] for roles in choices]))

    def mean(self) -> RoleParts:
        """Return the mean of the parameters at the start and after each predicate."""
        pairs = zip(self.parts, self._sums, strict=True)
        return RoleParts(*(mean_weights(part, sums, self.clock) for part, sums in pairs))

    def _costs(self, roles: NDArray[np.int64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the cost of each role for each word, and that of no role."""
        known = roles >= 0
        cost = np.repeat(np.where(known, self.costs.wrong, self.costs.extra)[:, None], len(self.parts.S) - 1, axis=1)
        cost[known, roles[known]] = 0
        return cost, np.where(known, self.costs.missed, 0.0)

    def _step(
        self, frame: Frame, scored: RoleScores, roles: NDArray[np.int64], predicted: NDArray[np.int64], loss: float
    ) -> None:
        """Update all parameters together."""
        moves = role_gradient(frame, self.parts, scored, roles=roles, predicted=predicted, gamma=self.gamma)
        norm = sum(float((change * change).sum()) for _, change in moves)
        if norm <= 0:
            return
        alpha = min(self.C, loss / norm)
        for part, sums, (at, change) in zip(self.parts, self._sums, moves, strict=True):
            part[at] += (alpha * change).astype(np.float32)
            sums[at] += alpha * self.clock * change


def role_gradient(
    frame: Frame,
    parts: RoleParts,
    scored: RoleScores,
    *,
    roles: NDArray[np.int64],
    predicted: NDArray[np.int64],
    gamma: float,
) -> list[tuple[NDArray[np.int64], NDArray[Any]]]:
    """Return rows and gradients, per parameter, of the score of ``roles`` minus that of ``predicted``.

    Roles are integer arrays of shape (n,), with -1 for no role.
    """
    sides = [
        (np.flatnonzero((side != other) & (side >= 0)), side)
        for side, other in ((roles, predicted), (predicted, roles))
    ]
    words = np.concatenate([at for at, _ in sides])
    which = np.concatenate([side[at] for at, side in sides]) + 1
    sign = np.repeat([1.0, -1.0], [len(at) for at, _ in sides]).astype(np.float32)
    cells = np.concatenate([frame.cells[words], frame.cells[words] + which[:, None]])
    cells[np.concatenate([frame.cells[words]] * 2) < 0] = -1
    at, change = _gathered(cells, np.tile(sign, 2)[:, None])
    moves: list[tuple[NDArray[np.int64], NDArray[Any]]] = [(at, gamma * change[:, 0])]
    p, q, r = scored.sums[0], scored.sums[1][words], scored.sums[2][words]
    s = sign[:, None] * (parts.S[0] + parts.S[which])
    share = 1 - gamma
    labels = np.stack([np.zeros_like(which), which], axis=1)
    rows = (
        (frame.predicate, (q * r * s).sum(axis=0, keepdims=True)),
        (frame.words[words], p * r * s),
        (frame.paths[words], p * q * s),
        (labels, sign[:, None] * p * q * r),
    )
    for table, change in rows:
        at, total = _gathered(table, np.float32(share) * change)
        moves.append((at, total))
    return moves


def _gathered(table: NDArray[Any], rows: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Sum rows by the ids in a table, which has one line of ids per row; -1 is skipped."""
    flat = table.ravel()
    keep = np.flatnonzero(flat >= 0)
    at, place = np.unique(flat[keep], return_inverse=True)
    return at, summed_rows(place, rows[keep // table.shape[1]], len(at))


def _row_sums(table: NDArray[np.int32], factor: NDArray[np.float32]) -> NDArray[np.float32]:
    """Sum the rows of a factor named by each line of a table; -1 is skipped."""
    return np.asarray(np.where(table[:, :, None] >= 0, factor[table], 0).sum(axis=1, dtype=np.float32))
