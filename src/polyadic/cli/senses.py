"""``polyadic senses``: the senses of a word, told apart by what could stand in its place."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from polyadic.cli import faults, show
from polyadic.cli import options as o

if TYPE_CHECKING:
    from polyadic.embedding import Embedding
    from polyadic.models.words.occurrences import SensesOfWord
    from polyadic.text.corpus import Corpus

Number = Annotated[
    int | None,
    typer.Option(min=1, help="Cut the words that go with WORD into so many, by vectors alone.", show_default="find it"),
]
Lines = Annotated[int, typer.Option(min=0, help="Lines to show of each sense.")]


def senses(
    vectors: o.Vectors,
    words: o.Words,
    *,
    corpus: o.TextOfVectors = None,
    number: Number = None,
    top: o.TopWords = 10,
    lines: Lines = 2,
    picture: o.Picture = None,
    as_json: o.AsJson = False,
) -> None:
    """Show the senses of words: how often each is meant, what could stand in the word's place, and lines."""
    from polyadic.embedding import read_vectors

    show.check_picture(picture)
    embedding = read_vectors(vectors)
    if number is not None:
        _clusters(embedding, o.given(words), number, top, picture, as_json=as_json)
        return
    from polyadic.models.words.occurrences import WordSenses

    text = o.text_of(embedding, corpus)
    space = WordSenses.learn(embedding, text, keep=True)
    answers = show.Answers(o.given(words), lambda word: space.senses(word, top=top))
    for answer in answers.values():
        if not answer.sure:
            few = f"{answer.word!r} occurs {answer.occurrences} times only"
            faults.say(f"warning: {few}, so that a sense of it may be missed")
    shares = {
        f"{each.word} {k}, {sense.share:.0%}": sense.substitutes
        for each in answers.values()
        for k, sense in enumerate(each.senses, 1)
    }
    if as_json:
        show.in_json(
            {"senses": {word: _in_json(text, each, lines) for word, each in answers.items()}, **answers.in_json}
        )
    else:
        numbered = [(each, k, sense) for each in answers.values() for k, sense in enumerate(each.senses, 1)]
        rows = [(each.word, k, sense.share, each.agreement, " ".join(sense.substitutes)) for each, k, sense in numbered]
        show.table(["word", "sense", "share", "agreement", "words in its place"], rows)
        if lines and rows:
            typer.echo()
            shown = [(each.word, k, text.line(at)) for each, k, sense in numbered for at in sense.positions[:lines]]
            show.table(["word", "sense", "line"], [(word, k, line.text) for word, k, line in shown])
    show.draw_words(embedding, shares, picture)
    answers.end()


def _in_json(text: "Corpus", found: "SensesOfWord", lines: int) -> dict[str, Any]:
    senses = [
        {
            "share": sense.share,
            "words": list(sense.substitutes),
            "lines": [show.line(text.line(at)) for at in sense.positions[:lines]],
        }
        for sense in found.senses
    ]
    return {"occurrences": found.occurrences, "agreement": found.agreement, "sure": found.sure, "senses": senses}


def _clusters(
    embedding: "Embedding", words: list[str], number: int, top: int, picture: Path | None, *, as_json: bool
) -> None:
    """Show the words that words go with, in clusters."""
    from polyadic.models.words.senses import senses as clusters

    lists = show.Answers(words, lambda word: clusters(embedding, word, number=number))
    named = {f"{word} {k}": some.words[:top] for word, each in lists.items() for k, some in enumerate(each, 1)}
    if as_json:
        shown = {
            word: [{"words": list(sense.words[:top]), "size": len(sense.words)} for sense in some]
            for word, some in lists.items()
        }
        show.in_json({"senses": shown, **lists.in_json})
    else:
        rows = [
            [word, k, len(sense.words), " ".join(sense.words[:top])]
            for word, some in lists.items()
            for k, sense in enumerate(some, 1)
        ]
        show.table(["word", "sense", "size", "words that select it"], rows)
    show.draw_words(embedding, named, picture)
    lists.end()
