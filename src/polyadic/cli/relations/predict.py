"""``polyadic relations predict`` and ``similar``: what completes a fact, how likely it is, what is like a predicate."""

from pathlib import Path
from typing import Annotated, Any

import typer

from polyadic.cli import options as o
from polyadic.cli import show
from polyadic.cli.relations.arguments import Model, Top, Unknown, is_tensor, opened
from polyadic.errors import InputError

Facts = Annotated[
    Path | None, typer.Argument(metavar="[FACTS]", help="Facts to score, in the form that the model was made from.")
]
Subject = Annotated[str | None, typer.Option(metavar="NAME", help="Of a fact to complete.")]
Relation = Annotated[str | None, typer.Option(metavar="NAME", help="Of a fact to complete; or a predicate.")]
Object = Annotated[str | None, typer.Option("--object", metavar="NAME", help="Of a fact to complete.")]
Known = Annotated[bool, typer.Option("--known", help="Name what makes a fact that was learned, too.")]
Unseen = Annotated[
    Path | None,
    typer.Option(metavar="FACTS", help="New pairs of entities, with what is said of them (universal)."),
]
Predicate = Annotated[str, typer.Argument(metavar="PREDICATE", help="One that was learned.")]


def predict(
    model: Model,
    facts: Facts = None,
    *,
    subject: Subject = None,
    relation: Relation = None,
    object_: Object = None,
    unseen: Unseen = None,
    known: Known = False,
    unknown: Unknown = "error",
    top: Top = 10,
    as_json: o.AsJson = False,
) -> None:
    """Complete a fact, score those of a file, or tell what holds of new pairs.

    Give two of --subject, --relation and --object; for a universal schema --relation alone, which names the likeliest
    pairs, or --subject and --object, which name the likeliest predicates.
    """
    asked = [name for name in (subject, relation, object_) if name is not None]
    _check_request(asked, facts, unseen, known=known, skip=unknown == "skip")
    learned = opened(model)
    skipped = 0
    if is_tensor(learned):
        if unseen is not None:
            raise InputError("--unseen is for a universal schema; a tensor knows nothing of new entities")
        if facts is not None:
            headings, rows, skipped = _scored(learned, facts, unknown)
        else:
            headings, rows = _completed(learned, (subject, relation, object_), top, known=known)
    elif facts is not None:
        headings, rows, skipped = _probable(learned, facts, unknown)
    elif unseen is not None:
        headings, rows = _unseen(learned, unseen, top)
    else:
        headings, rows = _likeliest(learned, (subject, relation, object_), top, known=known)
    if as_json:
        more = {"skipped": skipped} if facts is not None else {}
        show.in_json({"predictions": [dict(zip(headings, row, strict=True)) for row in rows], **more})
    else:
        show.table(headings, rows)
        if skipped:
            typer.echo(f"skipped {skipped:,} facts of what was not learned", err=True)


def similar(model: Model, predicate: Predicate, *, top: Top = 10, as_json: o.AsJson = False) -> None:
    """Show the predicates of a universal schema whose vectors are most like that of PREDICATE."""
    learned = opened(model)
    if is_tensor(learned):
        raise InputError("similar predicates are those of a universal schema; this is a tensor model")
    nearest = learned.most_similar(predicate, n=top)
    if as_json:
        show.in_json({"predicate": predicate, "similar": [{"name": n, "cosine": round(c, 6)} for n, c in nearest]})
    else:
        show.table([predicate, "cosine"], nearest)


def _check_request(asked: list[str], facts: Path | None, unseen: Path | None, *, known: bool, skip: bool) -> None:
    if (facts is not None) + (unseen is not None) + bool(asked) != 1:
        raise InputError("give a file of facts, or parts of one to complete, or --unseen; one of the three")
    if known and not asked:
        raise InputError("--known is for a fact to complete; leave it out")
    if skip and facts is None:
        raise InputError("--unknown is for a file of facts; leave it out")


def _completed(
    model: Any, parts: tuple[str | None, ...], top: int, *, known: bool
) -> tuple[list[str], list[tuple[Any, ...]]]:
    from polyadic.models.relations.knowledge import complete

    names = dict(zip(("subject", "relation", "object"), parts, strict=True))
    hidden = next((what for what, name in names.items() if name is None), "")
    best = complete(model, **names, k=top, known=known)
    return [hidden, "score"], [(name, round(score, 4)) for name, score in best]


def _scored(model: Any, path: Path, unknown: Any) -> tuple[list[str], list[tuple[Any, ...]], int]:
    from polyadic.text.relations.facts import read_facts

    facts = read_facts(path, entities=model.entities_, relations=model.relations_, unknown=unknown)
    s, r, o_ = facts.triples.T
    scores = model.predict(s, r, o_).round(4).tolist()
    rows = [
        (facts.entities[i], facts.relations[k], facts.entities[j], score)
        for (i, k, j), score in zip(facts.triples.tolist(), scores, strict=True)
    ]
    return ["subject", "relation", "object", "score"], rows, facts.skipped


def _probable(model: Any, path: Path, unknown: Any) -> tuple[list[str], list[tuple[Any, ...]], int]:
    from polyadic.text.relations.schema import read_schema

    known, names = set(model.schema_.pairs), set(model.schema_.predicates)
    facts = list(read_schema(path).triples())
    here = [fact for fact in facts if fact[:2] in known and fact[2] in names] if unknown == "skip" else facts
    likely = model.predict([(s, t) for s, t, _ in here], [p for *_, p in here]).round(4).tolist()
    rows = [(*fact, probability) for fact, probability in zip(here, likely, strict=True)]
    return ["subject", "object", "predicate", "probability"], rows, len(facts) - len(here)


def _unseen(model: Any, path: Path, top: int) -> tuple[list[str], list[tuple[Any, ...]]]:
    from polyadic.text.relations.schema import read_schema

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
