"""Cells of a table held out of a database, and how well a model tells them."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from polyadic.errors import InputError, check_number
from polyadic.models.relations.database import with_negatives

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from polyadic.data import Entries
    from polyadic.models.relations.database import Database
    from polyadic.models.relations.database_model import DatabaseModel


class HeldOut(NamedTuple):
    """Cells that a database no longer has.

    Attributes
    ----------
    database : Database
        Without them; entities stay.
    relation : str
        Whose cells they are.
    indices : ndarray of shape (n, order)
    values : ndarray of shape (n,)
        In the units of the table.
    """

    database: Database
    relation: str
    indices: NDArray[np.int64]
    values: NDArray[np.float64]

    def alone(self) -> Database:
        """Give the database with no other table than the one that cells are held out of."""
        return self.database.only(self.relation)


def hold_out(database: Database, relation: str, *, share: float, seed: int | None = None) -> HeldOut:
    """Hold a random share of the cells of a relation out.

    Where unlisted cells are zeros, as many of them as cells held out are added to those to be told, so that a model can
    be asked which are which.

    Raises
    ------
    InputError
        If there is no such relation, or the share holds nothing or everything out.
    """
    if relation not in database.relations:
        raise InputError(f"there is no relation {relation!r}; there are {', '.join(database.relations)}")
    if not 0 < check_number("share", share) < 1:
        raise InputError(f"the share held out must be between 0 and 1; got {share}")
    entries, rng = database.cells(relation), np.random.default_rng(seed)
    number = round(share * len(entries))
    if not 0 < number < len(entries):
        raise InputError(f"a share of {share:g} of {len(entries)} cells holds out {number}; choose another")
    out = np.zeros(len(entries), bool)
    out[rng.permutation(len(entries))[:number]] = True
    asked = _some(entries, out)
    table = database.relations[relation]
    if table.unlisted == "zero":
        both = with_negatives(entries, replace(table, negatives=1), rng)
        zeros = both.indices[len(entries) :]
        zeros = zeros[rng.permutation(len(zeros))[:number]]
        asked = replace(
            asked,
            indices=np.concatenate([asked.indices, zeros]),
            values=np.concatenate([asked.values, np.zeros(len(zeros))]),
            weights=None,
        )
    centre, scale = database.units[relation]
    fewer = copy(database)
    fewer.replace(relation, _some(entries, ~out))
    return HeldOut(fewer, relation, np.asarray(asked.indices, np.int64), centre + scale * np.asarray(asked.values))


def score(model: DatabaseModel, held: HeldOut) -> dict[str, float]:
    """Say how well a model tells cells held out.

    Returns
    -------
    dict of str to float
        ``rmse`` of numbers and counts; of truth values the logarithmic loss, in nats; where unlisted cells are zeros
        the share of pairs of a listed and an unlisted cell that it ranks rightly (``auc``).
    """
    from sklearn.metrics import roc_auc_score

    table = held.database.relations[held.relation]
    expected = model.predict_numbered(held.relation, held.indices)
    if table.unlisted == "zero":
        return {"auc": float(roc_auc_score(held.values > 0, expected))}
    if table.loss == "logistic":
        p = np.clip(np.where(held.values > 0, expected, 1 - expected), np.finfo(float).tiny, None)
        return {"log_loss": float(-np.log(p).mean())}
    return {"rmse": float(np.sqrt(np.mean((expected - held.values) ** 2)))}


def _some(entries: Entries, which: NDArray[Any]) -> Entries:
    """Give some of the entries."""
    weights = None if entries.weights is None else entries.weights[which]
    return replace(entries, indices=entries.indices[which], values=entries.values[which], weights=weights)
