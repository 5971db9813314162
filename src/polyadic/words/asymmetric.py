r"""CP decomposition of an association tensor with a separate factor for each mode, by alternating least squares (ALS).

With the other factors fixed, the optimal factor of a mode solves normal equations of the size of the rank,

.. math:: U^{(d)} (H_d + \lambda I) = M_d, \qquad H_d = \prod_{c \ne d}^{*} U^{(c)\top} U^{(c)},

where :math:`M_d` is the product of the data with the other factors (:func:`polyadic.core.kernels.mttkrp`). The last
:math:`M_d` of a sweep also gives the objective, so a sweep reads the data only once per mode.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import KW_ONLY, replace
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from polyadic.core import kernels
from polyadic.core.errors import InputError, check_int
from polyadic.core.forms import CP, Factors
from polyadic.core.losses import Squared
from polyadic.core.model import Amount, Count, Natural
from polyadic.core.objective import Objective, Term, stacked
from polyadic.core.penalties import L2
from polyadic.core.resources import check_memory
from polyadic.core.solvers.quasi_newton import quasi_newton
from polyadic.core.solvers.run import Sweep, run
from polyadic.words.base import SMALLER, TensorModel, listed

if TYPE_CHECKING:
    from numpy.typing import NDArray


class AsymmetricCP(TensorModel):
    r"""CP decomposition with a separate factor matrix for each mode: a word has one vector per position in a tuple.

    .. math:: \min_{\lambda, U} \tfrac12 \sum_{\text{all cells}} (x - m)^2 + \text{ridge}, \qquad
              m_{i_1 \dots i_n} = \sum_r \lambda_r \prod_d U^{(d)}_{i_d r}, \quad \|U^{(d)}_{\cdot r}\| = 1

    Every cell, zero or not, has weight 1; weights of entries are not used. The ridge is that of
    :func:`~polyadic.words.asymmetric.als`, on factors that share :math:`\lambda` equally.

    Parameters
    ----------
    orthogonal : int
        Number of initial sweeps with orthogonal factors (Orth-ALS), which need a rank of at most the length of each
        mode. On counted text the fit was the same with and without them.
    ridge : float
        Strength of the ridge penalty.
    vectors : {"words", "contexts", "all"}
        Word vectors to return: of the first mode (words), of the second mode (contexts), or of all modes concatenated.
        In :meth:`embedding` these are :math:`U^{(1)} \lambda^{1/n}` and :math:`U^{(2)} \lambda^{1/n}`.

    Attributes
    ----------
    factors_ : list of ndarray of shape (length of the mode, rank)
        :math:`U^{(d)}` with unit columns. In all modes but the first, the largest element of a column is positive.
    weights_ : ndarray of shape (rank,)
        :math:`\lambda`, positive, in decreasing order.
    history_ : list of float
        The objective at the start, where nothing is explained, and after each sweep. Without a ridge,
        ``1 - (history_[-1] / history_[0]) ** 0.5`` is what tensor toolboxes call the fit.

    References
    ----------
    Bailey, Aeron (2017), Word embeddings via tensor factorization, section 4.1 (CP). arXiv:1704.02686. Its "orthonormal
    columns" are columns of length one. Kolda, Bader (2009), Tensor decompositions and applications, section 3.4.
    Sharan, Valiant (2017), Orthogonalized ALS, algorithm 1 and section 3 (hybrid). arXiv:1703.01804.

    Examples
    --------
    >>> from polyadic.core.entries import Entries
    >>> x = Entries.collect([[0, 1, 2], [3, 4, 5]], [2.0, 1.0], 6)
    >>> model = AsymmetricCP(8, seed=0).fit(x)
    >>> bool(model.predict([[2, 0, 1]])[0] > 1.9), bool(abs(model.predict([[0, 1, 5]])[0]) < 0.1)
    (True, True)
    """

    _: KW_ONLY
    orthogonal: Natural = 0
    ridge: Amount = 0.0
    max_iter: Count = 50
    vectors: Literal["words", "contexts", "all"] = "words"

    def fit(self, entries: Any) -> Self:
        """Factorize associations of order two or more, Entries or an array or sparse array, symmetric or not.

        Cells that are not listed are zeros, or missing if the Entries say so; NaN and masked elements of an array are
        missing. With missing elements, the sum is over the others, and the solver is
        :func:`~polyadic.core.solvers.quasi_newton`. InputError is raised if there are no entries, ``orthogonal`` is set
        although elements are missing, or a setting is out of range.
        """
        self.check()
        entries = listed(entries, missing=True)
        missing = entries.unobserved == "missing"
        if missing and self.orthogonal:
            raise InputError("orthogonal must be 0 if elements are missing", "orthogonal")
        copies = 4 * entries.order + 2 * self._threads + 6
        what = f"a model of {' x '.join(f'{size:,}' for size in entries.shape)} cells and rank {self.rank}"
        check_memory(4.0 * copies * max(entries.shape) * self.rank, what, SMALLER)
        rng = np.random.default_rng(self.seed)
        # the first factor is solved for first: it starts at zero, so that history begins with nothing explained
        start = [np.zeros((entries.shape[0], self.rank), np.float32)]
        start += [rng.standard_normal((size, self.rank)).astype(np.float32) for size in entries.shape[1:]]
        x = entries if entries.weights is None else replace(entries, weights=None)
        term = Term(x, CP(), Squared(), tuple(range(entries.order)), zero_weight=0.0 if missing else 1.0)
        objective = Objective([term], [L2(self.ridge)] * entries.order, threads=self.threads)
        if missing:
            start[0] = rng.standard_normal((entries.shape[0], self.rank)).astype(np.float32)
        solver = quasi_newton(objective, start) if missing else als(objective, start, orthogonal=self.orthogonal)
        factors = self._keep(run(solver, max_iter=self.max_iter, tol=self.tol, callback=self.callback))
        self.factors_, self.weights_ = _unit(factors)
        return self

    def _predicted(self, tuples: NDArray[Any]) -> NDArray[np.float32]:
        U, offsets = stacked(dict(enumerate(self._scaled())), tuple(range(len(self.factors_))))
        return kernels.cp_predict(tuples, U, offsets=offsets, threads=self._threads)

    def _rows(self) -> NDArray[Any]:
        self.check()
        scaled = self._scaled()
        if self.vectors == "all":
            if len(set(sizes := [len(u) for u in scaled])) > 1:
                what = f"vectors='all' requires modes with the same vocabulary; got modes with {sizes} rows"
                raise InputError(f"{what}; set vectors to 'words' or 'contexts'", "vectors")
            return np.concatenate(scaled, axis=1)
        return scaled[1 if self.vectors == "contexts" else 0]

    def _scaled(self) -> Factors:
        share = self.weights_ ** np.float32(1 / len(self.factors_))
        return [u * share for u in self.factors_]


def _unit(factors: Factors) -> tuple[Factors, NDArray[np.float32]]:
    """Return factor matrices with unit-length columns and the component weights, in decreasing order of weight."""
    lengths = [np.linalg.norm(u.astype(float), axis=0) for u in factors]
    weights = np.prod(lengths, axis=0)
    order = np.argsort(-weights, kind="stable")
    units, sign = [], np.ones(len(weights))
    for u, length in zip(factors[1:], lengths[1:], strict=True):
        largest = np.take_along_axis(u, np.abs(u).argmax(axis=0)[None], axis=0)[0]
        turn = np.where(largest < 0, -1.0, 1.0)
        sign *= turn
        units.append(u * (turn / np.where(length > 0, length, 1)))
    units.insert(0, factors[0] * (sign / np.where(lengths[0] > 0, lengths[0], 1)))
    return [u[:, order].astype(np.float32) for u in units], weights[order].astype(np.float32)


def als(objective: Objective, start: Factors, *, orthogonal: int = 0) -> Iterator[Sweep]:
    r"""Fit a CP decomposition by alternating least squares (ALS), solving for each factor matrix once per sweep.

    Sweeps without orthogonalization never increase the objective.

    .. math:: \min_{U^{(1)}, \dots, U^{(n)}} \tfrac{\alpha}{2} \sum_{\text{all cells}} (x - m)^2
              + \tfrac{\lambda}{2} \sum_d \|U^{(d)}\|_F^2, \qquad m_{i_1 \dots i_n} = \sum_r \prod_d U^{(d)}_{i_d r}

    After each sweep the columns of a component are scaled to equal length in all modes, which changes no prediction and
    minimizes the ridge. In the first ``orthogonal`` sweeps the columns of the other factors are orthonormalized before
    a factor is solved for, so that no two components follow the same direction (Orth-ALS); such a sweep may increase
    the objective.
    """
    term, strength = _least_squares(objective)
    check_int("orthogonal", orthogonal, low=0)
    shape, rank = term.entries.shape, start[0].shape[-1] if start else 0
    if [f.shape for f in start] != [(size, rank) for size in shape] or len({f.dtype for f in start}) > 1:
        wanted = f"one factor for each mode, with row counts {shape}, equal ranks and equal dtypes"
        raise InputError(f"start must contain {wanted}; got {[(f.shape, str(f.dtype)) for f in start]}", "start")
    if orthogonal and rank > min(shape):
        what = f"a mode with {min(shape)} rows cannot have {rank} orthogonal columns"
        raise InputError(f"{what}; lower the rank or set orthogonal to 0")
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
        lengths = np.sqrt([gram.diagonal() for gram in grams])
        logs = np.log(np.where((lengths > 0).all(axis=0), lengths, 1.0))
        scales = np.exp(logs.mean(axis=0) - logs)  # (order, R): equal lengths in all modes, whose product is kept
        grams = [gram * np.outer(s, s) for gram, s in zip(grams, scales, strict=True)]
        reached = value(u, M, grams)  # M and the last factor, neither yet scaled: their inner product stays the same
        u = [(f * s).astype(f.dtype) for f, s in zip(u, scales, strict=True)]
        yield Sweep(u, reached)


def _least_squares(objective: Objective) -> tuple[Term, float]:
    """Return the CP term and the ridge strength; raise InputError if ALS cannot solve the objective."""
    term, penalties = objective.terms[0], objective.penalties
    if len(objective.terms) > 1 or not (isinstance(term.form, CP) and isinstance(term.loss, Squared)):
        raise InputError("als supports only a single CP term with squared loss; use quasi_newton for other models")
    order = term.entries.order
    if order < 2 or term.slots != tuple(range(order)):
        raise InputError(
            f"als requires at least two modes, each with its own factor (slots 0, 1, ...); got slots {term.slots}"
        )
    if term.importance:
        raise InputError("als does not support weights for zero cells; use quasi_newton or stochastic instead")
    if term.weight == 0 or term.zero_weight != 1:
        got = f"{term.zero_weight:g} and {term.weight:g}"
        raise InputError(f"als requires zero_weight 1 and a positive term weight; got {got}", "zero_weight")
    if term.entries.weights is not None and (term.entries.weights != 1).any():
        raise InputError("als does not support entry weights; remove the weights, or use quasi_newton")
    if not isinstance(penalties[0], L2) or any(penalty != penalties[0] for penalty in penalties):
        raise InputError(f"als requires L2 penalties of the same strength; got {', '.join(map(repr, penalties))}")
    return term, penalties[0].strength


def _data(term: Term, dtype: np.dtype[Any], threads: int) -> tuple[Callable[[Factors, int], NDArray[Any]], float]:
    """Return a function that computes the MTTKRP of one mode, and the sum of the squared values of all cells."""
    entries = term.entries
    values = entries.values.astype(dtype, copy=False)
    if not entries.symmetric:
        squares = float(np.vdot(values, values.astype(float)))
        return lambda u, d: kernels.mttkrp(entries.indices, values, u, mode=d, threads=threads), squares
    share = entries.multiplicity() / math.factorial(entries.order)  # the loops count each permutation of places
    squares = math.factorial(entries.order) * float(np.sum(share * values.astype(float) ** 2))
    if (share < 1).any():
        values = (values * share).astype(dtype)
    return lambda u, d: kernels.mttkrp_symmetric(entries.indices, values, u, mode=d, threads=threads), squares


def _gram(u: NDArray[Any]) -> NDArray[Any]:
    doubles = u.astype(float)
    return doubles.T @ doubles


def _orthonormal(u: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return an orthonormal basis of the columns of ``u`` (from a QR decomposition), and its Gram matrix."""
    Q = np.linalg.qr(u)[0]
    return Q, _gram(Q)


def _solved(u: NDArray[Any], M: NDArray[Any], H: NDArray[Any]) -> NDArray[Any]:
    """Solve ``V H = M`` for V; where a singular ``H`` leaves V undetermined, keep the values of ``u``."""
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
