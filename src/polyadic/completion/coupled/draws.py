"""Markov chain of posterior samples: running, thinning, averaging and resuming."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from polyadic.completion.coupled.gibbs import Draw, Priors, gibbs
from polyadic.core.errors import InputError
from polyadic.core.progress import tracked
from polyadic.core.resources import check_memory

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import ArrayLike, NDArray

    from polyadic.completion.coupled.coupled_tables import CoupledTables


class Average:
    """Running mean and variance over samples, without storing them.

    >>> average = Average()
    >>> for draw in ([1.0, 5.0], [3.0, 5.0]):
    ...     average.add(draw)
    >>> average.mean.tolist(), average.variance.tolist()
    ([2.0, 5.0], [1.0, 0.0])
    """

    def __init__(self) -> None:
        self.count = 0
        self.mean: NDArray[np.float64] = np.zeros(0)
        self._squares: NDArray[np.float64] = np.zeros(0)

    def add(self, values: ArrayLike) -> None:
        """Add a sample (Welford, 1962)."""
        x = np.asarray(values, float)
        if not self.count:
            self.mean, self._squares = np.zeros_like(x), np.zeros_like(x)
        self.count += 1
        away = x - self.mean
        self.mean = self.mean + away / self.count
        self._squares = self._squares + away * (x - self.mean)

    @property
    def variance(self) -> NDArray[np.float64]:
        """Variance over the samples so far."""
        return np.asarray(self._squares / max(self.count, 1))


class Memory(NamedTuple):
    """Complete state of a chain."""

    last: Draw
    draws: list[Draw]  # stored samples
    every: int  # thinning interval
    made: int  # number of draws after burn-in
    sweeps: int  # number of all sweeps
    rng: dict[str, Any]  # state of the random generator


class MarkovChain:
    """Markov chain over the factors of coupled tables, or over other states (:meth:`over`).

    The chain owns ``rng``. It stores at most ``n_samples`` evenly spaced ``draws``, in single precision; ``made``
    counts the sweeps after burn-in, and ``interrupted`` says whether Ctrl-C ended the last run.
    """

    def __init__(
        self,
        coupled: CoupledTables,
        start: Draw,
        rng: np.random.Generator,
        *,
        priors: Priors,
        n_samples: int,
        threads: int,
    ) -> None:
        self._set(partial(gibbs, coupled, priors=priors, rng=rng, threads=threads), start, rng, n_samples)

    def _set(
        self, begin: Callable[[Draw], Iterator[Draw]], start: Draw, rng: np.random.Generator, n_samples: int
    ) -> None:
        self.last, self._rng, self._random = start, rng, rng.bit_generator.state
        self._begin, self._solver = begin, begin(start)
        self._n_samples, self._every = n_samples, 1
        self.draws: list[Draw] = []
        self.sweeps = self.made = 0
        self.interrupted = False

    @classmethod
    def over(
        cls, begin: Callable[[Draw], Iterator[Draw]], start: Draw, rng: np.random.Generator, *, n_samples: int
    ) -> MarkovChain:
        """Make a chain of other states; ``begin`` returns an iterator from a state, which draws with ``rng`` only."""
        chain = cls.__new__(cls)
        chain._set(begin, start, rng, n_samples)  # noqa: SLF001 it is of this class
        return chain

    @classmethod
    def of(cls, coupled: CoupledTables, memory: Memory, *, priors: Priors, n_samples: int, threads: int) -> MarkovChain:
        """Resume from the result of :meth:`memory`; with the same tables, the chain continues as if uninterrupted."""
        rng = np.random.default_rng()
        rng.bit_generator.state = memory.rng
        chain = cls(coupled, memory.last, rng, priors=priors, n_samples=n_samples, threads=threads)
        chain.draws, chain._every, chain.made, chain.sweeps = list(memory.draws), *memory[2:5]
        return chain

    def memory(self) -> Memory:
        """Return the complete state of the chain."""
        return Memory(self.last, self.draws, self._every, self.made, self.sweeps, dict(self._random))

    def run(self, draws: int, *, burn_in: int = 0, seen: Callable[[Draw], None]) -> None:
        """Run burn-in sweeps, then draws, and pass each draw to ``seen``; Ctrl-C keeps those made so far."""
        new = min(self._n_samples, len(self.draws) + draws) - len(self.draws)
        check_memory(4.0 * new * sum(part.size for part in self.last.state), "the stored samples", "store fewer")
        self.interrupted = False
        try:
            for sweep in tracked(range(burn_in + draws), "sampling", total=burn_in + draws):
                last = next(self._solver)
                if not all(np.isfinite(part).all() for part in (*last.state, last.alphas)):
                    raise InputError(f"draw {self.sweeps + 1} is not finite; rescale the values")
                self.last, self._random = last, self._rng.bit_generator.state
                self.sweeps += 1
                if sweep >= burn_in:
                    self._keep(last)
                    seen(last)
        except KeyboardInterrupt:
            self._rng.bit_generator.state = self._random  # the interrupted sweep will be repeated
            self._solver = self._begin(self.last)
            if not self.made:
                raise
            self.interrupted = True

    def _keep(self, draw: Draw) -> None:
        """Store every n-th draw; if there are too many, drop every second one and double the interval."""
        if self._n_samples and self.made % self._every == 0:
            self.draws.append(Draw([part.astype(np.float32) for part in draw.state], draw.alphas.copy()))
            if len(self.draws) > self._n_samples:
                self.draws = self.draws[::2]
                self._every *= 2
        self.made += 1
