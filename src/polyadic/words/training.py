"""Train word vectors, from text to a corpus, to counts of tuples, to associations, to vectors.

The methods and their settings are in :mod:`polyadic.words.methods`.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from polyadic.core.errors import InputError, check_choice
from polyadic.core.files import made_folder, plain
from polyadic.core.progress import StepTimer, no_steps, sweeps
from polyadic.core.serialization import load
from polyadic.core.settings import check_settings
from polyadic.core.stage_cache import StageCache
from polyadic.core.version import __version__
from polyadic.embedding import Embedding, read_vectors
from polyadic.text.contexts import contexts
from polyadic.text.corpus import Corpus
from polyadic.text.counts import Counts, count
from polyadic.text.counts import plan as estimate
from polyadic.text.pieces import Reading
from polyadic.text.readers import find_files, stamp, survey
from polyadic.text.stopwords import stop_words
from polyadic.text.tokens import Tokenizer, tokenizer_of
from polyadic.text.weighting import ppmi
from polyadic.words.checkpoint import Checkpoint
from polyadic.words.methods import (
    BY_ORDER,
    COUNTED,
    METHODS,
    READING,
    RENAMED,
    TEXT,
    WEIGHED,
    Options,
    Training,
    WordMethod,
)

if TYPE_CHECKING:
    from polyadic.core.solvers.run import Result
    from polyadic.text.vocabulary import Vocabulary

REACHED = "reached"  # name of the checkpoint of an interrupted fit in the ``keep`` folder


def train(
    source: Any,
    *,
    keep: str | Path | None = None,
    overwrite: bool = False,
    steps: StepTimer | None = None,
    **settings: Any,
) -> Embedding:
    """Train word vectors on text: tokenize the text, count word tuples, weight the counts, and factorize.

    ``meta["trained"]`` of the vectors contains all settings, and whether the fit was interrupted. InputError is raised
    if a setting does not exist, has no effect on this source or method, or is out of range, or the text cannot be read.

    Parameters
    ----------
    source : path, glob, "-", iterable of texts, Corpus or Counts
        Text, or a corpus or counts that exist already; see :meth:`~polyadic.text.corpus.Corpus.build`.
    keep : path, optional
        Folder for the corpus, the counts and, every minute, a checkpoint of the fit. Results there that were made from
        the same input and settings are reused, and an interrupted fit is resumed.
    overwrite : bool
        Replace results in ``keep`` that were made from other input or settings.
    steps : callable, optional
        Progress callback that receives the duration and the sizes of each step, and an estimate before the fit.
    **settings
        Settings of :class:`~polyadic.words.methods.Training` and of the model of the method, such as ``method="jcp",
        rank=100, n_nonnegative=50``. By default the rank is chosen by :func:`supported_rank`.

    Examples
    --------
    >>> texts = ["red rose garden", "red tulip garden", "fast car road", "fast bus road", "blue rose garden"] * 3
    >>> vectors = train(texts, method="cp-sn", min_count=1, rank=2, zero_weight=1.0)
    >>> sorted(word for word, _ in vectors.neighbours("car", top=2))
    ['fast', 'road']
    """
    folder = isinstance(source, str | Path) and (Path(source) / "meta.json").is_file()  # of a corpus or of counts
    opened = load(source, (Corpus, Counts)) if folder else source
    plan = TrainingPlan.of(opened, settings, keep=keep)
    model = METHODS[plan.method].make(plan.options)
    model.check()
    tell = steps or no_steps
    store = None if keep is None else StageCache(Path(keep), steps=tell, force=overwrite)
    with contextlib.nullcontext() if keep is None else made_folder(Path(keep)):
        data, vocabulary, made_of = _data(opened, plan, Builder(store, tell))
    if plan.start is not None:
        if missing := [word for word in vocabulary.words if word not in plan.start.index]:
            words = f"{len(missing):,} of {len(vocabulary):,} words of the vocabulary, such as {missing[0]!r}"
            raise InputError(f"start has no vectors for {words}; train both models on the same corpus", "start")
        model.start = plan.start.lookup(vocabulary.words)
    elif "rank" not in plan.options:
        rank, n_nonnegative = supported_rank(int(vocabulary.counts.sum()), len(vocabulary), max_rank=model.rank)
        if getattr(model, "n_nonnegative", 0) is None:
            model.n_nonnegative = n_nonnegative
        model.rank = max(rank, 2 * (getattr(model, "n_nonnegative", None) or 0))
    if hasattr(model, "words"):
        model.words = vocabulary.words
    if steps:  # one evaluation estimates how long the fit takes
        with tell("model") as facts:
            facts.update({"method": plan.method} | (model.plan(data) if hasattr(model, "plan") else {}))
    with tell("factors") as facts:
        with _going_on(model, data, plan, keep, overwrite=overwrite) as reached, sweeps(model, "factorizing"):
            model.fit(data)
        vectors = _made(model, vocabulary, facts)
        if reached is not None:
            facts["gone_on_from"] = reached.n_iter
    several = isinstance(source, list) and find_files(source) is not None
    names = source if several else [source if isinstance(source, str | Path) else type(source).__name__]
    about = {"polyadic": __version__, "source": " ".join(map(str, names)), **made_of}
    about["kept"] = None if keep is None else str(keep)
    about |= plan.described(model) | {"interrupted": getattr(model, "interrupted_", False)}
    vectors.meta = {"trained": {name: value for name, value in about.items() if value is not None}}
    return vectors


@dataclass(frozen=True)
class TrainingPlan:
    """Validated training settings: the method, the orders of tuples, and all options."""

    method: str
    orders: tuple[int, ...]
    training: Training
    by_order: dict[str, tuple[Any, ...]]
    options: Options
    start: Embedding | None

    @classmethod
    def of(cls, source: Any, settings: Options, *, keep: Any) -> TrainingPlan:
        """Validate the settings and return the training plan."""
        training = Training(**{name: settings[name] for name in settings if name in Training.__dataclass_fields__})
        check_settings(training)
        method = check_choice("method", training.method or ("cp-sn" if isinstance(source, Counts) else "jcp"), METHODS)
        chosen = METHODS[method]
        _refuse_idle(source, method, settings, training, keep=keep)
        orders = _orders(source, method, training.order)
        by_order = {name: _each(name, getattr(training, name), chosen, orders) for name in BY_ORDER}
        if settings.get("order_weights") is not None:
            _each("order_weights", settings["order_weights"], chosen, orders)
        mine = {name for name in chosen.options if name not in Training.__dataclass_fields__}
        mine |= {"threads"} & chosen.options
        mine |= {"shift", "smoothing"} if chosen.fitted_to == "contexts" else set()
        options = {name: settings[name] for name in mine & settings.keys() if settings[name] is not None}
        if chosen.fitted_to == "contexts":  # of one order, whose values are the model's
            options |= {name: by_order[name][0] for name in ("shift", "smoothing") if name in options}
        if "seed" in chosen.options:
            options["seed"] = training.seed
        start = options.pop("start", None)
        if isinstance(start, str | Path):
            start = read_vectors(start)
        elif not isinstance(start, Embedding | None):
            raise InputError(f"start must be an Embedding or the path of word vectors; got {start!r:.60}", "start")
        return cls(method, orders, training, by_order, options, start)

    def described(self, model: Any) -> Options:
        """Return all settings as JSON values, including those of the fitted model."""
        names = RENAMED.get(METHODS[self.method].model, {})
        mine = {names.get(field.name, field.name): getattr(model, field.name) for field in dataclasses.fields(model)}
        chosen = {name: value for name, value in mine.items() if name in METHODS[self.method].options - {"start"}}
        settings = {**dataclasses.asdict(self.training), **chosen, **self.options, **self.by_order}
        return plain({**settings, "method": self.method, "order": max(self.orders)})


@dataclass(frozen=True)
class Builder:
    """Callable that runs a processing step or loads the cached result, with progress reports."""

    store: StageCache | None
    steps: StepTimer

    def __call__(self, name: str, made_of: Options, build: Callable[..., Any], kind: Any) -> Any:
        """Run a step, or load its cached result."""
        if self.store is None:
            with self.steps(name) as facts:
                made = build()
                facts.update(made.sizes)
            return made
        target = self.store.folder / name
        self.store.check_ours(name, target)
        self.store.keep(name, made_of, lambda: build(path=target, overwrite=True).sizes, target=target)
        return kind.open(target)


def supported_rank(tokens: int, words: int, *, max_rank: int) -> tuple[int, int]:
    """Return a suitable rank of word vectors for the size of a text, and the number of non-negative components.

    The dimension is a sixth of the square root of the number of tokens, limited by the vocabulary; more dimensions cost
    time without better vectors, from 1 to 50 MB of Wikipedia. Half of them are non-negative components, but a quarter
    at ``max_rank``, reached from 50 MB on: docs/results/sizes.md. Stop words and rare words do not count as tokens.

    >>> [supported_rank(tokens, 8_000, max_rank=300) for tokens in (60_000, 360_000, 4_000_000)]
    [(41, 20), (100, 50), (300, 75)]
    """
    rank = max(min(round(tokens**0.5 / 6), words // 10), 2)
    return (rank, rank // 2) if rank < max_rank else (max_rank, max(max_rank // 4, 1))


@contextlib.contextmanager
def _going_on(
    model: Any, data: Any, plan: TrainingPlan, keep: str | Path | None, *, overwrite: bool
) -> Iterator[Result | None]:
    """Context manager that saves a checkpoint every minute and resumes the same fit, if the model accepts a start."""
    if keep is None or "start" not in METHODS[plan.method].options:
        yield None
        return
    whole = hashlib.blake2b(digest_size=16)
    lists = data if isinstance(data, list) else [data]
    arrays = [array for entries in lists for array in (entries.indices.T, entries.values)]
    for array in arrays if model.start is None else [*arrays, model.start]:
        whole.update(np.ascontiguousarray(array).data)
    settings = {name: value for name, value in plan.described(model).items() if name != "threads"}
    made_of = {**settings, "data": whole.hexdigest()}
    model.callback = Checkpoint(Path(keep) / REACHED, made_of=made_of, overwrite=overwrite)
    if model.callback.reached is not None:
        model.start = np.hstack(model.callback.reached.factors)
    yield model.callback.reached
    if not model.interrupted_:
        model.callback.done()


def _data(source: Any, plan: TrainingPlan, builder: Builder) -> tuple[Any, Vocabulary, dict[str, Any]]:
    """Prepare the corpus, counts or associations to which a method is fitted; also return vocabulary and metadata."""
    needs, counted = METHODS[plan.method].fitted_to, [source]
    if not isinstance(source, Counts):
        corpus = source if isinstance(source, Corpus) else _corpus(source, plan.training, builder)
        about: dict[str, Any] = {"corpus": corpus.digest}
        if corpus is not source:  # the settings of training are those of the corpus
            about["detected_language"] = corpus.settings["language"]
        if needs == "corpus":
            return corpus, corpus.vocabulary, about
        if _one_sided(plan.training):
            with builder.steps("contexts") as facts:
                (width,), own = plan.by_order["width"], plan.training
                where: Options = {"side": own.contexts, "positional": own.positional, "distance": own.distance}
                table = contexts(corpus, width=width, **where)
                facts.update(entries=table.nnz, columns=table.shape[1])
            return table, corpus.vocabulary, about
        counted = [_counts(corpus, plan, builder, k) for k in range(len(plan.orders))]
    else:
        about = {"corpus": source.settings.get("corpus")}
    vocabulary = counted[0].vocabulary
    if needs != "associations":
        return counted[0].entries, vocabulary, about
    with builder.steps("weights") as facts:
        how = zip(*(plan.by_order[name] for name in WEIGHED), strict=True)
        lists = [
            ppmi(counts, shift=shift, smoothing=smoothing, weights=weights)
            for counts, (shift, smoothing, weights) in zip(counted, how, strict=True)
        ]
        facts["entries"] = sum(map(len, lists))
    return lists if len(lists) > 1 else lists[0], vocabulary, about


def _corpus(source: Any, training: Training, builder: Builder) -> Corpus:
    options = {name: getattr(training, name) for name in TEXT if name not in ("tokenised", "lemmas")}
    files = find_files(source)
    again = files is not None and "-" not in files
    made_of = {"text": stamp(source) if again else f"read at {datetime.now().isoformat()}", **options}  # noqa: DTZ005
    made_of |= {"tokenised": training.tokenised, "lemmas": training.lemmas}
    if training.stop_words not in ("auto", "language"):
        made_of["stop_words"] = sorted(stop_words(training.stop_words))
    options["tokenizer"] = tokenizer_of(Tokenizer(lemmas=training.lemmas), tokenised=training.tokenised)
    if training.tokenised:
        options["wrapped"] = False
    options["jobs"] = training.threads
    if again:
        with builder.steps("text") as facts:
            facts.update(survey(source, Reading(**{name: options[name] for name in READING})))
    return builder("corpus", made_of, lambda **to: Corpus.build(source, **options, **to), Corpus)


def _counts(corpus: Corpus, plan: TrainingPlan, builder: Builder, k: int) -> Counts:
    """Count word tuples of one order, or open the cached counts."""
    order, (width, min_count) = plan.orders[k], (plan.by_order[name][k] for name in ("width", "tuple_min_count"))
    window: Options = {"order": order, "window": plan.training.window, "width": width, "min_count": min_count}
    window["distance"], own = plan.training.distance, plan.training
    build = partial(counted, corpus, steps=builder.steps, **window, threads=own.threads, memory=own.memory)
    return builder(f"counts-{order}", {"corpus": corpus.digest, **window}, build, Counts)


def counted(corpus: Corpus, *, steps: StepTimer = no_steps, **settings: Any) -> Counts:
    """Report the estimated cost, then count word tuples with the settings of :func:`~polyadic.text.counts.count`."""
    with steps("plan") as facts:
        ahead = ("order", "window", "width", "distance", "repeats", "memory", "threads")
        planned = estimate(corpus, **{name: settings[name] for name in ahead if name in settings})
        facts.update(planned.sizes)
    return count(corpus, planned=planned, **settings)


def _made(model: Any, vocabulary: Vocabulary, facts: Options) -> Embedding:
    """Return the vectors of a fitted model as an Embedding, and report convergence statistics."""
    if hasattr(model, "n_iter_"):
        facts.update(sweeps=model.n_iter_, converged=model.converged_, interrupted=model.interrupted_)
    if hasattr(model, "explained_"):
        fits = model.explained_
        facts["explained"] = [round(each.listed, 4) for each in fits] if isinstance(fits, list) else round(fits, 4)
    vectors: Embedding = model.embedding(vocabulary.words, counts=vocabulary.counts)
    if vectors.sparsity:
        facts["zeros"] = round(vectors.sparsity, 4)
    return vectors


def _orders(source: Any, method: str, order: int | None) -> tuple[int, ...]:
    """Return the tuple orders that a method factorizes; raise InputError if they are invalid."""
    chosen = METHODS[method]
    if isinstance(source, Counts):
        if chosen.joint or chosen.fitted_to == "corpus":
            what = f"{method} requires {'counts of several orders' if chosen.joint else 'running text'}"
            raise InputError(f"{what} and cannot be trained on counts of one order; use text or a corpus")
        order = source.entries.order
    order = order or chosen.order
    if order not in chosen.orders:
        raise InputError(f"the order of {method} must be {' or '.join(map(str, chosen.orders))}; got {order}")
    return tuple(range(2, order + 1)) if chosen.joint else (order,)


def _each(name: str, value: Any, chosen: WordMethod, orders: tuple[int, ...]) -> tuple[Any, ...]:
    """Return the value of a setting for each order of tuples."""
    if value is None:
        return tuple(chosen.default(name, order) for order in orders)
    pair = isinstance(value, tuple | list) and value and not isinstance(value[0], str | tuple)
    several = isinstance(value, tuple | list) and not (pair and name == "weights")  # a pair (X, A) is one weight
    values = tuple(value) if several else (value,)
    if len(values) not in (1, len(orders)):
        allowed = f"a single value or one value for each of the orders {orders}"
        raise InputError(f"{name} must be {allowed}; got {len(values)} values", name)
    return values if len(values) == len(orders) else values * len(orders)


def _one_sided(training: Training) -> bool:
    return training.contexts != "both" or training.positional


def _refuse_idle(source: Any, method: str, settings: Options, training: Training, *, keep: Any) -> None:
    """Raise InputError if a setting is unknown, or it or ``keep`` would be ignored by the method or the source."""
    chosen = METHODS[method]
    late = (*TEXT, *COUNTED) if isinstance(source, Counts) else TEXT if isinstance(source, Corpus) else ()
    unused = {"associations": (), "corpus": (*COUNTED, *WEIGHED)}.get(chosen.fitted_to, WEIGHED)
    existing = "counts" if isinstance(source, Counts) else "a corpus"
    for name in settings:
        if name in late:
            raise InputError(f"{name} has no effect if the source is {existing}; remove this setting", name)
        if name in unused and name not in chosen.options:
            raise InputError(
                f"{name} has no effect on {method}, which is fitted directly to the {chosen.fitted_to}", name
            )
        if name in ("contexts", "positional") and chosen.fitted_to != "contexts":
            others = [other for other, its in METHODS.items() if its.fitted_to == "contexts"]
            raise InputError(f"{name} cannot be used with {method}, but only with {', '.join(others)}", name)
        if _one_sided(training) and name in ("order", "window", "tuple_min_count", "memory"):
            raise InputError(f"{name} has no effect on one-sided or positional contexts", name)
        if name not in chosen.options and name not in Training.__dataclass_fields__:
            others = [other for other, its in METHODS.items() if name in its.options]
            what = f"{method}, but of {', '.join(others)}" if others else "any method"
            options = ", ".join(sorted(chosen.options))
            raise InputError(f"{name} is not an option of {what}; the options of {method} are {options}", name)
    if training.positional and settings.get("side") == "columns":
        why = "because each column then represents a word at one position"
        raise InputError(f"side 'columns' cannot be combined with positional, {why}")
    if keep is not None and isinstance(source, Counts) and "start" not in chosen.options:
        raise InputError("keep has no effect if the source is counts, because this method cannot be resumed", "keep")
    if keep is not None and isinstance(source, Corpus) and _one_sided(training):
        what = "keep has no effect on training from a corpus with one-sided or positional contexts"
        raise InputError(f"{what}; leave out keep", "keep")
