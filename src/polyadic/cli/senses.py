"""``polyadic senses``: the senses of a word, told apart by the words that select them."""

from typing import Annotated

import typer

from polyadic.cli import options as o
from polyadic.cli import show

Number = Annotated[int | None, typer.Option(min=1, help="How many senses.", show_default="as many as stand apart")]


def senses(
    vectors: o.Vectors, words: o.Words, *, number: Number = None, top: o.TopWords = 10, as_json: o.AsJson = False
) -> None:
    """Show the senses of words: clusters of the words that each goes with, found without labels."""
    from polyadic.embedding import read_vectors
    from polyadic.models.words.senses import senses as senses_of

    embedding = read_vectors(vectors)
    lists = show.Answers(o.given(words), lambda word: senses_of(embedding, word, number=number))
    if as_json:
        shown = {
            word: [{"words": list(sense.words[:top]), "size": len(sense.words)} for sense in some]
            for word, some in lists.items()
        }
        show.in_json({"senses": shown, **lists.in_json})
    else:
        rows = [
            [word, number, len(sense.words), " ".join(sense.words[:top])]
            for word, some in lists.items()
            for number, sense in enumerate(some, 1)
        ]
        show.table(["word", "sense", "size", "words that select it"], rows)
    lists.end()
