r"""Reranking by MIRA with feature weights that are the cells of a low-rank tensor.

A mapping assigns features to cells of the tensor. Position :math:`a`, from 0, is the cell :math:`(i_1, \dots, i_D)`
with :math:`a = \sum_d i_d \prod_{k < d} n_k`, so the first mode is the fastest. The guided mapping (figure 2a) sorts
the weights of a model trained first, positive ones in falling and negative ones in rising order, and fills slices of
the last mode with :math:`u` of them each. A slice has one sign where possible, and slices are approximately
proportional to each other.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import KW_ONLY
from functools import partial, reduce
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from polyadic.core.annotations import AnyArray, Array, Ints
from polyadic.core.errors import InputError
from polyadic.core.model import Count, Positive
from polyadic.core.solvers.run import run
from polyadic.core.unfolding import mode_dot
from polyadic.ranking.passive_aggressive import Cap, Linear, Multilinear, Updates, passive_aggressive
from polyadic.ranking.reranking import Reranker

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from polyadic.core.forms import Factors
    from polyadic.core.query_groups import QueryGroups

FeatureMapping = Literal["guided", "sequential", "random", "hashed"]
Start = Literal["signs", "uniform", "equal"]


def mode_sizes(V: int, D: int) -> tuple[int, ...]:
    """Return the smallest sizes near :math:`V^{1/D}` for the ``D`` modes of a tensor with at least ``V`` cells."""
    low = round(V ** (1 / D))
    low -= low**D > V
    ups = next(k for k in itertools.count() if low ** (D - k) * (low + 1) ** k >= V)
    return (low,) * (D - ups) + (low + 1,) * ups


def guided_order(v: ArrayLike, u: int) -> Ints:
    """Order features by decreasing absolute weight, in groups of ``u`` features whose weights have the same sign."""
    weights = np.asarray(v, float)
    order = np.argsort(-np.abs(weights), kind="stable")
    plus, minus = order[weights[order] >= 0], order[weights[order] < 0]
    e, f = len(plus) - len(plus) % u, len(minus) - len(minus) % u
    return np.concatenate([plus[:e], minus[:f], plus[e:], minus[f:]])


def places(
    mapping: FeatureMapping, V: int, sizes: Sequence[int], *, v: ArrayLike | None = None, seed: int | None = None
) -> Ints:
    """Return the tensor cell of each feature: "guided" orders them by the weights ``v``, "hashed" allows collisions."""
    room = math.prod(sizes)
    if mapping == "hashed":
        return (_mixed(np.arange(V, dtype=np.uint64)) % np.uint64(room)).astype(np.int64)
    if room < V:
        about = f"the product of sizes must be at least {V:,}, the number of features"
        raise InputError(f"{about}; got {tuple(sizes)}", "sizes")
    if mapping == "random":
        return np.random.default_rng(seed).permutation(room)[:V]
    order = np.arange(V)
    if mapping == "guided":
        weights = np.asarray([] if v is None else v, float)
        if weights.shape != (V,):
            about = f"v must have one weight for each of the {V:,} features"
            raise InputError(f"{about} for mapping='guided'; got {weights.shape}", "mapping", "v")
        order = guided_order(weights, room // sizes[-1])
    place = np.empty(V, np.int64)
    place[order] = np.arange(V)
    return place


def mapped(v: ArrayLike, place: AnyArray, sizes: Sequence[int]) -> Array:
    """Arrange feature weights in a dense tensor, adding the weights of features in the same cell."""
    W = np.bincount(place, weights=np.asarray(v, float), minlength=math.prod(sizes))
    return W.astype(float).reshape(tuple(sizes), order="F")


def _mixed(x: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Hash integers by the finaliser of SplitMix64 (Steele, Lea, Flood 2014), with equal results on all platforms."""
    x = x + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


SWEEPS = 30  # number of power iterations; the start need not be exact


def initial_factors(init: Start, sizes: Sequence[int], H: int, rng: np.random.Generator) -> list[Array]:
    """Return factors of a tensor of unit norm, with random signs, uniform entries from 0 to 1, or equal entries."""
    draw: dict[str, Any] = {"signs": partial(rng.choice, [-1.0, 1.0]), "uniform": rng.random, "equal": np.ones}
    return _unit([draw[init]((n, H)) for n in sizes])


def greedy_factors(T: Array, H: int, rng: np.random.Generator) -> list[Array]:
    """Return a greedy rank-``H`` approximation of the tensor ``T``, scaled to unit norm."""
    rest, components = T.copy(), []
    for _ in range(H):
        vectors = [_normed(rng.standard_normal(n)) for n in T.shape]
        size = 0.0
        for _ in range(SWEEPS):
            for d in range(T.ndim):
                vectors[d] = _against(rest, vectors, d)
                size = float(np.linalg.norm(vectors[d]))
                vectors[d] = _normed(vectors[d])
        components.append([size ** (1 / T.ndim) * w for w in vectors])
        rest -= size * reduce(np.multiply.outer, vectors)
    if not components[0][0].any():
        return initial_factors("signs", T.shape, H, rng)
    return _unit([np.stack([part[d] for part in components], axis=1) for d in range(T.ndim)])


def tensor_norm(factors: Sequence[AnyArray]) -> float:
    """Return the Frobenius norm of a tensor in CP form."""
    return float(np.sqrt(max(reduce(np.multiply, [w.T @ w for w in factors]).sum(), 0.0)))


def _against(T: AnyArray, vectors: list[AnyArray], d: int) -> AnyArray:
    """Contract a tensor with vectors in all modes but one."""
    for e in reversed(range(T.ndim)):
        if e != d:
            T = mode_dot(T, vectors[e], e)
    return T


