"""Word lists, n-grams, collocations, keywords, lexical diversity, trends and dispersion plots of the running text.

The functions call the methods of :class:`polyadic.text.usage.Usage`; a row has the fields of the named tuple.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from polyadic.core.settings import Count, Within
from polyadic.explore.answers.common import Top, rows
from polyadic.explore.answers.parts import parts_of
from polyadic.text.occurrences import MAX_WIDTH
from polyadic.text.usage import Collocation, Keyness, Order, Sort, fullest

if TYPE_CHECKING:
    from polyadic.explore.answers.common import Answer
    from polyadic.explore.workspace import Workspace

BINS = 200  # number of parts of a document in a dispersion plot
Near = Annotated[int, Within(0, MAX_WIDTH)]


def word_list(
    workspace: Workspace,
    *,
    query: str | None = None,
    attribute: str = "lc",
    field: str | None = None,
    value: str | None = None,
    min_count: Count = 1,
    sort: Sort = "frequency",
    top: Top = 50,
) -> Answer:
    """Return the words of the text, or those that match a query, with their frequency and dispersion."""
    where = _where(field, value)
    how: dict[str, Any] = {"query": query, "attribute": attribute, "where": where, "min_count": min_count}
    return {"rows": rows(workspace.corpus.word_list(**how, sort=sort, top=top)), "tokens": _tokens(workspace, where)}


def ngrams(
    workspace: Workspace,
    n: Order = 2,
    *,
    query: str | None = None,
    attribute: str = "lc",
    field: str | None = None,
    value: str | None = None,
    min_count: Count = 2,
    min_range: Count = 1,
    sort: Sort = "frequency",
    top: Top = 50,
) -> Answer:
    """Return the n-grams of the text, or those that contain a query, with their frequency and dispersion."""
    where = _where(field, value)
    how: dict[str, Any] = {"query": query, "attribute": attribute, "where": where, "min_count": min_count}
    found = workspace.corpus.ngrams(n, **how, min_range=min_range, sort=sort, top=top)
    return {"rows": rows(found), "tokens": _tokens(workspace, where)}


def collocates(
    workspace: Workspace,
    query: str,
    *,
    left: Near = 5,
    right: Near = 5,
    across: bool = False,
    attribute: str = "lc",
    field: str | None = None,
    value: str | None = None,
    min_count: Count = 2,
    sort: Collocation = "log_likelihood",
    top: Top = 50,
) -> Answer:
    """Return the collocates of a query with association measures and the counts at each position."""
    where = _where(field, value)
    how: dict[str, Any] = {"left": left, "right": right, "across": across, "attribute": attribute, "where": where}
    found = workspace.corpus.collocates(query, **how, min_count=min_count, sort=sort, top=top)
    return {"query": query, "count": workspace.corpus.lines.count(query, where=where), "rows": rows(found)}


def keywords(
    workspace: Workspace,
    field: str,
    value: str,
    *,
    against: str | None = None,
    n: Order = 1,
    attribute: str = "lc",
    min_count: Count = 5,
    sort: Keyness = "log_likelihood",
    top: Top = 50,
) -> Answer:
    """Return the keywords of documents with a given metadata value, compared with another value or all other documents.

    ``words`` has a list of positive and one of negative keywords.
    """
    parts = parts_of(workspace, field, value, against)
    how: dict[str, Any] = {"n": n, "attribute": attribute, "min_count": min_count, "sort": sort, "top": top}
    other = None if against is None else {field: against}
    found = workspace.corpus.keywords(other, where={field: value}, keys="both", **how)
    sizes = np.diff(workspace.corpus.text.edges)
    positive = [getattr(each, sort) > (sort == "simple_maths") for each in found]
    return {
        "field": field,
        "value": value,
        "against": against,
        "tokens": [int(sizes[part].sum()) for part in parts],
        "documents": [int(part.sum()) for part in parts],
        "words": [
            [
                {
                    "word": row.pop("item"),
                    "count": row.pop("frequency"),
                    "against": row.pop("reference_frequency"),
                    **row,
                }
                for row, sign in zip(rows(found), positive, strict=True)
                if sign is way
            ]
            for way in (True, False)
        ],
    }


def diversity(
    workspace: Workspace,
    *,
    by: str | None = None,
    attribute: str = "lc",
    field: str | None = None,
    value: str | None = None,
    window: Count = 100,
) -> Answer:
    """Return the lexical diversity of the text, of each document, or of each value of a field."""
    found = workspace.corpus.diversity(by, attribute=attribute, where=_where(field, value), window=window)
    return {"rows": rows(found)}


def trends(
    workspace: Workspace, queries: list[str], by: str, *, field: str | None = None, value: str | None = None
) -> Answer:
    """Return the frequency of queries by value of a field, in the order of the values."""
    return {"rows": rows(workspace.corpus.trends(queries, by, where=_where(field, value)))}


def barcode(
    workspace: Workspace,
    queries: list[str],
    *,
    by: str = "document",
    field: str | None = None,
    value: str | None = None,
    bins: Annotated[int, Within(1, 10_000)] = BINS,
    top: Top = 100,
) -> Answer:
    """Return the number of matches in equal parts of each document, or of all documents with a value of a field."""
    found = workspace.corpus.occurrences(queries, by, where=_where(field, value))
    listed = [each._replace(positions=each.binned(bins)) for each in fullest(found, top)]
    return {"rows": rows(listed), "parts": len(found), "bins": bins}


def _where(field: str | None, value: str | None) -> dict[str, str] | None:
    return {field: value or ""} if field else None


def _tokens(workspace: Workspace, where: dict[str, str] | None) -> int:
    """Return the number of running words of the documents that are searched."""
    sizes = np.diff(workspace.corpus.text.edges)
    return int(sizes[workspace.corpus.lines.documents_where(where)].sum() if where else sizes.sum())
