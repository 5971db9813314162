r"""Learning of weighted transducers from pairs of strings, aligned or not.

Aligned pairs are strings over pairs of symbols, from which an automaton is learned as from other strings. Unaligned
pairs are aligned first by the most likely edits (insertions, deletions, substitutions) of a transducer with one state,
trained by EM; the automaton learned from these alignments is improved by EM over all alignments.

Without any choice of alignments, the Hankel matrix of aligned strings has small trace norm and the observed sums,

.. math:: \min_f \tfrac12 \sum_{s,t} \Bigl(\hat p(s, t) - \sum_{z\ \mathrm{aligns}\ s, t} f(z)\Bigr)^2
          + \lambda \|H_f\|_*

over pairs (s, t) all of whose alignments are in the matrix. The problem is convex.

References
----------
Ristad, Yianilos (1998), Learning string-edit distance, section 2.
"""

from __future__ import annotations

from dataclasses import KW_ONLY
from itertools import product
from typing import Any, Literal, NamedTuple, Self

import numpy as np
from scipy.sparse import csr_array

from polyadic.core import resources
from polyadic.core.annotations import Array, Ints
from polyadic.core.errors import InputError, check_int
from polyadic.core.model import Amount, Callback, Count, Model, Natural, Positive, Share
from polyadic.core.solvers.run import Result, run
from polyadic.sequences.automata import WeightedAutomaton
from polyadic.sequences.automaton_learning import RARE, hull_automaton, maximized, mixed, svd_automaton
from polyadic.sequences.hankel import GAP, STEP, Hankel, Statistic, hankel, least_trace_norm, selection, shared_cells
from polyadic.sequences.kernels.automata import pair_counts
from polyadic.sequences.symbols import Coded, Strings, check_fitted, coded, known_symbols, listed
from polyadic.sequences.transducers import WeightedTransducer

EDIT_PASSES = 15  # EM passes of the transducer with one state
COMPLETION_STEPS = 1000  # maximum number of iterations of the completion
BLUR = 0.1  # weight of the transducer with one state before EM, which never changes zeros


class Prediction(NamedTuple):
    """An output, and its estimated probability given the input."""

    output: list[Any]
    probability: float


