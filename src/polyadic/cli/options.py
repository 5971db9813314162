"""Arguments and options of the verbs, each written once."""

import dataclasses
import inspect
import math
import sys
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import typer

from polyadic.errors import InputError
from polyadic.recipes.methods import METHODS

Verb = TypeVar("Verb", bound=Callable[..., Any])
CORPUS, COUNTS, WEIGHTS, MODEL, TESTS = "Corpus", "Counts", "Weights", "Model", "Tests"
UNITS = {"K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}


def in_bytes(text: str) -> int:
    """Read a size such as ``4G`` or ``512M``."""
    number, unit = (text[:-1], UNITS[text[-1].upper()]) if text[-1:].upper() in UNITS else (text, 1)
    try:
        size = int(float(number) * unit)
    except (ValueError, OverflowError):
        size = 0
    if size < 1:
        raise typer.BadParameter(f"a size is a number above 0 with K, M, G or T, such as 4G; got {text!r}")
    return size


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


def names(text: str) -> tuple[str, ...]:
    """Read what stands between commas."""
    return tuple(name.strip() for name in text.split(",") if name.strip())


def numbers(flag: str, text: str, read: Callable[[str], Any]) -> tuple[Any, ...]:
    """Read numbers between commas; ``none`` is none of them."""
    try:
        return tuple(read(part) for part in text.split(",")) if text != "none" else ()
    except ValueError:
        raise InputError(f"{flag} takes numbers between commas, or none; got {text!r}") from None


def positive(text: str) -> int:
    """Read a whole number of at least 1."""
    number = int(text)
    if number < 1:
        raise ValueError(text)
    return number


def belonging(method: str, options: dict[str, tuple[Any, tuple[str, ...]]], *, flag: str = "--method") -> None:
    """Refuse options that are given to a method that does not take them; each with its value and its methods."""
    from polyadic.errors import InputError

    for name, (value, methods) in options.items():
        if value is not None and method not in methods:
            raise InputError(f"{name} is an option of {flag} {' or '.join(methods)}; leave it out for {method}")


def with_defaults_of(settings: type[Any]) -> Callable[[Verb], Verb]:
    """Give the options of a verb the defaults that settings of their names have, so that they are said once."""
    defaults = {field.name: field.default for field in dataclasses.fields(settings)}

    def decorate(verb: Verb) -> Verb:
        known = {name: name.rstrip("_") for name in inspect.signature(verb).parameters}
        verb.__kwdefaults__ = {
            **(verb.__kwdefaults__ or {}),
            **{name: defaults[setting] for name, setting in known.items() if setting in defaults},
        }
        return verb

    return decorate


def chosen(ctx: typer.Context, *, but: Collection[str] = ()) -> dict[str, Any]:
    """Give the options that stand on the command line, by the names of settings."""
    sources = {name: ctx.get_parameter_source(name) for name in ctx.params if name not in but}
    return {name.rstrip("_"): ctx.params[name] for name, at in sources.items() if at and at.name == "COMMANDLINE"}


def given(words: list[str]) -> list[str]:
    """Replace ``-`` by the words of standard input."""
    return [word for each in words for word in (sys.stdin.read().split() if each == "-" else [each])]


# Arguments
Texts = Annotated[
    list[str],
    typer.Argument(
        metavar="SOURCE...",
        help="Files, folders or globs of text (also .gz .bz2 .xz .zst), or - for standard input.",
    ),
]
Source = Annotated[
    str,
    typer.Argument(
        metavar="SOURCE",
        help="Text (a file, folder or glob, - for standard input), a corpus folder or a counts folder.",
    ),
]
CorpusFolder = Annotated[Path, typer.Argument(metavar="CORPUS", help="A folder made by `polyadic corpus`.")]
Vectors = Annotated[
    Path,
    typer.Argument(metavar="VECTORS", help="A folder made by `polyadic train`, or a word2vec, GloVe or fastText file."),
]
Words = Annotated[list[str], typer.Argument(metavar="WORD...", help="Words; - reads them from standard input.")]

# Everywhere
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of tables.")]
Force = Annotated[bool, typer.Option("--force", "-f", help="Replace what is there, if it is of the same kind.")]
Out = Annotated[Path, typer.Option("--out", "-o", metavar="DIR", help="The folder to write.")]
File = Annotated[
    Path | None, typer.Option("--out", "-o", metavar="FILE", help="The file to write.", show_default="standard output")
]
Threads = Annotated[int | None, typer.Option(min=1, help="Threads to use.", show_default="all cores")]
Jobs = Annotated[int | None, typer.Option(min=1, help="Processes to use.", show_default="all cores")]
Seed = Annotated[int, typer.Option(min=0, help="The same seed gives the same result.")]
Rank = Annotated[int, typer.Option(min=1, help="Length of a vector.")]
Top = Annotated[int, typer.Option("--top", "-n", min=1, help="How many to show.")]
TopWords = Annotated[int, typer.Option("--top", "-n", min=1, help="How many words to show.")]
Data = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR", help="The folder of test sets.", show_default="what POLYADIC_DATA names", rich_help_panel=TESTS
    ),
]

