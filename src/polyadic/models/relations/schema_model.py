"""What models of a universal schema say: of its own pairs, of pairs that they have not seen, and of predicates."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.special import expit
from sklearn.utils.validation import check_is_fitted

from polyadic.data import blocks
from polyadic.errors import InputError, check_int
from polyadic.models.base import Model, learned
from polyadic.models.relations.log_odds import Terms
from polyadic.models.relations.unseen import Asked, expected, fold_in
from polyadic.resources import check_memory
from polyadic.text.relations.schema import Schema

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray


ROWS = 4096
"""Of log-odds computed at a time."""


def columns_at(columns: ArrayLike, schema: Schema) -> NDArray[np.int64]:
    """Give columns by number, and refuse those that a schema lacks."""
    at, number = np.asarray(columns), len(schema.predicates)
    if at.ndim != 1 or (at.size and (at.dtype.kind not in "iu" or at.min() < 0 or at.max() >= number)):
        raise InputError(
            f"columns are whole numbers, several in a list, from 0 and below {number:,}; got {columns!r:.60}"
        )
    return at.astype(np.int64)


def _check_room(pairs: int, predicates: int) -> None:
    what = f"what is said of {pairs:,} pairs by {predicates:,} predicates"
    check_memory(8.0 * pairs * predicates, what, "ask about fewer at a time")


class Told(NamedTuple):
    """A pair of entities, and how likely a predicate holds of it."""

    subject: str
    object: str
    probability: float


class SchemaModel(Model):
    """A fitted model of the pairs and predicates of a schema.

    Probabilities are those that training asked for, where as many false cells were drawn as true ones are listed, or as
    told; after the loss ``"bpr"`` only their order within a predicate means something.

    Attributes
    ----------
    schema_ : Schema
        What it was fitted to.
    terms_ : Terms
        What its log-odds are made of: U, V, W, T, D1, D2, a and b.
    """

    schema_: Schema = learned()
    terms_: Terms = learned()
    _asked: Callable[[], tuple[Asked, bool]] = learned()
    """Say how rows were trained, and whether they have biases; a method of each model."""

    def predict(self, pairs: Sequence[tuple[str, str]], predicates: Sequence[str]) -> NDArray[Any]:
        """Give the probabilities that predicates hold of pairs, one predicate for each pair; refuse what is unknown.

        What is listed of a pair counts as known, save the predicate that is asked about.
        """
        check_is_fitted(self)
        if len(pairs) != len(predicates):
            raise InputError(f"give one predicate for each pair; got {len(predicates)} for {len(pairs)}")
        rows = [self.schema_.row(*pair) for pair in pairs]
        cells = np.array([rows, [self.schema_.column(name) for name in predicates]], np.int64).T
        return np.asarray(expit(self.log_odds(cells)))

    def log_odds(self, cells: ArrayLike) -> NDArray[Any]:
        """Give the log-odds of cells of the schema, shape (n, 2), by row and column; refuse others."""
        check_is_fitted(self)
        at, shape = np.asarray(cells), self.schema_.cells.shape
        if at.ndim != 2 or at.shape[1] != 2 or at.dtype.kind not in "iu":
            raise InputError(f"cells are whole numbers of shape (n, 2); got {at.dtype} of shape {at.shape}")
        if at.size and (at.min() < 0 or (at.max(axis=0) >= shape).any()):
            raise InputError(f"cells are rows below {shape[0]:,} and columns below {shape[1]:,}")
        return self.terms_.cells(at.astype(np.int64), self.schema_.cells, self.schema_.arguments)

    def column_log_odds(self, columns: ArrayLike) -> NDArray[Any]:
        """Give the log-odds of all pairs for some columns, shape (pairs, columns); refuse columns that are not."""
        check_is_fitted(self)
        schema = self.schema_
        at = columns_at(columns, schema)
        _check_room(len(schema.pairs), len(at))
        found = np.empty((len(schema.pairs), len(at)))
        for part in blocks(len(found), ROWS):
            rows = np.arange(part.start, part.stop)
            found[part] = self.terms_.matrix(rows, schema.cells, schema.arguments, at)
        return found

    def likeliest(self, predicate: str, *, n: int = 10, listed: bool = False) -> list[Told]:
        """Give the pairs of which a predicate most likely holds, the likeliest first.

        Parameters
        ----------
        predicate : str
        n : int
        listed : bool
            Whether to name those of which it is known.
        """
        check_int("n", n, low=1)
        check_is_fitted(self)
        column = self.schema_.column(predicate)
        scores = self.column_log_odds([column])[:, 0]
        if not listed:
            scores[self.schema_.rows_of(predicate)] = -np.inf
        best = np.argsort(-scores, kind="stable")[:n]
        told = [(*self.schema_.pairs[i], float(expit(scores[i]))) for i in best if np.isfinite(scores[i])]
        return [Told(subject, object_, probability) for subject, object_, probability in told]

    def most_similar(self, predicate: str, *, n: int = 10) -> list[tuple[str, float]]:
        """Give the predicates whose vectors are most like that of one, with the cosines; refuse models without."""
        check_is_fitted(self)
        check_int("n", n, low=1)
        vectors = np.column_stack([self.terms_.V, self.terms_.D1, self.terms_.D2]).astype(float)
        if not vectors.shape[1]:
            raise InputError("a model of neighbours alone has no vectors; give it the feature F or E")
        at = self.schema_.column(predicate)
        vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), np.finfo(float).tiny)
        cosines = vectors @ vectors[at]
        cosines[at] = -np.inf
        best = np.argsort(-cosines, kind="stable")[: min(n, len(cosines) - 1)]
        return [(self.schema_.predicates[j], float(cosines[j])) for j in best]

    def predict_unseen(self, schema: Schema) -> NDArray[Any]:
        """Give the probability of every predicate of the model for pairs that it was not trained on.

        Vectors of pairs are those that training would settle at, given what is known of them; see
        :mod:`polyadic.models.relations.unseen`. Entities that were never seen have none.

        Parameters
        ----------
        schema : Schema
            New pairs, or known ones of which other things are known; predicates that the model lacks say nothing.

        Returns
        -------
        ndarray of shape (pairs, predicates of the model)

        Raises
        ------
        InputError
            If the model lacks all of the predicates, or the memory would not suffice.
        """
        check_is_fitted(self)
        known, arguments = self._renumbered(schema)
        _check_room(*known.shape)
        asked, row_biases = self._asked()
        what = expected(self.schema_, self.terms_, asked, rng=np.random.default_rng(0))
        terms = fold_in(self.terms_, known, arguments, asked, what, row_biases=row_biases)
        found, every = np.empty(known.shape), np.arange(known.shape[1])
        for part in blocks(len(found), ROWS):
            found[part] = expit(terms.matrix(np.arange(part.start, part.stop), known, arguments, every))
        return found

    def _renumbered(self, schema: Schema) -> tuple[Any, NDArray[np.int64]]:
        """Give the cells of another schema in the columns of this one, and its entities by the numbers of this one."""
        from scipy.sparse import csr_array

        mine = {name: at for at, name in enumerate(self.schema_.predicates)}
        columns = np.array([mine.get(name, -1) for name in schema.predicates], np.int64)
        if (columns < 0).all():
            raise InputError("the model knows none of these predicates")
        rows, places = schema.indices.T
        here = columns[places] >= 0
        shape = len(schema.pairs), len(mine)
        known = csr_array((np.ones(here.sum()), (rows[here], columns[places[here]])), shape=shape)
        entities = {name: at for at, name in enumerate(self.schema_.entities)}
        numbers = np.array([entities.get(name, -1) for name in schema.entities], np.int64)
        return known, numbers[schema.arguments]

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write a folder of ``arrays.safetensors`` and ``meta.json``; it is whole or absent."""
        from polyadic.models.relations.schema_storage import save_schema_model

        check_is_fitted(self)
        save_schema_model(self, path, overwrite=overwrite)
