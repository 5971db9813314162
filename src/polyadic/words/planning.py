"""Estimate the time, memory and network traffic of encoding, counting and training on a cluster."""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import Any, NamedTuple

from polyadic.core.errors import InputError, check_int, check_number
from polyadic.core.files import META, read_meta
from polyadic.core.objective import pieces_of, work_of
from polyadic.core.resources import MIN_MEMORY
from polyadic.words.orders import COPIES, SWEEPS

ENCODED = 4.3e6
"""Bytes of plain text that a core encodes per second; these rates were measured on 60 and 411 MB of Wikipedia with a
core of an AMD EPYC (docs/performance/clusters.md)."""
COUNTED = {2: 50e6, 3: 65e6, 4: 30e6, 5: 30e6}  # tuples that a core counts per second, by order
DESCENDED = 1.8e-10
"""Seconds per column and entry of a gradient on one core, with entries counted by
:func:`~polyadic.core.objective.work_of`."""
LED, MERGED, INDEXED, STEPPED = 31e6, 53e6, 40e-9, 15e-9
"""Serial work: bytes of text per second that this process reads, or merges from the workers; seconds to index a word;
seconds of the solver's step per element of the factors."""
NETWORK = 1000.0  # default network speed in megabits per second
WORD = 6.0  # bytes of text per token of the corpus


class StepCost(NamedTuple):
    """Estimated cost of a processing step: time, peak memory and network traffic."""

    step: str
    minutes: float
    sending_minutes: float
    worker_mib: int
    here_mib: int
    sent_mib: int


def planned(
    source: str | os.PathLike[str],
    *,
    workers: int = 1,
    mbit: float = NETWORK,
    order: int = 3,
    window: Any = "span",
    width: int = 10,
    rank: int = 300,
    max_iter: int = SWEEPS,
) -> list[StepCost]:
    """Estimate the cost of the next step for text, a corpus (``order``, ``window``, ``width``) or counts (the rest).

    ``mbit`` is the speed of the network of a machine in each direction.
    """
    check_int("workers", workers, low=1)
    speed = check_number("mbit", mbit, low=0, above=True) * 1e6 / 8
    kind = read_meta(source).get("kind") if (Path(source) / META).is_file() else "text"
    if kind == "corpus":
        return [_counting(source, workers, speed, order=order, window=window, width=width)]
    if kind == "counts":
        check_int("rank", rank, low=1)
        return [_learning(source, workers, speed, rank, check_int("max_iter", max_iter, low=1))]
    if kind != "text":
        raise InputError(f"costs can be estimated only for text, a corpus or counts; {source} contains {kind!r:.60}")
    return [_encoding(source, workers, speed)]


def serial_copies(workers: int) -> int:
    """Return the number of transfers in sequence for one evaluation: factors and gradients go along binary trees.

    >>> [serial_copies(workers) for workers in (1, 2, 8, 64)]
    [2, 5, 11, 20]
    """
    return 2 + 2 * (workers.bit_length() - 1) + (workers - 1).bit_length()


def _encoding(source: str | os.PathLike[str], workers: int, speed: float) -> StepCost:
    from polyadic.text.pieces import Reading
    from polyadic.text.readers import READ, Files, find_files, unpacked_size

    sizes = {path: unpacked_size(path) for path in find_files(source) or () if path != "-"}
    text, large = sum(sizes.values()), [path for path, size in sizes.items() if size > READ or len(sizes) == 1]
    led = sum(sizes[path] for path in large if not Files.of([path], Reading()).ranges())
    sent = text + 4 * text / WORD
    seconds = max(text / ENCODED / workers, led / LED + (text - led) / MERGED)
    return _step("corpus", max(seconds, sent / speed), sent / speed, MIN_MEMORY, MIN_MEMORY, sent)


def _counting(source: str | os.PathLike[str], workers: int, speed: float, **window: Any) -> StepCost:
    from polyadic.text.corpus import Corpus
    from polyadic.text.counts import plan

    corpus = Corpus.open(source)
    work = plan(corpus, threads=1, **window)
    tokens = len(corpus.ids) * corpus.ids.itemsize + corpus.sentences.nbytes
    before = serial_copies(workers) / 2 * tokens / speed + len(corpus.ids) * INDEXED
    counting, coming = work.tuples / COUNTED[window["order"]] / workers, work.disk / speed
    sent = workers * tokens + work.disk
    memory = MIN_MEMORY + work.memory
    return _step("count", before + max(counting, coming), sent / speed, memory + tokens, memory, sent)


def _learning(source: str | os.PathLike[str], workers: int, speed: float, rank: int, max_iter: int) -> StepCost:
    from polyadic.text.counts import Counts

    entries = Counts.open(source).entries
    n, factors = len(entries), 4.0 * entries.shape[0] * rank
    parts = pieces_of(n, entries.shape[0])
    busy = min(workers, parts)  # a part is indivisible
    stored = n * (entries.order * entries.indices.itemsize + 8)
    seconds = max_iter * (work_of(entries.indices) * rank * DESCENDED / busy + factors / 4 * STEPPED)
    sending = (stored + max_iter * serial_copies(busy) * factors) / speed
    held = stored / busy + factors * (4 + math.ceil(parts / busy).bit_length())
    sent = stored + 2 * factors * busy * max_iter
    return _step("train", seconds + sending, sending, MIN_MEMORY + held, MIN_MEMORY + stored + COPIES * factors, sent)


def _step(name: str, seconds: float, sending: float, worker: float, here: float, sent: float) -> StepCost:
    minutes, in_it = (max(round(time / 60, 1), 0.1) for time in (seconds, sending))
    worker_mib, here_mib, sent_mib = (math.ceil(size / 2**20) for size in (worker, here, sent))
    return StepCost(name, minutes, in_it, worker_mib, here_mib, sent_mib)
