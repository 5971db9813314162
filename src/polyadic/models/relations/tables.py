"""A table: what a user says of it, and its cells, named or numbered, with values and weights."""

from __future__ import annotations

from collections.abc import Sequence  # noqa: TC003 read by check_settings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from polyadic.data import Entries
from polyadic.errors import InputError
from polyadic.losses import Huber, Logistic, Loss, SoftplusPoisson, Squared
from polyadic.models.relations.entity_names import as_names
from polyadic.settings import Count, Positive, check_settings

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]

LOSSES: dict[str, Loss] = {
    "squared": Squared(),
    "logistic": Logistic(),
    "poisson": SoftplusPoisson(),
    "huber": Huber(),
}


@dataclass(frozen=True, eq=False)
class Relation:
    """A table that relates entities.

    Parameters
    ----------
    data : DataFrame, mapping of columns, sparse matrix, array, or Entries
        A frame lists cells, a row each, and names entities; so does a mapping of names to columns. A matrix or Entries
        numbers them; unknown cells of an array are NaN, a sparse matrix knows what it lists.
    entities : sequence of str
        The type of entity along each mode, such as ``("user", "item")``. A type named twice shares its factor, as in
        ``("user", "user")`` for friends: then (a, b) and (b, a) are one cell.
    columns : sequence of str, optional
        Columns of a frame that hold the entities; those called as their types if left out.
    value, weight_by : str, optional
        Columns of values and of weights; without them both are 1.
    loss : {"squared", "logistic", "poisson", "huber"}
        Logistic for truth values 0 and 1, poisson for counts (of mean ``log(1 + exp(m))``).
    weight : float
        How much the table counts beside the others.
    unlisted : {"missing", "zero"}
        What cells say that are not listed.
    zero_weight : float
        How much an unlisted zero counts, if the loss is squared; all of them are seen at no cost.
    negatives : int
        Unlisted cells taken as zeros for each listed one, if the loss is another: its copies with one entity replaced.
    biases : bool
        Whether entities have biases in this table (not where zeros are weighted or a type is named twice).

    Raises
    ------
    InputError
        If a choice is unknown, or no two entities are named.
    """

    data: Any
    entities: Sequence[str]
    columns: Sequence[str] | None = None
    value: str | None = None
    weight_by: str | None = None
    loss: Literal["squared", "logistic", "poisson", "huber"] = "squared"
    weight: Positive = 1.0
    unlisted: Literal["missing", "zero"] = "missing"
    zero_weight: Positive = 1.0
    negatives: Count = 1
    biases: bool = True

    def __post_init__(self) -> None:
        check_settings(self)
        if len(self.entities) < 2:
            raise InputError(f"entities must name the type along each of two modes or more; got {self.entities!r}")
        if self.columns is not None and len(self.columns) != len(self.entities):
            raise InputError(f"columns must be one per entity, {len(self.entities)}; got {self.columns!r}")

    @property
    def weighs_zeros(self) -> bool:
        """Whether all unlisted cells count as zeros."""
        return self.unlisted == "zero" and self.loss == "squared"

    @property
    def biased(self) -> bool:
        """Whether entities have biases here."""
        return self.biases and not self.weighs_zeros and len(set(self.entities)) == len(self.entities)


class Units(NamedTuple):
    """Values of a table are ``centre + scale * m``; both are fixed before the fit."""

    centre: float
    scale: float


class Cells(NamedTuple):
    """Cells of a table.

    Attributes
    ----------
    columns : list of ndarray
        By mode, the entity of each cell: its name, or its number.
    sizes : list of int or None
        How many entities each mode numbers; None where it names them.
    values, weights : float64 ndarray of shape (n,)
    """

    columns: list[Array]
    sizes: list[int | None]
    values: NDArray[np.float64]
    weights: NDArray[np.float64]


def cells_in(name: str, relation: Relation) -> Cells:
    """Read the cells of a relation.

    Raises
    ------
    InputError
        If the data is of no known kind, lacks a column, holds text for numbers, or a value that the loss does not
        allow.
    """
    data, order = relation.data, len(relation.entities)
    if hasattr(data, "keys") and hasattr(data, "__getitem__"):
        cells = _framed(name, relation)
    elif relation.value is not None or relation.weight_by is not None:
        raise InputError(f"{name}: value and weight_by name columns of a frame; the data has none")
    else:
        indices, values, weights, shape = _listed(name, data)
        if len(shape) != order:
            raise InputError(f"{name}: data of {len(shape)} modes does not fit {order} entities")
        ones = np.ones(len(values)) if weights is None else np.asarray(weights, float)
        cells = Cells([np.asarray(i, np.int64) for i in indices], list(shape), np.asarray(values, float), ones)
    if not len(cells.values):
        raise InputError(f"{name}: no cell is known")
    _check_values(name, relation, cells)
    return cells


