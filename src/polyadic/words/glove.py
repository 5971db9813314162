"""GloVe word vectors: weighted least squares on the logarithms of co-occurrence counts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY
from typing import Any, Self

import numpy as np

from polyadic.core.errors import InputError
from polyadic.core.model import Amount, Count, Positive
from polyadic.core.resources import check_memory
from polyadic.core.solvers.run import Sweep, run
from polyadic.words.base import SMALLER, IterativeModel, listed
from polyadic.words.kernels import GloveCells, glove_arrange, glove_epoch


class GloVe(IterativeModel):
    r"""Global vectors (GloVe): inner products plus biases that approximate log co-occurrence counts.

    .. math:: \min \sum_{ij:\, x_{ij} > 0} f(x_{ij})\, \tfrac12 (w_i \cdot c_j + b_i + d_j - \log x_{ij})^2,
              \qquad f(x) = \min(1, (x / x_{max})^a)

    The vector of a word is :math:`w_i + c_i`. Each cell is visited once per epoch, in a fixed random order, by Adagrad.
    The counts are those of :func:`~polyadic.text.counts.count`, where a pair counts one anywhere in the window. The
    reference implementation divides by the distance of the two words, so that near neighbours have more weight.

    Parameters
    ----------
    x_max : float
        Count from which the weighting function is 1.
    alpha : float
        Exponent :math:`a` of the weighting function :math:`f`.
    learning_rate : float
        Initial learning rate of Adagrad.
    epochs : int
        Maximum number of passes over the cells.

    Attributes
    ----------
    vectors_ : ndarray of shape (V, rank)
        :math:`w + c`.
    factors_ : list of two ndarrays of shape (V, rank)
        :math:`w` and :math:`c`.
    biases_ : list of two ndarrays of shape (V,)
        :math:`b` and :math:`d`.
    history_ : list of float
        The objective at the start; then for each epoch the sum of the losses of the cells before their updates.

    References
    ----------
    Pennington, Socher, Manning (2014), GloVe: global vectors for word representation, eq. 8 and 9.
    Gemulla, Nijkamp, Haas, Sismanis (2011), Large-scale matrix factorization with distributed stochastic gradient
    descent, section 4, for the partition of the cells among threads.

    Examples
    --------
    >>> from polyadic.core.entries import Entries
    >>> x = Entries.collect([[0, 1], [0, 2], [1, 2]], [20.0, 5.0, 1.0], 3)
    >>> model = GloVe(4, x_max=10, epochs=200, seed=0, threads=1).fit(x)
    >>> bool(model.history_[-1] < 0.01 * model.history_[0])
    True
    """

    _: KW_ONLY
    x_max: Positive = 100.0
    alpha: Amount = 0.75
    learning_rate: Positive = 0.05
    epochs: Count = 25
    tol: Amount = 0.0

    def fit(self, entries: Any) -> Self:
        """Fit GloVe vectors to counts of order 2, Entries or a symmetric array or sparse array.

        They are such as ``count(corpus, order=2).entries``. InputError is raised if the entries are not counts of
        pairs, a setting is out of range, or the learning rate is too large.
        """
        self.check()
        entries = listed(entries, symmetric=True, missing=True, remedy="lower min_count")
        if entries.order != 2:
            raise InputError("GloVe requires symmetric co-occurrence counts of word pairs (order 2)", "order")
        if entries.weights is not None:
            raise InputError(
                "GloVe applies its own weights; use raw co-occurrence counts, not weighted or PPMI entries"
            )
        if (least := entries.values.min()) <= 0:
            what = f"GloVe requires positive counts; the smallest is {least}"
            raise InputError(f"{what}: remove entries that are not positive")
        what = f"GloVe of rank {self.rank} for {len(entries):,} cells of {entries.shape[0]:,} words"
        check_memory(44.0 * len(entries) + 32.0 * entries.shape[0] * (self.rank + 1), what, SMALLER)
        rng = np.random.default_rng(self.seed)
        x = entries.values.astype(np.float32)
        f = np.minimum(1, (x / np.float32(self.x_max)) ** np.float32(self.alpha))
        cells = glove_arrange(entries.indices, np.log(x), f, size=entries.shape[0], rng=rng)
        solver = _epochs(cells, self.rank, self.learning_rate, self._threads, rng)
        w, c, b, d = self._keep(run(solver, max_iter=self.epochs, tol=self.tol, callback=self.callback))
        self.factors_, self.biases_ = [w, c], [b, d]
        self.vectors_ = w + c
        return self


def _epochs(
    cells: GloveCells, rank: int, learning_rate: float, threads: int, rng: np.random.Generator
) -> Iterator[Sweep]:
    """Yield the factors after each epoch, starting from small random values as in the reference implementation."""
    shape = (2, cells.size, rank)
    U = (rng.random(shape, dtype=np.float32) - np.float32(0.5)) / np.float32(rank)
    b = (rng.random(shape[:2], dtype=np.float32) - np.float32(0.5)) / np.float32(rank)
    parameters = U, b, np.ones_like(U), np.ones_like(b)
    loss = glove_epoch(cells, parameters, learning_rate=0.0, threads=threads)
    while True:
        yield Sweep([U[0].copy(), U[1].copy(), b[0].copy(), b[1].copy()], loss)
        loss = glove_epoch(cells, parameters, learning_rate=learning_rate, threads=threads)
        if not np.isfinite(loss):
            raise InputError(
                f"the loss became {loss} with learning_rate={learning_rate:g}; lower learning_rate", "learning_rate"
            )
