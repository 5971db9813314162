"""Commands of word vectors: look at them, convert them, and count the tuples that they are trained on."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from polyadic.core.errors import InputError
from polyadic.core.settings import Count, File, Help, Metavar, Natural, Out, Picture, Threads, Within
from polyadic.interface.run import Saved
from polyadic.interface.task import Task, load_class
from polyadic.text.task import CorpusFolder, nothing_more

if TYPE_CHECKING:
    from polyadic.embedding import Embedding
    from polyadic.text.corpus import Corpus

TASK = Task("words", "Train word vectors, and look at them.")
COUNTING = Task("counting", "Count tuples of words, and plan large runs.")
Vectors = Annotated[
    Path, Metavar("VECTORS"), Help("Folder made by polyadic train, or a word2vec, GloVe or fastText file.")
]
Words = Annotated[list[str], Metavar("WORD..."), Help("Words; - reads them from standard input.")]
Top = Annotated[Count, Help("Number of words to list.")]
TextOfVectors = Annotated[
    Path,
    Metavar("CORPUS"),
    Help("Corpus in which the words occur, best made with --keep-text (default: that of the vectors, if it was kept)."),
]
Order = Annotated[int, Within(2, 5), Help("Number of words in a tuple.")]
Window = Annotated[
    Literal["span", "centred", "chunk"],
    Help("Words within a span of WIDTH + 1; within WIDTH of one of them; or in the same chunk of 2 WIDTH + 1."),
]
Width = Annotated[int, Within(1, 1000), Help("Width of the window.")]


def given(words: list[str]) -> list[str]:
    """Replace ``-`` by the words of standard input."""
    return [word for each in words for word in (sys.stdin.read().split() if each == "-" else [each])]


def text_of(embedding: Embedding, named: Path | None) -> Corpus:
    """Open the corpus that is named, or the one from which the vectors were trained, if it was kept."""
    from polyadic.text.corpus import Corpus

    known = [place for place in made_of(embedding, "corpus") if (place / "ids.npy").is_file()]
    if named is None and not known:
        raise InputError(
            "corpus is needed, the text in which words stand: name the one that the vectors were made of, or make it,"
            " `polyadic corpus TEXT --out CORPUS --keep-text`"
        )
    return Corpus.open(named or known[0])


def made_of(embedding: Embedding, kept: str) -> list[Path]:
    """List the places where the input of the training of vectors may be, from their metadata."""
    trained = embedding.meta.get("trained", {})
    return [Path(trained[name]) / below for name, below in (("source", ""), ("kept", kept)) if name in trained]


def draw(embedding: Embedding, groups: dict[str, Any], picture: Path | None) -> None:
    """Draw a map of groups of words, if a picture is wanted."""
    if picture is not None:
        load_class("polyadic.plots.files:save_word_map")(embedding, groups, picture)


def print_neighbours(result: dict[str, Any]) -> None:
    """Print the nearest words of each query."""
    from polyadic.interface import output

    lists = next(value for name, value in result.items() if name != "refused")
    output.neighbours({query: [(each["word"], each["cosine"]) for each in near] for query, near in lists.items()})


@TASK.verb(example="polyadic neighbours vectors window", show=print_neighbours)
def neighbours(vectors: Vectors, words: Words, *, top: Top = 10, picture: Picture = None) -> dict[str, Any]:
    """List the words whose vectors have the largest cosine with that of each word."""
    from polyadic.embedding import read_vectors
    from polyadic.interface import output

    output.check_picture(picture)
    embedding = read_vectors(vectors)
    nearest = output.Answers(given(words), lambda word: embedding.neighbours(word, top=top))
    draw(embedding, {word: [word, *(other for other, _ in near)] for word, near in nearest.items()}, picture)
    return {"neighbours": output.pairs(nearest), **nearest.in_json}


def _print_components(result: dict[str, Any]) -> None:
    """Print the words of each component in a line, and below them their lines."""
    import typer

    from polyadic.interface import output

    found = result["components"]
    rows = [(each["column"], each["share"], " ".join(word for word, _ in each["words"])) for each in found]
    output.table(["column", "share", "words"], rows)
    if any("lines" in each for each in found):
        typer.echo()
        output.table(["column", "line"], [(each["column"], line["text"]) for each in found for line in each["lines"]])


@TASK.verb(example="polyadic components vectors window", show=_print_components)
def components(
    vectors: Vectors,
    words: Annotated[list[str], Metavar("WORD...")] | None = None,
    *,
    number: Count = 10,
    top: Top = 10,
    corpus: TextOfVectors | None = None,
    lines: Natural = 0,
) -> dict[str, Any]:
    """List the strongest words of components: readable themes where vectors are non-negative and sparse.

    Parameters
    ----------
    words
        List the components that are strongest in a word, or in the product of several (default: the first ones).
    number
        Maximum number of components.
    lines
        Number of lines of the corpus to show for each component, those with most of its words.
    """
    from polyadic.embedding import components as all_components
    from polyadic.embedding import components_of, read_vectors
    from polyadic.interface import output

    if corpus is not None and not lines:
        raise InputError("corpus is used by lines only; give both or neither", "corpus", "lines")
    embedding = read_vectors(vectors)
    text = text_of(embedding, corpus).lines if lines else None
    if words:
        shown = components_of(embedding, *given(words), n_components=number, top=top)
    else:
        shown = all_components(embedding, top=top)[:number]
    rows: list[dict[str, Any]] = []
    for each in shown:
        rows.append({"column": each.column, "share": each.share, "words": [list(pair) for pair in each.words]})
        if text is not None:
            found = text.find(*(word for word, _ in each.words), either=True, sort="relevance", top=lines)
            rows[-1]["lines"] = [output.line(line) for line in found]
    return {"components": rows}


def _print_written(result: dict[str, Any]) -> None:
    """Print what was written."""
    from polyadic.interface import output

    output.wrote(result["out"], {}, as_json=False)


@TASK.verb(example="polyadic convert vectors vectors.txt --to word2vec", show=_print_written)
def convert(
    vectors: Vectors,
    out: Annotated[Path, Metavar("OUT")],
    *,
    to: Literal["native", "word2vec", "word2vec-binary", "glove", "fasttext", "static", "projector"],
    from_: Annotated[str, Metavar("FORMAT")] = "auto",
    limit: Count | None = None,
    licence: Annotated[str, Metavar("NAME")] | None = None,
    encoding: str = "utf-8",
    errors: Literal["strict", "replace", "ignore"] = "strict",
    force: bool = False,
) -> dict[str, Any]:
    """Convert word vectors to or from the format of another tool.

    Parameters
    ----------
    out
        File to write, or folder for native, static and projector.
    to
        Format to write; native is that of polyadic, static is for sentence-transformers, projector for TensorBoard.
    from_
        Format of the vectors; auto detects it.
    limit
        Number of words to read (default: all).
    licence
        Licence named in the model card of static (default: none).
    encoding
        Encoding of the vectors file.
    errors
        Treatment of bytes in another encoding.
    """
    from polyadic.embedding import read_vectors, write_projector, write_vectors

    if to not in ("native", "static", "projector") and out.exists() and not force:
        raise InputError(f"{out} exists already; choose another name or --force")
    if licence is not None and to != "static":
        raise InputError(f"licence is for the format static only; leave it out for {to}", "licence")
    embedding = read_vectors(vectors, format=from_, limit=limit, encoding=encoding, errors=errors)
    if to == "native":
        embedding.save(out, overwrite=force)
    elif to == "static":
        embedding.save_pretrained(out, licence=licence, overwrite=force)
    elif to == "projector":
        write_projector(embedding, out, overwrite=force)
    else:
        write_vectors(embedding, out, format=to)
    return {"out": str(out), "words": len(embedding), "rank": embedding.rank, "format": to}


# ---- counting


@COUNTING.verb(example="polyadic count corpus --out counts --order 3 --width 10", show=nothing_more, distributed=True)
def count(
    corpus: CorpusFolder,
    *,
    out: Out,
    order: Order = 3,
    window: Window = "span",
    width: Width = 10,
    min_count: Annotated[int, Within(1, 2**31 - 1)] = 2,
    repeats: bool = False,
    memory: int | None = None,
    threads: Threads = None,
    tns: File | None = None,
    force: bool = False,
) -> Saved:
    """Count how often pairs, triples or larger tuples of words occur within a window.

    Parameters
    ----------
    min_count
        Minimum count of a tuple.
    repeats
        Keep tuples that repeat a word.
    threads
        Number of threads (default: all cores).
    tns
        Also write the counts to this file, as FROSTT text.
    """
    from polyadic.core.files import check_replaceable
    from polyadic.core.tns import write_tns
    from polyadic.interface import output
    from polyadic.text.corpus import Corpus
    from polyadic.words.training import counted

    check_replaceable(out, "counts", overwrite=force)
    if tns and not tns.parent.is_dir():
        raise InputError(f"cannot write {tns}: the folder {tns.parent} does not exist")
    steps = output.Steps()
    how: dict[str, Any] = {"order": order, "window": window, "width": width, "repeats": repeats}
    how |= {"memory": memory, "threads": threads}
    with steps("count") as facts:
        counts = counted(Corpus.open(corpus), path=out, steps=steps, **how, min_count=min_count, overwrite=force)
        facts.update(counts.sizes)
    if tns:
        write_tns(counts.entries, tns)
    saved = Saved(out=str(out), steps=steps.done)
    saved.next = "train", out, "--out", "vectors"
    return saved


def _print_plan(result: dict[str, Any]) -> None:
    """Print a line for each step."""
    from polyadic.interface import output

    headings = ["step", "about minutes", "to send", "MiB of a worker", "MiB here", "MiB sent"]
    output.table(headings, [tuple(step.values()) for step in result["steps"]])


@COUNTING.verb(example="polyadic plan corpus --workers 16", show=_print_plan)
def plan(
    source: Annotated[str, Metavar("SOURCE")],
    *,
    workers: Annotated[int, Within(1, 1024)] = 1,
    mbit: Annotated[float, Within(0.001)] = 1000.0,
    order: Order = 3,
    window: Window = "span",
    width: Width = 10,
    rank: Count = 300,
    max_iter: Count = 75,
) -> dict[str, Any]:
    """Estimate the time, memory and network traffic of the next step from a source.

    The step is encoding for text, counting for a corpus, and training with the method cp for counts. Times are based on
    rates measured on one kind of processor, and on workers that have a core each.

    Parameters
    ----------
    source
        Text (also a URL), or a folder made by polyadic corpus or polyadic count.
    workers
        Number of workers, with one core each.
    mbit
        Network speed of a machine in megabits per second.
    rank
        Number of dimensions of the vectors.
    max_iter
        Number of iterations of training.
    """
    from polyadic.words.planning import planned

    steps = planned(
        source, workers=workers, mbit=mbit, order=order, window=window, width=width, rank=rank, max_iter=max_iter
    )
    return {"workers": workers, "steps": [step._asdict() for step in steps]}