def _framed(name: str, relation: Relation) -> Cells:
    frame, wanted = relation.data, relation.columns or relation.entities
    if len(set(wanted)) < len(wanted):
        raise InputError(f"{name}: entities share a type, so name their columns")
    for column in (*wanted, relation.value, relation.weight_by):
        if column is not None and column not in frame:
            raise InputError(f"{name}: there is no column {column!r}; there are {', '.join(map(str, frame.keys()))}")
    columns = [_names(name, column, frame[column]) for column in wanted]
    n = len(columns[0])
    given = [
        np.ones(n) if column is None else _numbers(name, column, np.asarray(frame[column]))
        for column in (relation.value, relation.weight_by)
    ]
    if any(len(array) != n for array in (*columns, *given)):
        raise InputError(f"{name}: columns are of different lengths")
    return Cells(columns, [None] * len(columns), given[0], given[1])


def _names(name: str, column: str, values: Any) -> Array:
    names = as_names(values)
    if names is None:
        raise InputError(f"{name}: column {column!r} must name entities by text or whole numbers, none of them missing")
    return names


def _numbers(name: str, column: str, array: Array) -> NDArray[np.float64]:
    try:
        return array.astype(float)
    except (TypeError, ValueError):
        bad = next(item for item in array if not _is_number(item))
        raise InputError(f"{name}: column {column!r} must hold numbers; got {str(bad)!r}") from None


def _is_number(item: object) -> bool:
    try:
        float(item)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return False
    return True


def _listed(name: str, data: Any) -> tuple[Any, Any, Any, tuple[int, ...]]:
    if isinstance(data, Entries):
        full = data.expand()
        return tuple(full.indices.T), full.values, full.weights, full.shape
    if hasattr(data, "tocoo"):
        listed = data.tocoo(copy=True)
        listed.sum_duplicates()
        return listed.coords, listed.data, None, listed.shape
    dense = np.asarray(data)
    if dense.dtype.kind not in "fiub" or dense.ndim < 2:
        raise InputError(f"{name}: data must be a frame, a sparse matrix, an array of numbers or Entries")
    known = np.nonzero(~np.isnan(dense.astype(float)))
    return known, dense[known], None, dense.shape


def _check_values(name: str, relation: Relation, cells: Cells) -> None:
    x, w = cells.values, cells.weights
    if not np.isfinite(x).all():
        raise InputError(f"{name}: a value is not finite; leave unknown cells out")
    if not np.isfinite(w).all() or (w < 0).any():
        raise InputError(f"{name}: weights must be finite and not negative")
    if not w.any():
        raise InputError(f"{name}: every weight is zero")
    if relation.loss == "logistic" and not np.isin(x, (0, 1)).all():
        raise InputError(f"{name}: a logistic loss takes 0 and 1; got {x[~np.isin(x, (0, 1))][0]:g}")
    if relation.loss == "logistic" and relation.unlisted == "missing" and (x == x[0]).all():
        raise InputError(f"{name}: every truth value is {x[0]:g}; unlisted='zero' takes cells that are not listed as 0")
    if relation.loss == "poisson" and ((x < 0) | (x != np.floor(x))).any():
        raise InputError(f"{name}: a poisson loss takes counts; got {x[(x < 0) | (x != np.floor(x))][0]:g}")
    if relation.weighs_zeros and not x.any():
        raise InputError(f"{name}: every cell is zero")


def ordered(name: str, entities: Sequence[str], indices: Array) -> Array:
    """Put the entities of one type in falling order within each cell: (a, b) and (b, a) are the same.

    Raises
    ------
    InputError
        If a cell relates an entity with itself.
    """
    indices = indices.copy()
    for entity in {e for e in entities if entities.count(e) > 1}:
        modes = [mode for mode, other in enumerate(entities) if other == entity]
        falling = np.sort(indices[:, modes], axis=1)[:, ::-1]
        if (falling[:, 1:] == falling[:, :-1]).any():
            raise InputError(f"{name}: a cell relates a {entity} with itself; leave such cells out")
        indices[:, modes] = falling
    return indices


def columns_of(name: str, relation: Relation, cells: Any) -> list[Any]:
    """Give the entities of cells, mode by mode, of a frame or a list of tuples."""
    if hasattr(cells, "keys"):
        wanted = relation.columns or relation.entities
        if absent := [column for column in wanted if column not in cells]:
            raise InputError(f"{name}: there is no column {absent[0]!r}; there are {', '.join(map(str, cells.keys()))}")
        columns = [cells[column] for column in wanted]
        if len({len(column) for column in columns}) > 1:
            raise InputError(f"{name}: columns are of different lengths")
        return columns
    rows = [tuple(row) if hasattr(row, "__len__") else (row,) for row in cells]
    if any(len(row) != len(relation.entities) for row in rows):
        raise InputError(f"{name}: a cell names {len(relation.entities)} entities")
    return [*zip(*rows, strict=True)] or [()] * len(relation.entities)


def units_of(relation: Relation, values: Array) -> Units:
    """Give the units in which the values of a table have mean 0 and variance 1, or mean square 1 if zeros count.

    If all values are the same, they are only centred.
    """
    if relation.loss not in {"squared", "huber"}:
        return Units(0.0, 1.0)
    centre = 0.0 if relation.weighs_zeros else float(values.mean())
    if not relation.weighs_zeros and np.ptp(values) == 0:
        return Units(centre, 1.0)
    return Units(centre, float(np.sqrt(np.mean((values - centre) ** 2))) or 1.0)
