"""``polyadic roles``: train, apply and evaluate semantic role labellers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from polyadic.core.errors import InputError
from polyadic.core.settings import Folder, Help, Metavar, Out
from polyadic.interface import output
from polyadic.interface.run import Saved
from polyadic.interface.run import train as run
from polyadic.interface.task import Task
from polyadic.syntax.tasks.shared import Written, counts_in_json, print_counts, print_figures, some

if TYPE_CHECKING:
    from polyadic.syntax.propositions import Sentence
    from polyadic.syntax.role_labels import RoleLabels
    from polyadic.syntax.semantic_roles import SemanticRoles

LABELLER = "polyadic.syntax.semantic_roles:SemanticRoles"
MODEL = "polyadic.syntax.role_labels:RoleLabels"
TASK = Task("roles", "Label the arguments of predicates with their semantic roles.", model=MODEL)
Sentences = Annotated[
    Path,
    Metavar("SENTENCES"),
    Help("File of dependency trees with semantic roles, in CoNLL-U with additional columns; - reads standard input."),
]
Find = Annotated[bool, Help("Predict which words are predicates instead of reading the predicates from the file.")]
Parser = Annotated[
    Folder | None,
    Help("Folder of a saved parser to use instead of the trees in the file (default: trees of the file)."),
]


@TASK.verb(
    example="polyadic roles train roles.conllu --out roles",
    settings={"model": LABELLER},
    options=("parser", "rank", "gamma", "C", "max_iter", "once", "bits"),
)
def train(
    sentences: Sentences, model: SemanticRoles, *, out: Out, parser: Folder | None = None, force: bool = False
) -> Saved:
    """Train a semantic role labeller and a predicate classifier on sentences with dependency trees and semantic roles.

    Parameters
    ----------
    parser
        Folder of a saved parser; its predicted trees are added to the training data, so that the model can be used on
        automatically parsed sentences.
    """
    from polyadic.syntax.propositions import read_propositions

    corpus: list[Sentence] = []

    def read() -> list[Sentence]:
        corpus.extend(some(read_propositions(sentences), f"{sentences} has no sentences"))
        if parser is not None:
            corpus.extend(_parsed(corpus, parser))
        return corpus

    def summary(model: SemanticRoles) -> dict[str, Any]:
        propositions = [each for sentence in corpus for each in sentence.propositions]
        arguments, loss = sum(len(each.arguments) for each in propositions), round(model.history_[-1], 4)
        sizes = {"sentences": len(corpus), "predicates": len(propositions), "arguments": arguments}
        spent = {"epochs": model.n_iter_, "loss": loss, "seconds": round(model.result_.seconds[-1], 2)}
        return {**sizes, "roles": len(model.roles_), **spent}

    return run(model, read, out, force=force, summary=summary).then("roles", "apply", out, "SENTENCES")


@TASK.verb(example="polyadic roles apply roles parsed.conllu --find --out labelled.conllu", json=False)
def apply(
    model: RoleLabels, sentences: Sentences, *, find: Find = False, parser: Parser = None, out: Written = None
) -> None:
    """Write sentences with predicted semantic roles; roles in the file are ignored.

    With --find, parsed sentences need no predicates.
    """
    from polyadic.syntax.propositions import read_propositions

    corpus = list(read_propositions(sentences))
    if not find and not any(sentence.annotated for sentence in corpus):
        raise InputError(f"{sentences} does not mark predicates; set find to predict the predicates", "find")
    if parser is not None:
        corpus = _parsed(corpus, parser)
    output.write_lines((sentence.conllu() for sentence in model.annotate(corpus, find=find)), out)


def _print_scores(result: dict[str, Any]) -> None:
    """Print the evaluation metrics, the corpus sizes, and any scores by role."""
    print_figures(result["figures"])
    sizes = "sentences", "predicates", "arguments"
    output.table(sizes, [[result[name] for name in sizes]])
    if "role" in result:
        print_counts("role", result["role"])


@TASK.verb(example="polyadic roles evaluate roles roles-test.conllu --tables", show=_print_scores)
def evaluate(
    model: RoleLabels, sentences: Sentences, *, find: Find = False, parser: Parser = None, tables: bool = False
) -> dict[str, Any]:
    """Compute precision, recall and F1 of labelled and unlabelled arguments, with 95 % intervals.

    Sentences that do not mark predicates are left out.

    Parameters
    ----------
    tables
        Also report the scores of each role.
    """
    from polyadic.metrics import roles as r
    from polyadic.syntax.propositions import read_propositions

    annotated = (sentence for sentence in read_propositions(sentences) if sentence.annotated)
    gold = some(annotated, f"{sentences} does not mark predicates; there is nothing to compare with")
    labelled = list(model.annotate(gold if parser is None else _parsed(gold, parser), find=find))
    counts = [r.match_roles(*pair) for pair in zip(gold, labelled, strict=True)]
    result = r.role_score(counts).as_dict() | {"figures": [each.as_dict() for each in r.role_figures(counts)]}
    if tables:
        result["role"] = counts_in_json(r.by_role(gold, labelled), "precision", "recall", "f1")
    return result


def _parsed(sentences: list[Sentence], parser: Path) -> list[Sentence]:
    """Return sentences with trees predicted by a saved parser."""
    from polyadic.core.serialization import load
    from polyadic.syntax.low_rank_parser import LowRankParser
    from polyadic.syntax.propositions import with_trees

    return with_trees(sentences, load(parser, LowRankParser).annotate([sentence.tree for sentence in sentences]))
