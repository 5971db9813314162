"""``polyadic table``: correspondence analysis of a table of counts, or of what is counted in a file or a corpus."""

from pathlib import Path
from typing import Annotated, Any

import typer

from polyadic.cli import options as o
from polyadic.core.errors import InputError
from polyadic.interface import output

Source = Annotated[
    Path,
    typer.Argument(metavar="SOURCE", help="A CSV, Excel or Parquet file, or a corpus folder."),
]
Rows = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Count this column of the file, or field of the documents, against --columns.",
        show_default="the file is a table of counts, names of rows in its first column",
    ),
]
Columns = Annotated[
    str | None, typer.Option(metavar="NAME", help="The other column, or field.", show_default="of a corpus: its words")
]
Counted = Annotated[
    str | None,
    typer.Option("--counts", metavar="NAME", help="A column that says how often a row counts.", show_default="once"),
]
MostWords = Annotated[
    int | None, typer.Option("--words", min=2, help="The most frequent words of a corpus to count.", show_default="500")
]
Components = Annotated[
    int | None, typer.Option(min=1, help="Number of principal axes.", show_default="5, or all if fewer")
]
Top = Annotated[int, typer.Option("--top", "-n", min=1, help="Rows and columns to show, those that make the axes.")]
Why = Annotated[
    tuple[str, str] | None,
    typer.Option(
        metavar="ROW COLUMN", help="A cell: what each axis makes of it, and which rows and columns are alike."
    ),
]
OutModel = Annotated[Path | None, typer.Option("--out", "-o", metavar="DIR", help="Keep the analysis here.")]
CsvFile = Annotated[
    Path | None, typer.Option("--csv", metavar="FILE", help="Write all rows and columns with their figures.")
]

PageFile = Annotated[
    Path | None,
    typer.Option("--page", metavar="FILE", help="Write one HTML file with all of it, to look at and to send."),
]

CROWDED, LABELLED = 50, 40
"""From more rows or columns on, a picture has labels of so many of either only."""


def table(
    ctx: typer.Context,
    source: Source,
    *,
    rows: Rows = None,
    columns: Columns = None,
    counts: Counted = None,
    words: MostWords = None,
    format_: Annotated[str, typer.Option("--format", help="csv, xlsx or parquet.", show_default="tell")] = "auto",
    encoding: o.Encoding = "utf-8",
    errors: o.BadBytes = "strict",
    n_components: Components = None,
    top: Top = 10,
    why: Why = None,
    picture: o.Picture = None,
    csv: CsvFile = None,
    page: PageFile = None,
    out: OutModel = None,
    force: o.Force = False,
    as_json: o.AsJson = False,
) -> None:
    """Show which rows and columns of a table go together, and along which axes, by correspondence analysis.

    With --why, how many times as often as the margins expect a cell was counted: once, and what every axis adds.
    """
    from polyadic.core.files import check_replaceable
    from polyadic.core.frames import records
    from polyadic.core.serialization import KIND
    from polyadic.tables.cross_table import cross_table

    output.check_picture(picture)
    output.check_file(csv, force=force)
    output.check_file(page, force=force)
    if out is not None:
        check_replaceable(out, KIND, overwrite=force)
    options: dict[str, Any] = {"rows": rows, "columns": columns, "counts": counts, "words": words}
    options |= {"format": format_, "encoding": encoding, "errors": errors}
    read = cross_table(source, **{name: options[name] for name in o.chosen(ctx) if name in options})
    model = read.analyse(n_components=n_components)
    points = list(records(model))
    cell = None if why is None else _cell(read, model, *why, top=top)
    if csv is not None:
        output.write_csv(points, csv)
    if page is not None:
        from polyadic.explore.export import table_page

        sides = (rows or "rows", columns or ("words" if rows else "columns"))
        output.write_lines([table_page(read, source.name, *sides)], page)
    if out is not None:
        model.save(out, overwrite=force)
    found = read.association()
    written = [str(path) for path in (picture, csv, page, out) if path is not None]
    if picture is not None:  # after what is worth more
        from polyadic.plots import biplot
        from polyadic.plots.files import save_figure

        save_figure(biplot(model, top=None if max(read.counts.shape) <= CROWDED else LABELLED), picture)
    if as_json:
        axes = {"inertia": model.inertia_.tolist(), "share": model.explained_inertia_ratio_.tolist()}
        shape = dict(zip(("rows", "columns"), read.counts.shape, strict=True))
        more = {} if cell is None else {"why": cell}
        output.in_json({**shape, **found, "axes": axes, "points": points, **more, "written": written})
        return
    chance = "below 0.001" if found["p"] < 0.001 else f"{found['p']:.3f}"
    sizes = {"rows": len(read.rows), "columns": len(read.columns), "observations": f"{found['observations']:.10g}"}
    facts = {**sizes, "chi-square": f"{found['chi2']:.1f}", "degrees of freedom": found["degrees"], "p": chance}
    output.facts(facts, as_json=False)
    _show_points(model, points, top)
    if cell is not None:
        _show_cell(cell)
    if written:
        typer.echo(f"\nwrote {', '.join(written)}")


