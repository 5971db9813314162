"""``polyadic relations rules``: check files of rules, and find rules in facts."""

from pathlib import Path
from typing import Annotated, Any

import typer

from polyadic.cli import options as o
from polyadic.core.errors import InputError
from polyadic.interface import output
from polyadic.interface.command_line import add_verbs

app = typer.Typer(no_args_is_help=True, help="Rules such as  owns(x, y) & !sold(x, y) => has(x, y)")

Rules = Annotated[Path, typer.Argument(metavar="RULES", help="One rule a line; # begins a remark.")]
Facts = Annotated[Path, typer.Argument(metavar="FACTS", help="Lines of subject, object and predicate between tabs.")]
Schema = Annotated[
    Path | None, typer.Option("--facts", metavar="FACTS", help="Facts whose predicates rules may name, to try them on.")
]
Added = Annotated[
    list[str] | None, typer.Option("--add", metavar="PREDICATE", help="A predicate that may be named, without facts.")
]
Confidence = Annotated[float, typer.Option(min=0.001, max=1, help="Share of right conclusions, at least.")]
Support = Annotated[int, typer.Option(min=1, help="Right conclusions, at least.")]


def check(rules: Rules, *, facts: Schema = None, add: Added = None, as_json: o.AsJson = False) -> None:
    """Read rules, name the first fault, and tell how often they hold of facts."""
    from polyadic.relations.rules import read_rules
    from polyadic.relations.schema import read_schema, schema_of

    if add and facts is None:
        raise InputError("--add is for --facts; without facts any predicate may be named")
    rows: list[tuple[Any, ...]] = []
    if facts is None:
        headings = ["line", "rule", "weight"]
        rows += [(rule.place.line if rule.place else 0, str(rule.formula), rule.weight) for rule in read_rules(rules)]
    else:
        from polyadic.relations.rule_mining import count_groundings

        schema = read_schema(facts)
        new = [name for name in dict.fromkeys(add or []) if name not in schema.predicates]
        schema = schema_of(schema.triples(), predicates=[*schema.predicates, *new]) if new else schema
        headings = ["line", "rule", "premises", "right"]
        for rule in read_rules(rules, predicates=schema.predicates):
            premises, right = count_groundings(schema, rule)
            rows.append((rule.place.line if rule.place else 0, str(rule.formula), premises, right))
    if as_json:
        output.in_json({"rules": [dict(zip(headings, row, strict=True)) for row in rows]})
    else:
        output.table(headings, rows)


def mine(facts: Facts, *, confidence: Confidence = 0.8, support: Support = 10, as_json: o.AsJson = False) -> None:
    """Print the rules between two predicates that facts suggest, in the form of a file of rules."""
    from polyadic.relations.rule_mining import mine_rules
    from polyadic.relations.schema import read_schema

    mined = mine_rules(read_schema(facts), confidence=confidence, support=support)
    if as_json:
        output.in_json({"rules": [{"rule": str(r), "confidence": c, "support": n} for r, c, n in mined]})
        return
    for rule, share, number in mined:
        typer.echo(f"{rule}  # {share:.3f} of {round(number / share):,}")


add_verbs(
    app,
    {
        check: "polyadic relations rules check rules.txt --facts pairs.tsv",
        mine: "polyadic relations rules mine pairs.tsv --confidence 0.6",
    },
)
