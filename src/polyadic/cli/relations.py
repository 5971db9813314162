"""``polyadic relations``: facts about entities, learned and completed, with rules."""

from pathlib import Path
from typing import Annotated, Any, Literal, get_args

import typer

from polyadic.cli import options as o
from polyadic.cli.rules import app as rules_app
from polyadic.core.errors import InputError
from polyadic.interface import output
from polyadic.interface.command_line import add_verbs

app = typer.Typer(no_args_is_help=True, help="Learn facts about entities, from tables and text, and complete them.")

# Of several verbs
Model = Annotated[Path, typer.Argument(metavar="MODEL", help="A folder made by `polyadic relations train`.")]
Unknown = Annotated[
    Literal["error", "skip"],
    typer.Option(help="What to do with facts of entities or relations that were not learned: stop, or count them."),
]

# Of `train`
Facts = Annotated[
    Path,
    typer.Argument(
        metavar="FACTS",
        help="Lines of subject, relation and object between tabs; of subject, object and predicate for --method"
        " universal.",
    ),
]
Methods = Literal["complex", "cp", "distmult", "rescal", "tucker2", "tucker", "tucker3", "rules", "universal"]
UNIVERSAL = ("universal",)
MINED = ("rules",)
TENSORS = tuple(method for method in get_args(Methods) if method not in UNIVERSAL + MINED)

