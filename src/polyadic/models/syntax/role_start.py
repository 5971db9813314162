"""Where a model of semantic roles starts: at random, or at a tensor near the weights of a sparse model."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from polyadic.linalg.power import greedy_power
from polyadic.models.syntax.role_frames import TRIPLES
from polyadic.progress import tracked
from polyadic.solvers.syntax.role_tensor import RoleParts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from polyadic.models.syntax.role_frames import Known
    from polyadic.solvers.syntax.role_tensor import Frame, RoleLearner

ROUNDS = 10
"""Of the power method for each component: as good to start from as fifty."""


def random_parts(known: Known, roles: int, rank: int, *, bits: int, rng: np.random.Generator) -> RoleParts:
    """Give weights of zero and small random factors."""
    sizes = (len(known.words), len(known.words), len(known.paths), roles + 1)
    draw = [rng.normal(scale=0.1, size=(size, rank)).astype(np.float32) for size in sizes]
    return RoleParts(np.zeros((1 << bits) + roles + 1, np.float32), *draw)


def power_parts(
    frames: Sequence[tuple[Frame, NDArray[np.int64]]],
    learner: RoleLearner,
    *,
    rng: np.random.Generator,
    max_iter: int = ROUNDS,
) -> RoleParts:
    """Learn the sparse part alone for one epoch and put its weights into a tensor of low rank; theta is zero again.

    Parameters
    ----------
    frames : sequence of (Frame, roles)
    learner : RoleLearner
        With gamma 1; its parts have the sizes wanted.
    rng : numpy.random.Generator
        Of the order of the predicates.
    max_iter : int
        Rounds of the power method for each component.
    """
    used = []
    for at in tracked(rng.permutation(len(frames)).tolist(), "learning pairs"):
        predicted, loss = learner.learn(*frames[at])
        if loss:
            used += [(at, frames[at][1]), (at, predicted)]
    parts, theta = learner.parts, learner.mean().theta
    listed = [tensor_cells(frames[at][0], theta, roles) for at, roles in used]
    cells = np.concatenate([np.zeros((0, 4), np.int64), *(cells for cells, _ in listed)])
    values = np.concatenate([np.zeros(0), *(values for _, values in listed)])
    shape = tuple(len(factor) for factor in parts[1:])
    _, first = np.unique(np.ravel_multi_index(tuple(cells.T), shape), return_index=True)
    first = first[values[first] != 0]
    sigma, factors = greedy_power(cells[first], values[first], shape, rank=parts.P.shape[1], max_iter=max_iter)
    factors[-1] = factors[-1] * sigma
    return RoleParts(np.zeros_like(theta), *(factor.astype(np.float32) for factor in factors))


def tensor_cells(
    frame: Frame, theta: NDArray[np.float32], roles: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Give the joined features of the arguments of a frame as cells of a tensor, and their weights.

    Returns
    -------
    cells : ndarray of shape (cells, 4)
        Feature of the predicate, of the word, of the path, and 0 for any role or 1 + its number.
    values : ndarray of shape (cells,)
    """
    words = np.flatnonzero(roles >= 0)
    begin = frame.cells[words]
    line, column = np.nonzero(begin >= 0)
    at = begin[line, column]
    ends = (
        frame.predicate[0, TRIPLES[column, 0]],
        frame.words[words[line], TRIPLES[column, 1]],
        frame.paths[words[line], TRIPLES[column, 2]],
    )
    label = roles[words[line]] + 1
    cells = [np.stack([*ends, kind], axis=1) for kind in (np.zeros_like(label), label)]
    return np.concatenate(cells).astype(np.int64), np.concatenate([theta[at], theta[at + label]]).astype(float)
