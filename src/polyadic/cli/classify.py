"""``polyadic classify``: which class a document is of, from documents whose classes are known."""

from collections.abc import Iterator
from pathlib import Path, PurePath
from typing import Annotated, Any

import typer

from polyadic.cli import options as o
from polyadic.core.errors import InputError
from polyadic.interface import output
from polyadic.interface.command_line import add_verbs

app = typer.Typer(
    no_args_is_help=True, help="Which class documents are of, from labelled ones, and which words say so."
)

Docs = Annotated[
    str,
    typer.Argument(
        metavar="DOCS", help="A table of documents, a file with one a line, or a folder or glob with a file for each."
    ),
]
Model = Annotated[Path, typer.Argument(metavar="MODEL", help="A folder made by `polyadic classify train`.")]
Label = Annotated[
    str | None,
    typer.Option(
        "--label", "-l", metavar="NAME", help="The column that holds the class.", show_default="the folder of each file"
    ),
]
C = Annotated[
    float | None,
    typer.Option(
        "--C", min=0, help="How far the documents are trusted.", show_default="documents held out choose, or 30"
    ),
]
Ratios = Annotated[
    float | None,
    typer.Option(
        "--share",
        min=0,
        max=1,
        help="Of log-count ratios in what decides; the rest is a logistic regression.",
        show_default="documents held out choose, or 0.5",
    ),
]
HoldOut = Annotated[
    float, typer.Option(min=0, max=0.9, help="Share of the documents to hold out and classify before all are learned.")
]
Why = Annotated[
    int, typer.Option(min=0, help="How many words of each document to show, by what they add to what decides.")
]
Named = Annotated[str | None, typer.Argument(metavar="[CLASS]", help="Only of this class.")]
FEWEST = 50
"""Documents whose folds can choose."""


def train(
    ctx: typer.Context,
    docs: Docs,
    *,
    out: o.Out,
    label: Label = None,
    c: C = None,
    share: Ratios = None,
    choose: o.Choose = True,
    budget: o.Budget = None,
    hold_out: HoldOut = 0.0,
    language: o.Language = "auto",
    format_: o.Format = "auto",
    field: o.Field = None,
    wrapped: o.Wrapped = None,
    encoding: o.Encoding = "utf-8",
    errors: o.Errors = "skip",
    seed: o.Seed = 0,
    force: o.Force = False,
    as_json: o.AsJson = False,
) -> None:
    """Learn classes from labelled documents; settings that are not given are chosen by documents held out.

    Documents without a class are left out, and counted. With --hold-out it is shown how many of other documents are
    classified rightly, beside the share of the most frequent class; then all are learned, with the same settings.
    """
    import numpy as np

    from polyadic.core.files import check_replaceable
    from polyadic.core.selection import select
    from polyadic.core.serialization import KIND
    from polyadic.core.settings import BUDGET
    from polyadic.sentences.classifier import TextClassifier, held_out

    check_replaceable(out, KIND, overwrite=force)
    texts, labels, others = _labelled(docs, label, o.reading_documents(docs, ctx))
    given: dict[str, Any] = {name: value for name, value in (("C", c), ("share", share)) if value is not None}
    model = TextClassifier(**given, language=language)
    model.check()
    facts: dict[str, Any] = {"documents": len(texts), **({"without_class": others} if others else {})}

    def learned(some: list[str], classes: Any) -> TextClassifier:
        if not choose or len(some) < FEWEST:
            return model.fit(some, classes)
        return select(model, some, y=classes, keep=given, budget=BUDGET if budget is None else budget, seed=seed)

    if hold_out:
        is_out = held_out(labels, hold_out, seed)
        part, judged = ([text for text, out in zip(texts, is_out, strict=True) if out == at] for at in (False, True))
        fitted = learned(part, labels[~is_out])
        if getattr(fitted, "interrupted_", False):
            raise KeyboardInterrupt  # what is not chosen to the end is not judged
        right = labels[is_out]
        facts |= {"held_out": len(right), "accuracy": float((fitted.predict(judged) == right).mean())}
        names, counts = np.unique(labels[~is_out], return_counts=True)
        facts |= {"accuracy_of_most_frequent": float((right == names[counts.argmax()]).mean())}
        model = TextClassifier(**fitted.get_params()).fit(texts, labels)
        if hasattr(fitted, "selection_"):
            model.selection_ = fitted.selection_
    else:
        model = learned(texts, labels)
    facts |= {"classes": len(model.classes_), "features": model.coef_.shape[1]}
    hint = ("classify", "apply", out, docs, *(("--field", field) if field else ()), "--why", 5)
    output.saved(model, out, facts, force=force, as_json=as_json, hint=hint)


