"""Hidden Markov models by moments: recovery, Baum-Welch started from them, and prediction of the next tag."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.optimize import linear_sum_assignment

from experiments.data.annotated import web_treebank
from polyadic.core.progress import tracked
from polyadic.core.solvers.run import NotConvergedWarning
from polyadic.sequences.hidden_markov import ESTIMATED, HiddenMarkov, draw_symbols
from polyadic.sequences.hidden_spectral import FewMomentsWarning, spectral_chain
from polyadic.sequences.kernels.hidden import HiddenChain, expected_counts
from polyadic.sequences.ngrams import tuned_ngrams
from polyadic.sequences.observable_operators import ObservableOperators
from polyadic.sequences.symbols import Coded, coded, known_symbols

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from polyadic.core.stage_cache import Facts

    Root = str | os.PathLike[str] | None
    Tags = list[tuple[str, ...]]

END = "</s>"
"""Symbol behind the last tag of a sentence."""


def planted_chain(states: int, symbols: int, *, seed: int) -> HiddenChain:
    """Draw a chain with distinct states: each mostly moves to one other state, and has few symbols."""
    rng = np.random.default_rng(seed)
    move = 0.6 * np.eye(states)[rng.permutation(states)] + 0.4 * rng.dirichlet(np.ones(states), size=states)
    emit = rng.dirichlet(np.full(symbols, 0.3), size=states)
    return HiddenChain(rng.dirichlet(np.ones(states)), move, np.ascontiguousarray(emit.T))


def drawn(chain: HiddenChain, n: int, length: int, *, seed: int) -> Coded:
    """Draw sequences of one length."""
    x = draw_symbols(chain, n, length, rng=np.random.default_rng(seed))
    return Coded(x.ravel(), np.arange(n + 1) * length)


def chain_errors(estimate: HiddenChain, true: HiddenChain) -> tuple[float, float]:
    """Return the errors of emissions and transitions of the mean state, with states matched by emissions.

    Distances are those of total variation, from 0 to 1.
    """
    apart = np.abs(estimate.emit.T[:, None] - true.emit.T[None]).sum(axis=2) / 2
    rows, columns = linear_sum_assignment(apart)
    at = np.argsort(columns)
    moves = np.abs(estimate.move[np.ix_(at, at)] - true.move).sum(axis=1) / 2
    return float(apart[rows, columns].mean()), float(moves.mean())


def recovery(
    sizes: Sequence[int], *, states: int = 4, symbols: int = 12, length: int = 10, seeds: Sequence[int] = (0, 1, 2)
) -> Facts:
    """Estimate planted chains from more and more sequences.

    ``sizes``: Sequences, at least two sizes. ``states``, ``symbols``, ``length``: Of the chains, and of a sequence.
    ``seeds``: One chain for each.
    """
    errors = np.zeros((len(sizes), 2))
    for seed in seeds:
        chain = planted_chain(states, symbols, seed=seed)
        for row, n in enumerate(sizes):
            estimate = spectral_chain(drawn(chain, n, length, seed=seed), states, symbols=symbols)
            errors[row] += np.array(chain_errors(estimate, chain)) / len(seeds)
    slopes = np.polyfit(np.log(sizes), np.log(errors), 1)[0]
    rows = [{"sequences": int(n), "emissions": e, "moves": m} for n, (e, m) in zip(sizes, errors.tolist(), strict=True)]
    return {"errors": rows, "slopes": {"emissions": float(slopes[0]), "moves": float(slopes[1])}}


def starts(sequences: Sequence[Sequence[Any]], states: int, *, seeds: int = 20, max_iter: int = 300) -> Facts:
    """Compare where Baum-Welch comes to from starts that are estimated and from random ones.

    ``seeds``: Random starts. ``max_iter``: Steps from each.
    """

    def baum_welch(**how: Any) -> dict[str, float]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NotConvergedWarning)
            warnings.simplefilter("ignore", FewMomentsWarning)
            model = HiddenMarkov(states, max_iter=max_iter, tol=1e-5, **how).fit(sequences)
        return {"log_probability": -model.history_[-1], "steps": model.n_iter_}

    estimated = {init: baum_welch(init=init) for init in (*ESTIMATED, "best")}
    random = [baum_welch(init="random", seed=seed) for seed in tracked(range(seeds), "random starts")]
    better = sum(row["log_probability"] > estimated["best"]["log_probability"] + 1e-4 for row in random)
    return {**estimated, "random": random, "random_better": better}


def next_tags(
    column: str = "upos", *, states: Sequence[int] = (8, 16), seeds: int = 3, max_iter: int = 100, root: Root = None
) -> Facts:
    """Foretell the tags of the English Web Treebank, and the ends of sentences.

    Each method has its settings chosen on the development part; the test part is looked at once.

    ``column``: ``upos`` or ``xpos``. ``states``: Of hidden Markov models, and ranks of observable operators, to choose
    from; those above the number of symbols are only tried from random starts. ``seeds``: Random starts for each number
    of states. ``max_iter``: Steps of Baum-Welch.
    """
    parts = {part: [getattr(tree, column) for tree in web_treebank(part, root=root)] for part in ("train", "dev")}
    ended: dict[str, Tags] = {part: [(*tags, END) for tags in trees] for part, trees in parts.items()}
    symbols = known_symbols(ended["train"])
    number = {symbol: at for at, symbol in enumerate(symbols)}
    test = [(*getattr(tree, column), END) for tree in web_treebank("test", root=root)]
    ended["test"] = [tags for tags in test if all(tag in number for tag in tags)]
    ended["dev"] = [tags for tags in ended["dev"] if all(tag in number for tag in tags)]
    rows: list[Facts] = [_of_ngrams(ended, [s for s in symbols if s != END])]
    models: dict[str, list[tuple[str, Any]]] = {"operators": [], "spectral": [], "random": []}
    for k in tracked(states, "states"):
        if k <= len(symbols):
            models["operators"] += [
                (f"rank {k}, fresh {fresh}", ObservableOperators(k, fresh=fresh).fit(ended["train"]))
                for fresh in (0.4, 0.6, 0.8)
            ]
            models["spectral"].append((f"{k} states", _learned(ended["train"], k, max_iter, init="spectral")))
        models["random"] += [
            (f"{k} states, seed {seed}", _learned(ended["train"], k, max_iter, init="random", seed=seed))
            for seed in range(seeds)
        ]
    for name, tried in models.items():
        trials = [(_logs(model, ended["dev"])[0].mean(), chosen, model) for chosen, model in tried]
        dev, chosen, model = max(trials, key=lambda row: row[0])
        logs, right = _logs(model, ended["test"])
        rows.append(_row(name, chosen, float(dev), logs, right))
    return {"column": column, "symbols": len(symbols), "tokens": sum(map(len, ended["test"])), "rows": rows}


def _learned(sequences: Tags, states: int, max_iter: int, **how: Any) -> HiddenMarkov:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConvergedWarning)
        warnings.simplefilter("ignore", FewMomentsWarning)
        return HiddenMarkov(states, max_iter=max_iter, smoothing=0.01, **how).fit(sequences)


def _logs(model: Any, sequences: Tags) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return the logarithm of the probability of each symbol, and whether it was the likeliest."""
    number = {symbol: at for at, symbol in enumerate(model.symbols_)}
    logs, right = [], []
    for sequence in sequences:
        rows = model.next_symbols(sequence)[:-1]
        answers = np.array([number[symbol] for symbol in sequence])
        logs.append(np.log(rows[np.arange(len(rows)), answers]))
        right.append(rows.argmax(axis=1) == answers)
    return np.concatenate(logs), np.concatenate(right)


