"""Time and memory by the size of the input: twelve paths, their slopes, and the largest size predicted from the others.

Set OPENBLAS_NUM_THREADS=1. Each point is a process of its own with one thread, which compiles or loads the loops on the
smallest size first; then come processor time (the median counts) and the peak memory above what was held before (Linux
only). TEXT is a file of at least 64 MB; treebanks are those of POLYADIC_DATA, and other inputs are drawn.

The model of cost is ``t(n) = a + b n^s``, with n the size, or the number of entries where that decides, and ``a``,
``b`` and ``s`` not below 0, fitted to the logarithms of all points but the largest, which is then predicted.
"""

from __future__ import annotations

import ctypes
import math
import statistics
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy import sparse
from scipy.optimize import least_squares

from experiments.bench.common import own_process, row
from experiments.data.annotated import web_treebank
from polyadic import (
    NMF,
    BayesianFactorizationMachine,
    Corpus,
    KnowledgeTensor,
    LowRankParser,
    MatrixFactorization,
    PairwiseRanking,
    SpectralAutomaton,
    SymmetricCP,
    count,
)
from polyadic.text.counts import Counts
from polyadic.text.weighting import ppmi
from polyadic.words.pairwise import PPMISVD

if TYPE_CHECKING:
    from collections.abc import Callable

MEGABYTE = 1_000_000


class Growing(NamedTuple):
    """A path to measure: description, unit, sizes, and ``prepare``, which returns the work for a size.

    ``prepare`` may also return the amount that the cost depends on, if it is not the size; ``by`` is its unit.
    """

    what: str
    unit: str
    sizes: tuple[int, ...]
    prepare: Callable[[int, Path], Callable[[], object] | tuple[int, Callable[[], object]]]
    by: str = ""


def cut(text: Path, folder: Path, megabytes: int) -> Path:
    """Return a file of the first megabytes of a text, whole lines."""
    file = folder / f"{megabytes}.txt"
    if not file.exists():
        with text.open("rb") as stream:
            file.write_bytes(stream.read(megabytes * MEGABYTE).rpartition(b"\n")[0])
    return file


def corpus_of(folder: Path, megabytes: int) -> Corpus:
    """Return a corpus of that many megabytes, made once."""
    place = folder / f"corpus-{megabytes}"
    how = {"min_count": 20, "language": "en", "jobs": 1}
    return Corpus.open(place) if place.exists() else Corpus.build(cut(folder / "text", folder, megabytes), place, **how)


def words_of(folder: Path, words: int) -> Counts:
    """Return counts of triples among that many frequent words of 16 MB, made once."""
    place = folder / f"counts-{words}"
    if not place.exists():
        source = cut(folder / "text", folder, 16)
        made = Corpus.build(source, min_count=1, max_size=words, language="en", jobs=1)
        count(made, place, order=3, width=5, threads=1)
    return Counts.open(place)


def encoding(megabytes: int, folder: Path):
    source = cut(folder / "text", folder, megabytes)
    return lambda: Corpus.build(source, min_count=20, language="en", jobs=1)


def counting(megabytes: int, folder: Path):
    made = corpus_of(folder, megabytes)
    return lambda: count(made, order=3, width=5, threads=1)


def sweeps(entries, rank: int):
    return lambda: SymmetricCP(rank, max_iter=10, tol=0, seed=0, threads=1).fit(entries)


def by_vocabulary(words: int, folder: Path):
    entries = ppmi(words_of(folder, words))
    return len(entries), sweeps(entries, 50)


def by_rank(rank: int, folder: Path):
    return sweeps(ppmi(words_of(folder, 2000)), rank)


def pairs_of(words: int, folder: Path):
    made = Corpus.build(cut(folder / "text", folder, 16), min_count=1, max_size=words, language="en", jobs=1)
    entries = ppmi(count(made, order=2, width=5, threads=1))
    return len(entries), lambda: PPMISVD(100, seed=0).fit(entries)


