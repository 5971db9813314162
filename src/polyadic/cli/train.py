"""``polyadic train``: the whole path from text to word vectors."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from polyadic.cli import faults, show
from polyadic.cli import options as o
from polyadic.errors import InputError
from polyadic.files import check_replaceable
from polyadic.recipes.methods import Training

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


@o.with_defaults_of(Training)
def train(
    ctx: typer.Context,
    source: o.Source,
    *,
    out: o.Out,
    keep: Keep = None,
    force: o.Force = False,
    threads: o.ModelThreads,
    as_json: o.AsJson = False,
    min_count: o.MinCount,
    max_size: o.MaxSize,
    stop_words: o.StopWords,
    tokenised: o.Tokenised,
    format_: o.Format,
    field: o.Field,
    encoding: o.Encoding,
    errors: o.Errors,
    order: Order,
    window: o.Window,
    width: Widths,
    tuple_min_count: TupleMinCount,
    contexts: o.ContextSide,
    positional: o.Positional,
    memory: o.Memory,
    shift: o.Shift,
    smoothing: Smoothings,
    weights: o.Weights,
    method: o.Method,
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
    seed: o.ModelSeed,
) -> None:
    """Make word vectors of text: read it, count tuples of words, weight them, and factorize."""
    from polyadic.recipes import words

    check_replaceable(out, "embedding", overwrite=force)
    if keep is not None and (keep.resolve() == out.resolve() or out.resolve() in keep.resolve().parents):
        raise InputError(f"--keep {keep} lies in --out {out}, which is written as a whole; name another folder")
    steps = show.Steps(silent=as_json)
    with faults.keeping(lambda: [str(path) for path in sorted(keep.glob("*/"))] if keep else []):
        settings = o.chosen(ctx, but=("source", "out", "keep", "force", "as_json"))
        vectors = words.train(source, keep=keep, overwrite=force, steps=steps, **settings)
        vectors.save(out, overwrite=force)
    interrupted = vectors.meta["trained"]["interrupted"]
    sizes = {"words": len(vectors), "rank": vectors.rank, "interrupted": interrupted}
    show.wrote(out, {**sizes, "steps": steps.done}, as_json=as_json, hint=f"polyadic neighbours {out} WORD")
    if interrupted:
        raise faults.interrupted(kept=[f"the vectors of the last sweep in {out}"])
