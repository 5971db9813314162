"""Hidden Markov models of symbols or vectors, estimated from moments and by Baum-Welch."""

from __future__ import annotations

import math
import sys
import warnings
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY
from typing import Any, Literal, Self

import numpy as np

from polyadic.core.annotations import Array, Ints, Ints32
from polyadic.core.errors import InputError, InputWarning, check_int
from polyadic.core.model import Amount, Callback, Count, Model, Seed, Threads
from polyadic.core.selection import SearchSpace, held_out_share
from polyadic.core.solvers.run import Sweep, run
from polyadic.sequences import hidden_spectral
from polyadic.sequences.gaussian_emissions import Gaussians, first_gaussians, read_vectors
from polyadic.sequences.hidden_spectral import distributions
from polyadic.sequences.kernels.hidden import HiddenChain, expected_counts, hidden_states, viterbi_states
from polyadic.sequences.symbols import Coded, Sequences, check_fitted, coded, held_out, known_symbols, listed

Lengths = Sequence[int] | None
MIXED = 0.3  # weight of uniform distributions (for symbols: frequencies) in the start, as EM never changes zeros
SMOOTHINGS = (10.0, 3.0, 1.0, 0.3, 0.1, 0.03, 0.01, 0.003, 0.0)
STATES = (1, 2, 3, 4, 5, 7, 10, 14, 20, 28, 40, 56, 80)  # candidates for model selection on held-out sequences
Parameter = Literal["start", "moves", "emissions", "means", "covars"]
PARAMETERS = {"symbols": ("start", "moves", "emissions"), "gaussian": ("start", "moves", "means", "covars")}
"""Parameters of the models by kind of emission, as in ``initial`` and ``fixed``."""
ESTIMATED = "spectral", "anchors", "clusters"
TRIED = 10  # iterations from each start before the best is selected; 5 to 40 select the same (docs/results/spectral.md)
SUM_TOL = 1e-6  # maximum difference from 1 of the sum of given probabilities
MAX_LOG = math.log(sys.float_info.max)
NEVER = -1e30  # finite substitute for the logarithm of 0, below the score of every possible path


