"""``polyadic table``: correspondence analysis of a contingency table, a file of records, or a corpus."""

from __future__ import annotations

from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from polyadic.core.errors import InputError
from polyadic.core.settings import Count, File, Folder, Metavar, Picture, Within
from polyadic.interface import output
from polyadic.interface.run import check_out
from polyadic.interface.task import Task

if TYPE_CHECKING:
    from polyadic.tables.correspondence import CorrespondenceAnalysis, PrincipalAxes
    from polyadic.tables.cross_table import CrossTable
    from polyadic.text.tables import TableReading

TASK = Task("table", "Show which rows and columns of a table go together, by correspondence analysis.")
CROWDED, LABELLED = 50, 40
"""From more rows or columns on, a picture has labels of so many of either only."""
Name = Annotated[str, Metavar("NAME")]


class Analysed(dict[str, Any]):
    """Result of correspondence analysis, with the number of rows and columns to print."""

    top, several = 10, False


def _print_analysis(result: Analysed) -> None:
    """Print the independence test, the axes, the coordinates, an explained cell, and the names of written files."""
    names = ("observations", "variables", "categories") if result.several else ("rows", "columns", "observations")
    sizes = {name: f"{result[name]:.10g}" for name in names}
    if not result.several:
        p = "below 0.001" if result["p"] < 0.001 else f"{result['p']:.3f}"
        sizes |= {"chi-square": f"{result['chi2']:.1f}", "degrees of freedom": result["degrees"], "p": p}
    output.facts(sizes)
    _print_points(result)
    if "why" in result:
        _print_cell(result["why"])
    if result["written"]:
        typer.echo(f"\nwrote {', '.join(result['written'])}")


