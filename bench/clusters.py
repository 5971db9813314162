"""What a cluster costs and gives: a text encoded, counted and learned from, here and by workers, with the same bits.

    OPENBLAS_NUM_THREADS=1 python bench/clusters.py TEXT [--workers 1 2] [--rank 100] [--sweeps 10]

Seconds by the clock, one thread here and one core a worker; the cluster is there before the clock starts, and has once
done each step on a small text.
"""

import argparse
import contextlib
import hashlib
import tempfile
import time
from pathlib import Path

import numpy as np

from polyadic import Corpus, SymmetricCP, count
from polyadic.text.weighting import ppmi
from polyadic.workers.dask import working_on


def digest(*arrays):
    whole = hashlib.sha256()
    for array in arrays:
        whole.update(np.ascontiguousarray(array))
    return whole.hexdigest()[:8]


def steps(text, rank, sweeps):
    """Give seconds and digests of the three steps."""
    rows, begin = [], time.perf_counter()

    def done(name, mark):
        nonlocal begin
        rows.append((name, time.perf_counter() - begin, mark))
        begin = time.perf_counter()

    corpus = Corpus.build(text, min_count=20, max_size=20_000, language="en", jobs=1)
    done("corpus", corpus.digest[:8])
    counts = count(corpus, order=3, width=5, min_count=2, threads=1)
    done("count", digest(counts.entries.indices, counts.entries.values))
    entries = ppmi(counts)
    begin = time.perf_counter()
    model = SymmetricCP(rank, max_iter=sweeps, tol=0, seed=0, threads=1).fit(entries)
    done("train", digest(model.factors_[0]))
    return rows, len(entries), entries.shape[0]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("text")
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--rank", type=int, default=100)
    parser.add_argument("--sweeps", type=int, default=10)
    given = parser.parse_args()
    small = Path(tempfile.mkdtemp()) / "small.txt"
    small.write_bytes(Path(given.text).read_bytes()[: 8 << 20])
    print("| who | corpus, s | count, s | train, s | digests |\n| --- | --- | --- | --- | --- |")
    for workers in (0, *given.workers):
        with working_on(workers=workers) if workers else contextlib.nullcontext():
            steps(small, 4, 1)
            rows, entries, words = steps(given.text, given.rank, given.sweeps)
        seconds = " | ".join(f"{s:.1f}" for _, s, _ in rows)
        who = f"{workers} workers" if workers else "here"
        print(f"| {who} | {seconds} | {' '.join(mark for *_, mark in rows)} |", flush=True)
    print(f"\n{entries:,} entries of {words:,} words")


if __name__ == "__main__":
    main()
