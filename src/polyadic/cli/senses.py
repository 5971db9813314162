"""``polyadic senses``: the senses of a word, told apart by what could stand in its place."""

from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from polyadic.cli import options as o
from polyadic.core.errors import InputError
from polyadic.interface import errors, output

if TYPE_CHECKING:
    from polyadic.embedding import Embedding
    from polyadic.words.occurrences import SensesOfWord, WordSenses

Number = Annotated[
    int | None,
    typer.Option(min=1, help="Cut the words that go with WORD into so many, by vectors alone.", show_default="find it"),
]
Lines = Annotated[int, typer.Option(min=0, help="Lines to show of each sense.")]
Assign = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", help="Say for each line of FILE, or of standard input (-), in which sense it has WORD."
    ),
]


def senses(
    vectors: o.Vectors,
    words: o.Words,
    *,
    corpus: o.TextOfVectors = None,
    number: Number = None,
    top: o.TopWords = 10,
    lines: Lines = 2,
    assign: Assign = None,
    picture: o.Picture = None,
    as_json: o.AsJson = False,
) -> None:
    """Show the senses of words: how often each is meant, what could stand in the word's place, and lines.

    What is learned from the corpus stays in its folder for the next time.
    """
    from polyadic.embedding import read_vectors

    output.check_picture(picture)
    embedding = read_vectors(vectors)
    if assign is not None and (len(words) != 1 or number is not None):
        raise InputError("assign is for one word and its senses in a corpus; leave out --number and other words")
    if number is not None:
        _clusters(embedding, o.given(words), number, top, picture, as_json=as_json)
        return
    from polyadic.words.occurrences import WordSenses

    text = o.text_of(embedding, corpus)
    space = WordSenses.learn(embedding, text, keep=True)
    if assign is not None:
        _assign(space, words[0], assign, top, as_json=as_json)
        return
    answers = output.Answers(o.given(words), lambda word: space.senses(word, top=top))
    for answer in answers.values():
        if not answer.sure:
            few = f"{answer.word!r} occurs {answer.occurrences} times only"
            errors.say(f"{few}, so that a sense of it may be missed", "warning")
    shares = {
        f"{each.word} {k}, {sense.share:.0%}": sense.substitutes
        for each in answers.values()
        for k, sense in enumerate(each.senses, 1)
    }
    if as_json:
        output.in_json(
            {"senses": {word: _in_json(space, each, lines) for word, each in answers.items()}, **answers.in_json}
        )
    else:
        numbered = [(each, k, sense) for each in answers.values() for k, sense in enumerate(each.senses, 1)]
        rows = [(each.word, k, sense.share, each.agreement, " ".join(sense.substitutes)) for each, k, sense in numbered]
        output.table(["word", "sense", "share", "agreement", "words in its place"], rows)
        if lines and rows:
            typer.echo()
            shown = [(each.word, k, line) for each, k, sense in numbered for line in space.lines(sense, lines)]
            output.table(["word", "sense", "line"], [(word, k, line.text) for word, k, line in shown])
    from polyadic.plots.files import save_word_map

    save_word_map(embedding, shares, picture)
    answers.end()


def _assign(space: "WordSenses", word: str, file: Path, top: int, *, as_json: bool) -> None:
    """Show in which sense each line has the word."""
    from polyadic.text.streams import blocks, lines, open_bytes

    found = space.senses(word, top=top)
    with open_bytes(str(file)) as stream:
        texts = [line for line in lines(blocks(stream, str(file))) if line.strip()]
    tokens = [[*chain.from_iterable(space.corpus.tokenize(text))] for text in texts]
    places = [some.index(word) if word in some else None for some in tokens]
    held = [(some[:at], some[at + 1 :]) for some, at in zip(tokens, places, strict=True) if at is not None]
    numbers = iter(space.assign(found, held).tolist())
    given = [next(numbers) if at is not None else -1 for at in places]
    if as_json:
        senses = [{"share": sense.share, "words": list(sense.substitutes)} for sense in found.senses]
        rows = [{"sense": k + 1 if k >= 0 else None, "text": text} for k, text in zip(given, texts, strict=True)]
        output.in_json({"word": word, "senses": senses, "lines": rows})
    else:
        named = [" ".join(sense.substitutes[:4]) for sense in found.senses]
        cells = [(k + 1, named[k]) if k >= 0 else (None, None) for k in given]
        cells = [(*cell, text) for cell, text in zip(cells, texts, strict=True)]
        output.table(["sense", "words in its place", "line"], cells)
    absent = places.count(None)
    if absent:
        errors.say(f"{absent:,} of {len(texts):,} lines do not have {word!r}", "warning")


def _in_json(space: "WordSenses", found: "SensesOfWord", lines: int) -> dict[str, Any]:
    senses = [
        {
            "share": sense.share,
            "words": list(sense.substitutes),
            "lines": [*map(output.line, space.lines(sense, lines))],
        }
        for sense in found.senses
    ]
    return {"occurrences": found.occurrences, "agreement": found.agreement, "sure": found.sure, "senses": senses}


def _clusters(
    embedding: "Embedding", words: list[str], number: int, top: int, picture: Path | None, *, as_json: bool
) -> None:
    """Show the words that words go with, in clusters."""
    from polyadic.words.senses import senses as clusters

    lists = output.Answers(words, lambda word: clusters(embedding, word, number=number))
    named = {f"{word} {k}": some.words[:top] for word, each in lists.items() for k, some in enumerate(each, 1)}
    if as_json:
        shown = {
            word: [{"words": list(sense.words[:top]), "size": len(sense.words)} for sense in some]
            for word, some in lists.items()
        }
        output.in_json({"senses": shown, **lists.in_json})
    else:
        rows = [
            [word, k, len(sense.words), " ".join(sense.words[:top])]
            for word, some in lists.items()
            for k, sense in enumerate(some, 1)
        ]
        output.table(["word", "sense", "size", "words that select it"], rows)
    from polyadic.plots.files import save_word_map

    save_word_map(embedding, named, picture)
    lists.end()
