"""A chain of draws that is run, thinned, averaged and gone on with."""

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
    """Mean and variance of numbers that come one draw after another, none of them kept.

    Examples
    --------
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
        """Add a draw (Welford, 1962)."""
        x = np.asarray(values, float)
        if not self.count:
            self.mean, self._squares = np.zeros_like(x), np.zeros_like(x)
        self.count += 1
        away = x - self.mean
        self.mean = self.mean + away / self.count
        self._squares = self._squares + away * (x - self.mean)

    @property
    def variance(self) -> NDArray[np.float64]:
        """Over the draws so far."""
        return np.asarray(self._squares / max(self.count, 1))


class Memory(NamedTuple):
    """All that a chain remembers.

    Attributes
    ----------
    last : Draw
    draws : list of Draw
        Those kept.
    every, made, sweeps : int
        Which draws are kept, how many were made, and sweeps before and with them.
    rng : dict
        State of the generator.
    """

    last: Draw
    draws: list[Draw]
    every: int
    made: int
    sweeps: int
    rng: dict[str, Any]


class Chain:
    """Draws of the factors of coupled tables, or of anything else (:meth:`over`).

    Parameters
    ----------
    coupled : CoupledTables
    start : Draw
    rng : Generator
        It belongs to the chain from now on.
    priors : Priors
    n_samples : int
        Draws kept at most, evenly spread over those that were made.
    threads : int
        The draws do not depend on them.

    Attributes
    ----------
    last : Draw
    draws : list of Draw
        Those kept, in single precision.
    sweeps, made : int
        Sweeps so far, and those of them that were no burn-in.
    interrupted : bool
        Whether Ctrl-C ended the last run.
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
    ) -> Chain:
        """Chain draws of another kind: ``begin`` gives those that follow one, and draws with ``rng`` only."""
        chain = cls.__new__(cls)
        chain._set(begin, start, rng, n_samples)  # noqa: SLF001 it is of this class
        return chain

    @classmethod
    def of(cls, coupled: CoupledTables, memory: Memory, *, priors: Priors, n_samples: int, threads: int) -> Chain:
        """Go on from what :meth:`memory` gave; with the same tables, as if it had not stopped."""
        rng = np.random.default_rng()
        rng.bit_generator.state = memory.rng
        chain = cls(coupled, memory.last, rng, priors=priors, n_samples=n_samples, threads=threads)
        chain.draws, chain._every, chain.made, chain.sweeps = list(memory.draws), *memory[2:5]
        return chain

    def memory(self) -> Memory:
        """Give all that there is to remember."""
        return Memory(self.last, self.draws, self._every, self.made, self.sweeps, dict(self._random))

    def run(self, draws: int, *, burn_in: int = 0, seen: Callable[[Draw], None]) -> None:
        """Make sweeps, then draws, and show each of the latter to ``seen``. Ctrl-C keeps those made.

        Raises
        ------
        InputError
            If a draw is not finite, or memory does not suffice for those to keep.
        """
        new = min(self._n_samples, len(self.draws) + draws) - len(self.draws)
        check_memory(4.0 * new * sum(part.size for part in self.last.state), "what is kept of the draws", "keep fewer")
        self.interrupted = False
        try:
            for sweep in tracked(range(burn_in + draws), "drawing", total=burn_in + draws):
                last = next(self._solver)
                if not all(np.isfinite(part).all() for part in (*last.state, last.alphas)):
                    raise InputError(f"draw {self.sweeps + 1} is not finite; scale the values")
                self.last, self._random = last, self._rng.bit_generator.state
                self.sweeps += 1
                if sweep >= burn_in:
                    self._keep(last)
                    seen(last)
        except KeyboardInterrupt:
            self._rng.bit_generator.state = self._random  # the sweep that was cut off will be made anew
            self._solver = self._begin(self.last)
            if not self.made:
                raise
            self.interrupted = True

    def _keep(self, draw: Draw) -> None:
        """Keep every so-manieth draw; where there are too many, drop every second."""
        if self._n_samples and self.made % self._every == 0:
            self.draws.append(Draw([part.astype(np.float32) for part in draw.state], draw.alphas.copy()))
            if len(self.draws) > self._n_samples:
                self.draws = self.draws[::2]
                self._every *= 2
        self.made += 1
