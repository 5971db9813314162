"""``polyadic complete``: a table of which some cells are known, and what the others are likely to be."""

from collections.abc import Callable
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
        min=0, help="Length of the factors (all but trace-norm); 0 for biases alone (als).", show_default="10"
    ),
]
Ridge = Annotated[
    float | None,
    typer.Option(
        min=0,
        help="Penalty: of a row for each known cell, in standard deviations of the values (als); of all (implicit); of "
        "the trace norm.",
        show_default="0.12; implicit 0.1; trace-norm that which predicts cells held out best",
    ),
]
Alpha = Annotated[
    float | None, typer.Option(min=0, help="Confidence for each unit of a value (implicit).", show_default="1")
]
Top = Annotated[int, typer.Option("--top", "-n", min=1, help="How many columns to show.")]
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
    hold_out: HoldOut = 0.0,
    seed: o.Seed = 0,
    threads: o.Threads = None,
    force: o.Force = False,
    as_json: o.AsJson = False,
) -> None:
    """Learn to complete a table.

    With --hold-out, the error on cells held out is shown beside that of biases alone (for implicit: how many columns
    held out are among the first 20, beside those of the most frequent), then all cells are learnt from.
    """
    from polyadic.files import check_replaceable
    from polyadic.models.completion.choosing import split
    from polyadic.models.completion.completed import KIND, NamedCompletion, completed
    from polyadic.models.completion.tables import parts_of, read_cells

    with_rank, with_ridge = ("als", "bayesian", "implicit"), ("als", "implicit", "trace-norm")
    asked = {"--rank": (rank, with_rank), "--ridge": (ridge, with_ridge), "--alpha": (alpha, ("implicit",))}
    o.belonging(method, asked)
    check_replaceable(out, KIND, overwrite=force)
    found = read_cells(table, fields=None if columns is None else columns.split(","))
    cells = found.cells
    if not found.valued and method != "implicit":
        raise InputError(f"{table} has no values; use --method implicit, which learns from what is listed")
    how = {
        "method": method,
        "rank": 10 if rank is None else rank,
        "ridge": ridge,
        "alpha": 1.0 if alpha is None else alpha,
        "seed": seed,
        "threads": threads,
    }
    facts: dict[str, Any] = {"method": method, "rows": cells.shape[0], "columns": cells.shape[1]}
    facts |= {"cells": len(cells.values), "share_known": len(cells.values) / (cells.shape[0] * cells.shape[1])}
    parts = parts_of(cells)
    facts |= {"parts": len(parts), "largest_part": list(parts[0])}
    if hold_out:
        facts |= {"held_out": hold_out, **_judged(*split(cells, hold_out, seed=seed), how)}
    model = _model(cells, how).fit(cells)
    NamedCompletion(completed(model), cells, found.rows, found.columns, facts).save(out, overwrite=force)
    if model.interrupted_:
        raise interrupted(kept=[f"the matrix of the last sweep in {out}"])
    if not as_json:
        show.table(["", "value"], [(key.replace("_", " "), value) for key, value in facts.items()])
    _tell_of_parts(parts)
    show.wrote(out, facts, as_json=as_json, hint=f"polyadic complete recommend {out} {found.rows[0]}")


def predict(model: Model, pairs: Pairs, *, columns: Columns = None, as_json: o.AsJson = False) -> None:
    """Predict the cells that PAIRS names, each with its standard deviation where the method tells it."""
    import numpy as np

    from polyadic.models.completion.completed import NamedCompletion
    from polyadic.models.completion.tables import read_lines

    opened = NamedCompletion.load(model)
    lines = list(read_lines(pairs, fields=None if columns is None else columns.split(",")))
    every = list(read_lines(pairs, fields=["1", "2"])) if columns is None else []
    if any(line.row in opened.rows or line.column in opened.columns for line in every[:1]):
        lines = every  # the first line is no heading, whatever stands behind its names
    if not lines:
        raise InputError(f"{pairs} has no lines of a row and a column")
    sides: list[list[int]] = []
    for what, names in (("row", opened.rows), ("column", opened.columns)):
        at = {name: number for number, name in enumerate(names)}
        for line in lines:
            if (name := getattr(line, what)) not in at:
                raise InputError(f"{pairs}, line {line.number}: the model has no {what} {name!r}")
        sides.append([at[getattr(line, what)] for line in lines])
    found = opened.matrix.predict(*map(np.array, sides))
    known = np.isfinite(found.std).all()
    rows = [
        (line.row, line.column, round(mean, 6), *([round(std, 6)] if known else []))
        for line, mean, std in zip(lines, found.mean.tolist(), found.std.tolist(), strict=True)
    ]
    headings = ["row", "column", "value", *(["std"] if known else [])]
    if as_json:
        show.in_json({"predictions": [dict(zip(headings, row, strict=True)) for row in rows]})
    else:
        show.table(headings, rows)


