"""``polyadic complete``: predict the missing cells of a table, such as ratings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from polyadic.core.errors import InputError
from polyadic.core.settings import Count, File, Help, Metavar, Natural, Out, Repeated, Share, Table
from polyadic.interface import output
from polyadic.interface.run import Saved, check_out, save
from polyadic.interface.run import train as run
from polyadic.interface.task import Task

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from polyadic.completion.named_cells import CellReading
    from polyadic.completion.table_completion import TableCompletion
    from polyadic.text.tables import TableReading

MODEL = "polyadic.completion.table_completion:TableCompletion"
TASK = Task("complete", "Predict the missing cells of a table, such as ratings.", model=MODEL)
READING = "polyadic.completion.named_cells:CellReading"  # settings for reading tables of values
Explained = Annotated[
    Literal["cells", "components"] | None,
    Help("Explain predictions by the known cells of the row (cells, the default) or by components; requires --why."),
]


def _print_training(result: dict[str, Any]) -> None:
    """Print the results of training as a table, except the connected parts of the data."""
    left_out = ("out", "choice", "parts", "largest_part")
    rows = [(output.heading(name), value) for name, value in result.items() if name not in left_out]
    output.table(["name", "value"], rows)


@TASK.verb(
    example="polyadic complete train ratings.csv --out completed --hold-out 0.1",
    settings={"model": MODEL, "reading": READING},
    show=_print_training,
    options=("columns", "time", "sep", "method", "rank", "ridge", "hold_out"),
    distributed=True,
)
def train(
    table: Table,
    model: TableCompletion,
    reading: CellReading,
    *,
    out: Out,
    columns: list[str] | None = None,
    time: str | None = None,
    force: bool = False,
) -> Saved:
    """Fit a completion model to the known cells of a table.

    Settings that are not given are selected on held-out cells. With --hold-out, a first model is selected and fitted
    without a random part of the cells, and its error on these cells is reported together with the error of a model of
    biases only (for implicit: ranking metrics, together with the metrics of recommending the most popular columns). The
    saved model is then selected and fitted again on all cells.

    Parameters
    ----------
    columns
        Names or positions (from 1) of the columns of the table that contain row names, column names and values
        (default: columns with usual names such as user, item and rating, or the first three).
    time
        Name or position of the column with timestamps; if given, --hold-out holds out the latest cells.
    """
    from polyadic.completion.named_cells import read_cells

    if time is not None and not model.hold_out:
        about = "time can be used only together with hold_out"
        raise InputError(f"{about}; set both, or leave out time", "time", "hold_out")
    if time is not None:
        model.hold_out_by = "time"

    def read() -> Any:
        return read_cells(table, reading, columns=columns, time=time)

    saved = run(model, read, out, force=force, summary=lambda fitted: fitted.facts())
    return saved.then("complete", "recommend", out, model.rows_[0])


@TASK.verb(
    example="polyadic complete predict completed new.csv",
    settings={"reading": "polyadic.text.tables:TableReading"},
    options=("columns", "interval", "unknown", "why", "by"),
)
def predict(
    model: TableCompletion,
    pairs: Table,
    reading: TableReading,
    *,
    columns: list[str] | None = None,
    interval: Share | None = None,
    why: Natural = 0,
    by: Explained = None,
    unknown: Literal["refuse", "mean"] = "refuse",
) -> dict[str, Any]:
    """Predict the values of cells, with standard deviations (methods bayesian, ordinal) and prediction intervals.

    Parameters
    ----------
    pairs
        Table with a row name and a column name on each line.
    columns
        Names or positions (from 1) of the columns of the table that contain row names and column names (default:
        columns with usual names, or the first two).
    interval
        Coverage of the prediction intervals, such as 0.9; requires a model trained with --hold-out.
    why
        Number of contributions to show for each prediction; a known cell is predicted from the other cells of the row.
    unknown
        Treatment of names not seen in training: raise an error (refuse), or predict the mean over known names (mean).
    """
    import numpy as np

    from polyadic.completion.named_cells import read_pairs

    _check_why(why, by)
    model.set_params(unknown=unknown)
    known_only = unknown == "refuse"
    lines = read_pairs(pairs, model.rows_, model.columns_, reading, fields=columns, known_only=known_only)
    cells = [line.row for line in lines], [line.column for line in lines]
    mean, std = model.predict_distribution(*cells)
    values = {"value": mean} | ({"std": std} if np.isfinite(std).any() else {})
    if interval is not None:
        values |= dict(zip(("low", "high"), model.predict_interval(*cells, level=interval), strict=True))
    found = [
        {"row": line.row, "column": line.column}
        | {name: round(float(number[at]), 6) for name, number in values.items()}
        | (_reasons(model, line.row, [line.column], why, by)[0] if why else {})
        for at, line in enumerate(lines)
    ]
    return {"predictions": found}


def _check_why(why: int, by: str | None) -> None:
    if by is not None and not why:
        raise InputError("the setting by requires why, the number of contributions to show", "by", "why")


def _reasons(model: TableCompletion, row: Any, columns: list[Any], why: int, by: Any, items: Any = None) -> list[Any]:
    """Return values, base values and contributions of predictions as records."""
    explained = model.explain(row, columns, by=by or "cells", items=items)
    return [output.reasons(each, why, "component" if by == "components" else "column") for each in explained]


def _items(model: TableCompletion, texts: list[str]) -> Iterator[tuple[str] | tuple[str, float]]:
    """Read items such as Emma and Emma=5, separated by commas unless the name of an item contains one."""
    from polyadic.text.tables import number_of

    known = {*model.columns_}
    for text in texts:
        alone = text in known or text.rpartition("=")[0] in known
        for part in map(str.strip, [text] if alone else text.split(",")):
            name, _, value = ("", "", "") if part in known else part.rpartition("=")
            if name and number_of(value) is None:
                raise InputError(f"the value of item {name!r} must be a number; got {value!r}", "items")
            yield (name, float(value)) if name else (part,)


@TASK.verb(example="polyadic complete recommend completed 'reader 1' -n 5", question=True)
def recommend(
    model: TableCompletion,
    row: str | None = None,
    *,
    top: Count = 10,
    items: Annotated[list[str] | None, Repeated(), Metavar("NAME[=VALUE],...")] = None,
    why: Natural = 0,
    by: Explained = None,
    allowed: File | None = None,
    blocked: File | None = None,
    seen: bool = False,
    out: File | None = None,
    force: bool = False,
) -> dict[str, Any]:
    """Recommend columns with the highest predicted values for a row, or write recommendations for all rows to a file.

    With --items, columns are recommended for a new row with these known cells, such as Emma=5,Dracula=2. With --why,
    each predicted value is split into a base value and the contributions of the known cells of the row (methods als and
    implicit) or, with --by components, of the components (all methods but ordinal). With --out, the catalogue coverage,
    the Gini index and the novelty in bits of all recommendations are reported.

    Parameters
    ----------
    row
        Name of the row for which to recommend columns (default: all rows, with --out).
    top
        Number of columns to recommend.
    items
        Known columns of a new row, with their values; method implicit does not require values.
    why
        Number of contributions to show for each recommended column.
    allowed
        File with the names of the columns that may be recommended, one per line (default: all columns).
    blocked
        File with the names of columns that must not be recommended, one per line.
    seen
        Also recommend columns whose values are already known for the row.
    out
        File for the recommendations of all rows: CSV, or Parquet if its name ends in .parquet.
    """
    from polyadic.core.files import read_names

    if [row, items, out].count(None) != 2:
        about = "give a row, the items of a new row,"
        raise InputError(f"{about} or set out to a file for the recommendations of all rows", "items", "out")
    _check_why(why, by)
    if out is not None and why:
        raise InputError("why requires a row name and cannot be combined with out", "why", "out")
    which: dict[str, Any] = {"allowed": None if allowed is None else read_names(allowed), "seen": seen}
    which["blocked"] = () if blocked is None else read_names(blocked)
    if out is not None:
        output.check_file(out, force=force)
        return _recommend_all(model, top, out, which)
    new = None if items is None else [*_items(model, items)]
    best = model.recommend(row, top, items=new, **which)
    found: list[dict[str, Any]] = [{"column": name, "value": round(value, 6) + 0.0} for name, value in best]  # no -0.0
    if why:
        for line, reason in zip(found, _reasons(model, row, [name for name, _ in best], why, by, new), strict=True):
            line.update(reason)
    return {"row": row, "recommended": found}


def _recommend_all(model: TableCompletion, top: int, out: Path, which: dict[str, Any]) -> dict[str, Any]:
    """Write recommendations for all rows to a file, and return their number and diversity measures."""
    import numpy as np

    from polyadic.core.progress import tracked
    from polyadic.metrics.recommendation import catalogue

    number = {name: at for at, name in enumerate(model.columns_)}
    recommended: list[int] = []

    def rows() -> Iterator[tuple[Any, ...]]:
        for name, best in tracked(model.recommend_all(top, **which), "recommending", total=len(model.rows_)):
            recommended.extend(number[column] for column, _ in best)
            yield from ((name, rank, column, value) for rank, (column, value) in enumerate(best, 1))

    output.write_table(["row", "rank", "column", "value"], rows(), out)
    known = np.bincount(model.known_.columns, minlength=len(number))
    measures = catalogue(recommended, known, len(model.rows_))._asdict()
    return {"out": str(out), "rows": len(model.rows_), "recommended": len(recommended), **measures}


@TASK.verb(example="polyadic complete similar completed Dracula", question=True)
def similar(model: TableCompletion, name: str, *, top: Count = 10, rows: bool = False) -> dict[str, Any]:
    """List the columns whose predictions correlate most with a given column.

    Parameters
    ----------
    name
        Name of the column to compare with, or of the row if --rows is given.
    top
        Number of similar columns (or rows) to list.
    rows
        Compare rows instead of columns.
    """
    alike = model.similar(name, top, of="row" if rows else "column")
    return {"name": name, "similar": [{"name": other, "correlation": round(r, 6)} for other, r in alike]}


@TASK.verb(example="polyadic complete components completed --top 5", question=True)
def components(model: TableCompletion, *, top: Count = 10, number: Count | None = None) -> dict[str, Any]:
    """List the columns with the largest loadings on each component of the predictions.

    Parameters
    ----------
    top
        Number of columns to list for each component.
    number
        Maximum number of components to list (default: the rank of the model).
    """

    def named(side: list[tuple[Any, float]]) -> list[dict[str, Any]]:
        return [{"column": name, "loading": round(loading, 6)} for name, loading in side]

    found = model.components(number, top=top)
    rows = [{"share": round(c.share, 6), "columns": named(c.columns), "against": named(c.against)} for c in found]
    return {"components": rows}


@TASK.verb(
    example="polyadic complete add completed new-ratings.csv --out completed --force",
    settings={"reading": READING},
    options=("columns", "sweeps", "sums", "refit"),
)
def add(
    model: TableCompletion,
    table: Table,
    reading: CellReading,
    *,
    out: Out,
    columns: list[str] | None = None,
    sweeps: Natural | None = None,
    sums: bool = False,
    refit: bool = False,
    force: bool = False,
) -> Saved:
    """Update a model with new rows, new columns and new values of known cells.

    The vectors of new rows and columns are computed while all others stay fixed, without refitting or selection of
    settings. The prediction error of the model on the new cells before the update is reported; if it is much larger
    than the error on held-out cells, train the model again.

    Parameters
    ----------
    table
        Table of new cells, with a row name, a column name and a value on each line.
    columns
        Names or positions (from 1) of the columns of the table that contain row names, column names and values
        (default: columns with usual names, or the first three).
    sweeps
        Number of passes over all rows and columns after the new rows and columns are fitted (default: 1; bayesian 0).
    sums
        Add new values of known cells to the old values, as for counts, instead of replacing the old values.
    refit
        Refit the model to all cells after the update, save the refitted model, and report how much the predictions
        differ.
    """
    from polyadic.completion.named_cells import read_cells

    check_out(out, force=force)
    news = read_cells(table, reading, columns=columns)
    model.update(news, sweeps=sweeps, sums=sums, refit=refit)
    saved = save(model, out, force=force, summary=lambda updated: updated.updated_)
    return saved.then("complete", "recommend", out, news.rows[0])
