"""Timing, memory and tables that the benchmarks share."""

from __future__ import annotations

import importlib.util
import json
import resource
import subprocess
import sys
import time
from statistics import median
from typing import TYPE_CHECKING, Any, NamedTuple

from polyadic.text.counts import Counts
from polyadic.text.weighting import ppmi

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

CALL = (
    "import json, sys; from importlib import import_module; module, name, arguments = json.loads(sys.argv[1]);"
    " print(json.dumps(getattr(import_module(module), name)(*arguments)))"
)


class Timing(NamedTuple):
    """Median seconds by the clock and of the processor, and the last result."""

    seconds: float
    processor: float
    result: Any


def timed(work: Callable[[], Any]) -> Timing:
    """Run some work once."""
    clock, processor = time.perf_counter(), time.process_time()
    result = work()
    return Timing(time.perf_counter() - clock, time.process_time() - processor, result)


def alternate(contenders: Mapping[str, Callable[[], Any]], rounds: int) -> dict[str, Timing]:
    """Run the contenders in turn, several rounds, and return the median of each."""
    runs = [{name: timed(work) for name, work in contenders.items()} for _ in range(rounds)]
    return {
        name: Timing(
            median(run[name].seconds for run in runs),
            median(run[name].processor for run in runs),
            runs[-1][name].result,
        )
        for name in (contenders if runs else ())
    }


def row(*cells: Any) -> None:
    """Print a row of a Markdown table."""
    print(f"| {' | '.join(map(str, cells))} |", flush=True)


def heading(*cells: str) -> None:
    """Print the head of a Markdown table."""
    row(*cells)
    row(*["---"] * len(cells))


def installed(name: str) -> bool:
    """Return whether a package is installed, and print it if not."""
    found = importlib.util.find_spec(name) is not None
    if not found:
        print(f"{name} is not installed")
    return found


def peak() -> float:
    """Return the peak memory of this process in MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def command(function: Callable[..., Any], *arguments: Any) -> list[str]:
    """Return the command that calls a function of a benchmark in a process of its own and prints JSON."""
    return [sys.executable, "-c", CALL, json.dumps([function.__module__, function.__name__, arguments], default=str)]


def own_process(function: Callable[..., Any], *arguments: Any, prefix: Sequence[str] = (), **how: Any) -> Any:
    """Return what a function of a benchmark returns in a process of its own."""
    done = subprocess.run([*prefix, *command(function, *arguments)], check=True, stdout=subprocess.PIPE, **how)
    return json.loads(done.stdout)


def associations(counts: Any) -> Any:
    """Return the positive pointwise mutual information of a folder of counts."""
    return ppmi(Counts.open(counts))
