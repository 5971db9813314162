r"""Exact n-way co-occurrence counts of orders 2 to 5.

A tuple of positions :math:`p_1 < \dots < p_n` of one sentence counts once for the unordered tuple of its words if it
fits the window of width :math:`w`:

* ``span``: :math:`p_n - p_1 \le w`: the tuple fits into :math:`w + 1` consecutive words;
* ``centred``: some :math:`p_j` has :math:`p_j - p_1 \le w` and :math:`p_n - p_j \le w`: all words lie within :math:`w`
  of one of them (Bailey and Aeron, 2017, as described);
* ``chunk``: sentences are cut into disjoint chunks of :math:`2w + 1` words, a chunk is the set of its words, and each
  :math:`n`-subset of a set counts once; chunks of fewer than :math:`n` distinct words are dropped (as they did).

Positions are numbered in one of two ways, and :math:`w` is measured accordingly:

* ``kept``: stop words and words outside the vocabulary are removed, and the remaining words become adjacent;
* ``running``: every word of the text has a position, so removed words take up places in a window but are in no tuple. A
  joined word pair such as ``new_york`` is at the position of its first word, and that of its second is empty.

Work is divided by the rarest word of a tuple: :func:`polyadic.text.kernels.count_tuples` is a pure function of a range
of rarest words and the corpus. Workers write their parts to disk; the parts are joined and memory-mapped, so memory
use stays within a budget.
"""

from __future__ import annotations

import math
import os
import weakref
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import numpy as np

from polyadic.core import resources
from polyadic.core.arrays import ArrayWriter, open_array, save_array, write_header
from polyadic.core.entries import Entries, blocks
from polyadic.core.errors import InputError, check_choice, check_int
from polyadic.core.executor import MAX_WAITING, Shared, get_executor
from polyadic.core.executor.spill import Spilled, SpillFile
from polyadic.core.files import checked_in_background, folder_or_temporary, read_meta, whole_folder, write_meta
from polyadic.core.progress import bar
from polyadic.text import kernels
from polyadic.text.multiwords import find_pairs
from polyadic.text.vocabulary import Vocabulary

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from polyadic.text.corpus import Corpus

Window = Literal["span", "centred", "chunk"]
Distance = Literal["kept", "running"]
VERSION = 1
MEMORY = 2 << 30  # default memory budget in bytes
PART = 1e6
"""Number of tuples per task. The buffers are then small enough to be reused; four times as many take a third longer."""
MAX_PARTS = 2000  # maximum number of tasks
N_SAMPLES = 16  # number of parts of the corpus for which the tuples are estimated
MAX_WIDTH = 1000  # largest window


