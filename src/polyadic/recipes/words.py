"""Word vectors of text: what ``polyadic train`` does, callable.

text, to a corpus, to counts of tuples, to associations, to vectors

:data:`METHODS` says what each method is made of and what it is fitted to, :class:`Training` which settings there are
besides those of its model. A new method is a new row.
"""

from __future__ import annotations

import contextlib
import dataclasses
import time
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import polyadic
from polyadic.errors import InputError
from polyadic.files import made_folder, plain, read_meta
from polyadic.progress import bar, untold
from polyadic.settings import Count, Seed, check_settings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from polyadic.embedding import Embedding
    from polyadic.progress import Steps
    from polyadic.suites.store import Store
    from polyadic.text.corpus import Corpus
    from polyadic.text.counts import Counts
    from polyadic.text.vocabulary import Vocabulary

Options = dict[str, Any]
Data = Literal["corpus", "contexts", "counts", "associations"]
"""What models are fitted to; contexts are counts of pairs, or of words and those on one side of them."""


@dataclass(frozen=True)
class Method:
    """A method.

    Attributes
    ----------
    model : str
        The class of its model, a public name.
    fitted_to : {"corpus", "contexts", "counts", "associations"}
    fixed : dict
        Settings of the model that make it this method.
    strength : str
        What the strength of its penalty is called, if it has one.
    order : int
        Words in a tuple, unless said otherwise.
    orders : tuple of int
        The orders it can be fitted to.
    joint : bool
        Whether it is fitted to all orders from 2 on at once.
    pairs : dict
        How pairs are counted and weighed by default, where it differs from larger tuples.
    """

    model: str
    fitted_to: Data = "associations"
    fixed: Options = field(default_factory=dict)
    strength: str = ""
    order: int = 3
    orders: tuple[int, ...] = (2, 3, 4, 5)
    joint: bool = False
    pairs: Options = field(default_factory=dict)

    @property
    def options(self) -> set[str]:
        """The settings of the model that can be chosen."""
        names = {setting.name for setting in dataclasses.fields(getattr(polyadic, self.model)) if setting.init}
        if self.strength:
            names |= {self.strength, "step", "batch", "sampled_zeros"}
        renamed = {RENAMED.get(self.model, {}).get(name, name) for name in names}
        return renamed - {*self.fixed, "penalty", "watch", "words", "stop_words"}

    def default(self, name: str, order: int) -> Any:
        """Give the default of a setting of counts or weights for an order."""
        usual: Options = {"tuple_min_count": 1 if order == 2 else 2, "width": 10, "smoothing": 1.0}
        return (self.pairs if order == 2 else {}).get(name, usual[name])

    def make(self, options: Mapping[str, Any]) -> Any:
        """Make the model."""
        options = {RENAMED_BACK.get(self.model, {}).get(name, name): value for name, value in options.items()}
        adapt = ADAPTED.get(self.model)
        return getattr(polyadic, self.model)(**self.fixed, **(adapt(self, options) if adapt else options))


