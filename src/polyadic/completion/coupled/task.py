"""``polyadic database``: collective factorization of tables that share entities."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from polyadic.core.errors import InputError
from polyadic.core.settings import Count, File, Metavar, Natural, Out
from polyadic.interface import output
from polyadic.interface.run import Saved, check_out, save
from polyadic.interface.run import train as run
from polyadic.interface.task import Task

if TYPE_CHECKING:
    from collections.abc import Callable

    from polyadic.completion.coupled.database import Database
    from polyadic.completion.coupled.database_model import DatabaseModel
    from polyadic.text.tables import TableReading

COUPLED = "polyadic.completion.coupled"
METHODS = "variational:VariationalFactorization", "bayesian:BayesianFactorization", "collective:CollectiveFactorization"
SETTINGS = tuple(f"{COUPLED}.{method}" for method in METHODS)  # classes whose settings training takes
MODEL = f"{COUPLED}.database_model:DatabaseModel"
TASK = Task("database", "Factorize several tables that share entities, such as users, films and words.", model=MODEL)


def _print_training(result: dict[str, Any]) -> None:
    """Print the number of entities and cells, and the errors on held-out cells."""
    output.table(["entity type", "entities"], [*result["entities"].items()])
    output.table(["relation", "cells"], [*result["cells"].items()])
    if held_out := result.get("held_out"):
        scores = {"all tables": held_out["all_tables"], f"{held_out['relation']} alone": held_out["alone"]}
        rows = [(name, *measures.values()) for name, measures in scores.items()]
        output.table(["held-out error", *map(output.heading, held_out["all_tables"])], rows)


@TASK.verb(
    example="polyadic database train library.toml --out library --hold-out ratings=0.1",
    settings={"given": SETTINGS},
    options=("method", "rank", "ridge", "draws", "hold_out"),
    show=_print_training,
)
def train(
    database: Annotated[Path, Metavar("DATABASE")],
    given: dict[str, Any],
    *,
    out: Out,
    method: Literal["als", "gibbs", "variational"] = "gibbs",
    hold_out: Annotated[str | None, Metavar("RELATION=SHARE")] = None,
    force: bool = False,
) -> Saved:
    """Fit a collective matrix factorization to all tables of a database.

    The method als computes point estimates; gibbs draws samples from the posterior distribution; variational
    approximates the posterior by a normal distribution. With --hold-out ratings=0.1, the error on a tenth of the cells
    of the relation ratings is reported for a model of all tables and for a model of that relation only; the saved model
    is then fitted to all cells.

    Parameters
    ----------
    database
        TOML file with a section [relations.NAME] for each table; its keys are described in the guide to coupled tables.
    method
        Inference method: point estimates (als), Gibbs sampling (gibbs), or variational inference (variational).
    hold_out
        Relation and fraction of its cells to hold out for evaluation, such as ratings=0.1.
    ridge
        Ridge penalty on the factors of all entity types (method als).
    draws
        Number of posterior samples drawn after burn-in (method gibbs).
    """
    from polyadic.completion.coupled.bayesian import BayesianFactorization
    from polyadic.completion.coupled.collective import CollectiveFactorization
    from polyadic.completion.coupled.database_file import read_database
    from polyadic.completion.coupled.variational import VariationalFactorization
    from polyadic.core.methods import Method, refuse_unused

    methods = {"als": Method(CollectiveFactorization), "gibbs": Method(BayesianFactorization)}
    methods["variational"] = Method(VariationalFactorization)
    refuse_unused(methods, method, given)
    figures: dict[str, Any] = {"method": method}

    def make() -> DatabaseModel:
        return methods[method].make(given)

    def fit(tables: Database) -> DatabaseModel:
        figures.update(rank=make().rank, entities=tables.sizes)
        figures["cells"] = {name: len(tables.cells(name)) for name in tables.relations}
        if hold_out is not None:
            figures["held_out"] = _compared(tables, hold_out, make, given["seed"])
        return make().fit(tables)

    def summary(model: DatabaseModel) -> dict[str, Any]:
        return figures | {"unobserved": {entity: int(mask.sum()) for entity, mask in model.unobserved_.items()}}

    saved = run(make(), lambda: read_database(database), out, force=force, fit=fit, summary=summary)
    unseen = [(entity, number) for entity, number in saved["unobserved"].items() if number]
    saved.notes = [f"entities of type {e} without observations, predicted by the prior: {n:,}" for e, n in unseen]
    return saved.then("database", "similar", out, next(iter(saved["entities"])), "NAME")


def _compared(tables: Database, hold_out: str, make: Callable[[], Any], seed: int) -> dict[str, Any]:
    """Compare the held-out errors of a model of all tables and a model of one table alone."""
    from polyadic.completion.coupled import database_model

    name, _, share = hold_out.rpartition("=")
    try:
        fraction = float(share)
    except ValueError:
        form = f"RELATION=SHARE, for example {next(iter(tables.relations))}=0.1"
        raise InputError(f"hold_out must have the form {form}", "hold_out") from None
    split = database_model.hold_out(tables, name, share=fraction, seed=seed)
    result: dict[str, Any] = {"relation": name, "cells": len(split.values)}
    for key, part in (("all_tables", split.database), ("alone", split.database.only(name))):
        model = make().fit(part)
        if model.interrupted_:
            raise KeyboardInterrupt  # a fit that Ctrl-C ended early cannot be evaluated
        result[key] = database_model.score(model, split)
    return result


class Predictions(dict[str, Any]):
    """Predictions for cells of a relation, and the loss function of the relation."""

    loss = ""


def _print_predictions(result: Predictions) -> None:
    """Print predictions and, if contributions are on another scale, the sum of the contributions."""
    rows = [dict(row) for row in result["predictions"]]
    if result.loss in ("squared", "huber"):
        for row in rows:
            row.pop("value", None)
    value = "log-odds" if result.loss == "logistic" else "value"
    output.reasoned([value if name == "value" else name for name in rows[0]], rows)


@TASK.verb(
    example="polyadic database predict library ratings new.csv --why 3",
    settings={"reading": "polyadic.text.tables:TableReading"},
    show=_print_predictions,
)
def predict(
    model: DatabaseModel,
    relation: str,
    cells: File,
    reading: TableReading,
    *,
    why: Natural = 0,
    by: Annotated[str | None, Metavar("TYPE")] = None,
) -> Predictions:
    """Predict cells of a relation, with standard deviations for the methods gibbs and variational.

    With --why, each prediction (the log-odds if values are true or false) is split into a base value and the
    contributions of the known cells of one of its entities, in any table.

    Parameters
    ----------
    relation
        Name of the relation to predict.
    cells
        Table of the cells to predict, with the entity columns of the relation.
    why
        Number of contributions to show for each predicted cell.
    by
        Entity type whose known cells are listed by --why as the explanation of a prediction (default: the first type of
        the relation).
    """
    import numpy as np

    if by is not None and not why:
        raise InputError("by can be used only together with why; set both, or leave out by", "by", "why")
    asked = _columns(model, relation, cells, reading)
    predicted = model.predict_distribution(relation, asked)
    headings = [*asked, "prediction", *([] if np.isnan(predicted.std).all() else ["std"])]
    rows: list[dict[str, Any]] = [
        dict(zip(headings, (*names, round(mean, 6), round(std, 6)), strict=False))
        for *names, mean, std in zip(*asked.values(), predicted.mean.tolist(), predicted.std.tolist(), strict=True)
    ]
    for row, cell in zip(rows, zip(*asked.values(), strict=True), strict=True) if why else ():
        explanation = model.explain(relation, cell, by=by)
        parts = [((name, ", ".join(map(str, others))), part) for (name, *others), part in explanation.parts[:why]]
        row.update(output.reasons(explanation._replace(parts=parts), why, ("relation", "entities")))
    result = Predictions(predictions=rows)
    result.loss = model.database_.relation(relation).loss
    return result


def _print_update(result: dict[str, Any]) -> None:
    """Print a table with the numbers of new cells and new entities."""

    def line(value: Any) -> Any:
        return ", ".join(f"{key} {n:,.4g}" for key, n in value.items()) if isinstance(value, dict) else value

    rows = [(name.replace("_", " "), line(value)) for name, value in result.items() if name != "out"]
    output.table(["name", "value"], rows)


@TASK.verb(
    example="polyadic database add library ratings=new-ratings.csv --out library --force",
    settings={"reading": "polyadic.text.tables:TableReading"},
    show=_print_update,
)
def add(
    model: DatabaseModel,
    cells: Annotated[list[str], Metavar("RELATION=TABLE")],
    reading: TableReading,
    *,
    out: Out,
    sweeps: Natural = 0,
    refit: bool = False,
    force: bool = False,
) -> Saved:
    """Update a model with new cells, solving for new entities and replacing the values of known cells.

    A new entity can be predicted from its cells in any table: for example, a film with known genres for every user. For
    rated films, predictions are as accurate as after training again.

    Parameters
    ----------
    cells
        Name of a relation and table of its new cells, with the same columns as in training.
    sweeps
        Number of passes over all entities after the new entities are fitted; the method gibbs requires the same number
        as in training.
    refit
        Refit the model to all cells after the update, save the refitted model, and report how much the predictions
        differ.
    """
    check_out(out, force=force)
    tables: dict[str, Path] = {}
    for text in cells:
        name, _, table = text.partition("=")
        if not table or name in tables:
            raise InputError(f"each relation must be given once, in the form RELATION=TABLE; got {text!r}")
        tables[name] = Path(table)
    news = {name: _columns(model, name, table, reading, values=True) for name, table in tables.items()}
    model.update(news, sweeps=sweeps, refit=refit)
    saved = save(model, out, force=force, summary=lambda updated: updated.updated_)
    return saved.then("database", "predict", out, *next(iter(tables.items())), "--why", 3)


@TASK.verb(example="polyadic database similar library novel Dracula", question=True)
def similar(
    model: DatabaseModel, entity: Annotated[str, Metavar("TYPE")], name: str, *, top: Count = 10
) -> dict[str, Any]:
    """List the entities of a type that are most similar to a given entity, by the cosine of their factors.

    Parameters
    ----------
    entity
        Entity type, such as user.
    name
        Name of the entity to compare with.
    top
        Number of similar entities to list.
    """
    asked: Any = _whole(entity, [name])[0] if _is_numbered(model, entity) else name
    nearest = model.most_similar(entity, asked, n=top)
    return {"type": entity, "name": name, "similar": [{"name": n, "cosine": round(c, 6)} for n, c in nearest]}


def _columns(
    model: DatabaseModel, relation: str, path: Path, reading: TableReading, *, values: bool = False
) -> dict[str, Any]:
    """Read the entity columns of a relation from a table file, and optionally the values and weights."""
    from polyadic.completion.coupled.database_file import read_columns

    table = model.database_.relation(relation)
    columns = [str(column) for column in table.columns or table.entities]
    if len(set(columns)) < len(columns):
        about = f"relation {relation} must have column names, because two of its entities"
        raise InputError(f"{about} have the same type; train the model again with column names")
    numbers: list[Any] = [column for column in (table.value, table.weight_by) if values and column is not None]
    given: dict[str, Any] = read_columns(path, [*columns, *numbers], reading, numbers=numbers)
    for column, entity in zip(columns, table.entities, strict=True):
        if _is_numbered(model, entity):
            given[column] = _whole(entity, given[column])
    return given


def _is_numbered(model: DatabaseModel, entity: str) -> bool:
    """Return whether the entities of a type are identified by whole numbers; False for unknown types."""
    names = model.database_.names
    return entity in names and ((known := names[entity]) is None or known.dtype.kind != "U")


def _whole(entity: str, names: list[str]) -> list[int]:
    """Convert entity names to integers, or raise InputError."""
    if wrong := [name for name in names if not name.removeprefix("-").isdecimal()]:
        raise InputError(f"names of entities of type {entity} must be whole numbers; got {wrong[0]!r}")
    return [int(name) for name in names]
