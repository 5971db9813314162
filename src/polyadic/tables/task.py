"""``polyadic table``: correspondence analysis of a contingency table, a file of records, or a corpus."""

from __future__ import annotations

from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from polyadic.core.errors import InputError
from polyadic.core.settings import Count, File, Folder, Metavar, Picture, Within
from polyadic.interface.task import Task

if TYPE_CHECKING:
    from polyadic.tables.correspondence import CorrespondenceAnalysis
    from polyadic.tables.cross_table import CrossTable
    from polyadic.text.tables import TableReading

TASK = Task("table", "Show which rows and columns of a table go together, by correspondence analysis.")
CROWDED, LABELLED = 50, 40
"""From more rows or columns on, a picture has labels of so many of either only."""
Name = Annotated[str, Metavar("NAME")]


class Analysed(dict[str, Any]):
    """Result of correspondence analysis, with the number of rows and columns to print."""

    top = 10


def _print_analysis(result: Analysed) -> None:
    """Print the independence test, the axes, the coordinates, an explained cell, and the names of written files."""
    import typer

    from polyadic.interface import output

    sizes = {"rows": result["rows"], "columns": result["columns"], "observations": f"{result['observations']:.10g}"}
    p = "below 0.001" if result["p"] < 0.001 else f"{result['p']:.3f}"
    test = {"chi-square": f"{result['chi2']:.1f}", "degrees of freedom": result["degrees"], "p": p}
    output.facts(sizes | test)
    _print_points(result)
    if "why" in result:
        _print_cell(result["why"])
    if result["written"]:
        typer.echo(f"\nwrote {', '.join(result['written'])}")


@TASK.verb(
    example="polyadic table eyes.csv --picture eyes.png",
    settings={"reading": "polyadic.text.tables:TableReading"},
    options=("rows", "columns", "top", "why", "picture", "csv", "page", "out"),
    show=_print_analysis,
)
def table(
    source: Annotated[str, Metavar("SOURCE")],
    reading: TableReading,
    *,
    rows: Name | None = None,
    columns: Name | None = None,
    counts: Name | None = None,
    words: Annotated[int, Within(2)] | None = None,
    n_components: Count | None = None,
    top: Count = 10,
    why: Annotated[tuple[str, str], Metavar("ROW COLUMN")] | None = None,
    picture: Picture = None,
    csv: File | None = None,
    page: File | None = None,
    out: Folder | None = None,
    force: bool = False,
) -> Analysed:
    """Show the associations between the rows and columns of a table by correspondence analysis.

    With --why, the ratio of the observed to the expected count of a cell is split into 1 and the contributions of the
    axes.

    Parameters
    ----------
    source
        Table file (text with any separator, also compressed, Excel, Parquet or JSON lines), or corpus folder.
    rows
        Column of the file, or field of the documents, whose values become the rows of the table of counts (default: the
        file is a table of counts with row labels in its first column).
    columns
        Column of the file, or field of the documents, whose values become the columns of the table of counts (default:
        the words of a corpus).
    counts
        Column of the file that contains the count of each record (default: 1 for each).
    words
        Number of most frequent words of a corpus to count (default: 500).
    n_components
        Number of principal axes (default: 5, or all if there are fewer).
    top
        Number of rows and columns to print, starting with the largest contributions to the first two axes.
    why
        Row and column of the cell to explain; the most similar rows and columns are also printed.
    csv
        CSV file to write, with the coordinates and statistics of all rows and columns.
    page
        HTML file to write, with an interactive page of the analysis.
    out
        Folder to save the analysis to.
    """
    from polyadic.core.files import check_replaceable
    from polyadic.core.frames import records
    from polyadic.core.serialization import KIND
    from polyadic.interface import output
    from polyadic.tables.cross_table import cross_table

    output.check_picture(picture)
    output.check_file(csv, force=force)
    output.check_file(page, force=force)
    if out is not None:
        check_replaceable(out, KIND, overwrite=force)
    read = cross_table(source, rows=rows, columns=columns, counts=counts, words=words, reading=reading)
    model = read.analyse(n_components=n_components)
    points = list(records(model))
    cell = {} if why is None else {"why": _cell(read, model, *why, top=top)}
    if csv is not None:
        output.write_csv(points, csv)
    if page is not None:
        from polyadic.explore.export import table_page

        sides = (rows or "rows", columns or ("words" if rows else "columns"))
        output.write_lines([table_page(read, Path(source).name, *sides)], page)
    if out is not None:
        model.save(out, overwrite=force)
    if picture is not None:  # last, so that the other files are there if drawing fails
        from polyadic.plots import biplot
        from polyadic.plots.axes import save_figure

        save_figure(biplot(model, top=None if max(read.counts.shape) <= CROWDED else LABELLED), picture)
    axes = {"inertia": model.inertia_.tolist(), "share": model.explained_inertia_ratio_.tolist()}
    shape = {"rows": len(read.rows), "columns": len(read.columns)}
    written = [str(path) for path in (picture, csv, page, out) if path is not None]
    found = Analysed({**shape, **read.association(), "axes": axes, "points": points, **cell, "written": written})
    found.top = top
    return found