def _show_points(model: Any, points: list[dict[str, Any]], top: int) -> None:
    """Print the axes, and the rows and columns that make the first two."""
    typer.echo()
    shares = model.explained_inertia_ratio_
    axes_shown = zip(model.inertia_, shares, shares.cumsum(), strict=True)
    output.table(
        ["axis", "inertia", "share", "with those before"], [(k, *map(float, a)) for k, a in enumerate(axes_shown, 1)]
    )
    for side in ("rows", "columns"):
        typer.echo()
        mine = sorted((p for p in points if p["side"] == side), key=_made, reverse=True)[:top]
        two = [axis for axis in (1, 2) if f"coordinate_{axis}" in mine[0]]
        axis = [f"{figure}_{number}" for figure in ("coordinate", "contribution") for number in two]
        shown = [
            (p["label"], p["mass"], sum(p[f"squared_cosine_{number}"] for number in two), *(p[name] for name in axis))
            for p in mine
        ]
        output.table([side, "mass", "quality of these axes", *(name.replace("_", " ") for name in axis)], shown)


def _show_cell(cell: dict[str, Any]) -> None:
    """Print what :func:`_cell` gives."""
    axes = {f"axis {each['axis']}": each["part"] for each in cell["why"]}
    counted = {name: cell[name] for name in ("row", "column", "count", "expected", "times", "base")}
    typer.echo()
    output.facts({**counted, **axes, "other axes": cell["other_axes"]}, as_json=False)
    for side, nearest in cell["alike"].items():
        typer.echo()
        output.table([f"{side} alike", "distance"], [(*each.values(),) for each in nearest])


def _cell(read: Any, model: Any, row: str, column: str, *, top: int) -> dict[str, Any]:
    """Say how often a cell was counted and expected, which axes make the difference, and what is alike."""
    reason = model.explain(row, column)
    i, j = read.rows.index(row), read.columns.index(column)
    count, n = float(read.counts[i, j]), float(read.counts.sum())
    expected = n * float(model.row_masses_[i] * model.column_masses_[j])
    if not expected:
        raise InputError(f"there is nothing to compare: {row!r} or {column!r} has no observations")
    times = count / expected
    rest = round(times - reason.value, 6) + 0.0  # which is never -0
    facts = {"row": row, "column": column, "count": count, "expected": round(expected, 6), "times": round(times, 6)}
    facts |= {**output.reasons(reason, len(reason.parts), "axis"), "other_axes": rest}
    alike = {
        side: [{"name": near, "distance": round(far, 6)} for near, far in model.nearest(name, side=side, n=top)]
        for side, name in (("rows", row), ("columns", column))
    }
    return {**facts, "alike": alike}


def _made(point: dict[str, Any]) -> float:
    """How much of the first two axes a point makes."""
    made: float = point["contribution_1"] + point.get("contribution_2", 0.0)
    return made
