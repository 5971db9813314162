"""``polyadic rerank apply``: the candidate chosen from each list."""

from __future__ import annotations

import contextlib
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from polyadic.cli.faults import say
from polyadic.cli.rerank.lists import As, Lists, Model, Unknown, opened_for
from polyadic.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

Out = Annotated[
    Path | None, typer.Option("--out", "-o", metavar="FILE", help="The file to write.", show_default="standard output")
]
Force = Annotated[bool, typer.Option("--force", "-f", help="Replace the file if it is there.")]
Scores = Annotated[bool, typer.Option("--scores", help="Add the scores of all candidates (JSON lines).")]


def apply(
    model: Model,
    lists: Lists,
    *,
    out: Out = None,
    scores: Scores = False,
    unknown: Unknown = "ignore",
    form: As = "auto",
    force: Force = False,
) -> None:
    """Choose from lists. Of JSON lines, a line for each list; of SVMrank lines, the score of each candidate.

    Costs, if there are any, are not looked at.
    """
    from polyadic.files import whole_file
    from polyadic.models.folder import load
    from polyadic.models.predictors.reranking import Reranker

    if out is not None and (out.is_dir() or (out.exists() and not force)):
        raise InputError(f"{out} exists already; choose another name" + ("" if out.is_dir() else " or --force"))
    reranker = load(model, Reranker)
    blocks = opened_for(reranker.names_, lists, form, unknown=unknown, costs=False)
    lines = (
        _chosen(reranker, blocks, scores=scores) if hasattr(blocks, "blocks") else _scored(reranker, blocks, unknown)
    )
    with contextlib.ExitStack() as stack:
        file: Any = sys.stdout
        if out is not None:
            draft = stack.enter_context(whole_file(out))
            file = stack.enter_context(draft.open("w", encoding="utf-8"))
        file.writelines(lines)
    if getattr(blocks, "ignored", 0):
        say(f"warning: features that were not learned occurred {blocks.ignored:,} times; ignored")


def _chosen(model: Any, blocks: Any, *, scores: bool) -> Iterator[str]:
    for groups, lists in blocks.blocks():
        s = model.decision_function(groups)
        choice = groups.choice(s)
        for k, (first, candidates) in enumerate(zip(groups.starts, lists, strict=False)):
            at = int(choice[k] - first)
            facts = {"id": candidates.id, "chosen": at, "text": candidates.texts[at], "score": float(s[choice[k]])}
            if scores:
                facts["scores"] = s[first : groups.starts[k + 1]].tolist()
            yield json.dumps(facts, ensure_ascii=False) + "\n"


def _scored(model: Any, blocks: Any, unknown: Any) -> Iterator[str]:
    for groups in blocks:
        yield from (f"{score!r}\n" for score in model.decision_function(groups, unknown=unknown).tolist())
