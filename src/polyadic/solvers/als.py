r"""Alternating least squares for CP models of sparse tensors, every unlisted cell an exact zero.

With the other factors fixed, the best factor of a mode solves normal equations of the size of the rank,

.. math:: U^{(d)} (H_d + \lambda I) = M_d, \qquad H_d = \prod_{c \ne d}^{*} U^{(c)\top} U^{(c)},

where :math:`M_d` is the product of the data with the other factors (:func:`polyadic.kernels.mttkrp`). The last
:math:`M_d` of a sweep also gives the objective, so a sweep reads the data once per mode and no more.

References
----------
Kolda, Bader (2009), Tensor decompositions and applications, section 3.4.
Sharan, Valiant (2017), Orthogonalized ALS, algorithm 1 and section 3 (hybrid). arXiv:1703.01804.
"""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from polyadic import kernels
from polyadic.errors import InputError, check_int
from polyadic.forms import CP
from polyadic.losses import Squared
from polyadic.penalties import L2
from polyadic.solvers.run import Sweep

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from polyadic.forms import Factors
    from polyadic.objective import Objective, Term


def als(objective: Objective, start: Factors, *, orthogonal: int = 0) -> Iterator[Sweep]:
    r"""Solve for one factor after the other; one sweep solves once for each.

    .. math:: \min_{U^{(1)}, \dots, U^{(n)}} \tfrac{\alpha}{2} \sum_{\text{all cells}} (x - m)^2
              + \tfrac{\lambda}{2} \sum_d \|U^{(d)}\|_F^2, \qquad m_{i_1 \dots i_n} = \sum_r \prod_d U^{(d)}_{i_d r}

    After each sweep the columns of a component get one length in all modes, which changes no prediction and makes the
    ridge smallest.

    Parameters
    ----------
    objective : Objective
        One term of CP form and squared loss, a factor of its own for each mode, unlisted cells zero and of weight 1
        like all others; :class:`~polyadic.penalties.L2` of one strength :math:`\lambda` for all factors.
    start : list of ndarray of shape (size of the mode, R)
        Where to begin; it is not changed. The first factor is solved for first, so its start does not matter.
    orthogonal : int
        In so many first sweeps the columns of the other factors are made orthonormal before a factor is solved for:
        no two components can follow the same direction (Orth-ALS). Such a sweep may raise the objective; plain sweeps
        follow (the hybrid of the paper).

    Yields
    ------
    Sweep
        First the start. Plain sweeps never raise the objective, up to rounding.

    Raises
    ------
    InputError
        If the objective is of another kind, the start does not fit, or ``orthogonal`` sweeps need more orthogonal
        columns than a mode has rows.
    """
    term, strength = _least_squares(objective)
    check_int("orthogonal", orthogonal, low=0)
    _check_start(start, term, orthogonal)
    product, squares = _data(term, start[0].dtype, objective.threads)
    ridge, last = strength / term.weight, len(start) - 1

    def value(u: Factors, M: NDArray[Any], grams: Factors) -> float:
        inner = float(np.vdot(M.astype(float), u[last].astype(float)))
        lengths = sum(float(gram.trace()) for gram in grams)
        return term.weight * (0.5 * squares - inner + 0.5 * float(np.prod(grams, axis=0).sum()) + 0.5 * ridge * lengths)

    u = [np.array(f) for f in start]
    grams = [_gram(f) for f in u]
    yield Sweep(u, value(u, product(u, last), grams))
    for sweep in itertools.count(1):
        u = list(u)
        if sweep <= orthogonal:
            for d in range(1, len(u)):
                u[d], grams[d] = _orthonormal(u[d])
        for d in range(len(u)):
            M = product(u, d)
            H = np.prod(grams[:d] + grams[d + 1 :], axis=0)
            u[d] = _solved(u[d], M, H + ridge * np.eye(len(H)))
            u[d], grams[d] = _orthonormal(u[d]) if sweep <= orthogonal and d < last else (u[d], _gram(u[d]))
        scales = _balance(grams)
        grams = [gram * np.outer(s, s) for gram, s in zip(grams, scales, strict=True)]
        reached = value(u, M, grams)  # M and the last factor, neither yet scaled: their inner product stays the same
        u = [(f * s).astype(f.dtype) for f, s in zip(u, scales, strict=True)]
        yield Sweep(u, reached)


