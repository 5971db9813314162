"""Train a model of a knowledge graph: the pipeline behind ``polyadic relations train``."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from polyadic.core.errors import InputError, check_choice
from polyadic.core.methods import Method
from polyadic.core.selection import select
from polyadic.core.settings import BUDGET
from polyadic.relations.facts import Facts, read_facts
from polyadic.relations.horn_rules import HornRules
from polyadic.relations.knowledge import Form, KnowledgeTensor
from polyadic.relations.logic import InjectedLogic
from polyadic.relations.rules import read_rules
from polyadic.relations.schema import Schema, read_schema, schema_of
from polyadic.relations.universal import UniversalSchema

if TYPE_CHECKING:
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
"""Form of each tensor method."""
METHODS = {
    name: Method(KnowledgeTensor, {"form": form} | ({} if form in ("TuckER", "Tucker3") else {"relation_rank": None}))
    for name, form in FORMS.items()
} | {"rules": Method(HornRules), "universal": Method(UniversalSchema)}
"""All methods, and the settings that they use."""
INPUTS = {"validation": (*FORMS, "rules"), "known": (*FORMS,)}
INPUTS |= dict.fromkeys(("rules", "regime", "add"), ("universal",))
"""Methods that use an input."""
MIN_FACTS = 100  # minimum number of triples for model selection on a validation set


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
    """Train a link prediction model or a universal schema on a file of facts.

    InputError is raised if the method or a setting is unknown, a setting has no effect, or the facts cannot be used.

    Parameters
    ----------
    source : path, Facts or Schema
        Triples, or a file that :func:`~polyadic.relations.facts.read_facts` reads; for ``"universal"``, a schema or a
        file that :func:`~polyadic.relations.schema.read_schema` reads.
    method : str
        Model: a tensor factorization (a key of :data:`FORMS`), ``"rules"`` or ``"universal"``.
    validation, known : path or Facts, optional
        Validation triples, and other true triples that ranks are filtered by; see :meth:`KnowledgeTensor.fit`. Triples
        with entities or relations that are not in ``source`` are left out. Not for ``"universal"``.
    rules : path or sequence of Rule, optional
        Rules to learn from in addition to the facts; only for ``"universal"``.
    regime : {"joint", "pre"}
        Use of rules: train on rules and facts jointly (the default), or add the facts that rules derive before
        training.
    add : sequence of str
        Predicates without facts that occur in conclusions of rules.
    choose : bool
        Whether to select ``strength`` and ``rank``, where not given, on ``validation`` or on a held-out part of the
        triples (:func:`~polyadic.core.selection.select`). Selection needs a tensor method and at least 100 triples;
        otherwise the defaults are used.
    budget : float, optional
        Time limit of model selection in seconds; no further model is fitted after it.
    **options
        Settings of the model: :class:`~polyadic.relations.knowledge.KnowledgeTensor`,
        :class:`~polyadic.relations.horn_rules.HornRules` or :class:`~polyadic.relations.universal.UniversalSchema`.
        With rules, ``features`` is ``"F"`` by default.

    Examples
    --------
    >>> triples = [("Oslo", "lies_in", "Norway"), ("Bergen", "lies_in", "Norway"), ("Lund", "lies_in", "Sweden")]
    >>> from polyadic import facts_of
    >>> model = train_facts(facts_of(triples), rank=2, seed=0, max_iter=5)
    >>> model.objects(["Oslo"], ["lies_in"]).shape
    (1, 5)
    """
    check_choice("method", method, (*METHODS,))
    settings = {field.name for field in dataclasses.fields(METHODS[method].estimator) if field.init} - {"form"}
    if unknown := sorted({*options} - settings):
        raise InputError(f"unknown setting {unknown[0]} of method {method}; choose from {', '.join(sorted(settings))}")
    inputs = {"validation": validation, "known": known, "rules": rules, "regime": regime, "add": add}
    check_inputs(method, inputs)
    if method == "universal":
        if rules is not None:
            options = {"features": "F", **options}
        return _schema(UniversalSchema(**options), source, rules, regime or "joint", add)
    facts = source if isinstance(source, Facts) else read_facts(_path(source))
    held_out, true = like(validation, facts), like(known, facts)
    if held_out is not None and not len(held_out):
        about = "validation must contain at least one fact"
        raise InputError(f"{about} whose entities and relation occur in the training facts", "validation")
    if method == "rules":
        return HornRules(**options).fit(facts, validation=held_out)
    model = KnowledgeTensor(form=FORMS[method], **options)
    if not choose or len(facts) < MIN_FACTS:
        return model.fit(facts, validation=held_out, known=true)
    return select(model, facts, keep=options, budget=budget, seed=model.seed, validation=held_out, known=true)


def check_inputs(method: str, given: Mapping[str, Any]) -> None:
    """Raise InputError if an input is not used by the method, or requires another input that is missing."""
    present = [name for name, value in given.items() if value is not None and not (name == "add" and not len(value))]
    for name in present:
        if method not in INPUTS[name]:
            users = ", ".join(INPUTS[name])
            about = f"{name} is used only by {users}, not by method {method}"
            raise InputError(f"{about}; leave out {name}", name, "method")
    for name, needed in (("regime", "rules"), ("add", "rules"), ("known", "validation")):
        if name in present and needed not in present:
            raise InputError(f"{name} requires {needed}; set {needed}, or leave out {name}", name, needed)


def like(part: str | Path | Facts | None, facts: Facts) -> Facts | None:
    """Read facts with the entity and relation ids of other facts, skipping facts with unknown names."""
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
    raise InputError(f"source must be a path or facts; got {type(source).__name__}", "source")
