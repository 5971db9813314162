"""Hidden Markov models of symbols, estimated from moments and by Baum-Welch."""

from __future__ import annotations

import math
import sys
import warnings
from dataclasses import KW_ONLY
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from polyadic.core.errors import InputError, check_int
from polyadic.core.model import Amount, Callback, Count, Model, Seed, Threads
from polyadic.core.selection import SearchSpace, held_out_share
from polyadic.core.solvers.run import Sweep, run
from polyadic.sequences.hidden_spectral import (
    FewMomentsWarning,
    anchor_chain,
    cluster_chain,
    distributions,
    spectral_chain,
)
from polyadic.sequences.kernels.hidden import HiddenChain, expected_counts, hidden_states, viterbi_states
from polyadic.sequences.symbols import coded, held_out, known_symbols, listed

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from polyadic.sequences.symbols import Coded

    Sequences = Iterable[Sequence[Hashable]]

MIXED = 0.3
"""Weight of uniform distributions (for symbols: frequencies) in the start, as Baum-Welch cannot change zeros."""
SMOOTHINGS = (10.0, 3.0, 1.0, 0.3, 0.1, 0.03, 0.01, 0.003, 0.0)
STATES = (1, 2, 3, 4, 5, 7, 10, 14, 20, 28, 40, 56, 80)
"""Candidates for model selection on held-out sequences."""
ESTIMATED = "spectral", "anchors", "clusters"
TRIED = 10
"""Iterations from each start before the best is selected; 5 to 40 select the same (docs/results/spectral.md)."""
NEVER = -1e30
"""Finite substitute for the logarithm of 0, below the score of every possible path."""