def _normed(w: Any) -> AnyArray:
    size = np.linalg.norm(w)
    return w / size if size > 0 else w


def _unit(factors: list[AnyArray]) -> list[Array]:
    size = tensor_norm(factors)
    scale = size ** (-1 / len(factors)) if size > 0 else 1.0
    return [w * scale for w in factors]


class TensorMIRA(Reranker):
    r"""MIRA whose weights are the cells of a low-rank tensor (T-MIRA).

    .. math:: \min_W \tfrac12 \|W - W_t\|_F^2 + C \xi, \qquad
              W \circ (\Phi_z - \Phi_y) + \rho \le \xi, \quad \xi \ge 0, \qquad
              W = \sum_{h=1}^H w^1_h \otimes \dots \otimes w^D_h

    solved for one vector at a time (:mod:`polyadic.ranking.passive_aggressive`). :math:`V` features share :math:`H
    \sum_d n_d` parameters, with :math:`n_d` near :math:`V^{1/D}`, according to their position in the tensor
    (:mod:`polyadic.ranking.tensor_mira`). This helps with few lists and many features.

    Parameters
    ----------
    rank : int
        Number of rank-one components :math:`H` of the weight tensor.
    order : int
        Number of modes :math:`D` of the weight tensor. Order 1 and rank 1 without collisions is MIRA.
    C : float
        Upper bound of the step size of each update.
    mapping : {"guided", "sequential", "random", "hashed"}
        Assignment of features to cells of the weight tensor. "guided" uses the weights of a perceptron trained first.
    surrogate : int
        Number of epochs of the perceptron that is trained first for the mapping and the initialization. It is averaged
        as the model is; the paper uses one.
    sizes : sequence of int, optional
        Sizes of the modes of the weight tensor. By default :func:`~polyadic.ranking.tensor_mira.mode_sizes`.
    init : {"components", "signs", "uniform", "equal"}
        Initial vectors, scaled to a tensor of unit norm: greedy rank-one components of the perceptron's weights in
        their cells (singular vectors for order 2), random signs, uniform random numbers from 0 to 1, or equal entries.
        The paper initializes entries "uniformly", which can mean either of the last two. Order 1 starts at zero.
    updates : {"random", "rotated", "fixed", "joint"}
        Order in which the mode vectors are updated in each step. Later vectors move only if the earlier ones leave a
        loss, so "fixed" mostly updates one vector. "joint" updates all at once.
    cap : {"scaled", "plain", "none"}
        Bound of the step size: C divided by the squared norms of the other mode vectors (scaled), C (plain), or none.
    augmented : bool
        Add costs to scores when searching for the best candidate, so that the candidate with the largest loss is found.

    Attributes
    ----------
    factors_ : list of ndarray of shape (n_d, H)
        Last vectors of the epoch that was kept; if averaged, ``weights_`` is a mean instead.
    place_ : ndarray of int of shape (features,)
        Cell of each feature, first mode fastest.
    weights_, names_, classes_
        See :class:`~polyadic.ranking.reranking.Reranker`.

    References
    ----------
    Cao, Khudanpur (2014), Online learning in tensor space, sections 3.2 to 3.4.

    Examples
    --------
    >>> from polyadic.core.query_groups import QueryGroups
    >>> lists = QueryGroups.of([[1, 0], [0, 1], [1, 1], [0, 1]], costs=[1, 0, 1, 0], group=[0, 0, 1, 1])
    >>> model = TensorMIRA(1, C=1.0).fit(lists)
    >>> model.rerank(lists).tolist(), [len(w) for w in model.factors_]
    ([1, 3], [1, 2])
    """

    rank: Count = 2
    _: KW_ONLY
    order: Count = 2
    C: Positive = 0.1
    mapping: FeatureMapping = "guided"
    surrogate: Count = 5
    sizes: Sequence[Count] | None = None
    init: Start | Literal["components"] = "components"
    updates: Updates = "random"
    cap: Cap = "scaled"
    augmented: bool = True

    def check(self) -> None:
        """Raise InputError if a setting is out of range or the length of ``sizes`` differs from ``order``."""
        super().check()
        if self.sizes is not None and len(self.sizes) != self.order:
            got = tuple(map(int, self.sizes))
            raise InputError(f"sizes must have one number for each of the {self.order} modes; got {got}", "sizes")

    def _learner(self, blocks: Iterable[QueryGroups], V: int, rng: np.random.Generator) -> Multilinear:
        H, D = self.rank, self.order
        sizes = mode_sizes(V, D) if self.sizes is None else tuple(map(int, self.sizes))
        v = self._surrogate(blocks, V) if self.mapping == "guided" or self.init == "components" else None
        place = places(self.mapping, V, sizes, v=v, seed=self.seed)
        if D == 1:
            start = [np.zeros((sizes[0], H))]
        elif self.init != "components":
            start = initial_factors(self.init, sizes, H, rng)
        else:
            start = greedy_factors(mapped(np.asarray(v), place, sizes), H, rng)
        how: dict[str, Any] = {"C": float(self.C), "updates": self.updates, "cap": self.cap, "averaged": self.averaged}
        return Multilinear(start, place, augmented=self.augmented, rng=rng, **how)

    def _surrogate(self, blocks: Iterable[QueryGroups], V: int) -> Array:
        """Return the feature weights of a perceptron trained on the given candidate lists."""
        rng = np.random.default_rng(self.seed) if self.shuffle else None
        learned = run(passive_aggressive(blocks, Linear(V, averaged=self.averaged), rng=rng), max_iter=self.surrogate)
        if learned.interrupted:
            raise KeyboardInterrupt
        return np.asarray(learned.factors[0])

    def _keep_parts(self, learner: Multilinear, parts: Factors) -> None:
        self.place_, self.factors_ = learner.place, list(parts)
