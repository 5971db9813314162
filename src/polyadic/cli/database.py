"""``polyadic database``: tables that share entities, explained together."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from polyadic.cli import options as o
from polyadic.cli import show
from polyadic.cli.faults import interrupted
from polyadic.errors import InputError

app = typer.Typer(no_args_is_help=True, help="Explain several tables that share users, items, words, ... together.")

Declaration = Annotated[
    Path,
    typer.Argument(
        metavar="DATABASE", help="A TOML file with [relations.NAME] for each table: table, entities, value, loss, ..."
    ),
]
Model = Annotated[Path, typer.Argument(metavar="MODEL", help="A folder made by `polyadic database train`.")]
Relation = Annotated[str, typer.Argument(metavar="RELATION", help="The name of a relation.")]
Table = Annotated[Path, typer.Argument(metavar="CELLS", help="A table with the columns of the relation.")]
Entity = Annotated[str, typer.Argument(metavar="TYPE", help="A type of entity, such as user.")]
Name = Annotated[str, typer.Argument(metavar="NAME", help="One of them.")]
Method = Annotated[
    Literal["als", "gibbs", "variational"],
    typer.Option(help="Point estimates; draws from all that explain the tables; or one normal distribution of them."),
]
Ridge = Annotated[float | None, typer.Option(min=0, help="Penalty of factors (als).", show_default="1")]
Draws = Annotated[int | None, typer.Option(min=1, help="Draws after the first 20 (gibbs).", show_default="80")]
HoldOut = Annotated[
    str | None,
    typer.Option(metavar="RELATION=SHARE", help="Hold cells out first; compare all tables with that relation alone."),
]


def train(
    database: Declaration,
    *,
    out: o.Out,
    method: Method = "gibbs",
    rank: o.Rank = 10,
    ridge: Ridge = None,
    draws: Draws = None,
    hold_out: HoldOut = None,
    seed: o.Seed = 0,
    threads: o.Threads = None,
    force: o.Force = False,
    as_json: o.AsJson = False,
) -> None:
    """Learn from all tables at once.

    With --hold-out ratings=0.1 a tenth of the cells of that relation is told from the others first, by all tables and
    by that relation alone; then all cells are learnt from.
    """
    from polyadic.files import check_replaceable
    from polyadic.models.folder import KIND
    from polyadic.models.relations.bayesian import BayesianFactorization
    from polyadic.models.relations.collective import CollectiveFactorization
    from polyadic.models.relations.database_file import read_database
    from polyadic.models.relations.variational import VariationalFactorization

    o.belonging(method, {"--ridge": (ridge, ("als",)), "--draws": (draws, ("gibbs",))})
    check_replaceable(out, KIND, overwrite=force)
    tables = read_database(database)
    given = {"ridge": ridge, "draws": draws, "seed": seed, "threads": threads}
    how: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    models: dict[str, Callable[..., Any]] = {
        "als": CollectiveFactorization,
        "gibbs": BayesianFactorization,
        "variational": VariationalFactorization,
    }
    make = partial(models[method], rank, **how)
    facts: dict[str, Any] = {"method": method, "rank": rank, "entities": tables.sizes}
    facts["cells"] = {name: len(tables.cells(name)) for name in tables.relations}
    if not as_json:
        show.table(["entities", "number"], [*tables.sizes.items()])
        show.table(["relation", "cells"], [*facts["cells"].items()])
    if hold_out is not None:
        facts["held_out"] = _compared(tables, hold_out, make, seed)
        if not as_json:
            show.table(["held out", *facts["held_out"]["all_tables"]], _rows(facts["held_out"]))
    model = make().fit(tables)
    facts["unobserved"] = {entity: int(mask.sum()) for entity, mask in model.unobserved_.items()}
    model.save(out, overwrite=force)
    for entity, number in facts["unobserved"].items():
        if number and not as_json:
            typer.echo(f"{number:,} of type {entity} are in no table: what is said of them is what is expected of any")
    show.wrote(out, facts, as_json=as_json, hint=("database", "similar", out, next(iter(tables.sizes)), "NAME"))
    if model.interrupted_:
        raise interrupted(kept=[f"what was reached, in {out}"])


def predict(model: Model, relation: Relation, cells: Table, *, as_json: o.AsJson = False) -> None:
    """Predict the cells of RELATION that CELLS names, with standard deviations unless they are point estimates."""
    import numpy as np

    from polyadic.models.relations.database_file import read_columns

    learned = _opened(model)
    table = learned.database_.relation(relation)
    columns = [str(column) for column in table.columns or table.entities]
    if len(set(columns)) < len(columns):
        raise InputError(f"{relation}: entities share a type, and no columns were named when the model was fitted")
    asked = read_columns(cells, columns, numbers=[])
    predicted = learned.predict_distribution(relation, _typed(learned, table, asked))
    certain = np.isnan(predicted.std).all()
    rows = [
        (*names, round(mean, 6), *([] if certain else [round(std, 6)]))
        for *names, mean, std in zip(*asked.values(), predicted.mean.tolist(), predicted.std.tolist(), strict=True)
    ]
    headings = [*columns, "prediction", *([] if certain else ["std"])]
    if as_json:
        show.in_json({"predictions": [dict(zip(headings, row, strict=True)) for row in rows]})
    else:
        show.table(headings, rows)


def similar(model: Model, entity: Entity, name: Name, *, top: o.Top = 10, as_json: o.AsJson = False) -> None:
    """Show the entities of TYPE whose factors are most like those of NAME."""
    learned = _opened(model)
    asked: Any = _whole(entity, [name])[0] if _numbered(learned, entity) else name
    nearest = learned.most_similar(entity, asked, n=top)
    if as_json:
        show.in_json(
            {"type": entity, "name": name, "similar": [{"name": n, "cosine": round(c, 6)} for n, c in nearest]}
        )
    else:
        show.table([entity, "cosine"], nearest)


def _compared(tables: Any, asked: str, make: Callable[[], Any], seed: int) -> dict[str, Any]:
    """Fit all tables and one alone, both without some of its cells."""
    from polyadic.models.relations.database_model import hold_out, score

    name, _, share = asked.rpartition("=")
    try:
        split = hold_out(tables, name, share=float(share), seed=seed)
    except ValueError as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"--hold-out is RELATION=SHARE, such as {next(iter(tables.relations))}=0.1") from None
    facts: dict[str, Any] = {"relation": name, "cells": len(split.values)}
    for name, part in (("all_tables", split.database), ("alone", split.alone())):
        model = make().fit(part)
        if model.interrupted_:
            raise KeyboardInterrupt  # a fit that Ctrl-C ended early cannot be judged
        facts[name] = score(model, split)
    return facts


def _rows(facts: dict[str, Any]) -> list[tuple[Any, ...]]:
    return [("all tables", *facts["all_tables"].values()), (f"{facts['relation']} alone", *facts["alone"].values())]


def _opened(folder: Path) -> Any:
    from polyadic.models.folder import load
    from polyadic.models.relations.database_model import DatabaseModel

    return load(folder, DatabaseModel)


def _typed(learned: Any, table: Any, asked: dict[str, list[Any]]) -> dict[str, Any]:
    """Make numbers of the names of types that are named by numbers."""
    columns = zip(table.columns or table.entities, table.entities, asked.values(), strict=True)
    return {column: _whole(entity, names) if _numbered(learned, entity) else names for column, entity, names in columns}


def _numbered(learned: Any, entity: str) -> bool:
    """Say whether entities of a type are named by whole numbers."""
    if entity not in learned.database_.names:
        return False  # and refused by what asks for it
    known = learned.database_.names[entity]
    return known is None or known.dtype.kind != "U"


def _whole(entity: str, names: list[str]) -> list[int]:
    if wrong := [name for name in names if not name.removeprefix("-").isdecimal()]:
        raise InputError(f"{entity}s are named by whole numbers; got {wrong[0]!r}")
    return [int(name) for name in names]


show.add_verbs(
    app,
    {
        train: "polyadic database train films.toml --out films --hold-out ratings=0.1",
        predict: "polyadic database predict films ratings wanted.csv",
        similar: "polyadic database similar films film 'Fargo (1996)'",
    },
)