def apply(
    ctx: typer.Context,
    model: Model,
    docs: Docs,
    *,
    why: Why = 0,
    format_: o.Format = "auto",
    field: o.Field = None,
    wrapped: o.Wrapped = None,
    encoding: o.Encoding = "utf-8",
    errors: o.Errors = "skip",
    as_json: o.AsJson = False,
) -> None:
    """Show the likeliest class of each document, how likely it is, and which of its words say so.

    With --why values are what decides for that class against all others, its log-odds: sums of what every word adds,
    and of a base that none does.
    """
    from polyadic.text.readers import documents, name_of_document

    opened, texts, names = _open(model), [], []
    for number, document in enumerate(documents(docs, **o.reading_documents(docs, ctx)), 1):
        names.append(name_of_document(document.fields) or number)
        texts.append(document.text)
    if not texts:
        raise InputError(f"{docs} holds no documents")
    chances = opened.predict_proba(texts)
    best = chances.argmax(axis=1).tolist()
    rows: list[dict[str, Any]] = []
    for name, text, at, row in zip(names, texts, best, chances.tolist(), strict=True):
        rows.append({"document": name, "class": str(opened.classes_[at]), "probability": round(row[at], 4)})
        if why:
            rows[-1] |= output.reasons(opened.explain(text, opened.classes_[at]), why, "word")
    if as_json:
        output.in_json({"documents": rows})
    else:
        output.reasoned([*rows[0]], rows)


def evaluate(
    ctx: typer.Context,
    model: Model,
    docs: Docs,
    *,
    label: Label = None,
    format_: o.Format = "auto",
    field: o.Field = None,
    wrapped: o.Wrapped = None,
    encoding: o.Encoding = "utf-8",
    errors: o.Errors = "skip",
    as_json: o.AsJson = False,
) -> None:
    """Classify labelled documents: how many rightly, and for each class precision, recall, and what it is taken for."""
    from sklearn.metrics import confusion_matrix, f1_score, precision_recall_fscore_support

    opened = _open(model)
    texts, labels, others = _labelled(docs, label, o.reading_documents(docs, ctx))
    told = opened.predict(texts)
    classes = sorted({*opened.classes_.tolist(), *labels.tolist()})
    confused = confusion_matrix(labels, told, labels=classes)
    precision, recall, f1, number = precision_recall_fscore_support(labels, told, labels=classes, zero_division=0)
    facts: dict[str, Any] = {"documents": len(texts), **({"without_class": others} if others else {})}
    facts |= {"accuracy": float((told == labels).mean())}
    facts |= {"macro_f1": float(f1_score(labels, told, average="macro", labels=classes, zero_division=0))}
    rows = []
    for at, name in enumerate(classes):
        wrong = [k for k in (-confused[at]).argsort(kind="stable").tolist() if k != at and confused[at, k]]
        taken = f"{classes[wrong[0]]} ({confused[at, wrong[0]]})" if wrong else None
        rows.append((name, int(number[at]), *(float(figure[at]) for figure in (precision, recall, f1)), taken))
    headings = ["class", "documents", "precision", "recall", "f1", "mostly_taken_for"]
    if as_json:
        output.in_json({**facts, "classes": [dict(zip(headings, row, strict=True)) for row in rows]})
        return
    output.facts(facts, as_json=False)
    output.table([heading.replace("_", " ") for heading in headings], rows)


def top(model: Model, named: Named = None, *, top: o.TopWords = 10, as_json: o.AsJson = False) -> None:
    """Show the words and pairs of words that say most for each class."""
    opened = _open(model)
    wanted = opened.classes_.tolist() if named is None else [named]
    words = {name: [feature for feature, _ in opened.top_features(name, top)] for name in wanted}
    if as_json:
        output.in_json({"words_of_classes": words})
    else:
        output.table(["class", "words"], [(name, ", ".join(some)) for name, some in words.items()])


def _labelled(docs: str, label: str | None, reading: dict[str, Any]) -> tuple[list[str], Any, int]:
    """Give documents that have a class, their classes, and how many have none."""
    import numpy as np

    texts, labels, others = [], [], 0
    for text, name in _classes(docs, label, reading):
        if name:
            texts.append(text)
            labels.append(name)
        else:
            others += 1
    if not texts:
        if label is None:
            raise InputError(f"{docs} has no folder for each class; name the column of the class, --label NAME")
        raise InputError(f"no document of {docs} has a class in the column {label!r}")
    return texts, np.array(labels), others


def _classes(docs: str, label: str | None, reading: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Give documents with their classes."""
    from polyadic.text.readers import documents

    for document in documents(docs, **reading):
        if label is None:
            yield document.text, PurePath(document.fields.get("file", "")).parent.name
        elif label not in document.fields:
            such = ", ".join(repr(name) for name in document.fields) or "none"
            raise InputError(f"documents of {docs} have no column {label!r} beside their text; they have {such}"[:300])
        else:
            yield document.text, document.fields[label].strip()


def _open(path: Path) -> Any:
    from polyadic.core.serialization import load
    from polyadic.sentences.classifier import TextClassifier

    return load(path, TextClassifier)


add_verbs(
    app,
    {
        train: "polyadic classify train stories.csv --field text --label story --out classifier --hold-out 0.2",
        apply: "polyadic classify apply classifier stories.csv --field text --why 5",
        evaluate: "polyadic classify evaluate classifier stories.csv --field text --label story",
        top: "polyadic classify top classifier",
    },
)
