"""``polyadic relations evaluate``: how well a model completes facts that it has not learned."""

from pathlib import Path
from typing import Annotated, Any

import typer

from polyadic.cli import options as o
from polyadic.cli import show
from polyadic.cli.relations.arguments import Model, Unknown, is_tensor, opened
from polyadic.errors import InputError

Test = Annotated[
    Path, typer.Argument(metavar="FACTS", help="Facts to predict, in the form of those that were learned.")
]
Known = Annotated[
    list[Path] | None,
    typer.Option(metavar="FACTS", help="Other facts that are true, such as the validation part; may be repeated."),
]
Relations = Annotated[bool, typer.Option("--rank-relations", help="Rank relations between both ends, too.")]


def evaluate(
    model: Model,
    test: Test,
    *,
    known: Known = None,
    unknown: Unknown = "error",
    rank_relations: Relations = False,
    as_json: o.AsJson = False,
) -> None:
    """Rank what completes facts among all entities, those that make another known fact left out.

    Of a universal schema, pairs are ranked for each predicate of the facts; all others are held to be false, except
    what was learned.
    """
    learned = opened(model)
    if is_tensor(learned):
        figures = _ranked(learned, test, known or [], unknown, relations=rank_relations)
    elif known or rank_relations:
        raise InputError("--known and --rank-relations are for tensor models, and this is a universal schema")
    else:
        figures = _listed(learned, test, unknown)
    show.facts(figures, as_json=as_json)


def _ranked(model: Any, test: Path, known: list[Path], unknown: Any, *, relations: bool) -> dict[str, Any]:
    import numpy as np

    from polyadic.text.relations.facts import read_facts

    names = {"entities": model.entities_, "relations": model.relations_}
    facts = read_facts(test, **names, unknown=unknown)
    if not len(facts):
        raise InputError(f"{test} has no fact of what was learned")
    others = [read_facts(path, **names, unknown="skip").triples for path in known]
    ranks = model.evaluate(facts, known=np.concatenate(others) if others else None, relations=relations)
    figures: dict[str, Any] = {"facts": len(facts), "skipped": facts.skipped, "mrr": ranks.mean_reciprocal_rank}
    figures |= {f"hits_at_{k}": ranks.hits_at(k) for k in (1, 3, 10)}
    if relations:
        figures["relation_mrr"] = float((1 / ranks.relations).mean())
    return figures


def _listed(model: Any, test: Path, unknown: Any) -> dict[str, Any]:
    import numpy as np

    from polyadic.metrics.judged import ranked_cells
    from polyadic.text.relations.schema import read_schema

    schema = model.schema_
    pairs, names = set(schema.pairs), set(schema.predicates)
    facts = list(read_schema(test).triples())
    here = [fact for fact in facts if fact[:2] in pairs and fact[2] in names] if unknown == "skip" else facts
    if not here:
        raise InputError(f"{test} has no fact of what was learned")
    cells = np.array([(schema.row(*fact[:2]), schema.column(fact[2])) for fact in here])
    new = np.array(schema.cells[*cells.T] == 0).ravel()
    if not new.all():
        seen = len(here) - int(new.sum())
        typer.echo(f"polyadic: warning: {seen:,} of {len(here):,} facts to predict were learned; left out", err=True)
    if not new.any():
        raise InputError("all facts to predict were learned")
    ranked = ranked_cells(
        lambda column: model.column_log_odds([column])[:, 0], schema.cells, cells[new], names=schema.predicates
    )
    figures = {"facts": int(ranked.true.sum()), "skipped": len(facts) - len(here), "predicates": len(ranked.relations)}
    return figures | {"map": ranked.mean, "weighted_map": ranked.weighted_mean}
