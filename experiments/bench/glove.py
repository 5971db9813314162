"""GloVe beside its reference program: nanoseconds per cell and quality, on the same cells and epochs.

COUNTS is made by `polyadic count --order 2`. The reference program reads the cells from a file that is shuffled once,
as its own tool would; its speed is that of its own epochs.
"""

import subprocess
import tempfile
import warnings
from pathlib import Path
from typing import Annotated

import numpy as np

from experiments.bench.common import timed
from experiments.experiment import Option
from polyadic import Embedding, GloVe
from polyadic.datasets import outlier_groups, similarity_sets
from polyadic.metrics.outliers import outliers
from polyadic.metrics.similarity import similarity
from polyadic.text.counts import Counts

CELL = np.dtype([("word", "<i4"), ("context", "<i4"), ("count", "<f8")])


def main(
    counts: Path,
    *,
    reference: Annotated[Path | None, Option("The compiled reference program.")] = None,
    rank: int = 50,
    epochs: int = 10,
    x_max: float = 100.0,
    threads: int = 1,
) -> None:
    listed = Counts.open(counts)
    i, j = listed.entries.indices.T
    cells = 2 * len(i) - int((i == j).sum())
    print(f"{cells:,} cells of {len(listed.vocabulary):,} words, rank {rank}, {epochs} epochs")
    ours(listed, cells, rank=rank, epochs=epochs, x_max=x_max, threads=threads)
    if reference:
        theirs(listed, cells, reference, rank=rank, epochs=epochs, x_max=x_max, threads=threads)


def ours(counts, cells, *, rank, epochs, x_max, threads):
    GloVe(2, epochs=1, threads=threads).fit(counts.entries)  # compiles
    each = []
    callback = lambda result: each.append(result.seconds[-1] - result.seconds[-2])  # noqa: E731
    how = {"x_max": x_max, "epochs": epochs, "seed": 0, "threads": threads, "callback": callback}
    wall, processor, model = timed(lambda: GloVe(rank, **how).fit(counts.entries))
    report("ours", np.median(each) / cells, wall, processor, model.history_[-1] / cells)
    score(model.embedding(counts.vocabulary.words))


def theirs(counts, cells, program, *, rank, epochs, x_max, threads):
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_cells(counts, folder / "cells")
        vocabulary = counts.vocabulary
        lines = (f"{w} {n}\n" for w, n in zip(vocabulary.words, vocabulary.counts, strict=True))
        (folder / "vocabulary").write_text("".join(lines), encoding="utf-8")
        command = [program, "-input-file", folder / "cells", "-vocab-file", folder / "vocabulary"]
        command += ["-save-file", folder / "vectors", "-threads", threads, "-iter", epochs]
        words = [str(word) for word in [*command, "-vector-size", rank, "-x-max", x_max, "-seed", 1]]
        wall, _, done = timed(lambda: subprocess.run(words, capture_output=True, text=True, check=True))
        costs = [float(line.rsplit("cost: ", 1)[1]) for line in done.stderr.splitlines() if "cost: " in line]
        report("reference", wall / epochs / cells, wall, float("nan"), costs[-1])
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


def report(name, per_cell, wall, processor, loss):
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