NEAR: Options = {"width": 5, "smoothing": 0.75}
"""The window and the smoothing that Levy, Goldberg and Dagan (2015) recommend for pairs."""
PAIRS: Options = {"order": 2, "orders": (2,)}
METHODS = {
    "jcp": Method("JointCP", orders=(3, 4, 5), joint=True, pairs=NEAR),
    "cp-sn": Method("SymmetricCP", strength="l1"),
    "cp-s": Method("SymmetricCP", strength="l2"),
    "cp": Method("AsymmetricCP"),
    "jcp-sn": Method("SymmetricCP", strength="l1", joint=True),
    "jcp-s": Method("SymmetricCP", strength="l2", joint=True),
    "tucker": Method("Tucker", orders=(2, 3, 4)),
    "cp-apr": Method("PoissonCP", "counts"),
    "ppmi-svd": Method("PPMISVD", pairs=NEAR, **PAIRS),
    "ca": Method("CorrespondenceVectors", "contexts", {"case": "ca"}, pairs={"width": 5}, **PAIRS),
    "root-ca": Method("CorrespondenceVectors", "contexts", {"temper": 0.5}, pairs={"width": 2}, **PAIRS),
    "g-test": Method("CorrespondenceVectors", "contexts", {"case": "g-test"}, **PAIRS),
    "kca": Method("CorrespondenceVectors", "contexts", **PAIRS),
    "nnse": Method("NNSE", pairs=NEAR, **PAIRS),
    "glove": Method("GloVe", "counts", **PAIRS),
    "cbow": Method("Word2Vec", "corpus", {"method": "cbow"}),
    "sgns": Method("Word2Vec", "corpus", {"method": "sgns"}),
    "random": Method("RandomVectors", "corpus"),
}
RENAMED = {"Word2Vec": {"window": "context"}}
"""Settings of models that have another name here: ``window`` is the kind of window that tuples are counted in."""
RENAMED_BACK = {model: {new: old for old, new in names.items()} for model, names in RENAMED.items()}


def _symmetric(method: Method, options: Options) -> Options:
    """Give SymmetricCP its penalty by strength, and a solver by name."""
    from polyadic.penalties import L2, NonNegative
    from polyadic.solvers import Adam, quasi_newton, stochastic

    online = {name: options.pop(name) for name in ("step", "batch", "sampled_zeros") if name in options}
    solver = options.pop("solver", "quasi-newton")
    if solver != "online" and online:
        raise InputError(f"{min(online)} is an option of solver online")
    if "sampled_zeros" in online:
        options.setdefault("zero_weight", 0.0)  # drawn zeros stand in the place of exact ones
    options["penalty"] = {"l1": NonNegative, "l2": L2}[method.strength](options.pop(method.strength, 0.0))
    if solver == "online":
        rule = Adam(step=online["step"]) if "step" in online else None
        how: Options = {"rule": rule, "batch": online.get("batch"), "zeros": online.get("sampled_zeros")}
        how["seed"] = options.get("seed")
        solver = partial(stochastic, **{name: value for name, value in how.items() if value is not None})
    return options | {"solver": quasi_newton if solver == "quasi-newton" else solver}


def _correspondence(_: Method, options: Options) -> Options:
    """Give CorrespondenceVectors scores and stop words where they are asked for."""
    from polyadic.datasets import read_pairs
    from polyadic.text.stopwords import stop_words

    if isinstance(options.get("scores"), str | Path):
        options["scores"] = read_pairs(options["scores"])
    if "stop_weight" in options:
        options["stop_words"] = stop_words("english")
    return options


ADAPTED: dict[str, Callable[[Method, Options], Options]] = {
    "SymmetricCP": _symmetric,
    "CorrespondenceVectors": _correspondence,
}
TEXT = ("min_count", "max_size", "stop_words", "tokenised", "format", "field", "encoding", "errors")
COUNTED = ("order", "window", "width", "tuple_min_count", "contexts", "positional", "memory")
WEIGHED = ("shift", "smoothing", "weights")
"""Settings of the steps before the model."""
BY_ORDER = ("width", "tuple_min_count", "shift", "smoothing", "weights")
"""Settings that each order may have of its own, as a tuple."""


