"""Word vectors by CP decomposition of an n-way association tensor, a factor of its own for each mode."""

from __future__ import annotations

from dataclasses import KW_ONLY, replace
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from polyadic import kernels
from polyadic.embedding import Embedding
from polyadic.errors import InputError
from polyadic.forms import CP
from polyadic.losses import Squared
from polyadic.models.base import Amount, Count, Model, Natural, Seed, Threads, Watch
from polyadic.objective import Objective, Term, stacked
from polyadic.penalties import L2
from polyadic.resources import check_memory
from polyadic.solvers.als import als
from polyadic.solvers.run import run

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from polyadic.data import Entries
    from polyadic.forms import Factors


class AsymmetricCP(Model):
    r"""One vector per word and mode, such that the vectors of a tuple multiply to its association.

    .. math:: \min_{\lambda, U} \tfrac12 \sum_{\text{all cells}} (x - m)^2 + \text{ridge}, \qquad
              m_{i_1 \dots i_n} = \sum_r \lambda_r \prod_d U^{(d)}_{i_d r}, \quad \|U^{(d)}_{\cdot r}\| = 1

    Every cell, zero or not, counts alike: weights of entries are not used. The ridge is that of
    :func:`~polyadic.solvers.als.als`, on factors that share :math:`\lambda` in equal parts.

    Parameters
    ----------
    rank : int
        Number of components; the length of a word vector.
    orthogonal : int
        First sweeps with orthogonal factors (Orth-ALS); needs a rank of at most the length of each mode. On counted
        text the fit came out alike with and without them.
    ridge : float
        Strength of the ridge.
    max_iter, tol
        See :func:`~polyadic.solvers.run.run`.
    vectors : {"words", "contexts", "all"}
        What :meth:`embedding` gives: :math:`U^{(1)} \lambda^{1/n}`, :math:`U^{(2)} \lambda^{1/n}`, or those of all
        modes side by side.
    seed : int, optional
        Of the random start.
    threads : int, optional
        All cores by default. The same seed gives the same bits, however many threads.
    watch : callable, optional
        Called with the :class:`~polyadic.solvers.run.Result` so far after each sweep.

    Attributes
    ----------
    factors_ : list of ndarray of shape (length of the mode, rank)
        :math:`U^{(d)}`, columns of length one. In all modes but the first, the largest element of a column is positive.
    weights_ : ndarray of shape (rank,)
        :math:`\lambda`, positive and falling.
    history_ : list of float
        The objective at the start, where nothing is explained, and after each sweep. Without a ridge,
        ``1 - (history_[-1] / history_[0]) ** 0.5`` is what tensor toolboxes call the fit.
    result_, n_iter_, converged_, interrupted_
        See :class:`~polyadic.models.base.Model`.

    References
    ----------
    Bailey, Aeron (2017), Word embeddings via tensor factorization, section 4.1 (CP). arXiv:1704.02686. Its "orthonormal
    columns" are columns of length one. Sharan, Valiant (2017), Orthogonalized ALS. arXiv:1703.01804.

    Examples
    --------
    >>> from polyadic.data import Entries
    >>> x = Entries.collect([[0, 1, 2], [3, 4, 5]], [2.0, 1.0], 6)
    >>> model = AsymmetricCP(8, seed=0).fit(x)
    >>> bool(model.predict([[2, 0, 1]])[0] > 1.9), bool(abs(model.predict([[0, 1, 5]])[0]) < 0.1)
    (True, True)
    """

    rank: Count = 300
    _: KW_ONLY
    orthogonal: Natural = 0
    ridge: Amount = 0.0
    max_iter: Count = 50
    tol: Amount = 1e-3
    vectors: Literal["words", "contexts", "all"] = "words"
    seed: Seed = None
    threads: Threads = None
    watch: Watch = None

    def fit(self, entries: Entries) -> Self:
        """Factorize entries of order two or more, symmetric or not.

        Raises
        ------
        InputError
            If there are no entries, unlisted ones are missing, or a setting is out of range.
        """
        self.check()
        if not len(entries):
            raise InputError("there are no entries to factorize; lower the shift or min_count")
        self._check_memory(entries)
        rng = np.random.default_rng(self.seed)
        # the first factor is solved for first: it starts at zero, so that history begins with nothing explained
        start = [np.zeros((entries.shape[0], self.rank), np.float32)]
        start += [rng.standard_normal((size, self.rank)).astype(np.float32) for size in entries.shape[1:]]
        x = entries if entries.weights is None else replace(entries, weights=None)
        term = Term(x, CP(), Squared(), tuple(range(entries.order)), zero_weight=1.0)
        objective = Objective([term], [L2(self.ridge)] * entries.order, threads=self.threads)
        solver = als(objective, start, orthogonal=self.orthogonal)
        factors = self._keep(run(solver, max_iter=self.max_iter, tol=self.tol, watch=self.watch))
        self.factors_, self.weights_ = _unit(factors)
        return self

    def predict(self, indices: NDArray[Any]) -> NDArray[np.float32]:
        """Give the association :math:`m` that the model expects of tuples; shapes (n, order) -> (n,)."""
        U, offsets = stacked(dict(enumerate(self._scaled())), tuple(range(len(self.factors_))))
        return kernels.cp_predict(np.asarray(indices), U, offsets=offsets, threads=self._threads)

    def embedding(self, words: Sequence[str], *, counts: NDArray[np.integer] | None = None) -> Embedding:
        """Give the vectors that ``vectors`` names their words, and how often these occur."""
        self.check()
        scaled = self._scaled()
        if self.vectors == "all":
            if len({len(u) for u in scaled}) > 1:
                raise InputError(
                    f"vectors='all' needs modes of one vocabulary; got {[len(u) for u in scaled]} rows:"
                    " take 'words' or 'contexts'"
                )
            return Embedding(words, np.concatenate(scaled, axis=1), counts=counts)
        return Embedding(words, scaled[1 if self.vectors == "contexts" else 0], counts=counts)

    def _scaled(self) -> Factors:
        share = self.weights_ ** np.float32(1 / len(self.factors_))
        return [u * share for u in self.factors_]

    def _check_memory(self, entries: Entries) -> None:
        """Refuse a rank whose factors, products with the data and normal equations would not fit."""
        copies = 4 * entries.order + 2 * self._threads + 6
        check_memory(
            4.0 * copies * max(entries.shape) * self.rank,
            f"a model of {' x '.join(f'{size:,}' for size in entries.shape)} cells and rank {self.rank}",
            "lower the rank or the size of the vocabulary",
        )


def _unit(factors: Factors) -> tuple[Factors, NDArray[np.float32]]:
    """Give columns of length one, and their weights, falling."""
    lengths = [np.linalg.norm(u.astype(float), axis=0) for u in factors]
    weights = np.prod(lengths, axis=0)
    order = np.argsort(-weights, kind="stable")
    units, sign = [], np.ones(len(weights))
    for u, length in zip(factors[1:], lengths[1:], strict=True):
        largest = np.take_along_axis(u, np.abs(u).argmax(axis=0)[None], axis=0)[0]
        turn = np.where(largest < 0, -1.0, 1.0)
        sign *= turn
        units.append(u * (turn / np.where(length > 0, length, 1)))
    units.insert(0, factors[0] * (sign / np.where(lengths[0] > 0, lengths[0], 1)))
    return [u[:, order].astype(np.float32) for u in units], weights[order].astype(np.float32)
