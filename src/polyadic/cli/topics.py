"""``polyadic topics``: what documents are about."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from polyadic.cli import options as o
from polyadic.core.errors import InputError
from polyadic.interface import output
from polyadic.interface.command_line import add_verbs
from polyadic.interface.errors import interrupted, keeping

app = typer.Typer(no_args_is_help=True, help="Topics of documents: words that belong together.")

Docs = Annotated[
    str,
    typer.Argument(
        metavar="DOCS",
        help="A folder or a glob with a file for each document, a file with one a line, or a table of them.",
    ),
]
Model = Annotated[Path, typer.Argument(metavar="MODEL", help="A folder made by `polyadic topics train`.")]
Method = Annotated[
    Literal["nmf", "kl", "plsa", "lda", "anchors", "spectral", "rlsi"],
    typer.Option(
        help="Non-negative factors by squares or Kullback-Leibler divergence, probabilistic latent semantic analysis,"
        " latent Dirichlet allocation, anchor words, latent Dirichlet allocation by moments, or sparse topics by"
        " squares."
    ),
]
Components = Annotated[int, typer.Option(min=1, help="Number of topics.")]
Numbers = Annotated[str, typer.Option("--n-components", metavar="N,N,...", help="Numbers of topics to compare.")]
Folds = Annotated[int, typer.Option(min=2, help="Parts of the documents; each is held out once.")]
Table = Annotated[
    Path | None, typer.Option("--out", "-o", metavar="FILE", help="Write all weights, a row a document, as .npy.")
]


def train(
    ctx: typer.Context,
    docs: Docs,
    *,
    out: o.Out,
    method: Method = "nmf",
    n_components: Components = 20,
    min_count: o.MinCount = 5,
    max_size: o.MaxSize = None,
    language: o.Language = "auto",
    stop_words: o.StopWords = "language",
    format_: o.Format = "auto",
    field: o.Field = None,
    wrapped: o.Wrapped = None,
    encoding: o.Encoding = "utf-8",
    errors: o.Errors = "skip",
    top: o.TopWords = 10,
    seed: o.Seed = 0,
    threads: o.Threads = None,
    picture: o.Picture = None,
    force: o.Force = False,
    as_json: o.AsJson = False,
) -> None:
    """Find topics, show their words, and how well these belong together in the same documents."""
    from polyadic.core.files import check_replaceable
    from polyadic.core.serialization import KIND
    from polyadic.topics.text_topics import TextTopics

    check_replaceable(out, KIND, overwrite=force)
    output.check_picture(picture)
    words_: dict[str, Any] = {"min_count": min_count, "max_size": max_size, "language": language}
    model = TextTopics(method, n_components=n_components, seed=seed, threads=threads, stop_words=stop_words, **words_)
    corpus = model.corpus(docs, **o.reading_documents(docs, ctx))
    model.fit(corpus).save(out, overwrite=force)
    if getattr(model.model_, "interrupted_", False):
        raise interrupted(kept=[f"the topics found so far in {out}"])
    with keeping(lambda: [f"the topics in {out}"]):
        figures = _figures(model, corpus, top)
        if picture is not None:
            _draw(model, picture, top)
    rows = _rows(model, top)
    sizes = {"documents": len(corpus.documents) - 1, "words": len(model.words_), "topics": len(rows)}
    if as_json:
        output.in_json({"out": str(out), **sizes, **figures, "words_of_topics": dict(rows)})
        return
    output.table(["topic", "words"], [(k, " ".join(words)) for k, words in rows])
    if figures:
        output.table(list(figures), [tuple(figures.values())])
    output.wrote(out, sizes, as_json=False, hint=("topics", "assign", out, docs))


def words(model: Model, *, top: o.TopWords = 10, picture: o.Picture = None, as_json: o.AsJson = False) -> None:
    """Show the words of each topic."""
    output.check_picture(picture)
    opened = _open(model)
    if picture is not None:
        _draw(opened, picture, top)
    rows = _rows(opened, top)
    if as_json:
        output.in_json({"words_of_topics": dict(rows)})
    else:
        output.table(["topic", "words"], [(k, " ".join(some)) for k, some in rows])


def assign(
    ctx: typer.Context,
    model: Model,
    docs: Docs,
    *,
    out: Table = None,
    format_: o.Format = "auto",
    field: o.Field = None,
    wrapped: o.Wrapped = None,
    encoding: o.Encoding = "utf-8",
    errors: o.Errors = "skip",
    force: o.Force = False,
    as_json: o.AsJson = False,
) -> None:
    """Show the largest topic of each document, with its share of the document's weights."""
    import numpy as np

    from polyadic.core.arrays import save_array
    from polyadic.core.files import whole_file
    from polyadic.text.readers import documents, name_of_document

    if out is not None and (out.suffix != ".npy" or (out.exists() and not force)):
        fault = "exists already; choose another name or --force" if out.suffix == ".npy" else "must end in .npy"
        raise InputError(f"{out} {fault}")
    opened = _open(model)
    names: list[str | int] = []

    def texts() -> Iterator[str]:
        read = documents(docs, **o.reading_documents(docs, ctx))
        for number, document in enumerate(read, 1):
            names.append(name_of_document(document.fields) or number)
            yield document.text

    table = opened.table(texts())
    weights = opened.transform_table(table)
    positive = np.where(table.sum(axis=1)[:, None] > 0, np.maximum(weights, 0), 0)  # mixtures of no words are uniform
    shares = positive / np.maximum(positive.sum(axis=1, keepdims=True), np.finfo(float).tiny)
    if out is not None:
        with whole_file(out) as draft:
            save_array(draft, weights)
    best = opened.top_words(3)
    rows = [
        (name, int(k) if row[k] else None, round(float(row[k]), 4), " ".join(best[k]) if row[k] else "")
        for name, row, k in zip(names, shares, shares.argmax(axis=1), strict=True)
    ]
    headings = ["document", "topic", "share", "words"]
    if as_json:
        output.in_json({"documents": [dict(zip(headings, row, strict=True)) for row in rows]})
    else:
        output.table(headings, rows)