@dataclass(eq=False, repr=False)
class Counts:
    """Co-occurrence counts of word tuples, stored as a symmetric sparse tensor."""

    entries: Entries
    events: int  # number of tuples seen, including those not kept
    marginals: NDArray[np.int64]  # tuples that contain each word, with multiplicity; they sum to ``order * events``
    vocabulary: Vocabulary
    settings: dict[str, Any]
    chunks: Chunks | None = None  # sums for the chunk normalisers of :mod:`polyadic.text.weighting`

    @property
    def sizes(self) -> dict[str, int]:
        """Order of the counts, number of words, number of distinct tuples, and total number of tuples."""
        words, entries = len(self.vocabulary), len(self.entries)
        return {"order": self.entries.order, "words": words, "entries": entries, "events": int(self.events)}

    def __repr__(self) -> str:
        return f"Counts({', '.join(f'{name} {number:,}' for name, number in self.sizes.items())})"

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Save the counts atomically to a folder of ``.npy`` files, ``vocabulary.txt`` and ``meta.json``."""
        with whole_folder(path, kind="counts", overwrite=overwrite) as draft:
            self.entries.write_into(draft)
            self.write_rest(draft)

    def write_rest(self, folder: Path) -> None:
        """Write the marginals, the vocabulary and the metadata to a folder, but not the entries."""
        save_array(folder / "marginals.npy", self.marginals)
        self.vocabulary.save(folder / "vocabulary.txt")
        content = {**self.entries.description(), "events": self.events, "settings": self.settings}
        if self.chunks is not None:
            save_array(folder / "chunk-marginals.npy", self.chunks.marginals)
            content["chunks"] = {"number": self.chunks.number, "words": self.chunks.words}
        write_meta(folder, "counts", VERSION, **content)

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Counts:
        """Open a folder of counts saved by :meth:`save` and memory-map the arrays."""
        folder, meta = Path(path), read_meta(path, "counts", VERSION)
        with checked_in_background(folder):
            entries = Entries.read_from(folder, meta)
            whole = entries.values.dtype.kind in "iu" and entries.values.min(initial=1) >= 1
            if not (entries.symmetric and entries.unobserved == "zero" and whole):
                what = "the counts must be a symmetric sparse tensor of integers of at least 1"
                raise InputError(f"{folder} is damaged: {what}")
            vocabulary = Vocabulary.load(folder / "vocabulary.txt")
            marginals = open_array(folder / "marginals.npy", (np.int64,))
            if not len(vocabulary) == len(marginals) == entries.shape[0]:
                sizes = f"{len(vocabulary)} words and {len(marginals)} marginals"
                raise InputError(f"{folder} is damaged: the shape {entries.shape} does not match {sizes}")
            try:
                events, settings, chunks = int(meta["events"]), {"distance": "kept"} | dict(meta["settings"]), None
                if "chunks" in meta:
                    chunk_marginals = open_array(folder / "chunk-marginals.npy", (np.int64,))
                    chunks = Chunks(int(meta["chunks"]["number"]), int(meta["chunks"]["words"]), chunk_marginals)
            except KeyError as error:
                raise InputError(f"{folder}: meta.json has no key {error}") from None
            except (TypeError, ValueError) as error:
                raise InputError(f"{folder}: meta.json is damaged: {error}") from None
            listed = kernels.tuple_marginals(entries.indices, entries.values, len(marginals))
            if marginals.sum() != entries.order * events or (marginals < listed).any():
                what = "marginals.npy does not match the tuples and the number of events"
                raise InputError(f"{folder} is damaged: {what}")
        return cls(entries, events, marginals, vocabulary, settings, chunks)


class Chunks(NamedTuple):
    """Statistics of the chunks into which the sentences of a corpus are split."""

    number: int
    words: int  # number of distinct words, summed over chunks
    marginals: NDArray[np.int64]  # number of chunks that contain each word


class CountPlan(NamedTuple):
    """Plan for counting co-occurrences: the estimated cost, the tasks, and the indexed corpus."""

    tuples: float  # upper bound of their number
    memory: float  # bytes
    disk: float  # upper bound of the bytes written
    parts: list[tuple[int, int, int]]  # tasks: first and last rarest word and the maximum number of tuples of each
    indexed: Shared  # a WordIndex, shared as ids and sentences, which take a third of the memory
    chunks: Chunks | None
    made_of: dict[str, Any]  # digest of the corpus and settings of the window

    @property
    def sizes(self) -> dict[str, int]:
        """Maximum number of tuples, and the required memory and disk space in MiB, rounded up."""
        memory, disk = math.ceil(self.memory / 2**20), math.ceil(self.disk / 2**20)
        return {"tuples_at_most": round(self.tuples), "memory_mib": memory, "disk_mib_at_most": disk}


def count(
    corpus: Corpus,
    path: str | os.PathLike[str] | None = None,
    *,
    order: int = 3,
    window: Window = "span",
    width: int = 10,
    distance: Distance = "kept",
    min_count: int = 1,
    repeats: bool = False,
    memory: int | None = None,
    threads: int | None = None,
    overwrite: bool = False,
    planned: CountPlan | None = None,
) -> Counts:
    """Count the unordered tuples of words that co-occur in a sentence.

    Parameters
    ----------
    corpus : Corpus
        The encoded text.
    path : path, optional
        Folder for the counts; by default a temporary folder that is deleted with the result.
    order : int
        Number of words in a tuple, 2 to 5.
    window : {"span", "centred", "chunk"}
        Which tuples of positions count; see the module.
    width : int
        Width :math:`w` of the window.
    distance : {"kept", "running"}
        Whether the width is measured in kept words or in running words of the text; see the module.
    min_count : int
        Minimum count of a tuple to be kept. All tuples contribute to ``events`` and ``marginals``.
    repeats : bool
        Whether a tuple may contain a word twice.
    memory : int, optional
        Memory budget in bytes; 2 GiB by default.
    threads : int, optional
        Number of threads; all cores by default. The counts do not depend on it.
    overwrite : bool
        Whether to replace an existing folder of counts.
    planned : CountPlan, optional
        Result of :func:`plan` for the same arguments, to avoid indexing the words again.

    Raises
    ------
    InputError
        If an argument is out of range, the budget is too small, no tuple is kept, or the plan is for other arguments.

    Examples
    --------
    >>> from polyadic import Corpus
    >>> corpus = Corpus.build(["a rose is a rose", "is a rose red"], min_count=1)
    >>> counts = count(corpus, order=3, width=3)
    >>> [corpus.vocabulary.words[i] for i in counts.entries.indices[0]], counts.events
    (['is', 'rose', 'a'], 7)
    """
    threads = resources.thread_count(threads)
    window_of: dict[str, Any] = {"order": order, "window": window, "width": width, "repeats": repeats}
    window_of["distance"] = distance
    settings = {**window_of, "min_count": check_int("min_count", min_count, low=1), "corpus": corpus.digest}
    if planned is None:
        planned = plan(corpus, **window_of, memory=memory, threads=threads)
    elif planned.made_of != {"corpus": corpus.digest, **window_of}:
        what = "planned must be a plan for the same corpus, order, width and other arguments"
        raise InputError(f"{what}; got a different plan", "planned")
    with folder_or_temporary(path) as (target, release):
        with whole_folder(target, kind="counts", overwrite=overwrite) as draft:
            spool = SpillFile(draft / "parts")
            parts, marginals = _counted(planned, order, min_count, spool, threads)
            if not _write_tuples(spool, parts, order, draft):
                what = f"no tuple of {order} words occurs at least {min_count} times"
                how = f"with window {window!r} and width {width}; lower min_count or use a larger window"
                raise InputError(f"{what} {how}", "min_count", "window", "width")
            spool.remove()
            events, size = int(marginals.sum()) // order, len(corpus.vocabulary)
            none = Entries(np.empty((0, order), np.uint16), np.empty(0), (size,) * order, symmetric=True)
            Counts(none, events, marginals, corpus.vocabulary, settings, planned.chunks).write_rest(draft)
        counts = Counts.open(target)
        weakref.finalize(counts, release)
    return counts


def _count_part(
    arguments: dict[str, Any], spool: SpillFile, index: kernels.WordIndex, part: tuple[int, int, int]
) -> tuple[Spilled, NDArray[np.int64]]:
    """Count the word tuples whose rarest word has an id in a given range; return the counts and the marginal counts."""
    first, last, max_tuples = part
    words, counts, marginals = kernels.count_tuples(index, first, last, max_tuples=max_tuples, **arguments)
    return spool.leave([words, counts]), marginals


def plan(
    corpus: Corpus,
    *,
    order: int = 3,
    window: Window = "span",
    width: int = 10,
    distance: Distance = "kept",
    repeats: bool = False,
    memory: int | None = None,
    threads: int | None = None,
) -> CountPlan:
    """Estimate the cost of :func:`count` with these arguments, index the corpus, and split the work into tasks."""
    threads = resources.thread_count(threads)
    check_choice("window", window, get_args(Window))
    order, width = check_int("order", order, low=2, high=5), check_int("width", width, low=1, high=MAX_WIDTH)
    size = len(corpus.vocabulary)
    if max(size - 1, 1).bit_length() * (order - 1) > 64:
        what = f"tuples of order {order} can be counted for at most {2 ** (64 // (order - 1)):,} words; got {size:,}"
        advice = "build the corpus with a higher min_count or a lower max_size"
        raise InputError(f"{what}: {advice}", "max_size", "min_count")
    (ids, sentences), chunks = positioned(corpus, distance), None
    if window == "chunk":
        ids, sentences = kernels.chunk_sets(ids, sentences, 2 * width + 1, order, hole=size)
        chunks = Chunks(len(sentences) - 1, len(ids), np.bincount(ids, minlength=size))
    index = Shared(kernels.index_words, ids, sentences, size, _reach(window, width)[1], int(distance == "running"))
    looking, workers = partial(_work, order, repeats=repeats), get_executor(threads)
    length = kernels.indexed_length(len(ids), len(sentences), _reach(window, width)[1])
    looked = [*workers.imap(looking, blocks(length, -(-length // N_SAMPLES)), shared=index)]
    work, held = sum(some for some, _ in looked), looked[0][1]
    ranges = _cut(work, held, order * ids.itemsize + 4, threads, memory, size=PART * workers.grain)
    made_of = {"corpus": corpus.digest, "order": order, "window": window, "width": width, "repeats": repeats}
    return CountPlan(*ranges, index, chunks, made_of | {"distance": distance})


def positioned(corpus: Corpus, distance: Distance) -> tuple[NDArray[np.integer], NDArray[np.int64]]:
    """Return the word id of each position and the sentence offsets; removed words have the id ``len(vocabulary)``."""
    if check_choice("distance", distance, get_args(Distance)) == "kept":
        return corpus.ids, corpus.sentences
    if "part" in corpus.settings:
        raise InputError(f"{corpus.path} is part of a corpus, without running words; use distance 'kept'", "distance")
    text, vocabulary = corpus.text, corpus.vocabulary
    text.verify()
    hole = len(vocabulary)
    id_of = np.full(len(text.words) + 1, hole, np.promote_types(corpus.ids.dtype, np.min_scalar_type(hole)))
    id_of[:-1] = [vocabulary.index.get(word, hole) for word in text.words]
    ids = id_of[text.word_of][text.forms]  # the last one of words that are not counted, whose number is -1
    if joined := set(corpus.settings.get("multiwords") or ()):
        splits = [(w[:k], w[k + 1 :], w) for w in joined for k in range(len(w)) if w[k] == "_"]
        pairs = [(text.index[a], text.index[b], w) for a, b, w in splits if a in text.index and b in text.index]
        keys = np.array([(a << 32) | b for a, b, _ in pairs], np.uint64)
        counted = np.flatnonzero(text.word_of[text.forms] >= 0)
        lengths = np.diff(np.searchsorted(counted, text.sentences)).astype(np.uint32)
        starts, which = find_pairs(text.word_of[text.forms[counted]].astype(np.uint32), lengths, keys)
        ids[counted[starts]] = np.array([vocabulary.index[w] for *_, w in pairs])[which]
        ids[counted[starts + 1]] = hole
    if not np.array_equal(ids[ids < hole], corpus.ids):
        raise InputError(f"{corpus.path} is damaged: the running words do not match ids.npy")
    return ids, text.sentences


def _reach(window: str, width: int) -> tuple[int, int]:
    """Return the maximum distance between a tuple's central word and the other words, and between any two words."""
    return {"span": (width, width), "centred": (width, 2 * width), "chunk": (2 * width, 2 * width)}[window]


