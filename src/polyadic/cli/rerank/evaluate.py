"""``polyadic rerank evaluate``: what choices cost, beside the first candidates and the cheapest."""

from typing import Any

from polyadic.cli import options as o
from polyadic.cli import show
from polyadic.cli.rerank.lists import As, Lists, Model, Unknown, opened_for


def evaluate(
    model: Model,
    lists: Lists,
    *,
    unknown: Unknown = "ignore",
    form: As = "auto",
    as_json: o.AsJson = False,
) -> None:
    """Tell mean costs: of the first candidates, of those chosen, and of the cheapest.

    ``worst`` is what choices may come to where several candidates share the highest score.
    """
    from polyadic.metrics.reranking import reranking
    from polyadic.models.folder import load
    from polyadic.models.predictors.reranking import Reranker

    reranker = load(model, Reranker)
    blocks = opened_for(reranker.names_, lists, form, unknown=unknown)
    costs = reranking((groups, reranker.decision_function(groups, unknown=unknown)) for groups in blocks)
    facts: dict[str, Any] = {"lists": costs.lists, "candidates": costs.candidates, "first": costs.first}
    facts |= {"reranked": costs.reranked, "oracle": costs.oracle, "random": costs.random, "gained": costs.gained}
    facts |= {"moved": costs.moved, "tied": costs.tied, "worst": costs.worst}
    if hasattr(blocks, "ignored"):
        facts["unknown_features"] = blocks.ignored
    show.facts(facts, as_json=as_json)