def choose(
    ctx: typer.Context,
    docs: Docs,
    *,
    numbers: Numbers = "5,10,20,50",
    method: Method = "nmf",
    folds: Folds = 3,
    min_count: o.MinCount = 5,
    language: o.Language = "auto",
    stop_words: o.StopWords = "language",
    format_: o.Format = "auto",
    field: o.Field = None,
    wrapped: o.Wrapped = None,
    encoding: o.Encoding = "utf-8",
    errors: o.Errors = "skip",
    seed: o.Seed = 0,
    threads: o.Threads = None,
    as_json: o.AsJson = False,
) -> None:
    """Compare numbers of topics: by documents held out, and by whether other documents give the same.

    Perplexity, of words of documents held out, likes many topics; coherence, whether the words of a topic belong
    together there, likes few; stability is how alike the topics of other documents are.
    """
    from polyadic.text.documents import document_table
    from polyadic.topics.cross_validation import best, cross_validate
    from polyadic.topics.text_topics import TextTopics

    try:
        candidates = [o.positive(part) for part in numbers.split(",")]
    except ValueError:
        fault = f"--n-components must be whole numbers separated by commas, such as 5,10,20; got {numbers}"
        raise InputError(fault) from None
    model = TextTopics(method, min_count=min_count, language=language, stop_words=stop_words, threads=threads)
    corpus = model.corpus(docs, **o.reading_documents(docs, ctx))
    table, known = document_table(corpus), corpus.vocabulary.words
    scores = cross_validate(model, table, known, n_components=candidates, folds=folds, seed=seed)
    chosen = {
        f"by_{measure}": best(scores, measure).n_components for measure in ("perplexity", "coherence", "stability")
    }
    if as_json:
        rows = [{"rank": one.n_components} | dict(zip(one._fields[1:], one[1:], strict=True)) for one in scores]
        output.in_json({"ranks": rows, **chosen})
        return
    output.table(["topics", "perplexity", "spread", "coherence", "stability"], scores)
    output.table(list(chosen), [tuple(chosen.values())])


def _figures(model: Any, corpus: Any, top: int) -> dict[str, float]:
    """Tell how good the topics are that have two words."""
    from polyadic.metrics.topics import WINDOWS, c_v_coherence, diversity, in_windows, npmi_coherence

    topics = [some for some in model.top_words(top) if len(some) > 1]
    if not topics:
        return {}
    texts = [[word for s in corpus.document(d) for word in s] for d in range(len(corpus.documents) - 1)]
    every = [word for some in topics for word in some]
    near, far = (in_windows(texts, every, window=WINDOWS[name]) for name in ("npmi", "c_v"))
    coherence = {"npmi": npmi_coherence(topics, near), "c_v": c_v_coherence(topics, far)}
    return {name: float(values.mean()) for name, values in coherence.items()} | {"diversity": diversity(topics)}


def _rows(model: Any, top: int) -> list[tuple[int, list[str]]]:
    return list(enumerate(model.top_words(top)))


def _draw(model: Any, file: Path, top: int) -> None:
    from polyadic.plots.files import save_figure
    from polyadic.plots.topics import topic_words

    save_figure(topic_words(model, range(len(model.model_.components_)), top=min(top, 12)), file)


def _open(path: Path) -> Any:
    from polyadic.core.serialization import load
    from polyadic.topics.text_topics import TextTopics

    return load(path, TextTopics)


words.__name__ = "show"  # the module of that name is used above
add_verbs(
    app,
    {
        train: "polyadic topics train stories.csv --field text --out topics --n-components 10",
        words: "polyadic topics show topics --picture topics.png",
        assign: "polyadic topics assign topics stories.csv --field text",
        choose: "polyadic topics choose stories.csv --field text --n-components 5,10,20",
    },
)
