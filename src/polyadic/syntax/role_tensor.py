r"""Learning to score the roles of words for a predicate: passive-aggressive steps of all parts at once.

.. math:: s(p, a, r) = \gamma \, (\theta \cdot \phi(p, a) + \theta_r \cdot \phi(p, a))
          + (1 - \gamma) \sum_{k=1}^K (P^\top \phi_p)_k (Q^\top \phi_a)_k (R^\top \phi_{pa})_k (S_0 + S_r)_k

The roles that the model would choose if mistakes earned their cost are compared with the right ones:

.. math:: \text{loss} = \text{cost}(\hat y) + s(\hat y) - s(y), \qquad \hat y = \arg\max_{y'} s(y') + \text{cost}(y')

and theta, P, Q, R and S move together, so far that the loss is gone to first order, and at most ``C`` times:

.. math:: \alpha = \min\Big(C, \frac{\text{loss}}{\gamma^2 \|\Delta\phi\|^2
          + (1 - \gamma)^2 (\|\partial P\|^2 + \|\partial Q\|^2 + \|\partial R\|^2 + \|\partial S\|^2)}\Big)

The parts used in the end are means of each part by itself, as in :mod:`polyadic.syntax.arc_tensor`.

References
----------
Lei, Zhang, Marquez, Moschitti, Barzilay (2015), High-order low-rank tensors for semantic role labeling, sections 3, 4
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from polyadic.core.kernels.averaging import mean_weights
from polyadic.core.kernels.triples import summed_rows
from polyadic.syntax.kernels.role_cells import score_cells

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    Decoder = Callable[[NDArray[np.float64], NDArray[np.float64]], NDArray[np.int64]]


class RoleParts(NamedTuple):
    """What roles are scored with, of float32; or, of float64, sums that make its mean.

    Attributes
    ----------
    theta : ndarray of shape (cells + roles + 1,)
        Weights of hashed features: of any role, and of each.
    P, Q : ndarray of shape (features, K)
        Of predicates and of words.
    R : ndarray of shape (path features, K)
    S : ndarray of shape (roles + 1, K)
        Of any role, and of each.
    """

    theta: NDArray[Any]
    P: NDArray[Any]
    Q: NDArray[Any]
    R: NDArray[Any]
    S: NDArray[Any]


class Frame(NamedTuple):
    """A predicate and the words that may be its arguments.

    Attributes
    ----------
    predicate : ndarray of int32 of shape (1, word features)
        Numbers of features; minus one where there is none.
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
    """What mistakes cost: an argument too many, one with the wrong role, one too few."""

    extra: float = 1.0
    wrong: float = 1.0
    missed: float = 1.0


class RoleScores(NamedTuple):
    """Scores of roles (columns) for words (rows), and the sums of rows of P, Q and R that they are made of."""

    scores: NDArray[np.float64]
    sums: tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.float32]]


def score_roles(frame: Frame, parts: RoleParts, *, gamma: float) -> RoleScores:
    """Give the score of each role for each word of a frame.

    Parameters
    ----------
    frame : Frame
    parts : RoleParts
    gamma : float
        Of 0 the tensor alone, of 1 no tensor.
    """
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
    """Give the score of a choice of roles, minus one for none, which scores nothing."""
    chosen = np.flatnonzero(roles >= 0)
    return float(scores[chosen, roles[chosen]].sum())


class RoleLearner:
    """Parts on their way, and the sums that make their means.

    Parameters
    ----------
    parts : RoleParts
        Changed in place.
    gamma, C : float
    costs : Costs
    decode : callable
        Gives the best roles of words for their scores and the score of none.
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
        """Take one step for a predicate; gives the roles that were compared, and the loss."""
        scored = score_roles(frame, self.parts, gamma=self.gamma)
        predicted, loss = self.worst(scored.scores, roles)
        self.clock += 1
        if loss > 0 and (predicted != roles).any():
            self._step(frame, scored, roles, predicted, loss)
            return predicted, loss
        return predicted, 0.0

    def worst(self, scores: NDArray[np.float64], roles: NDArray[np.int64]) -> tuple[NDArray[np.int64], float]:
        """Give the choice that scores and costs the most together, and how far it is above the right one."""
        cost, none = self._costs(roles)
        predicted = self.decode(scores + cost, none)
        paid = total_score(cost, predicted) + float(none[predicted < 0].sum())
        return predicted, paid + total_score(scores, predicted) - total_score(scores, roles)

    def loss_of_zero(self, choices: Sequence[NDArray[np.int64]]) -> float:
        """Give the mean loss of predicates with these roles where nothing has a weight."""
        width = len(self.parts.S) - 1
        return float(np.mean([self.worst(np.zeros((len(roles), width)), roles)[1] for roles in choices]))

    def mean(self) -> RoleParts:
        """Give the mean of the parts at the start and after each predicate."""
        pairs = zip(self.parts, self._sums, strict=True)
        return RoleParts(*(mean_weights(part, sums, self.clock) for part, sums in pairs))

    def _costs(self, roles: NDArray[np.int64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Give the cost of each role for each word, and that of none."""
        known = roles >= 0
        cost = np.repeat(np.where(known, self.costs.wrong, self.costs.extra)[:, None], len(self.parts.S) - 1, axis=1)
        cost[known, roles[known]] = 0
        return cost, np.where(known, self.costs.missed, 0.0)

    def _step(
        self, frame: Frame, scored: RoleScores, roles: NDArray[np.int64], predicted: NDArray[np.int64], loss: float
    ) -> None:
        """Move all parts at once."""
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
    """Give the gradient of the score of some roles minus that of others: for each part, rows and their gradients.

    Parameters
    ----------
    frame, parts, gamma
        As in :func:`score_roles`.
    scored : RoleScores
        With these parts.
    roles, predicted : ndarray of int of shape (n,)
        Minus one for none.
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
    """Add a row for each number of a line of a table, equal numbers together; minus one is none."""
    flat = table.ravel()
    keep = np.flatnonzero(flat >= 0)
    at, place = np.unique(flat[keep], return_inverse=True)
    return at, summed_rows(place, rows[keep // table.shape[1]], len(at))


def _row_sums(table: NDArray[np.int32], factor: NDArray[np.float32]) -> NDArray[np.float32]:
    """Add the rows of a factor that each line of a table names; minus one is none."""
    return np.asarray(np.where(table[:, :, None] >= 0, factor[table], 0).sum(axis=1, dtype=np.float32))