@TASK.verb(
    example="polyadic table eyes.csv --picture eyes.png",
    settings={"reading": "polyadic.text.tables:TableReading"},
    options=("rows", "columns", "variables", "top", "why", "picture", "csv", "page", "out"),
    show=_print_analysis,
)
def table(
    source: Annotated[str, Metavar("SOURCE")],
    reading: TableReading,
    *,
    rows: Name | None = None,
    columns: Name | None = None,
    variables: Annotated[list[str], Metavar("NAMES")] | None = None,
    correction: Literal["none", "benzecri", "greenacre"] | None = None,
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
    variables
        Two or more columns of the file, or fields of the documents, separated by commas, for multiple correspondence
        analysis of their categories. Records with an empty cell are left out, with a warning.
    correction
        Correction of the inertias of multiple correspondence analysis: none, benzecri or greenacre (default: none).
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
    from polyadic.core.frames import records
    from polyadic.tables.cross_table import cross_table

    output.check_picture(picture)
    output.check_file(csv, force=force)
    output.check_file(page, force=force)
    if out is not None:
        check_out(out, force=force)
    if variables is None:
        if correction is not None:
            raise InputError("correction requires variables", "correction", "variables")
        read = cross_table(source, rows=rows, columns=columns, counts=counts, words=words, reading=reading)
        model: PrincipalAxes = read.analyse(n_components=n_components)
        sizes, about = read.counts.shape, read.association()
    else:
        idle = {"rows": rows, "columns": columns, "counts": counts, "words": words, "why": why, "page": page}
        if given := [name for name, value in idle.items() if value is not None]:
            raise InputError(f"{given[0]} and variables are mutually exclusive; leave one out", given[0], "variables")
        model = _multiple(source, variables, correction or "none", n_components, reading)
        sizes = tuple(len(model.points(side).masses) for side in ("rows", "columns"))
        about = {"observations": sizes[0], "chi2": None, "degrees": None, "p": None}
        about |= {"variables": len(variables), "categories": sizes[1]}
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

        crowded = max(sizes if variables is None else sizes[1:]) > CROWDED
        save_figure(biplot(model, top=LABELLED if crowded else None), picture)
    axes = {"inertia": model.inertia_.tolist(), "share": model.explained_inertia_ratio_.tolist()}
    shape = {"rows": sizes[0], "columns": sizes[1]}
    written = [str(path) for path in (picture, csv, page, out) if path is not None]
    found = Analysed({**shape, **about, "axes": axes, "points": points, **cell, "written": written})
    found.top, found.several = top, variables is not None
    return found


def _multiple(
    source: str, names: list[str], correction: Any, n_components: int | None, reading: TableReading
) -> PrincipalAxes:
    """Fit multiple correspondence analysis to columns of a file or document fields, without incomplete records."""
    import numpy as np

    from polyadic.tables.checks import warn
    from polyadic.tables.cross_table import AXES
    from polyadic.tables.multiple import MultipleCorrespondenceAnalysis
    from polyadic.text.corpus import Corpus
    from polyadic.text.tables import open_table, text_of

    if len(set(names)) < max(len(names), 2):
        raise InputError(f"variables must be at least two different names; got {', '.join(names)}", "variables")
    of_corpus = (Path(source) / "meta.json").is_file()
    data: Any = [dict(each) for each in Corpus.open(source).fields or ()] if of_corpus else source
    table = open_table(data, reading, columns=names)
    places = [table.place(name, "variables") for name in names]
    texts = [[text_of(cells[at]) if at < len(cells) else "" for at in places] for _, cells in table]
    kept = {str(number): row for number, row in enumerate(texts, 1) if all(row)}
    if len(kept) < len(texts):
        gaps = {name: sum(not row[at] for row in texts) for at, name in enumerate(names)}
        shown = ", ".join(f"{name} {gap:,}" for name, gap in gaps.items() if gap)
        lost = f"{len(texts) - len(kept):,} of {len(texts):,} ({shown})"
        warn([f"records with an empty cell, which are left out: {lost}"])
    if len(kept) < 2:
        raise InputError(f"{source} must have at least two records with a value in each of the variables", "variables")
    values = np.array([*kept.values()], object)
    axes = sum(len({*column}) - 1 for column in values.T)
    model = MultipleCorrespondenceAnalysis(n_components or max(min(AXES, axes, len(values) - 1), 1), seed=0)
    return model.set_params(correction=correction).fit_categories(values, tuple(names), tuple(kept))


def _print_points(result: Analysed) -> None:
    """Print the principal axes, and the rows and columns that contribute most to the first two axes."""
    typer.echo()
    inertia, shares = result["axes"]["inertia"], result["axes"]["share"]
    axes = zip(range(1, len(shares) + 1), inertia, shares, accumulate(shares), strict=True)
    output.table(["axis", "inertia", "share", "cumulative share"], [*axes])
    titles = {"rows": "observations", "columns": "categories"} if result.several else {}
    for side in ("rows", "columns"):
        typer.echo()
        mine = [p for p in result["points"] if p["side"] == side]
        mine.sort(key=lambda p: p["contribution_1"] + p.get("contribution_2", 0.0), reverse=True)
        two = [axis for axis in (1, 2) if f"coordinate_{axis}" in mine[0]]
        axis = [f"{figure}_{number}" for figure in ("coordinate", "contribution") for number in two]
        shown = [
            (p["label"], p["mass"], sum(p[f"squared_cosine_{number}"] for number in two), *(p[name] for name in axis))
            for p in mine[: result.top]
        ]
        output.table([titles.get(side, side), "mass", "quality", *(name.replace("_", " ") for name in axis)], shown)


def _print_cell(cell: dict[str, Any]) -> None:
    """Print the observed and expected count of a cell, the axis contributions, and similar rows and columns."""
    axes = {f"axis {each['axis']}": each["part"] for each in cell["why"]}
    counted = {name: cell[name] for name in ("row", "column", "count", "expected")}
    typer.echo()
    output.facts({**counted, "ratio": cell["times"], "base": cell["base"], **axes, "other axes": cell["other_axes"]})
    for side, nearest in cell["alike"].items():
        typer.echo()
        output.table([f"nearest {side}", "distance"], [(*each.values(),) for each in nearest])


def _cell(read: CrossTable, model: CorrespondenceAnalysis, row: str, column: str, *, top: int) -> dict[str, Any]:
    """Explain a cell by its observed and expected count, axis contributions, and similar rows and columns."""
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