def _work(order: int, index: kernels.WordIndex, where: slice, *, repeats: bool) -> tuple[NDArray[np.float64], int]:
    """Return an upper bound on the number of tuples for each word, and the size of the word index in bytes."""
    held = index.ids.nbytes + index.positions.nbytes + index.starts.nbytes
    return kernels.tuple_work(index, order, where, repeats=repeats), held


def _cut(
    work: NDArray[np.float64], held: int, entry: int, threads: int, memory: int | None, *, size: float
) -> tuple[float, float, float, list[tuple[int, int, int]]]:
    """Split the vocabulary into ranges of words, each with about ``size`` tuples and within the memory budget."""
    largest = float(work.max(initial=0))
    keys = 4 * 8 * largest  # of its largest word, with room to grow, and again for sorting
    budget = MEMORY if memory is None else check_int("memory", memory, low=1)
    share = (budget - held) / (threads + MAX_WAITING)
    if share < keys + entry * largest:
        need = held + (threads + MAX_WAITING) * (keys + entry * largest)
        what = f"counting needs {need / 2**20:,.0f} MiB of memory, but the limit is {budget / 2**20:,.0f} MiB"
        raise InputError(f"{what}; raise the limit, or use a lower order, a smaller width or fewer threads")
    everything = float(work.sum())
    size = min(max(size, everything / MAX_PARTS), (share - keys) / entry)
    bounds = [0]
    total = 0.0
    for c, tuples in enumerate(work):
        if total + tuples > size and c > bounds[-1]:
            bounds.append(c)
            total = 0.0
        total += tuples
    bounds.append(len(work))
    most = held + (threads + MAX_WAITING) * (keys + entry * min(max(size, largest), everything))
    parts = [(first, last, int(work[first:last].sum())) for first, last in pairwise(bounds)]
    return everything, most, everything * entry, parts


