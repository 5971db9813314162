"""Overview of a text, concordance lines, and documents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from polyadic.core.settings import Count, Natural, Within
from polyadic.explore.answers.common import Answer, Top, frequencies, line_of
from polyadic.explore.answers.parts import values_of
from polyadic.text.readers import name_of_document
from polyadic.text.task import nothing_found

if TYPE_CHECKING:
    from polyadic.explore.workspace import Workspace

FREQUENT = 30  # number of frequent words that are listed
LISTED = 200  # maximum number of values of a field that are listed; a field with more is an identifier


def overview(workspace: Workspace) -> Answer:
    """Return the size and language of the text, the metadata fields of documents, and the most frequent words."""
    corpus, vectors = workspace.corpus, workspace.vectors
    trained = vectors.meta.get("trained", {})
    fields = {name: values_of(workspace, name) for name in corpus.lines.fields}
    return {
        "name": workspace.path.resolve().name,
        "source": trained.get("source"),
        "language": corpus.settings.get("language"),
        "documents": len(corpus.documents) - 1,
        "sentences": len(corpus.lines),
        "tokens": len(corpus.text),
        "words": len(corpus.vocabulary),
        "rank": vectors.rank,
        "method": trained.get("method"),
        "fields": {name: list(values) if len(values) <= LISTED else None for name, values in fields.items()},
        "attributes": corpus.lines.spelling.attributes,
        "topics": workspace.topics is not None,
        "frequent": frequencies(workspace, corpus.vocabulary.words[:FREQUENT]),
        "polyadic": trained.get("polyadic"),
        "digest": corpus.digest,
    }


def lines(
    workspace: Workspace,
    words: list[str],
    *,
    width: Annotated[int, Within(0, 1000)] | None = None,
    either: bool = False,
    sort: Literal["document", "left", "right", "relevance"] = "document",
    field: str | None = None,
    value: str | None = None,
    context: Annotated[int, Within(0, 1000)] | None = None,
    sample: Count | None = None,
    case: bool = False,
    diacritics: bool = True,
    start: Natural = 0,
    top: Top = 100,
) -> Answer:
    """Return the concordance lines of queries, the number of matches, and the number of lines in the sample.

    Each of ``words`` is a word, a phrase, a pattern or a query in CQL: see :mod:`polyadic.text.query`. If no line is
    found, ``note`` says why.
    """
    where, text = {field: value or ""} if field else {}, workspace.corpus.lines
    found = text.find(
        *words, width=width, either=either, sort=sort, where=where, start=start, top=top, context=context,
        sample=sample, case=case, diacritics=diacritics,
    )  # fmt: skip
    return {
        "words": words,
        "lines": [line_of(line) for line in found],
        "count": found.count,
        "sampled": found.count if sample is None else min(sample, found.count),
        "note": None if found.count else nothing_found(text, words, where, 0, either=either),
        "start": start,
    }


def document(workspace: Workspace, number: Natural, *, start: Natural = 0, top: Top = 200) -> Answer:
    """Return the sentences of a document, starting at index ``start``."""
    fields, sentences, length = workspace.corpus.lines.document(number, start=start, top=top)
    answer = {"document": number, "name": name_of_document(fields) or str(number + 1), "fields": fields}
    return answer | {"sentences": sentences, "start": start, "length": length}
