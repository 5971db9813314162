r"""Sequence probabilities by a weighted automaton learned from a Hankel matrix and smoothed by n-grams.

The end of the string is one of the symbols. Negative values are set to 0, the rest is normalized and mixed with n-gram
probabilities, which are uniform for order 0. The probability of a string is the product over its symbols and its end,
so the probabilities of all strings sum to at most 1.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from typing import Any, Literal, Self

import numpy as np

from polyadic.core import resources
from polyadic.core.annotations import Array
from polyadic.core.errors import InputError, check_int
from polyadic.core.model import Amount, Callback, Count, Model, Natural, Seed, Share
from polyadic.core.progress import tracked
from polyadic.core.solvers.run import Result, Sweep, run
from polyadic.sequences.automata import WeightedAutomaton
from polyadic.sequences.automaton_learning import RankWarning, blurred, hull_automaton, likelier, svd_automaton
from polyadic.sequences.hankel import Hankel, Statistic, hankel
from polyadic.sequences.ngrams import NGrams, blocks, next_symbols, string_logs, tuned_ngrams
from polyadic.sequences.substrings import Substrings, count_substrings
from polyadic.sequences.symbols import Coded, Strings, check_fitted, coded, known_symbols, listed, split

MIN_GAIN = 1e-4  # minimum gain of an EM pass in log-likelihood per string; below it EM stops
BLUR = 0.1  # weight of random transitions before EM; 0.01 to 0.3 gave equal likelihoods, 0 a worse one
FAINT = 1e-6  # the same without EM, so that every state can reach the end
AFTERWARDS = 10  # maximum number of EM passes over all strings after training on a part
NAMES = 3  # memory of the name of a symbol, in units of ten numbers
HALVINGS = 50  # number of bisections for the weight of the automaton


class SpectralAutomaton(Model):
    r"""Probability model of sequences: a weighted automaton learned from a Hankel matrix, smoothed by n-grams.

    .. math:: p(x) = \prod_i p(x_{i+1} \mid x_1 \cdots x_i), \qquad
              p(a \mid u) = \lambda\, \frac{\max(h_u A_a \beta, 0)}{\sum_b \max(h_u A_b \beta, 0)}
                            + (1 - \lambda)\, q(a \mid u)

    :math:`h_u` is the state after u and q are the probabilities of :class:`~polyadic.sequences.ngrams.NGrams`; the
    weight :math:`\lambda` maximizes the likelihood of held-out strings.

    Substrings are counted (:mod:`~polyadic.sequences.hankel`), an automaton is learned from the counts and improved by
    EM (:mod:`~polyadic.sequences.automaton_learning`), and its probabilities are smoothed.

    Parameters
    ----------
    rank : int or sequence of int
        Number of states, or several candidates to compare on held-out strings. Candidates are tried in increasing order
        until the likelihood of held-out strings no longer improves (all for the method "svd"), and the best is used.
    method : {"hull", "svd"}
        Learning method: "hull" learns non-negative weights, with prefixes as states; "svd" uses singular vectors, and
        weights may be negative.
    statistic : {"factor", "prefix", "string"}
        Strings counted in the Hankel matrix: substrings (factor), prefixes (prefix), or whole strings (string).
    basis : int or None
        Number of prefixes and of suffixes in the Hankel matrix, the most frequent first; None uses all.
    max_length : int
        Maximum length of the prefixes and suffixes in the Hankel matrix.
    scaling : float
        Exponent of the row and column sums by which the Hankel matrix is scaled.
    passes : int
        Maximum number of EM passes over the strings; the method "svd" does not use EM.
    starts : int
        Number of EM runs for each rank, with different random perturbations; held-out strings select the best.
    order : int
        Order of the n-gram model interpolated with the automaton; 0 interpolates with uniform probabilities.
    held_out : float
        Fraction of the strings held out to select the rank, the number of EM passes and the weight of the n-gram model.
        With 0 there must be one rank, all passes are made, and nothing is mixed in.
    unknown : hashable, optional
        Known symbol that replaces symbols not seen in training; by default these raise an error.
    alphabet : sequence, optional
        All symbols of the alphabet, if some do not occur in the training strings.

    Attributes
    ----------
    automaton_, model_ : WeightedAutomaton, SmoothedAutomaton
        The automaton, without and with smoothing; ``rank_`` is its number of states.
    symbols_ : list
        The symbols, in the order of the columns of probabilities.
    tried_, history_ : dict of int to float, list of float
        Mean log-likelihood of a held-out string by rank, the best of several starts; and mean negative log-likelihood
        in each of the last passes over all strings.
    interrupted_ : bool
        Whether Ctrl-C stopped the fit; the automaton is then the best so far, without the held-out strings.

    Notes
    -----
    A rank above that of the matrix is lowered, with a warning if it is the only one. After a symbol that the automaton
    considers impossible, its state is the expected state after that symbol alone, so the next symbol always has a
    distribution. Each symbol has a matrix of its own, so rare symbols of a large alphabet are better merged into one.

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
        """Fit the model to sequences of symbols, which may be empty; strings are sequences of letters.

        Automata are learned from part of the strings, selected by the others, and learned again from all. After Ctrl-C
        the best so far is kept. InputError is raised for too few sequences, or if a setting is out of range.
        """
        self.check()
        strings = listed(X)
        symbols = known_symbols(strings) if self.alphabet is None else list(self.alphabet)
        number = {symbol: at for at, symbol in enumerate(symbols)}
        if self.unknown is not None and self.unknown not in number:
            raise InputError(f"unknown must be one of the training symbols; got {self.unknown!r}", "unknown")
        data = coded(strings, number)
        part, held_out = split(data, self.held_out, self.seed) if self.held_out else (data, None)
        tried, interrupted = AutomatonLearner(part, len(symbols), self).tried(self._ranks, held_out)
        best = max(tried, key=lambda t: t.held_out) if self.held_out else tried[0]
        model, result = best.model, best.result
        if self.held_out and not interrupted:
            try:
                model, result = AutomatonLearner(data, len(symbols), self).again(best)
            except KeyboardInterrupt:
                interrupted = True
        self.model_, self.automaton_, self.rank_ = model, model.automaton, model.automaton.rank
        self.tried_ = {t.rank: t.held_out for t in sorted(tried, key=lambda t: (t.rank, t.held_out))}
        self.history_ = [] if result is None else result.history
        self.interrupted_ = interrupted or (result is not None and result.interrupted)
        self.symbols_ = symbols
        return self

    def check(self) -> None:
        """Raise InputError if a setting is out of range, or selection has no held-out strings, or symbols repeat."""
        super().check()
        if self.held_out == 1:
            raise InputError(f"held_out must be below 1; got {self.held_out}", "held_out")
        if not self._ranks or (max(len(self._ranks), self.starts) > 1 and not self.held_out):
            about = "several ranks or starts require held_out above 0; set held_out, or use one rank and one start"
            raise InputError(about, "held_out")
        if self.alphabet is not None:
            k = len(self.alphabet)
            size = 80.0 * k * (self._ranks[-1] ** 2 + NAMES)
            resources.check_memory(size, f"an alphabet of {k:,} symbols", "lower the rank, or merge rare symbols")
            if not 0 < len(set(self.alphabet)) == len(self.alphabet):
                raise InputError("alphabet must be a non-empty list of distinct symbols", "alphabet")

    def log_likelihoods(self, X: Strings) -> Array:
        """Return the log-probability of each sequence; unknown symbols raise an error, or are read as ``unknown``."""
        return self._model.logs(self._coded(X))

    def score(self, X: Strings) -> float:
        """Return the mean log-likelihood per sequence."""
        return float(self._scored(X)[1].mean())

    def perplexity(self, X: Strings) -> float:
        """Return the perplexity per symbol, where the end of a sequence counts as a symbol."""
        data, logs = self._scored(X)
        return math.exp(-float(logs.sum()) / (len(logs) + len(data.symbols)))

    def _scored(self, X: Strings) -> tuple[Coded, Array]:
        model, data = self._model, self._coded(X)
        if len(data.edges) < 2:
            raise InputError("at least one sequence is required to compute a score")
        return data, model.logs(data)

    def predict_proba(self, X: Strings) -> Array:
        """Return the next-symbol probabilities after each sequence, in the order of ``symbols_``, with the end last."""
        return self._model.after(self._coded(X))

    def sample(
        self, n: int = 1, *, max_length: int = 1000, seed: int | np.random.Generator | None = None
    ) -> list[list[Any]]:
        """Sample ``n`` sequences of at most ``max_length`` symbols; the default seed is that of the model."""
        drawn = self._model.sample(n, np.random.default_rng(self.seed if seed is None else seed), max_length=max_length)
        return [[self.symbols_[a] for a in string] for string in drawn]

    @property
    def _ranks(self) -> list[int]:
        """The candidate ranks in increasing order."""
        return sorted(np.atleast_1d(self.rank).tolist())

    @property
    def _model(self) -> SmoothedAutomaton:
        check_fitted(self, "model_")
        return self.model_

    def _coded(self, X: Strings) -> Coded:
        number = {symbol: at for at, symbol in enumerate(self.symbols_)}
        data = coded(listed(X), number, unknown=self.unknown is not None)
        if self.unknown is None:
            return data
        return data._replace(symbols=np.where(data.symbols == len(number), number[self.unknown], data.symbols))


