"""Train one model, in a process of its own, so that its memory is its own and given back."""

from __future__ import annotations

import importlib.metadata
import sys
import time
import warnings
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from experiments.bailey2017.models import COUNTS
from experiments.experiment import Stage
from polyadic import __version__
from polyadic.core import resources
from polyadic.core.errors import InputError
from polyadic.core.files import plain
from polyadic.core.progress import sweeps
from polyadic.core.stage_cache import digest, whole
from polyadic.text.corpus import Corpus
from polyadic.text.counts import Counts
from polyadic.text.weighting import ppmi

if TYPE_CHECKING:
    from experiments.bailey2017.models import Model, Settings, Variant
    from experiments.experiment import Run
    from polyadic.core.stage_cache import Facts

PACKAGES = ("numpy", "scipy", "numba", "gensim")


class Job(NamedTuple):
    """The task of a training process: paths and settings, no data."""

    model: Model
    arguments: dict[str, Any]
    threads: int | None
    corpus: Path
    counts: dict[str, Path]
    out: Path


def model_stage(run: Run[Settings], variant: Variant, train: Corpus) -> Stage:
    """Train a model on a corpus whose counts are there.

    Without a process of its own its memory is not known. Vectors that are not finished are not kept.
    """
    settings = run.settings
    arguments = variant.row.arguments(rank=variant.rank, seed=settings.seed, quick=settings.quick)
    target = run.folder / "models" / variant.name
    counts = {name: run.folder / "counts" / name for name in variant.row.counts}
    job = Job(variant.row, arguments, settings.threads, train.path, counts, target)
    made_of = {
        "corpus": train.digest,
        "method": variant.row.make.__qualname__,
        "fitted_to": variant.row.fitted_to,
        **{f"counts of {name}": COUNTS[name] for name in variant.row.counts},
        **{f"weights of {name}": weights for name, weights in variant.row.weights.items()},
        **arguments,
    }
    make = partial(_alone if settings.alone else fit, job)
    return Stage(f"models/{variant.name}", made_of, make, target)


def fit(job: Job) -> Facts:
    """Fit a model and save its vectors."""
    corpus = Corpus.open(job.corpus)
    start = time.perf_counter()
    data, entries = _data(job, corpus)
    weighed = time.perf_counter()
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        model = _fitted(job, data)
    seconds = time.perf_counter() - weighed
    vectors = model.embedding(corpus.vocabulary.words, counts=corpus.vocabulary.counts)
    vectors.meta = {"trained": {**plain(job.arguments), "corpus": corpus.digest}}
    vectors.save(job.out, overwrite=True)
    return {
        "seconds": round(seconds, 3),
        "weighing_seconds": round(weighed - start, 3),
        "sweeps": getattr(model, "n_iter_", None),
        "converged": getattr(model, "converged_", None),
        "entries": entries,
        "words": len(vectors),
        "rank": vectors.rank,
        "zeros": round(float(vectors.sparsity), 4),
        "threads": (model.threads or resources.cores()) if hasattr(model, "threads") else None,
        "settings": plain(job.arguments),
        "versions": versions(),
        "warnings": sorted({str(warning.message) for warning in warned}),
        "vectors": digest((job.out / "vectors.safetensors").read_bytes()),
        "peak_mib": None,
        "idle_mib": None,
    }


def versions() -> dict[str, str | None]:
    """Return the versions of the packages used."""
    known: dict[str, str | None] = {"polyadic": __version__}
    for name in PACKAGES:
        try:
            known[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            known[name] = None
    return known


def _data(job: Job, corpus: Corpus) -> tuple[Any, int]:
    """Return the training data of a model and their size: tokens, or entries of all orders."""
    if job.model.fitted_to == "text":
        return corpus, len(corpus)
    counted = {name: Counts.open(path) for name, path in job.counts.items()}
    if job.model.fitted_to == "counts":
        lists = [counts.entries for counts in counted.values()]
    else:
        lists = [ppmi(counts, **job.model.weights.get(name, {})) for name, counts in counted.items()]
    return lists if len(lists) > 1 else lists[0], sum(map(len, lists))


def _fitted(job: Job, data: Any) -> Any:
    model = job.model.make(**job.arguments)
    if hasattr(model, "threads") and job.threads is not None:
        model.threads = job.threads
    with sweeps(model, "fitting"):
        model.fit(data)
    return whole(model)


def _alone(job: Job) -> Facts:
    """Fit in a new process, which ends with it."""
    from loky import ProcessPoolExecutor
    from loky.process_executor import TerminatedWorkerError

    pool = ProcessPoolExecutor(max_workers=1)
    try:
        with resources.deferred_interrupts():
            future = pool.submit(_measured, job)
        return dict(future.result())
    except (MemoryError, TerminatedWorkerError):
        raise InputError(
            "its process was ended, most likely for want of memory; lower the rank or the size of the vocabulary"
        ) from None
    finally:
        pool.shutdown(wait=True, kill_workers=True)


def _measured(job: Job) -> Facts:
    idle = _peak_memory()
    return {**fit(job), "idle_mib": idle, "peak_mib": _peak_memory()}


def _peak_memory() -> int | None:
    """Return the peak memory of this process in MiB, or None if unknown."""
    status = Path("/proc/self/status")
    if status.exists():  # getrusage starts from the memory of the parent process
        peaks = (line for line in status.read_text(encoding="ascii").splitlines() if line.startswith("VmHWM:"))
        return next((int(line.split()[1]) // 1024 for line in peaks), None)
    try:
        import resource
    except ImportError:  # Windows
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak >> 20 if sys.platform == "darwin" else peak // 1024