def _least_squares(objective: Objective) -> tuple[Term, float]:
    """Give the one term and the strength of the ridge, or say what alternating least squares cannot solve."""
    term, penalties = objective.terms[0], objective.penalties
    if len(objective.terms) > 1 or not (isinstance(term.form, CP) and isinstance(term.loss, Squared)):
        raise InputError("als needs one term of CP form and squared loss; use quasi_newton for others")
    order = term.entries.order
    if order < 2 or term.slots != tuple(range(order)):
        raise InputError(f"als needs at least two modes and slots 0, 1, .. in order; got {term.slots}")
    if term.importance:
        raise InputError("als counts every zero alike; importance needs quasi_newton or stochastic")
    if term.weight == 0 or term.zero_weight != 1:
        raise InputError(
            f"als needs a zero_weight of 1 and a positive weight; got {term.zero_weight:g} and {term.weight:g}"
        )
    if term.entries.weights is not None and (term.entries.weights != 1).any():
        raise InputError("als counts every cell alike; leave the weights of entries away or use quasi_newton")
    if not isinstance(penalties[0], L2) or any(penalty != penalties[0] for penalty in penalties):
        raise InputError(f"als needs L2 penalties of one strength; got {', '.join(map(repr, penalties))}")
    return term, penalties[0].strength


def _check_start(start: Factors, term: Term, orthogonal: int) -> None:
    shape = term.entries.shape
    rank = start[0].shape[-1] if start else 0
    if [f.shape for f in start] != [(size, rank) for size in shape] or len({f.dtype for f in start}) > 1:
        raise InputError(
            f"start must be a factor of shape (size, rank) per mode of {shape}, all of one type; got"
            f" {[(f.shape, str(f.dtype)) for f in start]}"
        )
    if orthogonal and rank > min(shape):
        raise InputError(
            f"a mode of {min(shape)} rows has no {rank} orthogonal columns; lower the rank or set orthogonal to 0"
        )


def _data(term: Term, dtype: np.dtype[Any], threads: int) -> tuple[Callable[[Factors, int], NDArray[Any]], float]:
    """Give the product of the data with all factors but one, and the sum of squares over all cells."""
    entries = term.entries
    values = entries.values.astype(dtype, copy=False)
    if not entries.symmetric:
        return (
            lambda u, d: kernels.mttkrp(entries.indices, values, u, mode=d, threads=threads),
            float(np.vdot(values, values.astype(float))),
        )
    share = entries.multiplicity() / math.factorial(entries.order)  # the loops count each permutation of places
    squares = math.factorial(entries.order) * float(np.sum(share * values.astype(float) ** 2))
    if (share < 1).any():
        values = (values * share).astype(dtype)
    return lambda u, d: kernels.mttkrp_symmetric(entries.indices, values, u, mode=d, threads=threads), squares


def _gram(u: NDArray[Any]) -> NDArray[Any]:
    doubles = u.astype(float)
    return doubles.T @ doubles


def _orthonormal(u: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Make columns orthonormal, the first ones least changed; give them and their Gram matrix."""
    Q = np.linalg.qr(u)[0]
    return Q, _gram(Q)


def _solved(u: NDArray[Any], M: NDArray[Any], H: NDArray[Any]) -> NDArray[Any]:
    """Solve ``V H = M``; directions in which ``H`` is zero, up to the rounding of ``M``, stay as they are in ``u``."""
    from scipy.linalg import LinAlgError, cho_solve, cholesky, eigh

    lengths = np.sqrt(np.maximum(H.diagonal(), 0))
    d = np.where(lengths > 0, 1 / np.where(lengths > 0, lengths, 1), 1)  # columns of length one: only angles matter
    scaled, right = H * np.outer(d, d), M * d
    eps = max(float(np.finfo(u.dtype).eps), 10 * len(H) * float(np.finfo(float).eps))
    try:
        lower = cholesky(scaled, lower=True)
        if lower.diagonal().min() ** 2 > eps:
            return (cho_solve((lower, True), right.T).T * d).astype(u.dtype)
    except LinAlgError:
        pass
    values, vectors = eigh(scaled)
    vectors, values = vectors[:, values > eps * values[-1]], values[values > eps * values[-1]]
    before = u / d
    step = ((right - before @ scaled) @ vectors / values) @ vectors.T
    return ((before + step) * d).astype(u.dtype)


def _balance(grams: Factors) -> NDArray[Any]:
    """Give factors, shape (order, R), that make the columns of a component equally long and keep their product."""
    lengths = np.sqrt([gram.diagonal() for gram in grams])
    alive = (lengths > 0).all(axis=0)
    logs = np.log(np.where(alive, lengths, 1.0))
    return np.exp(logs.mean(axis=0) - logs)
