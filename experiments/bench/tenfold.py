"""A corpus several times over, its words exchanged each time: what counting and a gradient take for each token.

    OPENBLAS_NUM_THREADS=1 python -m experiments.bench.tenfold CORPUS [--times 1 3 10] [--threads 2] [--rank 100]
    [--gradients 3]

Words of like frequency are exchanged, so that tuples of words are others in each copy, while the work that a token
makes is the same. Gradients are evaluated up to so many times the corpus, as entries must fit into memory.
"""

import argparse
import resource
import tempfile
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np

from polyadic import Corpus, count
from polyadic.core.losses import Squared
from polyadic.core.objective import Objective
from polyadic.core.penalties import L2
from polyadic.text.weighting import ppmi
from polyadic.words.orders import symmetric_terms

BAND = 64
"""Neighbours in frequency among which words are exchanged."""


def repeated(corpus, times, rng):
    size = len(corpus.vocabulary)
    copies = [corpus.ids]
    for _ in range(times - 1):
        order = np.arange(size, dtype=corpus.ids.dtype)
        for first in range(0, size, BAND):
            rng.shuffle(order[first : first + BAND])
        copies.append(order[corpus.ids])
    n = len(corpus.ids)
    starts = np.concatenate([[0], *(corpus.sentences[1:] + k * n for k in range(times))])
    ids = np.concatenate(copies)
    return SimpleNamespace(ids=ids, sentences=starts, vocabulary=corpus.vocabulary, digest=f"{corpus.digest} x{times}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus")
    parser.add_argument("--times", type=int, nargs="+", default=[1, 3, 10])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rank", type=int, default=100)
    parser.add_argument("--gradients", type=int, default=3)
    given = parser.parse_args()
    corpus = Corpus.open(given.corpus)
    print("| times | M tokens | M triples | counting, s | ns a token | gradient, s | ns a triple | peak, MiB |")
    print("|---|---|---|---|---|---|---|---|")
    for times in given.times:
        with tempfile.TemporaryDirectory(dir=Path(given.corpus).parent) as folder:
            large = repeated(corpus, times, np.random.default_rng(0))
            start = time.perf_counter()
            counts = count(
                large, Path(folder) / "n", order=3, width=10, min_count=2, threads=given.threads, memory=1 << 33
            )
            counting = time.perf_counter() - start
            gradient = float("nan")
            if times <= given.gradients:
                terms = symmetric_terms([ppmi(counts)], Squared())
                f = Objective(terms, [L2()], threads=given.threads)
                gradient = f.seconds(
                    [np.random.default_rng(0).random((len(corpus.vocabulary), given.rank), np.float32)]
                )
            n, triples = len(large.ids), len(counts.entries)
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
            row = [f"{n / 1e6:.0f}", f"{triples / 1e6:.0f}", f"{counting:.1f}", f"{counting / n * 1e9:.0f}"]
            row += [f"{gradient:.2f}", f"{gradient / triples * 1e9:.1f}", f"{peak:,}"]
            print(f"| {times} | {' | '.join(row)} |", flush=True)
            del counts, large


if __name__ == "__main__":
    main()
