"""``polyadic complete``: a table of which some cells are known, and what the others are likely to be."""

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from polyadic.cli import options as o
from polyadic.cli import show
from polyadic.cli.faults import interrupted
from polyadic.errors import InputError

app = typer.Typer(no_args_is_help=True, help="Complete a table of which some cells are known, such as ratings.")

Table = Annotated[
    Path, typer.Argument(metavar="TABLE", help="A CSV or TSV file: the name of a row, of a column, and a value.")
]
Model = Annotated[Path, typer.Argument(metavar="MODEL", help="A folder made by `polyadic complete train`.")]
Pairs = Annotated[Path, typer.Argument(metavar="PAIRS", help="A CSV or TSV file: the names of a row and a column.")]
Row = Annotated[str, typer.Argument(metavar="ROW", help="The name of a row.")]
Method = Annotated[
    Literal["als", "bayesian", "implicit", "trace-norm"],
    typer.Option(
        help="Factors with biases; the same with uncertainty, nothing to tune; factors of counts, where what is not "
        "listed says a little too; or the smallest trace norm."
    ),
]
Columns = Annotated[
    str | None,
    typer.Option(metavar="A,B,C", help="Headings, or places from 1, of row, column and value; else the first three."),
]
Rank = Annotated[
    int | None,
    typer.Option(
        min=0,
        help="Length of the factors (all but trace-norm); 0 for biases alone (als).",
        show_default="cells held out choose",
    ),
]
Ridge = Annotated[
    float | None,
    typer.Option(
        min=0,
        help="Penalty: of the factors, in standard deviations of the values (als); of all (implicit); of the trace "
        "norm.",
        show_default="cells held out choose",
    ),
]
Alpha = Annotated[
    float | None,
    typer.Option(min=0, help="Confidence for the mean value (implicit).", show_default="cells held out choose"),
]
Top = Annotated[int, typer.Option("--top", "-n", min=1, help="How many columns to show.")]
Why = Annotated[
    int, typer.Option(min=0, help="How many known columns of the row to show for each, by what they add to its value.")
]
HoldOut = Annotated[float, typer.Option(min=0, max=0.9, help="Share of the cells to hold out and predict first.")]


def train(
    table: Table,
    *,
    out: o.Out,
    method: Method = "als",
    columns: Columns = None,
    rank: Rank = None,
    ridge: Ridge = None,
    alpha: Alpha = None,
    choose: o.Choose = True,
    budget: o.Budget = None,
    hold_out: HoldOut = 0.0,
    seed: o.Seed = 0,
    threads: o.Threads = None,
    force: o.Force = False,
    as_json: o.AsJson = False,
) -> None:
    """Learn to complete a table.

    Settings that are not given are chosen: cells held out tell which predict best. With --hold-out, the error on other
    cells held out is shown beside that of biases alone (for implicit: how many columns held out are among the first
    20, beside those of the most frequent), then all cells are learnt from.
    """
    from polyadic.files import check_replaceable
    from polyadic.models.completion.table_completion import TableCompletion, read_cells
    from polyadic.models.folder import KIND

    o.belonging(method, {"--budget": (budget, ("als", "implicit"))})
    how: dict[str, Any] = {"rank": rank, "ridge": ridge, "alpha": alpha, "hold_out": hold_out}
    how |= {"choose": choose} | ({} if budget is None else {"budget": budget})
    model = TableCompletion(method, **how, seed=seed, threads=threads)
    model.check()
    check_replaceable(out, KIND, overwrite=force)
    model.fit(read_cells(table, fields=_fields(columns)))
    model.save(out, overwrite=force)
    if model.interrupted_:
        raise interrupted(kept=[f"the best matrix so far in {out}"])
    facts = model.facts()
    if not as_json:
        show.table(["", "value"], [(key.replace("_", " "), value) for key, value in facts.items()])
    facts |= show.chosen(model, as_json=as_json)
    show.wrote(out, facts, as_json=as_json, hint=("complete", "recommend", out, model.rows_[0]))


def predict(model: Model, pairs: Pairs, *, columns: Columns = None, as_json: o.AsJson = False) -> None:
    """Predict the cells that PAIRS names, each with its standard deviation where the method tells it."""
    import numpy as np

    from polyadic.models.completion.table_completion import TableCompletion, read_lines
    from polyadic.models.folder import load

    completed = load(model, TableCompletion)
    names = {"row": {*completed.rows_}, "column": {*completed.columns_}}
    lines = list(read_lines(pairs, fields=_fields(columns)))
    every = list(read_lines(pairs, fields=["1", "2"])) if columns is None else []
    if any(line.row in names["row"] or line.column in names["column"] for line in every[:1]):
        lines = every  # the first line is no heading, whatever stands behind its names
    if not lines:
        raise InputError(f"{pairs} has no lines of a row and a column")
    for what, known in names.items():
        for line in lines:
            if (name := getattr(line, what)) not in known:
                raise InputError(f"{pairs}, line {line.number}: the model has no {what} {name!r}")
    values = completed.predict_distribution([line.row for line in lines], [line.column for line in lines])
    shown = ["value", "std"] if np.isfinite(values.std).all() else ["value"]
    rows = [
        (line.row, line.column, *(round(float(number), 6) for number in numbers))
        for line, *numbers in zip(lines, *values[: len(shown)], strict=True)
    ]
    headings = ["row", "column", *shown]
    if as_json:
        show.in_json({"predictions": [dict(zip(headings, row, strict=True)) for row in rows]})
    else:
        show.table(headings, rows)


def recommend(model: Model, row: Row, *, top: Top = 10, why: Why = 0, as_json: o.AsJson = False) -> None:
    """Show the columns with the largest values of ROW, without those that are known.

    With --why, also the known columns of ROW that carry each of them (als, implicit): values are sums of what every one
    of these adds, and of a base that none does.
    """
    from polyadic.models.completion.table_completion import TableCompletion
    from polyadic.models.folder import load

    completed = load(model, TableCompletion)
    recommended = completed.recommend(row, top)
    rows: list[dict[str, Any]] = [{"column": name, "value": round(value, 6)} for name, value in recommended]
    if why:
        reasons = completed.explain(row, [name for name, _ in recommended])
        for line, reason in zip(rows, reasons, strict=True):
            line.update(show.reasons(reason, why, ["column"]))
    if as_json:
        show.in_json({"row": row, "recommended": rows})
        return
    show.reasoned(["column", "value", *(["base", "why"] if why else [])], rows)


def _fields(columns: str | None) -> list[str] | None:
    return None if columns is None else columns.split(",")


show.add_verbs(
    app,
    {
        train: "polyadic complete train ratings.csv --out model --hold-out 0.1",
        predict: "polyadic complete predict model pairs.csv",
        recommend: "polyadic complete recommend model alice -n 5",
    },
)
