"""``polyadic train``: the whole path from text to word vectors."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from polyadic.cli import options as o
from polyadic.core.errors import InputError
from polyadic.core.files import check_replaceable
from polyadic.interface import output
from polyadic.interface.errors import interrupted as stopped
from polyadic.interface.errors import keeping
from polyadic.words.methods import METHODS, Training

if TYPE_CHECKING:
    from polyadic.embedding import Embedding


def entry_weights(text: str) -> str | tuple[float, float]:
    """Read a name of entry weights, or the two numbers of GloVe's."""
    if text in {"log", "count", "uniform"}:
        return text
    try:
        largest, power = map(float, text.split(","))
    except ValueError:
        raise typer.BadParameter(f"give log, count, uniform or two numbers such as 100,0.75; got {text!r}") from None
    if not (0 < largest < math.inf and 0 <= power < math.inf):
        raise typer.BadParameter(f"X must be above 0 and A at least 0; got {text!r}")
    return largest, power


def per_order(read: Callable[[str], Any]) -> Callable[[Any], tuple[Any, ...]]:
    """Make a reader of values for each order: ``1/15`` is 1 for pairs and 15 for triples, ``1`` is for all."""

    def values(text: Any) -> tuple[Any, ...]:
        try:
            return tuple(read(part) for part in str(text).split("/"))
        except ValueError:
            raise typer.BadParameter(f"give a number, or one for each order such as 1/15; got {text!r}") from None

    return values


def _model(*flags: str, **how: Any) -> Any:
    """Make an option of the model; unless given, it is left to the model."""
    return typer.Option(*flags, rich_help_panel=o.MODEL, **how)


