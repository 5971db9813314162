"""Counting and gradients on a corpus several times over, with its words exchanged each time: time per token.

Set OPENBLAS_NUM_THREADS=1. Words of similar frequency are exchanged, so that tuples differ between copies while the
work per token stays the same. Gradients are evaluated up to --gradients times the corpus, as entries must fit into
memory.
"""

import tempfile
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import numpy as np

from experiments.bench.common import heading, peak, row, timed
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


def main(
    corpus: Path, *, times: tuple[int, ...] = (1, 3, 10), threads: int = 2, rank: int = 100, gradients: int = 3
) -> None:
    text = Corpus.open(corpus)
    heading("times", "M tokens", "M triples", "counting, s", "ns a token", "gradient, s", "ns a triple", "peak, MiB")
    for many in times:
        with tempfile.TemporaryDirectory(dir=corpus.parent) as folder:
            large = repeated(text, many, np.random.default_rng(0))
            how = {"order": 3, "width": 10, "min_count": 2, "threads": threads, "memory": 1 << 33}
            seconds, _, counts = timed(partial(count, large, Path(folder) / "n", **how))
            gradient = float("nan")
            if many <= gradients:
                f = Objective(symmetric_terms([ppmi(counts)], Squared()), [L2()], threads=threads)
                gradient = f.seconds([np.random.default_rng(0).random((len(text.vocabulary), rank), np.float32)])
            n, triples = len(large.ids), len(counts.entries)
            cells = [f"{n / 1e6:.0f}", f"{triples / 1e6:.0f}", f"{seconds:.1f}", f"{seconds / n * 1e9:.0f}"]
            row(many, *cells, f"{gradient:.2f}", f"{gradient / triples * 1e9:.1f}", f"{int(peak()):,}")
            del counts, large
