"""``polyadic parse``: dependency trees of tagged sentences, by a tensor of low rank."""

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from polyadic.cli import options as o
from polyadic.cli.constituents import app as constituents
from polyadic.core.errors import InputError
from polyadic.interface import output
from polyadic.interface.command_line import add_verbs

app = typer.Typer(
    no_args_is_help=True, help="Parse sentences, or plain text, into dependency trees; or into trees of phrases."
)

Trees = Annotated[Path, typer.Argument(metavar="TREES", help="Sentences in CoNLL-U or -X, `-` for standard input.")]
Gold = Annotated[Path, typer.Argument(metavar="GOLD", help="Sentences of a treebank.")]
Parses = Annotated[
    list[Path], typer.Argument(metavar="A B...", help="The same sentences, parsed; the first is compared with.")
]
Input = Annotated[Path, typer.Argument(metavar="INPUT", help="Sentences in CoNLL-U, or text; `-` for standard input.")]
Tagger = Annotated[
    Path | None,
    typer.Option(metavar="DIR", help="A folder made by `polyadic tag train`.", show_default="what the sentences say"),
]
Model = Annotated[Path, typer.Argument(metavar="MODEL", help="A folder made by `polyadic parse train`.")]
Rank = Annotated[int, typer.Option(min=1, help="Of the tensor.")]
Gamma = Annotated[float, typer.Option(min=0, max=1, help="Share of pairs of features; 1 is no tensor.")]
Cap = Annotated[float, typer.Option("--C", help="Length of a step at most, above 0.")]
Epochs = Annotated[int, typer.Option(min=1, help="Passes over the sentences, at most.")]
Validation = Annotated[
    Path | None,
    typer.Option(
        metavar="TREES", help="Keep the pass that parses these best; end when five are no better.", show_default="none"
    ),
]
Order = Annotated[int, typer.Option(min=1, max=3, help="Arcs looked at together, at most: 3 is best and slowest.")]
Heads = Annotated[bool, typer.Option("--heads", help="Learn heads alone, no relations.")]
Decoding = Annotated[Literal["projective", "any"], typer.Option(help="Whether arcs may cross.")]
SeveralRoots = Annotated[bool, typer.Option("--several-roots", help="Let several words depend on the root.")]
Updates = Annotated[Literal["all", "cyclic"], typer.Option(help="Whether a step moves all factors, or one in turn.")]
Vectors = Annotated[
    Path | None,
    typer.Option(metavar="VECTORS", help="Word vectors to learn with, kept in the model.", show_default="none"),
]
Invalid = Annotated[Literal["raise", "skip"], typer.Option(help="What becomes of sentences whose heads are no tree.")]
Universal = Annotated[
    bool, typer.Option("--universal", help="Look at relations without subtypes: nsubj:pass is nsubj.")
]
Tables = Annotated[bool, typer.Option("--tables", help="Also by relation, and by the length of arcs.")]


def train(
    trees: Trees,
    *,
    out: o.Out,
    rank: Rank = 50,
    order: Order = 1,
    gamma: Gamma = 0.3,
    cap: Cap = 0.01,
    epochs: Epochs = 10,
    validation: Validation = None,
    heads: Heads = False,
    decoding: Decoding = "projective",
    several_roots: SeveralRoots = False,
    updates: Updates = "all",
    vectors: Vectors = None,
    invalid: Invalid = "raise",
    seed: o.Seed = 0,
    force: o.Force = False,
    as_json: o.AsJson = False,
) -> None:
    """Learn from the sentences of a treebank: words, parts of speech, and lemmas and morphology if they are there."""
    from polyadic.core.files import check_replaceable
    from polyadic.core.serialization import KIND
    from polyadic.embedding import read_vectors
    from polyadic.syntax.higher_order import HigherOrderParser
    from polyadic.syntax.low_rank_parser import LowRankParser
    from polyadic.syntax.trees import read_trees

    check_replaceable(out, KIND, overwrite=force)
    if not (sentences := list(read_trees(trees, invalid=invalid))):
        raise InputError(f"{trees} has no sentences to learn from")
    judged = None if validation is None else list(read_trees(validation, invalid=invalid))
    if judged is not None and not judged:
        raise InputError(f"{validation} has no sentences to judge passes by")
    options: dict[str, Any] = {"gamma": gamma, "C": cap, "max_iter": epochs, "labels": not heads, "updates": updates}
    options["vectors"] = None if vectors is None else read_vectors(vectors)
    options |= {"decoding": decoding, "one_root": not several_roots, "seed": seed}
    parser = LowRankParser(rank, **options) if order == 1 else HigherOrderParser(rank, order=order, **options)
    model = parser.fit(sentences, validation=judged)
    facts: dict[str, Any] = {
        "sentences": len(sentences),
        "words": sum(map(len, sentences)),
        "features": len(model.features_),
    }
    facts |= {"relations": len(model.relations_), "epochs": model.n_iter_}
    if validation is not None:
        facts |= {"best_epoch": model.result_.best, "validation_error": round(min(model.result_.measured), 4)}
    facts |= {"loss": round(model.history_[-1], 4), "seconds": round(model.result_.seconds[-1], 2)}
    output.saved(model, out, facts, force=force, as_json=as_json, hint=("parse", "apply", out, "TREES"))


