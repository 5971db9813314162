"""``lowrank train``: the whole path from text to word vectors."""

from pathlib import Path
from typing import Annotated, Any

import typer

from lowrank.cli import faults, show
from lowrank.cli import options as o
from lowrank.cli.stages import Shelf, counts_of, kind_of
from lowrank.errors import InputError
from lowrank.files import whole_folder
from lowrank.progress import bar

Keep = Annotated[
    Path | None,
    typer.Option(metavar="DIR", help="Keep the corpus and the counts here, and use them again if they are there."),
]
Order = Annotated[
    int | None,
    typer.Option(min=2, max=5, help=o.ORDER_HELP, show_default="3; 2 for ppmi-svd", rich_help_panel=o.COUNTS),
]
TupleMinCount = Annotated[
    int | None,
    typer.Option(
        min=1, max=o.LARGEST, help=o.TUPLE_MIN_COUNT_HELP, show_default="2; 1 for pairs", rich_help_panel=o.COUNTS
    ),
]
BOTH_CP = ("cp-sn", "cp-s")
METHODS_WITH = {"zero_weight": BOTH_CP, "max_iter": BOTH_CP, "tol": BOTH_CP, "l1": ("cp-sn",), "l2": ("cp-s",)}


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
    width: o.Width = 10,
    tuple_min_count: TupleMinCount = None,
    memory: o.Memory = None,
    shift: o.Shift = 1.0,
    smoothing: o.Smoothing = 1.0,
    weights: o.Weights = "log",
    method: o.Method = "cp-sn",
    rank: o.Rank = 300,
    zero_weight: o.ZeroWeight = 0.1,
    l1: o.L1 = 0.0,
    l2: o.L2 = 0.0,
    max_iter: o.MaxIter = 100,
    tol: o.Tol = 1e-3,
    seed: o.Seed = 0,
) -> None:
    """Make word vectors of text: read it, count tuples of words, weight them, and factorize."""
    from lowrank.embedding import Embedding
    from lowrank.text.tokens import Tokenizer, whitespace
    from lowrank.text.weighting import ppmi

    _refuse_idle_options(ctx, source, method)
    _refuse_idle_shelf(keep, source, out)
    corpus_options = {
        "min_count": min_count,
        "max_size": max_size,
        "stop_words": None if stop_words == "none" else stop_words,
        "tokenizer": whitespace if tokenised else Tokenizer(),
        "format": format_,
        "field": field,
        "encoding": encoding,
        "errors": errors,
    }
    order = order or (2 if method == "ppmi-svd" else 3)
    least = tuple_min_count or (1 if order == 2 else 2)
    count_options = {"order": order, "window": window, "width": width, "min_count": least}
    steps, shelf = show.Steps(silent=as_json), Shelf(keep, force=force)
    with whole_folder(out, kind="embedding", overwrite=force) as draft, faults.keeping(shelf.content):
        resources = {"threads": threads, "memory": memory}
        counts = counts_of(source, steps, shelf, corpus_options, count_options, resources)
        with steps("weights") as facts:
            entries = ppmi(counts, shift=shift, smoothing=smoothing, weights=weights)
            facts["entries"] = len(entries)
        with steps("factors") as facts:
            sweeps = {"zero_weight": zero_weight, "max_iter": max_iter, "tol": tol, "threads": threads}
            model = _model(method, rank, seed, l1 or l2, sweeps)
            vectors, interrupted = _fit(model, entries, counts.vocabulary.words, max_iter, facts)
        meta = {"trained": {name: show.plain(value) for name, value in ctx.params.items()}}
        Embedding(vectors.words, vectors.vectors, counts=counts.vocabulary.counts, meta=meta).save(draft)
    sizes = {"words": len(vectors), "rank": vectors.rank, "interrupted": interrupted}
    show.wrote(out, {**sizes, "steps": steps.done}, as_json=as_json, hint=f"lowrank neighbours {out} WORD")
    if interrupted:
        raise faults.interrupted(kept=[f"the vectors of the last sweep in {out}"])


def _model(method: str, rank: int, seed: int, strength: float, of_cp: dict[str, Any]) -> Any:
    if method == "ppmi-svd":
        from lowrank.models.words.pairwise import PPMISVD

        return PPMISVD(rank, seed=seed)
    from lowrank.models.words.symmetric import SymmetricCP
    from lowrank.penalties import L2, NonNegative

    penalty = NonNegative(strength) if method == "cp-sn" else L2(strength)
    return SymmetricCP(rank, seed=seed, penalty=penalty, **of_cp)


def _fit(model: Any, entries: Any, words: tuple[str, ...], max_iter: int, facts: dict[str, Any]) -> tuple[Any, bool]:
    """Return the vectors, and whether Ctrl-C came before they settled."""
    if not hasattr(model, "watch"):
        with bar("decomposing"):
            return model.fit(entries).embedding(words), False
    with bar("factorizing", total=max_iter) as advance:
        model.watch = lambda result: advance(1, note=f"objective {result.history[-1]:,.4g}")
        model.fit(entries)
    facts.update(sweeps=model.n_iter_, converged=model.converged_)
    return model.embedding(words), model.interrupted_


def _refuse_idle_options(ctx: typer.Context, source: str, method: str) -> None:
    """Refuse options that would be ignored: those of text if ``source`` is counted already, and so on."""
    kind = kind_of(source)
    idle = {"text": (), "corpus": (o.CORPUS,), "counts": (o.CORPUS, o.COUNTS)}[kind]
    for option in ctx.command.params:
        where = ctx.get_parameter_source(option.name)
        if where is None or where.name != "COMMANDLINE":
            continue
        if getattr(option, "rich_help_panel", None) in idle:
            raise InputError(f"{option.opts[0]} comes too late: {source} is a {kind} folder already")
        methods = METHODS_WITH.get(option.name or "", (method,))
        if method not in methods:
            raise InputError(f"{option.opts[0]} is an option of {' and '.join(methods)}; {method} has none such")


def _refuse_idle_shelf(keep: Path | None, source: str, out: Path) -> None:
    """Refuse to keep things where there is nothing to keep, or where they would be overwritten."""
    if keep is not None and kind_of(source) == "counts":
        raise InputError(f"--keep comes too late: {source} is a counts folder already")
    if keep is not None and (keep.resolve() == out.resolve() or out.resolve() in keep.resolve().parents):
        raise InputError(f"--keep {keep} lies in --out {out}, which is written as a whole; name another folder")