Sources = Annotated[
    list[str],
    typer.Argument(
        metavar="SOURCE...",
        help="Text (files, folders, globs, - for standard input), a corpus folder or a counts folder.",
    ),
]
ContextSide = Annotated[
    Literal["both", "left", "right"],
    typer.Option("--contexts", help="Where context words stand; of ca and its kin.", rich_help_panel=o.COUNTS),
]
Positional = Annotated[
    bool,
    typer.Option("--positional", help="A word at another distance is another context.", rich_help_panel=o.COUNTS),
]
Shift = Annotated[
    Any,
    typer.Option(
        parser=per_order(float),
        metavar="K[/K...]",
        help="Entries are max(PMI - log K, 0); a K for each order where there are several.",
        rich_help_panel=o.WEIGHTS,
    ),
]
Weights = Annotated[
    Any,
    typer.Option(
        parser=per_order(entry_weights),
        metavar="log|count|uniform|X,A[/...]",
        help="Weight of an entry of count n: log(1 + n), n, 1, or min(n / X, 1)^A; one for each order, or for all.",
        rich_help_panel=o.WEIGHTS,
    ),
]
Method = Annotated[
    Literal[*METHODS] | None,  # type: ignore[valid-type] # the names of a table
    typer.Option(
        help="jcp: pairs by all columns, larger tuples by non-negative themes. cp-sn, cp-s: symmetric CP of the PPMI"
        " tensor, non-negative with exact zeros, or free. jcp-sn, jcp-s: of all orders from 2 on, by the same columns."
        " cp: a factor for each mode, by alternating least squares. tucker: with a core."
        " cp-apr: of the counts, Poisson. ppmi-svd, nnse, glove: of pairs. ca: correspondence analysis; root-ca: of"
        " roots of counts; g-test, kca: with other residuals and kernels. cbow, sgns: gensim's word2vec. random:"
        " chance level.",
        show_default="jcp; cp-sn of a counts folder",
        rich_help_panel=o.MODEL,
    ),
]
ModelRank = Annotated[
    int | None,
    _model(
        min=1, help="Length of a vector.", show_default="what the text supports, at most 300; tucker 50, cp-apr 100"
    ),
]
ZeroWeight = Annotated[
    float | None,
    _model(
        min=0,
        max=o.LARGEST,
        help="Mean weight of tuples that do not occur.",
        show_default="together 6 times what pairs weigh, 50 times what larger tuples do",
    ),
]
ZeroPower = Annotated[
    float | None,
    _model(min=0, max=o.LARGEST, help="Power of the degrees of words that such tuples weigh by.", show_default="0.75"),
]
Themes = Annotated[
    int | None,
    _model(
        min=1,
        help="Non-negative columns, which explain larger tuples.",
        show_default="half of the rank; a quarter where a large text gets 300",
    ),
]
PairScale = Annotated[
    float | None, _model(min=0, max=1, help="Scale of themes in the explanation of pairs.", show_default="0.5")
]
OrderWeights = Annotated[
    Any | None,
    _model(
        parser=per_order(float), metavar="A/B...", help="How much each order counts, from 2 on.", show_default="1/1"
    ),
]
L1 = Annotated[float | None, _model("--l1", min=0, max=o.LARGEST, help="Weight of the sum of vectors; nnse: of codes.")]
L2 = Annotated[float | None, _model("--l2", min=0, max=o.LARGEST, help="Weight of the squared vectors.")]
Power = Annotated[float | None, _model(min=0, max=o.LARGEST, help="Power of the singular values.", show_default="0.5")]
Side = Annotated[
    Literal["rows", "columns"] | None,
    _model(help="Vectors of words, or of contexts.", show_default="rows"),
]
CountExponent = Annotated[
    float | None,
    _model(min=0.01, max=1, help="Power to which counts are raised before the analysis.", show_default="1"),
]
Residual = Annotated[
    Literal["ca", "gini", "g-test", "sgns", "glove"] | None,
    _model(help="Residual of the table against independence, by the name of a known method.", show_default="ca"),
]
StopWeight = Annotated[
    float | None,
    _model(metavar="A", help="Weigh stop words by 1 + A; keep them in the text: --stop-words none.", show_default="0"),
]
Scores = Annotated[Path | None, _model(metavar="FILE", help="Pairs of words with a similarity to learn from.")]
ScoreWeight = Annotated[float | None, _model(min=0, max=o.LARGEST, help="How much they count.", show_default="1")]
Orthogonal = Annotated[int | None, _model(min=0, help="First sweeps with orthogonal factors.", show_default="0")]
MaxIter = Annotated[int | None, _model(min=1, help="Sweeps at most.", show_default="100; cp, tucker, nnse 50")]
Tol = Annotated[
    float | None,
    _model(min=0, help="Stop when three sweeps each gain less than this part of all.", show_default="0.001"),
]
Validation = Annotated[float | None, _model(min=0, max=0.99, help="Share of entries held out to stop by.")]
Start = Annotated[
    str | None,
    _model(
        metavar="VECTORS",
        help="Go on from these vectors, of the same words and at most as long.",
        show_default="random",
    ),
]
Solver = Annotated[
    Literal["quasi-newton", "online"] | None,
    _model(help="Full gradients, or batches with Adam.", show_default="quasi-newton"),
]
LearningRate = Annotated[float | None, _model(min=0, max=o.LARGEST, help="Length of a step of the online solver.")]
Batch = Annotated[
    int | None, _model(min=1, help="Entries per step of the online solver.", show_default="a 256th of all")
]
SampledZeros = Annotated[
    float | None, _model(min=0, max=o.LARGEST, help="Zeros drawn per entry, online, for the zero weight.")
]
Epochs = Annotated[int | None, _model(min=1, help="Passes over the data.")]
Context = Annotated[int | None, _model(min=1, max=1000, help="Words to each side, of word2vec.", show_default="5")]
Negative = Annotated[int | None, _model(min=1, max=1000, help="Noise words per word, of word2vec.", show_default="5")]
ModelSeed = Annotated[int, _model(min=0, help="The same seed gives the same vectors.")]
ModelThreads = Annotated[
    int | None,
    typer.Option(min=1, max=o.MAX_THREADS, help="Threads to use.", show_default="all cores; word2vec 1"),
]
Keep = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR",
        help="Keep the corpus and the counts here, and what the fit has reached, each minute; use them again, and go "
        "on, if they are there.",
    ),
]
Order = Annotated[
    int | None,
    typer.Option(min=2, max=5, help=o.ORDER_HELP, show_default="3; 2 for pairs", rich_help_panel=o.COUNTS),
]
TupleMinCount = Annotated[
    Any,
    typer.Option(
        parser=per_order(o.positive),
        metavar="N[/N...]",
        help="Drop tuples that are rarer; an N for each order where there are several.",
        show_default="2; 1 for pairs",
        rich_help_panel=o.COUNTS,
    ),
]
Widths = Annotated[
    Any,
    typer.Option(
        parser=per_order(o.positive),
        metavar="W[/W...]",
        help="Width of the window; a W for each order where there are several.",
        show_default="10; 5/10 for jcp, 5 for ca, 2 for root-ca",
        rich_help_panel=o.COUNTS,
    ),
]
Smoothings = Annotated[
    Any,
    typer.Option(
        parser=per_order(float),
        metavar="A[/A...]",
        help="Power of the words' probabilities; an A for each order where there are several.",
        show_default="1; 0.75/1 for jcp",
        rich_help_panel=o.WEIGHTS,
    ),
]


