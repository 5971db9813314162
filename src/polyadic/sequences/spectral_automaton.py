"""Probabilities of sequences by a weighted automaton that is learned from a Hankel matrix."""

from __future__ import annotations

import math
import warnings
from collections.abc import Hashable, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from polyadic.core import resources
from polyadic.core.errors import InputError
from polyadic.core.model import Amount, Callback, Count, Model, Natural, Seed, Share
from polyadic.core.progress import tracked
from polyadic.core.solvers.run import Result, run
from polyadic.sequences.automata import WeightedAutomaton
from polyadic.sequences.automaton_learning import RankWarning, blurred, hull_automaton, likelier, svd_automaton
from polyadic.sequences.automaton_smoothing import SmoothedAutomaton
from polyadic.sequences.hankel import Hankel, Statistic, hankel
from polyadic.sequences.ngrams import NGrams, tuned_ngrams
from polyadic.sequences.substrings import Substrings, count_substrings
from polyadic.sequences.symbols import Coded, coded, known_symbols, listed, split

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    from polyadic.core.forms import Factors
    from polyadic.core.solvers.run import Sweep

    Strings = Iterable[Sequence[Hashable]]

MIN_GAIN = 1e-4
"""Gain of a pass, in log-likelihood of a string, below which no more are made."""
BLUR = 0.1
"""Weight spread over all transitions before the first pass; 0.01 to 0.3 led to the same likelihood, none to a worse."""
FAINT = 1e-6
"""The same where there are no passes: from every state there must be an end."""
AFTERWARDS = 10
"""Passes over all strings, at most, from where those over a part have led."""
NAMES = 3
"""Numbers, times ten, that it takes to know the name of a symbol."""


