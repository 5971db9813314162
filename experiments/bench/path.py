"""Wall time and peak memory of each step from a text file to vectors, each step in a process of its own."""

import os
import sys
import time
from pathlib import Path
from typing import Annotated

from experiments.experiment import Argument


def step(verb: str, *words: object) -> None:
    started = time.perf_counter()
    command = [sys.executable, "-m", "polyadic", verb, *map(str, words)]
    process = os.spawnv(os.P_NOWAIT, sys.executable, command)
    _, status, usage = os.wait4(process, 0)
    if os.waitstatus_to_exitcode(status):
        raise SystemExit(f"{verb} failed")
    wall = time.perf_counter() - started
    print(f"{verb:10s} {wall:8.1f} s wall  {usage.ru_utime + usage.ru_stime:8.1f} s processor  "
          f"{usage.ru_maxrss / 1024:8.0f} MB peak (largest process)", flush=True)  # fmt: skip


def main(
    text: str,
    train: Annotated[tuple[str, ...], Argument("Further options of `polyadic train`, after --.")] = (),
    *,
    out: Path,
    rank: int = 300,
    min_count: int = 100,
    stop_words: str = "english",
    width: int = 10,
    tuple_min_count: int = 2,
) -> None:
    out.mkdir(parents=True, exist_ok=True)
    corpus, counts, vectors = (out / name for name in ("corpus", "counts", "vectors"))
    step("corpus", text, "--out", corpus, "--force", "--min-count", min_count, "--stop-words", stop_words)
    tuples = ["--order", 3, "--width", width, "--min-count", tuple_min_count]
    step("count", corpus, "--out", counts, "--force", *tuples)
    step("train", counts, "--out", vectors, "--force", "--rank", rank, *train)
