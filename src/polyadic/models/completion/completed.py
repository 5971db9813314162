"""A completed matrix, whichever model completed it: factors, biases and a mean, in memory or in a folder."""

from __future__ import annotations

import json
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from polyadic.errors import InputError
from polyadic.files import damage_told, read_meta, whole_folder, write_meta
from polyadic.models.completion.bayesian import BayesianMatrixFactorization, Prediction
from polyadic.models.completion.factorization import MatrixFactorization
from polyadic.models.completion.ranking import Recommending
from polyadic.models.completion.ratings import Cells, pairs
from polyadic.models.completion.trace_norm import TraceNormCompletion

if TYPE_CHECKING:
    import os

    from numpy.typing import ArrayLike, NDArray

KIND, VERSION = "completion-model", 1


@dataclass(frozen=True, eq=False)
class Completed:
    r"""A matrix as :math:`\mu + a_i + b_j + u_i \cdot v_j`, the last the mean over draws where there are several.

    Attributes
    ----------
    row_factors, column_factors : ndarray of shape (draws, rows, rank) and (draws, columns, rank)
    row_biases, column_biases : ndarray of shape (rows,) and (columns,)
    constants : ndarray of shape (2,)
        The mean, and the standard deviation of the noise, NaN if it is not known.
    """

    row_factors: NDArray[Any]
    column_factors: NDArray[Any]
    row_biases: NDArray[np.float64]
    column_biases: NDArray[np.float64]
    constants: NDArray[np.float64]

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return len(self.row_biases), len(self.column_biases)

    def predict(self, rows: ArrayLike, columns: ArrayLike) -> Prediction:
        """Give the values of cells and their standard deviations; NaN where the noise is not known."""
        i, j = pairs(rows, columns, self.shape)
        total, squares = np.zeros(len(i)), np.zeros(len(i))
        for U, V in zip(self.row_factors, self.column_factors, strict=True):
            m = np.einsum("nr,nr->n", U[i], V[j], dtype=float)
            total += m
            squares += m**2
        number = len(self.row_factors)
        mean, (mu, noise) = total / number, self.constants
        std = np.sqrt(np.maximum(squares / number - mean**2, 0) + noise**2)
        return Prediction(mu + self.row_biases[i] + self.column_biases[j] + mean, std)


def completed(model: Any) -> Completed:
    """Take a matrix from the model that was fitted to it.

    Parameters
    ----------
    model : MatrixFactorization, BayesianMatrixFactorization, TraceNormCompletion or one that recommends

    Raises
    ------
    InputError
        If it is another.

    Examples
    --------
    >>> x = np.array([[1.0, 2.0, np.nan], [2.0, 4.0, 6.0], [3.0, np.nan, 9.0]])
    >>> model = MatrixFactorization(1, seed=0, max_iter=500).fit(x)
    >>> np.allclose(completed(model).predict([0, 2], [2, 1]).mean, model.predict([0, 2], [2, 1]))
    True
    """
    if isinstance(model, MatrixFactorization):
        U, V = model.row_factors_[None], model.column_factors_[None]
        return Completed(U, V, model.row_biases_, model.column_biases_, np.array([model.mean_, np.nan]))
    if isinstance(model, Recommending):
        U, V = model.row_factors_[None], model.column_factors_[None]
        return Completed(U, V, np.zeros(U.shape[1]), np.zeros(V.shape[1]), np.array([0.0, np.nan]))
    if isinstance(model, TraceNormCompletion):
        left, sizes, right = model.matrix_
        mean, a, b = model.offsets_
        return Completed((left * sizes)[None], right[None], a, b, np.array([mean, np.nan]))
    if isinstance(model, BayesianMatrixFactorization):
        return _drawn(model)
    raise InputError(f"a {type(model).__name__} completes no matrix in a way that is known here")


def _drawn(model: BayesianMatrixFactorization) -> Completed:
    """Take the draws; what a draw adds everywhere becomes a column of its factors, beside one of ones."""
    ends = np.cumsum([len(model.known_rows_), len(model.known_columns_)])
    states = [draw.state for draw in model.chain_.draws]
    left = [np.pad(stack[: ends[0]], ((0, 0), (0, 1)), constant_values=offset[0]) for stack, offset in states]
    right = [np.pad(stack[ends[0] : ends[1]], ((0, 0), (0, 1)), constant_values=1.0) for stack, _ in states]
    U, V = (model.scale_ * np.stack(left)).astype(np.float32), np.stack(right).astype(np.float32)
    return Completed(U, V, np.zeros(U.shape[1]), np.zeros(V.shape[1]), np.array([model.mean_, model.noise_]))


@dataclass(frozen=True, eq=False)
class NamedCompletion:
    """A completed matrix with names for its rows and columns, and the cells that it was made from.

    Attributes
    ----------
    matrix : Completed
    known : Cells
    rows, columns : list of str
    facts : dict
        What else is to be told of it.
    """

    matrix: Completed
    known: Cells
    rows: list[str]
    columns: list[str]
    facts: dict[str, Any]

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write a folder of arrays, whole or not at all."""
        arrays = {field.name: getattr(self.matrix, field.name) for field in fields(Completed)}
        arrays |= {"known_cells": self.known.indices, "known_values": self.known.values}
        with whole_folder(path, kind=KIND, overwrite=overwrite) as draft:
            for name, array in arrays.items():
                np.save(draft / f"{name}.npy", array, allow_pickle=False)
            names = json.dumps({"rows": self.rows, "columns": self.columns}, ensure_ascii=False, indent=0)
            (draft / "names.json").write_text(names + "\n", encoding="utf-8")
            write_meta(draft, KIND, VERSION, facts=self.facts)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> NamedCompletion:
        """Read what :meth:`save` wrote.

        Raises
        ------
        InputError
            If the folder holds something else, or is damaged.
        """
        folder = Path(path)
        meta = read_meta(folder, KIND, VERSION)
        with damage_told(folder):
            matrix = Completed(*(_array(folder, field.name) for field in fields(Completed)))
            rows, columns = _array(folder, "known_cells").T
            known = Cells(rows, columns, _array(folder, "known_values"), matrix.shape)
            names = json.loads((folder / "names.json").read_text(encoding="utf-8"))
            found = cls(matrix, known, list(names["rows"]), list(names["columns"]), dict(meta["facts"]))
            found.check()
        return found

    def check(self) -> None:
        """Refuse parts that do not fit one another."""
        U, V = self.matrix.row_factors, self.matrix.column_factors
        fit = (
            U.ndim == V.ndim == 3
            and U.shape[::2] == V.shape[::2]
            and len(U) > 0
            and self.matrix.constants.shape == (2,)
        )
        if not fit or (U.shape[1], V.shape[1]) != self.matrix.shape:
            raise InputError("factors and biases do not fit one another")
        if (len(self.rows), len(self.columns)) != self.matrix.shape:
            raise InputError("there is not one name for each row and column")
        pairs(self.known.rows, self.known.columns, self.matrix.shape)


def _array(folder: Path, name: str) -> NDArray[Any]:
    return np.asarray(np.load(folder / f"{name}.npy", allow_pickle=False))
