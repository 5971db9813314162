"""``polyadic phrase``: the words nearest to several words together, which is the sense that they select."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from polyadic.cli import options as o
from polyadic.core.errors import InputError
from polyadic.interface import errors, output

if TYPE_CHECKING:
    from polyadic.embedding import Embedding
    from polyadic.text.counts import Counts

Phrase = Annotated[
    list[str],
    typer.Argument(
        metavar="WORD WORD...",
        help="The words of one phrase; 'a*b' is a phrase of its own; - reads one from each line of standard input.",
    ),
]


TripleCounts = Annotated[
    str,
    typer.Option(
        "--counts",
        metavar="COUNTS",
        help="Triples of `polyadic count`, from which phrases of two words are made; auto: those that `train` counted,"
        " if they were kept; none: from the vectors alone.",
    ),
]


def phrase(
    vectors: o.Vectors,
    words: Phrase,
    *,
    counts: TripleCounts = "auto",
    top: o.TopWords = 10,
    as_json: o.AsJson = False,
) -> None:
    """Show the words nearest to a phrase: the sense that its words select together.

    It is made of the triples that its words occur in where they are at hand, and else of the vectors of its words.
    """
    from polyadic.embedding import read_vectors

    embedding = read_vectors(vectors)
    asked = {" ".join(each): each for each in phrases(words)}
    by_vectors = _by_vectors(embedding, asked, top)
    kept = o.triples_of(embedding) if counts == "auto" else None
    if counts not in {"auto", "none"}:
        nearest = output.Answers(asked, _by_triples(embedding, asked, _opened(Path(counts)), top))
    elif kept is not None:
        said = f"phrases of two words are made from the triples in {kept[0]}; --counts none: from the vectors alone"
        errors.say(said, "note")
        nearest = output.Answers(asked, _by_triples(embedding, asked, kept[1], top, otherwise=by_vectors))
    else:
        if not embedding.has_nonnegative_components:
            errors.say(
                "these vectors have no themes, that is, non-negative columns, which alone tell what words share: words"
                " near the sum of those of a phrase are shown. The methods jcp and cp-sn make such columns",
                "warning",
            )
        nearest = output.Answers(asked, by_vectors)
    if as_json:
        output.in_json({"phrases": output.pairs(nearest), **nearest.in_json})
    else:
        output.neighbours(nearest)
    nearest.end()


Nearest = Callable[[str], list[tuple[str, float]]]


def _by_vectors(embedding: "Embedding", asked: dict[str, list[str]], top: int) -> Nearest:
    """Make what gives the neighbours of phrases whose vectors are made of those of their words."""

    def nearest(phrase: str) -> list[tuple[str, float]]:
        words = asked[phrase]
        answers = embedding.neighbours(*words, top=top)
        if embedding.has_nonnegative_components and not embedding.product(*words).any():
            errors.say(f"{' and '.join(words)} share no theme: words near their sum are shown", "warning")
        return answers

    return nearest


def _by_triples(
    embedding: "Embedding",
    asked: dict[str, list[str]],
    counted: "Counts",
    top: int,
    *,
    otherwise: Nearest | None = None,
) -> Nearest:
    """Make what gives the neighbours of phrases of two words, whose vectors come from the triples they occur in."""
    from polyadic.text.weighting import ppmi
    from polyadic.words.phrases import phrase_vectors

    words, index = counted.vocabulary.words, counted.vocabulary.index
    sound = [each for each in asked if len({*asked[each]}) == len(asked[each]) == 2]
    sound = [each for each in sound if all(w in index and w in embedding for w in asked[each])]
    triples = ppmi(counted, holding=[[index[word] for word in asked[each]] for each in sound])
    made = phrase_vectors(embedding, triples, [asked[each] for each in sound], words=words)  # in one pass
    vectors = dict(zip(sound, made, strict=True))

    def nearest(phrase: str) -> list[tuple[str, float]]:
        if phrase not in vectors and otherwise is not None:
            return otherwise(phrase)
        if phrase not in vectors:  # which is refused
            vectors[phrase] = phrase_vectors(embedding, triples, [asked[phrase]], words=words)[0]
        return embedding.neighbours(vectors[phrase], top=top, exclude=asked[phrase])

    return nearest


def _opened(counts: Path) -> "Counts":
    from polyadic.text.counts import Counts

    counted = Counts.open(counts)
    if counted.entries.order != 3:
        raise InputError(f"--counts must be of order 3; {counts} holds tuples of {counted.entries.order}")
    return counted


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
