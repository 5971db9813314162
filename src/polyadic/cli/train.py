"""``polyadic train``: the whole path from text to word vectors."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from polyadic.cli import faults, show
from polyadic.cli import options as o
from polyadic.cli.methods import METHODS
from polyadic.cli.stages import Shelf, contexts_of, corpus_of, counts_of, kind_of
from polyadic.errors import InputError
from polyadic.files import whole_folder
from polyadic.progress import bar

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polyadic.embedding import Embedding
    from polyadic.text.vocabulary import Vocabulary

Keep = Annotated[
    Path | None,
    typer.Option(metavar="DIR", help="Keep the corpus and the counts here, and use them again if they are there."),
]
Order = Annotated[
    int | None,
    typer.Option(min=2, max=5, help=o.ORDER_HELP, show_default="3; 2 for pairs", rich_help_panel=o.COUNTS),
]
TupleMinCount = Annotated[
    Any,
    typer.Option(
        parser=o.per_order(o.positive),
        metavar="N[/N...]",
        help="Drop tuples that are rarer; an N for each order where there are several.",
        show_default="2; 1 for pairs",
        rich_help_panel=o.COUNTS,
    ),
]
COUNTED, WEIGHED = ("tuple_min_count", "width"), ("shift", "smoothing", "weights")
"""Settings that each order may have of its own: of counts, and of associations."""
Widths = Annotated[
    Any,
    typer.Option(
        parser=o.per_order(o.positive),
        metavar="W[/W...]",
        help="Width of the window; a W for each order where there are several.",
        show_default="10; 5/10 for jcp, 5 for ca, 2 for root-ca",
        rich_help_panel=o.COUNTS,
    ),
]
Smoothings = Annotated[
    Any,
    typer.Option(
        parser=o.per_order(float),
        metavar="A[/A...]",
        help="Power of the words' probabilities; an A for each order where there are several.",
        show_default="1; 0.75/1 for jcp",
        rich_help_panel=o.WEIGHTS,
    ),
]


def train(
    ctx: typer.Context,
    source: o.Source,
    *,
    out: o.Out,
    keep: Keep = None,
    force: o.Force = False,
    threads: o.Threads = None,
    as_json: o.AsJson = False,
    min_count: o.MinCount = 10,
    max_size: o.MaxSize = 20_000,
    stop_words: o.StopWords = "english",
    tokenised: o.Tokenised = False,
    format_: o.Format = "auto",
    field: o.Field = None,
    encoding: o.Encoding = "utf-8",
    errors: o.Errors = "strict",
    order: Order = None,
    window: o.Window = "span",
    width: Widths = None,
    tuple_min_count: TupleMinCount = None,
    contexts: o.ContextSide = "both",
    positional: o.Positional = False,
    memory: o.Memory = None,
    shift: o.Shift = "1",
    smoothing: Smoothings = None,
    weights: o.Weights = "log",
    method: o.Method = None,
    rank: o.ModelRank = None,
    themes: o.Themes = None,
    coupling: o.Coupling = None,
    zero_weight: o.ZeroWeight = None,
    zero_power: o.ZeroPower = None,
    order_weights: o.OrderWeights = None,
    l1: o.L1 = None,
    l2: o.L2 = None,
    power: o.Power = None,
    side: o.Side = None,
    temper: o.Temper = None,
    case: o.Case = None,
    stop_weight: o.StopWeight = None,
    scores: o.Scores = None,
    score_weight: o.ScoreWeight = None,
    orthogonal: o.Orthogonal = None,
    max_iter: o.MaxIter = None,
    tol: o.Tol = None,
    validation: o.Validation = None,
    start: o.Start = None,
    solver: o.Solver = None,
    step: o.Step = None,
    batch: o.Batch = None,
    sampled_zeros: o.SampledZeros = None,
    epochs: o.Epochs = None,
    context: o.Context = None,
    negative: o.Negative = None,
    seed: o.Seed = 0,
) -> None:
    """Make word vectors of text: read it, count tuples of words, weight them, and factorize."""
    from polyadic.embedding import Embedding, read_vectors

    method = method or ("cp-sn" if kind_of(source) == "counts" else "jcp")
    chosen, settings = METHODS[method], ctx.params | {"method": method}
    _refuse_idle_options(ctx, source, method)
    _refuse_idle_shelf(keep, source, out, one_sided=_one_sided(ctx.params))
    orders = _orders(method, order, source)
    for name in (*WEIGHED, *(COUNTED if kind_of(source) != "counts" else ())):
        settings[name] = settings[name] or chosen.default(name, orders)
    for name in ("tuple_min_count", "width", "shift", "smoothing", "weights", "order_weights"):
        _each(name, settings[name] or (None,), orders)  # refuses what does not fit the orders before work begins
    given = read_vectors(start) if start else None
    model = chosen.make({name: settings[name] for name in chosen.has if settings[name] is not None and name != "start"})
    if hasattr(model, "check"):
        model.check()
    steps, shelf = show.Steps(silent=as_json), Shelf(keep, force=force)
    with whole_folder(out, kind="embedding", overwrite=force) as draft, faults.keeping(shelf.content):
        data, vocabulary = _data(source, steps, shelf, needs=chosen.needs, orders=orders, settings=settings)
        if given is not None:
            model.start = _rows(given, vocabulary.words)
        if hasattr(model, "words"):
            model.words = vocabulary.words
        with steps("factors") as facts:
            vectors, interrupted = _fit(model, data, vocabulary.words, facts)
            if vectors.sparsity:
                facts["zeros"] = round(vectors.sparsity, 4)
        meta = {"trained": {name: show.plain(value) for name, value in settings.items()}}
        themes = vectors.themes.rank
        Embedding(vectors.words, vectors.vectors, counts=vocabulary.counts, themes=themes, meta=meta).save(draft)
    sizes = {"words": len(vectors), "rank": vectors.rank, "interrupted": interrupted}
    show.wrote(out, {**sizes, "steps": steps.done}, as_json=as_json, hint=f"polyadic neighbours {out} WORD")
    if interrupted:
        raise faults.interrupted(kept=[f"the vectors of the last sweep in {out}"])


def _data(
    source: str, steps: show.Steps, shelf: Shelf, *, needs: str, orders: tuple[int, ...], settings: dict[str, Any]
) -> tuple[Any, Vocabulary]:
    """Make what a method is fitted to: a corpus, counts, or associations of one order or several."""
    from polyadic.text.counts import Counts
    from polyadic.text.weighting import ppmi

    if kind_of(source) == "counts":
        counted = [Counts.open(source)]
    else:
        corpus = corpus_of(source, steps, shelf, _corpus_options(settings), settings["threads"])
        if needs == "corpus":
            return corpus, corpus.vocabulary
        if _one_sided(settings):
            return contexts_of(corpus, steps, settings), corpus.vocabulary
        resources = {"threads": settings["threads"], "memory": settings["memory"]}
        least, widths = (_each(name, settings[name], orders) for name in COUNTED)
        windows = [{"window": settings["window"], "width": width} for width in widths]
        counted = [
            counts_of(corpus, steps, shelf, {"order": n, **window, "min_count": at_least}, resources)
            for n, window, at_least in zip(orders, windows, least, strict=True)
        ]
    vocabulary = counted[0].vocabulary
    if needs in ("counts", "contexts"):
        return counted[0].entries, vocabulary
    with steps("weights") as facts:
        how = [_each(name, settings[name], orders) for name in WEIGHED]
        lists = [
            ppmi(counts, shift=shift, smoothing=smoothing, weights=weight)
            for counts, shift, smoothing, weight in zip(counted, *how, strict=True)
        ]
        facts["entries"] = sum(map(len, lists))
    return lists if len(lists) > 1 else lists[0], vocabulary


def _corpus_options(settings: dict[str, Any]) -> dict[str, Any]:
    from polyadic.text.tokens import Tokenizer, whitespace

    names = ("min_count", "max_size", "field", "encoding", "errors")
    stop_words = settings["stop_words"]
    return {
        **{name: settings[name] for name in names},
        "stop_words": None if stop_words == "none" else stop_words,
        "tokenizer": whitespace if settings["tokenised"] else Tokenizer(),
        "format": settings["format_"],
    }


def _orders(method: str, order: int | None, source: str) -> tuple[int, ...]:
    """Say which orders a method is fitted to, or refuse them."""
    from polyadic.text.counts import Counts

    chosen = METHODS[method]
    if kind_of(source) == "counts":
        if chosen.joint or chosen.needs == "corpus":
            needed = "counts of several orders" if chosen.joint else "running text"
            raise InputError(f"{method} needs {needed}, and a counts folder is of one order; give it text or a corpus")
        order = Counts.open(source).entries.order
    order = order or chosen.order
    if order not in chosen.orders:
        raise InputError(f"{method} takes order {' or '.join(map(str, chosen.orders))}; got {order}")
    return tuple(range(2, order + 1)) if chosen.joint else (order,)


def _each(name: str, values: Sequence[Any], orders: tuple[int, ...]) -> Sequence[Any]:
    """Give one value of an option per order; a single one is for all."""
    if len(values) not in (1, len(orders)):
        raise InputError(
            f"--{name.replace('_', '-')} takes one value, or one for each of the orders {orders}; got {len(values)}"
        )
    return values if len(values) == len(orders) else [*values] * len(orders)


def _fit(model: Any, data: Any, words: tuple[str, ...], facts: dict[str, Any]) -> tuple[Embedding, bool]:
    """Return the vectors, and whether Ctrl-C came before they settled."""
    if not hasattr(model, "watch"):
        with bar("decomposing"):
            return model.fit(data).embedding(words), False
    with bar("factorizing", total=getattr(model, "max_iter", None) or model.epochs) as advance:
        model.watch = lambda result: advance(1, note=f"objective {result.history[-1]:,.4g}")
        model.fit(data)
    facts.update(sweeps=model.n_iter_, converged=model.converged_)
    if hasattr(model, "explained_"):
        found = model.explained_
        facts["explained"] = [round(each.listed, 4) for each in found] if isinstance(found, list) else round(found, 4)
    return model.embedding(words), model.interrupted_


def _rows(given: Embedding, words: tuple[str, ...]) -> Any:
    """Give the vectors of ``words``, in their order."""
    missing = [word for word in words if word not in given.index]
    if missing:
        raise InputError(
            f"--start must have a vector for every word; {len(missing):,} of {len(words):,} have none, {missing[0]!r}"
            " among them: train both on one corpus, kept by --keep"
        )
    return given.lookup(words)


def _refuse_idle_options(ctx: typer.Context, source: str, method: str) -> None:
    """Refuse options that would be ignored: those of text if ``source`` is counted already, and so on."""
    kind, chosen = kind_of(source), METHODS[method]
    late = {"text": (), "corpus": (o.CORPUS,), "counts": (o.CORPUS, o.COUNTS)}[kind]
    unused = {"corpus": (o.COUNTS, o.WEIGHTS), "counts": (o.WEIGHTS,), "contexts": (o.WEIGHTS,), "ppmi": ()}[
        chosen.needs
    ]
    one_sided = _one_sided(ctx.params)
    for option in ctx.command.params:
        where = ctx.get_parameter_source(option.name)
        if where is None or where.name != "COMMANDLINE":
            continue
        panel, name = getattr(option, "rich_help_panel", None), option.opts[0]
        if panel in late:
            raise InputError(f"{name} comes too late: {source} is a {kind} folder already")
        if panel in unused and option.name not in chosen.has:
            raise InputError(f"{name} has no effect: {method} is fitted to the {chosen.needs}")
        if option.name in ("contexts", "positional") and chosen.needs != "contexts":
            raise InputError(f"{name} is an option of {', '.join(_needing('contexts'))}; {method} has none such")
        if ctx.params["positional"] and ctx.params["side"] == "columns":
            raise InputError("--side columns with --positional would give vectors to places of words, not to words")
        if one_sided and option.name in ("order", "window", "tuple_min_count", "memory"):
            raise InputError(f"{name} has no effect on contexts of one side or place")
        if panel == o.MODEL and option.name not in ("method", *chosen.has):
            others = [other for other, its in METHODS.items() if option.name in its.has]
            raise InputError(f"{name} is an option of {', '.join(others)}; {method} has none such")


def _needing(what: str) -> list[str]:
    return [name for name, method in METHODS.items() if method.needs == what]


def _one_sided(settings: dict[str, Any]) -> bool:
    return settings["contexts"] != "both" or settings["positional"]


def _refuse_idle_shelf(keep: Path | None, source: str, out: Path, *, one_sided: bool) -> None:
    """Refuse to keep things where there is nothing to keep, or where they would be overwritten."""
    if keep is not None and kind_of(source) == "corpus" and one_sided:
        raise InputError(
            "--keep has nothing to keep: the text is a corpus already, and contexts of one side are not kept"
        )
    if keep is not None and kind_of(source) == "counts":
        raise InputError(f"--keep comes too late: {source} is a counts folder already")
    if keep is not None and (keep.resolve() == out.resolve() or out.resolve() in keep.resolve().parents):
        raise InputError(f"--keep {keep} lies in --out {out}, which is written as a whole; name another folder")