def drawn(cells: int, *, seed: int = 0) -> sparse.coo_array:
    """Return a table of that many cells, a hundred a row, with a long tail of columns."""
    rng = np.random.default_rng(seed)
    rows, columns = max(cells // 100, 2), max(cells // 500, 20)
    at = [rng.integers(rows, size=cells), (columns ** rng.random(cells)).astype(int) - 1]
    x = sparse.coo_array((rng.integers(1, 6, cells).astype(float), at), shape=(rows, columns)).tocsr()
    x.data = np.minimum(x.data, 5)
    return x.tocoo()


def rating(cells: int, _: Path):
    x = drawn(cells)
    return lambda: MatrixFactorization(20, max_iter=10, tol=0, seed=0, threads=1).fit(x)


def ranking(cells: int, _: Path):
    x = drawn(cells)
    return lambda: PairwiseRanking(32, max_iter=5, seed=0, threads=1).fit(x)


def knowing(entities: int, _: Path):
    rng = np.random.default_rng(0)
    facts = np.unique(np.stack([rng.integers(k, size=10 * entities) for k in (entities, 10, entities)]).T, axis=0)
    return lambda: KnowledgeTensor(50, max_iter=2, seed=0, threads=1).fit(facts)


def topics(megabytes: int, folder: Path):
    made = corpus_of(folder, megabytes)
    step = 200  # words of a document
    rows = np.arange(len(made.ids)) // step
    x = sparse.coo_array((np.ones(len(rows)), (rows, made.ids)), shape=(rows[-1] + 1, len(made.vocabulary))).tocsr()
    return lambda: NMF(20, max_iter=20, tol=0, seed=0, threads=1).fit(x)


def parsing(sentences: int, _: Path):
    trees = web_treebank("train")[:sentences]
    return lambda: LowRankParser(25, max_iter=2, init="random", seed=0).fit(trees)


def machines(rows: int, _: Path):
    rng = np.random.default_rng(0)
    at = np.stack([rng.integers(k, size=rows) + start for k, start in ((rows // 50 + 1, 0), (1000, rows // 50 + 1))])
    x = sparse.csr_array((np.ones(2 * rows), at.T.ravel(), np.arange(0, 2 * rows + 1, 2)))
    y = rng.standard_normal(rows)
    return lambda: BayesianFactorizationMachine(8, burn_in=2, draws=10, seed=0, threads=1).fit(x, y)


def strings(number: int, _: Path):
    rng = np.random.default_rng(0)
    lists = [rng.geometric(0.1, size=rng.geometric(0.1)).clip(max=20) - 1 for _ in range(number)]
    words = [tuple(line.tolist()) for line in lists]
    prefixes = len({word[:k] for word in words for k in range(len(word) + 1)})
    return prefixes, lambda: SpectralAutomaton(10).fit(words)


PATHS = {
    "corpus": Growing("encoding text", "MB", (4, 8, 16, 32, 64), encoding),
    "count": Growing("counting triples, windows of 5", "MB", (4, 8, 16, 32, 64), counting),
    "vocabulary": Growing(
        "ten sweeps of CP-S, rank 50, 16 MB", "words", (500, 1000, 2000, 4000, 8000), by_vocabulary, "entries"
    ),
    "rank": Growing("ten sweeps of CP-S, 2,000 words, 16 MB", "columns", (25, 50, 100, 200, 400), by_rank),
    "svd": Growing("PPMI-SVD, rank 100, 16 MB", "words", (1000, 2000, 4000, 8000, 16000), pairs_of, "entries"),
    "topics": Growing("twenty sweeps of NMF, 20 topics", "MB", (4, 8, 16, 32, 64), topics),
    "ratings": Growing(
        "ten sweeps of least squares, rank 20", "ratings", (125_000, 250_000, 500_000, 1_000_000, 2_000_000), rating
    ),
    "pairs": Growing(
        "five epochs of pairs, rank 32", "cells", (250_000, 500_000, 1_000_000, 2_000_000, 4_000_000), ranking
    ),
    "entities": Growing("two epochs of ComplEx, rank 50", "entities", (2000, 3000, 4500, 6500, 9000), knowing),
    "sentences": Growing("two passes of a parser, rank 25", "sentences", (500, 1000, 2000, 4000, 8000), parsing),
    "machines": Growing(
        "twelve draws of a machine, rank 8", "rows", (100_000, 200_000, 400_000, 800_000, 1_600_000), machines
    ),
    "strings": Growing(
        "an automaton of 10 states", "strings", (2500, 5000, 10_000, 20_000, 40_000), strings, "prefixes"
    ),
}


def status(name: str) -> float:
    """Return a figure of /proc/self/status, in MiB."""
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(name))
    return int(line.split()[1]) / 1024


def prepared(path: Growing, size: int, folder: Path):
    """Return the amount that the cost depends on, and the work."""
    made = path.prepare(size, folder)
    return made if isinstance(made, tuple) else (size, made)


def point(name: str, size: int, place: str) -> dict[str, float]:
    """Return amount, seconds and memory of a size, measured in this process."""
    path, folder = PATHS[name], Path(place)
    amount, work = prepared(path, path.sizes[0], folder)
    work()
    amount, work = prepared(path, size, folder)
    ctypes.CDLL(None).malloc_trim(0)  # what the first run has left is given back, or it would be used unseen
    Path("/proc/self/clear_refs").write_text("5")  # forget the most memory so far
    held, start = status("VmRSS"), time.process_time()
    work()
    return {"amount": amount, "seconds": time.process_time() - start, "mib": max(status("VmHWM") - held, 0.1)}


def measured(name: str, size: int, folder: Path, repeats: int) -> dict[str, float]:
    """Return the medians over processes that each measure a size."""
    points = [own_process(point, name, size, folder) for _ in range(repeats)]
    return {key: statistics.median(each[key] for each in points) for key in points[0]}


def cost(sizes: np.ndarray, seconds: np.ndarray) -> tuple[float, float, float]:
    """Return a, b and s of ``a + b n^s``."""
    n = sizes / sizes[0]

    def errors(at):
        return np.log(at[0] + at[1] * n ** at[2]) - np.log(seconds)

    ends = [
        least_squares(errors, [share * seconds[0], (1 - share) * seconds[0], 1.0], bounds=([0, 1e-12, 0], np.inf))
        for share in (0.01, 0.5)
    ]
    a, b, s = min(ends, key=lambda end: end.cost).x
    return a, b / sizes[0] ** s, s


def cells(name: str, points: list[dict[str, float]]) -> list[str]:
    """Return the cells of the row of a path."""
    sizes = np.array(PATHS[name].sizes, float)
    amounts, seconds, memory = (np.array([each[key] for each in points]) for key in ("amount", "seconds", "mib"))
    a, b, s = cost(amounts[:-1], seconds[:-1])
    said = a + b * amounts[-1] ** s
    slope, slope_of_memory = (math.log(y[-1] / y[-2]) / math.log(amounts[-1] / amounts[-2]) for y in (seconds, memory))
    return [
        PATHS[name].what,
        f"{sizes[0]:,.0f} to {sizes[-1]:,.0f} {PATHS[name].unit}"
        + (f", {amounts[0]:,.0f} to {amounts[-1]:,.0f} {PATHS[name].by}" if PATHS[name].by else ""),
        ", ".join(f"{x:.3g}" for x in seconds),
        f"{slope:.2f}",
        f"{said:.3g} ({100 * (said / seconds[-1] - 1):+.0f} %)",
        ", ".join(f"{x:.0f}" for x in memory),
        f"{slope_of_memory:.2f}",
    ]


PAGE = """# Performance: growth

{summary}

Processor time with one thread, and memory in addition to that of the process before the measurement, from the
smallest to the largest size of each task:
`OPENBLAS_NUM_THREADS=1 python -m experiments bench growth TEXT --page docs/performance/growth.md`.
The data are 109 MB of Wikipedia, the English Web Treebank, and synthetic tables, facts and strings.
A slope is that of the last step on logarithmic axes: 1 means twice as much for twice the data.
The column *predicted* shows the time of the largest size as extrapolated from the smaller ones by the best curve
`a + b n^s`, and its deviation. Lower is better.

![Seconds and memory against sizes]({picture})

{table}

[How long it takes](../growth.md) explains how to estimate times for your data. [Performance](../performance.md)
compares individual tasks with other libraries.
"""
HEAD = ("task", "sizes", "seconds", "slope of time", "largest, predicted", "MiB", "slope of memory")


def summary(rows: list[list[str]]) -> str:
    """Return the first paragraph of the page: how time grows, and how well it is predicted."""
    slopes = [float(each[3]) for each in rows]
    off = [abs(float(each[4].split("(")[1].rstrip(" %)"))) for each in rows]
    near = sum(0.75 <= slope <= 1.35 for slope in slopes)
    steepest = rows[int(np.argmax(slopes))][0]
    return (
        f"**Summary.** The time of {near} of {len(rows)} tasks grows about in proportion to the data (slopes from 0.75"
        f" to 1.35); the largest slope is {max(slopes):.2f} ({steepest}). Extrapolation from smaller sizes predicts the"
        f" time of the largest size with a median error of {statistics.median(off):.0f} % and a maximum of"
        f" {max(off):.0f} %."
    )


def picture(all_points: dict[str, list[dict[str, float]]], file: Path) -> None:
    """Draw seconds and memory against sizes, all in logarithms."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import NullLocator

    figure = Figure(figsize=(10, 2.4 * math.ceil(len(all_points) / 4)), layout="constrained")
    for ax, (name, points) in zip(
        figure.subplots(math.ceil(len(all_points) / 4), 4, squeeze=False).flat, all_points.items(), strict=False
    ):
        for key, mark in (("seconds", "o-"), ("mib", "s:")):
            ax.loglog(PATHS[name].sizes, [each[key] for each in points], mark, markersize=3, label=key)
        ax.set_title(PATHS[name].what, fontsize=7)
        ax.set_xlabel(PATHS[name].unit, fontsize=7)
        sizes = PATHS[name].sizes
        ax.tick_params(labelsize=6)
        ax.xaxis.set_minor_locator(NullLocator())
        ax.set_xticks(sizes, [f"{n:,}" if n in (sizes[0], sizes[-1]) else "" for n in sizes])
    figure.axes[0].legend(["seconds", "MiB"], fontsize=6)
    figure.savefig(file, dpi=110)


def main(text: Path, *, only: tuple[str, ...] = tuple(PATHS), repeats: int = 1, page: Path | None = None) -> None:
    rows, points = [], {}
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "text").symlink_to(text.absolute())
        for name in only:
            points[name] = [measured(name, size, Path(folder), repeats) for size in PATHS[name].sizes]
            rows.append(cells(name, points[name]))
            row(*rows[-1])
    if page is not None:
        lines = [" | ".join(HEAD), " | ".join(["---"] * len(HEAD)), *(" | ".join(each) for each in rows)]
        figure = page.with_suffix(".png")
        table = "\n".join(f"| {line} |" for line in lines)
        page.write_text(PAGE.format(summary=summary(rows), picture=figure.name, table=table), encoding="utf-8")
        picture(points, figure)
