"""Arguments of the verbs of ``polyadic relations``, and the models that they open."""

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from polyadic.errors import InputError

FactsFile = Annotated[
    Path,
    typer.Argument(
        metavar="FACTS",
        help="Lines of subject, relation and object between tabs; of subject, object and predicate for --method"
        " universal.",
    ),
]
Model = Annotated[Path, typer.Argument(metavar="MODEL", help="A folder made by `polyadic relations train`.")]
Top = Annotated[int, typer.Option("--top", "-n", min=1, help="How many to show.")]
Unknown = Annotated[
    Literal["error", "skip"],
    typer.Option(help="What to do with facts of entities or relations that were not learned: stop, or count them."),
]


def opened(folder: Path) -> Any:
    """Read a model of either kind."""
    from polyadic.models.folder import load
    from polyadic.models.relations.knowledge import KnowledgeTensor
    from polyadic.models.relations.universal import UniversalSchema

    model = load(folder, (KnowledgeTensor, UniversalSchema))
    if is_tensor(model) and (model.entities_ is None or model.relations_ is None):
        raise InputError(f"{folder} knows entities by number, not by name; ask it from Python")
    return model


def is_tensor(model: Any) -> bool:
    """Say whether a model scores triples; otherwise it is a universal schema."""
    from polyadic.models.relations.knowledge import KnowledgeTensor

    return isinstance(model, KnowledgeTensor)
