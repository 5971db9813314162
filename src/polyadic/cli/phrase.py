"""``polyadic phrase``: the words nearest to the product of words, which is the sense they select together."""

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
        metavar="WORD WORD...", help="The words of one phrase; 'a*b' is a phrase of its own; - reads standard input."
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
    asked = phrases(o.given(words))
    if counts is None:
        nearest = {"*".join(each): embedding.neighbours(*each, top=top) for each in asked}
    else:
        nearest = _counted(embedding, asked, counts, top)
    for each in asked if counts is None else ():
        if not embedding.phrase(*each).any():
            faults.say(f"warning: {' and '.join(each)} share no theme: their product is zero, and so is every cosine")
    if as_json:
        show.in_json({"phrases": show.pairs(nearest)})
    else:
        show.neighbours(nearest)


def _counted(
    embedding: "Embedding", asked: list[list[str]], counts: Path, top: int
) -> dict[str, list[tuple[str, float]]]:
    """Give the neighbours of phrases whose vectors come from the triples they occur in."""
    from polyadic.models.words.phrases import phrase_vectors
    from polyadic.text.counts import Counts
    from polyadic.text.weighting import ppmi

    counted = Counts.open(counts)
    if counted.entries.order != 3:
        raise InputError(f"--counts must be of order 3; {counts} holds tuples of {counted.entries.order}")
    made = phrase_vectors(embedding, ppmi(counted), asked, words=counted.vocabulary.words)
    return {
        " ".join(each): embedding.neighbours(vector, top=top, exclude=each)
        for each, vector in zip(asked, made, strict=True)
    }


def phrases(words: list[str]) -> list[list[str]]:
    """Tell phrases apart: the plain words are one, and each ``a*b`` is another.

    Examples
    --------
    >>> phrases(["bank", "river", "bank*money"])
    [['bank', 'river'], ['bank', 'money']]
    """
    plain = [word for word in words if "*" not in word.strip("*")]
    return [each for each in [plain, *(word.split("*") for word in words if word not in plain)] if each]
