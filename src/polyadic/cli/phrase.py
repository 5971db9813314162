"""``polyadic phrase``: the words nearest to the product of words, which is the sense they select together."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from polyadic.cli import faults, show
from polyadic.cli import options as o
from polyadic.errors import InputError

if TYPE_CHECKING:
    from polyadic.embedding import Embedding

Phrase = Annotated[
    list[str],
    typer.Argument(
        metavar="WORD WORD...",
        help="The words of one phrase; 'a*b' is a phrase of its own; - reads one from each line of standard input.",
    ),
]


TripleCounts = Annotated[
    Path | None,
    typer.Option(
        "--counts",
        metavar="COUNTS",
        help="Triples counted by `polyadic count`: make vectors of phrases of two words from those they occur in.",
    ),
]


def phrase(
    vectors: o.Vectors,
    words: Phrase,
    *,
    counts: TripleCounts = None,
    top: o.TopWords = 10,
    as_json: o.AsJson = False,
) -> None:
    """Show the words nearest to the product of the vectors of a phrase: the sense that its words select together."""
    from polyadic.embedding import read_vectors

    embedding = read_vectors(vectors)
    sign = "*" if counts is None else " "
    asked = {sign.join(each): each for each in phrases(words)}

    def multiplied(phrase: str) -> list[tuple[str, float]]:
        nearest = embedding.neighbours(*asked[phrase], top=top)
        if not embedding.phrase(*asked[phrase]).any():
            shared = " and ".join(asked[phrase])
            faults.say(f"{shared} share no theme: their product is zero, and so is every cosine", "warning")
        return nearest

    if counts is None:
        if not embedding.has_themes:
            faults.say(
                "these vectors have no themes, that is, non-negative columns, and products of others mean little; the"
                " methods jcp and cp-sn make such columns",
                "warning",
            )
        nearest = show.Answers(asked, multiplied)
    else:
        nearest = show.Answers(asked, _counted(embedding, asked, counts, top))
    if as_json:
        show.in_json({"phrases": show.pairs(nearest), **nearest.in_json})
    else:
        show.neighbours(nearest)
    nearest.end()


def _counted(
    embedding: "Embedding", asked: dict[str, list[str]], counts: Path, top: int
) -> Callable[[str], list[tuple[str, float]]]:
    """Make what gives the neighbours of phrases whose vectors come from the triples they occur in."""
    from polyadic.models.words.phrases import phrase_vectors
    from polyadic.text.counts import Counts
    from polyadic.text.weighting import ppmi

    counted = Counts.open(counts)
    if counted.entries.order != 3:
        raise InputError(f"--counts must be of order 3; {counts} holds tuples of {counted.entries.order}")
    triples, words = ppmi(counted), counted.vocabulary.words
    sound = [each for each in asked if len({*asked[each]}) == len(asked[each]) == 2]
    sound = [each for each in sound if all(w in counted.vocabulary and w in embedding for w in asked[each])]
    made = phrase_vectors(embedding, triples, [asked[each] for each in sound], words=words)  # in one pass
    vectors = dict(zip(sound, made, strict=True))

    def nearest(phrase: str) -> list[tuple[str, float]]:
        if phrase not in vectors:  # which is refused
            vectors[phrase] = phrase_vectors(embedding, triples, [asked[phrase]], words=words)[0]
        return embedding.neighbours(vectors[phrase], top=top, exclude=asked[phrase])

    return nearest


def phrases(words: list[str]) -> list[list[str]]:
    """Tell phrases apart: the plain words are one, each ``a*b`` is another, and so is each line of standard input.

    Examples
    --------
    >>> phrases(["bank", "river", "bank*money"])
    [['bank', 'river'], ['bank', 'money']]
    """
    lines = sys.stdin.read().split("\n") if "-" in words else []
    words = [word for word in words if word != "-"]
    plain = [word for word in words if "*" not in word.strip("*")]
    products = [word.split("*") for word in words if word not in plain]
    return [each for each in [plain, *products, *(line.replace("*", " ").split() for line in lines)] if each]