@dataclass(frozen=True, kw_only=True)
class Training:
    """The settings of :func:`train` besides those of the model. Where a tuple is given, each order has its own.

    Attributes
    ----------
    method : str, optional
        Of :data:`METHODS`; by default "jcp", and "cp-sn" of counts.
    min_count, max_size, stop_words, format, field, encoding, errors
        See :meth:`~polyadic.text.corpus.Corpus.build`.
    tokenised : bool
        Whether a line is a sentence and words lie between blanks.
    order : int, optional
        Words in a tuple; by default 3, or 2 of methods for pairs.
    window, width, tuple_min_count, memory
        See :func:`~polyadic.text.counts.count`; ``tuple_min_count`` is its ``min_count``. By default width 10 and 2
        times, and once for pairs; some methods have other widths for pairs.
    contexts, positional
        See :func:`~polyadic.text.contexts.contexts`, where ``contexts`` is ``side``.
    shift, smoothing, weights
        See :func:`~polyadic.text.weighting.ppmi`.
    seed : int, optional
    threads : int, optional
        All cores by default; one for word2vec.
    """

    method: str | None = None
    min_count: Count = 10
    max_size: Count | None = 20_000
    stop_words: Any = "english"
    tokenised: bool = False
    format: str = "auto"
    field: str | None = None
    encoding: str = "utf-8"
    errors: str = "strict"
    order: Literal[2, 3, 4, 5] | None = None
    window: Literal["span", "centred", "chunk"] = "span"
    width: Count | tuple[Count, ...] | None = None
    tuple_min_count: Count | tuple[Count, ...] | None = None
    contexts: Literal["both", "left", "right"] = "both"
    positional: bool = False
    memory: Count | None = None
    shift: float | tuple[float, ...] = 1.0
    smoothing: float | tuple[float, ...] | None = None
    weights: Any = "log"
    seed: Seed = 0
    threads: Count | None = None


def train(
    source: Any,
    *,
    keep: str | Path | None = None,
    overwrite: bool = False,
    steps: Steps = untold,
    **settings: Any,
) -> Embedding:
    """Make word vectors of text: read it, count tuples of words, weigh them, and factorize.

    Parameters
    ----------
    source : path, glob, "-", iterable of texts, Corpus or Counts
        See :meth:`~polyadic.text.corpus.Corpus.build`; folders of a corpus or of counts are taken as that.
    keep : path, optional
        A folder in which the corpus and the counts stay; what is there and was made of the same is used again.
    overwrite : bool
        Whether what is kept there and was made of something else is replaced.
    steps : callable
        Told how long each step took, and the sizes of what it made.
    **settings
        Those of :class:`Training` and of the model of the method: ``method="jcp", rank=100, themes=50``. Those not
        given have their defaults there.

    Returns
    -------
    Embedding
        What ``polyadic train`` writes. ``meta["trained"]`` has all settings, and whether Ctrl-C came before the vectors
        settled.

    Raises
    ------
    InputError
        If there is no such setting, one has no effect on this source or method, one is out of range, or the text
        cannot be used.

    Examples
    --------
    >>> texts = ["red rose garden", "red tulip garden", "fast car road", "fast bus road", "blue rose garden"] * 3
    >>> vectors = train(texts, method="cp-sn", min_count=1, rank=2, zero_weight=1.0)
    >>> sorted(word for word, _ in vectors.neighbours("car", top=2))
    ['fast', 'road']
    """
    opened = _opened(source)
    plan = Plan.of(opened, settings, keep=keep)
    model = plan.model()
    with _store(keep, overwrite=overwrite, steps=steps) as store:
        data, vocabulary = _data(opened, plan, Making(store, steps))
    if plan.start is not None:
        model.start = _rows(plan.start, vocabulary.words)
    if hasattr(model, "words"):
        model.words = vocabulary.words
    with steps("factors") as facts:
        vectors = _fitted(model, data, vocabulary, facts)
    told = source if isinstance(source, str) else str(source) if isinstance(source, Path) else type(source).__name__
    vectors.meta = {"trained": {"source": told, **plan.told(), "interrupted": facts["interrupted"]}}
    return vectors