class SpectralTransducer(Model):
    r"""Probability model of pairs of an input and an output sequence: a weighted transducer learned spectrally.

    .. math:: f(s, t) = \sum_{z\ \mathrm{aligns}\ s, t} \alpha_0 A_{z_1} \cdots A_{z_n} \alpha_\infty

    Each :math:`z_i` reads an input symbol, writes an output symbol, or both. See
    :mod:`~polyadic.sequences.transducers` for the algebra, and :mod:`~polyadic.sequences.spectral_transducer` for the
    objectives.

    Parameters
    ----------
    rank : int
        Number of states.
    method : {"hull", "svd", "completion"}
        "hull" learns non-negative weights from the most likely alignments and improves them by EM; "svd" uses singular
        vectors for the same alignments. "completion" uses singular vectors of the Hankel matrix of smallest trace norm
        that agrees with the pairs; it requires small alphabets, and ignores longer pairs than its strings.
    aligned : bool
        Whether pairs are aligned: of equal length, with None for a gap. EM starts there, but sums over all alignments.
    statistic, basis, scaling : {"factor", "prefix", "string"}, int or None, float
        See :class:`~polyadic.sequences.spectral_automaton.SpectralAutomaton`. "completion" uses all whole strings.
    max_length : int
        Maximum length of the prefixes and suffixes in the Hankel matrix.
    penalty : float
        Weight of the trace norm, for the method "completion".
    passes : int
        Maximum number of EM passes over the pairs, for the method "hull".
    smoothing : float
        Weight of single edits, independent of the state, for the method "hull". If it is positive, so is the
        probability of all pairs of known symbols.
    beam : int
        Number of output prefixes kept in the search for predictions.

    Attributes
    ----------
    transducer_, inputs_, outputs_ : WeightedTransducer, list, list
        The transducer, over indices of symbols, with ``rank_`` states; and the input and the output symbols.
    history_ : list of float
        Mean negative log-likelihood of a pair before each EM pass, or the objective of the completion; not for "svd".

    References
    ----------
    Balle, Quattoni, Carreras (2011), A spectral learning algorithm for finite state transducers.
    Bailly, Carreras, Quattoni (2013), Unsupervised spectral learning of finite state transducers (dated 2014 on the
    tutorial's slide "Some Pointers to Convex Factorization").

    Examples
    --------
    >>> words = ["ab", "ba", "abab", "bb", "a", "babb"]
    >>> model = SpectralTransducer(2).fit(words, [word.replace("b", "yz") for word in words])
    >>> "".join(model.predict(["abba"])[0])
    'ayzyza'
    """

    rank: Count = 10
    _: KW_ONLY
    method: Literal["hull", "svd", "completion"] = "hull"
    aligned: bool = False
    statistic: Statistic = "factor"
    basis: Count | None = 300
    max_length: Natural = 3
    scaling: Amount = 0.5
    penalty: Positive = 1e-3
    passes: Natural = 20
    smoothing: Share = 0.02
    beam: Count = 20
    callback: Callback = None

    def fit(self, X: Strings, y: Strings) -> Self:
        """Fit the model to pairs of an input and an output; strings are sequences of letters, None is a gap (aligned).

        InputError is raised if the numbers of inputs and outputs differ, aligned sequences differ in length, both have
        a gap at the same place, or a setting is out of range.
        """
        self.check()
        inputs, outputs = (listed(side, gaps=self.aligned) for side in (X, y))
        if len(inputs) != len(outputs):
            raise InputError(f"each input must have an output; got {len(inputs)} inputs and {len(outputs)} outputs")
        if self.aligned and self.method == "completion":
            about = "method='completion' is for pairs that are not aligned; set aligned=False"
            raise InputError(about, "method", "aligned")
        sides = ([[a for a in s if a is not None or not self.aligned] for s in side] for side in (inputs, outputs))
        read, written = map(listed, sides)
        self.inputs_, self.outputs_ = known_symbols(read), known_symbols(written)
        pairs = self._coded(read, written)
        ids: Ints = np.arange((len(self.inputs_) + 1) * (len(self.outputs_) + 1)).reshape(len(self.inputs_) + 1, -1)
        ids[-1, -1] = -1
        if self.method == "completion":
            table, result = completed_pairs(*pairs, ids, self.max_length, self.penalty, self.callback)
            self._keep(result)
            automaton = svd_automaton(table, self.rank, scaling=0.0)
        else:
            rows = self._given(inputs, outputs, ids) if self.aligned else _edited(*pairs, ids)
            data = coded(rows, {z: z for z in range(ids.size)})
            used = np.union1d(data.symbols, np.append(ids[:-1, -1], ids[-1, :-1]))
            ids = np.where(np.isin(ids, used), np.searchsorted(used, ids), -1)
            data = data._replace(symbols=np.searchsorted(used, data.symbols))
            automaton = self._learned(data, len(used), *pairs, ids)
        self.transducer_, self.rank_ = WeightedTransducer(automaton, ids), automaton.rank
        return self

    def _given(self, inputs: list[Any], outputs: list[Any], ids: Ints) -> list[list[int]]:
        """Return the aligned strings, over pairs of symbols."""
        number, written = ({a: at for at, a in enumerate([*s, None])} for s in (self.inputs_, self.outputs_))
        rows = []
        for at, (s, t) in enumerate(zip(inputs, outputs, strict=True), 1):
            if len(s) != len(t) or (None, None) in zip(s, t, strict=True):
                raise InputError(f"pair {at} must have equal lengths, and no place with a gap in both", "aligned")
            rows.append([int(ids[number[a], written[b]]) for a, b in zip(s, t, strict=True)])
        return rows

    def _learned(self, data: Coded, size: int, x: Coded, y: Coded, ids: Ints) -> WeightedAutomaton:
        """Learn an automaton over pairs of symbols from aligned strings, and improve it by EM."""
        table = hankel(data, size, statistic=self.statistic, basis=self.basis, max_length=self.max_length)
        if self.method == "svd":
            return svd_automaton(table, self.rank, scaling=self.scaling)
        automaton = hull_automaton(table, self.rank, scaling=self.scaling)
        shares = np.append(np.bincount(data.symbols, minlength=size) + 1.0, len(data.edges) - 1)
        shares /= shares.sum()

        def blurred(automaton: WeightedAutomaton, share: float) -> WeightedAutomaton:
            """Mix single symbols, with any next state, and the end into the moves of each state."""
            return mixed(automaton, share * shares[:-1, None, None] / automaton.rank, share * shares[-1], share)

        if self.passes:
            result = _improved(blurred(automaton, BLUR), x, y, ids, self.passes, self.callback)
            automaton = WeightedAutomaton(*self._keep(result))
        return blurred(automaton, self.smoothing)

    def log_likelihoods(self, X: Strings, y: Strings, *, given_input: bool = False) -> Array:
        """Return the natural logarithm of the probability of each pair, or minus infinity if it is not positive.

        Pairs have known symbols and no gaps. ``given_input`` conditions the probability of the output on the input.
        """
        x, t = self._coded(listed(X), listed(y))
        logs = self.transducer_.logs(x, t)
        possible = logs > -np.inf  # the weight of an input can be 0 too
        return logs - np.where(possible & given_input, self.transducer_.inputs.logs(x), 0)

    def score(self, X: Strings, y: Strings) -> float:
        """Return the mean log-likelihood of the outputs given their inputs, of known symbols and without gaps."""
        logs = self.log_likelihoods(X, y, given_input=True)
        if not len(logs):
            raise InputError("at least one pair is required to compute a score")
        return float(logs.mean())

    def predict(self, X: Strings) -> list[list[Any]]:
        """Return the most likely output found for each input, or the empty output if none has a positive weight."""
        return [each[0].output if each else [] for each in self.k_best(X, k=1)]

    def k_best(self, X: Strings, *, k: int = 5) -> list[list[Prediction]]:
        """Return up to ``k`` outputs for each input, in decreasing order of probability."""
        check_int("k", k, low=1)
        x, _ = self._coded(listed(X), [])
        model = self.transducer_
        found = []
        for s, total in zip(x.split(x.symbols), model.inputs.logs(x), strict=True):
            best = model.k_best(s, k=k, beam=max(k, self.beam))
            found.append([Prediction([self.outputs_[b] for b in t], float(np.exp(log - total))) for t, log in best])
        return found

    def _coded(self, inputs: list[Any], outputs: list[Any]) -> tuple[Coded, Coded]:
        check_fitted(self, "outputs_")
        strings = (inputs, self.inputs_), (outputs, self.outputs_)
        x, y = (coded(each, {a: at for at, a in enumerate(symbols)}) for each, symbols in strings)
        return x, y


