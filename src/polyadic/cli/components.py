"""``polyadic components``: what the columns of vectors stand for."""

from typing import Annotated

import typer

from polyadic.cli import options as o
from polyadic.cli import show

Words = Annotated[
    list[str] | None,
    typer.Argument(metavar="[WORD...]", help="Show the components that WORD, or the product of several, has most of."),
]
Most = Annotated[int, typer.Option("--most", "-m", min=1, help="How many components to show.")]


def components(
    vectors: o.Vectors, words: Words = None, *, most: Most = 10, top: o.TopWords = 10, as_json: o.AsJson = False
) -> None:
    """Show the words that tell what components stand for: readable themes where vectors are non-negative and sparse."""
    from polyadic.embedding import components as all_components
    from polyadic.embedding import components_of, read_vectors

    embedding = read_vectors(vectors)
    if words:
        shown = components_of(embedding, *o.given(words), most=most, top=top)
    else:
        shown = all_components(embedding, top=top)[:most]
    if as_json:
        rows = [{"column": c.column, "share": c.share, "words": [list(pair) for pair in c.words]} for c in shown]
        show.in_json({"components": rows})
    else:
        show.table(["column", "share", "words"], [(c.column, c.share, " ".join(w for w, _ in c.words)) for c in shown])
