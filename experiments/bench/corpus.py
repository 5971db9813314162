"""Time and peak memory (with worker processes) from a text file to an encoded corpus."""

import subprocess
import time
from pathlib import Path
from typing import Annotated

from experiments.bench.common import command, timed
from experiments.experiment import Option
from polyadic.text.corpus import Corpus


def build(source: str, jobs: int) -> dict[str, object]:
    seconds, _, corpus = timed(lambda: Corpus.build(source, jobs=jobs or None))
    return {"seconds": seconds, "tokens": len(corpus), "corpus": repr(corpus)}


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


def main(source: str, *, jobs: Annotated[int, Option("Worker processes; 0: all cores.")] = 0) -> None:
    start, highest = time.perf_counter(), 0.0
    with subprocess.Popen(command(build, source, jobs), stdout=subprocess.PIPE, text=True) as process:
        while process.poll() is None:
            highest = max(highest, memory(process.pid))
            time.sleep(0.1)
        output = process.stdout.read() if process.stdout else ""
    wall = time.perf_counter() - start
    print(output.strip())
    print(f"wall time with start-up {wall:.1f} s, peak memory {highest:.0f} MB")
