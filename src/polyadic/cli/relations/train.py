"""``polyadic relations train``: tensor models of knowledge, and universal schemas with rules."""

from pathlib import Path
from typing import Annotated, Any, Literal, get_args

import typer

from polyadic.cli import options as o
from polyadic.cli import show
from polyadic.cli.relations.arguments import FactsFile
from polyadic.errors import InputError

Methods = Literal["complex", "cp", "distmult", "rescal", "tucker2", "tucker", "tucker3", "universal"]
UNIVERSAL = ("universal",)
TENSORS = tuple(method for method in get_args(Methods) if method not in UNIVERSAL)

Method = Annotated[Methods, typer.Option(help="The form of scores of triples; or pairs of entities by predicates.")]
Validation = Annotated[
    Path | None, typer.Option(metavar="FACTS", help="Keep the epoch that predicts these best; tensor methods.")
]
Known = Annotated[Path | None, typer.Option(metavar="FACTS", help="What else is true, and no error in --validation.")]
RelationRank = Annotated[int | None, typer.Option(min=1, help="Slices of the core (tucker, tucker3).")]
OneWay = Annotated[
    bool | None, typer.Option("--one-way", help="Ask for subjects by the same relations; tensor methods.")
]
Loss = Annotated[
    Literal["softmax", "logistic", "bpr"] | None,
    typer.Option(help="softmax or logistic; logistic or bpr for universal.", show_default="the first of them"),
]
Penalty = Annotated[
    Literal["n3", "l2", "dura"] | None, typer.Option(help="Of the vectors of a fact.", show_default="n3")
]
Strength = Annotated[
    float | None, typer.Option(min=0, help="Strength of the penalty.", show_default="0.05; universal 0.01")
]
Step = Annotated[float | None, typer.Option(min=0, help="How far Adagrad first moves.", show_default="0.1")]
Batch = Annotated[
    int | None, typer.Option(min=1, help="Questions, or facts, of a step.", show_default="by their number")
]
Candidates = Annotated[
    int | None,
    typer.Option(min=1, help="Entities drawn to tell answers from; tensor methods.", show_default="all"),
]
Features = Annotated[
    Literal["F", "N", "E", "NF", "NE", "FE", "NFE"] | None,
    typer.Option(help="Factors, neighbours, entities (universal).", show_default="NF; F with --rules"),
]
Rules = Annotated[Path | None, typer.Option(metavar="RULES", help="A file of rules to learn from, too (universal).")]
Regime = Annotated[
    Literal["joint", "pre"] | None,
    typer.Option(help="Learn rules beside facts, or first add what follows from them.", show_default="joint"),
]
Added = Annotated[
    list[str] | None,
    typer.Option("--add", metavar="PREDICATE", help="A predicate without facts, which rules conclude (universal)."),
]
Epochs = Annotated[int | None, typer.Option(min=1, help="Passes over the facts.", show_default="50; universal 100")]


def train(
    facts: FactsFile,
    *,
    out: o.Out,
    method: Method = "complex",
    rank: o.Rank = 100,
    validation: Validation = None,
    known: Known = None,
    relation_rank: RelationRank = None,
    one_way: OneWay = None,
    loss: Loss = None,
    penalty: Penalty = None,
    strength: Strength = None,
    step: Step = None,
    batch: Batch = None,
    candidates: Candidates = None,
    features: Features = None,
    rules: Rules = None,
    regime: Regime = None,
    add: Added = None,
    epochs: Epochs = None,
    seed: o.Seed = 0,
    threads: o.Threads = None,
    force: o.Force = False,
    as_json: o.AsJson = False,
) -> None:
    """Learn from facts.

    Triples are learned by the questions that they answer: given a subject and a relation, which object, and the other
    way round. With --method universal the facts are pairs of entities and what is said of them, in tables or in words.
    """
    o.belonging(
        method,
        {
            "--validation": (validation, TENSORS),
            "--known": (known, TENSORS),
            "--relation-rank": (relation_rank, ("tucker", "tucker3")),
            "--one-way": (one_way or None, TENSORS),
            "--penalty": (penalty, TENSORS),
            "--candidates": (candidates, TENSORS),
            "--threads": (threads, TENSORS),
            "--features": (features, UNIVERSAL),
            "--rules": (rules, UNIVERSAL),
            "--regime": (regime, UNIVERSAL),
            "--add": (add or None, UNIVERSAL),
        },
    )
    chosen: dict[str, Any] = {"loss": loss, "step": step, "batch": batch, "max_iter": epochs, "rank": rank}
    if method == "universal":
        features = features or ("F" if rules else None)
        chosen |= {"features": features, "ridge": strength, "weight_ridge": strength, "seed": seed}
        model, told = _schema(facts, out, chosen, (rules, regime, add), force=force)
    else:
        chosen |= {"relation_rank": relation_rank, "reciprocal": False if one_way else None, "candidates": candidates}
        chosen |= {"penalty": penalty and penalty.upper(), "strength": strength, "threads": threads, "seed": seed}
        if known is not None and validation is None:
            raise InputError("--known is for --validation; name facts to predict, or leave it out")
        model, told = _tensor(facts, out, method, chosen, (validation, known), force=force)
    told |= {"epochs": model.n_iter_, "seconds": round(model.result_.seconds[-1], 2)}
    hint = "--subject NAME --relation NAME" if method != "universal" else "--relation PREDICATE"
    hint = f"polyadic relations predict {out} {hint}"
    show.saved(model, out, {"method": method, **told}, force=force, as_json=as_json, hint=hint)


def _given(options: dict[str, Any]) -> dict[str, Any]:
    """Leave what is not given to the model."""
    return {name: value for name, value in options.items() if value is not None}


def _tensor(
    path: Path, out: Path, method: str, options: dict[str, Any], parts: tuple[Path | None, Path | None], *, force: bool
) -> tuple[Any, dict[str, Any]]:
    from polyadic.files import check_replaceable
    from polyadic.models.folder import KIND
    from polyadic.recipes.relations import like, train_facts
    from polyadic.text.relations.facts import read_facts

    check_replaceable(out, KIND, overwrite=force)
    facts = read_facts(path)
    held_out, known = (like(part, facts) for part in parts)
    model = train_facts(facts, method=method, validation=held_out, known=known, **_given(options))
    told: dict[str, Any] = {"entities": len(facts.entities), "relations": len(facts.relations)}
    told |= {"facts": len(model.facts_)}
    if held_out is not None:
        told |= {"validation_mrr": -min(model.result_.measured), "best_epoch": model.result_.best}
        told |= {"validation_skipped": held_out.skipped}
    return model, told


def _schema(
    path: Path, out: Path, options: dict[str, Any], logic: tuple[Path | None, Any, Any], *, force: bool
) -> tuple[Any, dict[str, Any]]:
    from polyadic.files import check_replaceable
    from polyadic.models.folder import KIND
    from polyadic.recipes.relations import train_facts
    from polyadic.text.relations.rules import read_rules

    check_replaceable(out, KIND, overwrite=force)
    rules, regime, add = logic
    if rules is None and (regime or add):
        raise InputError("--regime and --add are for --rules; name a file of rules, or leave them out")
    how: dict[str, Any] = {"rules": rules, "regime": regime or "joint", "add": add or []}
    model = train_facts(path, method="universal", **how, **_given(options))
    told = {"pairs": len(model.schema_.pairs), "predicates": len(model.schema_.predicates)}
    told["facts"] = len(model.schema_.indices)
    return model, told | ({} if rules is None else {"rules": len(read_rules(rules))})
