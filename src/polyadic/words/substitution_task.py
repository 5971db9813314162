"""``polyadic substitutes``: words that could replace a word in a sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from polyadic.core.settings import Count, Help, Metavar, Out
from polyadic.interface.run import Saved
from polyadic.interface.run import train as run
from polyadic.interface.task import Task
from polyadic.text.task import READING, CorpusOrText, text_of

if TYPE_CHECKING:
    from polyadic.text.pieces import Reading
    from polyadic.words.position_cbow import PositionCBOW

MODEL = "polyadic.words.position_cbow:PositionCBOW"
TASK = Task("substitutes", "Words that could replace a word in a sentence: train, list.", model=MODEL)


@TASK.verb(
    example="polyadic substitutes train holmes --out substitutes --rank 100",
    settings={"given": MODEL, "reading": READING},
    options=("rank", "width", "min_count", "epochs", "field"),
)
def train(corpus: CorpusOrText, given: PositionCBOW, reading: Reading, *, out: Out, force: bool = False) -> Saved:
    """Train a model that predicts a word from the words at each position around it."""
    saved = run(
        given, lambda: text_of(corpus, reading), out, force=force, summary=lambda model: {"words": len(model.words_)}
    )
    return saved.then("substitutes", "list", out, "SENTENCE", "WORD")


@TASK.verb(
    word="list",
    example="polyadic substitutes list substitutes 'he took the lamp from the table' lamp",
    question=True,
)
def rank(
    model: PositionCBOW,
    sentence: str,
    word: str,
    *,
    candidates: Annotated[list[str], Metavar("WORD,..."), Help("Words to rank (default: all).")] | None = None,
    top: Count = 10,
) -> dict[str, Any]:
    """List the words that could best replace a word in a sentence.

    The score is the sum of the similarity to the replaced word and the fit to the words around it, each divided by its
    standard deviation.

    Parameters
    ----------
    sentence
        Sentence that contains the word.
    word
        Word to replace.
    top
        Maximum number of words.
    """
    return {
        "substitutes": [each._asdict() for each in model.substitutes(sentence, word, candidates=candidates, top=top)]
    }
