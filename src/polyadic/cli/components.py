"""``polyadic components``: what the columns of vectors stand for."""

from typing import Annotated

import typer

from polyadic.cli import options as o
from polyadic.core.errors import InputError
from polyadic.interface import output

Words = Annotated[
    list[str] | None,
    typer.Argument(metavar="[WORD...]", help="Show the components that WORD, or the product of several, has most of."),
]
Lines = Annotated[int, typer.Option(min=0, help="Lines to show of each, those with most of its words.")]
Most = Annotated[int, typer.Option("--most", "-m", min=1, help="How many components to output.")]


def components(
    vectors: o.Vectors,
    words: Words = None,
    *,
    most: Most = 10,
    top: o.TopWords = 10,
    corpus: o.TextOfVectors = None,
    lines: Lines = 0,
    as_json: o.AsJson = False,
) -> None:
    """Show the words that tell what components stand for: readable themes where vectors are non-negative and sparse."""
    from polyadic.embedding import components as all_components
    from polyadic.embedding import components_of, read_vectors

    if corpus is not None and not lines:
        raise InputError("corpus is for lines; say how many, or leave it out")
    embedding = read_vectors(vectors)
    text = o.text_of(embedding, corpus).lines if lines else None
    if words:
        shown = components_of(embedding, *o.given(words), n_components=most, top=top)
    else:
        shown = all_components(embedding, top=top)[:most]
    names = [[word for word, _ in component.words] for component in shown]
    found = [[*text.find(*some, either=True, sort="relevance", top=lines)] if text else [] for some in names]
    if as_json:
        rows = [{"column": c.column, "share": c.share, "words": [list(pair) for pair in c.words]} for c in shown]
        with_lines = [
            {**row, "lines": [output.line(each) for each in some]} for row, some in zip(rows, found, strict=True)
        ]
        output.in_json({"components": with_lines if lines else rows})
        return
    output.table(
        ["column", "share", "words"],
        [(c.column, c.share, " ".join(some)) for c, some in zip(shown, names, strict=True)],
    )
    if lines:
        typer.echo()
        cells = [(c.column, line.text) for c, some in zip(shown, found, strict=True) for line in some]
        output.table(["column", "line"], cells)
