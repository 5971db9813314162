"""Factors of truth values: logistic factorization, of labels or of true things alone, and what rank signs take.

A matrix of full rank may have the signs of one of rank two.
"""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self

import numpy as np

from polyadic.completion.cells import Cells, cells_of, split_cells
from polyadic.completion.recommending import Recommending, search_listed
from polyadic.core.entries import Entries
from polyadic.core.errors import InputError, check_int
from polyadic.core.forms import CP
from polyadic.core.losses import Logistic
from polyadic.core.model import Amount, Callback, Count, Seed, Threads
from polyadic.core.objective import Objective, Term
from polyadic.core.penalties import L2
from polyadic.core.selection import SearchSpace, held_out_share
from polyadic.core.solvers.quasi_newton import quasi_newton
from polyadic.core.solvers.run import run
from polyadic.core.solvers.sgd import descend_labels

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray


VALUES = {"ridge": (30.0, 10.0, 3.0, 1.0, 0.3, 0.1, 0.03), "rank": (2, 5, 10, 20, 50, 100)}
"""What cells held out choose from."""


class LogisticFactorization(Recommending):
    r"""Two factors whose products are log-odds of truth values.

    .. math:: \min \sum_{(i, j)\ \mathrm{listed}} \log(1 + e^{m_{ij}}) - x_{ij} m_{ij}
              + \tfrac{\lambda}{2} (\|U\|_F^2 + \|V\|_F^2), \qquad m_{ij} = u_i \cdot v_j

    Where only true things are listed, cells that are not listed are drawn as false ones, anew in each epoch: some for
    each listed cell, of its row, of its column (another subject of the same relation), or of all.

    Parameters
    ----------
    rank : int
    ridge : float
        :math:`\lambda`.
    negatives : float
        Unlisted cells drawn as zeros per listed cell; 0 if both labels are listed, and what is not is unknown.
    within : {"row", "column", "all"}
        Where they are drawn.
    max_iter, tol
        See :func:`~polyadic.core.solvers.run.run`; a sweep is a step of
        :func:`~polyadic.core.solvers.quasi_newton.quasi_newton`,
        or an epoch of :func:`~polyadic.core.solvers.sgd.descend_labels` if cells are drawn.
    seed : int, optional
        Of the random start, and of what is drawn.
    threads : int, optional
        All cores by default.
    callback : callable, optional
        Called with the :class:`~polyadic.core.solvers.run.Result` so far after each sweep.

    Attributes
    ----------
    row_factors_, column_factors_ : ndarray of shape (rows, rank) and (columns, rank)
    history_, n_iter_, converged_, interrupted_
        See :class:`~polyadic.core.model.Model`.

    References
    ----------
    Riedel, Yao, McCallum, Marlin (2013), Relation extraction with matrix factorization and universal schemas, section
    3. Johnson (2014), Logistic matrix factorization for implicit feedback data.

    Examples
    --------
    >>> x = np.kron(np.eye(2), np.ones((4, 4)))
    >>> x[0, 3] = np.nan
    >>> LogisticFactorization(2, seed=0).fit(x).predict([0, 0], [3, 4]).round().tolist()
    [1.0, 0.0]
    """

    rank: Count = 10
    _: KW_ONLY
    ridge: Amount = 0.1
    negatives: Amount = 0.0
    within: Literal["row", "column", "all"] = "row"
    max_iter: Count = 200
    tol: Amount = 1e-4
    seed: Seed = None
    threads: Threads = None
    callback: Callback = None

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit to listed labels.

        Parameters
        ----------
        X : Entries, sparse matrix or array with NaN for unknown cells, of shape (rows, columns)
            Zeros and ones; zeros that are listed are false.

        Raises
        ------
        InputError
            If a value is neither 0 nor 1, no true one is listed, only true ones are though none are drawn, or a
            parameter is out of range.
        """
        del y
        self.check()
        cells, rng = labelled(X), np.random.default_rng(self.seed)
        if not self.negatives and cells.values.all():
            raise InputError("only ones are listed, so all would be predicted true; draw negatives, or list zeros")
        turned = self.within == "column"
        cells = cells.turned() if turned else cells
        start = [rng.standard_normal((size, self.rank)) / np.sqrt(self.rank) for size in cells.shape]
        if self.negatives:
            how: dict[str, Any] = {
                "negatives": self.negatives,
                "beside": self.within != "all",
                "threads": self._threads,
            }
            listed = cells.rows, cells.columns, cells.starts
            solver = descend_labels(listed, cells.values, start, ridge=self.ridge, rng=rng, **how)
        else:
            entries = Entries(cells.indices, cells.values, cells.shape, unlisted="missing")
            term = Term(entries, CP(), Logistic(), (0, 1))
            solver = quasi_newton(Objective([term], [L2(self.ridge)] * 2, threads=self.threads), start)
        factors = self._keep(run(solver, max_iter=self.max_iter, tol=self.tol, callback=self.callback))
        self.row_factors_, self.column_factors_ = factors[::-1] if turned else factors
        return self

    def search(self, X: Any, *, seed: int | None = 0) -> SearchSpace:
        """Judge ridge and rank by a tenth of the cells: by their log loss, or how early they are recommended, by row.

        The latter if zeros are drawn: what is held out are true things then, and what is drawn beside them is unknown.
        """
        known = labelled(X)
        if self.negatives:
            return search_listed(known, VALUES, seed=seed)
        cells, out = split_cells(known, held_out_share(len(known.values)), seed=seed)

        def losses(model: LogisticFactorization) -> NDArray[np.float64]:
            m = Recommending.predict(model, out.rows, out.columns)
            return Logistic().value(out.values, m)

        return SearchSpace(
            values=VALUES,
            fit=lambda model: model.fit(cells),
            last=lambda model: model.fit(known),
            losses=losses,
            units="cells",
            measure="log loss",
        )

    def predict(self, rows: ArrayLike, columns: ArrayLike) -> NDArray[Any]:
        """Give how likely cells are true; where cells were drawn, true rather than one of those drawn."""
        from scipy.special import expit

        return expit(super().predict(rows, columns))


def labelled(X: Any) -> Cells:
    """Take cells that are 0 or 1, one of them 1.

    Raises
    ------
    InputError
        If a value is another, or all are 0.
    """
    cells = cells_of(X)
    if len(other := cells.values[(cells.values != 0) & (cells.values != 1)]):
        raise InputError(f"labels are 0 or 1; got {other[0]:g} among {len(other):,} others")
    if not cells.values.any():
        raise InputError("every label is 0; there is nothing to learn from")
    return cells


class WrongSigns(NamedTuple):
    """Cells of which a matrix of some rank has the wrong sign.

    Attributes
    ----------
    rank : int
    svd : int
        By the matrix of that rank that is nearest.
    logistic : int
        By logistic factorization.
    """

    rank: int
    svd: int
    logistic: int


def wrong_signs(X: ArrayLike, ranks: Sequence[int], *, starts: int = 3, seed: int | None = None) -> list[WrongSigns]:
    """Compare how many signs the truncated singular value decomposition and logistic factorization get wrong.

    Parameters
    ----------
    X : array of shape (rows, columns)
        -1 and 1, both of them.
    ranks : sequence of int
    starts : int
        Random starts of logistic factorization, the best of which counts: the problem is not convex.
    seed : int, optional

    Raises
    ------
    InputError
        If values are others, or a rank is out of range.

    References
    ----------
    Paturi, Simon (1986), Probabilistic communication complexity, for the sign rank. Bouchard, Naradowsky, Riedel,
    Rocktäschel, Vlachos (2015), Matrix and tensor factorization methods for natural language processing, ACL tutorial.

    Examples
    --------
    >>> one_on_the_diagonal = 2 * np.eye(12) - 1
    >>> low, full = wrong_signs(one_on_the_diagonal, [3, 12], seed=0)
    >>> low.svd > 6, low.logistic, full.svd
    (True, 0, 0)
    """
    x = np.asarray(X, float)
    if x.ndim != 2 or set(np.unique(x)) != {-1.0, 1.0}:
        raise InputError("signs are a matrix of -1 and 1, with both of them")
    check_int("starts", starts, low=1)
    left, sizes, right = np.linalg.svd(x, full_matrices=False)
    rng = np.random.default_rng(seed)
    counts = []
    for rank in ranks:
        near = (left[:, :rank] * sizes[:rank]) @ right[:rank]
        wrong = []
        for _ in range(starts):
            once = int(rng.integers(2**31))
            model = LogisticFactorization(rank, ridge=1e-4, max_iter=1000, tol=0, threads=1, seed=once)
            model.fit((x > 0).astype(float))
            wrong.append(int((x * (model.row_factors_ @ model.column_factors_.T) <= 0).sum()))
        counts.append(WrongSigns(rank, int((x * near <= 0).sum()), min(wrong)))
    return counts
