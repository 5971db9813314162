"""Correspondence analysis of a metadata field against another field or against words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from polyadic.core.errors import InputError
from polyadic.core.settings import Within
from polyadic.explore.answers.common import Answer, short
from polyadic.explore.answers.parts import values_of
from polyadic.tables.cross_table import CrossTable, cross_table

if TYPE_CHECKING:
    from polyadic.explore.workspace import Workspace

MAX_VALUES = 500  # maximum number of values of a field in a table; a field with more is an identifier


def table(
    workspace: Workspace, rows: str, *, columns: str | None = None, words: Annotated[int, Within(2, 2000)] = 300
) -> Answer:
    """Return the correspondence analysis of a metadata field against another field or the most frequent words.

    Coordinates are principal, on at most five axes; contributions are shares of the inertia of an axis, and the quality
    of a point is the share of its own inertia on two axes.
    """
    for name in (rows, columns):
        if name is not None and (number := len(values_of(workspace, name))) > MAX_VALUES:
            raise InputError(f"the field {name} has {number:,} different values; at most {MAX_VALUES} are allowed")
    counted = cross_table(workspace.corpus, rows=rows, columns=columns, words=words if columns is None else None)
    return analysed(counted, rows, columns or "words")


def analysed(counted: CrossTable, rows: str, columns: str) -> Answer:
    """Return the correspondence analysis of a contingency table as a dict for JSON, with titles of rows and columns."""
    model = counted.analyse()
    sides: dict[str, list[Any]] = {}
    for side, names in (("rows", counted.rows), ("columns", counted.columns)):
        places, given = model.coordinates(side), model.contributions(side)  # type: ignore[arg-type]
        figures = {"places": places, "contributions": given, "squared_cosines": model.squared_cosines(side)}  # type: ignore[arg-type]
        masses = model.row_masses_ if side == "rows" else model.column_masses_
        sides[side] = [
            {"name": name, "mass": short(masses[at])} | {key: [*map(short, of[at])] for key, of in figures.items()}
            for at, name in enumerate(names)
            if np.isfinite(places[at]).all()
        ]
    return {
        "rows": rows,
        "columns": columns,
        "inertia": [short(each) for each in model.explained_inertia_ratio_],
        "association": {name: short(value) for name, value in counted.association().items()},
        "points": sides,
    }
