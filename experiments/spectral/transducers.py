"""Transducers: planted ones learned from pairs of strings, and pronunciations of words."""

from __future__ import annotations

import time
import warnings
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from experiments.data.pronunciations import pronunciations
from polyadic.metrics.figures import Figure, difference
from polyadic.sequences.automata import WeightedAutomaton
from polyadic.sequences.automaton_learning import RankWarning
from polyadic.sequences.spectral_transducer import SpectralTransducer
from polyadic.sequences.symbols import coded
from polyadic.sequences.transducers import WeightedTransducer

if TYPE_CHECKING:
    from pathlib import Path

    from polyadic.core.stage_cache import Facts

IDS = np.array([[0, 1, 2], [3, 4, 5], [6, 7, -1]])
"""Pairs of two input and two output symbols."""
METHODS: dict[str, dict[str, Any]] = {
    "given alignments": {"aligned": True, "method": "svd", "max_length": 2},
    "edits, singular vectors": {"method": "svd", "max_length": 2},
    "edits, EM": {"method": "hull", "max_length": 2, "smoothing": 0.001, "passes": 50},
    "completion": {"method": "completion", "max_length": 1},
    "one state": {"rank": 1, "smoothing": 0.001, "passes": 50},
}
SOUNDS: dict[str, dict[str, Any]] = {
    "EM": {"passes": 10},
    "without EM": {"passes": 0},
    "singular vectors": {"method": "svd"},
    "one state": {"rank": 1, "passes": 10},
}


def planted_transducer(states: int, rng: np.random.Generator, *, stop: float = 0.4) -> WeightedTransducer:
    """Draw a transducer that ends with probability ``stop`` after each pair of symbols."""
    k = int(IDS.max()) + 1
    A = (1 - stop) * rng.dirichlet(np.full(states * k, 0.2), size=states).reshape(states, k, states)
    start = rng.dirichlet(np.ones(states))
    return WeightedTransducer(WeightedAutomaton(start, A.transpose(1, 0, 2).copy(), np.full(states, stop)), IDS)


def drawn_pairs(transducer: WeightedTransducer, many: int, rng: np.random.Generator) -> list[Any]:
    """Draw aligned pairs, with None for gaps."""
    m, places = transducer.automaton, {int(z): place for place, z in np.ndenumerate(transducer.ids)}
    pairs = []
    for _ in range(many):
        state, pair = int(rng.choice(m.rank, p=m.alpha0)), []
        while True:
            moves = np.append(m.A[:, state].ravel(), m.alpha_inf[state])
            move = int(rng.choice(len(moves), p=moves / moves.sum()))
            if move == len(moves) - 1:
                break
            z, state = divmod(move, m.rank)
            pair.append([None if a == 2 else a for a in places[z]])
        pairs.append(([a for a, _ in pair], [b for _, b in pair]))
    return pairs


def recovery(many: int, *, states: int = 2, seed: int = 0) -> Facts:
    """Return the sum of absolute errors of the probabilities of pairs of up to four symbols together, by method."""
    rng = np.random.default_rng(seed)
    true = planted_transducer(states, rng)
    data = drawn_pairs(true, many, rng)
    strings = [s for n in range(5) for s in product(range(2), repeat=n)]
    tests = [(s, t) for s in strings for t in strings if len(s) + len(t) <= 4]
    x, y = [s for s, _ in tests], [t for _, t in tests]
    truth = np.exp(true.logs(coded(x, {0: 0, 1: 1}), coded(y, {0: 0, 1: 1})))
    errors = {}
    for name, how in METHODS.items():
        pairs = data if "aligned" in how else [[[a for a in s if a is not None] for s in pair] for pair in data]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RankWarning)
            model = SpectralTransducer(**{"rank": states, **how}).fit([s for s, _ in pairs], [t for _, t in pairs])
        errors[name] = float(np.abs(np.exp(model.log_likelihoods(x, y)) - truth).sum())
    return errors


def sounds(language: str, *, place: Path, rank: int = 10, words: int = 1000) -> Facts:
    """Predict the sounds of the test words of a language, by method; words with unknown letters count as wrong.

    ``words``: Training words, the first of a random order.
    """
    train, test = (pronunciations(language, part, place=place) for part in ("train", "test"))
    order = np.random.default_rng(0).permutation(len(train.letters))[:words].tolist()
    figures: dict[str, dict[str, Figure]] = {}
    facts: dict[str, Any] = {"rows": [], "over": []}
    for name, how in SOUNDS.items():
        began = time.process_time()
        model = SpectralTransducer(**{"rank": rank, **how}).fit(*([part[at] for at in order] for part in train))
        fitted = time.process_time()
        known = [all(a in model.inputs_ for a in word) for word in test.letters]
        found = iter(model.predict([word for word, ok in zip(test.letters, known, strict=True) if ok]))
        predicted = [next(found) if ok else [] for ok in known]
        pairs = list(zip(predicted, test.sounds, strict=True))
        rows = {
            "words": np.array([[a != b, 1.0] for a, b in pairs], float),
            "sounds": np.array([[distance(a, b), len(b)] for a, b in pairs], float),
        }
        figures[name] = {what: Figure(what, each, len(pairs), len(pairs)) for what, each in rows.items()}
        seconds = {"training": fitted - began, "prediction": time.process_time() - fitted}
        facts["rows"].append({"method": name, **{k: f.as_dict() for k, f in figures[name].items()}, **seconds})
    for name in list(SOUNDS)[1:]:
        over = difference(figures["EM"]["words"], figures[name]["words"])
        facts["over"].append({"method": f"EM - {name}", **over._asdict()})
    return facts


def distance(a: list[str], b: list[str]) -> int:
    """Return the number of insertions, deletions and substitutions between two sequences.

    Examples
    --------
    >>> distance(list("kitten"), list("sitting"))
    3
    """
    row = list(range(len(b) + 1))
    for i, left in enumerate(a, 1):
        corner, row[0] = row[0], i
        for j, right in enumerate(b, 1):
            corner, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, corner + (left != right))
    return row[-1]
