"""Models of facts: what ``polyadic relations train`` does, callable."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from polyadic.core.errors import InputError, check_choice
from polyadic.core.selection import BUDGET, select
from polyadic.relations.facts import Facts, read_facts
from polyadic.relations.horn_rules import HornRules
from polyadic.relations.knowledge import Form, KnowledgeTensor
from polyadic.relations.logic import InjectedLogic
from polyadic.relations.rules import read_rules
from polyadic.relations.schema import Schema, read_schema, schema_of
from polyadic.relations.universal import UniversalSchema

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polyadic.relations.formulas import Rule

FORMS: dict[str, Form] = {
    "complex": "ComplEx",
    "cp": "CP",
    "distmult": "DistMult",
    "rescal": "RESCAL",
    "tucker2": "Tucker2",
    "tucker": "TuckER",
    "tucker3": "Tucker3",
}
"""The form of each method for triples."""
OTHERS: dict[str, type[HornRules | UniversalSchema]] = {"rules": HornRules, "universal": UniversalSchema}
"""What no tensor is."""
FEWEST = 100
"""Facts of which a tenth can choose."""


def train_facts(
    source: str | Path | Facts | Schema,
    *,
    method: str = "complex",
    validation: str | Path | Facts | None = None,
    known: str | Path | Facts | None = None,
    rules: str | Path | Sequence[Rule] | None = None,
    regime: Literal["joint", "pre"] | None = None,
    add: Sequence[str] = (),
    choose: bool = True,
    budget: float | None = BUDGET,
    **options: Any,
) -> KnowledgeTensor | HornRules | UniversalSchema:
    """Learn from facts: triples by the questions that they answer or the rules that they follow, or pairs of entities.

    Parameters
    ----------
    source : path, Facts or Schema
        What :func:`~polyadic.relations.facts.read_facts` reads, or, for "universal",
        :func:`~polyadic.relations.schema.read_schema`.
    method : str
        A form of triples, of :data:`FORMS`, "rules", or "universal".
    validation, known : path or Facts, optional
        Of triples: facts to predict while learning, and what else is true (:meth:`KnowledgeTensor.fit`). Those of
        entities and relations that are not in ``source`` are left out.
    rules : path or sequence of Rule, optional
        Of "universal": rules to learn from, too.
    regime : {"joint", "pre"}
        Learn rules beside facts (the default), or first add what follows from them.
    add : sequence of str
        Predicates without facts, which rules conclude.
    choose : bool
        Of triples, from 100 on: whether strength and rank that are not given are chosen by the facts of ``validation``,
        or by some held out (:func:`~polyadic.core.selection.select`); if not, the model has the defaults.
    budget : float, optional
        Seconds after which nothing more is tried.
    **options
        Settings of the model, which has the defaults: :class:`~polyadic.relations.knowledge.KnowledgeTensor`,
        :class:`~polyadic.relations.horn_rules.HornRules` or
        :class:`~polyadic.relations.universal.UniversalSchema`; with rules, ``features`` is "F".

    Raises
    ------
    InputError
        If there is no such method or setting, a setting has no effect, or facts cannot be used.

    Examples
    --------
    >>> told = [("Oslo", "lies_in", "Norway"), ("Bergen", "lies_in", "Norway"), ("Lund", "lies_in", "Sweden")]
    >>> from polyadic import facts_of
    >>> model = train_facts(facts_of(told), rank=2, seed=0, max_iter=5)
    >>> model.objects(["Oslo"], ["lies_in"]).shape
    (1, 5)
    """
    check_choice("method", method, (*FORMS, *OTHERS))
    cls: Any = OTHERS.get(method, KnowledgeTensor)
    settings = {field.name for field in dataclasses.fields(cls) if field.init} - {"form"}
    if unknown := sorted({*options} - settings):
        raise InputError(f"{unknown[0]} is no setting of {method}; there are {', '.join(sorted(settings))}")
    if rules is None and (regime is not None or add):
        raise InputError("regime and add are for rules; name a file of rules, or leave them out")
    if method == "universal":
        if rules is not None:
            options = {"features": "F", **options}
        if validation is not None or known is not None:
            raise InputError("validation and known are for triples; leave them out for universal")
        return _schema(UniversalSchema(**options), source, rules, regime or "joint", add)
    if rules is not None:
        raise InputError(f"rules are for universal; leave them out for {method}")
    if known is not None and validation is None:
        raise InputError("known is for validation; name facts to predict, or leave it out")
    facts = source if isinstance(source, Facts) else read_facts(_path(source))
    held_out, true = like(validation, facts), like(known, facts)
    if held_out is not None and not len(held_out):
        raise InputError("validation has no fact of entities and relations that are to be learned")
    return _of_triples(method, facts, (held_out, true), options, budget if choose else False)


def _of_triples(
    method: str, facts: Facts, parts: tuple[Facts | None, Facts | None], options: dict[str, Any], budget: Any
) -> KnowledgeTensor | HornRules:
    """Fit a model of triples; nothing is chosen where ``budget`` is False, or facts are few."""
    held_out, true = parts
    if method == "rules":
        if true is not None:
            raise InputError("known is for tensors, which stop by validation; leave it out for rules")
        return HornRules(**options).fit(facts, validation=held_out)
    model = KnowledgeTensor(form=FORMS[method], **options)
    if budget is False or len(facts) < FEWEST:
        return model.fit(facts, validation=held_out, known=true)
    return select(model, facts, keep=options, budget=budget, seed=model.seed, validation=held_out, known=true)


def like(part: str | Path | Facts | None, facts: Facts) -> Facts | None:
    """Read facts by the names of others; those of other names are left out and counted."""
    if part is None or isinstance(part, Facts):
        return part
    return read_facts(part, entities=facts.entities, relations=facts.relations, unknown="skip")


def _schema(model: UniversalSchema, source: Any, rules: Any, regime: Any, add: Sequence[str]) -> UniversalSchema:
    schema = source if isinstance(source, Schema) else read_schema(_path(source))
    if new := [name for name in dict.fromkeys(add) if name not in schema.predicates]:
        schema = schema_of(schema.triples(), predicates=[*schema.predicates, *new])
    if rules is None:
        return model.fit(schema)
    if isinstance(rules, str | Path):
        rules = read_rules(rules, predicates=schema.predicates)
    fitted: UniversalSchema = InjectedLogic(rules, regime=regime, model=model).fit(schema).model_
    return fitted


def _path(source: Any) -> str | Path:
    if isinstance(source, str | Path):
        return source
    raise InputError(f"source must be a path or facts; got {type(source).__name__}")
