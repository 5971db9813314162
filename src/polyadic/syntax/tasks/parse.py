"""``polyadic parse``: train, apply, evaluate and compare dependency parsers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from polyadic.core.errors import InputError
from polyadic.core.settings import Folder, Help, Metavar, Natural, Out, Within
from polyadic.interface import output
from polyadic.interface.run import Saved
from polyadic.interface.run import train as run
from polyadic.interface.task import Task
from polyadic.syntax.tasks import constituents
from polyadic.syntax.tasks.shared import ByLine, Input, Text, Written, counts_in_json, print_counts, print_figures, some

if TYPE_CHECKING:
    from collections.abc import Iterable

    from polyadic.syntax.low_rank_parser import LowRankParser
    from polyadic.syntax.text_tagger import TextTagger
    from polyadic.syntax.trees import Tree

PARSER = "polyadic.syntax.low_rank_parser:LowRankParser"
TASK = Task(
    "parse",
    "Parse sentences or plain text into dependency trees or constituency trees.",
    model=PARSER,
    groups={"constituents": constituents.TASK},
)
Trees = Annotated[Path, Metavar("TREES"), Help("File with sentences in CoNLL-U or CoNLL-X; - reads standard input.")]
Gold = Annotated[Path, Metavar("GOLD"), Help("Treebank file with gold-standard trees.")]
Parses = Annotated[
    list[str],
    Metavar("PARSES"),
    Help("Files with parses of the sentences in the gold treebank; all others are compared with the first."),
]
Tagger = Annotated[
    Folder | None, Help("Folder of a saved tagger to use instead of the tags in the file (default: tags of the file).")
]
Invalid = Annotated[
    Literal["raise", "skip"],
    Help("Treatment of sentences whose heads do not form a tree: raise an error or skip the sentence."),
]
Universal = Annotated[bool, Help("Ignore the subtypes of relations, such as pass in nsubj:pass.")]


@TASK.verb(
    example="polyadic parse train latin.conllu --out parser",
    settings={"given": (PARSER,)},
    options=("order", "max_iter", "validation", "vectors", "decoding", "one_root", "invalid"),
)
def train(
    trees: Trees,
    given: dict[str, Any],
    *,
    out: Out,
    order: Annotated[int, Within(1, 3)] = 1,
    restarts: Natural | None = None,
    validation: Annotated[Path, Metavar("TREES")] | None = None,
    vectors: Annotated[Path, Metavar("VECTORS")] | None = None,
    invalid: Invalid = "raise",
    force: bool = False,
) -> Saved:
    """Train a dependency parser on the words, parts of speech, lemmas and morphology of a treebank.

    Parameters
    ----------
    order
        Maximum number of arcs scored jointly; 3 is the most accurate and the slowest.
    restarts
        Number of random starts of the tree search, for order 2 and 3 (default: 20).
    validation
        File of validation sentences; training keeps the best epoch and stops after five epochs without improvement.
    vectors
        Word vectors to use as additional features and to save with the model.
    """
    from polyadic.embedding import read_vectors
    from polyadic.syntax.higher_order import HigherOrderParser
    from polyadic.syntax.low_rank_parser import LowRankParser
    from polyadic.syntax.trees import read_trees

    if order == 1 and restarts is not None:
        raise InputError("restarts is used only with order 2 or 3; set order or omit restarts", "restarts", "order")
    searched: dict[str, Any] = {} if restarts is None else {"restarts": restarts}
    parser = LowRankParser(**given) if order == 1 else HigherOrderParser(order=order, **given, **searched)
    sentences: list[Tree] = []
    held_out: list[Tree] = []

    def read() -> list[Tree]:
        sentences.extend(some(read_trees(trees, invalid=invalid), f"{trees} has no sentences to train on"))
        if validation is not None:
            found = read_trees(validation, invalid=invalid)
            held_out.extend(some(found, f"{validation} has no sentences to validate on"))
        if vectors is not None:
            parser.vectors = read_vectors(vectors)
        return sentences

    def summary(model: LowRankParser) -> dict[str, Any]:
        result: dict[str, Any] = {"sentences": len(sentences), "words": sum(map(len, sentences))}
        result |= {"features": len(model.features_), "relations": len(model.relations_), "epochs": model.n_iter_}
        if held_out:
            result |= {"best_epoch": model.result_.best, "validation_error": round(min(model.result_.measured), 4)}
        return result | {"loss": round(model.history_[-1], 4), "seconds": round(model.result_.seconds[-1], 2)}

    def fit(data: list[Tree]) -> LowRankParser:
        return parser.fit(data, validation=held_out or None)

    return run(parser, read, out, force=force, summary=summary, fit=fit).then("parse", "apply", out, "TREES")


@TASK.verb(example="polyadic parse apply parser latin.txt --text --tagger tagger --out parsed.conllu", json=False)
def apply(
    model: LowRankParser,
    trees: Input,
    *,
    tagger: Tagger = None,
    text: Text = False,
    by_line: ByLine = False,
    out: Written = None,
) -> None:
    """Parse sentences and write the predicted heads and relations; heads and relations in the file are ignored.

    With --tagger, parts of speech, lemmas and morphology are predicted too, and with --text, sentences and words.
    Enhanced dependencies, PHEAD and PDEPREL are left empty, because they belong to other trees.
    """
    parsed = model.annotate(_sentences(trees, tagger, text=text, by_line=by_line))
    output.write_lines((tree.conllu() for tree in parsed), out)


def _print_scores(result: dict[str, Any]) -> None:
    """Print the attachment scores, the shares of correct sentences, and any scores by relation and length."""
    print_figures(result["figures"], "words")
    headings = ["sentences", "unlabelled exact match", "labelled exact match"]
    output.table(headings, [(result["sentences"], result["exact"], result["exact_labelled"])])
    for kind in ("relation", "length"):
        if kind in result:
            print_counts(kind, result[kind])


@TASK.verb(example="polyadic parse evaluate parser latin-test.conllu --tables", show=_print_scores)
def evaluate(
    model: LowRankParser,
    trees: Trees,
    *,
    universal: Universal = False,
    tables: bool = False,
    tagger: Tagger = None,
    invalid: Invalid = "raise",
) -> dict[str, Any]:
    """Compute attachment scores on a treebank, with and without punctuation, with 95 % intervals.

    With --tagger, its parts of speech, lemmas and morphology are used instead of those of the treebank.

    Parameters
    ----------
    tables
        Also report the scores of each relation and of each arc length.
    """
    from polyadic.metrics import dependencies as d
    from polyadic.syntax.trees import read_trees

    gold = some(read_trees(trees, invalid=invalid), f"{trees} has no sentences to evaluate on")
    parsed = list(model.annotate(gold if tagger is None else _tagger(tagger).annotate(gold)))
    counts = [d.match_trees(*pair, subtypes=not universal) for pair in zip(gold, parsed, strict=True)]
    result = d.dependency_score(counts).as_dict()
    result["figures"] = [figure.as_dict() for figure in d.dependency_figures(counts)]
    if tables:
        result["relation"] = counts_in_json(d.by_relation(gold, parsed, subtypes=not universal), "precision", "recall")
        result["length"] = counts_in_json(d.by_distance(gold, parsed), "precision", "recall")
    return result


def _print_comparison(result: dict[str, Any]) -> None:
    """Print a table that compares each file of parses with the first."""
    first, *others = result["parses"]
    for other in others:
        rows = [
            (a["name"], a["value"], b["value"], x["value"], (x["low"], x["high"]), x["certain"])
            for a, b, x in zip(first["figures"], other["figures"], other["minus first"], strict=True)
        ]
        output.table(["metric", first["parses"], other["parses"], "difference", "95 % interval", "significant"], rows)


@TASK.verb(example="polyadic parse compare latin-test.conllu parsed.conllu latin-test.conllu", show=_print_comparison)
def compare(gold: Gold, parses: Parses, *, universal: Universal = False) -> dict[str, Any]:
    """Compare the parses in several files with those in the first, with 95 % intervals of the differences in score."""
    from polyadic.metrics import dependencies as d
    from polyadic.metrics.figures import difference
    from polyadic.syntax.trees import read_trees

    if len(parses) < 2:
        raise InputError(f"a comparison requires at least two files of parses; got {len(parses)}")
    trees, figures, rows = list(read_trees(gold)), [], []
    for path in parses:
        counts = d.match_files(trees, list(read_trees(Path(path))), subtypes=not universal, name=path)
        figures.append(d.dependency_figures(counts))
        rows.append({"parses": path, "figures": [figure.as_dict() for figure in figures[-1]]})
    for row, other in zip(rows[1:], figures[1:], strict=True):
        minus = [difference(b, a) for a, b in zip(figures[0], other, strict=True)]
        row["minus first"] = [{**each._asdict(), "certain": each.certain} for each in minus]
    return {"gold": str(gold), "sentences": len(trees), "parses": rows}


def _sentences(path: Path, tagger: Path | None, *, text: bool, by_line: bool) -> Iterable[Tree]:
    """Read sentences with parts of speech, or predict the parts of speech with a tagger."""
    from polyadic.syntax.plain_text import read_paragraphs
    from polyadic.syntax.trees import read_trees

    if by_line and not text:
        raise InputError("by_line is used only with text; set text, or leave out by_line", "by_line", "text")
    if text and tagger is None:
        about = "text requires tagger; set tagger to the folder of a model trained by `polyadic tag train`"
        raise InputError(about, "text", "tagger")
    if tagger is None:
        return read_trees(path, heads=False)
    tags = _tagger(tagger)
    if text:
        return tags.trees(read_paragraphs(path), by_line=by_line)
    return tags.annotate(read_trees(path, heads=False))


def _tagger(path: Path) -> TextTagger:
    """Load a tagger trained on CoNLL-U."""
    from polyadic.core.serialization import load
    from polyadic.syntax.text_tagger import TextTagger

    return load(path, TextTagger)