class HiddenMarkov(Model):
    r"""Hidden Markov model of sequences of symbols, or of numbers and vectors.

    .. math:: P(x_1 \dots x_n) = \sum_{s_1 \dots s_n} \pi_{s_1} O_{s_1 x_1} \prod_{i > 1} A_{s_{i-1} s_i} O_{s_i x_i}

    With Gaussian emissions, :math:`O_{sx}` is the density of the normal distribution of a state
    (:mod:`~polyadic.sequences.gaussian_emissions`). The model has no end state. To model the length of sequences,
    append a special end symbol to each.

    Parameters
    ----------
    states : int
        Number of hidden states.
    init : {"best", "spectral", "anchors", "clusters", "random"}
        Initialization of the EM algorithm: moments of three symbols (spectral, see
        :func:`~polyadic.sequences.hidden_spectral.spectral_chain`), anchor symbols (anchors), clusters of symbols
        (clusters; for both see :mod:`~polyadic.sequences.hidden_spectral`), random distributions (random), or the most
        likely of the first three after ten iterations each (best). All but "random" allow at most as many states as
        symbols. For Gaussian emissions, "best" is "clusters" (k-means), and "random" uses random observations as means.
    emissions : {"symbols", "gaussian"}
        Emissions: a probability for each symbol (symbols), or normal distributions of numbers or vectors (gaussian).
    covariance_type : {"diag", "full"}
        Covariance matrices of Gaussian emissions: diagonal, or unrestricted.
    covars_prior : float
        Number added to the sums of squares of Gaussian emissions, as in hmmlearn; 0 is maximum likelihood.
    initial : dict of str to array, optional
        Initial values of some parameters: start, moves, and emissions, or means and covars, with the shapes of the
        attributes. The key symbols gives the order of the columns of emissions (default: sorted). Values of start and
        moves that are not given are uniform.
    fixed : sequence of str
        Parameters that EM does not change.
    max_iter : int
        Maximum number of EM (Baum-Welch) iterations.
    smoothing : float
        Pseudo-count added to each expected count (MAP estimation with Dirichlet priors of parameter 1 + ``smoothing``).
    unknown : {"raise", "missing"}
        Whether a symbol not seen in training raises an error, or counts as missing, with probability 1 in every state.
    threads : int, optional
        Number of threads for expected counts; the result does not depend on it.

    Attributes
    ----------
    history_ : list of float
        Mean negative log-probability of a symbol, minus the log prior if ``smoothing`` is positive, by iteration.
    start_, moves_ : ndarray of shape (states,) and (states, states)
        Initial distribution :math:`\pi`, and transition probabilities A, from the state of the row.
    emissions_ : ndarray of shape (states, symbols)
        Emission probabilities O of symbols.
    symbols_ : list
        The symbols, in the order of the columns of ``emissions_``; empty for Gaussian emissions.
    means_, covars_ : ndarray of shape (states, d), and (states, d) or (states, d, d)
        Means of Gaussian emissions, and variances or full covariance matrices.

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
    >>> model = HiddenMarkov(2, emissions="gaussian").fit([0.1, 0.2, 5.1, 5.0, 0.1, 0.0])
    >>> sorted(model.means_.ravel().round(2).tolist())
    [0.1, 5.05]
    """

    states: Count = 10
    _: KW_ONLY
    init: Literal["best", "spectral", "anchors", "clusters", "random"] = "best"
    emissions: Literal["symbols", "gaussian"] = "symbols"
    covariance_type: Literal["diag", "full"] = "diag"
    covars_prior: Amount = 1e-2
    initial: Mapping[str, Any] | None = None
    fixed: Sequence[Parameter] = ()
    max_iter: Count = 100
    tol: Amount = 1e-4
    smoothing: Amount = 0.0
    unknown: Literal["raise", "missing"] = "raise"
    seed: Seed = 0
    threads: Threads = 1
    callback: Callback = None

    def fit(self, sequences: Sequences, lengths: Lengths = None) -> Self:
        """Fit the model to sequences of symbols, or of numbers or vectors.

        Strings are sequences of letters. A flat list or one-dimensional array is one sequence and, for Gaussian
        emissions, so is an array of shape (length, d); with ``lengths``, as in hmmlearn, it is all sequences joined.

        InputError is raised if there are no observations, a symbol or number is missing, there are more states than the
        start allows, or a setting is out of range.
        """
        self.check()
        given = dict(self.initial or {})
        symbols, X, order = [], None, given.pop("symbols", None)
        if self.emissions == "gaussian":
            X, data = _joined(read_vectors(sequences, lengths))
        else:
            strings = listed(sequences, lengths)
            symbols = known_symbols(strings) if order is None else list(order)
            data = coded(strings, {symbol: at for at, symbol in enumerate(symbols)})
        parts = self._begun(data, X, len(symbols), given)
        if len(data.edges) > 2 and np.diff(data.edges).max() == 1:
            about = "no sequence has two observations, so transitions are not learned; pass [sequence] if they are one"
            warnings.warn(about, InputWarning, stacklevel=2)
        result = run(self._sweeps(data, X, parts), max_iter=self.max_iter, tol=self.tol, callback=self.callback)
        self.start_, self.moves_, *parts = self._keep(result)
        if X is None:
            self.emissions_ = np.ascontiguousarray(parts[0].T)
        else:
            self.means_, self.covars_ = parts
            chain = HiddenChain(self.start_, self.moves_, _densities(parts, X)[0])
            shares = hidden_states(*data, chain, smoothed=True)[0]
            problem = Gaussians(*parts).degenerate(X, shares)
            if problem and "covars" not in self.fixed:
                about = f"{problem}; use fewer states or more observations, or increase covars_prior"
                warnings.warn(about, InputWarning, stacklevel=2)
        self.symbols_ = symbols
        return self

    def check(self) -> None:
        """Raise InputError if a setting is out of range, or a parameter belongs to the other kind of emissions."""
        super().check()
        names = PARAMETERS[self.emissions] + ("symbols",) * (self.emissions == "symbols")
        for name in (*(self.initial or ()), *self.fixed):
            if name not in names:
                about = f"emissions={self.emissions!r} has no parameter {name!r}; initial and fixed may contain"
                raise InputError(f"{about} {', '.join(names)}", "emissions", "initial", "fixed")
        if self.emissions == "gaussian" and self.init in ("spectral", "anchors"):
            raise InputError(f"init={self.init!r} requires symbols; use init='clusters' or 'random'", "init")

    def search(self, sequences: Sequences, *, seed: int | None = 0) -> SearchSpace:
        """Return the search space of ``smoothing`` (of symbols) and ``states``, evaluated on held-out sequences.

        A tenth of the sequences is held out, at random by ``seed``. Symbols that occur only there count as missing.
        """
        numbers = self.emissions == "gaussian"
        strings: list[Any] = read_vectors(sequences) if numbers else listed(sequences)
        out = held_out(len(strings), held_out_share(len(strings)), seed)
        part, judged = ([string for string, is_out in zip(strings, out, strict=True) if is_out == at] for at in (0, 1))
        mean = sum(map(len, judged)) / len(judged)
        if not mean:
            raise InputError("all held-out sequences are empty; remove empty sequences")
        free = numbers or self.init == "random"
        whole, most = (max(STATES) if free else len(known_symbols(some)) for some in (strings, part))

        def fit(model: HiddenMarkov) -> HiddenMarkov:
            lost = most < model.states <= whole  # some symbols are only in held-out sequences
            return model.set_params(states=most if lost else model.states).fit(part)

        def losses(model: HiddenMarkov) -> Array:
            asked, model.unknown = model.unknown, "missing"
            try:
                return -model.score_sequences(judged) / mean
            finally:
                model.unknown = asked

        values = ({} if numbers else {"smoothing": SMOOTHINGS}) | {"states": [k for k in STATES if k <= most]}
        how: dict[str, Any] = {"fit": fit, "last": lambda model: model.fit(strings), "losses": losses}
        how["figure"] = lambda loss: loss if numbers else math.exp(loss) if loss < MAX_LOG else math.inf
        how["measure"] = "negative log-density" if numbers else "perplexity"
        return SearchSpace(values=values, units="sequences", size="states", **how)

    def score(self, sequences: Sequences, lengths: Lengths = None) -> float:
        """Return the total log-probability (or log-density) of the sequences; minus infinity if one is impossible."""
        return float(np.sum(self.score_sequences(sequences, lengths)))

    def score_sequences(self, sequences: Sequences, lengths: Lengths = None) -> Array:
        """Return the log-probability of each sequence, or 0 for an empty sequence; see :meth:`score`."""
        data, chain, tops, _ = self._read(sequences, lengths)
        many = len(data.symbols)
        if self.emissions == "symbols" and many and data.symbols.min() == len(self.symbols_):
            about = f"none of the {many:,} symbols occurs in the training sequences; all count as missing"
            warnings.warn(about, InputWarning, stacklevel=2)
        logs = hidden_states(*data, chain, smoothed=False)[1] + tops
        return np.array([part.sum() for part in data.split(logs)])

    def aic(self, sequences: Sequences, lengths: Lengths = None) -> float:
        """Return Akaike's information criterion; parameters that are fixed, or follow from others, do not count."""
        return 2 * self._free - 2 * self.score(sequences, lengths)

    def bic(self, sequences: Sequences, lengths: Lengths = None) -> float:
        """Return the Bayesian information criterion, whose penalty uses the number of observations."""
        many = len(self._read(sequences, lengths)[0].symbols)
        return self._free * math.log(many) - 2 * self.score(sequences, lengths) if many else math.nan

    @property
    def _free(self) -> int:
        """Number of parameters that are not fixed."""
        k, d = len(self.start_), self.means_.shape[1] if self.emissions == "gaussian" else 0
        each = d * (d + 1) // 2 if self.covariance_type == "full" else d
        sizes = {"start": k - 1, "moves": k * (k - 1), "emissions": k * (len(self.symbols_) - 1)}
        sizes |= {"means": k * d, "covars": k * each}
        return sum(sizes[name] for name in PARAMETERS[self.emissions] if name not in self.fixed)

    def log_probabilities(self, data: Coded) -> Array:
        """Return the log-probability of each token of encoded sequences given its predecessors."""
        return hidden_states(*data, self._chain(), smoothed=False)[1]

    def predict(self, sequences: Sequences, lengths: Lengths = None) -> list[Ints32]:
        """Return the most likely state path of each sequence (Viterbi), computed in single precision."""
        data, chain, _, logs = self._read(sequences, lengths)
        with np.errstate(divide="ignore"):
            start, moves, emit = (np.maximum(np.log(part), NEVER) for part in chain)
        return data.split(viterbi_states(*data, HiddenChain(start, moves, emit if logs is None else logs)))

    def predict_proba(self, sequences: Sequences, lengths: Lengths = None) -> list[Array]:
        """Return the posterior distribution of the state at each position, as arrays of shape (length, states)."""
        data, chain, _, _ = self._read(sequences, lengths)
        return data.split(hidden_states(*data, chain, smoothed=True)[0])

    def next_symbols(self, sequence: Sequence[Hashable]) -> Array:
        """Return the predictive distribution of each symbol given its predecessors, including the next symbol.

        The shape is (length + 1, symbols); rows are NaN after an impossible symbol. Emissions must be symbols.
        """
        if self.emissions == "gaussian":
            raise InputError("next_symbols is for models of symbols; this one has Gaussian emissions")
        data, chain, _, _ = self._read([sequence], None)
        states, _ = hidden_states(*data, chain, smoothed=False)
        return np.asarray(np.vstack([self.start_, states @ self.moves_]) @ self.emissions_)

    def sample(
        self, n: int = 1, *, length: int = 20, stop: Hashable = None, seed: int | np.random.Generator | None = None
    ) -> list[Any]:
        """Sample ``n`` sequences from the model, as lists of symbols or arrays of shape (length, d).

        Sequences have at most ``length`` symbols, and end after the symbol ``stop``. The seed may be a generator.
        """
        check_fitted(self, "symbols_")
        check_int("n", n, low=1)
        check_int("length", length, low=1)
        rng, numbers = np.random.default_rng(seed), self.emissions == "gaussian"
        emit = np.eye(len(self.start_)) if numbers else self.emissions_.T
        drawn = draw_symbols(HiddenChain(self.start_, self.moves_, emit), n, length, rng=rng)
        if numbers:
            roots = np.linalg.cholesky(Gaussians(self.means_, self.covars_).matrices)
            noise = rng.standard_normal((n, length, self.means_.shape[1]))
            return list(self.means_[drawn] + np.einsum("nlij,nlj->nli", roots[drawn], noise))
        sequences = [[self.symbols_[x] for x in row] for row in drawn.tolist()]
        return [row[: row.index(stop) + 1] if stop is not None and stop in row else row for row in sequences]

    def _sweeps(self, data: Coded, X: Array | None, parts: list[Array]) -> Iterator[Sweep]:
        """Yield the parameters after each Baum-Welch iteration."""
        while True:
            objective, following = self._step(data, X, parts)
            yield Sweep(parts, objective)
            parts = following

    def _step(self, data: Coded, X: Array | None, parts: Sequence[Array]) -> tuple[float, list[Array]]:
        """Return the objective of the current parameters, and the parameters after one Baum-Welch update."""
        emit, tops, _ = (parts[2], np.zeros(1), None) if X is None else _densities(parts[2:], X)
        expected = expected_counts(*data, HiddenChain(parts[0], parts[1], emit), threads=self._threads)
        objective = -expected.log_probability - float(tops.sum())
        if self.initial and objective == math.inf:
            raise InputError("the initial parameters give a training sequence the probability 0", "initial")
        names, probabilities = PARAMETERS[self.emissions], parts[: 3 if X is None else 2]
        if self.smoothing:
            free = (part for name, part in zip(names, probabilities, strict=False) if name not in self.fixed)
            objective -= self.smoothing * sum(float(np.log(part).sum()) for part in free)
        starts, moves, emits = (part + self.smoothing for part in expected[:3])
        following = [distributions(starts), distributions(moves)]
        if X is None:
            following.append(np.ascontiguousarray(distributions(emits.T).T))
        else:
            now = Gaussians(*parts[2:])
            objective += self.covars_prior * now.penalty
            following += now.updated(X, expected.emits, self.covars_prior, self.fixed)
        kept = zip(names, parts, following, strict=True)
        return objective / len(data.symbols), [old if name in self.fixed else new for name, old, new in kept]

    def _begun(self, data: Coded, X: Array | None, symbols: int, given: dict[str, Any]) -> list[Array]:
        """Return the initial parameters: those that are given, and estimates of the others."""
        k, names = self.states, PARAMETERS[self.emissions]
        d = 0 if X is None else X.shape[1]
        full, uniform = self.covariance_type == "full", [np.full(k, 1 / k), np.full((k, k), 1 / k)]
        shapes = {"start": (k,), "moves": (k, k), "emissions": (k, symbols), "means": (k, d)}
        shapes["covars"] = (k, d, d) if full else (k, d)
        for name, value in given.items():
            try:
                given[name] = table = np.array(value, float)
            except (TypeError, ValueError):
                raise InputError(f"initial: {name} must be an array of numbers; got {value!r:.60}", "initial") from None
            rows = name not in ("means", "covars")  # which are probabilities, with the sum 1 also in magnitude
            sums = [table.sum(axis=-1), np.abs(table).sum(axis=-1)] if rows else np.isfinite(table)
            if table.shape != shapes[name] or not np.allclose(sums, 1, rtol=0, atol=SUM_TOL):
                about = f"{shapes[name]}{' and rows that sum to 1' * rows}; got the shape {table.shape}"
                raise InputError(f"initial: {name} must have the shape {about}", "initial")
        if "emissions" in given:
            given["emissions"] = np.ascontiguousarray(given["emissions"].T)
        if given.keys() >= {*names}:
            return [given[name] for name in names]
        if X is not None:
            random, prior = self.init == "random", self.covars_prior
            parts = [*uniform, *first_gaussians(X, k, full=full, random=random, prior=prior, seed=self.seed)]
        else:
            chain = self._first(data, symbols)
            parts = [*uniform, chain.emit] if given else [*chain]
        return [given.get(name, part) for name, part in zip(names, parts, strict=True)]

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
            warnings.simplefilter("ignore", hidden_spectral.FewMomentsWarning)  # another start may be selected
            for init in ESTIMATED:
                try:
                    chain = self._estimated(data, symbols, init)
                except InputError as error:
                    refused = error
                    continue
                for _ in range(TRIED):
                    chain = HiddenChain(*self._step(data, None, chain)[1])
                reached.append((self._step(data, None, chain)[0], len(reached), chain))
        if not reached:
            raise refused
        return min(reached)[2]

    def _estimated(self, data: Coded, symbols: int, init: str) -> HiddenChain:
        """Estimate initial parameters and smooth all probabilities, because EM never changes zeros."""
        k, seed = self.states, 0 if self.seed is None else self.seed
        if k > symbols:
            got = f"{k} states and {symbols} symbols: use fewer states or init='random'"
            raise InputError(f"init={init!r} requires at most as many states as symbols; got {got}", "init")
        if init == "anchors":
            chain = hidden_spectral.anchor_chain(data, k, symbols=symbols)
        else:
            estimate = hidden_spectral.spectral_chain if init == "spectral" else hidden_spectral.cluster_chain
            chain = estimate(data, k, symbols=symbols, seed=seed)
        shares = np.bincount(data.symbols, minlength=symbols) / len(data.symbols)
        means: tuple[Any, ...] = (1 / k, 1 / k, shares[:, None])
        return HiddenChain(*((1 - MIXED) * part + MIXED * mean for part, mean in zip(chain, means, strict=True)))

    def _read(self, sequences: Sequences, lengths: Lengths) -> tuple[Coded, HiddenChain, Array, Array | None]:
        """Return encoded sequences, the model, the logarithms by which emissions are scaled, and log-densities."""
        check_fitted(self, "symbols_")
        if self.emissions == "gaussian":
            X, data = _joined(read_vectors(sequences, lengths, size=self.means_.shape[1]))
            emit, tops, logs = _densities((self.means_, self.covars_), X)
            return data, HiddenChain(self.start_, self.moves_, emit), tops, logs
        number, missing = {symbol: at for at, symbol in enumerate(self.symbols_)}, self.unknown == "missing"
        data = coded(listed(sequences, lengths, gaps=missing), number, unknown=missing)
        return data, self._chain(), np.zeros(1), None

    def _chain(self) -> HiddenChain:
        """Return the model parameters with an extra symbol of probability 1 in every state, for unknown symbols."""
        return HiddenChain(self.start_, self.moves_, np.vstack([self.emissions_.T, np.ones(len(self.start_))]))