# Text
MinCount = Annotated[int, typer.Option(min=1, help="Drop words that are rarer.", rich_help_panel=CORPUS)]
MaxSize = Annotated[int | None, typer.Option(min=1, help="Keep only the most frequent words.", rich_help_panel=CORPUS)]
StopWords = Annotated[
    str,
    typer.Option(
        metavar="none|english|FILE", help="Words to leave out; a file has one a line.", rich_help_panel=CORPUS
    ),
]
Format = Annotated[
    Literal["auto", "text", "lines", "wiki", "mediawiki", "jsonl"],
    typer.Option("--format", help="What the text is; auto looks.", rich_help_panel=CORPUS),
]
Field = Annotated[
    str | None, typer.Option(metavar="NAME", help="The field of JSON lines that holds text.", rich_help_panel=CORPUS)
]
Encoding = Annotated[str, typer.Option(metavar="NAME", help="Encoding of the text.", rich_help_panel=CORPUS)]
Errors = Annotated[
    Literal["strict", "replace", "ignore"],
    typer.Option(help="What to do with bytes in another encoding.", rich_help_panel=CORPUS),
]
Digits = Annotated[
    Literal["keep", "drop", "zero"],
    typer.Option(help="Keep numbers, drop them, or write each digit as 0.", rich_help_panel=CORPUS),
]
Punctuation = Annotated[
    Literal["keep", "drop"], typer.Option(help="Whether punctuation marks are words.", rich_help_panel=CORPUS)
]
Tokenised = Annotated[
    bool, typer.Option("--tokenised", help="A line is a sentence, words lie between blanks.", rich_help_panel=CORPUS)
]

# Counts
ORDER_HELP = "Words in a tuple."
LARGEST = 2**31 - 1
Order = Annotated[int, typer.Option(min=2, max=5, help=ORDER_HELP, rich_help_panel=COUNTS)]
Window = Annotated[
    Literal["span", "centred", "chunk"],
    typer.Option(
        help="Words that fit into WIDTH + 1; that lie within WIDTH of one of them; sets of 2 WIDTH + 1.",
        rich_help_panel=COUNTS,
    ),
]
Width = Annotated[int, typer.Option(min=1, max=1000, help="Width of the window.", rich_help_panel=COUNTS)]
ContextSide = Annotated[
    Literal["both", "left", "right"],
    typer.Option("--contexts", help="Where context words stand; of ca and its kin.", rich_help_panel=COUNTS),
]
Positional = Annotated[
    bool,
    typer.Option("--positional", help="A word at another distance is another context.", rich_help_panel=COUNTS),
]
TUPLE_MIN_COUNT_HELP = "Drop tuples that are rarer."
TupleMinCount = Annotated[int, typer.Option(min=1, max=LARGEST, help=TUPLE_MIN_COUNT_HELP, rich_help_panel=COUNTS)]
Repeats = Annotated[bool, typer.Option("--repeats", help="Keep tuples that repeat a word.", rich_help_panel=COUNTS)]
Memory = Annotated[
    Any,
    typer.Option(parser=in_bytes, metavar="SIZE", help="Memory to stay below, such as 4G.", rich_help_panel=COUNTS),
]

