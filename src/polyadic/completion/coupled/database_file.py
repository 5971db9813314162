"""Reader of databases declared in a TOML file."""

from __future__ import annotations

import math
import os
import tomllib
from dataclasses import fields
from pathlib import Path
from typing import Any

from polyadic.completion.coupled.database import Database, Relation
from polyadic.core.errors import InputError, unreadable
from polyadic.core.files import read_names
from polyadic.text.tables import Numbers, TableReading, is_empty, name_in, open_table

LINE = 4000
"""Maximum number of characters of a line, since the parsing time of names with many dots grows superlinearly."""


def read_database(path: str | os.PathLike[str]) -> Database:
    """Read a database from a TOML file and the table files that it declares.

    .. code-block:: toml

        [relations.ratings]
        table = "ratings.csv"           # relative to this file
        entities = ["user", "film"]     # entity type of each mode
        columns = ["user_id", "film"]   # headings, or 1-based positions in a table without headings; default: the types
        value = "stars"                 # and any other field of Relation or TableReading, such as decimal = ","

        [entities]
        film = "films.txt"              # optional: all names of a type, one per line

    InputError is raised if a file cannot be read, an option is unknown, or tables contradict each other.
    """
    file = Path(path)
    try:
        text = file.read_text(encoding="utf-8")
        if long := next((at for at, line in enumerate(text.split("\n"), 1) if len(line) > LINE), None):
            raise ValueError(f"line {long} has more than {LINE:,} characters")  # noqa: TRY301 reported below
        declared = tomllib.loads(text)
    except (OSError, ValueError, RecursionError) as error:  # ValueError: invalid UTF-8 or TOML, very long numbers
        raise unreadable(file, error) from None
    if unknown := set(declared) - {"relations", "entities"}:
        raise InputError(f"{file}: unknown section {min(unknown)!r}; allowed are [relations.NAME] and [entities]")
    relations = declared.get("relations")
    if not isinstance(relations, dict) or not relations:
        raise InputError(f"{file} must declare at least one relation in a section [relations.NAME]")
    tables = {name: _relation(file, name, options) for name, options in relations.items()}
    entities = declared.get("entities", {})
    if not isinstance(entities, dict):
        raise InputError(f"{file}: entities must be declared in a section [entities]")
    return Database(tables, entities={entity: _names(file, entity, where) for entity, where in entities.items()})


def _relation(file: Path, name: str, options: Any) -> Relation:
    readable = {field.name for field in fields(TableReading)}
    allowed = {"table", *readable, *(field.name for field in fields(Relation))} - {"data"}
    if not isinstance(options, dict):
        raise InputError(f"{file}: relation {name} must be declared in a section [relations.{name}]")
    if unknown := set(options) - allowed:
        advice = f"options are {', '.join(sorted(allowed))}"
        raise InputError(f"{file}, relation {name}: unknown option {min(unknown)!r}; {advice}")
    for needed in ("table", "entities"):
        if needed not in options:
            raise InputError(f"{file}, relation {name}: option {needed} is missing")
    for several in ("entities", "columns"):
        if not isinstance(options.get(several, []), list):
            raise InputError(f"{file}, relation {name}: option {several} must be a list; got {options[several]!r}")
    given = dict(options)
    table = file.parent / str(given.pop("table"))
    wanted = [str(column) for column in given.get("columns") or given["entities"]]
    numbers = [str(given[option]) for option in ("value", "weight_by") if given.get(option) is not None]
    given |= {option: str(given[option]) for option in ("value", "weight_by") if option in given}
    try:
        reading = TableReading(**{option: given.pop(option) for option in readable & {*given}})
        data = read_columns(table, [*wanted, *numbers], reading, numbers=numbers)
        return Relation(data, **given | {"columns": tuple(wanted), "entities": tuple(given["entities"])})
    except (InputError, TypeError) as error:
        raise InputError(f"{file}, relation {name}: {error}") from None


def read_columns(
    path: str | os.PathLike[str], columns: list[str], reading: TableReading | None = None, *, numbers: list[str]
) -> dict[str, list[Any]]:
    """Read columns of a table file, given their names or positions from 1; ``numbers`` lists the numeric ones."""
    columns = list(dict.fromkeys(columns))
    table = open_table(str(path), reading, columns=columns)
    at = {column: table.place(column) for column in columns}
    parsers = {column: Numbers(table, [at[column]]) for column in numbers}
    read: dict[str, list[Any]] = {column: [] for column in columns}
    for number, cells in table:
        if len(cells) <= max(at.values()):
            table.skip(number, f"expected at least {max(at.values()) + 1} cells; got {len(cells)}")
            continue
        row = {column: cells[k] for column, k in at.items()}
        values = {column: parse(row[column]) for column, parse in parsers.items()}
        odd = next((c for c, value in values.items() if value is None or not math.isfinite(value)), None)
        if odd is not None:
            if is_empty(row[odd]):
                raise InputError(f"{table.where(number)}: the value of {odd} is missing")
            table.skip(number, f"{odd} must be a finite number; got {row[odd]!r:.40}")
            continue
        for column in columns:
            read[column].append(values[column] if column in values else name_in(table, number, row[column], column))
    return read


def _names(file: Path, entity: str, where: Any) -> list[str]:
    path = file.parent / str(where)
    if not (names := read_names(path)):
        raise InputError(f"{path} must contain at least one name of an entity of type {entity}")
    return names
