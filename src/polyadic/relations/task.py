"""``polyadic relations``: link prediction in knowledge graphs, universal schemas, and logic rules."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from polyadic.core.errors import InputError, counted
from polyadic.core.settings import Amount, Columns, Count, File, Help, Metavar, Natural, Out, Repeated, Share
from polyadic.core.settings import Table as TableFile
from polyadic.interface import output
from polyadic.interface.errors import say
from polyadic.interface.run import Saved, check_out, save
from polyadic.interface.run import train as run
from polyadic.interface.task import Task

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from polyadic.relations.facts import Facts
    from polyadic.relations.link_prediction import LinkPredictor
    from polyadic.relations.universal import UniversalSchema
    from polyadic.text.tables import TableReading

    AnyModel = LinkPredictor | UniversalSchema

CLASSES = "horn_rules:HornRules", "universal:UniversalSchema", "knowledge:KnowledgeTensor"
MODELS = tuple(f"polyadic.relations.{name}" for name in CLASSES)
READING = "polyadic.text.tables:TableReading"
TASK = Task(
    "relations",
    "Complete knowledge graphs: predict missing facts from known facts and text, with explanations.",
    model=MODELS,
)
RULES = Task("rules", "Check and mine logic rules, such as owns(x, y) & !sold(x, y) => has(x, y).")
TASK.groups["rules"] = RULES

Methods = Literal["complex", "cp", "distmult", "rescal", "tucker2", "tucker", "tucker3", "rules", "universal"]
Unknown = Annotated[
    Literal["error", "skip"],
    Help("Treatment of facts with unknown entities or relations: raise an error, or skip and count the facts."),
]
Name = Annotated[str | None, Metavar("NAME")]
Predicates = Annotated[list[str] | None, Repeated(), Metavar("PREDICATE")]
YES = {True: "yes", False: "no"}
Table = tuple[list[str], list[tuple[Any, ...]], int]
"""Headings, rows, and the number of facts that are left out."""


@TASK.verb(
    example="polyadic relations train facts.tsv --out tensor --validation valid.tsv",
    settings={"given": MODELS, "reading": READING},
    fixed=("form",),
    options=("columns", "method", "rank", "strength", "max_iter", "validation", "rules", "add"),
)
def train(
    facts: TableFile,
    given: dict[str, Any],
    reading: TableReading,
    *,
    out: Out,
    columns: Columns | None = None,
    method: Methods = "complex",
    validation: File | None = None,
    known: File | None = None,
    rules: File | None = None,
    regime: Literal["joint", "pre"] | None = None,
    add: Predicates = None,
    choose: bool = True,
    budget: Amount | None = None,
    force: bool = False,
) -> Saved:
    """Train a link prediction model or a universal schema on a file of facts.

    The tensor methods (complex, cp, distmult, rescal, tucker2, tucker, tucker3) and rules read triples and predict a
    missing subject, relation or object. The strength and rank of a tensor method are selected on held-out facts, or on
    the facts of --validation, if they are not given. The method rules mines Horn rules, which explain its predictions.
    The method universal reads entity pairs with predicates, which may be relations of tables or patterns of text.

    Parameters
    ----------
    facts
        Table of facts with the columns subject, relation and object, or RDF file (.nt, .ttl). Without headings, the
        columns of a table for the method universal are subject, object and predicate.
    method
        Model: mined Horn rules (rules), a universal schema (universal), or a tensor factorization (all other names).
    validation
        File of validation facts, used to select the best epoch (tensor methods) and to calibrate the scores.
    known
        File of other true facts, which do not count as errors in validation (tensor methods).
    rules
        File of logic rules to learn from in addition to the facts (method universal).
    regime
        Use of the rules: fit rules and facts jointly, or add the derived facts before training (pre) (default: joint).
    add
        Predicate that has no facts but is the conclusion of rules (method universal); can be repeated.
    choose
        Use held-out facts to select strength and rank if they are not given (tensor methods).
    budget
        Time limit in seconds for the selection of settings (default: 600).
    max_iter
        Maximum number of training epochs (default: tensor methods 50; universal 100).
    rank
        Dimension of the entity vectors; for complex, the number of complex elements (default: selected).
    strength
        Regularization strength (default: selected).
    """
    from polyadic.core.methods import refuse_unused
    from polyadic.core.settings import BUDGET
    from polyadic.relations.facts import read_facts
    from polyadic.relations.schema import read_schema
    from polyadic.relations.training import FORMS, METHODS, check_inputs, like, train_facts

    refuse_unused(METHODS, method, given)
    inputs: dict[str, Any] = {"validation": validation, "known": known, "rules": rules, "regime": regime}
    inputs["add"] = add or ()
    check_inputs(method, inputs)
    if budget is not None and method not in FORMS:
        raise InputError(f"budget is not used by method {method}; leave out budget", "budget", "method")
    data: list[Any] = []

    def read() -> Any:
        if method == "universal":
            return read_schema(facts, reading, columns=columns)
        data.append(read_facts(facts, reading, columns=columns))
        inputs.update({name: like(inputs[name], data[0]) for name in ("validation", "known")})
        return data[0]

    def fit(source: Any) -> Any:
        limit = BUDGET if budget is None else budget
        return train_facts(source, method=method, choose=choose, budget=limit, **inputs, **given)

    def summary(model: Any) -> dict[str, Any]:
        if method == "universal":
            return {"method": method, **_schema_figures(model, rules)}
        return {"method": method, **_triple_figures(model, data[0], inputs["validation"])}

    saved = run(METHODS[method].make(given), read, out, force=force, fit=fit, summary=summary)
    asked = ("--relation", "PREDICATE") if method == "universal" else ("--subject", "NAME", "--relation", "NAME")
    return saved.then("relations", "predict", out, *asked)


def _triple_figures(model: Any, facts: Facts, validation: Facts | None) -> dict[str, Any]:
    """Return summary statistics of a link prediction model."""
    from polyadic.relations.horn_rules import HornRules

    mined = isinstance(model, HornRules)
    sizes = {"entities": len(facts.entities), "relations": len(facts.relations), "facts": len(model.facts_)}
    if mined:
        sizes |= {"rules_by_paths": len(model.paths_), "rules_by_properties": len(model.properties_)}
    elif validation is not None:
        sizes |= {"validation_mrr": -min(model.result_.measured), "best_epoch": model.result_.best}
    if validation is not None:
        sizes["validation_skipped"] = validation.skipped
    return sizes if mined else sizes | _epochs(model)


def _schema_figures(model: Any, rules: Path | None) -> dict[str, Any]:
    """Return summary statistics of a fitted universal schema."""
    from polyadic.relations.rules import read_rules

    schema = model.schema_
    sizes = {"pairs": len(schema.pairs), "predicates": len(schema.predicates), "facts": len(schema.indices)}
    return sizes | ({} if rules is None else {"rules": len(read_rules(rules))}) | _epochs(model)


def _epochs(model: Any) -> dict[str, Any]:
    return {"epochs": model.n_iter_, "seconds": round(model.result_.seconds[-1], 2)}


class Predictions(dict[str, Any]):
    """Predictions with table headings, the number of reasons to print, and notes for the user."""

    headings: Sequence[str] = ()
    why: int = 0
    remarks: Sequence[str] = ()


def _print_predictions(result: Predictions) -> None:
    """Print predictions with the reasons for each prediction."""
    lines = [dict(line) for line in result["predictions"]]
    for line in lines:
        if "rules" in line:
            line["rules"] = "; ".join(_derivation_line(found, result.why) for found in line["rules"])
    output.reasoned(result.headings, lines)
    for remark in result.remarks:
        say(remark, "note")


def _derivation_line(found: dict[str, Any], limit: int) -> str:
    """Format a rule that derives a fact, with its counts and the supporting facts."""
    groundings = [" & ".join(" ".join(fact.values()) for fact in facts) for facts in found["groundings"]]
    more = [f"{len(groundings) - limit:,} more"] if len(groundings) > limit else []
    facts = ", ".join([*groundings[:limit], *more])
    return f"{found['rule']} ({found['right']:,} of {found['premises']:,}){': ' if facts else ''}{facts}"


@TASK.verb(
    example="polyadic relations predict tensor --subject Norway --relation language",
    question=True,
    show=_print_predictions,
    settings={"reading": READING},
    options=("subject", "relation", "object", "columns", "unseen", "known", "unknown", "top", "why", "rules"),
)
def predict(
    model: AnyModel,
    reading: TableReading,
    facts: TableFile | None = None,
    *,
    columns: Columns | None = None,
    subject: Name = None,
    relation: Name = None,
    object: Name = None,  # noqa: A002 # the word of the option
    unseen: File | None = None,
    known: bool = False,
    unknown: Unknown = "error",
    top: Count = 10,
    why: Natural = 0,
    rules: File | None = None,
) -> Predictions:
    """Complete a fact, score the facts in a file, or predict the predicates of new entity pairs.

    Give two of --subject, --relation and --object to predict the third. For a universal schema, give --relation to list
    the most probable entity pairs, or --subject and --object to list the most probable predicates.

    With --why, the known facts with the largest influence on each score are listed; an influence is relative to the
    influence of the predicted fact itself. For mined rules, the rules that derive a prediction are listed with the
    facts that they use. For a universal schema, the log-odds are split into a base value and the contributions of the
    known predicates of the pair.

    Parameters
    ----------
    facts
        File of facts to score, in the format of the training file.
    subject
        Subject of the fact to complete; omit this option to predict the subject.
    relation
        Relation or predicate of the fact to complete; omit this option to predict the relation or predicate.
    object
        Object of the fact to complete; omit this option to predict the object.
    unseen
        File of entity pairs that are not in the training data, with their known predicates (method universal).
    known
        Include training facts in the predictions, marked in the column "known".
    top
        Number of predictions to list.
    why
        Number of facts, rules or contributions to show as an explanation of each prediction.
    rules
        File of logic rules; with --why, the rules that derive each prediction are shown.
    """
    parts = subject, relation, object
    asked = any(name is not None for name in parts)
    _check_request(facts, unseen, asked=asked, known=known, skip=unknown == "skip", why=why, rules=rules)
    _check_names(model)
    if facts is not None:
        score = _scores if _is_of_triples(model) else _probabilities
        headings, rows, left_out = score(model, facts, unknown, reading=reading, columns=columns)
    elif unseen is not None:
        headings, rows, left_out = _predicates(model, unseen, top)
    else:
        ask = _completions if _is_of_triples(model) else _likeliest
        headings, rows, left_out = ask(model, parts, top, known=known)
    lines = [dict(zip(headings, row, strict=True)) for row in rows]
    if why:
        given = {"subject": subject, "object": object, "relation": relation, "predicate": relation}
        headings += _explain(model, lines, given, why, rules)
    result = Predictions(predictions=lines)
    result.headings, result.why, result.remarks = headings, why, []
    if facts is not None:
        result["skipped"] = left_out
        if left_out:
            result.remarks.append(f"skipped {counted(left_out, 'fact')} with unknown entities or relations")
    elif unseen is None:
        result.remarks = _remarks(lines, 0 if known else left_out, calibrated=_is_of_triples(model) and relation)
    return result


def _remarks(lines: list[dict[str, Any]], left_out: int, *, calibrated: Any) -> list[str]:
    """Return notes on answers: what is left out, and what their probabilities mean."""
    remarks = [] if lines else ["there is no answer"]
    if left_out:
        remarks.append(f"left out {counted(left_out, 'known answer')}; --known includes and marks known answers")
    if lines and "probability" not in lines[0]:
        remarks.append("scores are not probabilities; train with --validation to predict probabilities")
    elif lines and calibrated:
        remarks.append("the probabilities assume that exactly one answer is missing from the known facts")
    return remarks


def _check_request(
    facts: str | None, unseen: Path | None, *, asked: bool, known: bool, skip: bool, why: int, rules: Path | None
) -> None:
    """Raise InputError if the command-line options contradict each other."""
    if (facts is not None) + (unseen is not None) + asked != 1:
        what = "give a file of facts, an incomplete fact, or the option unseen, but only one of them"
        raise InputError(what, "unseen")
    if known and not asked:
        what = "known can be used only to complete a fact; specify an incomplete fact, or leave out known"
        raise InputError(what, "known")
    if skip and facts is None:
        what = "unknown can be used only together with a file of facts; specify a file, or leave out unknown"
        raise InputError(what, "unknown")
    if why and unseen is not None:
        what = "why cannot be combined with unseen, because predictions for new pairs cannot be explained"
        raise InputError(what, "why", "unseen")
    if rules is not None and not why:
        raise InputError("rules can be used only together with why; set both, or leave out rules", "rules", "why")


@TASK.verb(
    example="polyadic relations train pairs.tsv --method universal --out schema"
    "\n\npolyadic relations similar schema borders"
)
def similar(model: AnyModel, predicate: str, *, top: Count = 10) -> dict[str, Any]:
    """List the predicates of a universal schema that are most similar to a given predicate.

    Parameters
    ----------
    predicate
        Predicate whose most similar predicates are listed; it must occur in the training data.
    top
        Number of predicates to list.
    """
    _check_names(model)
    if _is_of_triples(model):
        about = "similar predicates can be listed only for a universal schema"
        raise InputError(f"{about}; this is a link prediction model")
    nearest = model.most_similar(predicate, n=top)
    return {"predicate": predicate, "similar": [{"name": n, "cosine": round(c, 6)} for n, c in nearest]}


@TASK.verb(
    example="polyadic relations evaluate tensor test.tsv --known valid.tsv",
    settings={"reading": READING},
    options=("columns", "known", "unknown", "rank_relations"),
)
def evaluate(
    model: AnyModel,
    test: TableFile,
    reading: TableReading,
    *,
    columns: Columns | None = None,
    known: Annotated[list[TableFile] | None, Repeated()] = None,
    unknown: Unknown = "error",
    rank_relations: bool = False,
) -> dict[str, Any]:
    """Evaluate link prediction by the filtered rank of the entities in test facts.

    A universal schema ranks pairs for each predicate of the test facts; all other pairs count as false, except those of
    the training data.

    Parameters
    ----------
    test
        File of test facts, in the format of the training file.
    known
        File of other true facts, such as the validation facts; can be repeated.
    rank_relations
        Also evaluate the rank of the true relation between the two entities of each test fact.
    """
    _check_names(model)
    if _is_of_triples(model):
        return _ranks(model, test, known or [], unknown, relations=rank_relations, reading=reading, columns=columns)
    if known or rank_relations:
        message = "known and rank_relations are not used by a universal schema; leave them out"
        raise InputError(message, "known", "rank_relations")
    facts, usable = _cells(model, test, unknown, reading=reading, columns=columns)
    if not usable:
        raise InputError(f"{test} contains no fact whose entity pair and predicate are known to the model")
    ranked: Any = model.evaluate(usable)
    result = {"facts": int(ranked.true.sum()), "skipped": len(facts) - len(usable), "predicates": len(ranked.relations)}
    return result | {"map": ranked.mean, "weighted_map": ranked.weighted_mean}


@TASK.verb(
    example="polyadic relations add tensor test.tsv --out tensor --force",
    settings={"reading": READING},
    options=("columns", "epochs"),
)
def add(
    model: AnyModel,
    facts: TableFile,
    reading: TableReading,
    *,
    out: Out,
    columns: Columns | None = None,
    epochs: Count | None = None,
    force: bool = False,
) -> Saved:
    """Add new entities to a tensor model from facts about them; existing parameters do not change.

    New facts between known entities count as known from now on and change nothing else; train again to learn from them.

    Parameters
    ----------
    facts
        Table of facts with the columns subject, relation and object.
    epochs
        Number of training epochs for the vectors of new entities (default: 20).
    """
    from polyadic.relations.facts import read_facts
    from polyadic.relations.knowledge import KnowledgeTensor

    check_out(out, force=force)
    _check_names(model)
    if not isinstance(model, KnowledgeTensor):
        advice = "add the new facts to the training facts and train again"
        raise InputError(f"new entities can be added only to a tensor model; {advice}")
    new = read_facts(facts, reading, columns=columns)
    model.update(new, **({} if epochs is None else {"max_iter": epochs}))
    saved = save(model, out, force=force, summary=lambda updated: updated.updated_)
    return saved.then("relations", "predict", out, "--subject", "NAME", "--relation", new.relations[0])


@TASK.verb(example="polyadic relations patterns parsed.conllu --out patterns.tsv")
def patterns(
    sources: Annotated[list[str], Metavar("SOURCE")],
    *,
    out: File,
    parse: Annotated[str | None, Metavar("NAME")] = None,
    key: Annotated[str | None, Metavar("KEY")] = None,
    min_count: Count = 1,
) -> Saved:
    """Extract facts for a universal schema from parsed text: dependency paths and words between two names.

    Parameters
    ----------
    sources
        CoNLL-U files; with --parse, files, folders or globs of plain text.
    out
        File of facts to write.
    parse
        Name of a spaCy pipeline with which to parse plain text, such as en_core_web_sm.
    key
        Key in the CoNLL-U column MISC that marks names (default: runs of proper nouns).
    min_count
        Minimum number of entity pairs with which a pattern must occur.
    """
    from collections import Counter

    from polyadic.core.files import whole_file
    from polyadic.relations.patterns import pattern_triples
    from polyadic.syntax import spacy_components
    from polyadic.syntax.trees import read_trees
    from polyadic.text.readers import read

    if parse is None:
        trees: Any = (tree for source in sources for tree in read_trees(source))
    else:
        texts = (str(document) for source in sources for document in read(source))
        trees = spacy_components.parse(texts, pipeline=parse)
        key = key or "Entity"
    facts = dict.fromkeys(pattern_triples(trees, key=key))
    pairs = Counter(pattern for *_, pattern in facts)
    kept = [fact for fact in facts if pairs[fact[2]] >= min_count]
    if not facts:
        raise InputError(f"{', '.join(sources)}: no sentence contains two named entities")
    if not kept:
        about = f"no pattern connects at least {min_count} entity pairs"
        raise InputError(f"{', '.join(sources)}: {about}; lower min_count", "min_count")
    with whole_file(out) as draft:
        draft.write_text("".join("\t".join(fact) + "\n" for fact in kept), encoding="utf-8")
    saved = Saved(out=str(out), pairs=len({fact[:2] for fact in kept}))
    saved |= {"patterns": len({fact[2] for fact in kept}), "facts": len(kept)}
    return saved.then("relations", "train", out, "--out", "model", "--method", "universal")


# ---- rules


def _print_checked(result: dict[str, Any]) -> None:
    """Print a line for each rule, with the numbers of its groundings if facts were given."""
    names = {"premises": "premise true", "right": "conclusion also true"}
    rules = result["rules"]
    output.table([names.get(name, name) for name in rules[0]], [tuple(rule.values()) for rule in rules])


@RULES.verb(example="polyadic relations rules check rules.txt --facts pairs.tsv", show=_print_checked)
def check(rules: File, *, facts: TableFile | None = None, add: Predicates = None) -> dict[str, Any]:
    """Check the syntax of a file of rules, and count how often each rule holds in a file of facts.

    Parameters
    ----------
    rules
        File with one rule on each line; # begins a comment.
    facts
        File of facts in which to count how often rules hold; rules may use only the predicates of this file.
    add
        Predicate that rules may use although it has no facts; can be repeated.
    """
    from polyadic.relations.rule_mining import count_groundings
    from polyadic.relations.rules import read_rules
    from polyadic.relations.schema import read_schema, schema_of

    if add and facts is None:
        raise InputError("add can be used only together with facts; set both, or leave out add", "add", "facts")
    if facts is None:
        return {"rules": [{**_located(rule), "weight": rule.weight} for rule in read_rules(rules)]}
    schema = read_schema(facts)
    if new := [name for name in dict.fromkeys(add or []) if name not in schema.predicates]:
        schema = schema_of(schema.triples(), predicates=[*schema.predicates, *new])
    found = read_rules(rules, predicates=schema.predicates)
    return {"rules": [{**_located(rule), **count_groundings(schema, rule)._asdict()} for rule in found]}


def _located(rule: Any) -> dict[str, Any]:
    return {"line": rule.place.line, "rule": str(rule.formula)}


def _print_mined(result: dict[str, Any]) -> None:
    """Print mined rules in the format of a rules file."""
    rules = ((each["rule"], each["confidence"], each["support"]) for each in result["rules"])
    output.write_lines((f"{rule}  # {share:.3f} of {round(n / share):,}\n" for rule, share, n in rules), None)


@RULES.verb(
    example="polyadic relations rules mine pairs.tsv --confidence 0.6",
    show=_print_mined,
    settings={"reading": READING},
    options=("columns", "confidence", "support"),
)
def mine(
    facts: TableFile,
    reading: TableReading,
    *,
    columns: Columns | None = None,
    confidence: Share = 0.8,
    support: Count = 10,
) -> dict[str, Any]:
    """Mine rules in which one predicate implies another, and print them in the format of a rules file.

    Parameters
    ----------
    facts
        Table of facts with the columns subject, object and predicate.
    confidence
        Minimum confidence of a rule: the fraction of its conclusions that are known facts.
    support
        Minimum support of a rule: the number of its conclusions that are known facts.
    """
    from polyadic.relations.rule_mining import mine_rules
    from polyadic.relations.schema import read_schema

    mined = mine_rules(read_schema(facts, reading, columns=columns), confidence=confidence, support=support)
    return {"rules": [{"rule": str(rule), "confidence": c, "support": n} for rule, c, n in mined]}


# ---- predictions


def _is_of_triples(model: Any) -> bool:
    """Return whether a model is a link prediction model (True) or a universal schema (False)."""
    from polyadic.relations.link_prediction import LinkPredictor

    return isinstance(model, LinkPredictor)


def _check_names(model: Any) -> None:
    """Raise InputError if the entities or relations of a model have no names."""
    if _is_of_triples(model) and (model.entities_ is None or model.relations_ is None):
        about = "the model must have names of entities and relations"
        raise InputError(f"{about}; a model with integer ids can be used only from Python")


def _completions(model: Any, parts: tuple[str | None, ...], top: int, *, known: bool) -> Table:
    """Return the highest-scoring completions of a partial triple, as a table."""
    from polyadic.relations.link_prediction import complete, known_answers

    names = dict(zip(("subject", "relation", "object"), parts, strict=True))
    hidden = next((name for name, given in names.items() if given is None), "")
    best = complete(model, **names, k=top, known=known)
    columns: dict[str, list[Any]] = {hidden: [one.name for one in best], "score": [round(one.score, 4) for one in best]}
    if any(one.probability is not None for one in best):
        columns["probability"] = [one.probability and round(one.probability, 6) for one in best]
    if known:
        columns["known"] = [YES[one.known] for one in best]
    return [*columns], [*zip(*columns.values(), strict=True)], len(known_answers(model, *parts))


def _scores(model: Any, path: str, unknown: Any, **how: Any) -> Table:
    """Score the triples in a file, of which those with unknown names are skipped."""
    from polyadic.relations.facts import read_facts

    facts = read_facts(path, entities=model.entities_, relations=model.relations_, unknown=unknown, **how)
    scores = model.predict(*facts.triples.T).round(4).tolist()
    rows = [(*fact, score) for fact, score in zip(facts.named(), scores, strict=True)]
    return ["subject", "relation", "object", "score"], rows, facts.skipped


def _probabilities(model: Any, path: str, unknown: Any, **how: Any) -> Table:
    """Predict the probabilities of the facts in a file, of which those with unknown names are skipped."""
    facts, usable = _cells(model, path, unknown, **how)
    likely = model.predict([fact[:-1] for fact in usable], [fact[-1] for fact in usable]).round(4).tolist()
    scored = zip(usable, likely, strict=True)
    rows = [(fact[0], fact[1] if len(fact) == 3 else None, fact[-1], probability) for fact, probability in scored]
    return ["subject", "object", "predicate", "probability"], rows, len(facts) - len(usable)


def _cells(model: Any, path: str, unknown: Any, **how: Any) -> tuple[list[tuple[str, ...]], list[tuple[str, ...]]]:
    """Read facts for a universal schema; return all facts, and the facts whose names are known."""
    from polyadic.relations.schema import read_schema

    pairs, names = set(model.schema_.pairs), set(model.schema_.predicates)
    facts = list(read_schema(path, **how).triples())
    usable = [fact for fact in facts if fact[:-1] in pairs and fact[-1] in names] if unknown == "skip" else facts
    return facts, usable


def _predicates(model: Any, path: Path, top: int) -> Table:
    """Predict the most probable predicates of new entity pairs, as a table."""
    from polyadic.relations.schema import read_schema

    if _is_of_triples(model):
        raise InputError("unseen requires a universal schema, but this is a link prediction model", "unseen")
    new = read_schema(path)
    rows: list[tuple[Any, ...]] = []
    for row, likely in enumerate(model.predict_unseen(new)):
        best = (-likely).argsort(kind="stable")[:top].tolist()
        rows += [(*new.ends(row), model.schema_.predicates[at], round(float(likely[at]), 4)) for at in best]
    return ["subject", "object", "predicate", "probability"], rows, 0


def _likeliest(model: Any, parts: tuple[str | None, ...], top: int, *, known: bool) -> Table:
    """Return the most probable entity pairs of a predicate, or the most probable predicates of a pair."""
    subject, relation, object_ = parts
    shown = ["known"] if known else []
    if relation is not None and subject is None and object_ is None:
        pairs = model.likeliest(relation, n=top, listed=known)
        listed_pairs = len(model.schema_.rows_of(relation))
        rows = [(*ends, round(p, 4), *(YES[old] for _ in shown)) for *ends, p, old in pairs]
        return ["subject", "object", "probability", *shown], rows, listed_pairs
    if subject is None or relation is not None:
        message = "for a universal schema give relation alone, subject and object, or subject alone (one entity)"
        raise InputError(message, "subject", "relation", "object")
    names = model.schema_.predicates
    pair = (subject,) if object_ is None else (subject, object_)
    row = model.schema_.row(*pair)
    listed = set(model.schema_.cells[[row]].nonzero()[1].tolist())
    likely = model.predict([pair] * len(names), names)
    best = [at for at in (-likely).argsort(kind="stable").tolist() if known or at not in listed][:top]
    rows = [(names[at], round(float(likely[at]), 4), *(YES[at in listed] for _ in shown)) for at in best]
    return ["predicate", "probability", *shown], rows, len(listed)


# ---- reasons


def _explain(
    model: Any, lines: list[dict[str, Any]], given: dict[str, str | None], why: int, rules: Path | None
) -> list[str]:
    """Add explanations to predictions in place; return the headings of the added columns."""
    from polyadic.relations.horn_rules import HornRules
    from polyadic.relations.rule_mining import derivations
    from polyadic.relations.rules import read_rules
    from polyadic.relations.schema import schema_of

    if isinstance(model, HornRules):
        if rules is not None:
            raise InputError(f"the model already contains rules; leave out {rules}")
        for line in lines:
            asked = [str({**given, **line}[name]) for name in ("subject", "relation", "object")]
            line["rules"] = [_mined_reason(*part) for part in model.explain(*asked, k=why).parts[:why]]
        return ["rules"]
    if _is_of_triples(model):
        names, order = ["subject", "relation", "object"], ["subject", "object", "relation"]
        entities, relations = model.entities_, model.relations_
        known = ((entities[s], entities[o], relations[r]) for s, r, o in model.facts_.tolist())
        schema: Any = None if rules is None else schema_of(known, predicates=relations)
    else:
        names, order, schema = ["predicate"], ["subject", "object", "predicate"], model.schema_

    def named(fact: tuple[str, ...]) -> dict[str, str]:
        parts = dict(zip(order if len(fact) == 3 else (order[0], order[2]), fact, strict=True))
        return {name: parts[name] for name in (names if _is_of_triples(model) else order) if name in parts}

    concluding = [] if rules is None else read_rules(rules, predicates=schema.predicates)
    for line in lines:
        s, o, r = ({**given, **line}[name] for name in order)
        pair = (s, o) if o is not None else (s,)
        reason = model.explain(s, r, o, k=why) if _is_of_triples(model) else model.explain(pair, r)
        if concluding:
            line["rules"] = []
            for rule, counts, groundings in derivations(schema, concluding, (*pair, r))[:why]:
                facts = [[named(fact) for fact in grounding] for grounding in groundings]
                line["rules"].append({"rule": str(rule), **counts._asdict(), "groundings": facts})
        line.update(output.reasons(reason, why, names if _is_of_triples(model) else names[0]))
    return [*(["rules"] if concluding else []), *([] if _is_of_triples(model) else ["log-odds", "base"]), "why"]


def _mined_reason(reason: Any, part: float) -> dict[str, Any]:
    """Return a JSON-serializable description of a mined rule that derives a fact."""
    names = "subject", "relation", "object"
    counts = {"premises": reason.rule.tried, "right": reason.rule.right}
    groundings = [[dict(zip(names, fact, strict=True)) for fact in facts] for facts in reason.groundings]
    return {"rule": str(reason.rule), **counts, "part": round(part, 6), "groundings": groundings}


# ---- evaluation


def _ranks(model: Any, test: str, known: list[str], unknown: Any, *, relations: bool, **how: Any) -> dict[str, Any]:
    """Return ranking metrics of a link prediction model on test facts."""
    import numpy as np

    from polyadic.relations.facts import read_facts

    names = {"entities": model.entities_, "relations": model.relations_}
    facts = read_facts(test, **names, unknown=unknown, **how)
    if not len(facts):
        raise InputError(f"{test} contains no fact whose entities and relation are known to the model")
    others = [read_facts(path, **names, unknown="skip").triples for path in known]
    ranks = model.evaluate(facts, known=np.concatenate(others) if others else None, relations=relations)
    result: dict[str, Any] = {"facts": len(facts), "skipped": facts.skipped, "mrr": ranks.mean_reciprocal_rank}
    result |= {f"hits_at_{k}": ranks.hits_at(k) for k in (1, 3, 10)}
    if relations:
        result["relation_mrr"] = float((1 / ranks.relations).mean())
    return result