class SpectralAutomaton(Model):
    r"""A weighted automaton learned from the singular vectors of a Hankel matrix, with proper probabilities.

    .. math:: p(x) = \prod_i p(x_{i+1} \mid x_1 \cdots x_i), \qquad
              p(a \mid u) = \lambda\, \frac{\max(h_u A_a \beta, 0)}{\sum_b \max(h_u A_b \beta, 0)}
                            + (1 - \lambda)\, q(a \mid u)

    with :math:`h_u` the state after u and q what :class:`~polyadic.sequences.ngrams.NGrams` say; the share
    :math:`\lambda` is the one that makes strings held out likeliest.

    Steps, in ``polyadic.models.sequences``: substrings are counted (``hankel``), become an automaton
    (``automaton_learning``), which is improved (``automaton_likelihood``) and gives probabilities
    (``automaton_smoothing``).

    Parameters
    ----------
    rank : int or sequence of int
        States; of several, tried from the fewest on until strings held out get no likelier (of the method "svd" all),
        the number for which they are likeliest.
    method : {"hull", "svd"}
        States that are extreme prefixes, with no negative weight; or the singular vectors themselves.
    statistic : {"factor", "prefix", "string"}
        What is counted: substrings, prefixes or whole strings.
    basis, max_length : int or None, and int
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
    callback : callable, optional
        Called with a :class:`~polyadic.core.solvers.run.Result` after each pass.

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

    Notes
    -----
    A larger rank than the matrix has is lowered, with a warning if it is the only one. A symbol that the automaton
    takes for impossible sends it to the state that it is expected in after that symbol alone. So each next symbol has a
    distribution, and all strings together have probability 1; with ``held_out=0`` strings may have probability 0. Each
    symbol has a matrix of its own: of thousands the rare ones are better renamed to one.

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

    rank: Count | Sequence[Count] = (5, 10, 20, 40, 80, 160)
    _: KW_ONLY
    method: Literal["hull", "svd"] = "hull"
    statistic: Statistic = "factor"
    basis: Count | None = 300
    max_length: Natural = 4
    scaling: Amount = 0.5
    passes: Natural = 100
    starts: Count = 1
    order: Natural = 3
    held_out: Share = 0.1
    unknown: Hashable = None
    alphabet: str | Sequence[Any] | None = None
    seed: Seed = 0
    callback: Callback = None

    def fit(self, X: Strings) -> Self:
        """Learn from sequences of symbols; the empty one is one of them.

        Automata are learned from a part of the strings, one is chosen by those held out, and learned again from all.
        Ctrl-C keeps the best of those that are done, and of the one at hand if its passes have begun.

        Raises
        ------
        InputError
            If there are too few, or a parameter is out of range.
        """
        self.check()
        strings = listed(X)
        symbols = known_symbols(strings) if self.alphabet is None else list(self.alphabet)
        number = {symbol: at for at, symbol in enumerate(symbols)}
        if self.unknown is not None and self.unknown not in number:
            raise InputError(f"unknown must be one of the symbols learned from; got {self.unknown!r}")
        data = coded(strings, number)
        part, held_out = split(data, self.held_out, self.seed) if self.held_out else (data, None)
        tried, interrupted = Learner(part, len(symbols), self).tried(self._ranks, held_out)
        best = max(tried, key=lambda t: t.held_out) if self.held_out else tried[0]
        model, result = best.model, best.result
        if self.held_out and not interrupted:
            try:
                model, result = Learner(data, len(symbols), self).again(best)
            except KeyboardInterrupt:
                interrupted = True
        self.model_, self.automaton_, self.rank_ = model, model.automaton, model.automaton.rank
        self.tried_ = {t.rank: t.held_out for t in sorted(tried, key=lambda t: (t.rank, t.held_out))}
        self.history_ = [] if result is None else result.history
        self.interrupted_ = interrupted or (result is not None and result.interrupted)
        self.symbols_ = symbols
        return self

    def check(self) -> None:
        """Refuse settings out of range, a choice without strings held out, and an alphabet with a symbol twice.

        Raises
        ------
        InputError
        """
        super().check()
        if self.held_out == 1:
            raise InputError(f"held_out must be below 1; got {self.held_out}")
        if not self._ranks or (max(len(self._ranks), self.starts) > 1 and not self.held_out):
            raise InputError("to choose among ranks or starts strings must be held out; give one, or held_out above 0")
        if self.alphabet is not None:
            cells = 10.0 * len(self.alphabet) * (self._ranks[-1] ** 2 + NAMES)
            resources.check_memory(
                8 * cells, f"an alphabet of {len(self.alphabet):,} symbols", "lower the rank, or rename rare symbols"
            )
            if not 0 < len(set(self.alphabet)) == len(self.alphabet):
                raise InputError("alphabet must be of different symbols, and of at least one")

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

    def sample(
        self, n: int = 1, *, max_length: int = 1000, seed: int | np.random.Generator | None = None
    ) -> list[list[Any]]:
        """Draw sequences of at most ``max_length`` symbols."""
        drawn = self._model.sample(n, np.random.default_rng(self.seed if seed is None else seed), max_length=max_length)
        return [[self.symbols_[a] for a in string] for string in drawn]

    @property
    def _ranks(self) -> list[int]:
        """The ranks to try, the smallest first."""
        return sorted(np.atleast_1d(self.rank).tolist())

    @property
    def _model(self) -> SmoothedAutomaton:
        if not hasattr(self, "model_"):
            raise InputError("this SpectralAutomaton is not fitted yet; call fit first")
        return self.model_

    def _coded(self, X: Strings) -> Coded:
        number = {symbol: at for at, symbol in enumerate(self.symbols_)}
        data = coded(X, number, unknown=self.unknown is not None)
        if self.unknown is None:
            return data
        return data._replace(symbols=np.where(data.symbols == len(number), number[self.unknown], data.symbols))


@dataclass
class Tried:
    """A rank, what was learned with it, and what strings held out say.

    Attributes
    ----------
    rank : int
        That of the automaton, which may be below the one asked for.
    model : SmoothedAutomaton
    held_out : float
        Mean log-likelihood of strings held out; NaN if there are none.
    result : Result, optional
        Of the passes.
    """

    rank: int
    model: SmoothedAutomaton
    held_out: float
    result: Result | None = None


@dataclass
class Learner:
    """Strings, counted once where it is needed, and automata of them.

    Attributes
    ----------
    data : Coded
    size : int
        Of the alphabet.
    settings : SpectralAutomaton
    """

    data: Coded
    size: int
    settings: SpectralAutomaton

    def tried(self, ranks: Sequence[int], held_out: Coded | None) -> tuple[list[Tried], bool]:
        """Learn automata of rising rank until passes make strings held out no likelier; and tell whether Ctrl-C came.

        Without passes a rank costs little, and the first ones may have no share in the mixture: all are tried.
        """
        s, tried = self.settings, list[Tried]()
        if held_out is None:
            ngrams = NGrams(s.order).fit(self.data, self.size)
        else:
            ngrams = tuned_ngrams(self.data, held_out, self.size, orders=(s.order,))
        try:
            for automaton in self.automata(ranks):
                before = max((t.held_out for t in tried), default=-math.inf)
                for start in range(s.starts if self.passes else 1):
                    tried.append(self._mixed(automaton, start, held_out, ngrams))
                    if (result := tried[-1].result) is not None and result.interrupted:
                        return tried, True
                if self.passes and max(t.held_out for t in tried) <= before:
                    break
        except KeyboardInterrupt:
            if not tried:
                raise
            return tried, True
        return tried, False

    def again(self, best: Tried) -> tuple[SmoothedAutomaton, Result | None]:
        """Learn what was chosen from these strings; after passes, go on from where they have led."""
        old = best.model
        ngrams = NGrams(old.ngrams.order, discount=old.ngrams.discount).fit(self.data, self.size)
        if best.result is None:
            automaton, result = next(self.automata([best.rank])), None
        else:
            result = self.likelier(old.automaton, min(AFTERWARDS, self.passes))
            automaton = WeightedAutomaton(*result.factors)
        return SmoothedAutomaton(automaton, ngrams, old.share), result

    def automata(self, ranks: Sequence[int]) -> Iterator[WeightedAutomaton]:
        """Give automata of rising rank; one alone is told of if the matrix does not have it."""
        reached, largest = 0, None
        for rank in ranks:
            with warnings.catch_warnings():
                if len(ranks) > 1:
                    warnings.simplefilter("ignore", RankWarning)
                if self.settings.method == "svd":
                    largest = largest or svd_automaton(self.table, max(ranks), scaling=self.settings.scaling)
                    automaton = largest.leading(rank)
                else:
                    automaton = hull_automaton(self.table, rank, scaling=self.settings.scaling)
                    automaton = blurred(automaton, FAINT, seed=self.settings.seed)
            if automaton.rank > reached:
                reached = automaton.rank
                yield automaton

    def likelier(self, automaton: WeightedAutomaton, passes: int, held_out: Coded | None = None) -> Result:
        """Make an automaton likelier, until strings held out or the gain of a pass say that it is enough."""

        def surprise(parts: Factors) -> float:
            return math.inf if held_out is None else -float(WeightedAutomaton(*parts).logs(held_out).mean())

        steps = _until_within_tol(likelier(automaton, self._prefixes))
        seen = tracked(steps, f"{automaton.rank} states", total=passes)
        measure = None if held_out is None else surprise
        return run(iter(seen), max_iter=passes, measure=measure, callback=self.settings.callback)

    def _mixed(self, automaton: WeightedAutomaton, start: int, held_out: Coded | None, ngrams: NGrams) -> Tried:
        """Improve an automaton, mix it with n-grams, and tell how likely it makes strings held out."""
        result, rank = None, automaton.rank
        if self.passes:
            seed = None if self.settings.seed is None else self.settings.seed + start
            result = self.likelier(blurred(automaton, BLUR, seed=seed), self.passes, held_out)
            automaton = WeightedAutomaton(*result.factors)
        model, mean = SmoothedAutomaton(automaton, ngrams, 1.0), float("nan")
        if held_out is not None:
            model, mean = model.tuned(held_out)
        return Tried(rank, model, mean, result)

    @property
    def passes(self) -> int:
        """The most passes that are made."""
        return self.settings.passes if self.settings.method == "hull" else 0

    @cached_property
    def table(self) -> Hankel:
        """The Hankel matrix of the strings."""
        s = self.settings
        return hankel(self.data, self.size, statistic=s.statistic, basis=s.basis, max_length=s.max_length)

    @cached_property
    def _prefixes(self) -> Substrings:
        return count_substrings(self.data, self.size, anywhere=False)


def _until_within_tol(sweeps: Iterator[Sweep]) -> Iterator[Sweep]:
    before = np.inf
    for sweep in sweeps:
        yield sweep
        if before - sweep.objective < MIN_GAIN:
            return
        before = sweep.objective
