"""Reranking with few parameters for many features: the weights are a tensor of low rank."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from polyadic.errors import InputError
from polyadic.models.base import Count, Positive, Seed, Watch
from polyadic.models.predictors.mapping import Mapping, mapped, mode_sizes, places
from polyadic.models.predictors.reranking import Reranker
from polyadic.models.predictors.tensor_start import by_components, by_signs
from polyadic.solvers.predictors.passive_aggressive import Cap, Linear, Multilinear, Updates, passive_aggressive
from polyadic.solvers.run import run

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from polyadic.forms import Factors
    from polyadic.groups import Groups


class TensorMIRA(Reranker):
    r"""MIRA whose weights are the cells of a tensor of low rank (T-MIRA).

    .. math:: \min_W \tfrac12 \|W - W_t\|_F^2 + C \xi, \qquad
              W \circ (\Phi_z - \Phi_y) + \rho \le \xi, \quad \xi \ge 0, \qquad
              W = \sum_{h=1}^H w^1_h \otimes \dots \otimes w^D_h

    solved for one vector at a time (:mod:`polyadic.solvers.predictors.passive_aggressive`). :math:`V` features share
    :math:`H \sum_d n_d` parameters, with :math:`n_d` near :math:`V^{1/D}`, by where they stand in the tensor
    (:mod:`polyadic.models.predictors.mapping`). That helps where lists are few and features many.

    Parameters
    ----------
    rank : int
        :math:`H`.
    order : int
        :math:`D`. Of order 1 and rank 1, with every feature in a cell of its own, it is MIRA.
    C : float
    mapping : {"guided", "sequential", "random", "hashed"}
        Where features stand; "guided" by the weights of a perceptron that learns first.
    surrogate : int
        Epochs of that perceptron, averaged as the model is; the paper has one.
    sizes : sequence of int, optional
        Of the modes; by default :func:`~polyadic.models.predictors.mapping.mode_sizes`.
    init : {"components", "signs"}
        Vectors at the start: the components of the perceptron's weights in their cells, one taken away after another
        (for order 2 the singular vectors); or random signs, near the paper. Either has unit norm. Of order 1: zeros.
    updates : {"random", "rotated", "fixed", "joint"}
        The order of vectors in a step. Where the first takes away the loss the others stay, so that "fixed" mostly
        moves one. "joint" moves all at once.
    cap : {"scaled", "plain", "none"}
        What bounds a step: C by the squared norms of the other vectors, as the problem has it; C; or nothing.
    augmented, max_iter, averaged, shuffle, seed, watch
        As those of :class:`~polyadic.models.predictors.linear_rerankers.MIRA`. The mean is that of tensors.

    Attributes
    ----------
    factors_ : list of ndarray of shape (n_d, H)
        The vectors reached last in the epoch that was kept; ``weights_`` is a mean if averaged.
    place_ : ndarray of int of shape (features,)
        Cells of features, the first mode the fastest.
    weights_, names_, classes_, result_, history_, n_iter_, converged_, interrupted_
        See :class:`~polyadic.models.predictors.reranking.Reranker`.

    References
    ----------
    Cao, Khudanpur (2014), Online learning in tensor space.

    Examples
    --------
    >>> from polyadic.groups import Groups
    >>> lists = Groups.of([[1, 0], [0, 1], [1, 1], [0, 1]], costs=[1, 0, 1, 0], group=[0, 0, 1, 1])
    >>> model = TensorMIRA(1, C=1.0).fit(lists)
    >>> model.rerank(lists).tolist(), [len(w) for w in model.factors_]
    ([1, 3], [1, 2])
    """

    rank: Count = 2
    _: KW_ONLY
    order: Count = 2
    C: Positive = 0.1
    mapping: Mapping = "guided"
    surrogate: Count = 5
    sizes: Sequence[Count] | None = None
    init: Literal["signs", "components"] = "components"
    updates: Updates = "random"
    cap: Cap = "scaled"
    augmented: bool = True
    max_iter: Count = 10
    averaged: bool = True
    shuffle: bool = True
    seed: Seed = 0
    watch: Watch = None

    def check(self) -> None:
        """Refuse settings out of range, and sizes that are not one for each mode."""
        super().check()
        if self.sizes is not None and len(self.sizes) != self.order:
            raise InputError(f"sizes must be one for each of {self.order} modes; got {tuple(map(int, self.sizes))}")

    def _learner(self, blocks: Iterable[Groups], V: int, rng: np.random.Generator) -> Multilinear:
        H, D = self.rank, self.order
        sizes = mode_sizes(V, D) if self.sizes is None else tuple(map(int, self.sizes))
        v = self._surrogate(blocks, V) if self.mapping == "guided" or self.init == "components" else None
        place = places(self.mapping, V, sizes, v=v, seed=self.seed)
        if D == 1:
            start = [np.zeros((sizes[0], H))]
        elif v is not None and self.init == "components":
            start = by_components(mapped(v, place, sizes), H, rng)
        else:
            start = by_signs(sizes, H, rng)
        how: dict[str, Any] = {"C": float(self.C), "updates": self.updates, "cap": self.cap, "averaged": self.averaged}
        return Multilinear(start, place, augmented=self.augmented, rng=rng, **how)

    def _surrogate(self, blocks: Iterable[Groups], V: int) -> NDArray[np.float64]:
        """Give the weights of a perceptron."""
        rng = np.random.default_rng(self.seed) if self.shuffle else None
        learned = run(passive_aggressive(blocks, Linear(V, averaged=self.averaged), rng=rng), max_iter=self.surrogate)
        if learned.interrupted:
            raise KeyboardInterrupt
        return np.asarray(learned.factors[0])

    def _keep_parts(self, learner: Multilinear, parts: Factors) -> None:
        self.place_, self.factors_ = learner.place, list(parts)
