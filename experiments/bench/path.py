"""Wall time and peak memory of each step from a text file to vectors, each step a process of its own.

python -m experiments.bench.path TEXT --out FOLDER [--rank 300] [--min-count 100] ...
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from pathlib import Path


def timed(label: str, *command: str) -> None:
    started = time.perf_counter()
    process = os.spawnv(os.P_NOWAIT, sys.executable, [sys.executable, "-m", "polyadic", *command])
    _, status, usage = os.wait4(process, 0)
    if os.waitstatus_to_exitcode(status):
        raise SystemExit(f"{label} failed")
    wall = time.perf_counter() - started
    print(
        f"{label:10s} {wall:8.1f} s wall  {usage.ru_utime + usage.ru_stime:8.1f} s processor  "
        f"{usage.ru_maxrss / 1024:8.0f} MB peak (largest process)",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("text")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--rank", default="300")
    parser.add_argument("--min-count", default="100")
    parser.add_argument("--stop-words", default="english")
    parser.add_argument("--width", default="10")
    parser.add_argument("--tuple-min-count", default="2")
    parser.add_argument("train", nargs="*", help="further options of `polyadic train`, after --")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    corpus, counts, vectors = (str(options.out / name) for name in ("corpus", "counts", "vectors"))
    read = ["--min-count", options.min_count, "--stop-words", options.stop_words]
    timed("corpus", "corpus", options.text, "--out", corpus, "--force", *read)
    tuples = ["--order", "3", "--width", options.width, "--min-count", options.tuple_min_count]
    timed("count", "count", corpus, "--out", counts, "--force", *tuples)
    timed("train", "train", counts, "--out", vectors, "--force", "--rank", options.rank, *options.train)
    print(json.dumps(vars(options), default=str))


if __name__ == "__main__":
    main()
