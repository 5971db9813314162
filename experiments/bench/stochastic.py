"""The online solver beside the exact quasi-Newton: nanoseconds per entry, or with --race the objective against seconds.

COUNTS is made by `polyadic count`. Epochs are timed with one thread; a positive is a listed entry, and the evaluation
of the objective after an epoch is shown separately. With --race both solvers descend on the same objective from the
same start, with all threads, and the objective relative to the start is printed.
"""

import statistics
import time
from functools import partial
from pathlib import Path
from typing import Annotated

import numpy as np

from experiments.bench.common import associations, timed
from experiments.experiment import Option
from polyadic import CP, L2, NonNegative, Objective, Squared, Term
from polyadic.core.losses import Logistic
from polyadic.core.resources import cores
from polyadic.core.solvers.adaptive import Adagrad, Adam
from polyadic.core.solvers.quasi_newton import quasi_newton
from polyadic.core.solvers.stochastic import Zeros, _Descent, stochastic
from polyadic.words.orders import best_scale, positive_start, zero_unobserved

MARKS = (2, 5, 10, 20, 30, 60, 120, 240, 480)


def start_of(term: Term, rank: int):
    u = positive_start(term.entries.shape[0], rank, np.random.default_rng(0))
    return [best_scale([term], zero_unobserved(np.maximum(u, 0), [term.entries]))]


def of_epochs(entries, rank: int, number: int, batch: int) -> None:
    """Time epochs of every kind."""
    slots = (0,) * entries.order
    exact = Term(entries, CP(), Squared(), slots, zero_weight=0.1)
    start = start_of(exact, rank)
    listed = Term(entries, CP(), Squared(), slots)
    logistic = Term(entries, CP(), Logistic(), slots)
    kinds = {
        "squared, no zeros, Adagrad per row": (listed, Adagrad(whole_rows=True), 0),
        "squared, exact zeros, Adagrad per row": (exact, Adagrad(whole_rows=True), 0),
        "squared, exact zeros, Adam": (exact, Adam(), 0),
        "squared, a zero each, Adagrad per row": (listed, Adagrad(whole_rows=True), 1),
        "squared, a zero each beside, Adagrad per row": (listed, Adagrad(whole_rows=True), 1),
        "logistic, a zero each beside, Adagrad per row": (logistic, Adagrad(whole_rows=True), 1),
    }
    for name, (term, rule, zeros) in kinds.items():
        objective = Objective([term], [L2()], threads=1)
        drawn = {0: Zeros(term, 1.0, beside="beside" in name)} if zeros else {}
        descent = _Descent(
            objective, start, rule, batch=batch, zeros=zeros, zeros_of=drawn, rng=np.random.default_rng(0)
        )
        state = rule.start(descent.T)
        took = [timed(lambda: descent.epoch(state, 1e-3)).seconds for _ in range(number)]  # noqa: B023 # called at once
        measure = timed(descent.value).seconds
        n = len(entries)
        print(
            f"rank {rank:4d}  {name:42s} {statistics.median(took) / n * 1e9:7.1f} ns per positive"
            f"  {measure / n * 1e9:6.1f} to measure",
            flush=True,
        )


def raced(entries, rank: int, seconds: float) -> None:
    """Descend side by side on one objective."""
    slots = (0,) * entries.order
    term = Term(entries, CP(), Squared(), slots, zero_weight=0.1)
    objective, start = Objective([term], [NonNegative()], threads=cores()), start_of(term, rank)
    contenders = {"quasi-Newton": partial(quasi_newton, objective, start)}
    for rule in (Adam(0.05), Adam(0.1), Adagrad(0.5, whole_rows=True)):
        contenders[str(rule)] = partial(stochastic, objective, start, rule=rule, seed=0)
    marks = [mark for mark in MARKS if mark <= seconds]
    print(f"rank {rank}: objective over that of the start, after so many seconds (sweeps)")
    print("| solver | " + " | ".join(f"{mark} s" for mark in marks) + " |")
    for name, descend in contenders.items():
        trace, begin = [], time.perf_counter()
        for sweep in descend():
            trace.append((time.perf_counter() - begin, sweep.objective))
            if trace[-1][0] > seconds:
                break
        cells = []
        for mark in marks:
            before = [value for at, value in trace if at <= mark]
            cells.append(f"{min(before) / trace[0][1]:.4f} ({len(before) - 1})" if before else "-")
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


def main(
    counts: Path,
    *,
    ranks: tuple[int, ...] = (100,),
    epochs: int = 3,
    batch: int = 65_536,
    race: Annotated[float | None, Option("Compare with quasi-Newton for this many seconds instead.")] = None,
) -> None:
    entries = associations(counts)
    print(f"{len(entries):,} entries of order {entries.order}, {entries.shape[0]:,} words, float32")
    for rank in ranks:
        if race:
            raced(entries, rank, race)
        else:
            of_epochs(entries, rank, epochs, batch)