@dataclass(frozen=True)
class Plan:
    """What is to be done: a method, its orders, and all settings, found to fit one another."""

    method: str
    orders: tuple[int, ...]
    training: Training
    by_order: dict[str, tuple[Any, ...]]
    options: Options
    start: Embedding | None

    @classmethod
    def of(cls, source: Any, settings: Options, *, keep: Any) -> Plan:
        """Put settings together, and refuse what does not fit before work begins."""
        of_training = {name: value for name, value in settings.items() if name in Training.__dataclass_fields__}
        training = Training(**of_training)
        check_settings(training)
        method = training.method or ("cp-sn" if isinstance(source, _kinds()["counts"]) else "jcp")
        if method not in METHODS:
            raise InputError(f"method must be one of {', '.join(map(repr, METHODS))}; got {method!r}")
        _refuse_idle(source, method, settings, training)
        _refuse_idle_keep(source, training, keep)
        chosen = METHODS[method]
        orders = _orders(source, method, training.order)
        by_order = {name: _each(name, getattr(training, name), chosen, orders) for name in BY_ORDER}
        if settings.get("order_weights") is not None:
            _each("order_weights", settings["order_weights"], chosen, orders)
        mine = {name for name in chosen.options if name not in Training.__dataclass_fields__}
        mine |= {"threads"} & chosen.options
        mine |= {"shift", "smoothing"} if chosen.fitted_to == "contexts" else set()
        options = {name: settings[name] for name in mine & settings.keys() if settings[name] is not None}
        if "seed" in chosen.options:
            options["seed"] = training.seed
        start = options.pop("start", None)
        return cls(method, orders, training, by_order, options, _vectors(start))

    def model(self) -> Any:
        """Make the model, and refuse it if it cannot be."""
        model = METHODS[self.method].make(self.options)
        model.check()
        return model

    def told(self) -> Options:
        """Give all settings, in JSON's types."""
        settings = {**dataclasses.asdict(self.training), **self.options, **self.by_order}
        return plain({**settings, "method": self.method, "order": max(self.orders)})


@dataclass(frozen=True)
class Making:
    """How what comes before the vectors is made: told of, and kept where there is a store."""

    store: Store | None
    steps: Steps

    def __call__(self, name: str, made_of: Options, build: Callable[..., Any], kind: Any) -> Any:
        """Build something, or open what is kept of it."""
        if self.store is None:
            with self.steps(name) as facts:
                made = build()
                facts.update(made.sizes)
            return made
        target = self.store.folder / name
        self.store.keep(name, made_of, lambda: build(path=target, overwrite=True).sizes, target=target)
        return kind.open(target)


def _kinds() -> dict[str, Any]:
    from polyadic.text.corpus import Corpus
    from polyadic.text.counts import Counts

    return {"corpus": Corpus, "counts": Counts}


def _opened(source: Any) -> Any:
    """Open a folder of ours; text stays what it is."""
    if not isinstance(source, str | Path) or not (Path(source) / "meta.json").is_file():
        return source
    kind = read_meta(source)["kind"]
    if kind not in _kinds():
        raise InputError(f"{source} is a folder of kind {kind}; train needs text, a corpus or counts")
    return _kinds()[kind].open(source)


@contextlib.contextmanager
def _store(keep: str | Path | None, *, overwrite: bool, steps: Steps) -> Iterator[Store | None]:
    if keep is None:
        yield None
        return
    from polyadic.suites.store import Store

    with made_folder(Path(keep)):
        yield Store(Path(keep), steps=steps, force=overwrite)


def _data(source: Any, plan: Plan, making: Making) -> tuple[Any, Vocabulary]:
    """Make what a method is fitted to: a corpus, counts, or associations of one order or several."""
    from polyadic.text.weighting import ppmi

    needs, counted = METHODS[plan.method].fitted_to, [source]
    if not isinstance(source, _kinds()["counts"]):
        corpus = source if isinstance(source, _kinds()["corpus"]) else _corpus(source, plan.training, making)
        if needs == "corpus":
            return corpus, corpus.vocabulary
        if _one_sided(plan.training):
            return _contexts(corpus, plan, making), corpus.vocabulary
        counted = [_counts(corpus, plan, making, k) for k in range(len(plan.orders))]
    vocabulary = counted[0].vocabulary
    if needs != "associations":
        return counted[0].entries, vocabulary
    with making.steps("weights") as facts:
        how = zip(*(plan.by_order[name] for name in WEIGHED), strict=True)
        lists = [
            ppmi(counts, shift=shift, smoothing=smoothing, weights=weights)
            for counts, (shift, smoothing, weights) in zip(counted, how, strict=True)
        ]
        facts["entries"] = sum(map(len, lists))
    return lists if len(lists) > 1 else lists[0], vocabulary


