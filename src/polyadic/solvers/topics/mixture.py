r"""Mixtures of distributions of words, one mixture for each document, by expectation and maximization.

With :math:`\tilde u = P(z|d)^\tau`, :math:`\tilde v = P(w|z)^\tau` and :math:`\tilde m = \sum_z \tilde u_z \tilde v_z`
the expected counts of a topic in a document are :math:`\tilde u_z \sum_w n_{dw} \tilde v_z / \tilde m`: the
multiplicative update of the Kullback-Leibler divergence, before its result is made to sum to one.

References
----------
Hofmann (1999), Probabilistic latent semantic analysis, equations 3 to 5 and, for the temperature, section 3.4.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from polyadic import kernels
from polyadic.solvers.topics.dirichlet import entries_of
from polyadic.solvers.topics.nonnegative import FLOOR, LARGEST_RATIO, TINY

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from scipy.sparse import csr_array

    Array = NDArray[np.float32]


class Mixture:
    r"""A half-step on :math:`-\tfrac1\tau \sum_{dw} n_{dw} \log \sum_z (P(z|d) P(w|z))^\tau`, which it never raises.

    Parameters
    ----------
    counts : csr_array
        With the rows of the factor that is improved as rows.
    sums : {"rows", "columns"}
        Which sums of that factor are one: rows are documents, columns topics.
    temperature : float
        :math:`\tau`; 1 is maximum likelihood, less keeps topics closer together.
    threads : int
    """

    def __init__(
        self, counts: csr_array, *, sums: Literal["rows", "columns"], temperature: float = 1.0, threads: int
    ) -> None:
        self.temperature, self.threads = np.float32(temperature), threads
        self.axis = 1 if sums == "rows" else 0
        self.entries = entries_of(counts)

    def improve(self, U: Array, V: Array, *, passes: int = 1) -> float:
        """Improve ``U`` in place; give the objective, of the ``U`` that was given."""
        value = self._expect(U, V)
        for _ in range(passes - 1):
            self._expect(U, V)
        return value

    def solve(self, U: Array, V: Array, *, passes: int, tol: float = 0.0) -> None:
        """Improve each row of ``U`` until it settles, in place, at temperature 1; ``U`` becomes expected counts."""
        self._multiply(U, V, passes=passes, tol=tol)

    def penalty(self, U: Array) -> float:
        """Give nothing: distributions have no penalty."""
        del U
        return 0.0

    def beyond(self, new: Array, old: Array, step: float) -> Array:
        """Go on from ``new`` by a share of the way there from ``old``, in logarithms."""
        ratio = np.minimum(new / np.maximum(old, np.float32(TINY)), np.float32(LARGEST_RATIO))
        return self.normalized(np.asarray(new * ratio ** np.float32(step)))

    def normalized(self, U: Array) -> Array:
        """Make sums one; what sums to zero becomes uniform."""
        sums = U.sum(axis=self.axis, keepdims=True)
        shares = U / np.maximum(sums, np.float32(TINY))
        return np.where(sums > 0, shares, np.float32(1 / U.shape[self.axis]))

    def _expect(self, U: Array, V: Array) -> float:
        t = self.temperature
        counts, other = (U, V) if t == 1 else (U**t, V**t)
        value = self._multiply(counts, other, passes=1, tol=0.0)
        U[:] = self.normalized(counts)
        return value / float(t)

    def _multiply(self, U: Array, V: Array, *, passes: int, tol: float) -> float:
        how = {"base": np.zeros(V.shape[1]), "l1": 1.0, "beta": 1.0, "floor": FLOOR}  # what is below is one
        return kernels.divergence_rows(self.entries, V, U, passes=passes, tol=tol, threads=self.threads, **how)  # type: ignore[arg-type]
