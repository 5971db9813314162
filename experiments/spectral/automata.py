"""Automata learned from strings: exact cases, problems of PAutomaC, completion of few strings, and the next tag."""

from __future__ import annotations

import time
import warnings
from typing import TYPE_CHECKING, Any, get_args

import numpy as np

from polyadic.metrics.strings import string_perplexity
from polyadic.sequences.automata import WeightedAutomaton
from polyadic.sequences.automaton_learning import RankWarning, svd_automaton
from polyadic.sequences.hankel import Hankel, Structure, completed_hankel, hankel
from polyadic.sequences.ngrams import NGrams, next_symbols, tuned_ngrams
from polyadic.sequences.spectral_automaton import SmoothedAutomaton, SpectralAutomaton
from polyadic.sequences.symbols import Coded, coded, known_symbols, split

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from experiments.data.pautomac import Problem

SLIDE = "aa b bab a b a ab aa ba b aa a aa bab b aa"
"""Strings of the tutorial's example."""
RANKS = (5, 8, 12, 16, 20, 30, 40)
"""Ranks of automata by singular vectors."""
ORDERS = (2, 3, 4, 5, 6)
"""Orders of n-grams, to select from on held-out strings."""


def slide_table() -> list[list[float]]:
    """Return the tutorial's Hankel matrix: rows empty, a, b, ba; columns a, b.

    Examples
    --------
    >>> slide_table()
    [[0.1875, 0.25], [0.3125, 0.0625], [0.0625, 0.0], [0.0, 0.125]]
    """
    data = coded(SLIDE.split(), {"a": 0, "b": 1})
    rows, columns = [(), (0,), (1,), (1, 0)], [(0,), (1,)]
    matrix: list[list[float]] = (
        hankel(data, 2, statistic="string", prefixes=rows, suffixes=columns).H.toarray().tolist()
    )
    return matrix


def pautomac_figures(
    problem: Problem, choices: Sequence[dict[str, Any]], *, held_out: float = 0.1, seed: int = 0
) -> dict[str, Any]:
    """Learn a problem with settings selected on held-out training strings, and evaluate on its test set.

    ``choices``: Parameters of :class:`~polyadic.sequences.spectral_automaton.SpectralAutomaton`; each chooses among its
    ranks by itself. ``held_out``: Share of the training strings.
    """
    fits = []
    for choice in choices:
        began = time.perf_counter()
        model = SpectralAutomaton(alphabet=range(problem.size), held_out=held_out, seed=seed, **choice)
        model.fit(problem.train)
        fits.append((max(model.tried_.values()), choice, model, time.perf_counter() - began))
    held, chosen, best, seconds = max(fits, key=lambda fit: fit[0])
    number = {symbol: symbol for symbol in range(problem.size)}
    train, test = coded(problem.train, number), coded(problem.test, number)
    logs = {"true": problem.automaton.logs(test), "automaton": best.model_.logs(test)}
    logs |= {name: model.logs(test) for name, model in _ngrams(train, problem.size, held_out, seed).items()}
    for name, order in (("singular vectors", 0), ("singular vectors and trigrams", 3)):
        choice = {"rank": RANKS, "method": "svd", "order": order}
        model = SpectralAutomaton(alphabet=range(problem.size), held_out=held_out, seed=seed, **choice)
        logs[name] = model.fit(problem.train).model_.logs(test)
    figures = {name: string_perplexity(problem.truth, log) for name, log in logs.items()}
    return {**figures, "held_out": held, "rank": best.rank_, "chosen": dict(chosen), "seconds": seconds}


def _ngrams(data: Coded, size: int, held_out: float, seed: int) -> dict[str, NGrams]:
    """Return trigrams, and n-grams of the best order, with discounts chosen by strings held out."""
    part, held = split(data, held_out, seed)
    tuned = {"trigrams": (3,), "n-grams": ORDERS}
    models = {name: tuned_ngrams(part, held, size, orders=orders) for name, orders in tuned.items()}
    return {name: NGrams(n.order, discount=n.discount).fit(data, size) for name, n in models.items()}


def planted_automaton(states: int, symbols: int, rng: np.random.Generator, *, stop: float = 0.3) -> WeightedAutomaton:
    """Draw a probabilistic automaton that ends with probability ``stop`` after each symbol."""
    A = rng.dirichlet(np.full(states * symbols, 0.3), size=states).reshape(states, symbols, states)
    return WeightedAutomaton(np.eye(states)[0], (1 - stop) * A.transpose(1, 0, 2), np.full(states, stop))


