"""``polyadic neighbours``: the words nearest to a word."""

from polyadic.cli import options as o
from polyadic.interface import output


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

    output.check_picture(picture)
    embedding = read_vectors(vectors)
    nearest = output.Answers(o.given(words), lambda word: embedding.neighbours(word, top=top))
    if as_json:
        output.in_json({"neighbours": output.pairs(nearest), **nearest.in_json})
    else:
        output.neighbours(nearest)
    from polyadic.plots.files import save_word_map

    save_word_map(embedding, {word: [word, *(other for other, _ in near)] for word, near in nearest.items()}, picture)
    nearest.end()
