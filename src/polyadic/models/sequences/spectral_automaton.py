"""Probabilities of sequences by a weighted automaton that is learned from a Hankel matrix."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import KW_ONLY
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from polyadic.errors import InputError
from polyadic.models.base import Model, Seed, Watch, learned
from polyadic.models.sequences.automata import WeightedAutomaton
from polyadic.models.sequences.automaton_choice import chosen
from polyadic.models.sequences.automaton_fitting import Method, checked_settings
from polyadic.models.sequences.automaton_smoothing import SmoothedAutomaton
from polyadic.models.sequences.hankel import Statistic
from polyadic.models.sequences.symbols import Coded, coded, known_symbols

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable

    from numpy.typing import NDArray

    Strings = Iterable[Sequence[Hashable]]


class SpectralAutomaton(Model):
    r"""A weighted automaton learned from the singular vectors of a Hankel matrix, with proper probabilities.

    .. math:: p(x) = \prod_i p(x_{i+1} \mid x_1 \cdots x_i), \qquad
              p(a \mid u) \propto \max(h_u A_a \beta, 0) \text{, mixed with n-grams}

    Steps, in ``polyadic.models.sequences``: substrings are counted (``hankel``), become an automaton
    (``automaton_learning``), which is improved (``automaton_likelihood``) and gives probabilities
    (``automaton_smoothing``).

    Parameters
    ----------
    rank : int or sequence of int
        States; of several the number that makes strings held out likeliest.
    method : {"hull", "svd"}
        States that are extreme prefixes, with no negative weight; or the singular vectors themselves.
    statistic : {"factor", "prefix", "string"}
        What is counted: substrings, prefixes or whole strings.
    basis, longest : int or None, and int
        Prefixes and suffixes that the matrix has, each, and their longest; ``None`` is all that occur.
    scaling : float
        Power of the sums of rows and columns by which they are divided.
    passes : int
        Over the strings, at most, to improve the likelihood; of the method "svd" there are none.
    starts : int
        Times that the passes begin anew for each rank, of other small random weights; strings held out choose.
    order : int
        Of the n-grams that are mixed in; 0 mixes in equal probabilities.
    held_out : float
        Share of the strings held out to choose the rank, the number of passes, and the share of n-grams; with 0 there
        must be one rank, all passes are made, and nothing is mixed in.
    unknown : hashable, optional
        The symbol, of those learned from, that stands for symbols never seen; by default they are refused.
    alphabet : sequence, optional
        All symbols, where some do not occur.
    seed : int, optional
        Of the strings held out, of what breaks ties before the first pass, and of samples.
    watch : callable, optional
        Called with a :class:`~polyadic.solvers.run.Result` after each pass.

    Attributes
    ----------
    automaton_, model_ : WeightedAutomaton, SmoothedAutomaton
        Without and with what is mixed in; ``rank_`` is the number of its states.
    symbols_ : list
    tried_ : dict of int to float
        Mean log-likelihood of a string held out, by rank; of several starts the best.
    history_ : list of float
        Mean negative log-likelihood in each of the last passes, over all strings.
    interrupted_ : bool
        Whether Ctrl-C came; the model is then the best so far, of the strings that are not held out.

    References
    ----------
    Balle, Carreras, Luque, Quattoni (2014), Spectral learning of weighted automata
    Glaude, Pietquin (2016), PAC learning of probabilistic automaton based on the method of moments

    Examples
    --------
    >>> model = SpectralAutomaton(2, passes=20).fit(["ab" * n for n in (0, 1, 1, 1, 2)] * 20)
    >>> model.predict_proba(["a", "ab"]).argmax(axis=1).tolist(), model.symbols_
    ([1, 2], ['a', 'b'])
    """

    automaton_: WeightedAutomaton = learned()
    model_: SmoothedAutomaton = learned()
    symbols_: list[Any] = learned()

    rank: int | Sequence[int] = (10, 20, 40)
    _: KW_ONLY
    method: Method = "hull"
    statistic: Statistic = "factor"
    basis: int | None = 300
    longest: int = 4
    scaling: float = 0.5
    passes: int = 100
    starts: int = 1
    order: int = 3
    held_out: float = 0.1
    unknown: Hashable = None
    alphabet: Sequence[Hashable] | None = None
    seed: Seed = 0
    watch: Watch = None

    def fit(self, X: Strings) -> Self:
        """Learn from sequences of symbols; the empty one is one of them.

        Raises
        ------
        InputError
            If there are too few, or a parameter is out of range.
        """
        settings = checked_settings(self)
        strings: Any = X if isinstance(X, str) else list(X)
        symbols = known_symbols(strings) if self.alphabet is None else list(self.alphabet)
        number = {symbol: at for at, symbol in enumerate(symbols)}
        if self.unknown is not None and self.unknown not in number:
            raise InputError(f"unknown must be one of the symbols learned from; got {self.unknown!r}")
        data = coded(strings, number)
        found = chosen(data, len(symbols), settings, watch=self.watch)
        self.model_, self.automaton_, self.rank_ = found.model, found.model.automaton, found.model.automaton.rank
        self.tried_ = {one.rank: one.held_out for one in sorted(found.tried, key=lambda one: (one.rank, one.held_out))}
        self.history_ = [] if found.result is None else found.result.history
        self.interrupted_, self.symbols_ = found.interrupted, symbols
        return self

    def log_likelihoods(self, X: Strings) -> NDArray[np.float64]:
        """Give the natural log of the probability of each sequence; a new symbol is refused, or read as ``unknown``."""
        return self._model.logs(self._coded(X))

    def score(self, X: Strings) -> float:
        """Give the mean log-likelihood of a sequence."""
        return float(self._scored(X)[1].mean())

    def perplexity(self, X: Strings) -> float:
        """Give the perplexity of a symbol, the end of a sequence being one."""
        data, logs = self._scored(X)
        return math.exp(-float(logs.sum()) / (len(logs) + len(data.symbols)))

    def _scored(self, X: Strings) -> tuple[Coded, NDArray[np.float64]]:
        model, data = self._model, self._coded(X)
        if len(data.edges) < 2:
            raise InputError("there is no sequence to score")
        return data, model.logs(data)

    def predict_proba(self, X: Strings) -> NDArray[np.float64]:
        """Give probabilities of the next symbol after each sequence, as in ``symbols_``, and last that it ends."""
        return self._model.after(self._coded(X))

    def sample(self, n: int = 1, *, longest: int = 1000, seed: int | None = None) -> list[list[Any]]:
        """Draw sequences of at most ``longest`` symbols."""
        drawn = self._model.sample(n, np.random.default_rng(self.seed if seed is None else seed), longest=longest)
        return [[self.symbols_[a] for a in string] for string in drawn]

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write the model: see :func:`~polyadic.models.sequences.automaton_storage.save_automaton`."""
        from polyadic.models.sequences.automaton_storage import save_automaton

        _ = self._model
        save_automaton(self, path, overwrite=overwrite)

    @property
    def _model(self) -> SmoothedAutomaton:
        if not hasattr(self, "model_"):
            raise InputError("this SpectralAutomaton is not fitted yet; call fit first")
        return self.model_

    def _coded(self, X: Strings) -> Coded:
        number = {symbol: at for at, symbol in enumerate(self.symbols_)}
        found = coded(X, number, unknown=self.unknown is not None)
        if self.unknown is None:
            return found
        return found._replace(symbols=np.where(found.symbols == len(number), number[self.unknown], found.symbols))
