"""One spectral start beside hmmlearn's best of many random ones: likelihood reached, and seconds of processor time.

``python -m experiments.bench.hidden_markov planted`` draws sequences from chains whose states are known, ``python
experiments/bench/hidden_markov.py upos`` (or ``xpos``; both need POLYADIC_DATA) takes the tags of the English Web
Treebank, each sentence with an end. Fits of the two packages alternate in one process, on one core. Needs hmmlearn 0.3.
"""

from __future__ import annotations

import argparse
import time
import warnings
from typing import Any

import numpy as np

from experiments.data.annotated import web_treebank
from experiments.spectral.hidden import END, drawn, planted_chain, true_log_probability
from polyadic.sequences.hidden_markov import HiddenMarkov
from polyadic.sequences.symbols import Coded, coded, known_symbols


def ours(data: Coded, states: int, *, init: str, seed: int, max_iter: int) -> tuple[float, float, int]:
    """Give log-probability of the mean symbol, seconds, steps."""
    sequences = data.split(data.symbols)
    start = time.process_time()
    model = HiddenMarkov(states, init=init, seed=seed, max_iter=max_iter, tol=1e-5).fit(sequences)  # type: ignore[arg-type]
    return -model.history_[-1], time.process_time() - start, model.n_iter_


def hmmlearn(data: Coded, states: int, *, seed: int, max_iter: int) -> tuple[float, float, int]:
    """Do the same with hmmlearn, which ends when a step gains less than ``tol`` in all."""
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


def main() -> None:
    """Run the comparison that was asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", choices=["planted", "upos", "xpos"])
    parser.add_argument("--states", type=int, nargs="*", default=[5, 10])
    parser.add_argument("--starts", type=int, default=20)
    parser.add_argument("--max-iter", type=int, default=300)
    parser.add_argument("--length", type=int, default=50, help="of the 20,000 symbols drawn, those of a sequence")
    parser.add_argument("--sentences", type=int, default=12_544)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    for states in args.states:
        if args.data == "planted":
            chain = planted_chain(states, 3 * states, seed=0)
            data = drawn(chain, 20_000 // args.length, args.length, seed=0)
            print(f"the planted chain itself: {true_log_probability(chain, data):.5f}")
            compare("planted", data, states, starts=args.starts, max_iter=args.max_iter)
        else:
            trees = web_treebank("train")[: args.sentences]
            tags = [(*getattr(tree, args.data), END) for tree in trees]
            data = coded(tags, {symbol: at for at, symbol in enumerate(known_symbols(tags))})
            compare(args.data, data, states, starts=args.starts, max_iter=args.max_iter)


if __name__ == "__main__":
    main()
