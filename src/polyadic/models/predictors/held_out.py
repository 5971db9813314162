"""Scores of candidates by one weight for each feature, and what choices by them cost on lists held out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from polyadic.errors import InputError
from polyadic.groups import Groups
from polyadic.models.predictors.class_groups import ClassGroups, as_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from numpy.typing import NDArray

    from polyadic.forms import Factors

Unknown = Literal["ignore", "error"]


def candidate_scores(groups: Groups, weights: NDArray[np.float64], unknown: Unknown = "ignore") -> NDArray[np.float64]:
    """Score candidates; features beyond the weights score nothing.

    Raises
    ------
    InputError
        If there are such, and ``unknown`` is "error".
    """
    X, V = groups.features, len(weights)
    if X.shape[1] > V:
        if unknown == "error" and (X.indices >= V).any():
            raise InputError(f"feature {X.indices.max()} was not learned; there are {V:,}, from 0")
        X = X[:, :V]
    return np.asarray(X @ weights[: X.shape[1]])


def as_blocks(X: Any) -> Iterable[Groups]:
    """Give blocks of lists that can be gone through again and again.

    Raises
    ------
    InputError
        If they cannot.
    """
    if isinstance(X, Groups):
        return [X]
    if not hasattr(X, "__iter__") or isinstance(X, np.ndarray) or hasattr(X, "tocsr"):
        raise InputError("give Groups, blocks of Groups, or rows with labels y")
    if iter(X) is X:
        raise InputError("give blocks that can be gone through again, such as a list; this iterator ends")
    blocks: Iterable[Groups] = X
    return blocks


def check_block(block: object) -> Groups:
    """Refuse a block that is none."""
    if not isinstance(block, Groups):
        raise InputError(f"blocks must be Groups; got {type(block).__name__}")
    return block


def held_out_cost(validation: Any, classes: NDArray[Any] | None, V: int) -> Callable[[Factors], float]:
    """Give what tells the mean cost of choices by ``V`` weights from lists held out, or from a pair of rows and labels.

    Raises
    ------
    InputError
        If rows have other features than those that are learned from; later, if there are no lists.
    """
    blocks = as_blocks(validation) if classes is None else _labelled(validation, classes, V)

    def cost(factors: Factors) -> float:
        paid = [
            (block.costs[block.choice(candidate_scores(block, factors[0]))].sum(), len(block))
            for block in map(check_block, blocks)
        ]
        total, count = np.sum(paid, axis=0) if paid else (0.0, 0)
        if not count:
            raise InputError("validation has no groups")
        return float(total / count)

    return cost


def _labelled(validation: Any, classes: NDArray[Any], V: int) -> ClassGroups:
    """Make lists of rows and labels; a label that is not learned costs, whatever is chosen."""
    if not isinstance(validation, tuple | list) or len(validation) != 2:
        raise InputError("validation of classes is a pair of rows and labels")
    rows, labels = as_rows(validation[0]), np.asarray(validation[1])
    if rows.shape[1] * len(classes) != V:
        width = V // len(classes) - 1
        raise InputError(f"validation has {rows.shape[1] - 1} features; {width} are learned from")
    which = np.searchsorted(classes, labels).clip(max=len(classes) - 1)
    return ClassGroups(rows, np.where(classes[which] == labels, which, -1), len(classes))
