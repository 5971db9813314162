"""``polyadic database``: tables that share entities, explained together."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from polyadic.cli import options as o
from polyadic.core.errors import InputError
from polyadic.interface import output
from polyadic.interface.command_line import add_verbs
from polyadic.interface.errors import interrupted

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
NewCells = Annotated[
    list[str],
    typer.Argument(
        metavar="RELATION=TABLE...", help="A relation and a table of its new cells, headed as its first was."
    ),
]
Sweeps = Annotated[
    int, typer.Option(min=0, help="Over all entities, after those that are new; draws need as many as training has.")
]
Refit = Annotated[bool, typer.Option("--refit", help="Fit from the start as well, keep that, and tell the distance.")]
Why = Annotated[
    int, typer.Option(min=0, help="How many known cells of the entity of --by to show, by what they add to the value.")
]
By = Annotated[
    str | None,
    typer.Option(metavar="TYPE", help="Whose cells --why shows.", show_default="the first type of the relation"),
]
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
    from polyadic.completion.coupled.bayesian import BayesianFactorization
    from polyadic.completion.coupled.collective import CollectiveFactorization
    from polyadic.completion.coupled.database_file import read_database
    from polyadic.completion.coupled.variational import VariationalFactorization
    from polyadic.core.files import check_replaceable
    from polyadic.core.serialization import KIND

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
        output.table(["entities", "number"], [*tables.sizes.items()])
        output.table(["relation", "cells"], [*facts["cells"].items()])
    if hold_out is not None:
        facts["held_out"] = _compared(tables, hold_out, make, seed)
        if not as_json:
            output.table(["held out", *facts["held_out"]["all_tables"]], _rows(facts["held_out"]))
    model = make().fit(tables)
    facts["unobserved"] = {entity: int(mask.sum()) for entity, mask in model.unobserved_.items()}
    model.save(out, overwrite=force)
    for entity, number in facts["unobserved"].items():
        if number and not as_json:
            typer.echo(f"{number:,} of type {entity} are in no table: what is said of them is what is expected of any")
    output.wrote(out, facts, as_json=as_json, hint=("database", "similar", out, next(iter(tables.sizes)), "NAME"))
    if model.interrupted_:
        raise interrupted(kept=[f"what was reached, in {out}"])


def add(
    model: Model,
    cells: NewCells,
    *,
    out: o.Out,
    sweeps: Sweeps = 0,
    refit: Refit = False,
    force: o.Force = False,
    as_json: o.AsJson = False,
) -> None:
    """Learn new cells: new entities first, given all that was learned, which stays as it is unless --sweeps moves it.

    A film of which only genres are known can be predicted for every user, and rated ones are as good as after training
    anew. Cells that are known are replaced.
    """
    from polyadic.core.files import check_replaceable
    from polyadic.core.serialization import KIND

    check_replaceable(out, KIND, overwrite=force)
    learned, tables = _opened(model), {}
    for given in cells:
        name, _, table = given.partition("=")
        if not table or name in tables:
            raise InputError(f"give each relation once, as RELATION=TABLE; got {given!r}")
        tables[name] = Path(table)
    learned.update(
        {name: _columns(learned, name, table, cells=True) for name, table in tables.items()}, sweeps=sweeps, refit=refit
    )
    facts = learned.updated_
    if not as_json:
        named = {name: value for name, value in facts.items() if isinstance(value, dict)}
        facts = facts | {name: ", ".join(f"{of} {n:,.4g}" for of, n in value.items()) for name, value in named.items()}
    hint = ("database", "predict", out, *next(iter(tables.items())), "--why", 3)
    output.saved(learned, out, facts, force=force, as_json=as_json, hint=hint)


def predict(
    model: Model, relation: Relation, cells: Table, *, why: Why = 0, by: By = None, as_json: o.AsJson = False
) -> None:
    """Predict the cells of RELATION that CELLS names, with standard deviations unless they are point estimates.

    With --why, also the known cells, of any table, that carry each of them: the value of the explanation is the sum of
    what every one of these adds, and of a base that none does; of truth values it is in log-odds.
    """
    import numpy as np

    if by is not None and not why:
        raise InputError("--by is for --why, such as --why 3; give both, or neither")
    learned = _opened(model)
    asked = _columns(learned, relation, cells)
    predicted = learned.predict_distribution(relation, asked)
    certain = np.isnan(predicted.std).all()
    headings = [*asked, "prediction", *([] if certain else ["std"])]
    rows = [
        dict(zip(headings, (*names, round(mean, 6), round(std, 6)), strict=False))
        for *names, mean, std in zip(*asked.values(), predicted.mean.tolist(), predicted.std.tolist(), strict=True)
    ]
    for row, cell in zip(rows, zip(*asked.values(), strict=True), strict=True) if why else ():
        row.update(_reasons(learned.explain(relation, cell, by=by), why))
    if as_json:
        output.in_json({"predictions": rows})
    else:
        output.reasoned([*headings, *(["value", "base", "why"] if why else [])], rows)


def _reasons(explanation: Any, most: int) -> dict[str, Any]:
    """Name parts by relation and, in one field, the other entities."""
    named = [((relation, ", ".join(map(str, others))), part) for (relation, *others), part in explanation.parts[:most]]
    return output.reasons(explanation._replace(parts=named), most, ("relation", "entities"))


def similar(model: Model, entity: Entity, name: Name, *, top: o.Top = 10, as_json: o.AsJson = False) -> None:
    """Show the entities of TYPE whose factors are most like those of NAME."""
    learned = _opened(model)
    asked: Any = _whole(entity, [name])[0] if _numbered(learned, entity) else name
    nearest = learned.most_similar(entity, asked, n=top)
    if as_json:
        output.in_json(
            {"type": entity, "name": name, "similar": [{"name": n, "cosine": round(c, 6)} for n, c in nearest]}
        )
    else:
        output.table([entity, "cosine"], nearest)


def _compared(tables: Any, asked: str, make: Callable[[], Any], seed: int) -> dict[str, Any]:
    """Fit all tables and one alone, both without some of its cells."""
    from polyadic.completion.coupled.database_model import hold_out, score

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
    from polyadic.completion.coupled.database_model import DatabaseModel
    from polyadic.core.serialization import load

    return load(folder, DatabaseModel)


def _columns(learned: Any, relation: str, path: Path, *, cells: bool = False) -> dict[str, Any]:
    """Read entities of a relation, and with ``cells`` values and weights; numbers where entities are named by them."""
    from polyadic.completion.coupled.database_file import read_columns

    table = learned.database_.relation(relation)
    columns = [str(column) for column in table.columns or table.entities]
    if len(set(columns)) < len(columns):
        raise InputError(f"{relation}: entities share a type, and no columns were named when the model was fitted")
    numbers = [column for column in (table.value, table.weight_by) if cells and column is not None]
    given: dict[str, Any] = read_columns(path, [*columns, *numbers], numbers=numbers)
    for column, entity in zip(columns, table.entities, strict=True):
        if _numbered(learned, entity):
            given[column] = _whole(entity, given[column])
    return given


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


add_verbs(
    app,
    {
        train: "polyadic database train library.toml --out library --hold-out ratings=0.1",
        predict: "polyadic database predict library ratings new.csv --why 3",
        add: "polyadic database add library ratings=new-ratings.csv --out library --force",
        similar: "polyadic database similar library novel Dracula",
    },
)