@o.with_defaults_of(Training)
def train(
    ctx: typer.Context,
    sources: Sources,
    *,
    out: o.Out,
    keep: Keep = None,
    force: o.Force = False,
    threads: ModelThreads,
    as_json: o.AsJson = False,
    min_count: o.MinCount,
    max_size: o.MaxSize,
    language: o.Language,
    stop_words: o.StopWords,
    tokenised: o.Tokenised,
    lemmas: o.Lemmas,
    multiwords: o.Multiwords,
    keep_text: o.KeepText,
    format_: o.Format,
    field: o.Field,
    wrapped: o.Wrapped,
    encoding: o.Encoding,
    errors: o.Errors,
    order: Order,
    window: o.Window,
    width: Widths,
    tuple_min_count: TupleMinCount,
    contexts: ContextSide,
    positional: Positional,
    memory: o.Memory,
    shift: Shift,
    smoothing: Smoothings,
    weights: Weights,
    method: Method,
    rank: ModelRank = None,
    themes: Themes = None,
    pair_scale: PairScale = None,
    zero_weight: ZeroWeight = None,
    zero_power: ZeroPower = None,
    order_weights: OrderWeights = None,
    l1: L1 = None,
    l2: L2 = None,
    power: Power = None,
    side: Side = None,
    count_exponent: CountExponent = None,
    residual: Residual = None,
    stop_weight: StopWeight = None,
    scores: Scores = None,
    score_weight: ScoreWeight = None,
    orthogonal: Orthogonal = None,
    max_iter: MaxIter = None,
    tol: Tol = None,
    validation: Validation = None,
    start: Start = None,
    solver: Solver = None,
    learning_rate: LearningRate = None,
    batch: Batch = None,
    sampled_zeros: SampledZeros = None,
    epochs: Epochs = None,
    context: Context = None,
    negative: Negative = None,
    seed: ModelSeed,
) -> None:
    """Make word vectors of text: read it, count tuples of words, weight them, and factorize."""
    check_replaceable(out, "embedding", overwrite=force)
    from polyadic.words import training as words

    if keep is not None and (keep.resolve() == out.resolve() or out.resolve() in keep.resolve().parents):
        raise InputError(f"--keep {keep} lies in --out {out}, which is written as a whole; name another folder")
    steps = output.Steps(silent=as_json)
    with keeping(lambda: [str(path) for path in sorted(keep.glob("*/"))] if keep else []):
        settings = o.chosen(ctx, but=("sources", "out", "keep", "force", "as_json", "scheduler", "workers"))
        vectors = words.train(o.source(sources), keep=keep, overwrite=force, steps=steps, **settings)
        vectors.save(out, overwrite=force)
    interrupted = vectors.meta["trained"]["interrupted"]
    places = [Path(sources[0]), *([] if keep is None else [keep / "corpus"])]  # of counts, none is kept
    looks = _looks(vectors, out, next((place for place in places if (place / "ids.npy").is_file()), None))
    sizes = {"words": len(vectors), "rank": vectors.rank, "interrupted": interrupted}
    output.wrote(out, {**sizes, "steps": steps.done, "look_at": [command for command, _ in looks]}, as_json=as_json)
    if not as_json and looks:
        typer.echo()
        output.table(["look at", "what you see"], looks)
    if interrupted:
        raise stopped(kept=[f"the vectors of the last sweep in {out}"])


FREQUENT = 200
"""Words among which those to look at are chosen."""


def _looks(vectors: "Embedding", out: Path, corpus: Path | None) -> list[tuple[str, str]]:
    """Give commands to look at the vectors with, by words whose neighbours are near but unlike one another."""
    import numpy as np

    from polyadic.embedding import components
    from polyadic.text.lines import FILE
    from polyadic.words.occurrences import MIN_OCCURRENCES

    counts = np.zeros(len(vectors)) if vectors.counts is None else vectors.counts
    rows = [row for row in np.argsort(-counts, kind="stable") if vectors.words[row].isalpha()][:FREQUENT]
    if len(rows) < 4:
        return []
    cosines = vectors.unit[rows] @ vectors.unit.T
    cosines[np.arange(len(rows)), rows] = -np.inf
    nearest = np.argsort(-cosines, axis=1)[:, : min(10, len(vectors) - 1)]
    near = np.take_along_axis(cosines, nearest, axis=1).mean(axis=1)
    alike = np.array([(vectors.unit[some] @ vectors.unit[some].T).mean() for some in nearest])
    mixed = np.argsort(np.where(near < np.median(near), np.inf, alike - near), kind="stable")
    word = vectors.words[rows[mixed[0]]]
    several = next((vectors.words[rows[at]] for at in mixed[1:] if counts[rows[at]] >= MIN_OCCURRENCES), None)
    others = [vectors.words[row] for row in nearest[mixed[0]][:4]]
    looks: list[tuple[tuple[Any, ...], str]] = [(("neighbours", out, word), " ".join(others))]
    if vectors.has_nonnegative_components or vectors.sparsity:
        strongest = np.argsort(-np.linalg.norm(vectors.components.vectors, axis=0))[:3].tolist()
        themes = [" ".join(word for word, _ in theme.words) for theme in components(vectors, strongest, top=4)]
        looks += [
            (("components", out), "; ".join(themes)),
            (("phrase", out, word, others[0]), "what the two share"),
        ]
    known = corpus or "CORPUS"
    if several is not None:
        missing = "" if corpus else "; keep the corpus for it: --keep DIR"
        looks.append((("senses", out, several, "--corpus", known), f"how often it is meant in which sense{missing}"))
    missing = "" if corpus else "; keep the corpus for it: --keep DIR --keep-text"
    if corpus and not (corpus / FILE).is_file():
        missing = "; keep the text for it: --keep-text"
    looks.append((("lines", known, word, others[0]), f"where the two stand together{missing}"))
    return [(output.command(command), shown) for command, shown in looks]
