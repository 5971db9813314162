"""``polyadic parse constituents``: trees of phrases, by grammars learned from such trees."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from polyadic.cli import options as o
from polyadic.core.errors import InputError
from polyadic.interface import output
from polyadic.interface.command_line import add_verbs

app = typer.Typer(no_args_is_help=True, help="Parse sentences into trees of phrases.")

Trees = Annotated[
    Path, typer.Argument(metavar="TREES", help="Trees in brackets, as in the Penn Treebank; `-` for standard input.")
]
Input = Annotated[
    Path,
    typer.Argument(metavar="SENTENCES", help="A sentence a line, words between spaces; `-` for standard input."),
]
Model = Annotated[Path, typer.Argument(metavar="MODEL", help="A folder made by `polyadic parse constituents train`.")]
Method = Annotated[
    Literal["split-merge", "spectral", "annotated"],
    typer.Option(help="Hidden states by splitting and merging, or by singular vectors; or labels divided by hand."),
]
States = Annotated[int | None, typer.Option(min=1, help="Hidden states of a label, for spectral.", show_default="8")]
Cycles = Annotated[
    int | None, typer.Option(min=0, help="How often states are split in two, for split-merge.", show_default="4")
]
Smoothing = Annotated[
    float | None, typer.Option(min=0, help="Towards what states have in common.", show_default="of the method")
]
Tagged = Annotated[bool, typer.Option("--tagged", help="Words are written with their tags: dog/NN.")]
GoldTags = Annotated[bool, typer.Option("--tagged", help="Use the tags of the trees, not those that are found.")]


def train(
    trees: Trees,
    *,
    out: o.Out,
    method: Method = "split-merge",
    states: States = None,
    cycles: Cycles = None,
    smoothing: Smoothing = None,
    seed: o.Seed = 0,
    force: o.Force = False,
    as_json: o.AsJson = False,
) -> None:
    """Learn a grammar from the trees of a treebank; traces and functions of phrases are left out."""
    import time

    from sklearn.base import clone

    from polyadic.core.files import check_replaceable
    from polyadic.core.progress import sweeps
    from polyadic.core.serialization import KIND
    from polyadic.syntax.latent_marginals import MarginalParser
    from polyadic.syntax.latent_pcfg import LatentPCFG
    from polyadic.syntax.pcfg import PCFG
    from polyadic.syntax.split_merge import SplitMergePCFG

    taken = {"--states": (states, ("spectral",)), "--cycles": (cycles, ("split-merge",))}
    o.belonging(method, {**taken, "--smoothing": (smoothing, ("spectral", "split-merge"))})
    check_replaceable(out, KIND, overwrite=force)
    treebank = list(_clean(trees))
    given = {"states": states, "cycles": cycles, "smoothing": smoothing}
    options: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    began = time.perf_counter()
    model: PCFG | MarginalParser
    facts: dict[str, Any] = {"trees": len(treebank), "words": sum(len(tree.words()) for tree in treebank)}
    if method == "annotated":
        model = PCFG().fit(treebank)
        rules = model.grammar_
    else:
        if method == "spectral":
            grammar: LatentPCFG | SplitMergePCFG = LatentPCFG(**{"smoothing": 50.0, **options})
        else:
            grammar = SplitMergePCFG(seed=seed, **options)
        with sweeps(grammar, "learning"):
            grammar.fit(treebank)
        model = MarginalParser(clone(grammar)).use(grammar)
        rules = grammar.plain_.grammar_
        facts["states"] = max(grammar.tensors_.states.values())
    facts |= {"labels": len(rules.symbols), "rules": len(rules.binary) + len(rules.chains)}
    facts["seconds"] = round(time.perf_counter() - began, 2)
    output.saved(model, out, facts, force=force, as_json=as_json, hint=("parse", "constituents", "apply", out, "TEXT"))


def apply(model: Model, sentences: Input, *, tagged: Tagged = False, out: o.File = None) -> None:
    """Write the tree of each sentence, one a line, in brackets.

    Words must be divided as in the treebank. Brackets among them are written -LRB- and -RRB-.
    """
    parser = _load(model)

    def lines() -> Iterator[str]:
        from polyadic.core.progress import tracked

        for number, words in enumerate(tracked(_sentences(sentences), "parsing"), 1):
            if not words:
                yield "\n"
                continue
            pairs = [_parted(word, f"{sentences}, line {number}") for word in words] if tagged else None
            tags = None if pairs is None else [tag for _, tag in pairs]
            yield f"{parser.parse([word for word, _ in pairs] if pairs else words, tags=tags)}\n"

    output.write_lines(lines(), out)


def evaluate(model: Model, trees: Trees, *, tagged: GoldTags = False, as_json: o.AsJson = False) -> None:
    """Tell labelled brackets in common with the trees of a treebank, as evalb counts them, with the interval of F."""
    from polyadic.core.progress import tracked
    from polyadic.metrics.brackets import bracket_figure, bracket_score, match_brackets
    from polyadic.syntax.candidates import bracketing

    parser, gold = _load(model), list(_clean(trees))
    matches = []
    for tree in tracked(gold, "parsing", total=len(gold)):
        wanted = bracketing(tree)
        found = parser.parse(wanted.words, tags=wanted.tags if tagged else None)
        matches.append(match_brackets(wanted, bracketing(found)))
    score, figure = bracket_score(matches), bracket_figure("F", matches)
    if as_json:
        output.in_json({**score.as_dict(), "figure": figure.as_dict()})
        return
    headings = ["sentences", "F", "interval", "precision", "recall", "all brackets right", "tags right"]
    row = (score.f1, figure.interval(), score.precision, score.recall, score.complete, score.tagging)
    output.table(headings, [(score.sentences, *row)])


def _load(path: Path) -> Any:
    from polyadic.core.serialization import load
    from polyadic.syntax.latent_grammar import LatentGrammar
    from polyadic.syntax.latent_marginals import MarginalParser
    from polyadic.syntax.pcfg import PCFG

    return load(path, (MarginalParser, PCFG, LatentGrammar))


def _clean(path: Path) -> Iterator[Any]:
    """Read trees without traces; refuse a file that has none."""
    from polyadic.syntax.brackets import clean, read_phrases

    some = False
    for tree in read_phrases(path):
        if (kept := clean(tree)) is not None:
            some = True
            yield kept
    if not some:
        raise InputError(f"{path} has no trees")


def _sentences(path: Path) -> Iterator[list[str]]:
    """Read the words of each line, brackets as treebanks write them."""
    from polyadic.text.streams import blocks, lines, open_bytes

    with open_bytes(str(path)) as stream:
        for line in lines(blocks(stream, str(path))):
            yield line.replace("(", "-LRB-").replace(")", "-RRB-").split()


def _parted(pair: str, where: str) -> tuple[str, str]:
    """Give a word and its tag."""
    word, slash, tag = pair.rpartition("/")
    if not (word and slash and tag):
        raise InputError(f"{where}: with --tagged a word has its tag behind a slash, as dog/NN; got {pair[:60]!r}")
    return word, tag


add_verbs(
    app,
    {
        train: "polyadic parse constituents train phrases.mrg --out grammar",
        apply: "polyadic parse constituents apply grammar phrases.txt",
        evaluate: "polyadic parse constituents evaluate grammar phrases-test.mrg",
    },
)