# Weights
Shift = Annotated[
    Any,
    typer.Option(
        parser=per_order(float),
        metavar="K[/K...]",
        help="Entries are max(PMI - log K, 0); a K for each order where there are several.",
        rich_help_panel=WEIGHTS,
    ),
]
Smoothing = Annotated[
    float, typer.Option(min=0.01, max=1, help="Power of the words' probabilities.", rich_help_panel=WEIGHTS)
]
Weights = Annotated[
    Any,
    typer.Option(
        parser=per_order(entry_weights),
        metavar="log|count|uniform|X,A[/...]",
        help="Weight of an entry of count n: log(1 + n), n, 1, or min(n / X, 1)^A; one for each order, or for all.",
        rich_help_panel=WEIGHTS,
    ),
]

# Model, for `train`: options not given are left to the model
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
        rich_help_panel=MODEL,
    ),
]


def _model(*flags: str, **how: Any) -> Any:
    """Make an option of the model; unless given, it is left to the model."""
    return typer.Option(*flags, rich_help_panel=MODEL, **how)


ModelRank = Annotated[int | None, _model(min=1, help="Length of a vector.", show_default="300; tucker 50, cp-apr 100")]
ZeroWeight = Annotated[
    float | None,
    _model(
        min=0,
        max=LARGEST,
        help="Mean weight of tuples that do not occur.",
        show_default="together 6 times what pairs weigh, 50 times what larger tuples do",
    ),
]
ZeroPower = Annotated[
    float | None,
    _model(min=0, max=LARGEST, help="Power of the degrees of words that such tuples weigh by.", show_default="0.75"),
]
Themes = Annotated[
    int | None,
    _model(min=1, help="Non-negative columns, which explain larger tuples.", show_default="half of the rank"),
]
Coupling = Annotated[
    float | None, _model(min=0, max=1, help="Scale of themes in the explanation of pairs.", show_default="0.5")
]
OrderWeights = Annotated[
    Any | None,
    _model(
        parser=per_order(float), metavar="A/B...", help="How much each order counts, from 2 on.", show_default="1/1"
    ),
]
L1 = Annotated[float | None, _model("--l1", min=0, max=LARGEST, help="Weight of the sum of vectors; nnse: of codes.")]
L2 = Annotated[float | None, _model("--l2", min=0, max=LARGEST, help="Weight of the squared vectors.")]
Power = Annotated[float | None, _model(min=0, max=LARGEST, help="Power of the singular values.", show_default="0.5")]
Side = Annotated[
    Literal["rows", "columns"] | None,
    _model(help="Vectors of words, or of contexts.", show_default="rows"),
]
Temper = Annotated[
    float | None, _model(min=0.01, max=1, help="Power that counts are taken to first.", show_default="1")
]
Case = Annotated[
    Literal["ca", "gini", "g-test", "sgns", "glove"] | None,
    _model(help="What is left of a table besides its margins.", show_default="ca"),
]
StopWeight = Annotated[
    float | None,
    _model(metavar="A", help="Weigh stop words by 1 + A; keep them in the text: --stop-words none.", show_default="0"),
]
Scores = Annotated[Path | None, _model(metavar="FILE", help="Pairs of words with a similarity to learn from.")]
ScoreWeight = Annotated[float | None, _model(min=0, max=LARGEST, help="How much they count.", show_default="1")]
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
Step = Annotated[float | None, _model(min=0, max=LARGEST, help="Length of a step of the online solver.")]
Batch = Annotated[
    int | None, _model(min=1, help="Entries per step of the online solver.", show_default="a 256th of all")
]
SampledZeros = Annotated[
    float | None, _model(min=0, max=LARGEST, help="Zeros drawn per entry, online, for the zero weight.")
]
Epochs = Annotated[int | None, _model(min=1, help="Passes over the data.")]
Context = Annotated[int | None, _model(min=1, max=1000, help="Words to each side, of word2vec.", show_default="5")]
Negative = Annotated[int | None, _model(min=1, max=1000, help="Noise words per word, of word2vec.", show_default="5")]
ModelSeed = Annotated[int, _model(min=0, help="The same seed gives the same vectors.")]
ModelThreads = Annotated[int | None, typer.Option(min=1, help="Threads to use.", show_default="all cores; word2vec 1")]