@dataclass(frozen=True, eq=False)
class SmoothedAutomaton:
    """Mixture of a weighted automaton, with weight ``share``, and an n-gram model over the same symbols."""

    automaton: WeightedAutomaton
    ngrams: NGrams
    share: float

    def next_probabilities(self, data: Coded) -> Array:
        """Return the next-symbol probabilities at each position, with the end of the string in the last column."""
        p, q = self.parts(data)
        return self.share * p + (1 - self.share) * q

    def parts(self, data: Coded) -> tuple[Array, Array]:
        """Return the next-symbol probabilities of the automaton and of the n-gram model."""
        return self.automaton.next_probabilities(self.automaton.states(data)), self.ngrams.along(data)

    def after(self, data: Coded) -> Array:
        """Return the next-symbol probabilities after each string, with the end last, of shape (strings, k + 1)."""
        p = np.empty((len(data.edges) - 1, self.automaton.size + 1))
        for first, block in blocks(data, self.automaton.size):
            ends = block.edges[1:] + np.arange(len(block.edges) - 1)
            p[first : first + len(ends)] = self.next_probabilities(block)[ends]
        return p

    def logs(self, data: Coded) -> Array:
        """Return the log-likelihood of each string, or minus infinity if the probability is 0."""
        return string_logs(data, self.automaton.size, self.next_probabilities)

    def tuned(self, held_out: Coded) -> tuple[SmoothedAutomaton, float]:
        """Return a copy with the mixture weight of maximum likelihood, and the mean log-likelihood per string."""
        said = []
        for _, block in blocks(held_out, self.automaton.size):
            symbols, _ = next_symbols(block, self.automaton.size)
            said.append(np.stack([part[np.arange(len(symbols)), symbols] for part in self.parts(block)]))
        p, q = np.concatenate(said, axis=1)
        share = best_share(p, q)
        with np.errstate(divide="ignore"):
            mean = float(np.log(share * p + (1 - share) * q).sum() / (len(held_out.edges) - 1))
        return SmoothedAutomaton(self.automaton, self.ngrams, share), mean

    def sample(self, many: int, rng: np.random.Generator, *, max_length: int = 1000) -> list[list[int]]:
        """Sample strings of at most ``max_length`` symbols."""
        check_int("n", many, low=0)
        check_int("max_length", max_length, low=0)
        strings: list[list[int]] = [[] for _ in range(many)]
        alive, width = np.arange(many), max(self.ngrams.order - 1, 1)
        empty = Coded(np.zeros(0, np.int64), np.zeros(2, np.int64))
        states = np.repeat(self.automaton.states(empty), many, axis=0)
        before = np.full((many, width), -1)
        for _ in range(max_length):
            if not len(alive):
                break
            p = self.share * self.automaton.next_probabilities(states)
            p += (1 - self.share) * self.ngrams.next_probabilities(before)
            drawn = (np.cumsum(p, axis=1) < rng.random(len(p))[:, None]).sum(axis=1).clip(max=p.shape[1] - 1)
            on = drawn < self.automaton.size
            alive, drawn = alive[on], drawn[on]
            for at, symbol in zip(alive.tolist(), drawn.tolist(), strict=True):
                strings[at].append(symbol)
            before = np.column_stack([before[on][:, 1:], drawn])
            states = self.automaton.moved(states[on], drawn)
        return strings


