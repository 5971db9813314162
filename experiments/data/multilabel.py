"""Texts with several labels each: the sets of the Mulan library, in its files of sparse ARFF and XML."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple
from xml.etree import ElementTree as ET

import numpy as np

from polyadic.core.errors import InputError, check_choice
from polyadic.datasets.place import check_count, folder, text

if TYPE_CHECKING:
    import os
    from pathlib import Path

    from numpy.typing import NDArray

MULTILABEL = {"bibtex": (4880, 2515, 1836, 159), "enron": (1123, 579, 1001, 53), "medical": (333, 645, 1449, 45)}
"""Items to train on, items to test on, features, labels."""
ATTRIBUTE = re.compile(r"""@attribute\s+('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|\S+)\s+(.+)""", re.IGNORECASE)
PAIR = re.compile(r"(\d+)\s+(\S+)")


class Labelling(NamedTuple):
    """Items with features and labels."""

    features: Any
    labels: NDArray[np.bool_]
    feature_names: list[str]
    label_names: list[str]


def multilabel(name: str, root: str | os.PathLike[str] | None = None) -> tuple[Labelling, Labelling]:
    """Read the training and the test part of a set.

    ``name``: Bookmarks of scientific articles with their tags, mails with their topics, reports of radiologists with
    codes.

    References
    ----------
    Tsoumakas, Spyromitros-Xioufis, Vilcek, Vlahavas (2011), Mulan: a Java library for multi-label learning.
    """
    check_choice("name", name, MULTILABEL)
    where = folder(root) / "multilabel" / name
    names = read_label_names(where / f"{name}.xml")
    parts = []
    for part, items in zip(("train", "test"), MULTILABEL[name][:2], strict=True):
        path = where / f"{name}-{part}.arff"
        parts.append(read_labelling(path, names))
        check_count(path, len(parts[-1].labels), items, "items")
        check_count(path, len(parts[-1].feature_names), MULTILABEL[name][2], "features")
        check_count(path, len(names), MULTILABEL[name][3], "labels")
    if parts[0].feature_names != parts[1].feature_names:
        raise InputError(f"{where}: the training and the test part do not have the same features")
    return parts[0], parts[1]


def read_label_names(path: Path) -> list[str]:
    """Read which attributes are labels, from the XML file of a set."""
    content = text(path)
    if "<!DOCTYPE" in content or "<!ENTITY" in content:
        raise InputError(f"{path} declares entities; a list of labels has none")
    try:
        tree = ET.fromstring(content.encode("utf-8"))  # noqa: S314 entities are refused above
    except ET.ParseError as error:
        raise InputError(f"{path} is not well-formed XML: {error}") from None
    names = [e.get("name", "") for e in tree.iter() if e.tag.rpartition("}")[2] == "label"]
    if not names or not all(names) or len(set(names)) < len(names):
        raise InputError(f"{path} must name each label once, in elements <label name=...>; it has {len(names)}")
    return names


def read_labelling(path: Path, label_names: list[str]) -> Labelling:
    """Read items from an ARFF file of sparse rows ``{attribute value, ...}``, attributes from 0.

    ``label_names``: The attributes that are labels, wherever they stand; the others are features, numbers all of them.
    """
    from scipy.sparse import csr_array

    names, rows, columns, values, items = _cells(path)
    places = {name: k for k, name in enumerate(names)}
    if len(places) < len(names) or not set(label_names) <= set(places):
        raise InputError(f"{path} must declare each attribute once, and all {len(label_names)} labels among them")
    at = (np.array(rows, np.int32), np.array(columns, np.int32))  # the only integers that liblinear takes
    table = csr_array((values, at), shape=(items, len(names)))
    if table.nnz < len(values):
        raise InputError(f"{path} gives an attribute twice in a row")
    chosen = [places[name] for name in label_names]
    others = np.setdiff1d(np.arange(len(names)), chosen)
    labels = table[:, chosen].toarray()
    if not np.isin(labels, (0, 1)).all():
        raise InputError(f"{path} has a label that is neither 0 nor 1")
    return Labelling(table[:, others], labels == 1, [names[k] for k in others], label_names)


def _cells(path: Path) -> tuple[list[str], list[int], list[int], list[float], int]:
    """Names of attributes, then row, column and value of each cell, and the number of rows."""
    names: list[str] = []
    rows: list[int] = []
    columns: list[int] = []
    values: list[float] = []
    items, data = 0, False
    for number, raw in enumerate(text(path).split("\n"), 1):
        line = raw.strip()
        if not line or line.startswith("%"):
            continue
        if not data:
            data = line.lower() == "@data"
            if line.lower().startswith("@attribute"):
                names.append(_attribute(line, f"{path}, line {number}"))
            continue
        cells = _row(line, len(names), f"{path}, line {number}")
        rows += [items] * len(cells)
        columns += [column for column, _ in cells]
        values += [value for _, value in cells]
        items += 1
    if not names or not items:
        raise InputError(f"{path} has {len(names)} attributes and {items} items; an ARFF file has both")
    return names, rows, columns, values, items


def _attribute(line: str, where: str) -> str:
    match = ATTRIBUTE.match(line)
    if match is None:
        raise InputError(f"{where}: an attribute has a name and a type; got {line[:60]!r}")
    name, kind = match.groups()
    if not re.fullmatch(r"\{\s*0\s*,\s*1\s*\}|numeric|real|integer", kind.strip(), re.IGNORECASE):
        raise InputError(f"{where}: attributes are numbers or {{0,1}}; got {kind[:60]!r}")
    return re.sub(r"\\(.)", r"\1", name[1:-1]) if name[0] in "'\"" else name


def _row(line: str, size: int, where: str) -> list[tuple[int, float]]:
    if not (line.startswith("{") and line.endswith("}")):
        raise InputError(f"{where}: a sparse row is written {{attribute value, ...}}; got {line[:60]!r}")
    cells = []
    for item in filter(None, map(str.strip, line[1:-1].split(","))):
        pair = PAIR.fullmatch(item)
        try:
            column, value = int(pair[1]), float(pair[2])  # type: ignore[index] # None is no pair
        except (TypeError, ValueError):
            raise InputError(f"{where}: {item[:60]!r} is no attribute with its number") from None
        if column >= size or not np.isfinite(value):
            raise InputError(f"{where}: {item[:60]!r} has no attribute among {size:,}, or is not finite")
        cells.append((column, value))
    return cells
