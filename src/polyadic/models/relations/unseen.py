r"""Pairs of entities that were not trained: their vector, from the predicates known of them.

Vectors of predicates stay as they are. What training would then ask of a new row in an epoch, on average over what is
drawn, is a convex function of its vector alone. With :math:`n_c` of :math:`n` pairs listed by column c and k cells
drawn for each, a row that does not list c is drawn :math:`\kappa_c = k n_c / (n - n_c)` times, and

.. math:: \min_u \sum_{c \in r} -\log \sigma(m_c) - \sum_{c \notin r} w \kappa_c \log \sigma(-m_c)
          + \lambda \Big(|r| + \sum_{c \notin r} \kappa_c\Big) \|u\|^2 .

In the loss of pairs of cells, :math:`m_c` is compared with the log-odds of other rows, of some that do not list c and
some that do, which are drawn once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from polyadic.data import blocks
from polyadic.errors import InputError
from polyadic.kernels import absent_columns
from polyadic.progress import tracked

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from scipy.sparse import csr_array

    from polyadic.models.relations.log_odds import Terms
    from polyadic.text.relations.schema import Schema

    Array = NDArray[Any]

COMPARED = 16
"""Rows of each kind that a cell is compared with."""
ROWS = 256
"""Solved for together."""
SETTLED, STEPS = 1e-5, 500
"""Largest element of the gradient that is left, and quasi-Newton steps at most."""


class Training(NamedTuple):
    """How the model was trained: see :class:`~polyadic.models.relations.universal.UniversalSchema`."""

    loss: str
    negatives: int
    negative_weight: float
    ridge: float
    weight_ridge: float


class Expected(NamedTuple):
    r"""What training asks of a row on average.

    Attributes
    ----------
    listed : ndarray of shape (predicates,)
        Times that a listed cell is asked about in an epoch.
    weight : float
        Of a drawn cell.
    drawn : ndarray of shape (predicates,)
        :math:`\kappa`.
    below, above : ndarray of shape (predicates, k)
        What the log-odds are to be above of where a cell is listed, and below of where it is not; zeros in the logistic
        loss.
    """

    listed: Array
    weight: float
    drawn: Array
    below: Array
    above: Array

    def __call__(self, m: Array, listed: Array) -> tuple[float, Array]:
        """Give the loss of log-odds and its derivatives, of shape (rows, predicates) as ``listed`` is."""
        from scipy.special import expit

        weights = np.where(listed, self.listed, self.weight * self.drawn) / self.below.shape[1]
        value, slopes = 0.0, np.zeros_like(m)
        for below, above in zip(self.below.T, self.above.T, strict=True):
            short = np.where(listed, below - m, m - above)
            value += float(np.sum(weights * np.logaddexp(0, short)))
            slopes += np.where(listed, -1.0, 1.0) * weights * expit(short)
        return value, slopes


def expected(schema: Schema, terms: Terms, training: Training, *, rng: np.random.Generator) -> Expected:
    """Give what training on a schema asks on average."""
    n, counts = len(schema.pairs), np.bincount(schema.indices[:, 1], minlength=len(schema.predicates))
    drawn = np.where(counts < n, training.negatives * counts / np.maximum(n - counts, 1), 0.0)
    if training.loss == "logistic":
        none = np.zeros((len(counts), 1))
        return Expected(np.ones(len(counts)), training.negative_weight, drawn, none, none)
    columns = schema.cells.tocsc()
    numbers = np.repeat(np.arange(len(counts)), COMPARED)
    out = absent_columns(columns.indptr, columns.indices, numbers, number=n, rng=rng)
    starts = columns.indptr[numbers]
    places = starts + (rng.random(len(numbers)) * counts[numbers]).astype(np.int64)
    rows = columns.indices[np.minimum(places, max(len(columns.indices) - 1, 0))]
    usable = (out >= 0) & (counts[numbers] > 0)
    levels = [
        np.where(usable, terms.cells(np.column_stack([at, numbers]), schema.cells, schema.arguments), 0.0)
        for at in (np.maximum(out, 0), rows)
    ]
    below, above = (level.reshape(-1, COMPARED) for level in levels)
    times = np.where(counts < n, float(training.negatives), 0.0)  # a cell that every row lists is compared with none
    return Expected(times, 1.0, drawn, below, above)


def fold_in(
    terms: Terms,
    known: csr_array,
    arguments: NDArray[np.int64],
    training: Training,
    cost: Expected,
    *,
    row_biases: bool,
) -> Terms:
    """Give the terms with vectors and biases of new rows in place of the old ones.

    Parameters
    ----------
    terms : Terms
        Of the model.
    known : csr_array of shape (new pairs, predicates)
        What is known of them.
    arguments : ndarray of shape (new pairs, 2)
        Their entities; -1 for those never seen.
    training : Training
    cost : Expected
    row_biases : bool
        Whether rows have biases.

    Raises
    ------
    InputError
        If a row does not settle.
    """
    rank = terms.V.shape[1]
    new = terms._replace(U=np.zeros((known.shape[0], rank)), a=np.zeros(known.shape[0]))
    if not rank and not row_biases:
        return new
    V = terms.V.astype(float)
    V = np.column_stack([V, np.ones(len(V))]) if row_biases else V
    ridges = np.r_[np.full(rank, training.ridge), np.full(V.shape[1] - rank, training.weight_ridge)]
    every = np.arange(len(V))
    parts = list(blocks(known.shape[0], ROWS))
    for part in tracked(parts, "folding in", total=len(parts)) if len(parts) > 1 else parts:
        rows = np.arange(part.start, part.stop)
        listed = known[rows].toarray() > 0
        times = listed @ cost.listed + (~listed) @ cost.drawn
        u = _solved(new.matrix(rows, known, arguments, every), listed, V, np.outer(times, ridges), cost)
        new.U[rows], new.a[rows] = u[:, :rank], u[:, rank] if row_biases else 0.0
    return new


def _solved(offsets: Array, listed: Array, V: Array, ridges: Array, cost: Expected) -> Array:
    """Minimize over vectors of some rows at once; ``ridges`` is of their shape."""
    from scipy.optimize import minimize

    def objective(flat: Array) -> tuple[float, Array]:
        u = flat.reshape(ridges.shape)
        value, slopes = cost(offsets + u @ V.T, listed)
        return value + float(np.sum(ridges * u * u)), (slopes @ V + 2 * ridges * u).ravel()

    options = {"maxiter": STEPS, "gtol": SETTLED, "ftol": 0.0, "maxcor": 20}
    settled = minimize(objective, np.zeros(ridges.size), jac=True, method="L-BFGS-B", options=options)
    if np.abs(objective(settled.x)[1]).max() > 100 * SETTLED * max(1.0, float(ridges.max())):
        raise InputError(f"the vectors of {len(listed)} pairs did not settle: {settled.message}")
    return np.asarray(settled.x).reshape(ridges.shape)