def completion_figures(
    samples: int, *, states: int = 3, symbols: int = 2, penalties: Sequence[float], least: int = 0, seed: int = 0
) -> dict[str, float]:
    """Learn a planted automaton from few strings, with and without completion of its Hankel matrix.

    Ranks and penalties are chosen by half as many strings more.

    ``samples``: Strings. ``states``, ``symbols``: Of the automaton. ``penalties``: Tried, as shares of the largest
    singular value. ``least``: See :func:`~polyadic.sequences.hankel.completed_hankel`.
    """
    rng = np.random.default_rng(seed)
    truth = planted_automaton(states, symbols, rng)
    source = SmoothedAutomaton(truth, NGrams(0).fit(Coded(np.zeros(0, np.int64), np.zeros(2, np.int64)), symbols), 1.0)
    drawn = [coded(source.sample(n, rng), dict(enumerate(range(symbols)))) for n in (samples, samples // 2)]
    table = hankel(drawn[0], symbols, statistic="string", max_length=3)
    largest = float(np.linalg.norm(table.H.toarray(), 2))
    tables = {"as counted": [table]}
    for structure in get_args(Structure):
        how: dict[str, Any] = {"structure": structure, "min_count": least}
        tables[structure] = [completed_hankel(table, p * largest, **how) for p in penalties]
    strings = [string for n in range(7) for string in np.ndindex(*(symbols,) * n)]
    true = np.array([truth(string) for string in strings])
    errors = {}
    for name, tried in tables.items():
        models = [model for each in tried for model in _leading(each, states + 2)]
        best = max(models, key=lambda model: _fit(model, drawn[1], source.ngrams))
        errors[name] = float(np.abs(np.array([best(string) for string in strings]) - true).sum())
    return errors


def _leading(table: Hankel, rank: int) -> list[WeightedAutomaton]:
    """Return the automata of all ranks up to one, or up to that of the matrix."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RankWarning)
        largest = svd_automaton(table, rank, scaling=0.0)
    return [largest.leading(r) for r in range(1, largest.rank + 1)]


def _fit(automaton: WeightedAutomaton, held: Coded, nothing: NGrams) -> float:
    return SmoothedAutomaton(automaton, nothing, 1.0).tuned(held)[1]


def tag_surprise(
    train: Sequence[Sequence[str]], test: Sequence[Sequence[str]], *, rank: Sequence[int] = (20, 40), seed: int = 0
) -> dict[str, NDArray[np.float64]]:
    """Predict each next tag of sentences, and where they end, from all tags before.

    Returns of each predictor an array of shape (test sentences, 3): surprise in nats, number of tags and ends, and how
    many were the likeliest.

    ``train``, ``test``: Such as the ``upos`` of the trees of :func:`~experiments.data.annotated.web_treebank`.
    """
    tags = known_symbols(train)
    number = {tag: at for at, tag in enumerate(tags)}
    data, tests = coded(train, number), coded(test, number)
    model = SpectralAutomaton(list(rank), alphabet=tags, seed=seed).fit(train)
    models: dict[str, Any] = {"automaton": model.model_, **_ngrams(data, len(tags), 0.1, seed)}
    came, strings = next_symbols(tests, len(tags))
    rows = {}
    for name, predictor in models.items():
        p = predictor.along(tests) if isinstance(predictor, NGrams) else predictor.next_probabilities(tests)
        facts = -np.log(p[np.arange(len(p)), came]), np.ones(len(p)), p.argmax(axis=1) == came
        rows[name] = np.array([np.bincount(strings, fact, len(test)) for fact in facts], np.float64).T
    return rows


def next_tag_figures(
    train: Sequence[Sequence[str]], test: Sequence[Sequence[str]], *, rank: Sequence[int] = (20, 40), seed: int = 0
) -> dict[str, dict[str, float]]:
    """Return the accuracy and the perplexity of the predictors of :func:`tag_surprise`."""
    sums = {name: rows.sum(axis=0) for name, rows in tag_surprise(train, test, rank=rank, seed=seed).items()}
    return {
        name: {"accuracy": float(right / tags), "perplexity": float(np.exp(nats / tags))}
        for name, (nats, tags, right) in sums.items()
    }
