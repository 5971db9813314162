"""``polyadic parse constituents``: train, apply and evaluate grammars for constituency parsing."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from polyadic.core.errors import InputError
from polyadic.core.settings import Help, Metavar, Out
from polyadic.interface import output
from polyadic.interface.run import Saved
from polyadic.interface.run import train as run
from polyadic.interface.task import Task
from polyadic.syntax.tasks.shared import Written, some

if TYPE_CHECKING:
    from collections.abc import Iterator

    from polyadic.syntax.brackets import Phrase
    from polyadic.syntax.latent_marginals import MarginalParser
    from polyadic.syntax.pcfg import PCFG

    Parser = MarginalParser | PCFG

ANNOTATED = "polyadic.syntax.pcfg:PCFG"
SPECTRAL = "polyadic.syntax.latent_pcfg:LatentPCFG"
SPLIT_MERGE = "polyadic.syntax.split_merge:SplitMergePCFG"
MODELS = "polyadic.syntax.latent_marginals:MarginalParser", ANNOTATED, "polyadic.syntax.latent_grammar:LatentGrammar"
TASK = Task("constituents", "Parse sentences into constituency trees.", model=MODELS)
SPECTRAL_SMOOTHING = 50.0  # default smoothing of method spectral, whose trees maximize marginals
Trees = Annotated[
    Path,
    Metavar("TREES"),
    Help("File with trees in bracket notation, as in the Penn Treebank; - reads standard input."),
]
Lines = Annotated[
    Path,
    Metavar("SENTENCES"),
    Help("File with one sentence per line and words separated by spaces; - reads standard input."),
]


@TASK.verb(
    example="polyadic parse constituents train phrases.mrg --out grammar",
    settings={"given": (ANNOTATED, SPECTRAL, SPLIT_MERGE)},
    options=("method", "states", "cycles", "smoothing"),
)
def train(
    trees: Trees,
    given: dict[str, Any],
    *,
    out: Out,
    method: Literal["split-merge", "spectral", "annotated"] = "split-merge",
    force: bool = False,
) -> Saved:
    """Train a grammar on a constituency treebank, ignoring traces and function tags.

    Parameters
    ----------
    method
        Learning method: latent states of labels by repeated splitting and merging (split-merge) or by spectral
        estimation (spectral), or labels annotated with their context (annotated).
    states
        Maximum number of latent states of a label (method spectral).
    cycles
        Number of split-merge cycles (method split-merge).
    smoothing
        Strength of smoothing for the rule probabilities of latent states (default: split-merge 10; spectral 50).
    """
    from sklearn.base import clone

    from polyadic.core.methods import Method, refuse_unused
    from polyadic.core.progress import sweeps
    from polyadic.syntax.latent_marginals import MarginalParser
    from polyadic.syntax.latent_pcfg import LatentPCFG
    from polyadic.syntax.pcfg import PCFG
    from polyadic.syntax.split_merge import SplitMergePCFG

    methods = {"split-merge": Method(SplitMergePCFG), "spectral": Method(LatentPCFG), "annotated": Method(PCFG)}
    if "seed" not in methods[method].settings:
        given.pop("seed", None)
    refuse_unused(methods, method, given)
    start = {"smoothing": SPECTRAL_SMOOTHING} if method == "spectral" else {}
    grammar = methods[method].make(start | given)
    treebank: list[Phrase] = []
    began = 0.0

    def read() -> list[Phrase]:
        treebank.extend(_clean(trees))
        return treebank

    def fit(data: list[Phrase]) -> Parser:
        nonlocal began
        began = time.perf_counter()
        if method == "annotated":
            return grammar.fit(data)
        with sweeps(grammar, "learning"):
            grammar.fit(data)
        return MarginalParser(clone(grammar)).use(grammar)

    def summary(_: Parser) -> dict[str, Any]:
        rules = grammar.grammar_ if method == "annotated" else grammar.plain_.grammar_
        result: dict[str, Any] = {"trees": len(treebank), "words": sum(len(tree.words()) for tree in treebank)}
        if method != "annotated":
            result["states"] = max(grammar.tensors_.states.values())
        result |= {"labels": len(rules.symbols), "rules": len(rules.binary) + len(rules.chains)}
        return result | {"seconds": round(time.perf_counter() - began, 2)}

    saved = run(grammar, read, out, force=force, summary=summary, fit=fit)
    return saved.then("parse", "constituents", "apply", out, "TEXT")


@TASK.verb(example="polyadic parse constituents apply grammar phrases.txt", json=False)
def apply(model: Parser, sentences: Lines, *, tagged: bool = False, out: Written = None) -> None:
    """Write the constituency tree of each sentence in bracket notation, one tree per line.

    Words must be split as in the treebank. Brackets among them are written -LRB- and -RRB-.

    Parameters
    ----------
    tagged
        Read words with part-of-speech tags, such as dog/NN.
    """
    from polyadic.core.progress import tracked

    def lines() -> Iterator[str]:
        for number, words in enumerate(tracked(_sentences(sentences), "parsing"), 1):
            if not words:
                yield "\n"
                continue
            pairs = (_split(word, f"{sentences}, line {number}") for word in words)
            plain, tags = zip(*pairs, strict=True) if tagged else (words, None)
            yield f"{model.parse(plain, tags=tags)}\n"

    output.write_lines(lines(), out)


def _print_scores(result: dict[str, Any]) -> None:
    """Print the evaluation scores as a table with one row."""
    headings = ["sentences", "F1", "95 % interval", "precision", "recall", "exact match", "tagging accuracy"]
    interval = result["figure"]["low"], result["figure"]["high"]
    shares = [result[name] for name in ("precision", "recall", "complete", "tagging")]
    output.table(headings, [(result["sentences"], result["f1"], interval, *shares)])


@TASK.verb(example="polyadic parse constituents evaluate grammar phrases-test.mrg", show=_print_scores)
def evaluate(model: Parser, trees: Trees, *, tagged: bool = False) -> dict[str, Any]:
    """Compute precision, recall and F1 of labelled brackets, as evalb does, with a 95 % interval of F1.

    Parameters
    ----------
    tagged
        Use the part-of-speech tags of the treebank instead of predicted tags.
    """
    from polyadic.core.progress import tracked
    from polyadic.metrics.brackets import bracket_figure, bracket_score, match_brackets
    from polyadic.syntax.brackets import bracketing

    gold, matches = _clean(trees), []
    for tree in tracked(gold, "parsing", total=len(gold)):
        wanted = bracketing(tree)
        found = model.parse(wanted.words, tags=wanted.tags if tagged else None)
        matches.append(match_brackets(wanted, bracketing(found)))
    return bracket_score(matches).as_dict() | {"figure": bracket_figure("F", matches).as_dict()}


def _clean(path: Path) -> list[Phrase]:
    """Read trees and remove their traces; raise InputError if there are none."""
    from polyadic.syntax.brackets import clean, read_phrases

    return some((tree for tree in map(clean, read_phrases(path)) if tree is not None), f"{path} has no trees")


def _sentences(path: Path) -> Iterator[list[str]]:
    """Read the words of each line, replacing parentheses by -LRB- and -RRB- as in treebanks."""
    from polyadic.core.streams import blocks, lines, open_bytes

    with open_bytes(str(path)) as stream:
        for line in lines(blocks(stream, str(path))):
            yield line.replace("(", "-LRB-").replace(")", "-RRB-").split()


def _split(pair: str, where: str) -> tuple[str, str]:
    """Split a pair such as ``dog/NN`` into the word and the tag."""
    word, slash, tag = pair.rpartition("/")
    if not (word and slash and tag):
        about = "each word must be followed by a slash and a tag, as in dog/NN, because tagged is set"
        raise InputError(f"{where}: {about}; got {pair[:60]!r}", "tagged")
    return word, tag