def _of_ngrams(ended: dict[str, Tags], symbols: list[str]) -> Facts:
    """Return the row of interpolated n-grams, whose order and discount are chosen on the development part."""
    from polyadic.sequences.ngrams import contexts, next_symbols

    number = {symbol: at for at, symbol in enumerate(symbols)}
    data = {part: coded([tags[:-1] for tags in sequences], number) for part, sequences in ended.items()}
    model = tuned_ngrams(data["train"], data["dev"], len(symbols), orders=(2, 3, 4, 5, 6))
    results = {}
    for part in ("dev", "test"):
        answers, _ = next_symbols(data[part], len(symbols))
        rows = model.next_probabilities(contexts(data[part], max(model.order - 1, 1)))
        results[part] = np.log(rows[np.arange(len(rows)), answers]), rows.argmax(axis=1) == answers
    chosen = f"order {model.order}, discount {model.discount}"
    return _row("ngrams", chosen, float(results["dev"][0].mean()), *results["test"])


def _row(name: str, chosen: str, dev: float, logs: NDArray[np.float64], right: NDArray[np.bool_]) -> Facts:
    return {
        "method": name,
        "chosen": chosen,
        "dev_perplexity": float(np.exp(-dev)),
        "perplexity": float(np.exp(-logs.mean())),
        "accuracy": float(right.mean()),
    }


def true_log_probability(chain: HiddenChain, data: Coded) -> float:
    """Return the log probability of the mean symbol under the planted chain."""
    return expected_counts(*data, chain).log_probability / len(data.symbols)
