"""``polyadic relations train``: tensor models of knowledge, and universal schemas with rules."""

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from polyadic.cli import options as o
from polyadic.cli import show
from polyadic.cli.relations.arguments import FactsFile
from polyadic.errors import InputError

FORMS = {
    "complex": "ComplEx",
    "cp": "CP",
    "distmult": "DistMult",
    "rescal": "RESCAL",
    "tucker2": "Tucker2",
    "tucker": "TuckER",
    "tucker3": "Tucker3",
}
TENSORS, UNIVERSAL = tuple(FORMS), ("universal",)

Method = Annotated[
    Literal["complex", "cp", "distmult", "rescal", "tucker2", "tucker", "tucker3", "universal"],
    typer.Option(help="The form of scores of triples; or pairs of entities by predicates."),
]
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
    chosen: dict[str, Any] = {"loss": loss, "step": step, "batch": batch, "max_iter": epochs}
    if method == "universal":
        chosen |= {"features": features or ("F" if rules else None), "ridge": strength, "weight_ridge": strength}
        logic = {"rules": rules, "regime": regime, "add": add or []}
        model, told = _schema(facts, out, rank, _given(chosen), logic, seed=seed, force=force)
    else:
        chosen |= {"relation_rank": relation_rank, "reciprocal": False if one_way else None, "candidates": candidates}
        chosen |= {"penalty": penalty and penalty.upper(), "strength": strength, "threads": threads}
        if known is not None and validation is None:
            raise InputError("--known is for --validation; name facts to predict, or leave it out")
        parts = validation, known
        model, told = _tensor(facts, out, FORMS[method], rank, _given(chosen), parts, seed=seed, force=force)
    hint = "--subject NAME --relation NAME" if method != "universal" else "--relation PREDICATE"
    hint = f"polyadic relations predict {out} {hint}"
    show.saved(model, out, {"method": method, **told}, force=force, as_json=as_json, hint=hint)


def _given(options: dict[str, Any]) -> dict[str, Any]:
    """Leave what is not given to the model."""
    return {name: value for name, value in options.items() if value is not None}


def _tensor(
    path: Path,
    out: Path,
    form: Any,
    rank: int,
    options: dict[str, Any],
    parts: tuple[Path | None, Path | None],
    *,
    seed: int,
    force: bool,
) -> tuple[Any, dict[str, Any]]:
    from polyadic.files import check_replaceable
    from polyadic.models.folder import KIND
    from polyadic.models.relations.knowledge import KnowledgeTensor
    from polyadic.text.relations.facts import read_facts

    check_replaceable(out, KIND, overwrite=force)
    facts = read_facts(path)
    names = {"entities": facts.entities, "relations": facts.relations}
    held_out, true = (None if part is None else read_facts(part, **names, unknown="skip") for part in parts)
    if held_out is not None and not len(held_out):
        raise InputError(f"{parts[0]} has no fact of entities and relations that are to be learned")
    model = KnowledgeTensor(rank, form=form, seed=seed, **options).fit(facts, validation=held_out, known=true)
    told: dict[str, Any] = {"entities": len(facts.entities), "relations": len(facts.relations)}
    told |= {"facts": len(model.facts_), "epochs": model.n_iter_, "seconds": round(model.result_.seconds[-1], 2)}
    if held_out is not None:
        told |= {"validation_mrr": -min(model.result_.measured), "best_epoch": model.result_.best}
        told |= {"validation_skipped": held_out.skipped}
    return model, told


def _schema(
    path: Path, out: Path, rank: int, options: dict[str, Any], logic: dict[str, Any], *, seed: int, force: bool
) -> tuple[Any, dict[str, Any]]:
    from polyadic.files import check_replaceable
    from polyadic.models.folder import KIND
    from polyadic.models.relations.logic import InjectedLogic
    from polyadic.models.relations.universal import UniversalSchema
    from polyadic.text.relations.rules import read_rules
    from polyadic.text.relations.schema import read_schema, schema_of

    check_replaceable(out, KIND, overwrite=force)
    if logic["rules"] is None and (logic["regime"] or logic["add"]):
        raise InputError("--regime and --add are for --rules; name a file of rules, or leave them out")
    schema = read_schema(path)
    if new := [name for name in dict.fromkeys(logic["add"]) if name not in schema.predicates]:
        schema = schema_of(schema.triples(), predicates=[*schema.predicates, *new])
    model = UniversalSchema(rank, seed=seed, **options)
    told: dict[str, Any] = {"pairs": len(schema.pairs), "predicates": len(schema.predicates)}
    told["facts"] = len(schema.indices)
    if logic["rules"] is None:
        model.fit(schema)
    else:
        rules = read_rules(logic["rules"], predicates=schema.predicates)
        told["rules"] = len(rules)
        model = InjectedLogic(rules, regime=logic["regime"] or "joint", model=model).fit(schema).model_
    return model, told | {"epochs": model.n_iter_, "seconds": round(model.result_.seconds[-1], 2)}