class HiddenMarkov(Model):
    r"""Hidden Markov model of sequences of symbols.

    .. math:: P(x_1 \dots x_n) = \sum_{s_1 \dots s_n} \pi_{s_1} O_{s_1 x_1} \prod_{i > 1} A_{s_{i-1} s_i} O_{s_i x_i}

    The model has no end state. To model the length of sequences, append a special end symbol to each.

    Parameters
    ----------
    states : int
        Number of hidden states.
    init : {"best", "spectral", "anchors", "clusters", "random"}
        Initialization of the EM algorithm: spectral estimates (spectral), anchor symbols (anchors), clusters of symbols
        (clusters), random distributions (random), or the best of the first three (best). Spectral estimates are from
        moments of three symbols (:func:`~polyadic.sequences.hidden_spectral.spectral_chain`); for anchors and clusters
        see :mod:`~polyadic.sequences.hidden_spectral`. "best" runs ten iterations from each of the first three and
        continues with the most likely. All but "random" allow at most as many states as symbols.
    max_iter : int
        Maximum number of EM (Baum-Welch) iterations.
    smoothing : float
        Pseudo-count added to each expected count (MAP estimation with Dirichlet priors of parameter 1 + ``smoothing``).
    unknown : {"raise", "missing"}
        Whether a symbol not seen in training raises an error, or counts as missing, with probability 1 in every state.
    threads : int, optional
        Number of threads for expected counts; the result does not depend on it.
    callback : callable, optional
        Function called with a :class:`~polyadic.core.solvers.run.Result` after each iteration. The objective is the
        mean negative log-probability of a symbol, minus the log prior if ``smoothing`` is positive.

    Attributes
    ----------
    start_ : ndarray of shape (states,)
        Initial distribution :math:`\pi`.
    moves_ : ndarray of shape (states, states)
        Transition probabilities A, from the state of the row to that of the column.
    emissions_ : ndarray of shape (states, symbols)
        Emission probabilities O.
    symbols_ : list
        The symbols, in the order of the columns of ``emissions_``.

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

    states: Count = 10
    _: KW_ONLY
    init: Literal["best", "spectral", "anchors", "clusters", "random"] = "best"
    max_iter: Count = 100
    tol: Amount = 1e-4
    smoothing: Amount = 0.0
    unknown: Literal["raise", "missing"] = "raise"
    seed: Seed = 0
    threads: Threads = 1
    callback: Callback = None

    def fit(self, sequences: Sequences) -> Self:
        """Fit the model to sequences of symbols.

        Parameters
        ----------
        sequences : iterable of sequences of symbols
            Training sequences; strings are sequences of letters.

        Raises
        ------
        InputError
            If there are no symbols, there are more states than the start allows, or a setting is out of range.
        """
        self.check()
        strings = listed(sequences)
        symbols = known_symbols(strings)
        data = coded(strings, {symbol: at for at, symbol in enumerate(symbols)})
        solver = self._sweeps(data, len(symbols))
        result = run(solver, max_iter=self.max_iter, tol=self.tol, callback=self.callback)
        start, moves, emit = self._keep(result)
        self.start_, self.moves_, self.emissions_ = start, moves, np.ascontiguousarray(emit.T)
        self.symbols_ = symbols
        return self

    def search(self, sequences: Sequences, *, seed: int | None = 0) -> SearchSpace:
        """Return the search space of the settings ``smoothing`` and ``states``, evaluated on held-out sequences.

        A tenth of the sequences is held out. Symbols that occur only in held-out sequences count as missing.

        Parameters
        ----------
        sequences : iterable of sequences of symbols
            Training sequences.
        seed : int, optional
            Seed of the split.
        """
        strings = listed(sequences)
        out = held_out(len(strings), held_out_share(len(strings)), seed)
        part, judged = ([string for string, is_out in zip(strings, out, strict=True) if is_out == at] for at in (0, 1))
        mean = sum(map(len, judged)) / len(judged)
        whole, most = (len(known_symbols(some)) if self.init != "random" else max(STATES) for some in (strings, part))

        def fit(model: HiddenMarkov) -> HiddenMarkov:
            lost = most < model.states <= whole  # some symbols are only in held-out sequences
            return model.set_params(states=most if lost else model.states).fit(part)

        def losses(model: HiddenMarkov) -> NDArray[np.float64]:
            asked, model.unknown = model.unknown, "missing"
            try:
                return -model.score_sequences(judged) / mean
            finally:
                model.unknown = asked

        return SearchSpace(
            values={"smoothing": SMOOTHINGS, "states": [states for states in STATES if states <= most]},
            fit=fit,
            last=lambda model: model.fit(strings),
            losses=losses,
            units="sequences",
            measure="perplexity",
            figure=lambda loss: math.exp(loss) if loss < math.log(sys.float_info.max) else math.inf,
            size="states",
        )

    def score(self, sequences: Sequences) -> float:
        """Return the total log-probability of the sequences, or minus infinity if a sequence is impossible.

        Parameters
        ----------
        sequences : iterable of sequences of symbols
            Sequences to score.

        Raises
        ------
        InputError
            If a symbol was not seen in training, unless ``unknown="missing"``.
        """
        return float(np.sum(self.score_sequences(sequences)))

    def score_sequences(self, sequences: Sequences) -> NDArray[np.float64]:
        """Return the log-probability of each sequence, or 0 for an empty sequence.

        Parameters
        ----------
        sequences : iterable of sequences of symbols
            Sequences to score.
        """
        data = self._coded(sequences)
        logs = self.log_probabilities(data)
        return np.array([part.sum() for part in data.split(logs)])

    def log_probabilities(self, data: Coded) -> NDArray[np.float64]:
        """Return the log-probability of each token given its predecessors.

        Parameters
        ----------
        data : Coded
            Encoded sequences.
        """
        return hidden_states(*data, self._chain(), smoothed=False)[1]

    def predict(self, sequences: Sequences) -> list[NDArray[np.int32]]:
        """Return the most likely state path of each sequence (Viterbi), computed in single precision.

        Parameters
        ----------
        sequences : iterable of sequences of symbols
            Sequences to decode.
        """
        data = self._coded(sequences)
        with np.errstate(divide="ignore"):
            scores = HiddenChain(*(np.maximum(np.log(part), NEVER) for part in self._chain()))
        return data.split(viterbi_states(*data, scores))

    def predict_proba(self, sequences: Sequences) -> list[NDArray[np.float64]]:
        """Return the posterior distribution of the state at each position, as arrays of shape (length, states).

        Parameters
        ----------
        sequences : iterable of sequences of symbols
            Sequences to decode.
        """
        data = self._coded(sequences)
        return data.split(hidden_states(*data, self._chain(), smoothed=True)[0])

    def next_symbols(self, sequence: Sequence[Hashable]) -> NDArray[np.float64]:
        """Return the predictive distribution of each symbol given its predecessors, including the next symbol.

        The shape is (length + 1, symbols); rows are NaN after an impossible symbol.

        Parameters
        ----------
        sequence : sequence of symbols
            Observed symbols.
        """
        data = self._coded([sequence])
        states, _ = hidden_states(*data, self._chain(), smoothed=False)
        return np.asarray(np.vstack([self.start_, states @ self.moves_]) @ self.emissions_)

    def sample(
        self, n: int = 1, *, length: int = 20, stop: Hashable = None, seed: int | np.random.Generator | None = None
    ) -> list[list[Any]]:
        """Sample sequences from the model.

        Parameters
        ----------
        n : int
            Number of sequences.
        length : int
            Maximum number of symbols of a sequence.
        stop : symbol, optional
            Symbol after which a sequence ends.
        seed : int or Generator, optional
            Random seed or generator.

        Raises
        ------
        InputError
            If a number is out of range, or the model is not fitted.
        """
        self._check_fitted()
        check_int("n", n, low=1)
        check_int("length", length, low=1)
        chain = HiddenChain(self.start_, self.moves_, self.emissions_.T)
        drawn = draw_symbols(chain, n, length, rng=np.random.default_rng(seed))
        sequences = [[self.symbols_[x] for x in row] for row in drawn.tolist()]
        return [row[: row.index(stop) + 1] if stop is not None and stop in row else row for row in sequences]

    def _sweeps(self, data: Coded, symbols: int) -> Iterator[Sweep]:
        """Yield the parameters of the hidden Markov model after each Baum-Welch iteration."""
        chain = self._first(data, symbols)
        while True:
            objective, following = self._step(data, chain)
            yield Sweep([*chain], objective)
            chain = following

    def _step(self, data: Coded, chain: HiddenChain) -> tuple[float, HiddenChain]:
        """Return the objective of the current parameters, and the parameters after one Baum-Welch update."""
        expected = expected_counts(*data, chain, threads=self._threads)
        objective = -expected.log_probability
        if self.smoothing:
            objective -= self.smoothing * sum(float(np.log(part).sum()) for part in chain)
        starts, moves, emits = (part + self.smoothing for part in expected[:3])
        emit = np.ascontiguousarray(distributions(emits.T).T)
        following = HiddenChain(distributions(starts), distributions(moves), emit)
        return objective / len(data.symbols), following

    def _first(self, data: Coded, symbols: int) -> HiddenChain:
        """Return the initial parameters of the hidden Markov model for EM."""
        k = self.states
        if self.init == "random":
            rng = np.random.default_rng(self.seed)
            start, moves, emit = (rng.dirichlet(np.ones(n), size=m) for n, m in ((k, 1), (k, k), (symbols, k)))
            return HiddenChain(start[0], moves, np.ascontiguousarray(emit.T))
        if self.init != "best":
            return self._estimated(data, symbols, self.init)
        reached: list[tuple[float, int, HiddenChain]] = []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FewMomentsWarning)  # another start may be selected
            for init in ESTIMATED:
                try:
                    chain = self._estimated(data, symbols, init)
                except InputError as error:
                    refused = error
                    continue
                for _ in range(TRIED):
                    chain = self._step(data, chain)[1]
                reached.append((self._step(data, chain)[0], len(reached), chain))
        if not reached:
            raise refused
        return min(reached)[2]

    def _estimated(self, data: Coded, symbols: int, init: str) -> HiddenChain:
        """Estimate initial parameters and smooth all probabilities, because EM never changes zeros."""
        k, seed = self.states, 0 if self.seed is None else self.seed
        if k > symbols:
            raise InputError(
                f"init={init!r} requires at most as many states as symbols; got {k} states and {symbols} symbols: use"
                " fewer states or init='random'",
                "init",
            )
        if init == "spectral":
            chain = spectral_chain(data, k, symbols=symbols, seed=seed)
        elif init == "anchors":
            chain = anchor_chain(data, k, symbols=symbols)
        else:
            chain = cluster_chain(data, k, symbols=symbols, seed=seed)
        shares = np.bincount(data.symbols, minlength=symbols) / len(data.symbols)
        means: tuple[Any, ...] = (1 / k, 1 / k, shares[:, None])
        return HiddenChain(*((1 - MIXED) * part + MIXED * mean for part, mean in zip(chain, means, strict=True)))

    def _check_fitted(self) -> None:
        if not hasattr(self, "symbols_"):
            raise InputError(f"this {type(self).__name__} is not fitted yet; call fit first")

    def _coded(self, sequences: Sequences) -> Coded:
        self._check_fitted()
        number = {symbol: at for at, symbol in enumerate(self.symbols_)}
        return coded(sequences, number, unknown=self.unknown == "missing")

    def _chain(self) -> HiddenChain:
        """Return the model parameters with an extra symbol of probability 1 in every state, for unknown symbols."""
        return HiddenChain(self.start_, self.moves_, np.vstack([self.emissions_.T, np.ones(len(self.start_))]))


def draw_symbols(chain: HiddenChain, n: int, length: int, *, rng: np.random.Generator) -> NDArray[np.int64]:
    """Sample ``n`` sequences of equal length from a hidden Markov model."""
    start, moves, emit = (np.cumsum(part, axis=-1)[..., :-1] for part in (chain.start, chain.move, chain.emit.T))
    drawn = np.empty((n, length), np.int64)
    row = start
    for place in range(length):
        states = (rng.random(n)[:, None] >= row).sum(axis=1)
        drawn[:, place] = (rng.random(n)[:, None] >= emit[states]).sum(axis=1)
        row = moves[states]
    return drawn
