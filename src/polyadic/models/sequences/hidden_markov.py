"""Hidden Markov models of symbols, from moments and by Baum-Welch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from polyadic.errors import InputError, check_choice, check_int, check_number
from polyadic.kernels.sequences.hidden import Chain, expected_counts
from polyadic.models.sequences.hidden_base import HiddenChain, Unknown
from polyadic.models.sequences.hidden_spectral import spectral_chain
from polyadic.models.sequences.symbols import coded, known_symbols
from polyadic.solvers.run import Sweep, run

if TYPE_CHECKING:
    import os
    from collections.abc import Hashable, Iterable, Iterator, Sequence
    from dataclasses import KW_ONLY

    from numpy.typing import NDArray

    from polyadic.models.base import Amount, Count, Seed, Watch
    from polyadic.models.sequences.symbols import Coded

Init = Literal["spectral", "random"]
MIXED = 0.3
"""Share of the uniform (of symbols: the mean) distribution in what Baum-Welch starts from: what is 0 would stay 0."""


class HiddenMarkov(HiddenChain):
    r"""Sequences of symbols whose hidden states are a Markov chain.

    .. math:: P(x_1 \dots x_n) = \sum_{s_1 \dots s_n} \pi_{s_1} O_{s_1 x_1} \prod_{i > 1} A_{s_{i-1} s_i} O_{s_i x_i}

    There is no end: where sequences end by themselves, end each with a symbol of its own, and that is learned as others
    are.

    Parameters
    ----------
    states : int
    init : {"spectral", "random"}
        Where Baum-Welch starts: at what moments of three symbols tell
        (:func:`~polyadic.models.sequences.hidden_spectral.spectral_chain`), which allows at most as many states as
        symbols, or at random distributions.
    max_iter : int
        Steps of Baum-Welch at most.
    tol
        See :func:`~polyadic.solvers.run.run`.
    smoothing : float
        Added to each expected count: the maximum a posteriori under Dirichlet distributions of parameters
        1 + ``smoothing``.
    unknown : {"raise", "missing"}
        Whether a symbol that was not seen in training is refused, or says nothing of its state, with probability 1.
    seed : int, optional
        Of random distributions, and of the directions of the power method.
    threads : int
        For expected counts; the same number gives the same bits.
    watch : callable, optional
        Called with a :class:`~polyadic.solvers.run.Result` after each step; the objective is minus the logarithm of the
        probability of the mean symbol, less that of the parameters where they are smoothed.

    Attributes
    ----------
    start_, moves_, emissions_, symbols_
        See :class:`~polyadic.models.sequences.hidden_base.HiddenChain`.
    result_, history_, n_iter_, converged_, interrupted_
        See :class:`~polyadic.models.base.Model`.

    References
    ----------
    Rabiner (1989), A tutorial on hidden Markov models and selected applications in speech recognition

    Examples
    --------
    >>> model = HiddenMarkov(2, max_iter=20).fit(["abababab", "babab", "ababa"])
    >>> [path.tolist() for path in model.predict(["ab", "ba"])] in ([[0, 1], [1, 0]], [[1, 0], [0, 1]])
    True
    >>> model.next_symbols("ab")[-1].round(3).tolist()
    [1.0, 0.0]
    """

    states: int = 10
    _: KW_ONLY
    init: Init = "spectral"
    max_iter: Count = 100
    tol: Amount = 1e-4
    smoothing: float = 0.0
    unknown: Unknown = "raise"
    seed: Seed = 0
    threads: int = 1
    watch: Watch = None

    def fit(self, sequences: Iterable[Sequence[Hashable]]) -> HiddenMarkov:
        """Learn from sequences.

        Parameters
        ----------
        sequences : iterable of sequences of symbols
            Strings are sequences of letters.

        Raises
        ------
        InputError
            If there are no symbols, there are more states than the start can tell apart, or a parameter is out of
            range.
        """
        self._check_settings()
        if isinstance(sequences, str):
            raise InputError("sequences must be a list of sequences; got one text")
        held = list(sequences)
        symbols = known_symbols(held)
        data = coded(held, {symbol: at for at, symbol in enumerate(symbols)})
        solver = self._sweeps(data, len(symbols))
        result = run(solver, max_iter=self.max_iter, tol=self.tol, watch=self.watch)
        start, moves, emit = self._keep(result)
        self.start_, self.moves_, self.emissions_ = start, moves, np.ascontiguousarray(emit.T)
        self.symbols_ = symbols
        return self

    def _check_settings(self) -> None:
        check_int("states", self.states, low=1)
        check_choice("init", self.init, get_args(Init))
        check_int("max_iter", self.max_iter, low=1)
        check_number("tol", self.tol)
        check_number("smoothing", self.smoothing)
        check_choice("unknown", self.unknown, get_args(Unknown))
        if self.seed is not None:
            check_int("seed", self.seed, low=0)
        check_int("threads", self.threads, low=1)

    def _sweeps(self, data: Coded, symbols: int) -> Iterator[Sweep]:
        """Yield the chain after each step of Baum-Welch."""
        chain = self._first(data, symbols)
        while True:
            expected = expected_counts(*data, chain, threads=self.threads)
            objective = -expected.log_probability
            if self.smoothing:
                objective -= self.smoothing * sum(float(np.log(part).sum()) for part in chain)
            yield Sweep([*chain], objective / len(data.symbols))
            starts, moves, emits = (part + self.smoothing for part in expected[:3])
            chain = Chain(_shares(starts), _shares(moves), np.ascontiguousarray(_shares(emits.T).T))

    def _first(self, data: Coded, symbols: int) -> Chain:
        """Give where to start."""
        k = self.states
        if self.init == "random":
            rng = np.random.default_rng(self.seed)
            one, square, table = (rng.dirichlet(np.ones(n), size=m) for n, m in ((k, 1), (k, k), (symbols, k)))
            return Chain(one[0], square, np.ascontiguousarray(table.T))
        chain = spectral_chain(data, k, symbols=symbols, seed=0 if self.seed is None else self.seed)
        shares = np.bincount(data.symbols, minlength=symbols) / len(data.symbols)
        means: tuple[Any, ...] = (1 / k, 1 / k, shares[:, None])
        return Chain(*((1 - MIXED) * part + MIXED * mean for part, mean in zip(chain, means, strict=True)))

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write the model: see :func:`~polyadic.models.sequences.hidden_storage.save_hidden`."""
        from polyadic.models.sequences.hidden_storage import save_hidden

        save_hidden(self, path, overwrite=overwrite)


def _shares(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Divide rows by their sums; a state that is never there moves and gives symbols evenly."""
    sums = counts.sum(axis=-1, keepdims=True)
    return np.where(sums > 0, counts / np.where(sums > 0, sums, 1), 1 / counts.shape[-1])
