"""``lowrank phrase``: the words nearest to the product of words, which is the sense they select together."""

from typing import Annotated

import typer

from lowrank.cli import faults, show
from lowrank.cli import options as o

Phrase = Annotated[
    list[str],
    typer.Argument(
        metavar="WORD WORD...", help="The words of one phrase; 'a*b' is a phrase of its own; - reads standard input."
    ),
]


def phrase(vectors: o.Vectors, words: Phrase, *, top: o.Top = 10, as_json: o.AsJson = False) -> None:
    """Show the words nearest to the product of the vectors of a phrase: the sense that its words select together."""
    from lowrank.embedding import read_vectors

    embedding = read_vectors(vectors)
    asked = phrases(o.given(words))
    nearest = {"*".join(each): embedding.neighbours(*each, top=top) for each in asked}
    for each in asked:
        if not embedding.phrase(*each).any():
            faults.say(f"warning: {' and '.join(each)} share no theme: their product is zero, and so is every cosine")
    if as_json:
        show.in_json({"phrases": show.pairs(nearest)})
    else:
        show.neighbours(nearest)


def phrases(words: list[str]) -> list[list[str]]:
    """Tell phrases apart: the plain words are one, and each ``a*b`` is another.

    Examples
    --------
    >>> phrases(["bank", "river", "bank*money"])
    [['bank', 'river'], ['bank', 'money']]
    """
    plain = [word for word in words if "*" not in word.strip("*")]
    return [each for each in [plain, *(word.split("*") for word in words if word not in plain)] if each]
