"""``polyadic rerank train``: perceptron, MIRA and T-MIRA from lists of candidates."""

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from polyadic.cli import options as o
from polyadic.cli import show
from polyadic.cli.rerank.lists import As, Lists, opened

Method = Annotated[
    Literal["perceptron", "mira", "tensor-mira"],
    typer.Option("--model", help="A weight for each feature (perceptron, mira), or weights as a tensor of low rank."),
]
Validation = Annotated[Path | None, typer.Option(metavar="LISTS", help="Keep the epoch that costs least on these.")]
MIRAS, TENSOR = ("mira", "tensor-mira"), ("tensor-mira",)
Rank = Annotated[int | None, typer.Option(min=1, help="Components of the tensor.", show_default="2")]
Order = Annotated[int | None, typer.Option(min=1, max=8, help="Modes of the tensor.", show_default="2")]
C = Annotated[float | None, typer.Option("--C", min=0, help="Bound of a step.", show_default="0.1")]
Best = Annotated[int | None, typer.Option(min=1, help="Candidates a step is solved for (mira).", show_default="1")]
Where = Annotated[
    Literal["guided", "sequential", "random", "hashed"] | None,
    typer.Option("--mapping", help="Where features stand in the tensor.", show_default="guided"),
]
Updates = Annotated[
    Literal["random", "rotated", "fixed", "joint"] | None,
    typer.Option(help="Which vectors of the tensor step first, or all at once.", show_default="random"),
]
Epochs = Annotated[int | None, typer.Option(min=1, help="Passes over the lists.", show_default="10")]
Last = Annotated[bool | None, typer.Option("--last", help="Keep the last weights, not their mean.")]
MinCount = Annotated[int, typer.Option(min=1, help="Lists in which a feature must occur (JSON lines).")]


def train(
    lists: Lists,
    *,
    out: o.Out,
    model: Method = "tensor-mira",
    rank: Rank = None,
    order: Order = None,
    c: C = None,
    best: Best = None,
    mapping: Where = None,
    updates: Updates = None,
    epochs: Epochs = None,
    last: Last = None,
    validation: Validation = None,
    min_count: MinCount = 1,
    form: As = "auto",
    seed: o.Seed = 0,
    force: o.Force = False,
    as_json: o.AsJson = False,
) -> None:
    """Learn to choose from lists; of those in the file, one block is held at a time."""
    o.belonging(
        model,
        {
            "--rank": (rank, TENSOR),
            "--order": (order, TENSOR),
            "--C": (c, MIRAS),
            "--best": (best, ("mira",)),
            "--mapping": (mapping, TENSOR),
            "--updates": (updates, TENSOR),
        },
        flag="--model",
    )
    chosen = {"rank": rank, "order": order, "C": c, "best": best, "mapping": mapping, "updates": updates}
    chosen |= {"max_iter": epochs, "averaged": False if last else None}
    given = {name: value for name, value in chosen.items() if value is not None}
    fitted, facts = _fitted(lists, out, model, given, validation, min_count, form, seed=seed, force=force)
    facts = {"model": model, **facts}
    show.saved(fitted, out, facts, force=force, as_json=as_json, hint=f"polyadic rerank evaluate {out} LISTS")


def _fitted(
    path: Path,
    out: Path,
    method: str,
    options: dict[str, Any],
    validation: Path | None,
    min_count: int,
    form: Any,
    *,
    seed: int,
    force: bool,
) -> tuple[Any, dict[str, Any]]:
    from polyadic.cli.rerank.lists import opened_for
    from polyadic.files import check_replaceable
    from polyadic.models.folder import KIND
    from polyadic.models.predictors.linear_rerankers import MIRA, RankingPerceptron
    from polyadic.models.predictors.tensor_mira import TensorMIRA

    check_replaceable(out, KIND, overwrite=force)
    model: Any = {"perceptron": RankingPerceptron, "mira": MIRA, "tensor-mira": TensorMIRA}[method](
        seed=seed, **options
    )
    lists = opened(path, form, {"min_count": min_count})
    names = getattr(lists, "names", None)
    held_out = None if validation is None else opened_for(names, validation, form, unknown="ignore")
    model.fit(lists, validation=held_out)
    facts: dict[str, Any] = {"features": len(model.weights_), "parameters": len(model.weights_)}
    if method == "tensor-mira":
        facts["parameters"] = sum(w.size for w in model.factors_)
    facts |= {"epochs": model.n_iter_, "seconds": round(model.result_.seconds[-1], 2), "cost": model.history_[-1]}
    if held_out is not None:
        facts |= {"validation_cost": min(model.result_.measured), "best_epoch": model.result_.best}
    return model, facts
