"""Encoding, counting and training on a local machine and on a Dask cluster: seconds, digests, bytes and memory.

Set OPENBLAS_NUM_THREADS=1. Seconds by the clock, with the same number of threads locally and for each worker; the
cluster is started and has done each step on a small text before the clock starts. Of an evaluation: the bytes that
workers have sent, in copies of the factors, and the memory of the largest worker beyond what it held before, in MiB,
beside that of its parts.
"""

import contextlib
import hashlib
import tempfile
import time
from pathlib import Path

import dask
import numpy as np
from distributed import Client, LocalCluster

from experiments.bench.common import heading, row
from polyadic import Corpus, SymmetricCP, count
from polyadic.core.executor.dask import LOCAL_SETTINGS, working_on
from polyadic.text.weighting import ppmi


def digest(*arrays):
    whole = hashlib.sha256()
    for array in arrays:
        whole.update(np.ascontiguousarray(array))
    return whole.hexdigest()[:8]


def steps(text, *, team, threads, width, rank, sweeps, min_count):
    """Return seconds and digests of the three steps, seconds of a sweep, entries, and bytes and memory of workers."""
    begin = time.perf_counter()
    corpus = Corpus.build(text, min_count=min_count, max_size=20_000, language="en", jobs=threads)
    built = time.perf_counter()
    counts = count(corpus, order=3, width=width, min_count=2, threads=threads)
    counted = time.perf_counter()
    marks = [corpus.digest[:8], digest(counts.entries.indices, counts.entries.values)]
    entries, before, seen = ppmi(counts), states(team), []
    start = time.perf_counter()
    how = {"max_iter": sweeps, "tol": 0, "seed": 0, "threads": threads}
    callback = lambda _: seen.append((time.perf_counter(), states(team)))  # noqa: E731
    U = SymmetricCP(rank, callback=callback, **how).fit(entries).factors_[0]
    times = built - begin, counted - built, time.perf_counter() - start
    sweep = np.median(np.diff([when for when, _ in seen])) if len(seen) > 1 else 0.0
    return times, [*marks, digest(U)], sweep, entries, facts(before, seen, entries, U.nbytes)


def states(team):
    return team.client.run(state) if team else {}


def state(dask_worker):
    import psutil

    lines = Path("/proc/self/status").read_text().splitlines()
    peak = next(int(line.split()[1]) << 10 for line in lines if line.startswith("VmHWM"))
    return dask_worker.transfer_outgoing_bytes_total, psutil.Process().memory_info().rss, peak


def facts(before, sweeps, entries, size):
    if not before or len(sweeps) < 2:
        return "-", "-"
    first, last = sweeps[0][1], sweeps[-1][1]
    sent = sum(last[name][0] - first[name][0] for name in last) / (len(sweeps) - 1) / size
    held = max((last[name][1] - before[name][1], last[name][2] - before[name][1]) for name in last)
    parts = sum(a.nbytes for a in (entries.indices, entries.values, entries.weights)) / len(last)
    return f"{sent:.1f}", f"{held[0] >> 20}, at most {held[1] >> 20}; {(parts + 3 * size) / 2**20:.0f}"


@contextlib.contextmanager
def cluster(workers, threads):
    if not workers:
        yield None
        return
    how = {"n_workers": workers, "threads_per_worker": threads, "dashboard_address": "127.0.0.1:0"}
    with (
        dask.config.set(LOCAL_SETTINGS),
        LocalCluster(**how) as local,
        Client(local) as client,
        working_on(client) as team,
    ):
        yield team


def main(
    text: Path,
    *,
    workers: tuple[int, ...] = (1, 2),
    threads: int = 1,
    min_count: int = 20,
    width: int = 5,
    rank: int = 100,
    sweeps: int = 10,
) -> None:
    small = Path(tempfile.mkdtemp()) / "small.txt"
    small.write_bytes(text.read_bytes()[: 8 << 20])
    heading(
        "executor",
        "corpus, s",
        "count, s",
        "train, s",
        "a sweep, s",
        "copies sent",
        "memory; parts, 3 copies",
        "digests",
    )
    for number in (0, *workers):
        with cluster(number, threads) as team:
            how = {"width": width, "threads": threads, "team": team}
            steps(small, **how, rank=4, sweeps=1, min_count=20)
            times, marks, sweep, entries, more = steps(text, **how, rank=rank, sweeps=sweeps, min_count=min_count)
        name = f"{number} workers" if number else "local"
        row(name, *(f"{s:.1f}" for s in times), f"{sweep:.2f}", *more, " ".join(marks))
    print(f"\n{len(entries):,} entries of {entries.shape[0]:,} words")