def _print_points(result: Analysed) -> None:
    """Print the principal axes, and the rows and columns that contribute most to the first two axes."""
    import typer

    from polyadic.interface import output

    typer.echo()
    inertia, shares = result["axes"]["inertia"], result["axes"]["share"]
    axes = zip(range(1, len(shares) + 1), inertia, shares, accumulate(shares), strict=True)
    output.table(["axis", "inertia", "share", "cumulative share"], [*axes])
    for side in ("rows", "columns"):
        typer.echo()
        mine = sorted((p for p in result["points"] if p["side"] == side), key=_contribution, reverse=True)
        two = [axis for axis in (1, 2) if f"coordinate_{axis}" in mine[0]]
        axis = [f"{figure}_{number}" for figure in ("coordinate", "contribution") for number in two]
        shown = [
            (p["label"], p["mass"], sum(p[f"squared_cosine_{number}"] for number in two), *(p[name] for name in axis))
            for p in mine[: result.top]
        ]
        output.table([side, "mass", "quality", *(name.replace("_", " ") for name in axis)], shown)


def _print_cell(cell: dict[str, Any]) -> None:
    """Print the observed and expected count of a cell, the axis contributions, and similar rows and columns."""
    import typer

    from polyadic.interface import output

    axes = {f"axis {each['axis']}": each["part"] for each in cell["why"]}
    counted = {name: cell[name] for name in ("row", "column", "count", "expected")}
    typer.echo()
    output.facts({**counted, "ratio": cell["times"], "base": cell["base"], **axes, "other axes": cell["other_axes"]})
    for side, nearest in cell["alike"].items():
        typer.echo()
        output.table([f"nearest {side}", "distance"], [(*each.values(),) for each in nearest])


def _cell(read: CrossTable, model: CorrespondenceAnalysis, row: str, column: str, *, top: int) -> dict[str, Any]:
    """Explain a cell by its observed and expected count, axis contributions, and similar rows and columns."""
    from polyadic.interface import output

    reason = model.explain(row, column)
    i, j = read.rows.index(row), read.columns.index(column)
    count, n = float(read.counts[i, j]), float(read.counts.sum())
    expected = n * float(model.row_masses_[i] * model.column_masses_[j])
    if not expected:
        raise InputError(f"the cell cannot be explained, because {row!r} or {column!r} has no observations")
    times = count / expected
    rest = round(times - reason.value, 6) + 0.0  # which is never -0
    facts = {"row": row, "column": column, "count": count, "expected": round(expected, 6), "times": round(times, 6)}
    facts |= {**output.reasons(reason, len(reason.parts), "axis"), "other_axes": rest}
    sides: tuple[tuple[Literal["rows", "columns"], str], ...] = (("rows", row), ("columns", column))
    alike = {
        side: [{"name": near, "distance": round(far, 6)} for near, far in model.nearest(name, side=side, n=top)]
        for side, name in sides
    }
    return {**facts, "alike": alike}


def _contribution(point: dict[str, Any]) -> float:
    """Return the contribution of a row or column to the inertia of the first two axes."""
    made: float = point["contribution_1"] + point.get("contribution_2", 0.0)
    return made
