"""``polyadic complete``: a table of which some cells are known, and what the others are likely to be."""

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from polyadic.cli import options as o
from polyadic.cli import show
from polyadic.cli.faults import interrupted, say
from polyadic.core.errors import InputError

app = typer.Typer(no_args_is_help=True, help="Complete a table of which some cells are known, such as ratings.")

Table = Annotated[
    Path, typer.Argument(metavar="TABLE", help="A CSV or TSV file: the name of a row, of a column, and a value.")
]
Model = Annotated[Path, typer.Argument(metavar="MODEL", help="A folder made by `polyadic complete train`.")]
Pairs = Annotated[Path, typer.Argument(metavar="PAIRS", help="A CSV or TSV file: the names of a row and a column.")]
Row = Annotated[
    str | None,
    typer.Argument(metavar="[ROW]", help="The name of a row.", show_default="all rows, into the file of --out"),
]
Name = Annotated[str, typer.Argument(metavar="NAME", help="The name of a column, or with --rows of a row.")]
New = Annotated[
    Path, typer.Argument(metavar="TABLE", help="A CSV or TSV file of new lines: a row, a column, and a value.")
]
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
By = Annotated[
    Literal["cells", "themes"],
    typer.Option(help="What --why shows: known columns, or themes of columns, of any method."),
]
Number = Annotated[
    int | None, typer.Option(min=1, help="How many themes at most; fewer are coarser.", show_default="the rank")
]
Decimal = Annotated[
    Literal[".", ","], typer.Option(help="What stands before the decimals of a value: 3.5, or 3,5 between tabs or ;.")
]
Time = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN",
        help="Heading, or place from 1, of when a line was told: --hold-out then takes the latest.",
        show_default="any are held out",
    ),
]
Level = Annotated[
    float | None,
    typer.Option(
        "--interval",
        min=0,
        max=1,
        metavar="LEVEL",
        help="Also the ends between which a cell lies so surely, such as .9.",
    ),
]
Unknown = Annotated[
    Literal["refuse", "mean"],
    typer.Option(help="Names that the model has not: an error, or the mean over those that it has."),
]
TopFile = Annotated[
    Path | None, typer.Option("--out", "-o", metavar="FILE", help="The file for all rows: CSV, or .parquet.")
]
Allowed = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Columns that may be recommended, a name on each line; else all.")
]
Blocked = Annotated[Path | None, typer.Option(metavar="FILE", help="Columns that may not, a name on each line.")]
Seen = Annotated[bool, typer.Option("--seen", help="Also columns that are known in the row.")]
OfRows = Annotated[bool, typer.Option("--rows", help="Rows instead of columns.")]
Sweeps = Annotated[
    int | None,
    typer.Option(
        min=0,
        help="Over all rows and columns, after those that are new; 0 for these alone.",
        show_default="1; of bayesian 0",
    ),
]
Sums = Annotated[bool, typer.Option("--sum", help="Add to values that are known, as counts do, instead of replacing.")]
Refit = Annotated[bool, typer.Option("--refit", help="Fit from the start as well, keep that, and tell the distance.")]
HoldOut = Annotated[float, typer.Option(min=0, max=0.9, help="Share of the cells to hold out and predict first.")]


