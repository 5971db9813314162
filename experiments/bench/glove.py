"""GloVe beside its reference program: nanoseconds per cell and quality, on the same cells in the same number of epochs.

python -m experiments.bench.glove COUNTS --reference glove/build/glove --rank 50 --epochs 10

COUNTS is a folder of counts of pairs made by `polyadic count --order 2`. The reference reads the cells from a file that
is shuffled once, as its own tool would. It is run with one thread, as ours is, and its speed is that of its own epochs.
"""

from __future__ import annotations

import argparse
import subprocess
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np

from polyadic import Embedding, GloVe
from polyadic.datasets import outlier_groups, similarity_sets
from polyadic.metrics.outliers import outliers
from polyadic.metrics.similarity import similarity
from polyadic.text.counts import Counts

CELL = np.dtype([("word", "<i4"), ("context", "<i4"), ("count", "<f8")])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("counts", type=Path)
    parser.add_argument("--reference", type=Path)
    parser.add_argument("--rank", type=int, default=50)
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--x-max", type=float, default=100.0)
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    counts = Counts.open(options.counts)
    i, j = counts.entries.indices.T
    cells = 2 * len(i) - int((i == j).sum())
    print(f"{cells:,} cells of {len(counts.vocabulary):,} words, rank {options.rank}, {options.epochs} epochs")
    ours(counts, options, cells)
    if options.reference:
        reference(counts, options, cells)


def ours(counts, options, cells):
    GloVe(2, epochs=1, threads=options.threads).fit(counts.entries)  # compiles
    began = time.perf_counter(), time.process_time()
    seconds = []
    model = GloVe(
        options.rank,
        x_max=options.x_max,
        epochs=options.epochs,
        seed=0,
        threads=options.threads,
        callback=lambda result: seconds.append(result.seconds[-1] - result.seconds[-2]),
    ).fit(counts.entries)
    wall, processor = time.perf_counter() - began[0], time.process_time() - began[1]
    losses = [h / cells for h in model.history_]
    tell("ours", np.median(seconds) / cells, wall, processor, losses[-1])
    score(model.embedding(counts.vocabulary.words))


def reference(counts, options, cells):
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_cells(counts, folder / "cells")
        vocabulary = counts.vocabulary
        lines = (f"{w} {n}\n" for w, n in zip(vocabulary.words, vocabulary.counts, strict=True))
        (folder / "vocabulary").write_text("".join(lines), encoding="utf-8")
        command = [options.reference, "-input-file", folder / "cells", "-vocab-file", folder / "vocabulary"]
        command += ["-save-file", folder / "vectors", "-threads", options.threads, "-iter", options.epochs]
        command += ["-vector-size", options.rank, "-x-max", options.x_max, "-seed", 1]
        began = time.perf_counter()
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=True)
        wall = time.perf_counter() - began
        costs = [float(line.rsplit("cost: ", 1)[1]) for line in done.stderr.splitlines() if "cost: " in line]
        tell("reference", wall / options.epochs / cells, wall, float("nan"), costs[-1])
        rows = [line.split(" ") for line in (folder / "vectors.txt").read_text(encoding="utf-8").splitlines()]
        known = [row for row in rows if row[0] != "<unk>"]
        score(Embedding([row[0] for row in known], np.array([row[1:] for row in known], np.float32)))


def write_cells(counts, path):
    entries = counts.entries
    i, j = entries.indices.T
    off = i != j
    cells = np.empty(len(i) + int(off.sum()), CELL)
    cells["word"] = 1 + np.concatenate([i, j[off]]).astype(np.int32)
    cells["context"] = 1 + np.concatenate([j, i[off]]).astype(np.int32)
    cells["count"] = np.concatenate([entries.values, entries.values[off]])
    np.random.default_rng(0).shuffle(cells)
    cells.tofile(path)


def tell(name, per_cell, wall, processor, loss):
    print(
        f"{name:10s} {per_cell * 1e9:8.0f} ns per cell  {wall:7.1f} s wall  {processor:7.1f} s processor"
        f"  loss per cell {loss:.4f}",
        flush=True,
    )


def score(embedding):
    groups = outlier_groups("wikisem500")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        odd = outliers(embedding, groups, order=2)
        scores = [similarity(embedding, pairs).spearman for pairs in similarity_sets().values()]
    print(f"{'':10s} WikiSem500 OPP {odd.opp:.3f} accuracy {odd.accuracy:.3f}, similarity {np.mean(scores):.3f}")


if __name__ == "__main__":
    main()