def _improved(
    automaton: WeightedAutomaton, x: Coded, y: Coded, ids: Ints, passes: int, callback: Callback = None
) -> Result:
    """Run EM over all alignments of pairs."""

    def expected(start: Array, A: Array, stop: Array) -> Any:
        fit, taken, *ends = pair_counts(x, y, ids, start=start, A=np.where(A > RARE, A, 0), stop=stop)
        return fit, taken[A > RARE], *ends

    return run(maximized(automaton, expected, len(x.edges) - 1), max_iter=passes, callback=callback)


def _edited(x: Coded, y: Coded, ids: Ints) -> list[list[int]]:
    """Return strings over pairs of symbols, the most likely edits by a transducer with one state."""
    K = ids.size - 1
    edits = WeightedAutomaton(np.ones(1), np.full((K, 1, 1), 0.9 / K), np.array([0.1]))
    weights = _improved(edits, x, y, ids, EDIT_PASSES).factors[1].ravel()
    with np.errstate(divide="ignore"):
        costs = -np.log(np.append(weights, 0))[ids]
    return [_edits(s, t, costs, ids) for s, t in zip(x.split(x.symbols), y.split(y.symbols), strict=True)]


def _edits(s: Ints, t: Ints, costs: Array, ids: Ints) -> list[int]:
    """Return the edits of least cost that turn one string into the other."""
    n, m = len(s), len(t)
    total = np.full((n + 1, m + 1), np.inf)
    steps: dict[Any, Any] = {}
    total[0, 0] = 0
    for i, j in np.ndindex(total.shape):
        for u, v in ((i - 1, j - 1), (i - 1, j), (i, j - 1)):
            if u >= 0 and v >= 0:
                edit = s[u] if u < i else -1, t[v] if v < j else -1  # gaps come last
                if (cost := total[u, v] + costs[edit]) < total[i, j]:
                    total[i, j], steps[i, j] = cost, ((u, v), int(ids[edit]))
    at, path = (n, m), []
    while at != (0, 0):
        at, z = steps[at]
        path.append(z)
    return path[::-1]


def completed_pairs(
    x: Coded, y: Coded, ids: Ints, max_length: int, penalty: float, callback: Callback = None
) -> tuple[Hankel, Result]:
    """Complete the Hankel matrix of all aligned strings of at most ``max_length`` pairs of symbols by trace norm."""
    k = ids.size - 1
    size = 64 * (k + 1.0) * float(k) ** (2 * max_length)
    resources.check_memory(size, "the Hankel matrix of all alignments", "lower max_length, or use method='hull'")
    basis = [z for length in range(max_length + 1) for z in product(range(k), repeat=length)]
    P, n = len(basis), len(x.edges) - 1
    zeros, ones = (csr_array((P, P)), csr_array((k * P, P))), np.ones(P)
    table = Hankel(basis, basis, *zeros, ones, np.ones((k, P)), ones, ones, np.ones((P, k)), ones, ones, "string", n)
    which = shared_cells(table)
    rows = [*basis, *((*u, a) for a in range(k) for u in basis)]
    aligned = {int(which[i, j]): np.array((*u, *v), int) for i, u in enumerate(rows) for j, v in enumerate(basis)}
    numbers: dict[Any, int] = {}
    places = []
    for at, z in aligned.items():
        read, written = np.divmod(z, ids.shape[1])
        pair = tuple(read[read < len(ids) - 1]), tuple(written[written < ids.shape[1] - 1])
        if sum(map(len, pair)) <= 2 * max_length + 1:
            places.append((numbers.setdefault(pair, len(numbers)), at))
    counts = np.zeros(len(numbers))
    for s, t in zip(x.split(x.symbols), y.split(y.symbols), strict=True):
        if (tuple(s), tuple(t)) in numbers:
            counts[numbers[tuple(s), tuple(t)]] += 1 / n
    sums = csr_array((np.ones(len(places)), np.array(places).T), shape=(len(numbers), len(aligned)))
    cells = selection(which, len(aligned))
    steps = least_trace_norm(cells, sums, counts, which.shape, penalty, step=STEP * penalty)
    result = run(steps, max_iter=COMPLETION_STEPS, tol=GAP, callback=callback)
    return table.with_values(result.factors[0][which]), result
