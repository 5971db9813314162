"""``polyadic roles``: who does what to whom, by a tensor of low rank over predicate, word, path and role."""

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from polyadic.cli import options as o
from polyadic.core.errors import InputError
from polyadic.interface import output
from polyadic.interface.command_line import add_verbs

app = typer.Typer(no_args_is_help=True, help="Label the arguments of predicates with their semantic roles.")

Sentences = Annotated[
    Path,
    typer.Argument(
        metavar="SENTENCES", help="Trees and propositions in CoNLL-U with more columns, `-` for standard input."
    ),
]
Model = Annotated[Path, typer.Argument(metavar="MODEL", help="A folder made by `polyadic roles train`.")]
Rank = Annotated[int, typer.Option(min=1, help="Of the tensor.")]
Gamma = Annotated[float, typer.Option(min=0, max=1, help="Share of sparse features; 1 is no tensor.")]
Cap = Annotated[float, typer.Option("--C", min=0, help="Length of a step at most.")]
Epochs = Annotated[int, typer.Option(min=1, help="Passes over the predicates.")]
Once = Annotated[Literal["core", "all", "none"], typer.Option(help="Roles that one word at most may play.")]
Bits = Annotated[int, typer.Option(min=4, max=30, help="2 to the power of it is the number of sparse weights.")]
Find = Annotated[bool, typer.Option("--find", help="Look for predicates too; those of the file do not count.")]
Parser = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR", help="A folder made by `polyadic parse train`: take its trees.", show_default="those of the file"
    ),
]
ParserToo = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR",
        help="A folder made by `polyadic parse train`: learn from its trees, too, if roles are wanted of such.",
        show_default="the trees of the file alone",
    ),
]
Tables = Annotated[bool, typer.Option("--tables", help="Also by role.")]


def train(
    sentences: Sentences,
    *,
    out: o.Out,
    rank: Rank = 50,
    gamma: Gamma = 0.9,
    cap: Cap = 1.0,
    epochs: Epochs = 5,
    once: Once = "core",
    bits: Bits = 20,
    seed: o.Seed = 0,
    parser: ParserToo = None,
    force: o.Force = False,
    as_json: o.AsJson = False,
) -> None:
    """Learn from sentences with trees, predicates and roles; and which words are predicates."""
    from polyadic.core.files import check_replaceable
    from polyadic.core.serialization import KIND
    from polyadic.syntax.propositions import read_propositions
    from polyadic.syntax.semantic_roles import SemanticRoles

    check_replaceable(out, KIND, overwrite=force)
    if not (corpus := list(read_propositions(sentences))):
        raise InputError(f"{sentences} has no sentences")
    if parser is not None:
        corpus += _parsed(corpus, parser)
    model = SemanticRoles(rank, gamma=gamma, C=cap, max_iter=epochs, once=once, bits=bits, seed=seed).fit(corpus)
    facts: dict[str, Any] = {
        "sentences": len(corpus),
        "predicates": sum(len(sentence.propositions) for sentence in corpus),
    }
    facts |= {"arguments": sum(len(p.arguments) for sentence in corpus for p in sentence.propositions)}
    facts |= {"roles": len(model.roles_), "epochs": model.n_iter_}
    facts |= {"loss": round(model.history_[-1], 4), "seconds": round(model.result_.seconds[-1], 2)}
    output.saved(model, out, facts, force=force, as_json=as_json, hint=("roles", "apply", out, "SENTENCES"))


def apply(model: Model, sentences: Sentences, *, find: Find = False, parser: Parser = None, out: o.File = None) -> None:
    """Write sentences with the roles of arguments; those that they have are not looked at.

    With --find, parsed sentences without predicates will do.
    """
    from polyadic.core.serialization import load
    from polyadic.syntax.propositions import read_propositions
    from polyadic.syntax.role_labels import RoleLabels

    labels = load(model, RoleLabels)
    corpus = list(read_propositions(sentences))
    if not find and not any(sentence.annotated for sentence in corpus):
        raise InputError(f"{sentences} does not say which words are predicates; have them found, with --find")
    if parser is not None:
        corpus = _parsed(corpus, parser)
    output.write_lines((sentence.conllu() for sentence in labels.annotate(corpus, find=find)), out)


def evaluate(
    model: Model,
    sentences: Sentences,
    *,
    find: Find = False,
    parser: Parser = None,
    tables: Tables = False,
    as_json: o.AsJson = False,
) -> None:
    """Tell precision, recall and F1 of arguments and their roles, with intervals.

    Sentences that do not say which words are predicates do not count.
    """
    from polyadic.core.serialization import load
    from polyadic.metrics import roles as r
    from polyadic.syntax.propositions import read_propositions
    from polyadic.syntax.role_labels import RoleLabels

    labels = load(model, RoleLabels)
    if not (gold := [sentence for sentence in read_propositions(sentences) if sentence.annotated]):
        raise InputError(f"{sentences} does not say which words are predicates; there is nothing to compare with")
    met = gold if parser is None else _parsed(gold, parser)
    labelled = list(labels.annotate(met, find=find))
    counts = [r.match_roles(*pair) for pair in zip(gold, labelled, strict=True)]
    score, figures = r.role_score(counts), r.role_figures(counts)
    rows = r.by_role(gold, labelled) if tables else []
    if as_json:
        table = [{**x._asdict(), "precision": x.precision, "recall": x.recall, "f1": x.f1} for x in rows]
        kinds: dict[str, Any] = {"role": table} if tables else {}
        output.in_json({**score.as_dict(), "figures": [figure.as_dict() for figure in figures], **kinds})
        return
    output.table(["figure", "value", "interval"], [(f.name, f.value, f.interval()) for f in figures])
    output.table(["sentences", "predicates", "arguments"], [(score.sentences, score.predicates, score.arguments)])
    if tables:
        columns = ["role", "gold", "found", "precision", "recall", "F1"]
        output.table(columns, [(*x[:3], x.precision, x.recall, x.f1) for x in rows])


def _parsed(sentences: list[Any], parser: Path) -> list[Any]:
    """Put the trees that a parser gives in place of those that sentences have."""
    from polyadic.core.serialization import load
    from polyadic.syntax.low_rank_parser import LowRankParser
    from polyadic.syntax.propositions import with_trees

    model = load(parser, LowRankParser)
    return with_trees(sentences, model.annotate([sentence.tree for sentence in sentences]))


add_verbs(
    app,
    {
        train: "polyadic roles train roles.conllu --out roles",
        apply: "polyadic roles apply roles parsed.conllu --find --out labelled.conllu",
        evaluate: "polyadic roles evaluate roles roles-test.conllu --tables",
    },
)
