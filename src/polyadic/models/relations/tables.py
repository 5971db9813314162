"""What a user says of a table: its data, the entities that it relates, its loss."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Literal

from polyadic.errors import InputError, check_choice, check_int, check_number
from polyadic.losses import Huber, Logistic, Loss, SoftplusPoisson, Squared

if TYPE_CHECKING:
    from collections.abc import Sequence

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
    weight: float = 1.0
    unlisted: Literal["missing", "zero"] = "missing"
    zero_weight: float = 1.0
    negatives: int = 1
    biases: bool = True

    def __post_init__(self) -> None:
        check_choice("loss", self.loss, LOSSES)
        check_choice("unlisted", self.unlisted, ("missing", "zero"))
        check_number("weight", self.weight, above=True)
        check_number("zero_weight", self.zero_weight, above=True)
        check_int("negatives", self.negatives, low=1)
        if self.biases not in (True, False):
            raise InputError(f"biases must be True or False; got {self.biases!r}")
        if (
            isinstance(self.entities, str)
            or len(self.entities) < 2
            or not all(isinstance(e, str) for e in self.entities)
        ):
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


def described(relation: Relation) -> dict[str, Any]:
    """Give all fields of a relation but its data, in types of JSON."""
    told = {field.name: getattr(relation, field.name) for field in fields(relation) if field.name != "data"}
    return {name: list(value) if name in {"entities", "columns"} and value else value for name, value in told.items()}