def recommend(model: Model, row: Row, *, top: Top = 10, as_json: o.AsJson = False) -> None:
    """Show the columns with the largest values of ROW, without those that are known."""
    import numpy as np

    from polyadic.models.completion.completed import NamedCompletion

    opened = NamedCompletion.load(model)
    if row not in opened.rows:
        raise InputError(f"the model has no row {row!r}; it has {len(opened.rows):,}, such as {opened.rows[0]!r}")
    i, everywhere = opened.rows.index(row), np.arange(len(opened.columns))
    values = opened.matrix.predict(np.full(len(everywhere), i), everywhere).mean
    values[opened.known.columns[opened.known.rows == i]] = -np.inf
    best = [j for j in np.argsort(-values, kind="stable")[:top].tolist() if np.isfinite(values[j])]
    rows = [(opened.columns[j], round(float(values[j]), 6)) for j in best]
    if as_json:
        show.in_json({"row": row, "recommended": [{"column": name, "value": value} for name, value in rows]})
    else:
        show.table(["column", "value"], rows)


def _model(cells: Any, how: dict[str, Any]) -> Any:
    """Make the model that was asked for, not fitted."""
    from polyadic.models.completion.bayesian import BayesianMatrixFactorization
    from polyadic.models.completion.factorization import MatrixFactorization
    from polyadic.models.completion.implicit import ImplicitFactorization
    from polyadic.models.completion.penalties import choose_penalty
    from polyadic.models.completion.trace_norm import TraceNormCompletion

    rank, ridge, threads = how["rank"], how["ridge"], how["threads"]
    shared = {"seed": how["seed"], "threads": threads}
    if how["method"] == "bayesian":
        return BayesianMatrixFactorization(rank, **shared)
    if how["method"] == "implicit":
        return ImplicitFactorization(rank, alpha=how["alpha"], ridge=0.1 if ridge is None else ridge, **shared)
    if how["method"] == "trace-norm":
        model = TraceNormCompletion(offsets="biases", threads=threads)
        return model.set_params(penalty=choose_penalty(model, cells).best if ridge is None else ridge)
    size = float(cells.values.std()) or 1.0
    return MatrixFactorization(rank, ridge=(0.12 if ridge is None else ridge) * size, bias_ridge=0.03, **shared)


def _judged(train: Any, held: Any, how: dict[str, Any]) -> dict[str, float]:
    """Fit to a part of the cells and say how well the others are predicted, beside the plainest way."""
    from polyadic.models.completion.choosing import rmse
    from polyadic.models.completion.factorization import MatrixFactorization

    model = _model(train, how).fit(train)
    if model.interrupted_:
        raise KeyboardInterrupt  # a fit that Ctrl-C ended early cannot be judged
    if how["method"] == "implicit":
        return _recalled(model, train, held)
    plain = MatrixFactorization(0, bias_ridge=0.03, threads=how["threads"]).fit(train)
    return {"rmse": rmse(model, held), "rmse_of_biases": rmse(plain, held)}


def _recalled(model: Any, train: Any, held: Any) -> dict[str, float]:
    import numpy as np

    from polyadic.metrics.recommendation import recommendation
    from polyadic.models.completion.ranking import best_columns

    train, held = train.at(train.values > 0), held.at(held.values > 0)  # zeros are as what is not listed
    counts = np.bincount(train.columns, minlength=train.shape[1])[:, None].astype(float)
    ways = {
        "": model.recommend(np.arange(train.shape[0]), 20, without=train),
        "_of_most_frequent": best_columns(np.ones((train.shape[0], 1)), counts, 20, without=train),
    }
    found: dict[str, float] = {}
    for name, named in ways.items():
        judged = recommendation(named.columns, held.rows, held.columns)
        found |= {f"{what}_at_20{name}": float(np.nanmean(getattr(judged, what))) for what in ("recall", "ndcg")}
    return found


def _tell_of_parts(parts: list[tuple[int, int]]) -> None:
    import warnings

    if len(parts) > 1:
        rows, columns = (sum(part[side] for part in parts[1:]) for side in (0, 1))
        warnings.warn(
            f"the table falls into {len(parts):,} parts without a common row or column, the largest of {parts[0][0]:,}"
            f" rows and {parts[0][1]:,} columns, the others of {rows:,} and {columns:,} together; predictions between"
            " parts rest on the biases only",
            stacklevel=2,
        )


EXAMPLES: dict[Callable[..., None], str] = {
    train: "polyadic complete train ratings.csv --out model --hold-out 0.1",
    predict: "polyadic complete predict model pairs.csv",
    recommend: "polyadic complete recommend model alice -n 5",
}

for verb, example in EXAMPLES.items():
    app.command(epilog=f"Example:\n\n{example}")(verb)