def apply(
    model: Model,
    trees: Input,
    *,
    tagger: Tagger = None,
    text: o.PlainText = False,
    by_line: o.ByLine = False,
    out: o.File = None,
) -> None:
    """Write sentences with the heads and relations of their best trees; those that they have are not looked at.

    With --tagger parts of speech, lemmas and morphology are found too, and with --text words and sentences.
    Enhanced dependencies, and PHEAD and PDEPREL, are left empty: they would be those of another tree.
    """
    from polyadic.core.serialization import load
    from polyadic.syntax.low_rank_parser import LowRankParser

    parsed = load(model, LowRankParser).annotate(_sentences(trees, tagger, text=text, by_line=by_line))
    output.write_lines((tree.conllu() for tree in parsed), out)


def evaluate(
    model: Model,
    trees: Trees,
    *,
    universal: Universal = False,
    tables: Tables = False,
    tagger: Tagger = None,
    invalid: Invalid = "raise",
    as_json: o.AsJson = False,
) -> None:
    """Tell attachment scores on the sentences of a treebank, with intervals, with and without punctuation.

    With --tagger its parts of speech, lemmas and morphology are used, not those of the treebank.
    """
    from polyadic.core.serialization import load
    from polyadic.metrics import dependencies as d
    from polyadic.syntax.low_rank_parser import LowRankParser
    from polyadic.syntax.trees import read_trees

    parser = load(model, LowRankParser)
    if not (gold := list(read_trees(trees, invalid=invalid))):
        raise InputError(f"{trees} has no sentences to be judged on")
    parsed = list(parser.annotate(gold if tagger is None else _tagger(tagger).annotate(gold)))
    counts = [d.match_trees(*pair, subtypes=not universal) for pair in zip(gold, parsed, strict=True)]
    score, figures = d.dependency_score(counts), d.dependency_figures(counts)
    kinds: dict[str, Any] = {}
    if tables:
        kinds = {"relation": d.by_relation(gold, parsed, subtypes=not universal), "length": d.by_distance(gold, parsed)}
    if as_json:
        rows = {
            kind: [{**r._asdict(), "precision": r.precision, "recall": r.recall} for r in table]
            for kind, table in kinds.items()
        }
        output.in_json({**score.as_dict(), "figures": [figure.as_dict() for figure in figures], **rows})
        return
    output.table(["figure", "value", "interval", "words"], [(f.name, f.value, f.interval(), f.used) for f in figures])
    output.table(
        ["sentences", "all heads right", "and relations"], [(score.sentences, score.exact, score.exact_labelled)]
    )
    for kind, rows in kinds.items():
        output.table([kind, "gold", "found", "precision", "recall"], [(*r[:3], r.precision, r.recall) for r in rows])


def compare(gold: Gold, parses: Parses, *, universal: Universal = False, as_json: o.AsJson = False) -> None:
    """Compare parses of the same sentences, and tell which differ from the first (95 %, paired by sentences)."""
    from polyadic.metrics import dependencies as d
    from polyadic.metrics.figures import difference
    from polyadic.syntax.trees import read_trees

    if len(parses) < 2:
        raise InputError(f"comparing needs at least two files of parses; got {len(parses)}")
    trees, figures = list(read_trees(gold)), []
    for path in parses:
        counts = d.match_files(trees, list(read_trees(path)), subtypes=not universal, name=str(path))
        figures.append(d.dependency_figures(counts))
    differences = [[difference(b, a) for a, b in zip(figures[0], other, strict=True)] for other in figures[1:]]
    if as_json:
        rows = [
            {"parses": str(path), "figures": [f.as_dict() for f in own]}
            for path, own in zip(parses, figures, strict=True)
        ]
        for row, minus in zip(rows[1:], differences, strict=True):
            row["minus first"] = [{**x._asdict(), "certain": x.certain} for x in minus]
        output.in_json({"gold": str(gold), "sentences": len(trees), "parses": rows})
        return
    for path, own, minus in zip(parses[1:], figures[1:], differences, strict=True):
        output.table(
            ["figure", str(parses[0]), str(path), "difference", "interval", "certain"],
            [
                (a.name, a.value, b.value, x.value, (x.low, x.high), x.certain)
                for a, b, x in zip(figures[0], own, minus, strict=True)
            ],
        )


def _sentences(path: Path, tagger: Path | None, *, text: bool, by_line: bool) -> Iterable[Any]:
    """Read sentences with parts of speech, or find these."""
    from polyadic.syntax.plain_text import read_paragraphs
    from polyadic.syntax.trees import read_trees

    if by_line and not text:
        raise InputError("--by-line goes with --text")
    if tagger is None:
        if text:
            raise InputError("--text needs --tagger, a folder made by `polyadic tag train`, to find parts of speech")
        return read_trees(path, heads=False)
    tags = _tagger(tagger)
    if text:
        return tags.trees(read_paragraphs(path), by_line=by_line)
    return tags.annotate(read_trees(path, heads=False))


def _tagger(path: Path) -> Any:
    """Read a tagger of all columns."""
    from polyadic.core.serialization import load
    from polyadic.syntax.text_tagger import TextTagger

    return load(path, TextTagger)


add_verbs(
    app,
    {
        train: "polyadic parse train latin.conllu --out parser",
        apply: "polyadic parse apply parser latin.txt --text --tagger tagger --out parsed.conllu",
        evaluate: "polyadic parse evaluate parser latin-test.conllu --tables",
        compare: "polyadic parse compare latin-test.conllu parsed.conllu latin-test.conllu",
    },
)
app.add_typer(constituents, name="constituents")
