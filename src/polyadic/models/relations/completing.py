"""What completes a fact: the best subjects, relations or objects for the two other parts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from polyadic.errors import InputError, check_int

if TYPE_CHECKING:
    from polyadic.models.relations.links import Links


class Completed(NamedTuple):
    """An entity or a relation that may complete a fact, and the score of that fact."""

    name: int | str
    score: float


def complete(
    model: Links,
    *,
    subject: int | str | None = None,
    relation: int | str | None = None,
    object: int | str | None = None,  # noqa: A002 the field's word
    k: int = 10,
    known: bool = False,
) -> list[Completed]:
    """Give the k best of what is left out of a triple, best first.

    Parameters
    ----------
    model : Links
        Such as a fitted :class:`~polyadic.models.relations.knowledge.KnowledgeTensor`.
    subject, relation, object : int or str, optional
        Two of the three, by number or name.
    k : int
    known : bool
        Whether to give what makes a fact that was learned, too.

    Raises
    ------
    InputError
        If not exactly one is left out, or one is unknown.

    Examples
    --------
    >>> from polyadic.models.relations.knowledge import KnowledgeTensor
    >>> from polyadic.text.relations.facts import facts_of
    >>> towns = {"Oslo": "Norway", "Bergen": "Norway", "Turin": "Italy", "Rome": "Italy"}
    >>> told = [(town, "in", land) for town, land in towns.items()]
    >>> told += [("Oslo", "near", "Bergen"), ("Turin", "near", "Rome")]
    >>> model = KnowledgeTensor(4, form="DistMult", seed=0).fit(facts_of(told))
    >>> [found.name for found in complete(model, relation="in", object="Norway", k=2, known=True)]
    ['Oslo', 'Bergen']
    """
    parts: list[Any] = [subject, relation, object]
    if parts.count(None) != 1:
        raise InputError("give two of subject, relation and object; the third is what is completed")
    check_int("k", k, low=1)
    hidden = parts.index(None)
    ask: Any = (model.subjects, model.relations, model.objects)[hidden]
    first, second = (object, relation) if hidden == 0 else (one for one in parts if one is not None)
    scores = ask([first], [second])[0].astype(float)
    if not known:
        scores[_learned(model, parts, hidden)] = -np.inf
    names = model.relations_ if hidden == 1 else model.entities_
    order = np.argsort(-scores, kind="stable")[:k].tolist()
    return [Completed(names[at] if names else at, float(scores[at])) for at in order if scores[at] > -np.inf]


def _learned(model: Links, parts: list[Any], hidden: int) -> Any:
    """Give what completes the facts that were learned."""
    same = np.ones(len(model.facts_), bool)
    for at, one in enumerate(parts):
        if at != hidden:
            same &= model.facts_[:, at] == model.number_of(("entity", "relation", "entity")[at], one)
    return model.facts_[same, hidden]