def best_share(p: Array, q: Array) -> float:
    """Return the weight of the first of two models in the mixture of maximum likelihood, found by bisection."""
    low, high = 0.0, 1.0
    for _ in range(HALVINGS):
        share = (low + high) / 2
        mixed = share * p + (1 - share) * q
        slope = np.divide(p - q, mixed, out=np.zeros_like(mixed), where=mixed > 0).sum()
        low, high = (share, high) if slope > 0 else (low, share)
    return (low + high) / 2


@dataclass
class Tried:
    """Candidate model with its rank and its held-out log-likelihood."""

    rank: int  # may be below the requested rank
    model: SmoothedAutomaton
    held_out: float
    result: Result | None = None


@dataclass
class AutomatonLearner:
    """Learner of smoothed automata from strings, with cached substring counts."""

    data: Coded
    size: int
    settings: SpectralAutomaton

    def tried(self, ranks: Sequence[int], held_out: Coded | None) -> tuple[list[Tried], bool]:
        """Learn automata of increasing rank until the held-out likelihood stops rising, and return all candidates."""
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
                # Without EM a rank is cheap, and the first ones may have no weight in the mixture, so all are tried.
                if self.passes and max(t.held_out for t in tried) <= before:
                    break
        except KeyboardInterrupt:
            if not tried:
                raise
            return tried, True
        return tried, False

    def again(self, best: Tried) -> tuple[SmoothedAutomaton, Result | None]:
        """Refit the selected model to all strings, continuing EM from its weights if EM was used."""
        old = best.model
        ngrams = NGrams(old.ngrams.order, discount=old.ngrams.discount).fit(self.data, self.size)
        if best.result is None:
            automaton, result = next(self.automata([best.rank])), None
        else:
            result = self.likelier(old.automaton, min(AFTERWARDS, self.passes))
            automaton = WeightedAutomaton(*result.factors)
        return SmoothedAutomaton(automaton, ngrams, old.share), result

    def automata(self, ranks: Sequence[int]) -> Iterator[WeightedAutomaton]:
        """Yield automata of increasing rank; one that the Hankel matrix lacks gives a warning if it is the only one."""
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
        """Run EM until the held-out likelihood stops improving or the gain per pass is too small."""
        steps = _until_within_tol(likelier(automaton, self._prefixes))
        seen = tracked(steps, f"{automaton.rank} states", total=passes)
        measure = None if held_out is None else lambda parts: -float(WeightedAutomaton(*parts).logs(held_out).mean())
        return run(iter(seen), max_iter=passes, measure=measure, callback=self.settings.callback)

    def _mixed(self, automaton: WeightedAutomaton, start: int, held_out: Coded | None, ngrams: NGrams) -> Tried:
        """Improve an automaton by EM, mix it with n-grams, and evaluate it on held-out strings."""
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
        """Maximum number of EM passes."""
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