Method = Annotated[
    Methods,
    typer.Option(help="The form of scores of triples; rules mined from them; or pairs of entities by predicates."),
]
Validation = Annotated[
    Path | None,
    typer.Option(
        metavar="FACTS", help="Keep the epoch that predicts these best, and tell how sure it is; rules only tell."
    ),
]
AlsoTrue = Annotated[
    Path | None, typer.Option(metavar="FACTS", help="What else is true, and no error in --validation.")
]
RelationRank = Annotated[int | None, typer.Option(min=1, help="Slices of the core (tucker, tucker3).")]
Reciprocal = Annotated[
    bool | None,
    typer.Option(
        help="Learn a reciprocal of each relation for questions about subjects; tensor methods.",
        show_default="reciprocal; matrices: chosen by facts held out",
    ),
]
Loss = Annotated[
    Literal["softmax", "logistic", "bpr"] | None,
    typer.Option(help="softmax or logistic; logistic or bpr for universal.", show_default="the first of them"),
]
Penalty = Annotated[
    Literal["n3", "l2", "dura"] | None, typer.Option(help="Of the vectors of a fact.", show_default="n3")
]
Rank = Annotated[
    int | None,
    typer.Option(min=1, help="Length of the vectors.", show_default="facts held out choose; universal 100"),
]
Strength = Annotated[
    float | None,
    typer.Option(min=0, help="Strength of the penalty.", show_default="facts held out choose; universal 0.01"),
]
LearningRate = Annotated[
    float | None, typer.Option(min=0, help="Initial learning rate of Adagrad.", show_default="0.1")
]
Batch = Annotated[
    int | None, typer.Option(min=1, help="Questions, or facts, of a step.", show_default="by their number")
]
Negatives = Annotated[
    int | None,
    typer.Option(min=1, help="Number of sampled negative entities per batch; tensor methods.", show_default="all"),
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
MaxLength = Annotated[
    int | None, typer.Option(min=1, max=3, help="Maximum number of edges of a path (rules).", show_default="2")
]
Support = Annotated[int | None, typer.Option(min=1, help="Pairs that a rule is right of (rules).", show_default="2")]
Confidence = Annotated[
    float | None, typer.Option(min=0, max=1, help="Of a rule, at least (rules).", show_default="0.001")
]
Epochs = Annotated[int | None, typer.Option(min=1, help="Passes over the facts.", show_default="50; universal 100")]

# Of `add`
NewFacts = Annotated[
    Path, typer.Argument(metavar="FACTS", help="Lines of subject, relation and object between tabs, some of new names.")
]
NewEpochs = Annotated[
    int | None, typer.Option(min=1, help="Passes over what is asked about new entities.", show_default="20")
]

# Of `predict` and `similar`
Scored = Annotated[
    Path | None, typer.Argument(metavar="[FACTS]", help="Facts to score, in the form that the model was made from.")
]
Subject = Annotated[str | None, typer.Option(metavar="NAME", help="Of a fact to complete.")]
Relation = Annotated[str | None, typer.Option(metavar="NAME", help="Of a fact to complete; or a predicate.")]
Object = Annotated[str | None, typer.Option("--object", metavar="NAME", help="Of a fact to complete.")]
WithKnown = Annotated[bool, typer.Option("--known", help="Name what makes a fact that was learned, too.")]
Why = Annotated[
    int,
    typer.Option(min=0, help="How many of the known facts to show on which each rests; predicates (universal)."),
]
Concluding = Annotated[
    Path | None, typer.Option("--rules", metavar="RULES", help="With --why, name the rules that conclude it, too.")
]
Unseen = Annotated[
    Path | None,
    typer.Option(metavar="FACTS", help="New pairs of entities, with what is said of them (universal)."),
]
Predicate = Annotated[str, typer.Argument(metavar="PREDICATE", help="One that was learned.")]

# Of `evaluate`
Test = Annotated[
    Path, typer.Argument(metavar="FACTS", help="Facts to predict, in the form of those that were learned.")
]
Known = Annotated[
    list[Path] | None,
    typer.Option(metavar="FACTS", help="Other facts that are true, such as the validation part; may be repeated."),
]
Relations = Annotated[bool, typer.Option("--rank-relations", help="Rank relations between both ends, too.")]

# Of `patterns`
Parsed = Annotated[
    list[str], typer.Argument(metavar="SOURCE...", help="CoNLL-U files; with --parse files, folders or globs of text.")
]
Out = Annotated[Path, typer.Option("--out", "-o", metavar="FACTS", help="The file of facts to write.")]
Key = Annotated[
    str | None,
    typer.Option(metavar="KEY", help="The key in MISC that marks mentions; runs of proper nouns by default."),
]
Pipeline = Annotated[
    str | None,
    typer.Option("--parse", metavar="NAME", help="Parse text by this pipeline of spaCy, such as en_core_web_sm."),
]
MinCount = Annotated[int, typer.Option(min=1, help="Minimum number of pairs of a pattern.")]


def train(
    facts: Facts,
    *,
    out: o.Out,
    method: Method = "complex",
    rank: Rank = None,
    validation: Validation = None,
    known: AlsoTrue = None,
    relation_rank: RelationRank = None,
    reciprocal: Reciprocal = None,
    loss: Loss = None,
    penalty: Penalty = None,
    strength: Strength = None,
    learning_rate: LearningRate = None,
    batch: Batch = None,
    n_negatives: Negatives = None,
    features: Features = None,
    rules: Rules = None,
    regime: Regime = None,
    add: Added = None,
    max_length: MaxLength = None,
    support: Support = None,
    confidence: Confidence = None,
    epochs: Epochs = None,
    choose: o.Choose = True,
    budget: o.Budget = None,
    seed: o.Seed = 0,
    threads: o.Threads = None,
    force: o.Force = False,
    as_json: o.AsJson = False,
) -> None:
    """Learn from facts.

    Triples are learned by the questions that they answer: given a subject and a relation, which object, and the other
    way round. Strength and rank that are not given are chosen by facts held out, or those of --validation. With
    --method rules they are mined for rules, which answer the same questions and say why. With --method universal the
    facts are pairs of entities and what is said of them, in tables or in words.
    """
    descended = {"--loss": loss, "--learning-rate": learning_rate, "--batch": batch, "--epochs": epochs}
    descended |= {"--rank": rank, "--strength": strength}
    o.belonging(
        method,
        {
            "--validation": (validation, (*TENSORS, *MINED)),
            "--known": (known, TENSORS),
            "--relation-rank": (relation_rank, ("tucker", "tucker3")),
            "--reciprocal": (reciprocal, TENSORS),
            "--penalty": (penalty, TENSORS),
            "--n-negatives": (n_negatives, TENSORS),
            "--threads": (threads, TENSORS),
            "--budget": (budget, TENSORS),
            "--features": (features, UNIVERSAL),
            "--rules": (rules, UNIVERSAL),
            "--regime": (regime, UNIVERSAL),
            "--add": (add or None, UNIVERSAL),
            "--max-length": (max_length, MINED),
            "--support": (support, MINED),
            "--confidence": (confidence, MINED),
            **{name: (value, (*TENSORS, *UNIVERSAL)) for name, value in descended.items()},
        },
    )
    chosen: dict[str, Any] = {
        "loss": loss,
        "learning_rate": learning_rate,
        "batch": batch,
        "max_iter": epochs,
        "rank": rank,
    }
    if method == "rules":
        chosen = {"max_length": max_length, "support": support, "confidence": confidence, "seed": seed}
        model, sizes = _tensor(facts, out, method, chosen, (validation, known), force=force)
    elif method == "universal":
        chosen |= {"features": features, "ridge": strength, "weight_ridge": strength, "seed": seed}
        model, sizes = _schema(facts, out, chosen, (rules, regime, add), force=force)
    else:
        chosen |= {"relation_rank": relation_rank, "reciprocal": reciprocal, "n_negatives": n_negatives}
        chosen |= {"penalty": penalty and penalty.upper(), "strength": strength, "threads": threads, "seed": seed}
        chosen |= {"choose": choose, "budget": budget}
        model, sizes = _tensor(facts, out, method, chosen, (validation, known), force=force)
    if method != "rules":
        sizes |= {"epochs": model.n_iter_, "seconds": round(model.result_.seconds[-1], 2)}
    asked = ("--subject", "NAME", "--relation", "NAME") if method != "universal" else ("--relation", "PREDICATE")
    hint = ("relations", "predict", out, *asked)
    output.saved(model, out, {"method": method, **sizes}, force=force, as_json=as_json, hint=hint)


def add(
    model: Model,
    facts: NewFacts,
    *,
    out: o.Out,
    epochs: NewEpochs = None,
    force: o.Force = False,
    as_json: o.AsJson = False,
) -> None:
    """Learn new entities from their facts, given all that was learned before, which stays as it is; tensor methods.

    New facts between known entities are known from now on, and change nothing else: train anew to learn from them.
    """
    from polyadic.core.files import check_replaceable
    from polyadic.core.serialization import KIND
    from polyadic.relations.facts import read_facts
    from polyadic.relations.knowledge import KnowledgeTensor

    check_replaceable(out, KIND, overwrite=force)
    learned = _opened(model)
    if not isinstance(learned, KnowledgeTensor):
        raise InputError("only tensors learn new entities; add these facts to the others, and train anew")
    new = read_facts(facts)
    learned.update(new, **({} if epochs is None else {"max_iter": epochs}))
    hint = ("relations", "predict", out, "--subject", "NAME", "--relation", new.relations[0])
    output.saved(learned, out, learned.updated_, force=force, as_json=as_json, hint=hint)


def predict(
    model: Model,
    facts: Scored = None,
    *,
    subject: Subject = None,
    relation: Relation = None,
    object_: Object = None,
    unseen: Unseen = None,
    known: WithKnown = False,
    unknown: Unknown = "error",
    top: o.Top = 10,
    why: Why = 0,
    rules: Concluding = None,
    as_json: o.AsJson = False,
) -> None:
    """Complete a fact, score those of a file, or tell what holds of new pairs.

    Give two of --subject, --relation and --object; for a universal schema --relation alone, which names the likeliest
    pairs, or --subject and --object, which name the likeliest predicates.

    With --why, also the known facts that move each score most, as a share of what the fact itself would; of mined rules
    those that conclude it, how often they are right, and from which facts; of a universal schema what else is known of
    the pair, by what it adds to the log-odds, and a base that nothing known does.
    """
    parts = subject, relation, object_
    _check_request(parts, facts, unseen, known=known, skip=unknown == "skip", why=why, rules=rules is not None)
    learned = _opened(model)
    skipped = 0
    if facts is not None:
        headings, rows, skipped = (_scored if _of_triples(learned) else _probable)(learned, facts, unknown)
    elif unseen is not None:
        headings, rows = _unseen(learned, unseen, top)
    else:
        headings, rows = (_completed if _of_triples(learned) else _likeliest)(learned, parts, top, known=known)
    lines = [dict(zip(headings, row, strict=True)) for row in rows]
    if why:
        given = {"subject": subject, "object": object_, "relation": relation, "predicate": relation}
        headings += _explain(learned, lines, given, why, rules)
    if as_json:
        more = {"skipped": skipped} if facts is not None else {}
        output.in_json({"predictions": lines, **more})
    else:
        for line in lines:
            if "rules" in line:
                line["rules"] = "; ".join(_derivation(found, why) for found in line["rules"])
        output.reasoned(headings, lines)
        if not lines and facts is None and unseen is None:
            new = "" if known else " that was not learned; --known shows what was"
            typer.echo(f"nothing completes this{new}", err=True)
        if skipped:
            typer.echo(f"skipped {skipped:,} facts of what was not learned", err=True)


def similar(model: Model, predicate: Predicate, *, top: o.Top = 10, as_json: o.AsJson = False) -> None:
    """Show the predicates of a universal schema whose vectors are most like that of PREDICATE."""
    learned = _opened(model)
    if _of_triples(learned):
        raise InputError("similar predicates are those of a universal schema; this model scores triples")
    nearest = learned.most_similar(predicate, n=top)
    if as_json:
        output.in_json({"predicate": predicate, "similar": [{"name": n, "cosine": round(c, 6)} for n, c in nearest]})
    else:
        output.table([predicate, "cosine"], nearest)


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
    learned = _opened(model)
    if _of_triples(learned):
        figures = _ranked(learned, test, known or [], unknown, relations=rank_relations)
    elif known or rank_relations:
        raise InputError("--known and --rank-relations are for tensor models and rules, and this is a universal schema")
    else:
        figures = _listed(learned, test, unknown)
    output.facts(figures, as_json=as_json)


def patterns(
    sources: Parsed,
    *,
    out: Out,
    parse: Pipeline = None,
    key: Key = None,
    min_count: MinCount = 1,
    as_json: o.AsJson = False,
) -> None:
    """Write the paths between two names in a sentence, and the words between them, as facts about the two."""
    from collections import Counter

    from polyadic.core.files import whole_file
    from polyadic.relations.patterns import pattern_triples
    from polyadic.syntax import spacy_parsing as parsing
    from polyadic.syntax.trees import read_trees
    from polyadic.text.readers import read

    if parse is None:
        trees: Any = (tree for source in sources for tree in read_trees(source))
    else:
        texts = (str(document) for source in sources for document in read(source))
        trees = parsing.parse(texts, pipeline=parse)
        key = key or "Entity"
    facts = dict.fromkeys(pattern_triples(trees, key=key))
    pairs = Counter(pattern for *_, pattern in facts)
    kept = [fact for fact in facts if pairs[fact[2]] >= min_count]
    if not kept:
        fault = "no two names in a sentence" if not facts else f"no pattern of {min_count} pairs; lower --min-count"
        raise InputError(f"{', '.join(sources)}: {fault}")
    with whole_file(out) as draft:
        draft.write_text("".join("\t".join(fact) + "\n" for fact in kept), encoding="utf-8")
    sizes = {"pairs": len({fact[:2] for fact in kept}), "patterns": len({fact[2] for fact in kept}), "facts": len(kept)}
    if not as_json:
        output.table([*sizes], [tuple(sizes.values())])
    hint = ("relations", "train", out, "--out", "model", "--method", "universal")
    output.wrote(out, sizes, as_json=as_json, hint=hint)


def _given(options: dict[str, Any]) -> dict[str, Any]:
    """Leave what is not given to the model."""
    return {name: value for name, value in options.items() if value is not None}


def _tensor(
    path: Path, out: Path, method: str, options: dict[str, Any], parts: tuple[Path | None, Path | None], *, force: bool
) -> tuple[Any, dict[str, Any]]:
    from polyadic.core.files import check_replaceable
    from polyadic.core.serialization import KIND
    from polyadic.relations.facts import read_facts
    from polyadic.relations.training import like, train_facts

    check_replaceable(out, KIND, overwrite=force)
    facts = read_facts(path)
    held_out, known = (like(part, facts) for part in parts)
    model = train_facts(facts, method=method, validation=held_out, known=known, **_given(options))
    sizes: dict[str, Any] = {"entities": len(facts.entities), "relations": len(facts.relations)}
    sizes |= {"facts": len(model.facts_)}
    if method == "rules":
        sizes |= {"rules_by_paths": len(model.paths_), "rules_by_properties": len(model.properties_)}
    elif held_out is not None:
        sizes |= {"validation_mrr": -min(model.result_.measured), "best_epoch": model.result_.best}
    if held_out is not None:
        sizes |= {"validation_skipped": held_out.skipped}
    return model, sizes


def _schema(
    path: Path, out: Path, options: dict[str, Any], logic: tuple[Path | None, Any, Any], *, force: bool
) -> tuple[Any, dict[str, Any]]:
    from polyadic.core.files import check_replaceable
    from polyadic.core.serialization import KIND
    from polyadic.relations.rules import read_rules
    from polyadic.relations.training import train_facts

    check_replaceable(out, KIND, overwrite=force)
    rules, regime, add = logic
    how: dict[str, Any] = {"rules": rules, "regime": regime, "add": add or []}
    model = train_facts(path, method="universal", **how, **_given(options))
    sizes = {"pairs": len(model.schema_.pairs), "predicates": len(model.schema_.predicates)}
    sizes["facts"] = len(model.schema_.indices)
    return model, sizes | ({} if rules is None else {"rules": len(read_rules(rules))})


def _check_request(
    parts: tuple[str | None, ...],
    facts: Path | None,
    unseen: Path | None,
    *,
    known: bool,
    skip: bool,
    why: int,
    rules: bool,
) -> None:
    asked = any(name is not None for name in parts)
    if (facts is not None) + (unseen is not None) + asked != 1:
        raise InputError("give a file of facts, or parts of one to complete, or --unseen; one of the three")
    if known and not asked:
        raise InputError("--known is for a fact to complete; leave it out")
    if skip and facts is None:
        raise InputError("--unknown is for a file of facts; leave it out")
    if why and unseen is not None:
        raise InputError("--why is for what was learned, and pairs of --unseen were not; leave it out")
    if rules and not why:
        raise InputError("--rules is for --why, such as --why 3; leave it out")


def _completed(
    model: Any, parts: tuple[str | None, ...], top: int, *, known: bool
) -> tuple[list[str], list[tuple[Any, ...]]]:
    from polyadic.relations.link_prediction import complete

    names = dict(zip(("subject", "relation", "object"), parts, strict=True))
    hidden = next((what for what, name in names.items() if name is None), "")
    best = complete(model, **names, k=top, known=known)
    sure = [] if not best or best[0].probability is None else ["probability"]
    rows = [(one.name, round(one.score, 4), *(round(one.probability or 0.0, 6) for _ in sure)) for one in best]
    return [hidden, "score", *sure], rows


def _scored(model: Any, path: Path, unknown: Any) -> tuple[list[str], list[tuple[Any, ...]], int]:
    from polyadic.relations.facts import read_facts

    facts = read_facts(path, entities=model.entities_, relations=model.relations_, unknown=unknown)
    s, r, o_ = facts.triples.T
    scores = model.predict(s, r, o_).round(4).tolist()
    rows = [
        (facts.entities[i], facts.relations[k], facts.entities[j], score)
        for (i, k, j), score in zip(facts.triples.tolist(), scores, strict=True)
    ]
    return ["subject", "relation", "object", "score"], rows, facts.skipped


def _probable(model: Any, path: Path, unknown: Any) -> tuple[list[str], list[tuple[Any, ...]], int]:
    from polyadic.relations.schema import read_schema

    known, names = set(model.schema_.pairs), set(model.schema_.predicates)
    facts = list(read_schema(path).triples())
    here = [fact for fact in facts if fact[:2] in known and fact[2] in names] if unknown == "skip" else facts
    likely = model.predict([(s, t) for s, t, _ in here], [p for *_, p in here]).round(4).tolist()
    rows = [(*fact, probability) for fact, probability in zip(here, likely, strict=True)]
    return ["subject", "object", "predicate", "probability"], rows, len(facts) - len(here)


def _unseen(model: Any, path: Path, top: int) -> tuple[list[str], list[tuple[Any, ...]]]:
    from polyadic.relations.schema import read_schema

    if _of_triples(model):
        raise InputError("--unseen is for a universal schema; this model knows nothing of new entities")
    new = read_schema(path)
    rows: list[tuple[Any, ...]] = []
    for pair, likely in zip(new.pairs, model.predict_unseen(new), strict=True):
        best = (-likely).argsort(kind="stable")[:top].tolist()
        rows += [(*pair, model.schema_.predicates[at], round(float(likely[at]), 4)) for at in best]
    return ["subject", "object", "predicate", "probability"], rows


def _likeliest(
    model: Any, parts: tuple[str | None, ...], top: int, *, known: bool
) -> tuple[list[str], list[tuple[Any, ...]]]:
    subject, relation, object_ = parts
    if relation is not None and subject is None and object_ is None:
        pairs = model.likeliest(relation, n=top, listed=known)
        return ["subject", "object", "probability"], [(s, t, round(p, 4)) for s, t, p in pairs]
    if subject is None or object_ is None or relation is not None:
        raise InputError("of a universal schema give --relation alone, or --subject and --object")
    names = model.schema_.predicates
    row = model.schema_.row(subject, object_)
    listed = set(model.schema_.cells[[row]].nonzero()[1].tolist())
    likely = model.predict([(subject, object_)] * len(names), names)
    best = [at for at in (-likely).argsort(kind="stable").tolist() if known or at not in listed][:top]
    return ["predicate", "probability"], [(names[at], round(float(likely[at]), 4)) for at in best]


def _explain(
    model: Any, lines: list[dict[str, Any]], given: dict[str, str | None], why: int, rules: Path | None
) -> list[str]:
    """Say of each line why it is so, and which headings that has."""
    from polyadic.relations.horn_rules import HornRules
    from polyadic.relations.rule_mining import derivations
    from polyadic.relations.rules import read_rules
    from polyadic.relations.schema import schema_of

    if isinstance(model, HornRules):
        if rules is not None:
            raise InputError(f"this model has rules of its own; leave {rules} out")
        for line in lines:
            asked = [str({**given, **line}[name]) for name in ("subject", "relation", "object")]
            line["rules"] = [_reason(*part) for part in model.explain(*asked, k=why).parts[:why]]
        return ["rules"]
    if _of_triples(model):
        names, order = ["subject", "relation", "object"], ["subject", "object", "relation"]
        entities, relations = model.entities_, model.relations_
        known = ((entities[s], entities[o_], relations[r]) for s, r, o_ in model.facts_.tolist())
        schema: Any = None if rules is None else schema_of(known, predicates=relations)
    else:
        names, order, schema = ["predicate"], ["subject", "object", "predicate"], model.schema_

    def told(fact: tuple[str, str, str]) -> dict[str, str]:
        named = dict(zip(order, fact, strict=True))
        return {name: named[name] for name in (names if _of_triples(model) else order)}

    concluding = [] if rules is None else read_rules(rules, predicates=schema.predicates)
    for line in lines:
        s, o_, r = ({**given, **line}[name] for name in order)
        reason = model.explain(s, r, o_, k=why) if _of_triples(model) else model.explain((s, o_), r)
        if concluding:
            found = derivations(schema, concluding, (s, o_, r))[:why]
            line["rules"] = [
                {
                    "rule": str(one.rule),
                    **one.counts._asdict(),
                    "groundings": [list(map(told, g)) for g in one.groundings],
                }
                for one in found
            ]
        line.update(output.reasons(reason, why, names if _of_triples(model) else names[0]))
    return [*(["rules"] if concluding else []), *([] if _of_triples(model) else ["value", "base"]), "why"]


def _reason(reason: Any, part: float) -> dict[str, Any]:
    """Tell of a mined rule that concludes a fact, in the words of :func:`derivations`."""
    names = "subject", "relation", "object"
    groundings = [[dict(zip(names, fact, strict=True)) for fact in facts] for facts in reason.groundings]
    counts = {"premises": reason.rule.tried, "right": reason.rule.right}
    return {"rule": str(reason.rule), **counts, "part": round(part, 6), "groundings": groundings}


def _derivation(found: dict[str, Any], limit: int) -> str:
    """Write a rule that concludes a fact, how often it is right, and what it concludes it from."""
    groundings = [" & ".join(" ".join(fact.values()) for fact in facts) for facts in found["groundings"]]
    more = [f"{len(groundings) - limit:,} more"] if len(groundings) > limit else []
    return f"{found['rule']} ({found['right']:,} of {found['premises']:,}){': ' * bool(groundings)}" + ", ".join(
        [*groundings[:limit], *more]
    )


def _ranked(model: Any, test: Path, known: list[Path], unknown: Any, *, relations: bool) -> dict[str, Any]:
    import numpy as np

    from polyadic.relations.facts import read_facts

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
    from polyadic.relations.schema import read_schema

    schema = model.schema_
    pairs, names = set(schema.pairs), set(schema.predicates)
    facts = list(read_schema(test).triples())
    here = [fact for fact in facts if fact[:2] in pairs and fact[2] in names] if unknown == "skip" else facts
    if not here:
        raise InputError(f"{test} has no fact of what was learned")
    ranked = model.evaluate(here)
    figures = {"facts": int(ranked.true.sum()), "skipped": len(facts) - len(here), "predicates": len(ranked.relations)}
    return figures | {"map": ranked.mean, "weighted_map": ranked.weighted_mean}


def _opened(folder: Path) -> Any:
    """Read a model of either kind."""
    from polyadic.core.serialization import load
    from polyadic.relations.horn_rules import HornRules
    from polyadic.relations.knowledge import KnowledgeTensor
    from polyadic.relations.universal import UniversalSchema

    model = load(folder, (KnowledgeTensor, HornRules, UniversalSchema))
    if _of_triples(model) and (model.entities_ is None or model.relations_ is None):
        raise InputError(f"{folder} knows entities by number, not by name; ask it from Python")
    return model


def _of_triples(model: Any) -> bool:
    """Say whether a model scores triples; otherwise it is a universal schema."""
    from polyadic.relations.link_prediction import LinkPredictor

    return isinstance(model, LinkPredictor)


add_verbs(
    app,
    {
        train: "polyadic relations train facts.tsv --out tensor --validation valid.tsv",
        predict: "polyadic relations predict tensor --subject Norway --relation language",
        evaluate: "polyadic relations evaluate tensor test.tsv --known valid.tsv",
        similar: "polyadic relations train pairs.tsv --method universal --out schema"
        "\n\npolyadic relations similar schema borders",
        add: "polyadic relations add tensor test.tsv --out tensor --force",
        patterns: "polyadic relations patterns parsed.conllu --out patterns.tsv",
    },
)
app.add_typer(rules_app, name="rules")
