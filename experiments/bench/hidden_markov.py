"""One spectral start beside hmmlearn's best of many random ones: likelihood reached, and seconds of processor time.

``planted`` draws sequences from chains whose states are known; ``upos`` and ``xpos`` take the tags of the English Web
Treebank, each sentence with an end (needs POLYADIC_DATA). Fits alternate on one core. Needs hmmlearn 0.3.
"""

import time
import warnings
from typing import Annotated, Any, Literal

import numpy as np

from experiments.data.annotated import web_treebank
from experiments.experiment import Option
from experiments.spectral.hidden import END, drawn, planted_chain, true_log_probability
from polyadic.sequences.hidden_markov import HiddenMarkov
from polyadic.sequences.symbols import Coded, coded, known_symbols


def ours(data: Coded, states: int, *, init: str, seed: int, max_iter: int) -> tuple[float, float, int]:
    """Return the mean log probability of a symbol, seconds, iterations."""
    sequences = data.split(data.symbols)
    start = time.process_time()
    model = HiddenMarkov(states, init=init, seed=seed, max_iter=max_iter, tol=1e-5).fit(sequences)  # type: ignore[arg-type]
    return -model.history_[-1], time.process_time() - start, model.n_iter_


def hmmlearn(data: Coded, states: int, *, seed: int, max_iter: int) -> tuple[float, float, int]:
    """Return the same for hmmlearn, which stops when an iteration gains less than ``tol`` in all."""
    from hmmlearn.hmm import CategoricalHMM

    X, lengths = data.symbols[:, None], np.diff(data.edges)
    start = time.process_time()
    model: Any = CategoricalHMM(states, n_iter=max_iter, tol=1e-6 * len(X), random_state=seed, implementation="scaling")
    model.fit(X, lengths)
    return model.score(X, lengths) / len(X), time.process_time() - start, model.monitor_.iter


def compare(name: str, data: Coded, states: int, *, starts: int, max_iter: int) -> None:
    """Print one line for each contender."""
    warm = Coded(data.symbols[: data.edges[5]], data.edges[:6])
    ours(warm, 1, init="random", seed=0, max_iter=1)  # compiled before the clock runs
    rows: dict[str, list[tuple[float, float, int]]] = {"spectral": [], "random": [], "hmmlearn": []}
    for seed in range(starts):
        if seed == 0:
            rows["spectral"].append(ours(data, states, init="spectral", seed=0, max_iter=max_iter))
        rows["random"].append(ours(data, states, init="random", seed=seed, max_iter=max_iter))
        rows["hmmlearn"].append(hmmlearn(data, states, seed=seed, max_iter=max_iter))
    print(f"{name}: {len(data.symbols):,} symbols, {states} states")
    for kind, found in rows.items():
        logs, seconds, steps = map(np.array, zip(*found, strict=True))
        print(
            f"  {kind:9} best {logs.max():.5f}  median {np.median(logs):.5f}  as good as the spectral start"
            f" {(logs >= rows['spectral'][0][0] - 1e-4).sum()} of {len(logs)}  seconds {seconds.sum():.2f},"
            f" a start {seconds.mean():.2f}, a step {seconds.sum() / steps.sum() * 1e3:.2f} ms"
            f"  steps {steps.mean():.0f}"
        )


def main(
    data: Literal["planted", "upos", "xpos"],
    *,
    states: tuple[int, ...] = (5, 10),
    starts: int = 20,
    max_iter: int = 300,
    length: Annotated[int, Option("Length of the drawn sequences, of 20,000 symbols in all.")] = 50,
    sentences: int = 12_544,
) -> None:
    warnings.simplefilter("ignore")
    for number in states:
        if data == "planted":
            chain = planted_chain(number, 3 * number, seed=0)
            known = drawn(chain, 20_000 // length, length, seed=0)
            print(f"log probability of the planted chain: {true_log_probability(chain, known):.5f}")
        else:
            tags = [(*getattr(tree, data), END) for tree in web_treebank("train")[:sentences]]
            known = coded(tags, {symbol: at for at, symbol in enumerate(known_symbols(tags))})
        compare(data, known, number, starts=starts, max_iter=max_iter)
