r"""Bilinear forms that score triples, given the vectors of two entities and the parameters of a relation.

.. math:: m_{sro} = a_s^\top M_r\, b_o = q_{sr} \cdot b_o, \qquad q_{sr} = M_r^\top a_s

The forms differ in :math:`M_r` only. The scores of all objects are products of the query :math:`q_{sr}` with all object
vectors; the scores of all subjects have the query :math:`M_r b_o`, that of the inverse relation.

===================  ===============================  ========================  ===============================
Form                 :math:`M_r`                      one factor of entities    one of subjects, one of objects
===================  ===============================  ========================  ===============================
:class:`Diagonal`    diagonal                         DistMult                  CP
:class:`Complex`     2 x 2 rotation-scaling blocks    ComplEx
:class:`Slices`      any                              RESCAL                    Tucker 2
:class:`TuckerCore`  :math:`\sum_k w_{rk} C_k`        TuckER                    Tucker 3
===================  ===============================  ========================  ===============================

References
----------
Hitchcock (1927), The expression of a tensor or a polyadic as a sum of products (CP). Tucker (1966), Some mathematical
notes on three-mode factor analysis. Nickel, Tresp, Kriegel (2011), A three-way model for collective learning on
multi-relational data (RESCAL). Yang, Yih, He, Gao, Deng (2015), Embedding entities and relations for learning and
inference in knowledge bases (DistMult). Trouillon, Welbl, Riedel, Gaussier, Bouchard (2016), Complex embeddings for
simple link prediction (ComplEx). Balažević, Allen, Hospedales (2019), TuckER: tensor factorization for knowledge graph
completion.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from polyadic.core.kernels import summed_rows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]

Pullback = Callable[["NDArray[Any]"], tuple["NDArray[Any]", "list[NDArray[Any]]"]]
"""Map from gradients of queries to gradients of the vectors, shape (n, width), and of the relation parameters R."""


class Bilinear(ABC):
    """Base class for bilinear scoring functions of triples, with a matrix :math:`M_r` for each relation."""

    blocks: ClassVar[int] = 1
    """Elements of a vector that form one number: 2 for complex numbers."""

    def width(self, rank: int) -> int:
        """Return the length of the entity vectors."""
        return self.blocks * rank

    @abstractmethod
    def shapes(self, rank: int, relations: int, relation_rank: int) -> list[tuple[int, ...]]:
        """Return the shapes of the relation parameters; the first array has one row per relation."""

    @abstractmethod
    def query(self, a: Array, r: Array, R: list[Array], *, backwards: bool = False) -> tuple[Array, Pullback]:
        """Return the queries, shape (n, width), and their pullback; backwards, ``a`` are vectors of objects."""


class Diagonal(Bilinear):
    r"""Diagonal bilinear form (CP and DistMult): :math:`m_{sro} = \sum_d a_{sd} w_{rd} b_{od}`."""

    def shapes(self, rank: int, relations: int, relation_rank: int) -> list[tuple[int, ...]]:  # noqa: ARG002
        """Return the shape of the relation vectors."""
        return [(relations, rank)]

    def query(self, a: Array, r: Array, R: list[Array], *, backwards: bool = False) -> tuple[Array, Pullback]:  # noqa: ARG002 # it is the same
        """Return the query vector of each entity-relation pair, and a function for backpropagation."""
        w = R[0][r]

        def pullback(dq: Array) -> tuple[Array, list[Array]]:
            return dq * w, [summed_rows(r, dq * a, len(R[0]))]

        return a * w, pullback


class Complex(Bilinear):
    r"""Complex bilinear form (ComplEx): :math:`m_{sro} = \mathrm{Re} \sum_d a_{sd} w_{rd} \overline{b_{od}}`.

    Vectors hold real parts, then imaginary ones. A real w makes a relation symmetric, an imaginary w antisymmetric.
    """

    blocks = 2

    def shapes(self, rank: int, relations: int, relation_rank: int) -> list[tuple[int, ...]]:  # noqa: ARG002
        """Return the shape of the relation vectors, with real and imaginary parts."""
        return [(relations, 2 * rank)]

    def query(self, a: Array, r: Array, R: list[Array], *, backwards: bool = False) -> tuple[Array, Pullback]:
        """Return the query vector of each entity-relation pair, and a function for backpropagation."""
        w = _conjugate(R[0][r]) if backwards else R[0][r]

        def pullback(dq: Array) -> tuple[Array, list[Array]]:
            dw = _times(_conjugate(a), dq)
            return _times(dq, _conjugate(w)), [summed_rows(r, _conjugate(dw) if backwards else dw, len(R[0]))]

        return _times(a, w), pullback


class Slices(Bilinear):
    """Bilinear form with one unconstrained matrix per relation (RESCAL and Tucker2)."""

    def shapes(self, rank: int, relations: int, relation_rank: int) -> list[tuple[int, ...]]:  # noqa: ARG002
        """Return the shape of the relation matrices."""
        return [(relations, rank, rank)]

    def query(self, a: Array, r: Array, R: list[Array], *, backwards: bool = False) -> tuple[Array, Pullback]:
        """Return the query vector of each entity-relation pair, and a function for backpropagation."""
        kinds, groups = _grouped(r)
        q, pullback = _multiply(a, groups, R[0][kinds], backwards=backwards)

        def whole(dq: Array) -> tuple[Array, list[Array]]:
            da, dM = pullback(dq)
            gradient = np.zeros_like(R[0])
            gradient[kinds] = dM
            return da, [gradient]

        return q, whole


class TuckerCore(Bilinear):
    r"""Bilinear form whose relation matrices are mixtures of core slices (TuckER): :math:`M_r = \sum_k w_{rk} C_k`."""

    def shapes(self, rank: int, relations: int, relation_rank: int) -> list[tuple[int, ...]]:
        """Return the shapes of the relation vectors and of the core tensor."""
        return [(relations, relation_rank), (relation_rank, rank, rank)]

    def query(self, a: Array, r: Array, R: list[Array], *, backwards: bool = False) -> tuple[Array, Pullback]:
        """Return the query vector of each entity-relation pair, and a function for backpropagation."""
        kinds, groups = _grouped(r)
        w, C = R[0][kinds], R[1].reshape(len(R[1]), -1)
        q, pullback = _multiply(a, groups, (w @ C).reshape(-1, *R[1].shape[1:]), backwards=backwards)

        def whole(dq: Array) -> tuple[Array, list[Array]]:
            da, dM = pullback(dq)
            flat = dM.reshape(len(dM), -1)
            gradient = np.zeros_like(R[0])
            gradient[kinds] = flat @ C.T
            return da, [gradient, (w.T @ flat).reshape(R[1].shape)]

        return q, whole


def _times(a: Array, w: Array) -> Array:
    """Multiply complex vectors elementwise, where each vector stores all real parts before all imaginary parts."""
    d = a.shape[1] // 2
    product = np.empty_like(a)
    product[:, :d] = a[:, :d] * w[:, :d] - a[:, d:] * w[:, d:]
    product[:, d:] = a[:, :d] * w[:, d:] + a[:, d:] * w[:, :d]
    return product


def _conjugate(w: Array) -> Array:
    other = w.copy()
    other[:, w.shape[1] // 2 :] *= -1
    return other


def _grouped(r: Array) -> tuple[Array, list[Array]]:
    """Return the distinct relations and the indices at which each relation occurs."""
    order = np.argsort(r, kind="stable")
    kinds, first = np.unique(r[order], return_index=True)
    return kinds, [order[low:high] for low, high in pairwise([*first.tolist(), len(r)])]


def _multiply(
    a: Array, groups: list[Array], M: Array, *, backwards: bool
) -> tuple[Array, Callable[[Array], tuple[Array, Array]]]:
    """Multiply each vector by the matrix of the corresponding relation, or by the transpose of the matrix."""
    matrices = [*zip(groups, M.transpose(0, 2, 1) if backwards else M, strict=True)]
    q = np.empty_like(a)
    for at, m in matrices:
        q[at] = a[at] @ m

    def pullback(dq: Array) -> tuple[Array, Array]:
        da, dM = np.empty_like(a), np.empty_like(M)
        for k, (at, m) in enumerate(matrices):
            da[at] = dq[at] @ m.T
            dM[k] = dq[at].T @ a[at] if backwards else a[at].T @ dq[at]
        return da, dM

    return q, pullback
