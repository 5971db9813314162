"""``polyadic tag``: parts of speech, morphology and lemmas of sentences or plain text, and any tags in columns."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from polyadic.cli import options as o
from polyadic.core.errors import InputError
from polyadic.interface import output
from polyadic.interface.command_line import add_verbs

app = typer.Typer(no_args_is_help=True, help="Tag words: parts of speech, morphology, lemmas, chunks.")

Sentences = Annotated[
    Path, typer.Argument(metavar="SENTENCES", help="In CoNLL-U, or in columns; `-` for standard input.")
]
Input = Annotated[
    Path, typer.Argument(metavar="INPUT", help="Sentences in CoNLL-U or columns, or text; `-` for standard input.")
]
Model = Annotated[Path, typer.Argument(metavar="MODEL", help="A folder made by `polyadic tag train`.")]
Columns = Annotated[
    bool,
    typer.Option(
        "--columns",
        help="Words come first and tags to learn last in a line, with a part of speech between them or not.",
    ),
]
COLUMNS = "--columns"
WITH_TAGS = "parts of speech, as what the tagger has learned from"
Rank = Annotated[int | None, typer.Option(min=1, help="Of weights; with --columns.", show_default="any")]
Loss = Annotated[
    Literal["likelihood", "hinge", "perceptron"] | None,
    typer.Option(help="What is made small; with --columns.", show_default="likelihood"),
]
Penalty = Annotated[
    float | None, typer.Option("--l2", min=0, help="Of squared weights; with --columns.", show_default="0")
]
Epochs = Annotated[int | None, typer.Option(min=1, help="Passes over the sentences.", show_default="10; CoNLL-U 5")]
MinCount = Annotated[
    int | None, typer.Option(min=1, help="Minimum number of occurrences of a feature.", show_default="1; CoNLL-U 2")
]
Tables = Annotated[bool, typer.Option("--tables", help="Of spans, also by kind.")]


def train(
    sentences: Sentences,
    *,
    out: o.Out,
    columns: Columns = False,
    rank: Rank = None,
    loss: Loss = None,
    l2: Penalty = None,
    epochs: Epochs = None,
    min_count: MinCount = None,
    seed: o.Seed = 0,
    force: o.Force = False,
    as_json: o.AsJson = False,
) -> None:
    """Learn upos, xpos, morphology and lemmas from CoNLL-U, or the last column of a file of columns.

    Tags B-X, I-X and O of a last column are those of spans. If I-X follows B-X or I-X always, it always will (bio).
    """
    from polyadic.core.files import check_replaceable
    from polyadic.core.serialization import KIND
    from polyadic.syntax.text_tagger import TextTagger
    from polyadic.syntax.trees import read_trees

    check_replaceable(out, KIND, overwrite=force)
    given = {name: value for name, value in (("rank", rank), ("loss", loss), ("l2", l2)) if value is not None}
    common: dict[str, Any] = {
        name: value for name, value in (("max_iter", epochs), ("min_count", min_count)) if value is not None
    }
    common["seed"] = seed
    if columns:
        model, facts = _learned_columns(sentences, given | common)
    else:
        o.belonging("CoNLL-U", {f"--{name}": (value, (COLUMNS,)) for name, value in given.items()}, flag="tag train")
        trees = list(read_trees(sentences, heads=False))
        model = TextTagger(**common).fit(trees)
        facts = {"sentences": len(trees), "words": sum(map(len, trees))}
        facts |= {f"loss of {column}": round(tagger.history_[-1], 4) for column, tagger in model.taggers_.items()}
    output.saved(model, out, facts, force=force, as_json=as_json, hint=("tag", "apply", out, "SENTENCES"))


def apply(
    model: Model, sentences: Input, *, text: o.PlainText = False, by_line: o.ByLine = False, out: o.File = None
) -> None:
    """Write sentences with their tags: CoNLL-U of CoNLL-U or text, or columns with one more.

    In CoNLL-U the columns lemma, upos, xpos and features are told anew, all others stay.
    """
    from polyadic.syntax.plain_text import read_paragraphs
    from polyadic.syntax.text_tagger import TextTagger

    if by_line and not text:
        raise InputError("--by-line goes with --text")
    tagger = _load(model)
    if not isinstance(tagger, TextTagger):
        if text:
            raise InputError(f"{model} tags columns; --text needs a tagger learned from CoNLL-U")
        lines = _tagged_columns(tagger, sentences)
    elif text:
        lines = (tree.conllu() for tree in tagger.trees(read_paragraphs(sentences), by_line=by_line))
    else:
        lines = (tree.conllu() for tree in tagger.annotate(_trees(sentences)))
    output.write_lines(lines, out)


def evaluate(model: Model, sentences: Sentences, *, tables: Tables = False, as_json: o.AsJson = False) -> None:
    """Tell the share of right tags, and F1 of spans, with intervals."""
    from polyadic.metrics import chunks as c
    from polyadic.syntax.text_tagger import COLUMNS as TEXT_COLUMNS
    from polyadic.syntax.text_tagger import TextTagger
    from polyadic.syntax.trees import read_trees

    tagger, kinds = _load(model), []
    if isinstance(tagger, TextTagger):
        trees = list(read_trees(sentences, heads=False))
        tagged = list(tagger.annotate(trees))
        columns = {name: [[getattr(tree, name) for tree in side] for side in (trees, tagged)] for name in TEXT_COLUMNS}
        figures = [c.tag_accuracy(*sides, name=name) for name, sides in columns.items()]
    else:
        X, gold = _features_and_tags(sentences, tagger)
        tags = tagger.predict(X)
        figures = [c.tag_accuracy(gold, tags)]
        if c.spell_spans({tag for row in gold for tag in row} | set(tagger.tags_)):
            figures += c.span_figures(gold, tags)
            kinds = c.by_kind(gold, tags) if tables else []
    if not figures[0].used:
        raise InputError(f"{sentences} has no words")
    if as_json:
        rows = [{**r._asdict(), "precision": r.precision, "recall": r.recall, "F1": r.f1} for r in kinds]
        output.in_json({"figures": [figure.as_dict() for figure in figures], "kinds": rows})
        return
    output.table(["figure", "value", "interval", "cases"], [(f.name, f.value, f.interval(), f.used) for f in figures])
    if kinds:
        headings = ["kind", "gold", "found", "precision", "recall", "F1"]
        output.table(headings, [(r.name, r.gold, r.found, r.precision, r.recall, r.f1) for r in kinds])


def _load(path: Path) -> Any:
    """Read a tagger of either kind."""
    from polyadic.core.serialization import load
    from polyadic.sequences.sequence_tagger import SequenceTagger
    from polyadic.syntax.text_tagger import TextTagger

    return load(path, (SequenceTagger, TextTagger))


def _trees(path: Path) -> Iterator[Any]:
    """Read sentences with their heads, or with heads of 0 where there are none."""
    from polyadic.syntax.trees import numbered_sentences, tree_of
    from polyadic.text.streams import name_of

    for start, lines in numbered_sentences(path):
        heads = any(line.split("\t")[6:7] not in ([], ["_"]) for line in lines if line[0].isdigit())
        if (tree := tree_of(lines, start, name_of(str(path)), heads=heads)) is not None:
            yield tree


def _features_and_tags(path: Path, tagger: Any = None) -> tuple[list[list[list[str]]], list[tuple[str, ...]]]:
    """Read what a tagger of columns learns from, or is tested on."""
    from polyadic.syntax.columns import read_columns
    from polyadic.syntax.tag_features import need_tags, tag_features

    sentences = list(read_columns(path))
    if sentences and len(sentences[0]) < 2:
        raise InputError(f"{path} must have at least two columns, words and tags")
    if sentences and len(sentences[0]) < 3 and tagger is not None and need_tags(tagger.features_):
        raise InputError(f"{path} must have words, {WITH_TAGS}, and tags")
    X = [tag_features(columns[0], columns[1] if len(columns) > 2 else None) for columns in sentences]
    return X, [columns[-1] for columns in sentences]


def _learned_columns(path: Path, options: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Learn the last column, and tell of what and how well."""
    from polyadic.metrics.chunks import begun_by_b, spell_spans
    from polyadic.sequences.sequence_tagger import SequenceTagger

    X, y = _features_and_tags(path)
    bio = spell_spans({tag for tags in y for tag in tags}) and all(map(begun_by_b, y))
    model = SequenceTagger(**options, bio=bio).fit(X, y)
    facts = {"sentences": len(y), "words": sum(map(len, y)), "features": len(model.features_)}
    facts |= {"bio": model.bio, "tags": len(model.tags_)}
    return model, facts | {"epochs": model.n_iter_, "loss": round(model.history_[-1], 4)}


def _tagged_columns(tagger: Any, path: Path) -> Iterator[str]:
    """Give the lines of sentences, each with its tag at the end."""
    from polyadic.syntax.columns import read_columns
    from polyadic.syntax.tag_features import need_tags, tag_features

    tags = need_tags(tagger.features_)
    for columns in read_columns(path):
        if tags and len(columns) < 2:
            raise InputError(f"{path} must have words and {WITH_TAGS}")
        [predicted] = tagger.predict([tag_features(columns[0], columns[1] if tags else None)])
        yield "".join(f"{' '.join(row)}\n" for row in zip(*columns, predicted, strict=True)) + "\n"


add_verbs(
    app,
    {
        train: "polyadic tag train latin.conllu --out tagger",
        apply: "polyadic tag apply tagger --text latin.txt --out tagged.conllu",
        evaluate: "polyadic tag evaluate tagger latin-test.conllu",
    },
)
