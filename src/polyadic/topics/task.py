"""``polyadic topics``: find topics, list their words, and assign topics to documents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, get_args

from polyadic.core.errors import InputError
from polyadic.core.settings import Count, File, Help, Metavar, Out, Picture, Within
from polyadic.interface import output
from polyadic.interface.errors import keeping
from polyadic.interface.run import Interrupted, Saved
from polyadic.interface.run import train as run
from polyadic.interface.task import Task
from polyadic.text.task import READING, Docs

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from polyadic.text.corpus import Corpus
    from polyadic.text.pieces import Reading
    from polyadic.topics.text_topics import TextTopics

MODEL = "polyadic.topics.text_topics:TextTopics"
TASK = Task("topics", "Topic models: find topics, show the words of topics, assign topics to documents.", model=MODEL)
MAX_DRAWN = 12  # maximum number of words of a topic in a picture
StopWords = Annotated[
    str,
    Help(
        "Stop words to remove: language (the list for the language of the text), auto (words that are frequent"
        " everywhere), none, the name of a language such as german, or a file with one word per line."
    ),
    Metavar("LIST"),
]
TopWords = Annotated[Count, Help("Number of words to list for each topic.")]


def _print_topics(result: dict[str, Any]) -> None:
    """Print the words of topics and, if available, their quality scores."""
    output.table(["topic", "words"], [(k, " ".join(words)) for k, words in result["words_of_topics"].items()])
    figures: dict[str, Any] = {name: result[name] for name in ("npmi", "c_v", "diversity") if name in result}
    if figures:
        output.facts(figures)


@TASK.verb(
    example="polyadic topics train stories.csv --field text --out topics --n-components 10",
    settings={"model": MODEL, "reading": READING},
    options=("method", "n_components", "field", "documents", "min_count", "stop_words", "top", "picture"),
    show=_print_topics,
)
def train(
    docs: Docs,
    model: TextTopics,
    reading: Reading,
    *,
    out: Out,
    stop_words: StopWords = "language",
    top: TopWords = 10,
    picture: Picture = None,
    force: bool = False,
) -> Saved:
    """Train a topic model, list the words of each topic, and measure topic coherence and diversity."""
    output.check_picture(picture)
    model.stop_words = stop_words
    found: dict[str, Corpus] = {}

    def read() -> Corpus:
        found["corpus"] = _corpus(model, docs, reading)
        return found["corpus"]

    def fit(corpus: Corpus) -> TextTopics:
        model.fit(corpus)
        if getattr(model.model_, "interrupted_", False):
            model.save(out, overwrite=force)
            raise Interrupted(f"the topics found so far in {out}")
        return model

    def summary(model: TextTopics) -> dict[str, Any]:
        with keeping(lambda: [f"the topics in {out}"]):
            figures = _quality(model, found["corpus"], top)
            if picture is not None:
                _draw(model, picture, top)
        words = _words(model, top)
        sizes = {"documents": len(found["corpus"].documents) - 1, "words": len(model.words_), "topics": len(words)}
        return sizes | figures | {"words_of_topics": words}

    saved = run(model, read, out, force=force, fit=fit, summary=summary)
    parts = ("--documents", reading.documents) if reading.documents else ()
    return saved.then("topics", "assign", out, docs, *(("--field", reading.field) if reading.field else ()), *parts)


@TASK.verb(example="polyadic topics show topics --picture topics.png", question=True, show=_print_topics)
def show(model: TextTopics, *, top: TopWords = 10, picture: Picture = None) -> dict[str, Any]:
    """List the words of each topic."""
    output.check_picture(picture)
    if picture is not None:
        _draw(model, picture, top)
    return {"words_of_topics": _words(model, top)}


@TASK.verb(
    example="polyadic topics assign topics stories.csv --field text",
    settings={"reading": READING},
    options=("field", "documents", "out"),
)
def assign(
    model: TextTopics, docs: Docs, reading: Reading, *, out: File | None = None, force: bool = False
) -> dict[str, Any]:
    """List the main topic of each document, with its share of the document's topic weights.

    Parameters
    ----------
    out
        NumPy file (.npy) to write the weights of all topics to, with one row per document.
    """
    import numpy as np

    from polyadic.core.arrays import save_array
    from polyadic.core.files import whole_file
    from polyadic.text.readers import documents, name_of_document, note_documents

    if out is not None and out.suffix != ".npy":
        raise InputError(f"out must be the name of an .npy file; got {out}", "out")
    output.check_file(out, force=force)
    note_documents(docs, reading)
    names: list[str | int] = []

    def texts() -> Iterator[str]:
        read = documents(docs, **vars(reading))
        for number, document in enumerate(read, 1):
            names.append(name_of_document(document.fields) or number)
            yield document.text

    table = model.table(texts())
    weights = model.transform_table(table)
    positive = np.where(table.sum(axis=1)[:, None] > 0, np.maximum(weights, 0), 0)  # mixtures of no words are uniform
    shares = positive / np.maximum(positive.sum(axis=1, keepdims=True), np.finfo(float).tiny)
    if out is not None:
        with whole_file(out) as draft:
            save_array(draft, weights)
    best = model.top_words(3)
    return {
        "documents": [
            {
                "document": name,
                "topic": int(k) if row[k] else None,
                "share": round(float(row[k]), 4),
                "words": " ".join(best[k]) if row[k] else "",
            }
            for name, row, k in zip(names, shares, shares.argmax(axis=1), strict=True)
        ]
    }


def _print_numbers(result: dict[str, Any]) -> None:
    """Print the measures for each number of topics, and the best number of topics by each measure."""
    headings = ["topics", "perplexity", "standard deviation", "coherence", "stability"]
    output.table(headings, [tuple(each.values()) for each in result["scores"]])
    output.facts({f"best {name}": value for name, value in result.items() if name != "scores"})


@TASK.verb(
    example="polyadic topics choose stories.csv --field text --n-components 5,10,20",
    settings={"model": MODEL, "reading": READING},
    options=("n_components", "method", "folds", "field", "documents", "min_count", "stop_words", "seed"),
    show=_print_numbers,
)
def choose(
    docs: Docs,
    model: TextTopics,
    reading: Reading,
    *,
    n_components: Sequence[Count] = (5, 10, 20, 50),
    folds: Annotated[int, Within(2)] = 3,
    stop_words: StopWords = "language",
) -> dict[str, Any]:
    """Compare topic models with different numbers of topics by cross-validation.

    Perplexity of held-out documents favours many topics; coherence, whether the words of a topic occur together in
    held-out documents, favours few; stability is the similarity of the topics found in different documents.

    Parameters
    ----------
    n_components
        Numbers of topics to compare.
    folds
        Number of cross-validation folds.
    """
    from polyadic.text.documents import document_table
    from polyadic.topics.text_topics import Measure, best, cross_validate

    model.stop_words = stop_words
    corpus = _corpus(model, docs, reading)
    table, words = document_table(corpus), corpus.vocabulary.words
    scores = cross_validate(model, table, words, n_components=n_components, folds=folds, seed=model.seed or 0)
    chosen = {f"by_{measure}": best(scores, measure).n_components for measure in get_args(Measure)}
    return {"scores": [each._asdict() for each in scores], **chosen}


def _corpus(model: TextTopics, docs: str, reading: Reading) -> Corpus:
    """Read documents; raise InputError if there is only one."""
    from polyadic.text.readers import note_documents

    note_documents(docs, reading)
    corpus = model.corpus(docs, **vars(reading))
    if len(corpus.documents) == 2:
        advice = "set documents to line, paragraph, heading or a number of words"
        raise InputError(f"{docs} is one document, but topics are learned from several; {advice}", "documents")
    return corpus


def _quality(model: TextTopics, corpus: Corpus, top: int) -> dict[str, float]:
    """Return the mean coherence and the diversity of the topics with at least two words."""
    from polyadic.metrics.topics import WINDOWS, c_v_coherence, diversity, in_windows, npmi_coherence

    topics = [words for words in model.top_words(top) if len(words) > 1]
    if not topics:
        return {}
    texts = [[word for s in corpus.document(d) for word in s] for d in range(len(corpus.documents) - 1)]
    every = [word for words in topics for word in words]
    near, far = (in_windows(texts, every, window=WINDOWS[name]) for name in ("npmi", "c_v"))
    coherence = {"npmi": npmi_coherence(topics, near), "c_v": c_v_coherence(topics, far)}
    return {name: float(values.mean()) for name, values in coherence.items()} | {"diversity": diversity(topics)}


def _words(model: TextTopics, top: int) -> dict[int, list[str]]:
    return dict(enumerate(model.top_words(top)))


def _draw(model: TextTopics, file: Path, top: int) -> None:
    from polyadic.plots import topic_words
    from polyadic.plots.axes import save_figure

    save_figure(topic_words(model, range(len(model.model_.components_)), top=min(top, MAX_DRAWN)), file)