def _counted(
    plan: CountPlan, order: int, min_count: int, spool: SpillFile, threads: int
) -> tuple[list[Spilled], NDArray[np.int64]]:
    """Run all counting tasks; return the counts of the tuples and the marginal counts of the words."""
    lefts, marginals = [], np.zeros(plan.indexed.parts[2], np.int64)
    near, _ = _reach(plan.made_of["window"], plan.made_of["width"])
    how = {"order": order, "near": near, "repeats": plan.made_of["repeats"], "min_count": min_count}
    workers = get_executor(threads)
    with bar(f"counting {order}-tuples", total=len(plan.parts)) as advance:
        try:
            for left, more in workers.imap(partial(_count_part, how, spool), plan.parts, shared=plan.indexed):
                lefts.append(spool.take(left))
                marginals += more
                advance()
        finally:
            workers.forget(plan.indexed)
    return lefts, marginals


def _write_tuples(spool: SpillFile, parts: list[Spilled], order: int, draft: Path) -> int:
    """Write the tuples counted by all tasks to the final files, and return the total number of tuples."""
    n = sum(shape[0] for _, (_, shape) in (left.kinds for left in parts))
    with (draft / "indices.npy").open("wb") as file:  # not through a memory map: there a full disk kills the process
        write_header(file, np.dtype(parts[0].kinds[0][0]), (order, n))
        for d in range(order):
            for left in parts:
                file.write(spool.read(left)[0][d].data)
    with ArrayWriter(draft / "values.npy", np.uint32) as values:
        for left in parts:
            values.append(spool.read(left)[1])
    return n
