"""``polyadic classify`` and ``polyadic sentences``: document classification and sentence vectors."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Annotated, Any, Literal

from polyadic.core.errors import InputError
from polyadic.core.files import whole_file
from polyadic.core.settings import BUDGET, Amount, Count, File, Help, Metavar, Natural, Out, Seed, Within
from polyadic.interface import output
from polyadic.interface.run import Saved
from polyadic.interface.run import train as run
from polyadic.interface.task import Task
from polyadic.text.task import READING, Docs, corpus_in
from polyadic.words.task import print_written

if TYPE_CHECKING:
    from collections.abc import Iterator

    from polyadic.core.methods import Method
    from polyadic.sentences.base import SentenceVectors
    from polyadic.sentences.classifier import TextClassifier
    from polyadic.text.pieces import Reading

CLASSIFIER = "polyadic.sentences.classifier:TextClassifier"
CLASSIFY = Task(
    "classify",
    "Train document classifiers on labelled documents, classify documents, and explain predictions by words.",
    model=CLASSIFIER,
)
MEAN = "polyadic.sentences.mean:MeanSentences"
CONVOLUTIONAL = "polyadic.sentences.convolutional:ConvolutionalSentences"
SENTENCES = Task(
    "sentences",
    "Sentence vectors, learned from unlabelled sentences: train, encode, search.",
    model="polyadic.sentences.base:SentenceVectors",
)
MIN_DOCUMENTS = 50  # number of documents from which settings are selected by cross-validation
Label = Annotated[
    str,
    Help("Table column that contains the class of each document (default: the folder of each file)."),
    Metavar("NAME"),
]
Lines = Annotated[
    str,
    Metavar("SENTENCES"),
    Help("File with one sentence per line, a text or corpus to split into sentences, or - for standard input."),
]


# ---- classes of documents


@CLASSIFY.verb(
    example="polyadic classify train stories.csv --field text --label story --out classifier --hold-out 0.2",
    settings={"given": (CLASSIFIER,), "reading": READING},
    options=("field", "documents", "label", "hold_out", "C", "share", "choose", "language"),
)
def train(
    docs: Docs,
    given: dict[str, Any],
    reading: Reading,
    *,
    out: Out,
    label: Label | None = None,
    hold_out: Annotated[float, Within(0, 0.9)] = 0.0,
    choose: bool = True,
    budget: Amount = BUDGET,
    seed: Seed = 0,
    force: bool = False,
) -> Saved:
    """Fit a document classifier; the settings C and share are selected by cross-validation if they are not given.

    Documents without a class are skipped and counted. With --hold-out, the accuracy on held-out documents is reported
    together with the accuracy of always predicting the most frequent class; the saved model is then fitted to all
    documents with the same settings.

    Parameters
    ----------
    hold_out
        Fraction of the documents to hold out for measuring accuracy.
    choose
        Select the settings C and share by cross-validation if they are not given.
    budget
        Time limit in seconds for the selection of settings.
    seed
        Seed of the held-out documents and of the folds.
    """
    import numpy as np

    from polyadic.core.selection import select
    from polyadic.sentences.classifier import TextClassifier, held_out

    facts: dict[str, Any] = {}

    def fit_part(texts: list[str], classes: Any) -> TextClassifier:
        if not choose or len(texts) < MIN_DOCUMENTS:
            return TextClassifier(**given).fit(texts, classes)
        keep = {"C", "share"} & given.keys()
        return select(TextClassifier(**given), texts, y=classes, keep=keep, budget=budget, seed=seed)

    def fit(data: tuple[list[str], Any, int]) -> TextClassifier:
        texts, labels, unlabelled = data
        facts.update(_sizes(texts, unlabelled))
        if not hold_out:
            return fit_part(texts, labels)
        is_out = held_out(labels, hold_out, seed)
        part, others = ([text for text, out in zip(texts, is_out, strict=True) if out == at] for at in (False, True))
        fitted = fit_part(part, labels[~is_out])
        if getattr(fitted, "interrupted_", False):
            raise KeyboardInterrupt  # an unfinished selection is not evaluated
        names, counts = np.unique(labels[~is_out], return_counts=True)
        facts["held_out"] = int(is_out.sum())
        facts["accuracy"] = float((fitted.predict(others) == labels[is_out]).mean())
        facts["accuracy_of_most_frequent"] = float((labels[is_out] == names[counts.argmax()]).mean())
        model = TextClassifier(**fitted.get_params()).fit(texts, labels)
        if hasattr(fitted, "selection_"):
            model.selection_ = fitted.selection_
        return model

    saved = run(
        TextClassifier(**given),
        lambda: _labelled(docs, label, reading),
        out,
        force=force,
        fit=fit,
        summary=lambda model: facts | {"classes": len(model.classes_), "features": model.coef_.shape[1]},
    )
    field = ("--field", reading.field) if reading.field else ()
    saved.next = "classify", "apply", out, docs, *field, "--why", 5
    return saved


def _print_documents(result: dict[str, Any]) -> None:
    """Print a table of documents with their log-odds and the contributions of their words."""
    rows = [dict(row) for row in result["documents"]]
    output.reasoned(["log-odds" if name == "value" else name for name in rows[0]], rows)


@CLASSIFY.verb(
    example="polyadic classify apply classifier stories.csv --field text --why 5",
    settings={"reading": READING},
    options=("field", "documents", "why"),
    show=_print_documents,
)
def apply(model: TextClassifier, docs: Docs, reading: Reading, *, why: Natural = 0) -> dict[str, Any]:
    """List the most likely class of each document and its probability.

    With --why, the log-odds of the predicted class are split into a base value and the contributions of the words of
    the document.

    Parameters
    ----------
    why
        Number of words to list for each document, starting with the largest contribution to the prediction.
    """
    from polyadic.text.readers import documents, name_of_document, note_documents

    note_documents(docs, reading)
    texts, names = [], []
    for number, document in enumerate(documents(docs, **vars(reading)), 1):
        names.append(name_of_document(document.fields) or number)
        texts.append(document.text)
    if not texts:
        raise InputError(f"{docs} contains no documents")
    probabilities = model.predict_proba(texts)
    best = probabilities.argmax(axis=1).tolist()
    rows: list[dict[str, Any]] = []
    for name, text, at, row in zip(names, texts, best, probabilities.tolist(), strict=True):
        rows.append({"document": name, "class": str(model.classes_[at]), "probability": round(row[at], 4)})
        if why:
            rows[-1] |= output.reasons(model.explain(text, model.classes_[at]), why, "word")
    return {"documents": rows}


def _print_evaluation(result: dict[str, Any]) -> None:
    """Print the overall metrics and a table of metrics for each class."""
    output.facts({name: value for name, value in result.items() if name != "classes"})
    special = {"mostly_taken_for": "mostly confused with"}
    headings = [special.get(name, output.heading(name)) for name in result["classes"][0]]
    output.table(headings, [tuple(each.values()) for each in result["classes"]])


@CLASSIFY.verb(
    example="polyadic classify evaluate classifier stories.csv --field text --label story",
    settings={"reading": READING},
    options=("field", "documents", "label"),
    show=_print_evaluation,
)
def evaluate(model: TextClassifier, docs: Docs, reading: Reading, *, label: Label | None = None) -> dict[str, Any]:
    """Compute accuracy on labelled documents, and precision, recall and the most frequent confusion of each class."""
    from sklearn.metrics import confusion_matrix, f1_score, precision_recall_fscore_support

    texts, labels, unlabelled = _labelled(docs, label, reading)
    predicted = model.predict(texts)
    classes = sorted({*model.classes_.tolist(), *labels.tolist()})
    confused = confusion_matrix(labels, predicted, labels=classes)
    figures = precision_recall_fscore_support(labels, predicted, labels=classes, zero_division=0)
    macro = f1_score(labels, predicted, average="macro", labels=classes, zero_division=0)
    rows = []
    for at, name in enumerate(classes):
        wrong = [k for k in (-confused[at]).argsort(kind="stable").tolist() if k != at and confused[at, k]]
        *shares, number = (figure[at] for figure in figures)
        row = {"class": name, "documents": int(number)}
        row |= zip(("precision", "recall", "f1"), map(float, shares), strict=True)
        row["mostly_taken_for"] = f"{classes[wrong[0]]} ({confused[at, wrong[0]]})" if wrong else None
        rows.append(row)
    accuracy = float((predicted == labels).mean())
    return _sizes(texts, unlabelled) | {"accuracy": accuracy, "macro_f1": float(macro), "classes": rows}


def _print_classes(result: dict[str, Any]) -> None:
    """Print the words of each class on one line."""
    output.table(["class", "words"], [(name, ", ".join(words)) for name, words in result["words_of_classes"].items()])


@CLASSIFY.verb(example="polyadic classify top classifier", question=True, show=_print_classes)
def top(
    model: TextClassifier, name: Annotated[str, Metavar("CLASS")] | None = None, *, top: Count = 10
) -> dict[str, Any]:
    """List the words and bigrams with the highest scores for each class.

    Parameters
    ----------
    name
        Class whose words are listed (default: all classes).
    top
        Number of words to list for each class.
    """
    wanted = model.classes_.tolist() if name is None else [name]
    return {"words_of_classes": {each: [word for word, _ in model.top_features(each, top)] for each in wanted}}


def _sizes(texts: list[str], unlabelled: int) -> dict[str, Any]:
    return {"documents": len(texts), **({"without_class": unlabelled} if unlabelled else {})}


def _labelled(docs: str, label: str | None, reading: Reading) -> tuple[list[str], Any, int]:
    """Read documents and return the labelled texts, their classes, and the number of unlabelled documents."""
    import numpy as np

    from polyadic.text.readers import documents, note_documents

    note_documents(docs, reading)
    texts, labels, unlabelled = [], [], 0
    for document in documents(docs, **vars(reading)):
        if label is None:
            name = PurePath(document.fields.get("file", "")).parent.name
        elif label not in document.fields:
            columns = ", ".join(repr(name) for name in document.fields) or "none"
            message = f"documents of {docs} have no column {label!r} beside their text; they have {columns}"
            raise InputError(message[:300])
        else:
            name = document.fields[label].strip()
        if name:
            texts.append(document.text)
            labels.append(name)
        else:
            unlabelled += 1
    if not texts:
        if label is None:
            advice = "for a table, set label to the name of the class column"
            raise InputError(f"{docs} must contain a folder for each class; {advice}", "label")
        raise InputError(f"no document in {docs} has a class in the column {label!r}")
    return texts, np.array(labels), unlabelled


# ---- vectors of sentences


@SENTENCES.verb(
    word="train",
    example="polyadic sentences train paragraphs.txt --out meanings",
    settings={"given": (MEAN, CONVOLUTIONAL), "reading": READING},
    options=("method", "words", "rank", "min_count", "pooling", "filters", "length", "field"),
)
def train_sentences(
    lines: Lines,
    reading: Reading,
    given: dict[str, Any],
    *,
    out: Out,
    method: Literal["sif", "mean", "convolutional"] = "sif",
    words: Annotated[str, Metavar("KIND")] = "ppmi-svd",
    pooling: Literal["mean", "moments", "largest", "extremes", "all"] | None = None,
    force: bool = False,
) -> Saved:
    """Fit a model of sentence vectors to unlabelled sentences.

    The word vectors are learned from the same sentences, unless --words names others.

    Parameters
    ----------
    method
        Method: mean of word vectors weighted by smooth inverse frequency (sif), unweighted mean of word vectors (mean),
        or convolutional filters of word sequences (convolutional).
    words
        Word vectors: ppmi-svd, ca or one-hot learned from the sentences, or a folder or file of vectors.
    pooling
        Pooling of each vector dimension over the words of a sentence (default: mean; convolutional: moments).
    filters
        Number of filters for each dimension of the word vectors (method convolutional).
    length
        Length of the filters in words (method convolutional).
    """
    from polyadic.core.methods import refuse_unused
    from polyadic.embedding import read_vectors
    from polyadic.sentences.words import corpus_of

    methods = _methods()
    refuse_unused(methods, method, given)
    given["words"] = read_vectors(words) if Path(words).exists() else words
    if pooling is not None:
        given["pooling"] = pooling
    model = methods[method].make(given)
    size = [0]

    def read() -> Any:
        corpus = corpus_of(_read(lines, reading), min_count=model.min_count)
        size[0] = len(corpus.sentences) - 1
        return corpus

    def summary(model: SentenceVectors) -> dict[str, Any]:
        return {"sentences": size[0], "words": len(model.embedding_), "features": len(model.get_feature_names_out())}

    saved = run(model, read, out, force=force, summary=summary)
    saved.next = "sentences", "encode", out, lines, "--out", "vectors.npy"
    return saved


@SENTENCES.verb(
    example="polyadic sentences encode meanings paragraphs.txt --out paragraphs.npy",
    settings={"reading": READING},
    options=("field",),
    show=print_written,
)
def encode(model: SentenceVectors, lines: Lines, reading: Reading, *, out: File, force: bool = False) -> dict[str, Any]:
    """Write the vectors of sentences as an array with one row per sentence, zero without a known word.

    Parameters
    ----------
    out
        NumPy file (.npy) to write, with one row per sentence.
    """
    import numpy as np

    from polyadic.core.arrays import save_array

    if out.suffix != ".npy":
        raise InputError(f"the output must be a .npy file; got {out}")
    output.check_file(out, force=force)
    vectors = np.asarray(model.encode(_read(lines, reading), show_progress_bar=True))
    with whole_file(out) as draft:
        save_array(draft, vectors)
    return {"out": str(out), "sentences": len(vectors), "features": vectors.shape[1]}


@SENTENCES.verb(
    example="polyadic sentences similar holmes 'the bird was a goose'",
    settings={"given": (MEAN,), "reading": READING},
    options=("top", "field"),
    fixed=("words",),
)
def similar(lines: Lines, query: str, given: dict[str, Any], reading: Reading, *, top: Count = 10) -> dict[str, Any]:
    """List the sentences of a text that are most similar to a query, without a saved model.

    The sentence vectors are learned from the text itself each time; for a large text, save a model with sentences
    train, and use sentences nearest.

    Parameters
    ----------
    query
        Query sentence to compare with the sentences of the text.
    top
        Number of sentences to list.
    """
    sentences = [*_read(lines, reading)]
    return _nearest(_methods()["sif"].make(given).fit(sentences), sentences, query, top)


@SENTENCES.verb(
    example="polyadic sentences nearest meanings paragraphs.txt 'a shot in the dark'",
    settings={"reading": READING},
    options=("top", "field"),
)
def nearest(model: SentenceVectors, lines: Lines, query: str, reading: Reading, *, top: Count = 10) -> dict[str, Any]:
    """List the sentences that are most similar to a query by cosine similarity of their vectors.

    Parameters
    ----------
    query
        Query sentence to compare with the sentences in the file.
    top
        Number of sentences to list.
    """
    return _nearest(model, [*_read(lines, reading)], query, top)


def _nearest(model: SentenceVectors, sentences: list[str], query: str, top: int) -> dict[str, Any]:
    """Return the sentences with the largest cosine similarities to a query."""
    import numpy as np

    from polyadic.sentences.words import blocks

    if not len(next(blocks([query], model.embedding_)).rows):
        raise InputError("no word of the query is in the vocabulary of the model")
    wanted = model.encode(query, normalize_embeddings=True)
    cosines = np.asarray(model.encode(sentences, normalize_embeddings=True)) @ np.asarray(wanted)
    best = np.argsort(-cosines, kind="stable")[:top].tolist()
    rows = [{"cosine": round(float(cosines[at]), 4), "number": at + 1, "sentence": sentences[at]} for at in best]
    return {"nearest": rows}


@SENTENCES.verb(
    example="polyadic sentences train paragraphs.txt --method convolutional --out filters"
    "\n\npolyadic sentences templates filters paragraphs.txt",
    settings={"reading": READING},
    options=("coordinates", "top", "field"),
)
def templates(
    model: SentenceVectors, lines: Lines, reading: Reading, *, coordinates: Count = 10, top: Count = 5
) -> dict[str, Any]:
    """List the positions in sentences at which each filter of a convolutional model is most active.

    Parameters
    ----------
    coordinates
        Number of leading dimensions of the word vectors to list filters for; other dimensions are left out.
    top
        Number of positions to list for each filter.
    """
    from polyadic.sentences.convolutional import ConvolutionalSentences, strongest

    if not isinstance(model, ConvolutionalSentences):
        raise InputError("the model has no filters; train a model with --method convolutional")
    found = enumerate(strongest(model, _read(lines, reading), top=top)[:coordinates])
    numbered = [(f"{k}.{at}", one) for k, each in found for at, places in enumerate(each) for one in places]
    rows = [
        {"filter": name, "activation": round(value, 3), "number": k + 1, "word": place + 1, "words": " ".join(words)}
        for name, (value, k, place, words) in numbered
    ]
    return {"templates": rows}


@SENTENCES.verb(example="polyadic sentences static meanings --out encoder", show=print_written)
def static(model: SentenceVectors, *, out: Out, force: bool = False) -> dict[str, Any]:
    """Export a sentence model as a static encoder for sentence-transformers; the model must average word vectors."""
    vectors = model.static()
    vectors.save_pretrained(out, overwrite=force)
    return {"out": str(out), "words": len(vectors), "rank": vectors.rank}


def _methods() -> dict[str, Method]:
    """Return the estimator and the fixed settings of each method."""
    from polyadic.core.methods import Method
    from polyadic.sentences.convolutional import ConvolutionalSentences
    from polyadic.sentences.mean import MeanSentences

    return {
        "sif": Method(MeanSentences, fixed={"a": 0.001, "removed": 1}),
        "mean": Method(MeanSentences),
        "convolutional": Method(ConvolutionalSentences),
    }


def _read(lines: str, reading: Reading) -> Iterator[str]:
    """Return the lines of a plain text, or the sentences of a corpus, a hard-wrapped text or another format."""
    from polyadic.core.urls import is_file
    from polyadic.text.readers import note_documents, read, survey

    if (corpus := corpus_in(lines)) is not None:
        return (corpus.text.sentence(k) for k in range(len(corpus.lines)))
    if reading.documents is None:
        facts = survey(lines, reading)
        if not facts or (is_file(lines) and facts.get("formats") in (["text"], ["lines"]) and "wrapped" not in facts):
            return read(lines, **vars(replace(reading, format="lines")))
        reading = replace(reading, documents="sentence")
    note_documents(lines, reading)
    return read(lines, **vars(reading))
