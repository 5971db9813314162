"""``polyadic neighbours``: the words nearest to a word."""

from polyadic.cli import options as o
from polyadic.cli import show


def neighbours(
    vectors: o.Vectors,
    words: o.Words,
    *,
    top: o.TopWords = 10,
    picture: o.Picture = None,
    as_json: o.AsJson = False,
) -> None:
    """Show the words whose vectors have the largest cosine with that of WORD."""
    from polyadic.embedding import read_vectors

    show.check_picture(picture)
    embedding = read_vectors(vectors)
    nearest = show.Answers(o.given(words), lambda word: embedding.neighbours(word, top=top))
    if as_json:
        show.in_json({"neighbours": show.pairs(nearest), **nearest.in_json})
    else:
        show.neighbours(nearest)
    show.draw_words(embedding, {word: [word, *(other for other, _ in near)] for word, near in nearest.items()}, picture)
    nearest.end()
