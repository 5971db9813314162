r"""Planted filters: how well, and how fast, cumulants and alternating minimisation find them.

Signals of length 2a are sums of L filters of length a convolved with Poisson activations at the first a places, as in
the authors' program. The baseline fits :math:`\min_{f, w} \sum_i \|x_i - \sum_l f_l * w_{il}\|^2` to all samples by
gradient steps in turn, and knows where filters and activations can lie.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment

from polyadic.sentences.filter_als import Moments, compose, find_filters, shifts

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]
    Method = Literal["joint, singular vector", "joint, averaging", "one by one, averaging"]

MEAN = 2.0
"""Of the activations."""
METHODS: dict[Method, dict[str, Any]] = {
    "joint, singular vector": {},
    "joint, averaging": {"projection": "average"},
    "one by one, averaging": {"projection": "average", "joint": False},
}
"""Ours, the printed algorithm, and the authors' program."""
BLOCK = 10_000
"""Samples drawn at a time, so that a million take no more memory."""


class Case(NamedTuple):
    """A size of filters; whether they and activations lie in the first half, and whether that is known."""

    n: int
    filters: int
    padded: bool
    known: bool

    def __str__(self) -> str:
        where = ", padded" if self.padded else ""
        return f"n = {self.n}, {self.filters} filters{where}{', support known' if self.known else ''}"


CASES = (Case(12, 2, True, True), Case(12, 3, True, True), Case(12, 3, True, False), Case(16, 2, False, False))


class Planted(NamedTuple):
    """A problem: filters of shape (L, 2 a), and the seed of its samples."""

    filters: Array
    seed: int

    @property
    def length(self) -> int:
        """Supports of filters, and of activations."""
        return self.filters.shape[1] // 2

    def samples(self, number: int) -> Any:
        """Draw signals, in blocks of shape (samples, 2 a)."""
        rng = np.random.default_rng(self.seed)
        L, n = self.filters.shape
        spectrum = np.fft.rfft(self.filters)
        for start in range(0, number, BLOCK):
            w = np.zeros((min(BLOCK, number - start), L, n))
            w[..., : self.length] = rng.poisson(MEAN, (*w.shape[:2], self.length))
            yield np.fft.irfft((spectrum * np.fft.rfft(w)).sum(axis=1), n=n)


def planted(filters: int, length: int, seed: int) -> Planted:
    """Draw Gaussian filters of unit length."""
    f = np.zeros((filters, 2 * length))
    f[:, :length] = np.random.default_rng(seed).standard_normal((filters, length))
    return Planted(f / np.linalg.norm(f, axis=1, keepdims=True), seed)


def filter_error(filters: Array, true: Array) -> float:
    """Return the mean of 1 - cosine of filters with the true ones they are matched to, over all shifts and both signs.

    Examples
    --------
    >>> filter_error(np.array([[0.0, -1.0, 0.0, 0.0]]), np.array([[1.0, 0.0, 0.0, 0.0]]))
    0.0
    """
    return float(1 - _cosines(filters, true).mean())


def _cosines(filters: Array, true: Array) -> Array:
    cosines = np.abs(np.einsum("lsn,mn->lms", shifts(filters), true)).max(axis=-1)
    rows, columns = linear_sum_assignment(-cosines)
    return np.asarray(cosines[rows, columns])


def recovery(case: Case, method: Method, *, starts: int, tries: int, seed: int) -> float:
    """Return the share of planted cases with exact cumulants in which each filter has a cosine above .99."""
    good = 0
    for trial in range(tries):
        rng = np.random.default_rng(seed + trial)
        length = case.n // 2 if case.padded else case.n
        f, weights = np.zeros((1, case.filters, case.n)), np.zeros((1, case.filters, case.n))
        f[..., :length] = rng.standard_normal((case.filters, length))
        f /= np.linalg.norm(f, axis=-1, keepdims=True)
        weights[..., :length] = 1
        how: dict[str, Any] = {"support": length if case.known else None, "starts": starts, "sweeps": 200}
        solution = find_filters(compose([f] * 3, weights), case.filters, **how, **METHODS[method], seed=trial)
        good += bool(_cosines(solution.filters[0], f[0]).min() > 0.99)
    return good / tries


def by_cumulants(problem: Planted, number: int, *, starts: int) -> dict[str, float]:
    """Find filters from the third cumulant; drawing samples is not timed."""
    L, n = problem.filters.shape
    moments, passed = Moments.empty(1, n), 0.0
    for x in problem.samples(number):
        start = time.perf_counter()
        moments.add(x[None])
        passed += time.perf_counter() - start
    start = time.perf_counter()
    solution = find_filters(moments.cumulant(), L, support=problem.length, starts=starts, seed=problem.seed)
    solved = time.perf_counter() - start
    error = filter_error(solution.filters[0], problem.filters)
    return {"error": error, "unexplained": float(solution.error[0]), "pass_seconds": passed, "solve_seconds": solved}


def by_alternation(problem: Planted, number: int, *, sweeps: int) -> dict[str, Any]:
    """Find filters by alternating gradient steps on all samples."""
    x = np.concatenate(list(problem.samples(number)))
    L, n = problem.filters.shape
    rng = np.random.default_rng(problem.seed + 1)
    inside = np.arange(n) < problem.length
    f, w = rng.standard_normal((L, n)) * inside, np.zeros((number, L, n))
    f /= np.linalg.norm(f, axis=1, keepdims=True)
    target, size, curve, seconds = np.fft.rfft(x), float((x**2).sum()), [], 0.0
    for sweep in range(1, sweeps + 1):
        start = time.perf_counter()
        w, _ = _step(f, w, target, n, inside, over=1)
        f, left = _step(w, f, target, n, inside, over=0)
        lengths = np.linalg.norm(f, axis=1)
        f, w = f / lengths[:, None], w * lengths[:, None]
        seconds += time.perf_counter() - start
        if sweep & (sweep - 1) == 0 or sweep == sweeps:
            curve.append({"sweep": sweep, "error": filter_error(f, problem.filters), "unexplained": left / size})
    return {**curve[-1], "seconds": seconds, "curve": curve}


def _step(
    known: Array, moved: Array, target: NDArray[Any], n: int, inside: NDArray[Any], *, over: int
) -> tuple[Array, float]:
    """Take a gradient step in the filters or the activations, and give the squares that were left before it.

    ``over`` says along which axis of the one that moves sums of its gradient do not run: activations have one of each
    sample, filters are shared by all.
    """
    a, b = np.fft.rfft(known), np.fft.rfft(moved)
    left = (a * b).sum(axis=-2) - target  # (samples, frequencies)
    gradient = a.conj() * left[:, None]
    power = (np.abs(a) ** 2).sum(axis=-2)
    if over == 0:
        gradient, power = gradient.sum(axis=0), power.sum(axis=0)
    squares = float((np.fft.irfft(left, n=n) ** 2).sum())
    return (moved - np.fft.irfft(gradient, n=n) / power.max()) * inside, squares
