"""``polyadic tag``: train, apply and evaluate taggers of parts of speech, morphology, lemmas and other tags."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from polyadic.core.errors import InputError
from polyadic.core.settings import Count, Help, Metavar, Out
from polyadic.interface import output
from polyadic.interface.run import Saved
from polyadic.interface.run import train as run
from polyadic.interface.task import Task
from polyadic.syntax.tasks.shared import ByLine, Text, Written, counts_in_json, print_counts, print_figures

if TYPE_CHECKING:
    from collections.abc import Iterator

    from polyadic.sequences.sequence_tagger import SequenceTagger
    from polyadic.syntax.text_tagger import TextTagger
    from polyadic.syntax.trees import Tree

    Tagger = SequenceTagger | TextTagger

OF_COLUMNS = "polyadic.sequences.sequence_tagger:SequenceTagger"
OF_TREEBANKS = "polyadic.syntax.text_tagger:TextTagger"
TASK = Task("tag", "Tag words with parts of speech, morphology, lemmas or chunks.", model=(OF_COLUMNS, OF_TREEBANKS))
Sentences = Annotated[
    Path, Metavar("SENTENCES"), Help("File of sentences in CoNLL-U or column format; - reads standard input.")
]
Input = Annotated[
    Path,
    Metavar("INPUT"),
    Help("File of sentences in CoNLL-U or column format, or of plain text if --text is given; - reads standard input."),
]


@TASK.verb(
    example="polyadic tag train latin.conllu --out tagger",
    settings={"given": (OF_COLUMNS, OF_TREEBANKS)},
    options=("columns", "rank", "loss", "l2", "max_iter", "min_count"),
)
def train(
    sentences: Sentences, given: dict[str, Any], *, out: Out, columns: bool = False, force: bool = False
) -> Saved:
    """Train a tagger on parts of speech, morphology and lemmas in CoNLL-U, or on the last column of other files.

    With --columns, tags that are all B-X, I-X and O are spans; if I-X follows B-X or I-X in all sentences, it does so
    in predictions too (bio).

    Parameters
    ----------
    columns
        Read column format (word, optional part of speech, tag) instead of CoNLL-U; required for --rank, --loss and
        --l2.
    max_iter
        Number of training epochs for each predicted column (default: 5; 10 with --columns).
    min_count
        Minimum number of occurrences of a feature (default: 2; 1 with --columns).
    """
    train_on = _train_columns if columns else _train_treebank
    return train_on(sentences, given, out, force=force).then("tag", "apply", out, "SENTENCES")


def _train_treebank(sentences: Path, given: dict[str, Any], out: Path, *, force: bool) -> Saved:
    from polyadic.core.methods import Method
    from polyadic.syntax.text_tagger import TextTagger
    from polyadic.syntax.trees import read_trees

    for name in given:
        if name not in Method(TextTagger).settings:
            raise InputError(f"{name} is used only with columns; set columns, or leave out {name}", name, "columns")
    trees: list[Tree] = []

    def summary(model: TextTagger) -> dict[str, Any]:
        losses = {f"loss of {column}": round(each.history_[-1], 4) for column, each in model.taggers_.items()}
        return {"sentences": len(trees), "words": sum(map(len, trees)), **losses}

    def read() -> list[Tree]:
        trees.extend(read_trees(sentences, heads=False))
        return trees

    return run(TextTagger(**given), read, out, force=force, summary=summary)


def _train_columns(sentences: Path, given: dict[str, Any], out: Path, *, force: bool) -> Saved:
    from polyadic.metrics.chunks import begun_by_b, spell_spans
    from polyadic.sequences.sequence_tagger import SequenceTagger

    model = SequenceTagger(**given)
    sizes: dict[str, int] = {}

    def read() -> tuple[list[list[list[str]]], list[tuple[str, ...]]]:
        X, y = _features_and_tags(sentences)
        if "bio" not in given:
            model.bio = spell_spans({tag for tags in y for tag in tags}) and all(map(begun_by_b, y))
        sizes.update(sentences=len(y), words=sum(map(len, y)))
        return X, y

    def summary(model: SequenceTagger) -> dict[str, Any]:
        learned = {"features": len(model.features_), "bio": model.bio, "tags": len(model.tags_)}
        return {**sizes, **learned, "epochs": model.n_iter_, "loss": round(model.history_[-1], 4)}

    return run(model, read, out, force=force, summary=summary, fit=lambda data: model.fit(*data))


@TASK.verb(example="polyadic tag apply tagger --text latin.txt --out tagged.conllu", json=False)
def apply(model: Tagger, sentences: Input, *, text: Text = False, by_line: ByLine = False, out: Written = None) -> None:
    """Write tagged sentences in CoNLL-U, or in column format with the predicted tag as an additional column.

    In CoNLL-U the columns lemma, upos, xpos and features are replaced; all others are unchanged.
    """
    from polyadic.syntax.plain_text import read_paragraphs
    from polyadic.syntax.text_tagger import TextTagger

    if by_line and not text:
        raise InputError("by_line is used only with text; set text, or leave out by_line", "by_line", "text")
    if not isinstance(model, TextTagger):
        if text:
            raise InputError("text requires a model trained on CoNLL-U; this model was trained on columns", "text")
        lines = _tagged_columns(model, sentences)
    elif text:
        lines = (tree.conllu() for tree in model.trees(read_paragraphs(sentences), by_line=by_line))
    else:
        lines = (tree.conllu() for tree in model.annotate(_trees(sentences)))
    output.write_lines(lines, out)


def _print_scores(result: dict[str, Any]) -> None:
    """Print the tagging metrics and any scores by span type."""
    print_figures(result["figures"], "cases")
    if result["kinds"]:
        print_counts("kind", result["kinds"])


def _print_weights(result: dict[str, Any]) -> None:
    """Print the features of each tag on one line, and the transitions."""

    def line(pairs: list[dict[str, Any]]) -> str:
        return " ".join(f"{pair['feature']}:{pair['weight']:.2f}" for pair in pairs)

    output.table(["tag", "features"], [(each["tag"], line(each["features"])) for each in result["tags"]])
    ends = ((each["tag"] or "<start>", each["next"] or "<end>", each["weight"]) for each in result["transitions"])
    output.table(["tag", "next", "weight"], [*ends])


@TASK.verb(example="polyadic tag evaluate tagger latin-test.conllu", show=_print_scores)
def evaluate(model: Tagger, sentences: Sentences, *, tables: bool = False) -> dict[str, Any]:
    """Compute the accuracy of tags, and precision, recall and F1 of spans, with 95 % intervals.

    Parameters
    ----------
    tables
        Also report the scores of each type of span.
    """
    from polyadic.metrics import chunks as c
    from polyadic.syntax.text_tagger import COLUMNS, TextTagger
    from polyadic.syntax.trees import read_trees

    kinds: list[Any] = []
    if isinstance(model, TextTagger):
        trees = list(read_trees(sentences, heads=False))
        tagged = list(model.annotate(trees))
        columns = {name: [[getattr(tree, name) for tree in side] for side in (trees, tagged)] for name in COLUMNS}
        figures = [c.tag_accuracy(*sides, name=name) for name, sides in columns.items()]
    else:
        X, gold = _features_and_tags(sentences, model)
        tags = model.predict(X)
        figures = [c.tag_accuracy(gold, tags)]
        if c.spell_spans({tag for row in gold for tag in row} | set(model.tags_)):
            figures += c.span_figures(gold, tags)
            kinds = c.by_kind(gold, tags) if tables else []
    if not figures[0].used:
        raise InputError(f"{sentences} has no words")
    counts = counts_in_json(kinds, "precision", "recall", "F1")
    return {"figures": [figure.as_dict() for figure in figures], "kinds": counts}


@TASK.verb(example="polyadic tag top tagger --top 3", show=_print_weights)
def top(model: Tagger, *, top: Count = 8, column: Literal["upos", "xpos", "features"] = "upos") -> dict[str, Any]:
    """List the features with the largest weights for each tag, and the transitions with the largest weights.

    Parameters
    ----------
    top
        Number of features of each tag, and of transitions.
    column
        Predicted column of CoNLL-U whose tags are listed.
    """
    from polyadic.syntax.text_tagger import TextTagger

    tagger = model.taggers_[column] if isinstance(model, TextTagger) else model
    tagger.features_ = model.features_
    best = tagger.top_features(top).items()
    tags = [{"tag": tag, "features": [{"feature": f, "weight": w} for f, w in pairs]} for tag, pairs in best]
    moves = [*tagger.transitions().items()][:top]
    return {"tags": tags, "transitions": [{"tag": s, "next": t, "weight": w} for (s, t), w in moves]}


def _trees(path: Path) -> Iterator[Tree]:
    """Read sentences, with heads of 0 for sentences without heads."""
    from polyadic.core.streams import name_of
    from polyadic.syntax.trees import numbered_sentences, tree_of

    for start, lines in numbered_sentences(path):
        heads = any(line.split("\t")[6:7] not in ([], ["_"]) for line in lines if line[0].isdigit())
        if (tree := tree_of(lines, start, name_of(str(path)), heads=heads)) is not None:
            yield tree


def _features_and_tags(
    path: Path, tagger: SequenceTagger | None = None
) -> tuple[list[list[list[str]]], list[tuple[str, ...]]]:
    """Read the features and tags of each sentence from a column file, and check the columns that a tagger requires."""
    from polyadic.syntax.columns import read_columns
    from polyadic.syntax.tag_features import need_tags, tag_features

    sentences = list(read_columns(path))
    if sentences and len(sentences[0]) < 2:
        raise InputError(f"{path} must have at least two columns, one of words and one of tags")
    if sentences and len(sentences[0]) < 3 and tagger is not None and need_tags(tagger.features_):
        about = "a column of parts of speech between the columns of words and tags"
        raise InputError(f"{path} must have {about}, because the tagger was trained with parts of speech")
    X = [tag_features(columns[0], columns[1] if len(columns) > 2 else None) for columns in sentences]
    return X, [columns[-1] for columns in sentences]


def _tagged_columns(tagger: SequenceTagger, path: Path) -> Iterator[str]:
    """Yield the lines of each sentence, with the predicted tag in the last column; ``O`` for a document boundary."""
    from polyadic.syntax.columns import BOUNDARY, headed_columns
    from polyadic.syntax.tag_features import need_tags, tag_features

    tags = need_tags(tagger.features_)
    for heading, columns in headed_columns(path):
        yield from (f"{line} O\n" if line.startswith(BOUNDARY) else f"{line}\n" for line in heading)
        if not columns:
            yield "\n"
            continue
        if tags and len(columns) < 2:
            about = "a column of parts of speech after the column of words"
            raise InputError(f"{path} must have {about}, because the tagger was trained with parts of speech")
        [predicted] = tagger.predict([tag_features(columns[0], columns[1] if tags else None)])
        yield "".join(f"{' '.join(row)}\n" for row in zip(*columns, predicted, strict=True)) + "\n"
