"""``polyadic sentences``: vectors of sentences from nothing but the sentences, one a line."""

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from polyadic.cli import options as o
from polyadic.core.errors import InputError
from polyadic.interface import output
from polyadic.interface.command_line import add_verbs

app = typer.Typer(no_args_is_help=True, help="Vectors of sentences from nothing but the sentences.")

Lines = Annotated[
    str, typer.Argument(metavar="SENTENCES", help="A file with a sentence a line, or - for standard input.")
]
Model = Annotated[Path, typer.Argument(metavar="MODEL", help="A folder made by `polyadic sentences train`.")]
Method = Annotated[
    Literal["sif", "mean", "convolutional"],
    typer.Option(help="Weighted mean of word vectors less its main direction, plain mean, or filters of sequences."),
]
Words = Annotated[
    str, typer.Option(metavar="KIND", help="Word vectors: ppmi-svd, ca, one-hot, or a folder or file of vectors.")
]
MinCount = Annotated[int, typer.Option(min=1, help="Leave out words that are rarer.")]
Filters = Annotated[int, typer.Option(min=1, help="Filters of each coordinate (convolutional).")]
Length = Annotated[int, typer.Option(min=2, max=32, help="Words under a filter (convolutional).")]
Pooling = Annotated[
    str | None,
    typer.Option(
        metavar="HOW", help="mean, moments, largest, extremes or all.", show_default="mean; convolutional moments"
    ),
]
Array = Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help="The .npy file to write, a row a sentence.")]
Query = Annotated[str, typer.Argument(metavar="QUERY", help="A sentence.")]
Coordinates = Annotated[int, typer.Option(min=1, help="How many coordinates to show, from the first.")]


def train(
    lines: Lines,
    *,
    out: o.Out,
    method: Method = "sif",
    words: Words = "ppmi-svd",
    rank: o.Rank = 100,
    min_count: MinCount = 2,
    pooling: Pooling = None,
    filters: Filters = 2,
    length: Length = 6,
    seed: o.Seed = 0,
    force: o.Force = False,
    as_json: o.AsJson = False,
) -> None:
    """Learn how to make vectors of sentences.

    The vectors of words come from the same sentences, unless --words names others.
    """
    from polyadic.core.files import check_replaceable
    from polyadic.core.serialization import KIND
    from polyadic.embedding import read_vectors
    from polyadic.sentences.convolutional import ConvolutionalSentences
    from polyadic.sentences.mean import MeanSentences
    from polyadic.sentences.words import corpus_of

    check_replaceable(out, KIND, overwrite=force)
    made: Any = read_vectors(words) if Path(words).exists() else words
    how: dict[str, Any] = {"words": made, "rank": rank, "min_count": min_count, "seed": seed}
    how |= {} if pooling is None else {"pooling": pooling}
    model: Any
    if method == "convolutional":
        model = ConvolutionalSentences(filters, length=length, **how)
    else:
        how |= {"a": 0.001, "removed": 1} if method == "sif" else {}
        model = MeanSentences(**how)
    corpus = corpus_of(_read(lines), min_count=min_count)
    model.fit(corpus)
    model.save(out, overwrite=force)
    sizes = {
        "sentences": len(corpus.sentences) - 1,
        "words": len(model.embedding_),
        "features": len(model.get_feature_names_out()),
    }
    output.wrote(out, sizes, as_json=as_json, hint=("sentences", "encode", out, lines, "--out", "vectors.npy"))


def encode(model: Model, lines: Lines, *, out: Array, force: o.Force = False, as_json: o.AsJson = False) -> None:
    """Write the vectors of sentences, a row for each line; lines without a known word are zero, and counted."""
    from polyadic.core.arrays import save_array
    from polyadic.core.files import whole_file

    if out.suffix != ".npy":
        raise InputError(f"vectors are written as .npy; got {out}")
    if out.exists() and not force:
        raise InputError(f"{out} exists already; choose another name or --force")
    vectors = _open(model).encode(_read(lines), show_progress_bar=True)
    with whole_file(out) as draft:
        save_array(draft, vectors)
    output.wrote(out, {"sentences": len(vectors), "features": vectors.shape[1]}, as_json=as_json)


def nearest(model: Model, lines: Lines, query: Query, *, top: o.Top = 10, as_json: o.AsJson = False) -> None:
    """Show the sentences whose vectors are nearest to that of QUERY."""
    import numpy as np

    from polyadic.sentences.words import blocks

    opened, sentences = _open(model), list(_read(lines))
    if not len(next(blocks([query], opened.embedding_)).rows):
        raise InputError("no word of the query is known to the model")
    wanted = opened.encode(query, normalize_embeddings=True)
    cosines = opened.encode(sentences, normalize_embeddings=True) @ wanted
    best = np.argsort(-cosines, kind="stable")[:top].tolist()
    rows = [(round(float(cosines[at]), 4), at + 1, sentences[at]) for at in best]
    if as_json:
        output.in_json({"nearest": [{"cosine": c, "line": line, "sentence": text} for c, line, text in rows]})
    else:
        output.table(["cosine", "line", "sentence"], rows)


def templates(
    model: Model, lines: Lines, *, coordinates: Coordinates = 10, top: o.Top = 5, as_json: o.AsJson = False
) -> None:
    """Show where each filter of a convolutional model is most active."""
    from polyadic.sentences.convolutional import ConvolutionalSentences, strongest

    opened = _open(model)
    if not isinstance(opened, ConvolutionalSentences):
        raise InputError(f"{model} has no filters; train with --method convolutional")
    rows = [
        (f"{k}.{at}", round(activation, 3), sentence + 1, place + 1, " ".join(words))
        for k, each in enumerate(strongest(opened, _read(lines), top=top)[:coordinates])
        for at, many in enumerate(each)
        for activation, sentence, place, words in many
    ]
    headings = ["filter", "activation", "line", "word", "words"]
    if as_json:
        output.in_json({"templates": [dict(zip(headings, row, strict=True)) for row in rows]})
    else:
        output.table(headings, rows)


def static(model: Model, *, out: o.Out, force: o.Force = False, as_json: o.AsJson = False) -> None:
    """Write a model of means as a static encoder, the folder that sentence-transformers loads."""
    vectors = _open(model).static()
    vectors.save_pretrained(out, overwrite=force)
    output.wrote(out, {"words": len(vectors), "rank": vectors.rank}, as_json=as_json)


def _read(lines: str) -> Any:
    from polyadic.text.readers import read

    return read(lines, format="lines")


def _open(path: Path) -> Any:
    from polyadic.core.serialization import load
    from polyadic.sentences.base import SentenceVectors

    return load(path, SentenceVectors)


add_verbs(
    app,
    {
        train: "polyadic sentences train paragraphs.txt --out meanings",
        encode: "polyadic sentences encode meanings paragraphs.txt --out paragraphs.npy",
        nearest: "polyadic sentences nearest meanings paragraphs.txt 'a shot in the dark'",
        templates: "polyadic sentences train paragraphs.txt --method convolutional --out filters"
        "\n\npolyadic sentences templates filters paragraphs.txt",
        static: "polyadic sentences static meanings --out encoder",
    },
)