def train(
    table: Table,
    *,
    out: o.Out,
    method: Method = "als",
    columns: Columns = None,
    decimal: Decimal = ".",
    rank: Rank = None,
    ridge: Ridge = None,
    alpha: Alpha = None,
    choose: o.Choose = True,
    budget: o.Budget = None,
    hold_out: HoldOut = 0.0,
    time: Time = None,
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
    from polyadic.completion.named_cells import read_cells
    from polyadic.completion.table_completion import TableCompletion
    from polyadic.core.files import check_replaceable
    from polyadic.core.serialization import KIND

    if time is not None and not hold_out:
        raise InputError("--time is for --hold-out; give both, or neither")
    o.belonging(method, {"--budget": (budget, ("als", "implicit"))})
    how: dict[str, Any] = {"rank": rank, "ridge": ridge, "alpha": alpha, "hold_out": hold_out}
    how |= {"choose": choose} | ({} if budget is None else {"budget": budget})
    how |= {} if time is None else {"hold_out_by": "time"}
    model = TableCompletion(method, **how, seed=seed, threads=threads)
    model.check()
    check_replaceable(out, KIND, overwrite=force)
    model.fit(read_cells(table, fields=_fields(columns), decimal=decimal, time=time))
    model.save(out, overwrite=force)
    if model.interrupted_:
        raise interrupted(kept=[f"the best matrix so far in {out}"])
    facts = model.facts()
    if not as_json:
        show.table(["what", "value"], [(key.replace("_", " "), value) for key, value in facts.items()])
    facts |= show.chosen(model, as_json=as_json)
    show.wrote(out, facts, as_json=as_json, hint=("complete", "recommend", out, model.rows_[0]))


def add(
    model: Model,
    table: New,
    *,
    out: o.Out,
    columns: Columns = None,
    decimal: Decimal = ".",
    sweeps: Sweeps = None,
    sums: Sums = False,
    refit: Refit = False,
    force: o.Force = False,
    as_json: o.AsJson = False,
) -> None:
    """Learn new lines: new rows, new columns, other values of cells that are known.

    What is new is solved for given what is there, which takes no refitting and no choosing. How well the new cells were
    predicted before they were learnt is shown: if much worse than what was held out at first, train anew.
    """
    from polyadic.completion.named_cells import read_cells
    from polyadic.completion.table_completion import TableCompletion
    from polyadic.core.files import check_replaceable
    from polyadic.core.serialization import KIND, load

    check_replaceable(out, KIND, overwrite=force)
    completed = load(model, TableCompletion)
    news = read_cells(table, fields=_fields(columns), decimal=decimal)
    completed.update(news, sweeps=sweeps, sums=sums, refit=refit)
    show.saved(
        completed,
        out,
        completed.updated_,
        force=force,
        as_json=as_json,
        hint=("complete", "recommend", out, news.rows[0]),
    )


def predict(
    model: Model,
    pairs: Pairs,
    *,
    columns: Columns = None,
    interval: Level = None,
    unknown: Unknown = "refuse",
    as_json: o.AsJson = False,
) -> None:
    """Predict the cells that PAIRS names, each with its standard deviation where the method tells it.

    With --interval .9, also ends between which nine of ten such cells lie: they rest on the cells that training held
    out (--hold-out), and hold for any method.
    """
    import numpy as np

    from polyadic.completion.named_cells import read_lines
    from polyadic.completion.table_completion import TableCompletion
    from polyadic.core.serialization import load

    completed = load(model, TableCompletion).set_params(unknown=unknown)
    names = {"row": {*completed.rows_}, "column": {*completed.columns_}}
    lines = list(read_lines(pairs, fields=_fields(columns)))
    every = list(read_lines(pairs, fields=["1", "2"])) if columns is None else []
    if any(line.row in names["row"] or line.column in names["column"] for line in every[:1]):
        lines = every  # the first line is no heading, whatever stands behind its names
    if not lines:
        raise InputError(f"{pairs} has no lines of a row and a column")
    if len(lines) > 1 and lines[0].number == 1 and unknown == "refuse":
        row, column = lines[0].row, lines[0].column
        if not (row in names["row"] or column in names["column"]):
            say(f"{pairs}, line 1, is taken for headings: {row!r} and {column!r}", "note")
            lines = lines[1:]
    for what, known in names.items() if unknown == "refuse" else ():
        for line in lines:
            if (name := getattr(line, what)) not in known:
                raise InputError(f"{pairs}, line {line.number}: the model has no {what} {name!r}; see --unknown")
    cells = [line.row for line in lines], [line.column for line in lines]
    values = completed.predict_distribution(*cells)._asdict()
    shown = {"value": values["mean"]} | ({"std": values["std"]} if np.isfinite(values["std"]).any() else {})
    if interval is not None:
        shown |= dict(zip(("low", "high"), completed.predict_interval(*cells, level=interval), strict=True))
    rows = [
        (line.row, line.column, *(round(float(number), 6) for number in numbers))
        for line, *numbers in zip(lines, *shown.values(), strict=True)
    ]
    headings = ["row", "column", *shown]
    if as_json:
        show.in_json({"predictions": [dict(zip(headings, row, strict=True)) for row in rows]})
    else:
        show.table(headings, rows)


def recommend(
    model: Model,
    row: Row = None,
    *,
    top: Top = 10,
    why: Why = 0,
    by: By = "cells",
    allowed: Allowed = None,
    blocked: Blocked = None,
    seen: Seen = False,
    out: TopFile = None,
    force: o.Force = False,
    as_json: o.AsJson = False,
) -> None:
    """Show the columns with the largest values of ROW, without those that are known; or write those of all rows.

    With --why, also the known columns of ROW that carry each of them (als, implicit): values are sums of what every one
    of these adds, and of a base that none does; with --by themes what each theme adds. With --out and no ROW, the
    columns of every row go to a file, and how widely they are spread is shown: which share of the columns is
    recommended to anybody, how unequally (Gini), and how surprising they are (bits).
    """
    from polyadic.completion.table_completion import TableCompletion
    from polyadic.core.serialization import load

    if (row is None) == (out is None):
        raise InputError("name a ROW, or with --out the file for all rows")
    show.check_file(out, force=force)
    completed = load(model, TableCompletion)
    which: dict[str, Any] = {"allowed": None if allowed is None else o.listed(allowed), "seen": seen}
    which |= {"blocked": () if blocked is None else o.listed(blocked)}
    if out is not None:
        if why:
            raise InputError("--why is for one row; name it")
        _recommend_all(completed, top, out, which, as_json=as_json)
        return
    recommended = completed.recommend(row, top, **which)
    rows: list[dict[str, Any]] = [{"column": name, "value": round(value, 6)} for name, value in recommended]
    if why:
        reasons = completed.explain(row, [name for name, _ in recommended], by=by)
        for line, reason in zip(rows, reasons, strict=True):
            line.update(show.reasons(reason, why, "column" if by == "cells" else "theme"))
    if as_json:
        show.in_json({"row": row, "recommended": rows})
        return
    show.reasoned(["column", "value", *(["base", "why"] if why else [])], rows)


def _recommend_all(completed: Any, top: int, out: Path, which: dict[str, Any], *, as_json: bool) -> None:
    """Write the best columns of all rows, and show how widely they are spread."""
    import numpy as np

    from polyadic.core.progress import tracked
    from polyadic.metrics.recommendation import catalogue

    number = {name: at for at, name in enumerate(completed.columns_)}
    times: list[int] = []

    def rows() -> Any:
        everybody = completed.recommend_all(top, **which)
        for name, best in tracked(everybody, "recommending", total=len(completed.rows_)):
            times.extend(number[column] for column, _ in best)
            for rank, (column, value) in enumerate(best, 1):
                yield name, rank, column, value

    show.write_table(["row", "rank", "column", "value"], rows(), out)
    known = np.bincount(completed.known_.columns, minlength=len(number))
    facts = {"out": str(out), "rows": len(completed.rows_), "recommended": len(times)}
    show.facts(facts | catalogue(times, known, len(completed.rows_))._asdict(), as_json=as_json)


def themes(model: Model, *, top: Top = 10, number: Number = None, as_json: o.AsJson = False) -> None:
    """Show what goes together: themes of columns, by their share of what is predicted beside means of rows and columns.

    Of each, the columns whose predictions rise most with it, and those that fall most.
    """
    from polyadic.completion.table_completion import TableCompletion
    from polyadic.core.serialization import load

    found = load(model, TableCompletion).themes(number, top=top)
    if as_json:
        sides = ("columns", "against")
        show.in_json(
            {
                "themes": [
                    {"share": round(theme.share, 6)}
                    | {
                        side: [{"column": name, "loading": round(loading, 6)} for name, loading in getattr(theme, side)]
                        for side in sides
                    }
                    for theme in found
                ]
            }
        )
        return
    lines = [[f"{theme.share:.1%}", *(", ".join(str(n) for n, _ in side) for side in theme[1:])] for theme in found]
    show.table(["share", "columns", "against"], lines)


def similar(model: Model, name: Name, *, top: Top = 10, rows: OfRows = False, as_json: o.AsJson = False) -> None:
    """Show the columns whose predicted values go up and down with those of NAME, by their correlation over all rows."""
    from polyadic.completion.table_completion import TableCompletion
    from polyadic.core.serialization import load

    alike = load(model, TableCompletion).similar(name, top, of="row" if rows else "column")
    if as_json:
        show.in_json({"name": name, "similar": [{"name": other, "correlation": round(r, 6)} for other, r in alike]})
    else:
        show.table(["row" if rows else "column", "correlation"], alike)


def _fields(columns: str | None) -> list[str] | None:
    return None if columns is None else columns.split(",")


show.add_verbs(
    app,
    {
        train: "polyadic complete train ratings.csv --out completed --hold-out 0.1",
        predict: "polyadic complete predict completed new.csv",
        recommend: "polyadic complete recommend completed 'reader 1' -n 5",
        similar: "polyadic complete similar completed Dracula",
        themes: "polyadic complete themes completed --top 5",
        add: "polyadic complete add completed new-ratings.csv --out completed --force",
    },
    on_clusters=[train],
)