def _corpus(source: Any, training: Training, making: Making) -> Corpus:
    from polyadic.suites.store import stamp
    from polyadic.text.stopwords import stop_words
    from polyadic.text.tokens import Tokenizer, whitespace

    corpus = _kinds()["corpus"]
    options = {name: getattr(training, name) for name in TEXT if name != "tokenised"}
    options["stop_words"] = None if training.stop_words == "none" else training.stop_words
    tokenizer = whitespace if training.tokenised else Tokenizer()
    files = isinstance(source, str | Path) and str(source) != "-"
    made_of = {"text": stamp(str(source)) if files and making.store else time.time_ns(), **options}
    made_of |= {"tokenised": training.tokenised, "stop_words": sorted(stop_words(options["stop_words"]))}
    build = partial(corpus.build, source, tokenizer=tokenizer, jobs=training.threads, **options)
    return making("corpus", made_of, build, corpus)


def _counts(corpus: Corpus, plan: Plan, making: Making, k: int) -> Counts:
    """Count tuples of one of the orders."""
    order, (width, least) = plan.orders[k], (plan.by_order[name][k] for name in ("width", "tuple_min_count"))
    window = {"order": order, "window": plan.training.window, "width": width, "min_count": least}
    resources = {"threads": plan.training.threads, "memory": plan.training.memory}
    build = partial(counted, corpus, steps=making.steps, **window, **resources)
    made: Counts = making(f"counts-{order}", {"corpus": corpus.digest, **window}, build, _kinds()["counts"])
    return made


def counted(corpus: Corpus, *, steps: Steps = untold, **settings: Any) -> Counts:
    """Say what counting will take, then count; the settings are those of :func:`~polyadic.text.counts.count`."""
    from polyadic.text.counts import count, plan

    with steps("plan") as facts:
        ahead = ("order", "window", "width", "repeats", "memory", "threads")
        facts.update(plan(corpus, **{name: settings[name] for name in ahead if name in settings}).sizes)
    return count(corpus, **settings)


def _contexts(corpus: Corpus, plan: Plan, making: Making) -> Any:
    """Count words with the words on one side of them, or at each place."""
    from polyadic.text.contexts import contexts

    training = plan.training
    with making.steps("contexts") as facts:
        (width,) = plan.by_order["width"]
        table = contexts(corpus, side=training.contexts, width=width, positional=training.positional)
        facts.update(entries=table.nnz, columns=table.shape[1])
    return table


def _fitted(model: Any, data: Any, vocabulary: Vocabulary, facts: Options) -> Embedding:
    """Give the vectors; in the facts stands whether Ctrl-C came before they settled."""
    watched = hasattr(model, "watch")
    total = (getattr(model, "max_iter", None) or model.epochs) if watched else None
    with bar("factorizing", total=total) as advance:
        if watched:
            model.watch = lambda result: advance(1, note=f"objective {result.history[-1]:,.4g}")
        model.fit(data)
    if watched:
        facts.update(sweeps=model.n_iter_, converged=model.converged_)
    facts["interrupted"] = getattr(model, "interrupted_", False)
    if hasattr(model, "explained_"):
        shares = model.explained_
        facts["explained"] = (
            [round(each.listed, 4) for each in shares] if isinstance(shares, list) else round(shares, 4)
        )
    vectors: Embedding = model.embedding(vocabulary.words, counts=vocabulary.counts)
    if vectors.sparsity:
        facts["zeros"] = round(vectors.sparsity, 4)
    return vectors


def _vectors(start: Any) -> Embedding | None:
    from polyadic.embedding import read_vectors

    return read_vectors(start) if isinstance(start, str | Path) else start


