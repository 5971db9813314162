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

from experiments.huang2017.printed import decompose
from polyadic.sentences.filter_als import Moments, compose, convolutional_als, find_filters, shifts

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from experiments.huang2017.printed import Variant

    Array = NDArray[np.float64]
    Method = Literal["joint, singular vector", "joint, averaging", "one by one, averaging"]

MEAN = 2.0
"""Of the activations."""
METHODS: dict[Method, dict[str, Any]] = {
    "joint, singular vector": {},
    "joint, averaging": {"projection": "average"},
    "one by one, averaging": {"projection": "average", "joint": False},
}
"""Ours, that of theorem A.1, and the program of the authors; all with the corrected Psi."""
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
        C, f = planted_tensor(case, seed + trial)
        support = case.n // 2 if case.known and case.padded else None
        how: dict[str, Any] = {"support": support, "starts": starts, "sweeps": 200}
        solution = find_filters(C, case.filters, **how, **METHODS[method], seed=trial)
        good += bool(_cosines(solution.filters[0], f).min() > 0.99)
    return good / tries


def planted_tensor(case: Case, seed: int) -> tuple[Array, Array]:
    """Return the exact cumulant of a planted case, of shape (1, n, n, n), and its filters (L, n)."""
    rng = np.random.default_rng(seed)
    length = case.n // 2 if case.padded else case.n
    f, weights = np.zeros((1, case.filters, case.n)), np.zeros((1, case.filters, case.n))
    f[..., :length] = rng.standard_normal((case.filters, length))
    f /= np.linalg.norm(f, axis=-1, keepdims=True)
    weights[..., :length] = 1
    return compose([f] * 3, weights), f[0]


def printed_recovery(case: Case, variant: Variant, *, starts: int, tries: int, seed: int) -> list[int]:
    """Return for each planted case whether every filter has a cosine above .99: with one start, with the best of all.

    The best start explains most of the tensor. Neither support nor padding is given, as in the paper.
    """
    found = np.zeros((2, tries), int)
    for trial in range(tries):
        C, f = planted_tensor(case, seed + trial)
        rng = np.random.default_rng(trial)
        filters, left = decompose(np.repeat(C, starts, axis=0), case.filters, variant, sweeps=200, rng=rng)
        found[:, trial] = [_cosines(filters[at], f).min() > 0.99 for at in (0, int(left.argmin()))]
    return [row.tolist() for row in found]


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


def by_alternation(problem: Planted, number: int, *, sweeps: int, starts: int = 1) -> dict[str, Any]:
    """Find filters by alternating gradient steps on all samples; of several starts the best explains the samples most.

    The time is that of all starts.
    """
    x = np.concatenate(list(problem.samples(number)))
    L, n = problem.filters.shape
    inside = np.arange(n) < problem.length
    target, size, seconds, curves = np.fft.rfft(x), float((x**2).sum()), 0.0, []
    for start in range(starts):
        rng = np.random.default_rng(problem.seed + 1 + 1000 * start)
        f, w, curve = rng.standard_normal((L, n)) * inside, np.zeros((number, L, n)), []
        f /= np.linalg.norm(f, axis=1, keepdims=True)
        for sweep in range(1, sweeps + 1):
            began = time.process_time()
            w, _ = _step(f, w, target, n, inside, over=1)
            f, left = _step(w, f, target, n, inside, over=0)
            lengths = np.linalg.norm(f, axis=1)
            f, w = f / lengths[:, None], w * lengths[:, None]
            seconds += time.process_time() - began
            if sweep & (sweep - 1) == 0 or sweep == sweeps:
                curve.append({"sweep": sweep, "error": filter_error(f, problem.filters), "unexplained": left / size})
        curves.append(curve)
    best = min(curves, key=lambda curve: curve[-1]["unexplained"])
    return {**best[-1], "seconds": seconds, "curve": best}


def by_sweep(problem: Planted, number: int, *, sweeps: int, starts: int) -> dict[str, Any]:
    """Return what :func:`by_alternation` does for the cumulant, whose best start explains it most.

    The time is that of the sweeps of all starts, without the pass over the samples.
    """
    L, n = problem.filters.shape
    moments, curves, seconds = Moments.empty(1, n), [], 0.0
    for x in problem.samples(number):
        moments.add(x[None])
    C = moments.cumulant()
    for start in range(starts):
        rng = np.random.default_rng(problem.seed + 1 + 1000 * start)
        solver, curve = convolutional_als(C, L, support=problem.length, rng=rng), []
        for sweep in range(1, sweeps + 1):
            began = time.process_time()
            state = next(solver)
            seconds += time.process_time() - began
            if sweep & (sweep - 1) == 0 or sweep == sweeps:
                error = filter_error(state.factors[0][0], problem.filters)
                curve.append({"sweep": sweep, "error": error, "unexplained": state.objective})
        curves.append(curve)
    best = min(curves, key=lambda curve: curve[-1]["unexplained"])
    return {**best[-1], "seconds": seconds, "curve": best}


def fourth_order(filters: int, length: int, *, samples: int, starts: int, seed: int) -> dict[str, float]:
    """Return errors of filters found from third and fourth cumulants, of signals with Laplace activations."""
    problem, rng = planted(filters, length, seed), np.random.default_rng(seed)
    n, spectrum = 2 * length, np.fft.rfft(problem.filters)
    by_order = {order: Moments.empty(1, n, order=order) for order in (3, 4)}
    for _ in range(0, samples, BLOCK):
        w = np.zeros((BLOCK, filters, n))
        w[..., :length] = rng.laplace(size=(BLOCK, filters, length))
        x = np.fft.irfft((spectrum * np.fft.rfft(w)).sum(axis=1), n=n)
        for moments in by_order.values():
            moments.add(x[None])
    how: dict[str, Any] = {"support": length, "starts": starts, "seed": seed}
    return {
        str(order): filter_error(find_filters(moments.cumulant(), filters, **how).filters[0], problem.filters)
        for order, moments in by_order.items()
    }


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
