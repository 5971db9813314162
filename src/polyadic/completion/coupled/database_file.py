"""A database declared in a TOML file that lies beside its tables."""

from __future__ import annotations

import math
import re
import tomllib
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polyadic.completion.coupled.database import Database, Relation
from polyadic.core.errors import InputError
from polyadic.text.fields import Fields, read_fields

if TYPE_CHECKING:
    import os

MARKS = "\t", ";", "|", ","
"""What may stand between fields; the first of them that the first line has."""
LINE = 4000
"""Characters of a line; the time that a name with many dots takes grows much faster than it does."""


def read_database(path: str | os.PathLike[str]) -> Database:
    """Read a declaration and the tables that it names.

    .. code-block:: toml

        [relations.ratings]
        table = "ratings.csv"           # from where this file lies
        entities = ["user", "film"]     # the type along each mode
        columns = ["user_id", "film"]   # headings, or places from 1 of a table without headings; else the types
        value = "stars"                 # and any other field of Relation

        [entities]
        film = "films.txt"              # optional: all names of a type, one a line

    Raises
    ------
    InputError
        If a file cannot be read, an option is unknown, or tables contradict one another.
    """
    file = Path(path)
    try:
        text = file.read_text(encoding="utf-8")
        if long := next((at for at, line in enumerate(text.split("\n"), 1) if len(line) > LINE), None):
            raise ValueError(f"line {long} has more than {LINE:,} characters")  # noqa: TRY301 told below
        declared = tomllib.loads(text)
    except (OSError, ValueError, RecursionError) as error:  # of ValueError: bad UTF-8, bad TOML, endless numbers
        raise InputError(f"{file} cannot be read: {error}") from None
    if unknown := set(declared) - {"relations", "entities"}:
        raise InputError(f"{file}: there are [relations.NAME] and [entities]; got {min(unknown)!r}")
    relations = declared.get("relations")
    if not isinstance(relations, dict) or not relations:
        raise InputError(f"{file} declares no relation; begin one with [relations.NAME]")
    tables = {name: _relation(file, name, options) for name, options in relations.items()}
    entities = declared.get("entities", {})
    if not isinstance(entities, dict):
        raise InputError(f"{file}: begin the names of entities with [entities]")
    return Database(tables, entities={entity: _names(file, entity, where) for entity, where in entities.items()})


def _relation(file: Path, name: str, options: Any) -> Relation:
    allowed = {"table", *(field.name for field in fields(Relation))} - {"data"}
    if not isinstance(options, dict):
        raise InputError(f"{file}: begin a relation with [relations.{name}]")
    if unknown := set(options) - allowed:
        raise InputError(f"{file}, {name}: there is no option {min(unknown)!r}; there are {_listed(allowed)}")
    for needed in ("table", "entities"):
        if needed not in options:
            raise InputError(f"{file}, {name}: {needed} is missing")
    for several in ("entities", "columns"):
        if not isinstance(options.get(several, []), list):
            raise InputError(f"{file}, {name}: {several} is a list; got {options[several]!r}")
    given = dict(options)
    table = file.parent / str(given.pop("table"))
    wanted = [str(column) for column in given.get("columns") or given["entities"]]
    numbers = [str(given[option]) for option in ("value", "weight_by") if given.get(option) is not None]
    data = read_columns(table, [*wanted, *numbers], numbers=numbers)
    given |= {option: str(given[option]) for option in ("value", "weight_by") if option in given}
    try:
        return Relation(data, **given | {"columns": tuple(wanted), "entities": tuple(given["entities"])})
    except (InputError, TypeError) as error:
        raise InputError(f"{file}, {name}: {error}") from None


def read_columns(path: str | os.PathLike[str], columns: list[str], *, numbers: list[str]) -> dict[str, list[Any]]:
    """Read some columns of a table; comma, semicolon, tab or upright stroke between fields, quotes as in CSV.

    Parameters
    ----------
    path : path
    columns : list of str
        Headings; or places, from 1, if all are whole numbers: then the first line is no heading.
    numbers : list of str
        Which of them hold numbers.

    Raises
    ------
    InputError
        If the file cannot be read, a heading is not there, a line has too few fields, or a number is none.
    """
    columns = list(dict.fromkeys(columns))
    lines = read_fields(path, marks=MARKS)
    places = [int(column) - 1 for column in columns if column.isdecimal()]
    if len(places) < len(columns):
        headings = next(lines, Fields(1, [])).fields
        if absent := [column for column in columns if column not in headings]:
            raise InputError(f"{path}: no column is headed {absent[0]!r}; there are {_listed(headings) or 'none'}")
        places = [headings.index(column) for column in columns]
    if min(places) < 0:
        raise InputError(f"{path}: places of columns begin with 1; got 0")
    table: dict[str, list[Any]] = {column: [] for column in columns}
    for line, fields_ in lines:
        if len(fields_) <= max(places):
            raise InputError(f"{path}, line {line}: {max(places) + 1} fields or more; got {len(fields_)}")
        for column, place in zip(columns, places, strict=True):
            field = fields_[place]
            table[column].append(_number(path, line, field) if column in numbers else field)
    return table


def _number(path: Any, line: int, field: str) -> float:
    try:
        number = float(field)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        hint = "; decimals stand behind a point here" if re.fullmatch(r"-?\d+,\d+", field) else ""
        raise InputError(f"{path}, line {line}: a value is a finite number; got {field!r:.40}{hint}")
    return number


def _names(file: Path, entity: str, where: Any) -> list[str]:
    path = file.parent / str(where)
    try:
        names = [line.strip() for line in path.read_text(encoding="utf-8-sig").splitlines() if line.strip()]
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path} cannot be read: {error}") from None
    if not names:
        raise InputError(f"{path} names no {entity}")
    return names


def _listed(names: Any) -> str:
    return ", ".join(sorted(map(str, names)))