def _rows(given: Embedding, words: tuple[str, ...]) -> Any:
    """Give the vectors of ``words``, in their order."""
    missing = [word for word in words if word not in given.index]
    if missing:
        raise InputError(
            f"start must have a vector for every word; {len(missing):,} of {len(words):,} have none, {missing[0]!r}"
            " among them: train both on one corpus, kept by keep"
        )
    return given.lookup(words)


def _orders(source: Any, method: str, order: int | None) -> tuple[int, ...]:
    """Say which orders a method is fitted to, or refuse them."""
    chosen = METHODS[method]
    if isinstance(source, _kinds()["counts"]):
        if chosen.joint or chosen.fitted_to == "corpus":
            needed = "counts of several orders" if chosen.joint else "running text"
            raise InputError(f"{method} needs {needed}, and a counts folder is of one order; give it text or a corpus")
        order = source.entries.order
    order = order or chosen.order
    if order not in chosen.orders:
        raise InputError(f"{method} takes order {' or '.join(map(str, chosen.orders))}; got {order}")
    return tuple(range(2, order + 1)) if chosen.joint else (order,)


def _each(name: str, value: Any, chosen: Method, orders: tuple[int, ...]) -> tuple[Any, ...]:
    """Give a value for each order."""
    if value is None:
        return tuple(chosen.default(name, order) for order in orders)
    several = isinstance(value, tuple | list) and not (name == "weights" and not isinstance(value[0], str | tuple))
    values = tuple(value) if several else (value,)
    if len(values) not in (1, len(orders)):
        raise InputError(f"{name} takes one value, or one for each of the orders {orders}; got {len(values)}")
    return values if len(values) == len(orders) else values * len(orders)


def _one_sided(training: Training) -> bool:
    return training.contexts != "both" or training.positional


def _refuse_idle(source: Any, method: str, settings: Options, training: Training) -> None:
    """Refuse settings that there are not, or that would be ignored."""
    chosen, counts, corpus = METHODS[method], _kinds()["counts"], _kinds()["corpus"]
    late = (*TEXT, *COUNTED) if isinstance(source, counts) else TEXT if isinstance(source, corpus) else ()
    unused = {"associations": (), "corpus": (*COUNTED, *WEIGHED)}.get(chosen.fitted_to, WEIGHED)
    for name in settings:
        if name in late:
            raise InputError(f"{name} comes too late: the source is a {type(source).__name__.lower()} already")
        if name in unused and name not in chosen.options:
            raise InputError(f"{name} has no effect: {method} is fitted to the {chosen.fitted_to}")
        if name in ("contexts", "positional") and chosen.fitted_to != "contexts":
            others = [other for other, its in METHODS.items() if its.fitted_to == "contexts"]
            raise InputError(f"{name} is an option of {', '.join(others)}; {method} has none such")
        if _one_sided(training) and name in ("order", "window", "tuple_min_count", "memory"):
            raise InputError(f"{name} has no effect on contexts of one side or place")
        if name not in chosen.options and name not in Training.__dataclass_fields__:
            others = [other for other, its in METHODS.items() if name in its.options]
            what = f"is an option of {', '.join(others)}" if others else "is no option of any method"
            raise InputError(f"{name} {what}; {method} has {', '.join(sorted(chosen.options))}")
    if training.positional and settings.get("side") == "columns":
        raise InputError("side 'columns' with positional would give vectors to places of words, not to words")


def _refuse_idle_keep(source: Any, training: Training, keep: Any) -> None:
    """Refuse to keep things where there is nothing to keep."""
    if keep is not None and isinstance(source, _kinds()["counts"]):
        raise InputError("keep comes too late: the source is counts already")
    if keep is not None and isinstance(source, _kinds()["corpus"]) and _one_sided(training):
        raise InputError(
            "keep has nothing to keep: the text is a corpus already, and contexts of one side are not kept"
        )
