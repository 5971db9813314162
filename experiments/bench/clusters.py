"""What a cluster costs and gives: a text encoded, counted and learned from, here and by workers, with the same bits.

    OPENBLAS_NUM_THREADS=1 python -m experiments.bench.clusters TEXT [--workers 1 2] [--threads 1] [--rank 100]
    [--sweeps 10]

Seconds by the clock, so many threads here and for each worker; the cluster is there before the clock starts, and has
once done each step on a small text. Of an evaluation: what workers have sent, in copies of the factors, and the memory
of the largest worker, more than before it held parts, in MiB beside that of its parts.
"""

import argparse
import contextlib
import hashlib
import tempfile
import time
from pathlib import Path

import dask
import numpy as np
from distributed import Client, LocalCluster

from polyadic import Corpus, SymmetricCP, count
from polyadic.core.executor.dask import LOCAL_SETTINGS, working_on
from polyadic.text.weighting import ppmi


def digest(*arrays):
    whole = hashlib.sha256()
    for array in arrays:
        whole.update(np.ascontiguousarray(array))
    return whole.hexdigest()[:8]


def steps(text, given, team=None, **smaller):
    """Give seconds and digests of the three steps, and what an evaluation takes."""
    how = {**vars(given), **smaller}
    times, marks, begin = [], [], time.perf_counter()

    def done(mark):
        nonlocal begin
        times.append(time.perf_counter() - begin)
        marks.append(mark)
        begin = time.perf_counter()

    corpus = Corpus.build(text, min_count=how["min_count"], max_size=20_000, language="en", jobs=given.threads)
    done(corpus.digest[:8])
    counts = count(corpus, order=3, width=given.width, min_count=2, threads=given.threads)
    done(digest(counts.entries.indices, counts.entries.values))
    entries = ppmi(counts)
    before = told(team)
    sweeps, begin = [], time.perf_counter()

    def callback(_):
        sweeps.append((time.perf_counter(), told(team)))

    how = {"max_iter": how["sweeps"], "tol": 0, "seed": 0, "threads": given.threads}
    model = SymmetricCP(smaller.get("rank", given.rank), callback=callback, **how).fit(entries)
    done(digest(model.factors_[0]))
    sweep = np.median(np.diff([when for when, _ in sweeps])) if len(sweeps) > 1 else 0.0
    return times, marks, sweep, entries, facts(before, sweeps, entries, model.factors_[0].nbytes)


def told(team):
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


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("text")
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--min-count", type=int, default=20)
    parser.add_argument("--width", type=int, default=5)
    parser.add_argument("--rank", type=int, default=100)
    parser.add_argument("--sweeps", type=int, default=10)
    given = parser.parse_args()
    small = Path(tempfile.mkdtemp()) / "small.txt"
    small.write_bytes(Path(given.text).read_bytes()[: 8 << 20])
    print("| who | corpus, s | count, s | train, s | a sweep, s | copies sent | memory; parts, 3 copies | digests |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for workers in (0, *given.workers):
        with cluster(workers, given.threads) as team:
            steps(small, given, rank=4, sweeps=1, min_count=20)
            times, marks, sweep, entries, more = steps(given.text, given, team)
        seconds = " | ".join(f"{s:.1f}" for s in times)
        who = f"{workers} workers" if workers else "here"
        print(f"| {who} | {seconds} | {sweep:.2f} | {' | '.join(more)} | {' '.join(marks)} |", flush=True)
    print(f"\n{len(entries):,} entries of {entries.shape[0]:,} words")


if __name__ == "__main__":
    main()
