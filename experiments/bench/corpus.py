"""Time and peak memory (with worker processes) from a text file to an encoded corpus.

python -m experiments.bench.corpus shared/data/corpora/enwiki-2014-part1.txt.xz --jobs 2
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from pathlib import Path

BUILD = """
import json, sys, time
from polyadic.text.corpus import Corpus
start = time.perf_counter()
corpus = Corpus.build(sys.argv[1], jobs=int(sys.argv[2]) or None)
print(json.dumps({"seconds": time.perf_counter() - start, "tokens": len(corpus), "corpus": repr(corpus)}))
"""


def family(root: int) -> list[int]:
    """Return ``root`` and all processes below it."""
    parents = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            pid, rest = int(stat.parent.name), stat.read_text().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        parents[pid] = int(rest[1])
    found = [root]
    for pid in found:
        found += [child for child, parent in parents.items() if parent == pid]
    return found


def memory(root: int) -> float:
    """Return the MB that a family of processes holds; pages they share count once."""
    total = 0
    for pid in family(root):
        try:
            lines = Path(f"/proc/{pid}/smaps_rollup").read_text().split("\n")
        except OSError:
            continue
        total += sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
    return total / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source")
    parser.add_argument("--jobs", type=int, default=0, help="0: all cores")
    options = parser.parse_args()
    start = time.perf_counter()
    command = [sys.executable, "-c", BUILD, options.source, str(options.jobs)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as build:
        peak = 0.0
        while build.poll() is None:
            peak = max(peak, memory(build.pid))
            time.sleep(0.1)
        output = build.stdout.read() if build.stdout else ""
    wall = time.perf_counter() - start
    print(output.strip())
    print(f"wall time with start-up {wall:.1f} s, peak memory {peak:.0f} MB")


if __name__ == "__main__":
    main()