def _joined(tables: list[Array]) -> tuple[Array, Coded]:
    """Concatenate sequences of vectors, and encode each vector by its position; so each has a row of emissions."""
    X = np.concatenate(tables) if tables else np.empty((0, 0))
    return X, Coded(np.arange(len(X)), np.cumsum([0, *map(len, tables)], dtype=np.int64))


def _densities(gaussians: Sequence[Array], X: Array) -> tuple[Array, Array, Array]:
    """Return the densities in each state relative to the largest, its logarithm, and the relative log-densities."""
    logs = Gaussians(*gaussians).logs(X)
    tops = logs.max(axis=1)
    logs -= tops[:, None]
    return np.exp(logs), tops, logs


def draw_symbols(chain: HiddenChain, n: int, length: int, *, rng: np.random.Generator) -> Ints:
    """Sample ``n`` sequences of equal length from a hidden Markov model."""
    start, moves, emit = (np.cumsum(part, axis=-1)[..., :-1] for part in (chain.start, chain.move, chain.emit.T))
    drawn = np.empty((n, length), np.int64)
    row = start
    for place in range(length):
        states = (rng.random(n)[:, None] >= row).sum(axis=1)
        drawn[:, place] = (rng.random(n)[:, None] >= emit[states]).sum(axis=1)
        row = moves[states]
    return drawn
